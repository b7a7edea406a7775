//! Where j.u.c. locks wait: which methods of the JDK get probes, and which.
//!
//! A lock that is taken at once never comes here. One that is not enters a
//! *slow path* (`AbstractQueuedSynchronizer.acquire` and its kin), which may
//! park any number of times before it has the lock; probes at its entry and
//! its exits make that one wait. Probes around the park itself tell whether it
//! waited at all, and see everything else that parks: conditions, queues,
//! latches, futures.
//!
//! Each of these probes is a call out of Java. Where the agent stands in for the
//! native method that parks, it needs few of them: see [`Extent::BesideNatives`].

use crate::{JdkClass, probe::wait as probe};
use thiserror::Error;
use tyrion_bytecode::{
    ClassError, ClassFile, Exit, Member, Method, MethodPlan, Op, Pc, instrument,
};

/// The classes that get these probes.
pub const CLASSES: [JdkClass; 5] = [
    JdkClass::LockSupport,
    JdkClass::Synchronizer,
    JdkClass::LongSynchronizer,
    JdkClass::StampedLock,
    JdkClass::Thread,
];

/// Those of them that get probes beside the JDK's native methods.
const CLASSES_BESIDE_NATIVES: [JdkClass; 3] =
    [JdkClass::LockSupport, JdkClass::Synchronizer, JdkClass::LongSynchronizer];

/// The classes that get them on JDK 8 alone, since there they park by themselves. They are not to
/// be initialized for that: `ForkJoinPool` reads settings then, which the program may make first.
pub const CLASSES_OF_8: [JdkClass; 2] = [JdkClass::ForkJoinPool, JdkClass::Exchanger];

/// What the probes are to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All waits, from the moment when a lock is wanted until it is had.
    Whole,
    /// What is not seen where the JDK's native methods park threads and unpark them: when a
    /// condition is signalled, and how virtual threads park.
    BesideNatives,
}

impl Extent {
    /// The classes that get the probes.
    pub fn classes(self) -> &'static [JdkClass] {
        match self {
            Extent::Whole => &CLASSES,
            Extent::BesideNatives => &CLASSES_BESIDE_NATIVES,
        }
    }
}

/// A class of the JDK with its probes.
pub struct Probed {
    /// Its new bytes.
    pub bytes: Vec<u8>,
    /// Methods that should have probes but could not be given any, and why.
    pub left: Vec<String>,
}

/// Why nothing could be added to a class of the JDK.
#[derive(Debug, Error)]
pub enum NoProbes {
    /// It is no class that can be read.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// No method of it is known.
    #[error("no method to wait in was found")]
    NoMethod,
}

/// Adds the probes to one of [`CLASSES`], with `wakers` those, too, that tell who ends
/// waits.
///
/// # Errors
/// Why nothing could be added.
pub fn add_probes(
    to: JdkClass,
    bytes: &[u8],
    wakers: bool,
    extent: Extent,
) -> Result<Probed, NoProbes> {
    let class = ClassFile::parse(bytes)?;
    let instrumented = instrument(&class, |method| plan_of(extent, to, method, wakers));
    let left =
        instrumented.left.iter().map(|left| format!("{}: {}", left.name, left.reason)).collect();
    let bytes = instrumented.bytes.ok_or(NoProbes::NoMethod)?;
    Ok(Probed { bytes, left })
}

/// Where in a class of the JDK these probes go.
pub fn plan_of(
    extent: Extent,
    class: JdkClass,
    method: &Method<'_, '_>,
    wakers: bool,
) -> Option<MethodPlan> {
    match (extent, wakers) {
        (Extent::Whole, true) => plan_with_wakers(class, method),
        (Extent::Whole, false) => plan(class, method),
        (Extent::BesideNatives, _) => plan_beside_natives(class, method, wakers),
    }
}

/// Where in a class of the JDK the probes of contention mode go.
pub fn plan(class: JdkClass, method: &Method<'_, '_>) -> Option<MethodPlan> {
    let plan = match class {
        JdkClass::LockSupport => around_parks(method)?,
        JdkClass::Synchronizer | JdkClass::LongSynchronizer => {
            slow_path(method).or_else(|| transfer(method))?
        }
        // The slow paths of JDK 8's and 11's StampedLock park by themselves.
        JdkClass::StampedLock => {
            let parks = around_parks(method)?;
            let path = slow_path(method).unwrap_or_default();
            MethodPlan { before: parks.before, after: parks.after, ..path }
        }
        JdkClass::ForkJoinPool | JdkClass::Exchanger => around_parks(method)?,
        JdkClass::Thread => after_rename(method)?,
        _ => return None,
    };
    (!plan.is_empty()).then_some(plan)
}

/// The same with the probes that tell who ends waits.
pub fn plan_with_wakers(class: JdkClass, method: &Method<'_, '_>) -> Option<MethodPlan> {
    let of_waits = plan(class, method);
    match class {
        JdkClass::LockSupport => unpark(method).or(of_waits),
        // On JDK 8 these end waits by themselves, too.
        JdkClass::StampedLock | JdkClass::ForkJoinPool | JdkClass::Exchanger => {
            let before = before_unparks(method)?;
            if before.is_empty() {
                return of_waits;
            }
            let mut plan = of_waits.unwrap_or_default();
            plan.before.extend(before);
            plan.before.sort_by_key(|(pc, _)| *pc);
            Some(plan)
        }
        _ => of_waits,
    }
}

/// The probes of [`Extent::BesideNatives`].
fn plan_beside_natives(
    class: JdkClass,
    method: &Method<'_, '_>,
    wakers: bool,
) -> Option<MethodPlan> {
    let plan = match class {
        JdkClass::LockSupport => {
            let mut plan = around(method, parks_virtual_thread)?;
            if wakers {
                plan.before.extend(before(method, unparks_virtual_thread)?);
            }
            plan
        }
        JdkClass::Synchronizer | JdkClass::LongSynchronizer => transfer(method)?,
        _ => return None,
    };
    (!plan.is_empty()).then_some(plan)
}

