//! Which probes go where in the locks of `java.util.concurrent`: those that
//! the application calls, on JDK 8 to 28.
//!
//! An acquisition is seen when the method that takes the lock returns, and
//! only if it returns normally; a release when the method that does it is
//! called. (Slow paths and parks, for contention, are the business of
//! [`waits`](crate::waits). Its plan for `StampedLock` is for other methods than
//! this one's: [`MethodPlan::append`] puts the two together.)

use crate::{JdkClass, probe::trace as probe};
use tyrion_bytecode::{Code, Exit, Member, Method, MethodPlan, Op};
use tyrion_wire::WaitKind;

/// What identifies the lock: its synchronizer, which is what threads
/// queue for, or the object itself where it has none.
fn lock(class: JdkClass) -> Option<Vec<Op>> {
    const AQS: &str = "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;";
    const AQLS: &str = "Ljava/util/concurrent/locks/AbstractQueuedLongSynchronizer;";
    const RRW_SYNC: &str = "Ljava/util/concurrent/locks/ReentrantReadWriteLock$Sync;";
    let (field, descriptor) = match class {
        JdkClass::ReentrantLock => ("sync", "Ljava/util/concurrent/locks/ReentrantLock$Sync;"),
        JdkClass::ReadLock | JdkClass::WriteLock => ("sync", RRW_SYNC),
        JdkClass::Semaphore => ("sync", "Ljava/util/concurrent/Semaphore$Sync;"),
        JdkClass::Condition => ("this$0", AQS),
        JdkClass::LongCondition => ("this$0", AQLS),
        JdkClass::StampedLock => return Some(vec![Op::Aload(0)]),
        _ => return None,
    };
    Some(vec![Op::Aload(0), Op::GetField(Member::new(class.name(), field, descriptor))])
}

/// What a method does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Returns only with the lock.
    Acquires(WaitKind),
    /// Returns whether it has the lock.
    Tries(WaitKind, Patience),
    /// Returns a stamp, or 0.
    Stamps(WaitKind, Patience),
    /// Returns the stamp of another mode, or 0; no kind where that is no lock.
    Converts(Option<WaitKind>),
    Releases(WaitKind),
    /// Releases whatever is held, unless it leaves that to other methods of the class.
    ReleasesAny,
    Waits,
}

/// Whether a method that takes a lock waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Waits,
    /// It takes the lock at once, or not at all.
    OnlyTries,
}

impl Patience {
    /// That of a method whose name says that it tries, by its arguments.
    fn of_try(arguments: &str) -> Patience {
        if arguments.contains(UNIT) { Patience::Waits } else { Patience::OnlyTries }
    }

    /// What stands beside the kind.
    fn bit(self) -> i32 {
        if self == Patience::OnlyTries { probe::ONLY_TRIED } else { 0 }
    }
}

/// What a time limit is given in.
const UNIT: &str = "Ljava/util/concurrent/TimeUnit;";

/// What a method of `class` does, by its name and its descriptor.
fn does(class: JdkClass, name: &str, descriptor: &str) -> Option<Does> {
    const TIMED: &str = "(JLjava/util/concurrent/TimeUnit;)";
    let (arguments, result) = descriptor.rsplit_once(')')?;
    let (read, write) = (WaitKind::LockRead, WaitKind::LockWrite);
    let kind = match class {
        JdkClass::ReadLock => read,
        JdkClass::WriteLock => write,
        JdkClass::Semaphore => WaitKind::Semaphore,
        _ => WaitKind::Lock,
    };
    match class {
        JdkClass::ReentrantLock | JdkClass::ReadLock | JdkClass::WriteLock => {
            match (name, descriptor) {
                ("lock" | "lockInterruptibly", "()V") => Some(Does::Acquires(kind)),
                ("tryLock", "()Z") => Some(Does::Tries(kind, Patience::OnlyTries)),
                ("tryLock", _) if result == "Z" && descriptor.starts_with(TIMED) => {
                    Some(Does::Tries(kind, Patience::Waits))
                }
                ("unlock", "()V") => Some(Does::Releases(kind)),
                _ => None,
            }
        }
        JdkClass::Semaphore => match (name, arguments, result) {
            ("acquire" | "acquireUninterruptibly", "(" | "(I", "V") => Some(Does::Acquires(kind)),
            ("tryAcquire", _, "Z") => Some(Does::Tries(kind, Patience::of_try(arguments))),
            ("release", "(" | "(I", "V") => Some(Does::Releases(kind)),
            _ => None,
        },
        JdkClass::StampedLock => match (name, result) {
            ("readLock" | "readLockInterruptibly", "J") => {
                Some(Does::Stamps(read, Patience::Waits))
            }
            ("tryReadLock", "J") => Some(Does::Stamps(read, Patience::of_try(arguments))),
            ("writeLock" | "writeLockInterruptibly", "J") => {
                Some(Does::Stamps(write, Patience::Waits))
            }
            // Not the private one with a state to start from, which some of the others call.
            ("tryWriteLock", "J") if arguments != "(J" => {
                Some(Does::Stamps(write, Patience::of_try(arguments)))
            }
            ("tryConvertToReadLock", "J") => Some(Does::Converts(Some(read))),
            ("tryConvertToWriteLock", "J") => Some(Does::Converts(Some(write))),
            ("tryConvertToOptimisticRead", "J") => Some(Does::Converts(None)),
            // The views that `asReadLock()` and `asWriteLock()` return call the last two.
            ("unlockRead" | "tryUnlockRead" | "unstampedUnlockRead", _) => {
                Some(Does::Releases(read))
            }
            ("unlockWrite" | "tryUnlockWrite" | "unstampedUnlockWrite", _) => {
                Some(Does::Releases(write))
            }
            ("unlock", "V") => Some(Does::ReleasesAny),
            _ => None,
        },
        JdkClass::Condition | JdkClass::LongCondition => {
            let waits =
                matches!(name, "await" | "awaitNanos" | "awaitUntil" | "awaitUninterruptibly");
            waits.then_some(Does::Waits)
        }
        _ => None,
    }
}

