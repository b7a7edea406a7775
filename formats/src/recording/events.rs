//! Decodes the records of an events chunk.

use super::{
    chunk::ChunkRef,
    entry::{Entry, Event, Noted},
    groups::Groups,
};
use crate::damage::{Damage, Fault};
use std::sync::Arc;
use tyrion_wire::{
    event::{self, Note, Record, WaitRecord, usual_wait},
    span::Span,
    trace::HoldsIter,
    wake::Wake,
};

/// The records of a chunk, in the order of their times. Iterating gives the
/// waits alone, [`Events::records`] and [`Events::visit_all`] all that there
/// is. Ends early at a record that cannot be read; [`Events::damage`] tells
/// then.
#[derive(Debug)]
pub struct Events<'a> {
    bytes: &'a [u8],
    at: usize,
    thread: u32,
    now_ns: u64,
    /// What is left of a record that has many.
    holds: HoldsIter<'a>,
    /// The trace of the last record that names one.
    trace: [u64; 2],
    log: &'a Arc<str>,
    chunk: ChunkRef,
    torn: bool,
    /// What alone is given, if not all is.
    groups: Option<&'a Groups>,
    /// Whether the last record was of these.
    has_last: bool,
}

impl<'a> Events<'a> {
    pub(crate) fn new(bytes: &'a [u8], chunk: ChunkRef, log: &'a Arc<str>) -> Events<'a> {
        let (thread, now_ns) = (chunk.thread, chunk.first_ns);
        let holds = HoldsIter::default();
        Events {
            bytes,
            at: 0,
            thread,
            now_ns,
            holds,
            trace: [0; 2],
            log,
            chunk,
            torn: false,
            groups: None,
            has_last: false,
        }
    }

    /// Only what belongs to these groups, if there are some.
    pub(crate) fn of(self, groups: Option<&'a Groups>) -> Events<'a> {
        Events { groups, ..self }
    }

    /// The thread of the next record, as far as it is known.
    #[inline]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// The time of the last record, of a wait its end, monotonic ns; before the
    /// first one the time from which the chunk counts.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Where the next record stands, in bytes from the file's start; behind the
    /// one that is being read, if that has many holds.
    pub fn offset(&self) -> u64 {
        self.chunk.payload_at() + self.at as u64
    }

    /// What stopped the iteration before the chunk's end, if something did.
    pub fn damage(&self) -> Option<Damage> {
        // The torn end of a file that was cut is told already.
        (self.torn && self.chunk.whole).then(|| Damage {
            log: self.log.clone(),
            offset: self.offset(),
            fault: Fault::Record,
            skipped: (self.bytes.len() - self.at) as u64,
        })
    }
}

impl Events<'_> {
    /// Hands all waits that are left to `take`: what iterating does, faster.
    #[inline]
    pub fn visit(&mut self, mut take: impl FnMut(&Event)) {
        if self.groups.is_some() {
            return self.for_each(|event| take(&event));
        }
        let bytes = self.bytes;
        while self.next_hold().is_some() {}
        // Variables of their own, so that the compiler keeps them in registers.
        let (mut at, mut now_ns, mut thread) = (self.at, self.now_ns, self.thread);
        while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            if let Some((wait, len)) = usual_wait(window) {
                at += len;
                now_ns = now_ns.saturating_add(wait.delta_ns);
                take(&event_of(thread, now_ns, &wait));
                continue;
            }
            if let Some((_, len)) = bytes.get(at..).and_then(Wake::usual) {
                at += len;
                continue;
            }
            (self.at, self.now_ns) = (at, now_ns);
            let Some(event) = self.next() else { return };
            (at, now_ns, thread) = (self.at, self.now_ns, self.thread);
            take(&event);
        }
        (self.at, self.now_ns) = (at, now_ns);
        for event in self {
            take(&event);
        }
    }
}

