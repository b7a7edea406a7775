//! Where j.u.c. locks wait: which methods of the JDK get probes, and which.
//!
//! A lock that is taken at once never comes here. One that is not enters a
//! *slow path* (`AbstractQueuedSynchronizer.acquire` and its kin), which may
//! park any number of times before it has the lock; probes at its entry and
//! its exits make that one wait. Probes around the park itself tell whether it
//! waited at all, and see everything else that parks: conditions, queues,
//! latches, futures.

use std::borrow::Cow;
use tyrion_bytecode::{
    ClassFile, Exit, Member, Method, MethodPlan, Op, emit::ProbeClass, instrument,
};

/// The class that the probes call; it has native methods only.
pub const PROBE_CLASS: &str = "java/lang/TyrionProbe";

/// A class of the JDK that gets probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbedClass {
    /// `LockSupport`: parks.
    LockSupport,
    /// `AbstractQueuedSynchronizer`: slow paths.
    Synchronizer,
    /// `AbstractQueuedLongSynchronizer`: slow paths.
    LongSynchronizer,
    /// `StampedLock`: slow paths, and parks on JDK 11.
    StampedLock,
    /// `Thread`: later names.
    Thread,
}

impl ProbedClass {
    /// All of them.
    pub const ALL: [ProbedClass; 5] = [
        ProbedClass::LockSupport,
        ProbedClass::Synchronizer,
        ProbedClass::LongSynchronizer,
        ProbedClass::StampedLock,
        ProbedClass::Thread,
    ];

    /// The class's internal name.
    pub fn class(self) -> &'static str {
        match self {
            ProbedClass::LockSupport => "java/util/concurrent/locks/LockSupport",
            ProbedClass::Synchronizer => "java/util/concurrent/locks/AbstractQueuedSynchronizer",
            ProbedClass::LongSynchronizer => {
                "java/util/concurrent/locks/AbstractQueuedLongSynchronizer"
            }
            ProbedClass::StampedLock => "java/util/concurrent/locks/StampedLock",
            ProbedClass::Thread => "java/lang/Thread",
        }
    }

    /// The target that has this name.
    pub fn by_class(name: &str) -> Option<ProbedClass> {
        Self::ALL.into_iter().find(|target| target.class() == name)
    }
}

/// A native method of the probe class: its name and descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Native {
    /// Its name.
    pub name: &'static str,
    /// Its descriptor.
    pub descriptor: &'static str,
}

