//! Which probes go where in the locks of `java.util.concurrent`: those that
//! the application calls, on JDK 11 to 25.
//!
//! An acquisition is seen when the method that takes the lock returns, and
//! only if it returns normally; a release when the method that does it is
//! called. (Slow paths and parks, for contention, are the business of
//! `juc.rs`. Its plan for `StampedLock` is for other methods than this one's:
//! [`MethodPlan::append`] puts the two together.)

use super::plan::TRACE_CLASS;
use super::plan::kind::{LOCK, READ, SEMAPHORE, WRITE};
use tyrion_bytecode::{Code, Exit, Member, Method, MethodPlan, Op};

/// A class of the JDK that gets probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `ReentrantLock`.
    ReentrantLock,
    /// The read lock of `ReentrantReadWriteLock`.
    ReadLock,
    /// Its write lock.
    WriteLock,
    /// `Semaphore`.
    Semaphore,
    /// `StampedLock`.
    StampedLock,
    /// The conditions of all locks above that have some.
    Condition,
    /// The conditions of locks of the application's own with a `long` state.
    LongCondition,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 7] = [
        Target::ReentrantLock,
        Target::ReadLock,
        Target::WriteLock,
        Target::Semaphore,
        Target::StampedLock,
        Target::Condition,
        Target::LongCondition,
    ];

    /// The class's internal name.
    pub fn class(self) -> &'static str {
        match self {
            Target::ReentrantLock => "java/util/concurrent/locks/ReentrantLock",
            Target::ReadLock => "java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock",
            Target::WriteLock => "java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock",
            Target::Semaphore => "java/util/concurrent/Semaphore",
            Target::StampedLock => STAMPED_LOCK,
            Target::Condition => {
                "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject"
            }
            Target::LongCondition => {
                "java/util/concurrent/locks/AbstractQueuedLongSynchronizer$ConditionObject"
            }
        }
    }

    /// The target that has this name.
    pub fn by_class(name: &str) -> Option<Target> {
        Self::ALL.into_iter().find(|target| target.class() == name)
    }

    /// What identifies the lock: its synchronizer, which is what threads
    /// queue for, or the object itself where it has none.
    fn lock(self) -> Vec<Op> {
        const AQS: &str = "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;";
        const AQLS: &str = "Ljava/util/concurrent/locks/AbstractQueuedLongSynchronizer;";
        const RRW_SYNC: &str = "Ljava/util/concurrent/locks/ReentrantReadWriteLock$Sync;";
        let (field, descriptor) = match self {
            Target::ReentrantLock => ("sync", "Ljava/util/concurrent/locks/ReentrantLock$Sync;"),
            Target::ReadLock | Target::WriteLock => ("sync", RRW_SYNC),
            Target::Semaphore => ("sync", "Ljava/util/concurrent/Semaphore$Sync;"),
            Target::Condition => ("this$0", AQS),
            Target::LongCondition => ("this$0", AQLS),
            Target::StampedLock => return vec![Op::Aload(0)],
        };
        vec![Op::Aload(0), Op::GetField(Member::new(self.class(), field, descriptor))]
    }
}

const STAMPED_LOCK: &str = "java/util/concurrent/locks/StampedLock";

const fn probe(name: &'static str, descriptor: &'static str) -> Member {
    Member::new(TRACE_CLASS, name, descriptor)
}

/// Has the lock: the lock, the kind.
pub const ACQUIRED: Member = probe("acquired", "(Ljava/lang/Object;I)V");
/// Has the lock, if true: the result, the lock, the kind.
pub const TRIED: Member = probe("tried", "(ZLjava/lang/Object;I)V");
/// Has the lock, unless 0: the stamp, the lock, the kind.
pub const STAMPED: Member = probe("stamped", "(JLjava/lang/Object;I)V");
/// About to release the lock, if it holds it: the lock, the kind.
pub const RELEASED: Member = probe("released", "(Ljava/lang/Object;I)V");
/// About to wait, which gives the lock up: the lock.
pub const AWAITS: Member = probe("awaits", "(Ljava/lang/Object;)V");
/// Has waited, and has the lock again: the lock.
pub const AWAITED: Member = probe("awaited", "(Ljava/lang/Object;)V");
/// Whether [`STAMPED`] is to do nothing in this thread, because the lock calls
/// one of its own methods and will tell the outcome itself.
pub const QUIET: Member = probe("quiet", "(Z)V");

