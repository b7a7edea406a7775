//! Decodes the records of an events chunk.

use crate::{
    damage::{Damage, Fault},
    fast,
    sampled::Sampled,
    scan::ChunkRef,
};
use std::sync::Arc;
use tyrion_wire::{
    Outcome,
    event::{self, Record, WaitRecord},
    trace::{Blame, Hold, HoldsIter, Instance, Nest},
};

/// A wait that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The thread that waited, by its id in the log.
    pub thread: u32,
    /// Start of the wait, monotonic ns.
    pub start_ns: u64,
    /// End of the wait, monotonic ns.
    pub end_ns: u64,
    /// Kind, stack and lock, by the site's id.
    pub site: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Thread id of the lock's owner when the wait began, 0 when unknown.
    pub owner: u32,
    /// How often the thread parked, where that is known (else 0).
    pub parks: u64,
    /// Kept beside start and end, which a damaged record can put out of range.
    wait_ns: u64,
}

impl Event {
    /// How long the thread waited, in ns.
    #[inline]
    pub fn wait_ns(&self) -> u64 {
        self.wait_ns
    }
}

/// What trace mode recorded of one moment. Ids in it are those of definitions
/// that may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced<'a> {
    /// The thread that it is about, by its id in the log: who held, took or
    /// released a lock.
    pub thread: u32,
    /// When: the release of a hold or blame, the acquisition of a nest. Of an
    /// instance, which has no time, that of the chunk's record before it.
    /// Monotonic ns.
    pub at_ns: u64,
    /// What was recorded.
    pub what: What<'a>,
}

/// A record of trace mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// A hold that has ended.
    Hold(Hold),
    /// The thread has taken an instance for the first time.
    Instance(Instance),
    /// The thread has released a lock that another one waited for.
    Blame(Blame),
    /// The thread has taken a lock while it held others.
    Nest(Nest<'a>),
}

/// A record of an events chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A wait that has ended.
    Wait(Event),
    /// What trace mode recorded.
    Traced(Traced<'a>),
    /// What a thread was seen doing.
    Sample(Sampled),
}

impl Entry<'_> {
    /// The moment that it tells of: the end of a wait, the last snapshot of a
    /// sample; of trace mode see [`Traced::at_ns`]. Monotonic ns.
    pub fn at_ns(&self) -> u64 {
        match self {
            Entry::Wait(event) => event.end_ns,
            Entry::Traced(traced) => traced.at_ns,
            Entry::Sample(sampled) => sampled.at_ns,
        }
    }
}

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
    log: &'a Arc<str>,
    chunk: ChunkRef,
    torn: bool,
}

impl<'a> Events<'a> {
    pub(crate) fn new(bytes: &'a [u8], chunk: ChunkRef, log: &'a Arc<str>) -> Events<'a> {
        let (thread, now_ns) = (chunk.thread, chunk.first_ns);
        let holds = HoldsIter::default();
        Events { bytes, at: 0, thread, now_ns, holds, log, chunk, torn: false }
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
        let bytes = self.bytes;
        while self.next_hold().is_some() {}
        // Variables of their own, so that the compiler keeps them in registers.
        let (mut at, mut now_ns, mut thread) = (self.at, self.now_ns, self.thread);
        while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            if let Some((wait, len)) = fast::decode(window) {
                at += len;
                now_ns = now_ns.saturating_add(wait.delta_ns);
                take(&event_of(thread, now_ns, &wait));
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
        let bytes = self.bytes;
        self.visit_holds(&mut take);
        let (mut at, mut now_ns, mut thread) = (self.at, self.now_ns, self.thread);
        while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            if let Some((wait, len)) = fast::decode(window) {
                at += len;
                now_ns = now_ns.saturating_add(wait.delta_ns);
                take(Entry::Wait(event_of(thread, now_ns, &wait)));
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
        let hold = self.holds.next()?;
        self.now_ns = self.now_ns.saturating_add(hold.delta_ns);
        let what = What::Hold(hold);
        Some(Entry::Traced(Traced { thread: self.thread, at_ns: self.now_ns, what }))
    }

    #[inline]
    fn visit_holds(&mut self, mut take: impl FnMut(Entry<'a>)) {
        while let Some(entry) = self.next_hold() {
            take(entry);
        }
    }

    /// The next record that is a wait, of trace mode or a sample.
    fn next_entry(&mut self) -> Option<Entry<'a>> {
        let bytes = self.bytes;
        if let Some(entry) = self.next_hold() {
            return Some(entry);
        }
        while self.at < bytes.len() && !self.torn {
            let Some((record, len)) = event::decode(&bytes[self.at..]) else {
                self.torn = true;
                return None;
            };
            self.at += len;
            let (delta_ns, what) = match record {
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
                Record::Hold(hold) => (hold.delta_ns, What::Hold(hold)),
                Record::Instance(instance) => (0, What::Instance(instance)),
                Record::Blame(blame) => (blame.delta_ns, What::Blame(blame)),
                Record::Nest(nest) => (nest.delta_ns, What::Nest(nest)),
                Record::Sample(sample) => {
                    self.now_ns = self.now_ns.saturating_add(sample.delta_ns);
                    let (thread, at_ns) = (self.thread, self.now_ns);
                    return Some(Entry::Sample(Sampled { thread, at_ns, sample }));
                }
                Record::Unknown(_) => continue,
            };
            self.now_ns = self.now_ns.saturating_add(delta_ns);
            return Some(Entry::Traced(Traced { thread: self.thread, at_ns: self.now_ns, what }));
        }
        None
    }
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
