//! The classes of the JDK that are known by name.

/// A class of the JDK that gets probes which depend on what its methods do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JdkClass {
    /// `LockSupport`: parks.
    LockSupport,
    /// `AbstractQueuedSynchronizer`: slow paths.
    Synchronizer,
    /// `AbstractQueuedLongSynchronizer`: slow paths.
    LongSynchronizer,
    /// `StampedLock`: slow paths, and parks up to JDK 11; acquisitions and releases.
    StampedLock,
    /// `Thread`: later names.
    Thread,
    /// `ForkJoinPool`: parks on JDK 8.
    ForkJoinPool,
    /// `Exchanger`: likewise.
    Exchanger,
    /// `ReentrantLock`: acquisitions and releases.
    ReentrantLock,
    /// The read lock of `ReentrantReadWriteLock`: the same.
    ReadLock,
    /// Its write lock.
    WriteLock,
    /// `Semaphore`.
    Semaphore,
    /// The conditions of all locks above that have some.
    Condition,
    /// The conditions of locks of the application's own with a `long` state.
    LongCondition,
}

impl JdkClass {
    /// All of them.
    pub const ALL: [JdkClass; 13] = [
        JdkClass::LockSupport,
        JdkClass::Synchronizer,
        JdkClass::LongSynchronizer,
        JdkClass::StampedLock,
        JdkClass::Thread,
        JdkClass::ForkJoinPool,
        JdkClass::Exchanger,
        JdkClass::ReentrantLock,
        JdkClass::ReadLock,
        JdkClass::WriteLock,
        JdkClass::Semaphore,
        JdkClass::Condition,
        JdkClass::LongCondition,
    ];

    /// The class's internal name.
    pub const fn name(self) -> &'static str {
        match self {
            JdkClass::LockSupport => "java/util/concurrent/locks/LockSupport",
            JdkClass::Synchronizer => "java/util/concurrent/locks/AbstractQueuedSynchronizer",
            JdkClass::LongSynchronizer => {
                "java/util/concurrent/locks/AbstractQueuedLongSynchronizer"
            }
            JdkClass::StampedLock => "java/util/concurrent/locks/StampedLock",
            JdkClass::Thread => "java/lang/Thread",
            JdkClass::ForkJoinPool => "java/util/concurrent/ForkJoinPool",
            JdkClass::Exchanger => "java/util/concurrent/Exchanger",
            JdkClass::ReentrantLock => "java/util/concurrent/locks/ReentrantLock",
            JdkClass::ReadLock => "java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock",
            JdkClass::WriteLock => "java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock",
            JdkClass::Semaphore => "java/util/concurrent/Semaphore",
            JdkClass::Condition => {
                "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject"
            }
            JdkClass::LongCondition => {
                "java/util/concurrent/locks/AbstractQueuedLongSynchronizer$ConditionObject"
            }
        }
    }

    /// The class that has this internal name.
    pub fn by_name(name: &[u8]) -> Option<JdkClass> {
        Self::ALL.into_iter().find(|class| class.name().as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_by_name() {
        for class in JdkClass::ALL {
            assert_eq!(JdkClass::by_name(class.name().as_bytes()), Some(class));
        }
        assert_eq!(JdkClass::by_name(b"java/lang/Object"), None);
    }
}
