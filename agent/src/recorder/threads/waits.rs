//! What a thread waits for.

use crate::log::{Generation, MappedCell};
use std::sync::{
    Arc,
    atomic::Ordering::{Relaxed, Release},
};
use tyrion_wire::{Outcome, WaitKind, def::id, slot::field, span::Span};

/// A wait that has begun. Its ids are of the generation that its [`Waits`] are of.
#[derive(Clone, Copy, Debug)]
pub struct PendingWait {
    /// What is waited for. May still change until the wait ends.
    pub kind: WaitKind,
    /// Start, monotonic ns.
    pub start_ns: u64,
    /// The waiter's stack.
    pub stack: u32,
    /// The lock's id.
    pub lock: u32,
    /// The number of the place where it is taken, as the code has it; 0 unknown. It is the
    /// same in all generations.
    pub place: u32,
    /// The owner when the wait began, or as soon as it was known.
    pub owner: Owner,
    /// The number of the group that the owner was in then; 0 for none, or if it is not known.
    pub owner_group: u32,
    /// The span that the waiter is in.
    pub span: Span,
    /// The JVM's monitor that is waited for, if that is known; else 0.
    pub monitor: usize,
    /// The owner when it was looked for last, later than the wait's beginning.
    pub seen: Option<Seen>,
}

impl PendingWait {
    /// For nothing that is known.
    pub const NONE: PendingWait = PendingWait {
        kind: WaitKind::Park,
        start_ns: 0,
        stack: id::EMPTY_STACK,
        lock: id::UNKNOWN,
        place: id::UNKNOWN,
        owner: Owner::UNKNOWN,
        owner_group: 0,
        span: Span::NONE,
        monitor: 0,
        seen: None,
    };

    /// The wait for the lock that the thread of `waits` takes again since it was signalled,
    /// after a wait for its condition.
    pub fn to_reacquire(condition: &PendingWait, waits: &Waits, signalled_ns: u64) -> PendingWait {
        PendingWait {
            kind: WaitKind::LockReacquire,
            start_ns: signalled_ns,
            lock: waits.awaited_lock,
            // Of the condition, not of the lock.
            place: id::UNKNOWN,
            ..*condition
        }
    }

    /// Whether another wait is for the same. With `same_ids` both are of one generation.
    pub fn is_for_same(&self, other: &PendingWait, same_ids: bool) -> bool {
        let is_same_lock = same_ids && self.lock != id::UNKNOWN && self.lock == other.lock;
        is_same_lock || (self.monitor != 0 && self.monitor == other.monitor)
    }

    /// The owner as far as it is known last.
    pub fn last_owner(&self) -> Owner {
        self.seen.map_or(self.owner, |seen| seen.owner)
    }
}

/// The owner of a lock at a moment during a wait.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The owner; unknown if there was none.
    pub owner: Owner,
    /// When it was looked for, monotonic ns.
    pub at_ns: u64,
    /// The thread was to enter the monitor again, after `Object.wait`.
    pub reenters: bool,
}

/// Who holds a lock that is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// The thread's id in the log, 0 when unknown.
    pub id: u32,
    /// `Thread.getId()`.
    pub java_id: i64,
}

impl Owner {
    /// Nobody is known to.
    pub const UNKNOWN: Owner = Owner { id: id::UNKNOWN, java_id: 0 };

    /// Whether it is known.
    pub fn is_known(self) -> bool {
        self.id != id::UNKNOWN
    }
}

/// An acquisition of a j.u.c. lock that is on its slow path.
#[derive(Clone, Copy, Debug)]
pub struct Acquiring {
    /// When the slow path was entered, monotonic ns.
    pub start_ns: u64,
    /// Whether it is taken in shared mode.
    pub shared: bool,
    /// How often it parked.
    pub parks: u64,
    /// Filled in at the first park: an acquisition that never parks is none.
    pub wait: Option<PendingWait>,
}

/// An acquisition of a j.u.c. lock of which only the parks are seen.
pub struct Inferred {
    /// From the first park on.
    pub wait: PendingWait,
    /// The identity hash of the thread's place in the lock's queue, the same as long as it
    /// is the same acquisition; that of another one is the same once in 2³¹ times.
    pub node: Option<i32>,
    /// How often it parked.
    pub parks: u64,
    /// Whether an interrupt ends it.
    pub interruptible: bool,
    /// When its last park ends by itself, monotonic ns.
    pub limit_ns: u64,
    /// When its last park ended, monotonic ns; 0 while it is parked, and when it has
    /// been written.
    pub ended_ns: u64,
    /// How it has ended, if it has.
    pub outcome: Outcome,
    /// It is over, and in the log. A park that goes on with it all the same begins
    /// another wait.
    pub is_written: bool,
}

