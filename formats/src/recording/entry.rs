//! What a recording tells one by one.

use super::Recording;
use tyrion_wire::{
    Outcome, WaitKind,
    event::Note,
    sample::{Sample, ThreadState},
    wake::Wake,
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

/// What was recorded of a thread at a moment. Ids in it are those of definitions that may be
/// lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted<R> {
    /// The thread that it is about, by its id in the log: who held, took or released a lock,
    /// who was sampled, who waited.
    pub thread: u32,
    /// When, monotonic ns: the release of a hold or blame, the acquisition of a nest, the last
    /// snapshot of a sample, the look at an owner. What has no time of its own, the end of a
    /// wait among it, has that of the chunk's record before it.
    pub at_ns: u64,
    /// What was recorded.
    pub record: R,
}

impl<R> Noted<R> {
    /// Of the same thread and moment.
    #[inline]
    pub fn with<S>(&self, record: S) -> Noted<S> {
        Noted { thread: self.thread, at_ns: self.at_ns, record }
    }
}

/// What a thread was seen doing in one snapshot, or in several one after another.
impl Noted<Sample> {
    /// The thread's state; [`ThreadState::Other`] if this code does not know it.
    pub fn state(&self) -> ThreadState {
        ThreadState::from_code(self.record.state).unwrap_or(ThreadState::Other)
    }

    /// What kind of wait the thread was in, if that was known.
    pub fn kind(&self) -> Option<WaitKind> {
        WaitKind::from_code(u8::try_from(self.record.kind).ok()?)
    }

    /// When the thread's snapshot before these was taken, as far as the record tells,
    /// monotonic ns.
    pub fn start_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.record.wall_ns)
    }
}

/// A wait that another thread has ended.
impl Noted<Wake> {
    /// When the other thread ended it, monotonic ns.
    pub fn woken_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.record.late_ns)
    }
}

/// A record of an events chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A wait that has ended.
    Wait(Event),
    /// Anything else.
    Note(Noted<Note<'a>>),
}

impl Entry<'_> {
    /// The moment that it tells of: the end of a wait, or see [`Noted::at_ns`]. Monotonic ns.
    #[inline]
    pub fn at_ns(&self) -> u64 {
        match self {
            Entry::Wait(event) => event.end_ns,
            Entry::Note(noted) => noted.at_ns,
        }
    }
}

impl Recording {
    /// Whether the agent looked what the owners of locks did: the log's metadata say so. In
    /// trace mode, it does not.
    pub fn has_holders(&self) -> bool {
        self.facts.metadata("holders") == Some("true")
    }

    /// Whether it was recorded who ends waits: the log's metadata say so.
    pub fn has_wakers(&self) -> bool {
        self.facts.metadata("wakers") == Some("true")
    }
}
