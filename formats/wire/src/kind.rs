//! What a thread waited for.

/// The kind of a wait. Kinds stay apart everywhere: in the log, in filters,
/// in labels and in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum WaitKind {
    /// A contended Java monitor (`synchronized`).
    Monitor = 1,
    /// A contended exclusive j.u.c. lock: `ReentrantLock`, or any
    /// `AbstractQueuedSynchronizer` of the application's own.
    Lock = 2,
    /// The read lock of `ReentrantReadWriteLock` or `StampedLock`.
    LockRead = 3,
    /// The write lock of `ReentrantReadWriteLock` or `StampedLock`.
    LockWrite = 4,
    /// A permit of `java.util.concurrent.Semaphore`.
    Semaphore = 5,
    /// A j.u.c. lock taken again after `Condition.await`.
    LockReacquire = 6,
    /// `Object.wait`, re-entry into the monitor after `notify` included.
    ObjectWait = 7,
    /// `Condition.await` until the signal.
    Condition = 8,
    /// Any other `LockSupport.park`: queues, latches, futures, idle pools.
    Park = 9,
}

/// What kinds of waits are shown as: their colours, and what legends call them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A monitor.
    Monitor,
    /// A lock of `java.util.concurrent`.
    Lock,
    /// Until a signal.
    Condition,
    /// Anything else.
    Park,
}

impl Family {
    /// What legends call it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Monitor => "monitor",
            Family::Lock => "java.util.concurrent lock",
            Family::Condition => "condition",
            Family::Park => "park",
        }
    }
}

/// How threads have what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// One at a time.
    Alone,
    /// Several, while no other one has it alone.
    Shared,
    /// As many as there are permits.
    Permits,
    /// It is nothing that threads have.
    Nothing,
}

/// What sets kinds apart.
struct KindFacts {
    name: &'static str,
    family: Family,
    access: Access,
    is_contention: bool,
}

/// In the order of their codes.
const ABOUT: [KindFacts; WaitKind::ALL.len()] = [
    about("monitor", Family::Monitor, Access::Alone, true),
    about("lock", Family::Lock, Access::Alone, true),
    about("lock-read", Family::Lock, Access::Shared, true),
    about("lock-write", Family::Lock, Access::Alone, true),
    about("semaphore", Family::Lock, Access::Permits, true),
    about("lock-reacquire", Family::Lock, Access::Alone, false),
    about("object-wait", Family::Condition, Access::Nothing, false),
    about("condition", Family::Condition, Access::Nothing, false),
    about("park", Family::Park, Access::Nothing, false),
];

const fn about(
    name: &'static str,
    family: Family,
    access: Access,
    is_contention: bool,
) -> KindFacts {
    KindFacts { name, family, access, is_contention }
}

impl WaitKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [WaitKind; 9] = [
        WaitKind::Monitor,
        WaitKind::Lock,
        WaitKind::LockRead,
        WaitKind::LockWrite,
        WaitKind::Semaphore,
        WaitKind::LockReacquire,
        WaitKind::ObjectWait,
        WaitKind::Condition,
        WaitKind::Park,
    ];

    /// Those of lock contention, in the order of their codes.
    pub const CONTENTION: [WaitKind; 5] = [
        WaitKind::Monitor,
        WaitKind::Lock,
        WaitKind::LockRead,
        WaitKind::LockWrite,
        WaitKind::Semaphore,
    ];

    /// The kind with this code, if there is one.
    pub fn from_code(code: u8) -> Option<WaitKind> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// The code that stands in the log.
    pub fn code(self) -> u8 {
        self as u8
    }

    fn about(self) -> &'static KindFacts {
        &ABOUT[self as usize - 1]
    }

    /// The name used by filters, labels and JSON.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// What it is shown as.
    pub fn family(self) -> Family {
        self.about().family
    }

    /// The kind of this name, if there is one.
    pub fn from_name(name: &str) -> Option<WaitKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether waits of this kind are lock contention: another thread held
    /// what this one wanted. Idle waiting never is, and a lock taken again
    /// after `Condition.await` is kept apart.
    pub fn is_contention(self) -> bool {
        self.about().is_contention
    }

    /// Whether several threads may have what is waited for at once, as readers.
    pub fn is_shared(self) -> bool {
        self.about().access == Access::Shared
    }

    /// Whether what is waited for has one owner, at least while somebody waits: writers, of
    /// what readers wait for.
    pub fn has_owner(self) -> bool {
        matches!(self.about().access, Access::Alone | Access::Shared)
    }

    /// Whether it is a wait for something to happen, not for a lock.
    pub fn is_idle(self) -> bool {
        self.about().access == Access::Nothing
    }
}

crate::named_enum! {
    /// How a wait ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Outcome {
        /// The lock was granted, or the awaited event came.
        Granted = 0 => "granted",
        /// The time limit passed first.
        TimedOut = 1 => "timed-out",
        /// The thread was interrupted.
        Interrupted = 2 => "interrupted",
        /// The acquisition was left by another exception.
        Failed = 3 => "failed",
    }
}

impl Outcome {
    /// The outcome of the two low bits of `code`.
    pub fn from_bits(code: u8) -> Outcome {
        Self::ALL[usize::from(code & 3)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        for kind in WaitKind::ALL {
            assert_eq!(WaitKind::from_code(kind.code()), Some(kind));
            assert_eq!(WaitKind::from_name(kind.name()), Some(kind));
            assert_eq!(WaitKind::CONTENTION.contains(&kind), kind.is_contention());
        }
        assert_eq!(WaitKind::from_code(0), None);
        assert_eq!(WaitKind::from_code(10), None);
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::from_bits(outcome as u8), outcome);
        }
    }
}