/// A thread that waits for a lock, at a moment.
pub struct Contending {
    /// Who waits.
    pub thread: Arc<super::Thread>,
    /// What for.
    pub wait: PendingWait,
    /// The number of the generation whose ids the wait has.
    pub generation: u32,
}

impl Contending {
    /// Whether it waits still, as far as that can be seen.
    pub fn goes_on(&self) -> bool {
        let waits = self.thread.try_waits();
        let now = waits.as_ref().and_then(|it| it.innermost());
        now.is_some_and(|it| it.start_ns == self.wait.start_ns)
    }
}

/// A lock that a thread got after it had waited for it.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The wait, with ids of this generation.
    pub wait: PendingWait,
    pub generation: u32,
    /// When it got the lock, monotonic ns.
    pub at_ns: u64,
}

/// A park that was under way when recording began: nobody tells when it ends.
pub struct Found {
    /// From the moment on at which it was found.
    pub wait: PendingWait,
    /// When it was last seen to last, monotonic ns.
    pub seen_ns: u64,
}

/// The end of an [`Inferred`] acquisition.
pub struct EndOfInferred {
    /// The wait.
    pub pending: PendingWait,
    /// When it ended, monotonic ns.
    pub ended_ns: u64,
    /// How.
    pub outcome: Outcome,
    /// How often it parked.
    pub parks: u64,
}

impl Inferred {
    /// The acquisition of a lock that the thread wanted again since it was signalled, after
    /// a park that ended at `ended_ns`.
    pub fn since_signal(wait: PendingWait, ended_ns: u64) -> Inferred {
        Inferred {
            wait,
            node: None,
            parks: 1,
            interruptible: false,
            limit_ns: u64::MAX,
            ended_ns,
            outcome: Outcome::Granted,
            is_written: false,
        }
    }

    /// An acquisition that is over.
    pub fn over(ended: &EndOfInferred) -> Inferred {
        let EndOfInferred { pending, ended_ns, outcome, parks } = *ended;
        Inferred { outcome, parks, ..Inferred::since_signal(pending, ended_ns) }
    }

    /// Whether it is one of these, which may go on with another park, and no node is known.
    pub fn is_signalled(&self) -> bool {
        !self.is_written && self.node.is_none() && self.wait.kind == WaitKind::LockReacquire
    }

    /// It goes on with another park, which ends by itself at `limit_ns`.
    pub fn parks_again(&mut self, limit_ns: u64) {
        self.parks += 1;
        self.ended_ns = 0;
        self.limit_ns = limit_ns;
    }

    /// Whether the thread is parked for it.
    pub fn is_parked(&self) -> bool {
        self.ended_ns == 0 && !self.is_written
    }

    /// Its end, once, unless the thread is parked.
    pub fn take_ended(&mut self) -> Option<EndOfInferred> {
        let ended_ns = std::mem::take(&mut self.ended_ns);
        if ended_ns == 0 {
            return None;
        }
        // No park goes on with it: what follows is another acquisition.
        self.is_written = true;
        let Inferred { wait: pending, outcome, parks, .. } = *self;
        Some(EndOfInferred { pending, ended_ns, outcome, parks })
    }
}

/// Who sees a park begin, and is to see its end: the other one may see that, too, when
/// what is recorded has changed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkSeenBy {
    /// Probes around it.
    Probes,
    /// What stands in for the JDK's native methods.
    Natives,
}

/// A park outside of any acquisition.
#[derive(Clone, Copy, Debug)]
pub struct Park {
    /// What is waited for.
    pub wait: PendingWait,
    /// When its time is over, monotonic ns; `u64::MAX` if that is never, or not known.
    pub limit_ns: u64,
    /// Who ends it.
    pub by: ParkSeenBy,
}

/// What a thread waits for. Waits groups: the class of a lock may itself wait
/// for a monitor, and `Object.wait` may end in a contended re-entry.
#[derive(Default)]
pub struct Waits {
    /// A contended monitor.
    pub monitor: Option<PendingWait>,
    /// `Object.wait`.
    pub object_wait: Option<PendingWait>,
    /// j.u.c. locks, outermost first: the application's own `tryAcquire` may
    /// itself have to wait for a lock.
    pub acquiring: Vec<Acquiring>,
    /// A park outside of any acquisition.
    pub park: Option<Park>,
    /// The lock that `Condition.await` takes again after `park`.
    pub awaited_lock: u32,
    /// The lock is wanted again: the signal came, and the acquisition begins.
    pub reacquiring: Option<PendingWait>,
    /// A j.u.c. lock, where the parks are all that is seen.
    pub inferred: Option<Inferred>,
    /// A park that was there before.
    pub found: Option<Found>,
    /// The number of the generation that all ids here are of.
    pub(super) generation: u32,
    /// Where the log shows what is waited for.
    pub(super) slot: Option<Slot>,
}

