//! What kind of lock an object is, by its class.

use crate::kind::WaitKind;

/// What waiting for an object of a class means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LockFlavor {
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
    /// What the JVM takes while it initializes a class.
    Initialization = 8,
}

/// How the names of the JDK's classes begin in which locks are implemented. They call each
/// other's `lock()`, which is no place where the application takes a lock.
pub const LOCK_CLASSES: [&str; 2] =
    ["java/util/concurrent/locks/", "java/util/concurrent/Semaphore"];

/// Whether a class, by its internal name, is one of these.
pub fn implements_locks(class: &[u8]) -> bool {
    LOCK_CLASSES.iter().any(|begin| class.starts_with(begin.as_bytes()))
}

/// What the names of these classes begin with.
const UTIL: &[u8] = b"java/util/concurrent/";
/// How the names of the JDK's synchronizers go on.
const SYNCHRONIZERS: [(&[u8], LockFlavor); 4] = [
    (b"locks/ReentrantLock$", LockFlavor::Lock),
    (b"locks/ReentrantReadWriteLock$", LockFlavor::ReadWrite),
    (b"Semaphore$", LockFlavor::Semaphore),
    (b"CountDownLatch$", LockFlavor::Latch),
];

impl LockFlavor {
    /// The flavor of this code; unknown ones are plain.
    pub fn from_code(code: u8) -> LockFlavor {
        match code {
            2 => LockFlavor::Lock,
            3 => LockFlavor::ReadWrite,
            4 => LockFlavor::Stamped,
            5 => LockFlavor::Semaphore,
            6 => LockFlavor::Condition,
            7 => LockFlavor::Latch,
            8 => LockFlavor::Initialization,
            _ => LockFlavor::Plain,
        }
    }

    /// The flavor of a class by its signature, and whether it extends one of
    /// the queued synchronizers.
    pub fn of(signature: &[u8], is_synchronizer: bool) -> LockFlavor {
        let class = signature.strip_prefix(b"L").unwrap_or_default();
        let name = class.strip_prefix(UTIL).unwrap_or_default();
        let starts = |prefix: &[u8]| name.starts_with(prefix);
        if starts(b"locks/StampedLock;") {
            LockFlavor::Stamped
        } else if starts(b"locks/AbstractQueued") && name.ends_with(b"$ConditionObject;") {
            LockFlavor::Condition
        } else if !is_synchronizer {
            LockFlavor::Plain
        } else {
            LockFlavor::of_synchronizer(class).unwrap_or(LockFlavor::Lock)
        }
    }

    /// The flavor of one of the JDK's own synchronizers, by how its internal name begins.
    pub fn of_synchronizer(class: &[u8]) -> Option<LockFlavor> {
        let name = class.strip_prefix(UTIL)?;
        let known = SYNCHRONIZERS.iter().find(|(begin, _)| name.starts_with(begin));
        known.map(|(_, flavor)| *flavor)
    }

    /// Whether trace mode counts acquisitions of such a lock, by its class's signature: it has no
    /// probes for synchronizers of the application's own, of which it is not known what they do.
    pub fn is_counted(self, signature: &[u8]) -> bool {
        match self {
            LockFlavor::Lock => {
                signature.strip_prefix(b"L").and_then(LockFlavor::of_synchronizer).is_some()
            }
            _ => self.is_held(),
        }
    }

    /// The kind of a wait that parks on such an object: `shared` as the slow
    /// path says, `reacquires` when `Condition.await` takes the lock again.
    pub fn kind(self, shared: bool, reacquires: bool) -> WaitKind {
        match self {
            LockFlavor::Plain | LockFlavor::Latch | LockFlavor::Initialization => WaitKind::Park,
            LockFlavor::Condition => WaitKind::Condition,
            _ if reacquires => WaitKind::LockReacquire,
            LockFlavor::Lock => WaitKind::Lock,
            LockFlavor::Semaphore => WaitKind::Semaphore,
            LockFlavor::ReadWrite | LockFlavor::Stamped if shared => WaitKind::LockRead,
            LockFlavor::ReadWrite | LockFlavor::Stamped => WaitKind::LockWrite,
        }
    }

    /// Whether it is a j.u.c. lock, that is something that threads hold.
    pub fn is_held(self) -> bool {
        matches!(
            self,
            LockFlavor::Lock | LockFlavor::ReadWrite | LockFlavor::Stamped | LockFlavor::Semaphore
        )
    }

    /// Whether the object may know the thread that holds it.
    pub fn has_owner(self) -> bool {
        matches!(self, LockFlavor::Lock | LockFlavor::ReadWrite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_natures() {
        for (class, synchronizer, flavor) in [
            ("Ljava/lang/Object;", false, LockFlavor::Plain),
            ("Ljava/util/concurrent/locks/ReentrantLock$NonfairSync;", true, LockFlavor::Lock),
            (
                "Ljava/util/concurrent/locks/ReentrantReadWriteLock$FairSync;",
                true,
                LockFlavor::ReadWrite,
            ),
            ("Ljava/util/concurrent/locks/StampedLock;", false, LockFlavor::Stamped),
            ("Ljava/util/concurrent/Semaphore$NonfairSync;", true, LockFlavor::Semaphore),
            ("Ljava/util/concurrent/CountDownLatch$Sync;", true, LockFlavor::Latch),
            ("Lcom/acme/Mutex$Sync;", true, LockFlavor::Lock),
            ("Ljava/util/concurrent/ThreadPoolExecutor$Worker;", true, LockFlavor::Lock),
            (
                "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject;",
                false,
                LockFlavor::Condition,
            ),
            ("Ljava/util/concurrent/SynchronousQueue$TransferStack;", false, LockFlavor::Plain),
        ] {
            assert_eq!(LockFlavor::of(class.as_bytes(), synchronizer), flavor, "{class}");
            assert_eq!(LockFlavor::from_code(flavor as u8), flavor);
        }
    }

    #[test]
    fn synchronizers_of_an_application_are_not_counted() {
        for (class, synchronizer, counted) in [
            ("Ljava/util/concurrent/locks/ReentrantLock$NonfairSync;", true, true),
            ("Ljava/util/concurrent/locks/StampedLock;", false, true),
            ("Ljava/util/concurrent/Semaphore$FairSync;", true, true),
            ("Lcom/acme/Latch$Sync;", true, false),
            ("Ljava/util/concurrent/ThreadPoolExecutor$Worker;", true, false),
            ("Ljava/util/concurrent/CountDownLatch$Sync;", true, false),
            ("Ljava/lang/Object;", false, false),
        ] {
            let flavor = LockFlavor::of(class.as_bytes(), synchronizer);
            assert_eq!(flavor.is_counted(class.as_bytes()), counted, "{class}");
        }
    }

    #[test]
    fn kinds_follow_mode_and_caller() {
        assert_eq!(LockFlavor::ReadWrite.kind(true, false), WaitKind::LockRead);
        assert_eq!(LockFlavor::Stamped.kind(false, false), WaitKind::LockWrite);
        assert_eq!(LockFlavor::Lock.kind(false, true), WaitKind::LockReacquire);
        assert_eq!(LockFlavor::Semaphore.kind(true, false), WaitKind::Semaphore);
        assert_eq!(LockFlavor::Latch.kind(true, false), WaitKind::Park);
        assert_eq!(LockFlavor::Condition.kind(false, false), WaitKind::Condition);
    }
}
