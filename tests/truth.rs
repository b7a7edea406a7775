//! Waits as they are: of programs that measure their own.

use crate::support::{Jdk, Program, Wait, assert_between, list, ms, number, on_jdks, wait_line};

on_jdks!(holders: extremes, everywhere all);
on_jdks!(threads_together: newest, everywhere all);
on_jdks!(one_hash_for_all: one, everywhere two);
on_jdks!(private_locks: two);
on_jdks!(idle_threads: ends, everywhere all);
on_jdks!(locks_moved_by_gc: ends, everywhere all);
on_jdks!(locks_inside_the_jdk: ends, everywhere all);

/// A `holder-…` scenario and what is to be seen of it.
struct HolderCase {
    scenario: &'static str,
    class: &'static str,
    kind: &'static str,
    lock_class: &'static str,
    owner: Option<&'static str>,
}

const fn holder(
    scenario: &'static str,
    class: &'static str,
    kind: &'static str,
    lock_class: &'static str,
    owner: Option<&'static str>,
) -> HolderCase {
    HolderCase { scenario, class, kind, lock_class, owner }
}

const READ_WRITE: &str = "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync";
const STAMPED: &str = "java.util.concurrent.locks.StampedLock";

/// Readers, stamps and permits have no owner.
#[rustfmt::skip]
const HOLDERS: [HolderCase; 11] = [
    holder("holder-monitor", "HolderMonitor", "monitor", "tyrion.truth.HolderMonitor$Vault", Some("holder")),
    holder("holder-method", "HolderMethod", "monitor", "tyrion.truth.HolderMethod$Vault", Some("holder")),
    holder("holder-static", "HolderStatic", "monitor", "tyrion.truth.HolderStatic$Vault.class", Some("holder")),
    holder("holder-lock", "HolderLock", "lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync", Some("holder")),
    holder("holder-read", "HolderRead", "lock-read", READ_WRITE, Some("holder")),
    holder("holder-write", "HolderWrite", "lock-write", READ_WRITE, None),
    holder("holder-stamped-read", "HolderStampedRead", "lock-read", STAMPED, None),
    holder("holder-stamped-write", "HolderStampedWrite", "lock-write", STAMPED, None),
    holder("holder-semaphore", "HolderSemaphore", "semaphore", "java.util.concurrent.Semaphore$NonfairSync", None),
    holder("holder-custom", "HolderCustom", "lock", "tyrion.truth.Mutex$Sync", Some("holder")),
    holder("holder-custom-long", "HolderCustomLong", "lock", "tyrion.truth.LongMutex$Sync", Some("holder")),
];

fn holders(jdk: &Jdk) {
    check_holders(|scenario| Program::truth(jdk, scenario));
}

/// Whose monitor nobody has waited for before is known after half a second, from JDK 23 on.
const LONG_MS: u64 = 1_500;

/// Each kind of lock, held by one thread while another waits for it.
pub fn check_holders(program: impl Fn(&str) -> Program) {
    for holder in &HOLDERS {
        let has_owner = holder.kind == "monitor" && holder.owner.is_some();
        let recording = match has_owner {
            true => program(&format!("{} {LONG_MS}", holder.scenario)).record(),
            false => program(holder.scenario).record(),
        };
        let mut contentions = recording.contentions();
        // The JVM's own, on a busy machine.
        contentions.retain(|wait| wait.thread != "Common-Cleaner");
        let [wait] = &contentions[..] else { panic!("{}: {contentions:?}", holder.scenario) };
        let scenario = holder.scenario;
        let (least_ns, most_ns) = (recording.number("least_ns"), recording.number("wait_ns"));
        assert_between(scenario, wait.wait_ns, least_ns, most_ns);
        assert!(wait.wait_ns >= ms(150), "{scenario}: {wait:?}");
        assert_eq!(wait.record, "wait", "{scenario}");
        assert_eq!(wait.thread, "waiter", "{scenario}");
        assert_eq!(wait.kind, holder.kind, "{scenario}");
        assert_eq!(wait.lock_class, holder.lock_class, "{scenario}");
        assert_eq!(wait.owner.as_deref(), holder.owner, "{scenario}");
        assert_eq!(wait.outcome.as_deref(), Some("granted"), "{scenario}");
        check_stack(wait, holder.class);
    }
}

/// The stack must lead from the thread's beginning to the line on which it
/// waits, with nothing of the program's further in but its own lock class.
fn check_stack(wait: &Wait, class: &str) {
    let ours: Vec<&String> =
        wait.stack.iter().filter(|frame| frame.starts_with("tyrion.")).collect();
    let lock_of_its_own = |frame: &&&String| frame.contains("Mutex.lock(");
    let inner = ours.iter().find(|frame| !lock_of_its_own(frame)).unwrap();
    let expected = format!("({class}.java:{})", wait_line(class));
    assert!(inner.ends_with(&expected), "{inner} is not at {expected}: {:?}", wait.stack);
    assert!(inner.starts_with(&format!("tyrion.truth.{class}")), "{inner}");
    assert!(ours.last().unwrap().starts_with("tyrion.truth.Waiter.run("), "{ours:?}");
    assert!(wait.stack.last().unwrap().starts_with("java.lang.Thread.run"), "{:?}", wait.stack);
}

fn threads_together(jdk: &Jdk) {
    check_threads_together(|scenario| Program::truth(jdk, scenario));
}

/// Waits are told apart where identity hashes are of no use. Of a fair lock each is one park.
fn one_hash_for_all(jdk: &Jdk) {
    let flags = "-XX:+UnlockExperimentalVMOptions -XX:hashCode=2";
    let program = Program::truth(jdk, "together fair 8 10");
    let flags = flags.split(' ').map(str::to_owned);
    let recording = flags.fold(program, Program::flag).record();
    let waits = recording.contentions().into_iter();
    let waits = waits.filter(|wait| wait.thread.starts_with("together-") && passes_guard(wait));
    assert_eq!(waits.count() as u64, recording.number("contentions"));
}