/// What a method does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Returns only with the lock.
    Acquires(i32),
    /// Returns whether it has the lock.
    Tries(i32),
    /// Returns a stamp, or 0.
    Stamps(i32),
    Releases(i32),
    Waits,
}

/// What a method of `target` does, by its name and its descriptor.
fn does(target: Target, name: &str, descriptor: &str) -> Option<Does> {
    const TIMED: &str = "(JLjava/util/concurrent/TimeUnit;)";
    let (arguments, result) = descriptor.rsplit_once(')')?;
    let (read, write) = (i32::from(READ), i32::from(WRITE));
    let kind = match target {
        Target::ReentrantLock => i32::from(LOCK),
        Target::ReadLock => read,
        Target::WriteLock => write,
        Target::Semaphore => i32::from(SEMAPHORE),
        Target::StampedLock | Target::Condition | Target::LongCondition => 0,
    };
    match target {
        Target::ReentrantLock | Target::ReadLock | Target::WriteLock => match (name, descriptor) {
            ("lock" | "lockInterruptibly", "()V") => Some(Does::Acquires(kind)),
            ("tryLock", "()Z") => Some(Does::Tries(kind)),
            ("tryLock", _) if result == "Z" && descriptor.starts_with(TIMED) => {
                Some(Does::Tries(kind))
            }
            ("unlock", "()V") => Some(Does::Releases(kind)),
            _ => None,
        },
        Target::Semaphore => match (name, arguments, result) {
            ("acquire" | "acquireUninterruptibly", "(" | "(I", "V") => Some(Does::Acquires(kind)),
            ("tryAcquire", _, "Z") => Some(Does::Tries(kind)),
            ("release", "(" | "(I", "V") => Some(Does::Releases(kind)),
            _ => None,
        },
        Target::StampedLock => match (name, result) {
            ("readLock" | "readLockInterruptibly" | "tryReadLock", "J") => Some(Does::Stamps(read)),
            ("writeLock" | "writeLockInterruptibly", "J") => Some(Does::Stamps(write)),
            // Not the private one with a state to start from, which some of the others call.
            ("tryWriteLock", "J") if arguments != "(J" => Some(Does::Stamps(write)),
            // The views that `asReadLock()` and `asWriteLock()` return call the last two.
            ("unlockRead" | "tryUnlockRead" | "unstampedUnlockRead", _) => {
                Some(Does::Releases(read))
            }
            ("unlockWrite" | "tryUnlockWrite" | "unstampedUnlockWrite", _) => {
                Some(Does::Releases(write))
            }
            // `unlock(long)` calls one of the above; the conversions are left alone.
            _ => None,
        },
        Target::Condition | Target::LongCondition => {
            let waits =
                matches!(name, "await" | "awaitNanos" | "awaitUntil" | "awaitUninterruptibly");
            waits.then_some(Does::Waits)
        }
    }
}

/// Whether the class with this internal name gets any of these probes.
pub fn concerns(class: &str) -> bool {
    Target::by_class(class).is_some()
}

