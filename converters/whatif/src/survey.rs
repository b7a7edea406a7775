//! What a pass over a log tells: how long which threads waited where, and which of its chunks
//! are of which time, so that a replay decodes no more than the chunks that it needs.

use crate::look::LogLook;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};
use tyrion_formats::{ChunkRef, Entry, Note, Noted, Recording};
use tyrion_model::{
    near::Near,
    pass::{Question, Visitor},
    profile::State,
    states::StateReader,
};
use tyrion_wire::{cell::Cell, def::id::UNKNOWN, holder::Holder};

/// Waits added up: of a thread, or at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitTotal {
    pub(crate) count: u64,
    pub(crate) wait_ns: u64,
    /// For how much wait agents have looked at the owner, in ns, and for how much of that it
    /// waited for work itself, such as a selector.
    pub(crate) looked_ns: u64,
    pub(crate) idle_ns: u64,
}

impl WaitTotal {
    pub(crate) fn add(&mut self, more: &WaitTotal) {
        self.count = self.count.saturating_add(more.count);
        self.wait_ns = self.wait_ns.saturating_add(more.wait_ns);
        self.looked_ns = self.looked_ns.saturating_add(more.looked_ns);
        self.idle_ns = self.idle_ns.saturating_add(more.idle_ns);
    }
}

/// A chunk, and what there is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkSpan {
    pub(crate) chunk: ChunkRef,
    /// The moment of its last record, monotonic ns; the first one is that of the chunk.
    pub(crate) last_ns: u64,
    /// How many waits and holds end in it.
    pub(crate) ends: u64,
}

/// What a survey has found.
#[derive(Debug, Default)]
pub struct LogSurvey {
    /// Waits by thread and site.
    pub(crate) waits: HashMap<(u32, u32), WaitTotal>,
    /// The moment of its last record, monotonic ns.
    pub(crate) last_ns: Option<u64>,
    /// The chunks of events that are whole, in no order.
    pub(crate) chunks: Vec<ChunkSpan>,
}

impl LogSurvey {
    fn add(&mut self, more: LogSurvey) {
        self.last_ns = self.last_ns.max(more.last_ns);
        self.chunks.extend(more.chunks);
        for (key, total) in more.waits {
            self.waits.entry(key).or_default().add(&total);
        }
    }
}

/// What [`Evidence`](crate::Evidence) asks of a log.
pub struct Survey<'a> {
    log: &'a Recording,
    states: StateReader<'a>,
    found: Mutex<LogSurvey>,
}

impl<'a> Survey<'a> {
    /// Of a log.
    pub fn new(log: &'a Recording) -> Survey<'a> {
        Survey { log, states: StateReader::new(log), found: Mutex::default() }
    }

    /// What was found, once the pass is over.
    pub fn finish(self) -> LogSurvey {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question for Survey<'_> {
    type Visitor<'q>
        = Surveyor<'q>
    where
        Self: 'q;

    fn visitor(&self) -> Surveyor<'_> {
        Surveyor {
            of: self,
            near: Near::default(),
            chunk: None,
            last_ns: None,
            ends: 0,
            found: LogSurvey::default(),
        }
    }

    fn take(&self, mut surveyor: Surveyor<'_>) {
        for (key, total) in surveyor.near.drain() {
            surveyor.put_down(key, &total);
        }
        self.found.lock().unwrap_or_else(PoisonError::into_inner).add(surveyor.found);
    }
}

/// What goes through the records.
pub struct Surveyor<'q> {
    of: &'q Survey<'q>,
    /// Waits by thread and site, as they are in the log.
    near: Near<(u32, u32), WaitTotal>,
    chunk: Option<ChunkRef>,
    /// What is known of the chunk so far.
    last_ns: Option<u64>,
    ends: u64,
    found: LogSurvey,
}

impl Surveyor<'_> {
    #[inline]
    fn add(&mut self, key: (u32, u32), more: &WaitTotal) {
        if let Some((key, total)) = self.near.change(key, |total| total.add(more)) {
            self.put_down(key, &total);
        }
    }

    #[inline(never)]
    fn put_down(&mut self, (thread, site): (u32, u32), total: &WaitTotal) {
        let definitions = self.of.log.definitions();
        if definitions.sites().get(site).is_some() {
            let is_defined = definitions.threads().get(thread).is_some();
            let thread = if is_defined { thread } else { UNKNOWN };
            self.found.waits.entry((thread, site)).or_default().add(total);
        }
    }

    #[inline(never)]
    fn look(&mut self, noted: &Noted<Holder>) {
        let look = LogLook::of(noted, self.of.log, &self.of.states);
        let looked_ns = noted.record.stands_for_ns;
        let idle_ns = if look.state == Some(State::Idle) { looked_ns } else { 0 };
        let key = (noted.thread, look.site);
        self.add(key, &WaitTotal { looked_ns, idle_ns, ..WaitTotal::default() });
    }
}

impl Visitor for Surveyor<'_> {
    fn begin_chunk(&mut self, chunk: &ChunkRef) {
        (self.chunk, self.last_ns, self.ends) = (Some(*chunk), None, 0);
    }

    fn end_chunk(&mut self) {
        // Without a record it is of no time.
        if let Some((chunk, last_ns)) = self.chunk.take().zip(self.last_ns) {
            self.found.last_ns = self.found.last_ns.max(Some(last_ns));
            self.found.chunks.push(ChunkSpan { chunk, last_ns, ends: self.ends });
        }
    }

    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Wait(wait) => {
                self.last_ns = self.last_ns.max(Some(wait.end_ns));
                self.ends += 1;
                let (count, wait_ns) = (1, wait.wait_ns());
                let total = WaitTotal { count, wait_ns, ..WaitTotal::default() };
                self.add((wait.thread, wait.site), &total);
            }
            Entry::Note(noted) => {
                self.last_ns = self.last_ns.max(Some(noted.at_ns));
                match noted.record {
                    Note::Hold(_) => self.ends += 1,
                    Note::Holder(holder) => self.look(&noted.with(holder)),
                    _ => {}
                }
            }
        }
    }

    /// Waits that have no record of their own.
    fn cell(&mut self, cell: &Cell) {
        self.found.last_ns = self.found.last_ns.max(Some(cell.last_ns));
        let (count, wait_ns) = (cell.count, cell.sum_ns);
        let total = WaitTotal { count, wait_ns, ..WaitTotal::default() };
        self.add((cell.thread, cell.site), &total);
    }
}
