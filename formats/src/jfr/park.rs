//! What a thread was parked for, by its stack and the class of its blocker: what the
//! agent's probes tell, told by the frames of `java.util.concurrent`.

use tyrion_wire::{WaitKind, lock_flavor::LockFlavor, slow_path::SlowPath};

/// What a park was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParkPurpose {
    pub(crate) kind: WaitKind,
    /// How many of the innermost frames are the JVM's way to let a thread park.
    pub(crate) machinery: usize,
}

/// What a park was for. `frames` are classes and methods, the innermost one first;
/// `blocker` is the class of what it was parked for.
pub(crate) fn park<'f>(
    frames: impl Iterator<Item = (&'f str, &'f str)>,
    blocker: &str,
) -> ParkPurpose {
    let mut machinery = 0;
    let mut path = SlowPath::default();
    let (mut acquires, mut awaits) = (false, false);
    for (class, method) in frames {
        if !acquires && is_machinery(class, method) {
            machinery += 1;
            continue;
        }
        let is_condition = class.ends_with("Synchronizer$ConditionObject");
        if is_condition && method.starts_with("await") {
            awaits = true;
            break;
        }
        let signature = format!("L{class};");
        let Some(own) = SlowPath::of(signature.as_bytes(), method.as_bytes()) else {
            // The lock's own class, or the program.
            break;
        };
        acquires |= !class.ends_with("/LockSupport");
        path = path.or(own);
    }
    if awaits && !acquires {
        return ParkPurpose { kind: WaitKind::Condition, machinery };
    }
    let signature = format!("L{blocker};");
    // A stack may be missing, or cut before it tells.
    let is_synchronizer = acquires || LockFlavor::of_synchronizer(blocker.as_bytes()).is_some();
    let flavor = LockFlavor::of(signature.as_bytes(), is_synchronizer);
    ParkPurpose { kind: flavor.kind(path.shared, acquires && awaits), machinery }
}

/// Whether a method only carries out a park. Methods of native code have no class.
fn is_machinery(class: &str, method: &str) -> bool {
    let is_native = class.is_empty() && !method.is_empty();
    let is_java = matches!(
        class,
        "jdk/internal/misc/Unsafe"
            | "sun/misc/Unsafe"
            | "java/lang/VirtualThread"
            | "java/lang/ThreadBuilders$BoundVirtualThread"
            | "jdk/internal/misc/VirtualThreads"
    );
    is_native
        || is_java
        || class.starts_with("java/lang/System$")
        || class.starts_with("jdk/internal/vm/Continuation")
}

#[cfg(test)]
mod tests {
    use super::*;

    const AQS: &str = "java/util/concurrent/locks/AbstractQueuedSynchronizer";
    const CONDITION: &str = "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject";
    const SUPPORT: &str = "java/util/concurrent/locks/LockSupport";
    const UNSAFE: &str = "jdk/internal/misc/Unsafe";

    fn kind(frames: &[(&str, &str)], blocker: &str) -> (WaitKind, usize) {
        let park = park(frames.iter().copied(), blocker);
        (park.kind, park.machinery)
    }

    #[test]
    fn parks_are_told_apart_by_their_frames() {
        let lock = "java/util/concurrent/locks/ReentrantLock";
        let sync = "java/util/concurrent/locks/ReentrantLock$NonfairSync";
        let acquire = [(UNSAFE, "park"), (SUPPORT, "park"), (AQS, "acquire"), (sync, "lock")];
        assert_eq!(kind(&acquire, sync), (WaitKind::Lock, 1));
        let after = [(UNSAFE, "park"), (SUPPORT, "park"), (AQS, "acquire"), (CONDITION, "await")];
        assert_eq!(kind(&after, sync), (WaitKind::LockReacquire, 1));
        let awaits = [(UNSAFE, "park"), (SUPPORT, "park"), (CONDITION, "awaitNanos"), (lock, "x")];
        assert_eq!(kind(&awaits, CONDITION), (WaitKind::Condition, 1));
        let read = "java/util/concurrent/locks/ReentrantReadWriteLock$FairSync";
        let shared = [(SUPPORT, "park"), (AQS, "parkAndCheckInterrupt"), (AQS, "doAcquireShared")];
        assert_eq!(kind(&shared, read), (WaitKind::LockRead, 0));
        assert_eq!(kind(&acquire, read), (WaitKind::LockWrite, 1));
        let permit = "java/util/concurrent/Semaphore$NonfairSync";
        assert_eq!(kind(&shared, permit), (WaitKind::Semaphore, 0));
        let latch = "java/util/concurrent/CountDownLatch$Sync";
        assert_eq!(kind(&shared, latch), (WaitKind::Park, 0));
        let stamped = "java/util/concurrent/locks/StampedLock";
        let reads = [(UNSAFE, "park"), (SUPPORT, "park"), (stamped, "acquireRead")];
        assert_eq!(kind(&reads, stamped), (WaitKind::LockRead, 1));
        let queue = "java/util/concurrent/SynchronousQueue$TransferStack";
        assert_eq!(
            kind(&[(UNSAFE, "park"), (SUPPORT, "park"), (queue, "x")], queue),
            (WaitKind::Park, 1)
        );
        assert_eq!(kind(&[], ""), (WaitKind::Park, 0), "nothing is known");
    }

    #[test]
    fn virtual_threads_park_by_other_ways() {
        let sync = "java/util/concurrent/locks/ReentrantLock$NonfairSync";
        let frames = [
            ("jdk/internal/vm/Continuation", "yield"),
            ("java/lang/VirtualThread", "yieldContinuation"),
            ("java/lang/VirtualThread", "park"),
            ("java/lang/System$2", "parkVirtualThread"),
            ("java/util/concurrent/locks/LockSupport", "park"),
            (AQS, "acquire"),
        ];
        assert_eq!(kind(&frames, sync), (WaitKind::Lock, 4));
    }

    #[test]
    fn what_lacks_a_stack_or_a_blocker_is_told_by_the_rest() {
        let sync = "java/util/concurrent/locks/ReentrantLock$NonfairSync";
        assert_eq!(kind(&[], sync), (WaitKind::Lock, 0));
        assert_eq!(kind(&[], "java/util/concurrent/CountDownLatch$Sync"), (WaitKind::Park, 0));
        let awaits = [(SUPPORT, "park"), (CONDITION, "await")];
        assert_eq!(kind(&awaits, ""), (WaitKind::Condition, 0));
    }

    #[test]
    fn native_frames_are_left_out_unless_nothing_is_known_of_them() {
        let sync = "java/util/concurrent/locks/ReentrantLock$NonfairSync";
        let native = [("", "Unsafe_Park"), (UNSAFE, "park"), (SUPPORT, "park"), (AQS, "acquire")];
        assert_eq!(kind(&native, sync), (WaitKind::Lock, 2));
        assert_eq!(kind(&[("", ""), ("", "")], sync), (WaitKind::Lock, 0));
    }
}
