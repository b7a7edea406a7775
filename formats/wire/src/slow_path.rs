//! What the methods of a j.u.c. lock say of an acquisition.

/// How a lock of `java.util.concurrent` is being taken, by the names of the
/// lock's own methods on the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowPath {
    /// It is taken in shared mode.
    pub shared: bool,
    /// An interrupt ends the attempt.
    pub interruptible: bool,
}

impl SlowPath {
    /// What one method says; `None` when it is not one of a lock's own. The class
    /// is given as its signature, `Lcom/acme/Foo;`.
    pub fn of(class: &[u8], method: &[u8]) -> Option<SlowPath> {
        let class = class.strip_prefix(b"Ljava/util/concurrent/locks/")?;
        let (shared, interruptible) = match class {
            b"AbstractQueuedSynchronizer;" | b"AbstractQueuedLongSynchronizer;" => (
                contains(method, b"Shared"),
                contains(method, b"Interruptibly") || contains(method, b"Nanos"),
            ),
            b"StampedLock;" => (
                matches!(method, b"acquireRead" | b"readLock" | b"readLockInterruptibly"),
                contains(method, b"Interruptibly") || method.starts_with(b"try"),
            ),
            b"LockSupport;" => (false, false),
            _ => return None,
        };
        Some(SlowPath { shared, interruptible })
    }

    /// What two methods say together.
    #[must_use]
    pub fn or(self, other: SlowPath) -> SlowPath {
        SlowPath {
            shared: self.shared || other.shared,
            interruptible: self.interruptible || other.interruptible,
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::SlowPath;

    const AQS: &[u8] = b"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;";
    const STAMPED: &[u8] = b"Ljava/util/concurrent/locks/StampedLock;";

    #[test]
    fn methods_tell_mode_and_interrupts() {
        let path = |shared, interruptible| Some(SlowPath { shared, interruptible });
        for (class, method, expected) in [
            (AQS, "acquire", path(false, false)),
            (AQS, "acquireQueued", path(false, false)),
            (AQS, "acquireShared", path(true, false)),
            (AQS, "acquireSharedInterruptibly", path(true, true)),
            (AQS, "doAcquireSharedNanos", path(true, true)),
            (AQS, "tryAcquireNanos", path(false, true)),
            (STAMPED, "acquireRead", path(true, false)),
            (STAMPED, "acquireWrite", path(false, false)),
            (STAMPED, "writeLockInterruptibly", path(false, true)),
            (STAMPED, "tryReadLock", path(false, true)),
            (b"Ljava/util/concurrent/locks/ReentrantLock;", "lock", None),
            (b"Lcom/acme/Mutex$Sync;", "acquireShared", None),
        ] {
            assert_eq!(SlowPath::of(class, method.as_bytes()), expected, "{method}");
        }
    }
}