/// What a method of such a class takes, by its name and its descriptor, if anything.
pub fn taken(class: JdkClass, name: &[u8], descriptor: &[u8]) -> Option<WaitKind> {
    let text = |bytes| std::str::from_utf8(bytes).ok();
    match does(class, text(name)?, text(descriptor)?)? {
        Does::Acquires(kind) | Does::Tries(kind, _) | Does::Stamps(kind, _) => Some(kind),
        Does::Converts(kind) => kind,
        Does::Releases(_) | Does::ReleasesAny | Does::Waits => None,
    }
}

/// Whether a class gets any of these probes.
pub fn concerns(class: JdkClass) -> bool {
    lock(class).is_some()
}

/// The plan for a method of a class.
pub fn plan(class: JdkClass, method: &Method<'_, '_>) -> Option<MethodPlan> {
    let lock = lock(class)?;
    if method.is_static() || method.is_abstract() {
        return None;
    }
    let (name, descriptor) = (method.name().to_string(), method.descriptor().to_string());
    let does = does(class, &name, &descriptor)?;
    let tell_code = |result: &[Op], kind: i32, probe: Member| {
        let mut ops = result.to_vec();
        ops.extend_from_slice(&lock);
        ops.extend([Op::Iconst(kind), Op::InvokeStatic(probe)]);
        ops
    };
    let tell =
        |result: &[Op], kind: WaitKind, probe: Member| tell_code(result, kind.code().into(), probe);
    let on_return = |ops| MethodPlan {
        exit: Some(Exit { on_return: ops, on_throw: Vec::new() }),
        ..MethodPlan::default()
    };
    Some(match does {
        Does::Acquires(kind) => on_return(tell(&[], kind, probe::ACQUIRED)),
        Does::Tries(kind, patience) => {
            let kind = i32::from(kind.code()) | patience.bit();
            on_return(tell_code(&[Op::Dup], kind, probe::TRIED))
        }
        Does::Converts(kind) => {
            let kind = kind.map_or(0, |kind| kind.code().into());
            // The stamp of before is the argument, which these methods leave as it is.
            let mut plan = on_return(tell_code(&[Op::Dup2, Op::Lload(1)], kind, probe::CONVERTED));
            plan.append(quiet_calls(&method.code().ok()??)?);
            plan
        }
        Does::Stamps(kind, patience) => {
            let kind = i32::from(kind.code()) | patience.bit();
            let mut plan = on_return(tell_code(&[Op::Dup2], kind, probe::STAMPED));
            plan.append(quiet_calls(&method.code().ok()??)?);
            plan
        }
        Does::Releases(kind) => {
            MethodPlan { entry: tell(&[], kind, probe::RELEASED), ..MethodPlan::default() }
        }
        // On JDK 8 it does all by itself; later it calls one of the methods that release one kind.
        Does::ReleasesAny if calls_release(&method.code().ok()??)? => return None,
        Does::ReleasesAny => {
            MethodPlan { entry: tell_code(&[], 0, probe::RELEASED), ..MethodPlan::default() }
        }
        Does::Waits => {
            let tell = |probe: Member| [&lock[..], &[Op::InvokeStatic(probe)]].concat();
            MethodPlan {
                entry: tell(probe::AWAITS),
                exit: Some(Exit {
                    on_return: tell(probe::AWAITED),
                    on_throw: tell(probe::AWAITED),
                }),
                ..MethodPlan::default()
            }
        }
    })
}

