//! Whom a wait is charged to in the end: an owner may wait itself, for what a
//! third one has.
//!
//! At each moment of a wait the chain is followed from the waiting thread to the
//! owner of the lock, to the owner of what that one waits for at this moment, and
//! so on, up to a thread that does not wait. So a wait is cut into pieces of time
//! with one chain each, and nothing of it is lost or counted twice.
//!
//! Where nobody is known to have had what was waited for, whoever ended the wait
//! stands for the owner until that moment: the wait lasted until that thread came to
//! it, whatever it did before.

use std::{cmp::Reverse, sync::Arc};

/// No thread.
pub(super) const NOBODY: u32 = u32::MAX;
/// A lock that is not known; two of them are never the same.
pub(super) const NO_LOCK: u32 = u32::MAX;
/// Longer chains are not followed.
const MAX_STEPS: usize = 32;

/// A wait; threads and locks are numbers of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wait {
    pub(super) thread: u32,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Who had the lock when the wait began, or else who ended the wait; or [`NOBODY`]
    /// that is known.
    pub(super) owner: u32,
    /// Until when the wait was for the owner: to its end, or until the owner ended it.
    pub(super) until_ns: u64,
    /// Or [`NO_LOCK`] that is known.
    pub(super) lock: u32,
    pub(super) is_for: For,
    /// Whether the owner is the one who ended the wait.
    pub(super) is_woken: bool,
    /// What the caller calls it.
    pub(super) what: u32,
}

impl Wait {
    /// How long it took, in ns.
    pub(super) fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Whether it is for the same as another one. What is waited for in `Object.wait` is
    /// not the monitor, though it is the same object.
    fn is_for_same(&self, other: &Wait) -> bool {
        let is_lock = |wait: &Wait| wait.is_for == For::Lock;
        (self.lock, is_lock(self)) == (other.lock, is_lock(other)) && self.lock != NO_LOCK
    }

    /// Whether the owner's own wait holds this one up. Who had a lock when a wait for it
    /// began may have given it back since, and has if it waits for work; but whoever ended
    /// a wait did so after its own.
    fn is_held_up_by(&self, other: &Wait) -> bool {
        other.owner != NOBODY && (self.is_woken || other.is_for != For::Other)
    }
}

/// What a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum For {
    /// A lock.
    Lock,
    /// No lock, but the thread is kept from its work.
    Withheld,
    /// Something else, which may be work.
    Other,
}

/// What the filter asks of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Demand {
    /// That it is charged.
    Charge,
    /// The same, and it had not ended.
    ChargePending,
    /// That it is charged, among those that are for no lock and withhold work.
    ChargeWithheld,
    /// Nothing: it may stand in the chains of others.
    Nothing,
}

/// A wait, and what is asked of it.
pub(super) type FilteredWait = (Wait, Demand);

/// How a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// With a thread that did not wait.
    Runs,
    /// With a thread that waited, for what nobody is known to have had, or for work.
    Waits,
    /// Nowhere: the threads waited for each other.
    Ring,
    /// It is not known who had the lock then: whoever had had it waited for it
    /// again.
    Unknown,
    /// It was not followed so far.
    NotFollowed,
    /// With a thread whose wait had been ended, but which did not go on yet.
    Late,
}

/// A piece of a wait and its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// The waits of the chain, from the one that is charged on: indices.
    pub(super) steps: &'a [u32],
    /// The thread with which it ends; of a ring the one that is in it twice, and
    /// [`NOBODY`] where it is not known.
    pub(super) root: u32,
    pub(super) end: End,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

/// The waits of many threads.
pub(super) struct Chains<'a> {
    waits: &'a [Wait],
    /// By thread: when it waited, in parts that do not overlap, in the order of
    /// time, each with the wait that it was in.
    parts: Arc<[Vec<WaitPart>]>,
    /// How many more pieces there may be.
    left: u64,
}

/// A part of the time of a thread that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WaitPart {
    from_ns: u64,
    to_ns: u64,
    wait: u32,
}

impl<'a> Chains<'a> {
    /// Of waits of threads with numbers below `threads`. At most so many pieces
    /// are made of all waits together before others are not followed.
    pub(super) fn new(waits: &'a [Wait], threads: usize, most_pieces: u64) -> Chains<'a> {
        let mut of_threads: Vec<Vec<u32>> = vec![Vec::new(); threads];
        for (wait, at) in waits.iter().zip(0..) {
            if let Some(own) = of_threads.get_mut(wait.thread as usize) {
                own.push(at);
            }
        }
        let parts = of_threads.into_iter().map(|own| parts(waits, own)).collect();
        Chains { waits, parts, left: most_pieces }
    }

    /// The same, of which so many more pieces may be made.
    pub(super) fn with_left(&self, most_pieces: u64) -> Chains<'a> {
        Chains { waits: self.waits, parts: Arc::clone(&self.parts), left: most_pieces }
    }

