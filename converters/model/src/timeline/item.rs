//! What happened.

use std::cmp::Reverse;
use tyrion_wire::{Outcome, WaitKind, sample::ThreadState, span::Span};

/// Something that happened. Times are those of the timeline's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A thread waited.
    Wait(Wait),
    /// A thread held a lock; only where every hold was recorded.
    Hold(Hold),
    /// A thread released what another one waited for.
    Release(Release),
    /// A thread was seen; only where samples are asked for.
    Seen(SampledThread),
}

/// A wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The log, an index into the timeline's logs.
    pub run: u32,
    /// Who waited, an index into [`Profile::threads`](crate::profile::Profile::threads).
    pub thread: u32,
    /// The same by its id in the log.
    pub thread_id: u32,
    /// When it began, in ns.
    pub start_ns: u64,
    /// When it ended, in ns.
    pub end_ns: u64,
    /// How long it took, in ns: the time between both, but for damaged records.
    pub wait_ns: u64,
    /// Where, an index into [`Profile::stacks`](crate::profile::Profile::stacks).
    pub stack: u32,
    /// What for, an index into [`Profile::locks`](crate::profile::Profile::locks).
    pub lock: u32,
    /// How.
    pub kind: WaitKind,
    /// Stack, lock and kind, by the site's id in the log.
    pub site: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Who had the lock when it began, by its id in the log; 0 when unknown.
    pub owner: u32,
    /// How often the thread parked, 0 when unknown.
    pub parks: u64,
    /// Who ended it, where that is known.
    pub waker: Option<Waker>,
    /// The span that the thread was in; [`Span::NONE`] for none.
    pub span: Span,
}

/// Who ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waker {
    /// By its id in the log.
    pub thread_id: u32,
    /// Its stack then, by its id in the log; 0 when it was not taken.
    pub stack_id: u32,
    /// When, in ns: not after the wait's end.
    pub at_ns: u64,
}

/// A hold. Ids are those of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The log, an index into the timeline's logs.
    pub run: u32,
    /// Who held the lock.
    pub thread_id: u32,
    /// When it was released, less how long it was held, in ns.
    pub start_ns: u64,
    /// When it was released, in ns.
    pub end_ns: u64,
    /// Where it was taken.
    pub place: u32,
    /// The lock's class.
    pub class: u32,
    /// Its identity hash, 0 when unknown.
    pub hash: u32,
    /// The span that the thread was in; [`Span::NONE`] for none.
    pub span: Span,
}

/// A release that another thread waited for. Ids are those of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The log, an index into the timeline's logs.
    pub run: u32,
    /// When, in ns.
    pub at_ns: u64,
    /// Who released it.
    pub thread_id: u32,
    /// Who waited.
    pub waiter_id: u32,
    /// The site of the wait.
    pub site: u32,
    /// Where it was released, 0 when unknown.
    pub stack_id: u32,
    /// Where it had been taken, 0 when unknown.
    pub place: u32,
}

/// What a thread was seen doing, in one or more snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledThread {
    /// The log, an index into the timeline's logs.
    pub run: u32,
    /// The thread by its id in the log.
    pub thread_id: u32,
    /// When the last of the snapshots was taken, in ns.
    pub at_ns: u64,
    /// Where it was, an index into [`Profile::stacks`](crate::profile::Profile::stacks).
    pub stack: u32,
    /// What the JVM says that it was doing.
    pub state: ThreadState,
    /// The lock that it waited for, an index into
    /// [`Profile::locks`](crate::profile::Profile::locks), or
    /// [`NO_LOCK`](crate::profile::NO_LOCK).
    pub lock: u32,
    /// How it waited, if that is known.
    pub kind: Option<WaitKind>,
    /// How many snapshots there were.
    pub count: u64,
    /// The real time that they stand for, in ns.
    pub wall_ns: u64,
    /// The CPU time that it used meanwhile, in ns.
    pub cpu_ns: u64,
}

impl Item {
    /// When it happened, or began, in ns.
    pub fn at_ns(&self) -> u64 {
        match self {
            Item::Wait(wait) => wait.start_ns,
            Item::Hold(hold) => hold.start_ns,
            Item::Release(release) => release.at_ns,
            Item::Seen(seen) => seen.at_ns,
        }
    }

    /// What items are sorted by: their times. Of one moment, releases come first, since
    /// they end something, and of what begins at one moment comes first what ends last,
    /// since it surrounds the others.
    pub fn order(&self) -> (u64, bool, Reverse<u64>) {
        match self {
            Item::Release(release) => (release.at_ns, false, Reverse(0)),
            Item::Seen(seen) => (seen.at_ns, true, Reverse(seen.at_ns)),
            Item::Hold(hold) => (hold.start_ns, true, Reverse(hold.end_ns)),
            Item::Wait(wait) => (wait.start_ns, true, Reverse(wait.end_ns)),
        }
    }

    /// The wait, if it is one.
    pub fn wait(&self) -> Option<&Wait> {
        match self {
            Item::Wait(wait) => Some(wait),
            _ => None,
        }
    }
}