/// Whether a method of `StampedLock` calls one that releases it.
fn calls_release(code: &Code<'_, '_>) -> Option<bool> {
    for instruction in code.instructions() {
        let Ok(Some(called)) = code.member(&instruction.ok()?) else { continue };
        let (name, descriptor) = (called.name.to_string(), called.descriptor.to_string());
        if called.owner == JdkClass::StampedLock.name()
            && matches!(does(JdkClass::StampedLock, &name, &descriptor), Some(Does::Releases(_)))
        {
            return Some(true);
        }
    }
    Some(false)
}

/// Some methods of `StampedLock` start with another one of them, and go on if that fails: what
/// the inner one finds is neither an acquisition nor a failure of its own.
fn quiet_calls(code: &Code<'_, '_>) -> Option<MethodPlan> {
    let tell = |quiet: i32| vec![Op::Iconst(quiet), Op::InvokeStatic(probe::QUIET)];
    let mut plan = MethodPlan::default();
    for instruction in code.instructions() {
        let instruction = instruction.ok()?;
        let Ok(Some(called)) = code.member(&instruction) else { continue };
        let (name, descriptor) = (called.name.to_string(), called.descriptor.to_string());
        if called.owner == JdkClass::StampedLock.name()
            && matches!(does(JdkClass::StampedLock, &name, &descriptor), Some(Does::Stamps(..)))
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
    fn only_locks_get_these_probes() {
        assert!(concerns(JdkClass::ReentrantLock) && concerns(JdkClass::StampedLock));
        assert!(!concerns(JdkClass::Thread) && !concerns(JdkClass::LockSupport));
        for class in JdkClass::ALL.into_iter().filter(|class| !concerns(*class)) {
            for name in ["lock", "acquire", "await", "park", "setName"] {
                assert_eq!(does(class, name, "()V"), None, "{class:?} {name}");
            }
        }
    }

    #[test]
    fn what_methods_do_is_told_by_name_and_descriptor() {
        let timed = "(JLjava/util/concurrent/TimeUnit;)Z";
        let lock = |name, descriptor| does(JdkClass::ReentrantLock, name, descriptor);
        assert_eq!(lock("lock", "()V"), Some(Does::Acquires(WaitKind::Lock)));
        assert_eq!(lock("tryLock", timed), Some(Does::Tries(WaitKind::Lock, Patience::Waits)));
        let tries = Some(Does::Tries(WaitKind::Lock, Patience::OnlyTries));
        assert_eq!(lock("tryLock", "()Z"), tries);
        assert_eq!(lock("unlock", "()V"), Some(Does::Releases(WaitKind::Lock)));
        assert_eq!(lock("isLocked", "()Z"), None);
        let semaphore = |name, descriptor| does(JdkClass::Semaphore, name, descriptor);
        assert_eq!(
            semaphore("tryAcquire", "(IJLjava/util/concurrent/TimeUnit;)Z"),
            Some(Does::Tries(WaitKind::Semaphore, Patience::Waits))
        );
        let tries = Some(Does::Tries(WaitKind::Semaphore, Patience::OnlyTries));
        assert_eq!(semaphore("tryAcquire", "(I)Z"), tries);
        assert_eq!(semaphore("acquire", "(I)V"), Some(Does::Acquires(WaitKind::Semaphore)));
        assert_eq!(semaphore("release", "()V"), Some(Does::Releases(WaitKind::Semaphore)));
        let stamped = |name, descriptor| does(JdkClass::StampedLock, name, descriptor);
        let stamps = |patience| Some(Does::Stamps(WaitKind::LockWrite, patience));
        assert_eq!(stamped("tryWriteLock", "()J"), stamps(Patience::OnlyTries));
        let timed = "(JLjava/util/concurrent/TimeUnit;)J";
        assert_eq!(stamped("tryWriteLock", timed), stamps(Patience::Waits));
        assert_eq!(stamped("writeLock", "()J"), stamps(Patience::Waits));
        assert_eq!(
            stamped("tryConvertToWriteLock", "(J)J"),
            Some(Does::Converts(Some(WaitKind::LockWrite)))
        );
        assert_eq!(stamped("tryConvertToOptimisticRead", "(J)J"), Some(Does::Converts(None)));
        assert_eq!(stamped("tryWriteLock", "(J)J"), None);
        assert_eq!(stamped("unlock", "(J)V"), Some(Does::ReleasesAny));
        assert_eq!(stamped("unlockRead", "(J)V"), Some(Does::Releases(WaitKind::LockRead)));
        assert_eq!(does(JdkClass::Condition, "awaitNanos", "(J)J"), Some(Does::Waits));
    }
}