    /// Cuts a wait into pieces with one chain each, in the order of time.
    pub(super) fn charge(&mut self, wait: u32, take: &mut impl FnMut(Piece<'_>)) {
        let Some(&own) = self.waits.get(wait as usize) else { return };
        let Wait { thread, start_ns, end_ns, owner, .. } = own;
        if owner != NOBODY && start_ns < end_ns {
            let mut chain = Chain { steps: vec![wait], seen: vec![thread], waiting: vec![thread] };
            let until_ns = own.until_ns.clamp(start_ns, end_ns);
            self.follow(&own, (start_ns, until_ns), &mut chain, take);
            self.give(&chain, (End::Late, thread), (until_ns, end_ns), take);
        }
    }

    /// Follows a chain from a wait to the thread that it is for in that time.
    fn follow(
        &mut self,
        from: &Wait,
        (from_ns, to_ns): (u64, u64),
        chain: &mut Chain,
        take: &mut impl FnMut(Piece<'_>),
    ) {
        if from_ns >= to_ns {
            return;
        }
        let thread = from.owner;
        let end = match chain.seen.contains(&thread) {
            true if chain.waiting.contains(&thread) => Some((End::Ring, thread)),
            true => Some((End::Unknown, NOBODY)),
            false if chain.seen.len() > MAX_STEPS || self.left == 0 => {
                Some((End::NotFollowed, thread))
            }
            false => None,
        };
        if let Some((end, root)) = end {
            return self.give(chain, (end, root), (from_ns, to_ns), take);
        }
        let mut at_ns = from_ns;
        let first = self.of(thread).partition_point(|part| part.to_ns <= from_ns);
        for nth in first.. {
            let Some(&part) = self.of(thread).get(nth).filter(|part| part.from_ns < to_ns) else {
                break;
            };
            let (begin_ns, end_ns) = (part.from_ns.max(from_ns), part.to_ns.min(to_ns));
            self.give(chain, (End::Runs, thread), (at_ns, begin_ns), take);
            self.follow_wait(from, part.wait, (begin_ns, end_ns), chain, take);
            at_ns = end_ns;
        }
        self.give(chain, (End::Runs, thread), (at_ns, to_ns), take);
    }

    /// Follows a chain on through a wait of the thread at its end, which `from` is for.
    fn follow_wait(
        &mut self,
        from: &Wait,
        wait: u32,
        (from_ns, to_ns): (u64, u64),
        chain: &mut Chain,
        take: &mut impl FnMut(Piece<'_>),
    ) {
        let Some(&own) = self.waits.get(wait as usize) else { return };
        let thread = from.owner;
        if !from.is_held_up_by(&own) {
            return self.give(chain, (End::Waits, thread), (from_ns, to_ns), take);
        }
        let until_ns = own.until_ns.clamp(from_ns, to_ns);
        let span = (from_ns, until_ns);
        chain.seen.push(thread);
        // Who waits for a lock does not have it: who is before it in the chain waits
        // for the same one.
        if from.is_for_same(&own) {
            self.follow(&own, span, chain, take);
        } else {
            chain.steps.push(wait);
            chain.waiting.push(thread);
            self.follow(&own, span, chain, take);
            chain.waiting.pop();
            chain.steps.pop();
        }
        chain.seen.pop();
        self.give(chain, (End::Late, thread), (until_ns, to_ns), take);
    }

    fn of(&self, thread: u32) -> &[WaitPart] {
        self.parts.get(thread as usize).map_or(&[], Vec::as_slice)
    }

    fn give(
        &mut self,
        chain: &Chain,
        (end, root): (End, u32),
        (from_ns, to_ns): (u64, u64),
        take: &mut impl FnMut(Piece<'_>),
    ) {
        if from_ns < to_ns {
            self.left = self.left.saturating_sub(1);
            take(Piece { steps: &chain.steps, root, end, from_ns, to_ns });
        }
    }
}

/// A chain under way.
struct Chain {
    steps: Vec<u32>,
    /// All threads that were met.
    seen: Vec<u32>,
    /// Those whose waits are steps.
    waiting: Vec<u32>,
}

/// The parts of time in which a thread waited. Where waits overlap, as one may
/// begin within another, the one that began last counts; of two that are the same, the
/// one that tells more.
fn parts(waits: &[Wait], mut own: Vec<u32>) -> Vec<WaitPart> {
    let of = |wait: u32| waits.get(wait as usize).map_or((0, 0), |it| (it.start_ns, it.end_ns));
    let is_known = |wait: u32| waits.get(wait as usize).is_some_and(|it| it.owner != NOBODY);
    own.sort_by_key(|&wait| (of(wait).0, Reverse(of(wait).1), is_known(wait), wait));
    let mut parts: Vec<WaitPart> = Vec::with_capacity(own.len());
    // Those that had not ended when the next one began, the last one on top.
    let mut open: Vec<u32> = Vec::new();
    let mut at_ns = 0;
    for wait in own {
        let (start_ns, _) = of(wait);
        close(&mut open, &mut parts, &mut at_ns, start_ns, of);
        at_ns = at_ns.max(start_ns);
        open.push(wait);
    }
    close(&mut open, &mut parts, &mut at_ns, u64::MAX, of);
    parts
}

/// Puts down what open waits took from `at_ns` until a moment.
fn close(
    open: &mut Vec<u32>,
    parts: &mut Vec<WaitPart>,
    at_ns: &mut u64,
    until_ns: u64,
    of: impl Fn(u32) -> (u64, u64),
) {
    while let Some(&wait) = open.last() {
        let (_, end_ns) = of(wait);
        let to_ns = end_ns.min(until_ns);
        if *at_ns < to_ns {
            parts.push(WaitPart { from_ns: *at_ns, to_ns, wait });
            *at_ns = to_ns;
        }
        if end_ns > until_ns {
            return;
        }
        open.pop();
    }
}

#[cfg(test)]
mod tests;