/// How virtual threads park: on JDK 21, and on 25.
fn parks_virtual_thread(owner: &str, name: &str) -> bool {
    match owner {
        "jdk/internal/misc/VirtualThreads" => name.starts_with("park"),
        "jdk/internal/access/JavaLangAccess" => name.starts_with("parkVirtualThread"),
        _ => false,
    }
}

fn unparks_virtual_thread(owner: &str, name: &str) -> bool {
    match owner {
        "jdk/internal/misc/VirtualThreads" => name == "unpark",
        "jdk/internal/access/JavaLangAccess" => name == "unparkVirtualThread",
        _ => false,
    }
}

fn parks_any_thread(owner: &str, name: &str) -> bool {
    let is_unsafe = matches!(owner, "jdk/internal/misc/Unsafe" | "sun/misc/Unsafe");
    is_unsafe && name == "park" || parks_virtual_thread(owner, name)
}

/// What is called before a method calls `Unsafe.unpark`, by place.
fn before_unparks(method: &Method<'_, '_>) -> Option<Vec<(Pc, Vec<Op>)>> {
    before(method, |owner, name| owner == "sun/misc/Unsafe" && name == "unpark")
}

/// What is called before a method calls one that unparks the thread on top of the stack,
/// by place.
fn before(
    method: &Method<'_, '_>,
    unparks: impl Fn(&str, &str) -> bool,
) -> Option<Vec<(Pc, Vec<Op>)>> {
    let code = method.code().ok()??;
    let mut all = Vec::new();
    for instruction in code.instructions() {
        let instruction = instruction.ok()?;
        let Ok(Some(member)) = code.member(&instruction) else { continue };
        if unparks(&member.owner.to_string(), &member.name.to_string()) {
            let ops = [vec![Op::Dup], call_with_thread(probe::UNPARKS).to_vec()].concat();
            all.push((instruction.pc(), ops));
        }
    }
    Some(all)
}

fn call(probe: Member) -> Op {
    Op::InvokeStatic(probe)
}

/// Calls a native method whose last argument is the current thread; the
/// others are on the stack already.
fn call_with_thread(probe: Member) -> [Op; 2] {
    let current = Member::new("java/lang/Thread", "currentThread", "()Ljava/lang/Thread;");
    [Op::InvokeStatic(current), call(probe)]
}

fn around_parks(method: &Method<'_, '_>) -> Option<MethodPlan> {
    around(method, parks_any_thread)
}

/// What is called around the calls of those that park the current thread.
fn around(method: &Method<'_, '_>, parks: impl Fn(&str, &str) -> bool) -> Option<MethodPlan> {
    let code = method.code().ok()??;
    let mut plan = MethodPlan::default();
    for instruction in code.instructions() {
        let instruction = instruction.ok()?;
        let Ok(Some(member)) = code.member(&instruction) else { continue };
        let (owner, name) = (member.owner.to_string(), member.name.to_string());
        if parks(&owner, &name) {
            // Until a time of day, no lock is waited for.
            let is_until = name.contains("Until") || method.name().to_string().contains("Until");
            let begins = match member.descriptor.to_string().ends_with("J)V") && !is_until {
                true => {
                    [vec![Op::Dup2], call_with_thread(probe::PARK_BEGINS_FOR).to_vec()].concat()
                }
                false => call_with_thread(probe::PARK_BEGINS).to_vec(),
            };
            plan.before.push((instruction.pc(), begins));
            plan.after.push((instruction.pc(), call_with_thread(probe::PARK_ENDS).to_vec()));
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
        (_, "acquireQueued") | ("V", _) => call_with_thread(probe::ACQUIRED).to_vec(),
        ("I", _) => {
            [vec![Op::Dup], call_with_thread(probe::ACQUIRE_RETURNED_INT).to_vec()].concat()
        }
        ("Z", _) => {
            [vec![Op::Dup], call_with_thread(probe::ACQUIRE_RETURNED_BOOLEAN).to_vec()].concat()
        }
        ("J", _) => {
            [vec![Op::Dup2], call_with_thread(probe::ACQUIRE_RETURNED_STAMP).to_vec()].concat()
        }
        _ => return None,
    };
    let on_throw = [vec![Op::Dup], call_with_thread(probe::ACQUIRE_THREW).to_vec()].concat();
    Some(MethodPlan {
        entry: [vec![shared], call_with_thread(probe::ACQUIRE_BEGINS).to_vec()].concat(),
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
    let entry = [vec![Op::Aload(1)], call_with_thread(probe::SIGNALLED).to_vec()].concat();
    Some(MethodPlan { entry, ..MethodPlan::default() })
}

/// The plan for `LockSupport.unpark(thread)`, in which nothing parks.
fn unpark(method: &Method<'_, '_>) -> Option<MethodPlan> {
    if method.name() != "unpark" || method.descriptor() != "(Ljava/lang/Thread;)V" {
        return None;
    }
    let entry = [vec![Op::Aload(0)], call_with_thread(probe::UNPARKS).to_vec()].concat();
    Some(MethodPlan { entry, ..MethodPlan::default() })
}

fn after_rename(method: &Method<'_, '_>) -> Option<MethodPlan> {
    if method.name() != "setName" || method.descriptor() != "(Ljava/lang/String;)V" {
        return None;
    }
    let on_return = vec![Op::Aload(0), call(probe::RENAMED)];
    Some(MethodPlan {
        exit: Some(Exit { on_return, on_throw: Vec::new() }),
        ..MethodPlan::default()
    })
}
