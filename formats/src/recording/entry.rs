//! What a recording tells one by one.

use super::{answered::Answered, sampled::Sampled, woken::Woken};
use tyrion_wire::{
    Outcome,
    trace::{Blame, Hold, Instance, Nest},
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
    pub(super) wait_ns: u64,
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
    pub record: TraceRecord<'a>,
}

/// A record of trace mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceRecord<'a> {
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
#[non_exhaustive]
pub enum Entry<'a> {
    /// A wait that has ended.
    Wait(Event),
    /// What trace mode recorded.
    Traced(Traced<'a>),
    /// What a thread was seen doing.
    Sample(Sampled),
    /// Who ended the wait before it.
    Wake(Woken),
    /// What the owner of a lock did while a thread waited.
    Holder(Answered),
}

impl Entry<'_> {
    /// The moment that it tells of: the end of a wait, the last snapshot of a
    /// sample; of trace mode see [`Traced::at_ns`]. Who ended a wait counts with it.
    /// Monotonic ns.
    pub fn at_ns(&self) -> u64 {
        match self {
            Entry::Wait(event) => event.end_ns,
            Entry::Traced(traced) => traced.at_ns,
            Entry::Sample(sampled) => sampled.at_ns,
            Entry::Wake(woken) => woken.end_ns,
            Entry::Holder(answered) => answered.at_ns,
        }
    }
}