/// Eight threads that all want each kind of lock, again and again.
pub fn check_threads_together(program: impl Fn(&str) -> Program) {
    for (lock, kind) in [
        ("monitor", "monitor"),
        ("lock", "lock"),
        ("fair", "lock"),
        ("write", "lock-write"),
        ("stamped", "lock-write"),
        ("semaphore", "semaphore"),
        ("custom", "lock"),
    ] {
        let recording = program(&format!("together {lock} 8 10")).record();
        let waits: Vec<Wait> = recording
            .contentions()
            .into_iter()
            .filter(|wait| wait.thread.starts_with("together-") && passes_guard(wait))
            .collect();
        assert_eq!(waits.len() as u64, recording.number("contentions"), "{lock}: {waits:?}");
        assert!(waits.iter().all(|wait| wait.kind == kind), "{lock}: {waits:?}");
        let (least_ns, most_ns) = (recording.number("least_ns"), recording.number("wait_ns"));
        let total: u64 = waits.iter().map(|wait| wait.wait_ns).sum();
        assert_between(lock, total, least_ns, most_ns);
        // 8 threads, 10 ms each: 10 · 8 · 7 / 2, which no machine makes shorter.
        assert!(total >= ms(280), "{lock}: {total}");
    }
}

/// Whether it is for the program's lock, and not for one that the JDK's own
/// code takes in its threads: such as when it links a call that the guard makes.
fn passes_guard(wait: &Wait) -> bool {
    let has = |class: &str| wait.stack.iter().any(|frame| frame.starts_with(class));
    has("tyrion.truth.Guard$") && !has("java.lang.invoke.")
}

fn private_locks(jdk: &Jdk) {
    for kind in ["monitor", "lock", "semaphore"] {
        let recording =
            Program::truth(jdk, &format!("private 8 {kind}")).option("--threshold=0").record();
        let waits = recording.contentions();
        let of_owners = |wait: &&Wait| wait.thread.starts_with("owner-") && passes_guard(wait);
        assert!(!waits.iter().any(|wait| of_owners(&wait)), "{kind}: {waits:?}");
    }
}

fn idle_threads(jdk: &Jdk) {
    let recording = Program::truth(jdk, "idle").record();
    let waits = recording.waits();
    let contended = recording.contentions();
    let contended = contended.iter().find(|wait| wait.thread.starts_with("idle-"));
    assert!(contended.is_none(), "{contended:?}");
    for (activity, kind) in [
        ("object-wait", "object-wait"),
        ("queue-take", "condition"),
        ("condition-await", "condition"),
        ("latch-await", "park"),
        ("future-get", "park"),
        ("exchanger", "park"),
        ("synchronous-queue-poll", "park"),
        ("park", "park"),
        ("join", "object-wait"),
    ] {
        let measured = recording.said["activities"].as_array().unwrap().iter();
        let measured = measured.clone().find(|said| said["activity"] == activity).unwrap();
        let thread = format!("idle-{activity}");
        let of_kind = waits.iter().filter(|wait| wait.thread == thread && wait.kind == kind);
        let total: u64 = of_kind.map(|wait| wait.wait_ns).sum();
        let (least_ns, most_ns) = (number(measured, "least_ns"), number(measured, "idle_ns"));
        assert_between(activity, total, least_ns, most_ns);
    }
    let asleep = waits.iter().filter(|wait| wait.thread == "idle-sleep").count();
    assert_eq!(asleep, 0, "a sleep is no wait for anything");
    let totals = &recording.info()["totals"];
    assert!(totals["wait_ns"].as_u64().unwrap() < ms(100), "idle time is contention: {totals}");
}

fn locks_moved_by_gc(jdk: &Jdk) {
    let recording = Program::truth(jdk, "gc-identity").record();
    assert!(recording.number("collections") > 0);
    let waits = recording.long_contentions();
    let (before, after): (Vec<&Wait>, Vec<&Wait>) =
        waits.iter().partition(|wait| wait.thread == "before-gc");
    assert_eq!((before.len(), after.len()), (3, 3), "{waits:?}");
    assert!(waits.iter().all(|wait| wait.lock == waits[0].lock), "{waits:?}");
}

fn locks_inside_the_jdk(jdk: &Jdk) {
    let recording = Program::truth(jdk, "jdk-locks").record();
    let waits = recording.long_contentions();
    let said = list(&recording.said, "waits");
    assert_eq!(waits.len(), said.len(), "{waits:?}");
    for (thread, lock_class) in [
        ("concurrent-hash-map", "java.util.concurrent.ConcurrentHashMap$ReservationNode"),
        ("hashtable", "java.util.Hashtable"),
        ("synchronized-map", "java.util.Collections$SynchronizedMap"),
        ("vector", "java.util.Vector"),
        ("string-buffer", "java.lang.StringBuffer"),
    ] {
        let wait = waits.iter().find(|wait| wait.thread == thread).unwrap();
        let measured = said.iter().find(|said| said["thread"] == thread).unwrap();
        assert_eq!((wait.kind.as_str(), wait.lock_class.as_str()), ("monitor", lock_class));
        let (least_ns, most_ns) = (number(measured, "least_ns"), number(measured, "wait_ns"));
        assert_between(thread, wait.wait_ns, least_ns, most_ns);
        assert!(wait.stack.iter().any(|frame| frame.contains("(JdkLocks.java:")), "{wait:?}");
    }
}