macro_rules! natives {
    ($($(#[$doc:meta])* $constant:ident = $name:literal $descriptor:literal;)*) => {
        $($(#[$doc])* pub const $constant: Native =
            Native { name: $name, descriptor: $descriptor };)*
        /// All native methods of the probe class.
        pub const NATIVES: &[Native] = &[$($constant),*];
    };
}

natives! {
    /// About to park.
    PARK_BEGINS = "parkBegins" "(Ljava/lang/Thread;)V";
    /// Returned from a park.
    PARK_ENDS = "parkEnds" "(Ljava/lang/Thread;)V";
    /// Entered a slow path; true for shared mode.
    ACQUIRE_BEGINS = "acquireBegins" "(ZLjava/lang/Thread;)V";
    /// Left a slow path that returns only with the lock.
    ACQUIRED = "acquired" "(Ljava/lang/Thread;)V";
    /// Left a slow path that returns a positive number with the lock, 0 after
    /// the time limit, a negative number when interrupted.
    ACQUIRE_RETURNED_INT = "acquireReturnedInt" "(ILjava/lang/Thread;)V";
    /// Left a slow path that returns false after the time limit.
    ACQUIRE_RETURNED_BOOLEAN = "acquireReturnedBoolean" "(ZLjava/lang/Thread;)V";
    /// Left a slow path of `StampedLock`: 0 after the time limit, 1 when
    /// interrupted, else a stamp.
    ACQUIRE_RETURNED_STAMP = "acquireReturnedStamp" "(JLjava/lang/Thread;)V";
    /// Left a slow path by an exception.
    ACQUIRE_THREW = "acquireThrew" "(Ljava/lang/Throwable;Ljava/lang/Thread;)V";
    /// `Condition.signal` moves a waiter, given by its node, to the lock's queue.
    SIGNALLED = "signalled" "(Ljava/lang/Object;)V";
    /// A thread has another name.
    RENAMED = "renamed" "(Ljava/lang/Thread;)V";
}

/// The bytes of the probe class; `None` cannot happen, and a test says so.
pub fn probe_class() -> Option<Vec<u8>> {
    let class = ProbeClass::new(PROBE_CLASS);
    let class = NATIVES
        .iter()
        .fold(class, |class, native| class.native_method(native.name, native.descriptor));
    class.finish().ok()
}

/// A target class with its probes.
pub struct Probed {
    /// Its new bytes.
    pub bytes: Vec<u8>,
    /// Methods that should have probes but could not be given any, and why.
    pub left: Vec<String>,
}

/// Adds the probes to one of the target classes.
///
/// # Errors
/// In words, why nothing could be added.
pub fn add_probes(target: ProbedClass, bytes: &[u8]) -> Result<Probed, String> {
    let class = ClassFile::parse(bytes).map_err(|error| error.to_string())?;
    let outcome = instrument(&class, |method| plan(target, method));
    let left = outcome.left.iter().map(|left| format!("{}: {}", left.name, left.reason)).collect();
    let bytes = outcome.bytes.ok_or("no method to wait in was found")?;
    Ok(Probed { bytes, left })
}

/// Where in one of the target classes the probes of contention mode go.
pub fn plan(target: ProbedClass, method: &Method<'_, '_>) -> Option<MethodPlan> {
    let plan = match target {
        ProbedClass::LockSupport => around_parks(method)?,
        ProbedClass::Synchronizer | ProbedClass::LongSynchronizer => {
            slow_path(method).or_else(|| transfer(method))?
        }
        // The slow paths of JDK 11's StampedLock park by themselves.
        ProbedClass::StampedLock => {
            let parks = around_parks(method)?;
            let path = slow_path(method).unwrap_or_default();
            MethodPlan { before: parks.before, after: parks.after, ..path }
        }
        ProbedClass::Thread => after_rename(method)?,
    };
    (!plan.is_empty()).then_some(plan)
}

fn call(native: Native) -> Op {
    Op::InvokeStatic(Member {
        owner: Cow::Borrowed(PROBE_CLASS),
        name: Cow::Borrowed(native.name),
        descriptor: Cow::Borrowed(native.descriptor),
    })
}

/// Calls a native method whose last argument is the current thread; the
/// others are on the stack already.
fn call_with_thread(native: Native) -> [Op; 2] {
    let current = Member::new("java/lang/Thread", "currentThread", "()Ljava/lang/Thread;");
    [Op::InvokeStatic(current), call(native)]
}

fn around_parks(method: &Method<'_, '_>) -> Option<MethodPlan> {
    let code = method.code().ok()??;
    let mut plan = MethodPlan::default();
    for instruction in code.instructions() {
        let instruction = instruction.ok()?;
        let Ok(Some(member)) = code.member(&instruction) else { continue };
        let (owner, name) = (member.owner.to_string(), member.name.to_string());
        let parks = match owner.as_str() {
            "jdk/internal/misc/Unsafe" | "sun/misc/Unsafe" => name == "park",
            // How virtual threads park: on JDK 21, and on 25.
            "jdk/internal/misc/VirtualThreads" => name.starts_with("park"),
            "jdk/internal/access/JavaLangAccess" => name.starts_with("parkVirtualThread"),
            _ => false,
        };
        if parks {
            plan.before.push((instruction.pc(), call_with_thread(PARK_BEGINS).to_vec()));
            plan.after.push((instruction.pc(), call_with_thread(PARK_ENDS).to_vec()));
        }
    }
    Some(plan)
}

/// The plan for a method that is a slow path.
fn slow_path(method: &Method<'_, '_>) -> Option<MethodPlan> {
    let (name, descriptor) = (method.name().to_string(), method.descriptor().to_string());
    let result = descriptor.rsplit(')').next()?;
    let shared = match name.as_str() {
        // JDK 17 and later: acquire(node, arg, shared, interruptible, timed,
        // time), where arg takes one slot or, in the long twin, two.
        "acquire" if descriptor.ends_with("IZZZJ)I") => Op::Iload(3),
        "acquire" if descriptor.ends_with("JZZZJ)I") => Op::Iload(4),
        // JDK 11.
        "acquireQueued" | "doAcquireInterruptibly" | "doAcquireNanos" => Op::Iconst(0),
        "doAcquireShared" | "doAcquireSharedInterruptibly" | "doAcquireSharedNanos" => {
            Op::Iconst(1)
        }
        // StampedLock.
        "acquireRead" if result == "J" => Op::Iconst(1),
        "acquireWrite" if result == "J" => Op::Iconst(0),
        _ => return None,
    };
    let on_return = match (result, name.as_str()) {
        // What acquireQueued returns is whether it was interrupted meanwhile.
        (_, "acquireQueued") | ("V", _) => call_with_thread(ACQUIRED).to_vec(),
        ("I", _) => [vec![Op::Dup], call_with_thread(ACQUIRE_RETURNED_INT).to_vec()].concat(),
        ("Z", _) => [vec![Op::Dup], call_with_thread(ACQUIRE_RETURNED_BOOLEAN).to_vec()].concat(),
        ("J", _) => [vec![Op::Dup2], call_with_thread(ACQUIRE_RETURNED_STAMP).to_vec()].concat(),
        _ => return None,
    };
    let on_throw = [vec![Op::Dup], call_with_thread(ACQUIRE_THREW).to_vec()].concat();
    Some(MethodPlan {
        entry: [vec![shared], call_with_thread(ACQUIRE_BEGINS).to_vec()].concat(),
        exit: Some(Exit { on_return, on_throw }),
        ..MethodPlan::default()
    })
}

/// The plan for the method by which a signal moves a waiter from a condition
/// to its lock: `enqueue(node)`, on JDK 11 `transferForSignal(node)`. The
/// waiter sleeps on, but from now on for the lock.
fn transfer(method: &Method<'_, '_>) -> Option<MethodPlan> {
    if method.name() != "enqueue" && method.name() != "transferForSignal" {
        return None;
    }
    let entry = vec![Op::Aload(1), call(SIGNALLED)];
    Some(MethodPlan { entry, ..MethodPlan::default() })
}

fn after_rename(method: &Method<'_, '_>) -> Option<MethodPlan> {
    if method.name() != "setName" || method.descriptor() != "(Ljava/lang/String;)V" {
        return None;
    }
    let on_return = vec![Op::Aload(0), call(RENAMED)];
    Some(MethodPlan {
        exit: Some(Exit { on_return, on_throw: Vec::new() }),
        ..MethodPlan::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_class_can_be_written() {
        let bytes = probe_class().unwrap();
        let class = ClassFile::parse(&bytes).unwrap();
        assert_eq!(class.name(), PROBE_CLASS);
        assert_eq!(class.methods().count(), NATIVES.len());
    }

    #[test]
    fn targets_are_found_by_class() {
        for target in ProbedClass::ALL {
            assert_eq!(ProbedClass::by_class(target.class()), Some(target));
        }
        assert_eq!(ProbedClass::by_class("java/lang/Object"), None);
    }
}
