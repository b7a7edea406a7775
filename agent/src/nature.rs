//! What kind of lock an object is, by its class.

use tyrion_wire::WaitKind;

/// What waiting for an object of a class means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Nature {
    /// No j.u.c. lock: parking on it is idle waiting, its monitor is a monitor.
    Plain = 1,
    /// `ReentrantLock`, or a synchronizer of the application's own.
    Lock = 2,
    /// `ReentrantReadWriteLock`.
    ReadWrite = 3,
    /// `StampedLock`.
    Stamped = 4,
    /// `Semaphore`.
    Semaphore = 5,
    /// `AbstractQueuedSynchronizer.ConditionObject` and its long twin.
    Condition = 6,
    /// `CountDownLatch`: a synchronizer, but nobody holds it.
    Latch = 7,
}

impl Nature {
    /// The nature of this code; unknown ones are plain.
    pub fn from_code(code: u8) -> Nature {
        match code {
            2 => Nature::Lock,
            3 => Nature::ReadWrite,
            4 => Nature::Stamped,
            5 => Nature::Semaphore,
            6 => Nature::Condition,
            7 => Nature::Latch,
            _ => Nature::Plain,
        }
    }

    /// The nature of a class by its signature, and whether it extends one of
    /// the queued synchronizers.
    pub fn of(signature: &[u8], is_synchronizer: bool) -> Nature {
        let name = signature.strip_prefix(b"Ljava/util/concurrent/").unwrap_or_default();
        let starts = |prefix: &[u8]| name.starts_with(prefix);
        if starts(b"locks/StampedLock;") {
            Nature::Stamped
        } else if starts(b"locks/AbstractQueued") && name.ends_with(b"$ConditionObject;") {
            Nature::Condition
        } else if !is_synchronizer {
            Nature::Plain
        } else if starts(b"locks/ReentrantReadWriteLock$") {
            Nature::ReadWrite
        } else if starts(b"Semaphore$") {
            Nature::Semaphore
        } else if starts(b"CountDownLatch$") {
            Nature::Latch
        } else {
            Nature::Lock
        }
    }

    /// The kind of a wait that parks on such an object: `shared` as the slow
    /// path says, `reacquires` when `Condition.await` takes the lock again.
    pub fn kind(self, shared: bool, reacquires: bool) -> WaitKind {
        match self {
            Nature::Plain | Nature::Latch => WaitKind::Park,
            Nature::Condition => WaitKind::Condition,
            _ if reacquires => WaitKind::LockReacquire,
            Nature::Lock => WaitKind::Lock,
            Nature::Semaphore => WaitKind::Semaphore,
            Nature::ReadWrite | Nature::Stamped if shared => WaitKind::LockRead,
            Nature::ReadWrite | Nature::Stamped => WaitKind::LockWrite,
        }
    }

    /// Whether it is a j.u.c. lock, that is something that threads hold.
    pub fn is_held(self) -> bool {
        matches!(self, Nature::Lock | Nature::ReadWrite | Nature::Stamped | Nature::Semaphore)
    }

    /// Whether the object may know the thread that holds it.
    pub fn has_owner(self) -> bool {
        matches!(self, Nature::Lock | Nature::ReadWrite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_natures() {
        for (class, synchronizer, nature) in [
            ("Ljava/lang/Object;", false, Nature::Plain),
            ("Ljava/util/concurrent/locks/ReentrantLock$NonfairSync;", true, Nature::Lock),
            (
                "Ljava/util/concurrent/locks/ReentrantReadWriteLock$FairSync;",
                true,
                Nature::ReadWrite,
            ),
            ("Ljava/util/concurrent/locks/StampedLock;", false, Nature::Stamped),
            ("Ljava/util/concurrent/Semaphore$NonfairSync;", true, Nature::Semaphore),
            ("Ljava/util/concurrent/CountDownLatch$Sync;", true, Nature::Latch),
            ("Lcom/acme/Mutex$Sync;", true, Nature::Lock),
            ("Ljava/util/concurrent/ThreadPoolExecutor$Worker;", true, Nature::Lock),
            (
                "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject;",
                false,
                Nature::Condition,
            ),
            ("Ljava/util/concurrent/SynchronousQueue$TransferStack;", false, Nature::Plain),
        ] {
            assert_eq!(Nature::of(class.as_bytes(), synchronizer), nature, "{class}");
            assert_eq!(Nature::from_code(nature as u8), nature);
        }
    }

    #[test]
    fn kinds_follow_mode_and_caller() {
        assert_eq!(Nature::ReadWrite.kind(true, false), WaitKind::LockRead);
        assert_eq!(Nature::Stamped.kind(false, false), WaitKind::LockWrite);
        assert_eq!(Nature::Lock.kind(false, true), WaitKind::LockReacquire);
        assert_eq!(Nature::Semaphore.kind(true, false), WaitKind::Semaphore);
        assert_eq!(Nature::Latch.kind(true, false), WaitKind::Park);
        assert_eq!(Nature::Condition.kind(false, false), WaitKind::Condition);
    }
}