impl<'a> Events<'a> {
    /// All records that are left, those of trace mode and samples too, in
    /// their order.
    pub fn records(&mut self) -> Records<'_, 'a> {
        Records(self)
    }

    /// Hands all records that are left to `take`: what [`Events::records`]
    /// does, as fast as [`Events::visit`] where they are waits.
    #[inline]
    pub fn visit_all(&mut self, mut take: impl FnMut(Entry<'a>)) {
        if self.groups.is_some() {
            return self.records().for_each(take);
        }
        let bytes = self.bytes;
        self.visit_holds(&mut take);
        let (mut at, mut now_ns, mut thread) = (self.at, self.now_ns, self.thread);
        while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            if let Some((wait, len)) = usual_wait(window) {
                at += len;
                now_ns = now_ns.saturating_add(wait.delta_ns);
                take(Entry::Wait(event_of(thread, now_ns, &wait)));
                continue;
            }
            // Behind most waits stands who ended them.
            if let Some((wake, len)) = bytes.get(at..).and_then(Wake::usual) {
                at += len;
                take(Entry::Note(Noted { thread, at_ns: now_ns, record: Note::Wake(wake) }));
                continue;
            }
            (self.at, self.now_ns) = (at, now_ns);
            let Some(entry) = self.next_entry() else { return };
            take(entry);
            self.visit_holds(&mut take);
            (at, now_ns, thread) = (self.at, self.now_ns, self.thread);
        }
        (self.at, self.now_ns) = (at, now_ns);
        while let Some(entry) = self.next_entry() {
            take(entry);
        }
    }

    /// The next one of a record that has many holds.
    #[inline]
    fn next_hold(&mut self) -> Option<Entry<'a>> {
        if self.holds.is_over() {
            return None;
        }
        let hold = self.holds.next()?;
        self.now_ns = self.now_ns.saturating_add(hold.delta_ns);
        Some(self.noted(Note::Hold(hold)))
    }

    #[inline]
    fn noted(&self, record: Note<'a>) -> Entry<'a> {
        Entry::Note(Noted { thread: self.thread, at_ns: self.now_ns, record })
    }

    /// The span with its trace, which may be that of the one before.
    fn with_trace(&mut self, span: Span) -> Span {
        if span.trace != [0; 2] {
            self.trace = span.trace;
        }
        Span { trace: self.trace, ..span }
    }

    #[inline]
    fn visit_holds(&mut self, mut take: impl FnMut(Entry<'a>)) {
        while let Some(entry) = self.next_hold() {
            take(entry);
        }
    }

    /// The next record that is known, and wanted.
    fn next_entry(&mut self) -> Option<Entry<'a>> {
        let Some(groups) = self.groups else { return self.next_of_all() };
        loop {
            let entry = self.next_of_all()?;
            let has = match &entry {
                // It belongs to the record before.
                Entry::Note(Noted { record: Note::Span(_), .. }) => self.has_last,
                _ => groups.has(&entry),
            };
            self.has_last = has;
            if has {
                return Some(entry);
            }
        }
    }

    /// The next record that is known.
    fn next_of_all(&mut self) -> Option<Entry<'a>> {
        let bytes = self.bytes;
        if let Some(entry) = self.next_hold() {
            return Some(entry);
        }
        while self.at < bytes.len() && !self.torn {
            let Some((encoded, len)) = event::decode(&bytes[self.at..]) else {
                self.torn = true;
                return None;
            };
            self.at += len;
            let record = match encoded {
                Record::Wait(wait) => {
                    self.now_ns = self.now_ns.saturating_add(wait.delta_ns);
                    return Some(Entry::Wait(event_of(self.thread, self.now_ns, &wait)));
                }
                Record::Thread(thread) => {
                    self.thread = thread;
                    continue;
                }
                Record::Holds(holds) => {
                    self.holds = holds.iter();
                    match self.next_hold() {
                        Some(entry) => return Some(entry),
                        None => continue,
                    }
                }
                Record::Note(Note::Span(span)) => Note::Span(self.with_trace(span)),
                Record::Note(note) => note,
                Record::Unknown(_) => continue,
            };
            self.now_ns = self.now_ns.saturating_add(record.delta_ns());
            return Some(self.noted(record));
        }
        None
    }
}

