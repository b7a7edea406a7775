//! Decodes the waits of a chunk.

use crate::{
    damage::{Damage, Fault},
    fast,
    scan::ChunkRef,
};
use std::sync::Arc;
use tyrion_wire::{
    Outcome,
    event::{self, Record, WaitRecord},
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

/// The waits of a chunk, in the order of their ends. Ends early at a record
/// that cannot be read; [`Events::damage`] tells then.
#[derive(Debug)]
pub struct Events<'a> {
    bytes: &'a [u8],
    at: usize,
    thread: u32,
    now_ns: u64,
    log: &'a Arc<str>,
    chunk: ChunkRef,
    torn: bool,
}

impl<'a> Events<'a> {
    pub(crate) fn new(bytes: &'a [u8], chunk: ChunkRef, log: &'a Arc<str>) -> Events<'a> {
        let (thread, now_ns) = (chunk.thread, chunk.first_ns);
        Events { bytes, at: 0, thread, now_ns, log, chunk, torn: false }
    }

    /// The thread of the next wait, as far as it is known.
    #[inline]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// The end of the last wait, monotonic ns; before the first one the time
    /// from which the chunk counts.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Where the next record stands, in bytes from the file's start.
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
        while self.at < self.bytes.len() && !self.torn {
            let Some((record, len)) = event::decode(&self.bytes[self.at..]) else {
                self.torn = true;
                return None;
            };
            self.at += len;
            match record {
                Record::Wait(wait) => {
                    self.now_ns = self.now_ns.saturating_add(wait.delta_ns);
                    return Some(event_of(self.thread, self.now_ns, &wait));
                }
                Record::Thread(thread) => self.thread = thread,
                Record::Unknown(_) => {}
            }
        }
        None
    }
}