/// A slot of a generation.
pub(super) struct Slot {
    pub(super) generation: Arc<Generation>,
    pub(super) cell: MappedCell,
}

impl Slot {
    /// Says that nobody waits.
    pub(super) fn clear(&self) {
        self.cell.u32_at(field::KIND).store(0, Relaxed);
        self.cell.u32_at(field::THREAD).store(0, Release);
    }
}

impl Waits {
    /// Of an acquisition that is over, and of nothing else.
    pub fn with_ended(inferred: Inferred, generation: u32) -> Waits {
        Waits { inferred: Some(inferred), generation, ..Waits::default() }
    }

    /// The number of the generation that the ids are of.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Has all ids be of another generation. `from` is the one that they are of,
    /// and `thread` finds the id in the new one of a thread by its Java id.
    #[cold]
    pub(in crate::recorder) fn move_to(
        &mut self,
        from: Option<&Generation>,
        to: &Generation,
        thread: impl Fn(i64) -> Option<u32>,
    ) {
        let from = from.filter(|from| from.number == self.generation);
        // Where there is no room for that, the lock keeps its id, which is the same in
        // all generations: readers do not know it there, but the wait's end finds it.
        let copy_lock = |lock: u32| {
            if let Some(from) = from.filter(|_| lock != id::UNKNOWN) {
                let _ = to.dictionary.copy_lock(&to.log, &from.dictionary, lock);
            }
        };
        let acquiring = self.acquiring.iter_mut().map(|acquiring| &mut acquiring.wait);
        let single = [&mut self.monitor, &mut self.object_wait, &mut self.reacquiring];
        let park = self.park.as_mut().map(|park| &mut park.wait);
        let inferred = self.inferred.as_mut().map(|inferred| &mut inferred.wait);
        let found = self.found.as_mut().map(|found| &mut found.wait);
        let single = single.into_iter().chain(acquiring).flatten();
        for pending in single.chain(park).chain(inferred).chain(found) {
            let stack = from.and_then(|from| {
                to.dictionary.copy_stack(&to.log, &from.dictionary, pending.stack)
            });
            pending.stack = stack.unwrap_or(id::EMPTY_STACK);
            copy_lock(pending.lock);
            let seen = pending.seen.as_mut().map(|seen| &mut seen.owner);
            for owner in seen.into_iter().chain([&mut pending.owner]).filter(|it| it.is_known()) {
                owner.id = thread(owner.java_id).unwrap_or(id::UNKNOWN);
            }
        }
        copy_lock(self.awaited_lock);
        self.generation = to.number;
    }

    /// The same, to be changed.
    pub fn innermost_mut(&mut self) -> Option<&mut PendingWait> {
        if self.monitor.is_some() {
            return self.monitor.as_mut();
        }
        let park = self.park.as_mut().map(|park| &mut park.wait);
        let mut acquiring = self.acquiring.iter_mut().rev();
        let acquiring = acquiring.find_map(|acquiring| acquiring.wait.as_mut());
        let inferred = self.inferred.as_mut().filter(|inferred| inferred.is_parked());
        park.or(self.reacquiring.as_mut())
            .or(acquiring)
            .or(inferred.map(|inferred| &mut inferred.wait))
            .or(self.found.as_mut().map(|found| &mut found.wait))
            .or(self.object_wait.as_mut())
    }

    /// The innermost wait.
    #[inline]
    pub fn innermost(&self) -> Option<&PendingWait> {
        if self.monitor.is_some() {
            return self.monitor.as_ref();
        }
        let park = self.park.as_ref().map(|park| &park.wait);
        let acquiring =
            || self.acquiring.iter().rev().find_map(|acquiring| acquiring.wait.as_ref());
        let inferred = || self.inferred.as_ref().filter(|inferred| inferred.is_parked());
        park.or(self.reacquiring.as_ref())
            .or_else(acquiring)
            .or_else(|| inferred().map(|inferred| &inferred.wait))
            .or_else(|| self.found.as_ref().map(|found| &found.wait))
            .or(self.object_wait.as_ref())
    }
}