/// Takes what [`visit_two`] hands out.
pub trait TakeRecords<'a> {
    /// What is added up of a wait: who waited where and for how long, and the thread that
    /// had the lock when the wait began, 0 if that is not known. Should be inlined.
    fn wait(&mut self, thread: u32, site: u32, owner: u32, wait_ns: u64);

    /// Any other record, or a wait all the same.
    fn entry(&mut self, entry: Entry<'a>);
}

/// Hands all records that are left of two chunks to `take`: those of each in their order,
/// but now of the one and now of the other. A record's place is known only when the one
/// before it is decoded; of two chunks the processor decodes two at a time.
#[inline(always)]
pub fn visit_two<'a>(
    first: &mut Events<'a>,
    second: &mut Events<'a>,
    take: &mut impl TakeRecords<'a>,
) {
    let has_all = first.groups.is_none() && second.groups.is_none();
    while let Some(next) = has_all.then(|| usual_of_both(first, second, take)).flatten() {
        let is_end = next.0.is_none() || next.1.is_none();
        next.0.into_iter().chain(next.1).for_each(|entry| take.entry(entry));
        if is_end {
            break;
        }
    }
    for rest in [first, second] {
        rest.visit_all(|entry| take.entry(entry));
    }
}

/// Usual waits of both, up to where one of the two has another record: what comes next of
/// each. `None` at the end of one.
#[inline(always)]
fn usual_of_both<'a>(
    first: &mut Events<'a>,
    second: &mut Events<'a>,
    take: &mut impl TakeRecords<'a>,
) -> Option<(Option<Entry<'a>>, Option<Entry<'a>>)> {
    let (a_bytes, b_bytes) = (first.bytes, second.bytes);
    let (mut a_at, mut a_ns) = (first.at, first.now_ns);
    let (mut b_at, mut b_ns) = (second.at, second.now_ns);
    let (a_thread, b_thread) = (first.thread, second.thread);
    let is_end = loop {
        let a_window = a_bytes.get(a_at..).and_then(|rest| rest.first_chunk());
        let b_window = b_bytes.get(b_at..).and_then(|rest| rest.first_chunk());
        let (Some(a_window), Some(b_window)) = (a_window, b_window) else { break true };
        let (Some((a, a_len)), Some((b, b_len))) = (usual_wait(a_window), usual_wait(b_window))
        else {
            break false;
        };
        a_at += a_len;
        b_at += b_len;
        a_ns = a_ns.saturating_add(a.delta_ns);
        b_ns = b_ns.saturating_add(b.delta_ns);
        take.wait(a_thread, a.site, a.owner, a.wait_ns);
        take.wait(b_thread, b.site, b.owner, b.wait_ns);
    };
    (first.at, first.now_ns) = (a_at, a_ns);
    (second.at, second.now_ns) = (b_at, b_ns);
    (!is_end).then(|| (first.next_entry(), second.next_entry()))
}

/// All records of a chunk that are left; see [`Events::records`].
#[derive(Debug)]
pub struct Records<'e, 'a>(&'e mut Events<'a>);

impl<'a> Iterator for Records<'_, 'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        self.0.next_entry()
    }
}

#[inline(always)]
fn event_of(thread: u32, now_ns: u64, wait: &WaitRecord) -> Event {
    Event {
        thread,
        start_ns: now_ns.saturating_sub(wait.wait_ns),
        end_ns: now_ns,
        site: wait.site,
        outcome: wait.outcome,
        owner: wait.owner,
        parks: wait.parks,
        wait_ns: wait.wait_ns,
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Entry::Wait(event) = self.next_entry()? {
                return Some(event);
            }
        }
    }
}