/// The plan for a method of the class with this internal name.
pub fn plan(class: &str, method: &Method<'_, '_>) -> Option<MethodPlan> {
    let target = Target::by_class(class)?;
    if method.is_static() || method.is_abstract() {
        return None;
    }
    let (name, descriptor) = (method.name().to_string(), method.descriptor().to_string());
    let does = does(target, &name, &descriptor)?;
    let tell = |result: &[Op], kind: i32, probe: &Member| {
        let mut ops = result.to_vec();
        ops.extend(target.lock());
        ops.extend([Op::Iconst(kind), Op::InvokeStatic(probe.clone())]);
        ops
    };
    let on_return = |ops| MethodPlan {
        exit: Some(Exit { on_return: ops, on_throw: Vec::new() }),
        ..MethodPlan::default()
    };
    Some(match does {
        Does::Acquires(kind) => on_return(tell(&[], kind, &ACQUIRED)),
        Does::Tries(kind) => on_return(tell(&[Op::Dup], kind, &TRIED)),
        Does::Stamps(kind) => {
            let mut plan = on_return(tell(&[Op::Dup2], kind, &STAMPED));
            plan.append(quiet_calls(&method.code().ok()??)?);
            plan
        }
        Does::Releases(kind) => {
            MethodPlan { entry: tell(&[], kind, &RELEASED), ..MethodPlan::default() }
        }
        Does::Waits => {
            let tell = |probe: &Member| {
                let mut ops = target.lock();
                ops.push(Op::InvokeStatic(probe.clone()));
                ops
            };
            MethodPlan {
                entry: tell(&AWAITS),
                exit: Some(Exit { on_return: tell(&AWAITED), on_throw: tell(&AWAITED) }),
                ..MethodPlan::default()
            }
        }
    })
}

/// Some methods of `StampedLock` start with another one of them, and go on if that fails: what
/// the inner one finds is neither an acquisition nor a failure of its own.
fn quiet_calls(code: &Code<'_, '_>) -> Option<MethodPlan> {
    let tell = |quiet: i32| vec![Op::Iconst(quiet), Op::InvokeStatic(QUIET)];
    let mut plan = MethodPlan::default();
    for instruction in code.instructions() {
        let instruction = instruction.ok()?;
        let Ok(Some(called)) = code.member(&instruction) else { continue };
        let (name, descriptor) = (called.name.to_string(), called.descriptor.to_string());
        if called.owner == STAMPED_LOCK
            && matches!(does(Target::StampedLock, &name, &descriptor), Some(Does::Stamps(_)))
        {
            plan.before.push((instruction.pc(), tell(1)));
            plan.after.push((instruction.pc(), tell(0)));
        }
    }
    if !plan.before.is_empty() {
        // Else an error in between would silence the thread for good.
        plan.exit = Some(Exit { on_return: Vec::new(), on_throw: tell(0) });
    }
    Some(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_class() {
        for target in Target::ALL {
            assert_eq!(Target::by_class(target.class()), Some(target));
        }
        assert!(!concerns("java/lang/Object"));
    }

    #[test]
    fn what_methods_do_is_told_by_name_and_descriptor() {
        let timed = "(JLjava/util/concurrent/TimeUnit;)Z";
        let lock = |name, descriptor| does(Target::ReentrantLock, name, descriptor);
        assert_eq!(lock("lock", "()V"), Some(Does::Acquires(2)));
        assert_eq!(lock("tryLock", timed), Some(Does::Tries(2)));
        assert_eq!(lock("unlock", "()V"), Some(Does::Releases(2)));
        assert_eq!(lock("isLocked", "()Z"), None);
        let semaphore = |name, descriptor| does(Target::Semaphore, name, descriptor);
        assert_eq!(
            semaphore("tryAcquire", "(IJLjava/util/concurrent/TimeUnit;)Z"),
            Some(Does::Tries(5))
        );
        assert_eq!(semaphore("acquire", "(I)V"), Some(Does::Acquires(5)));
        assert_eq!(semaphore("release", "()V"), Some(Does::Releases(5)));
        let stamped = |name, descriptor| does(Target::StampedLock, name, descriptor);
        assert_eq!(stamped("tryWriteLock", "()J"), Some(Does::Stamps(4)));
        assert_eq!(stamped("tryWriteLock", "(J)J"), None);
        assert_eq!(stamped("unlock", "(J)V"), None);
        assert_eq!(stamped("unlockRead", "(J)V"), Some(Does::Releases(3)));
        assert_eq!(does(Target::Condition, "awaitNanos", "(J)J"), Some(Does::Waits));
    }
}
