//! The verdict on series of thread dumps: what a moment tells, and what three of them do.

use serde_json::Value;
use tyrion_formats::Recording;
use tyrion_model::filter::Filter;
use tyrion_report::{ReportOptions, find, sections::verdict::Verdict};

/// A thread as HotSpot writes it, in a state such as `WAITING (parking)`.
fn thread(name: &str, state: &str, lines: &[&str]) -> String {
    let tid = name.bytes().fold(7u64, |tid, byte| tid * 31 % 65_521 + u64::from(byte));
    let lines: String = lines.iter().map(|line| format!("\t{line}\n")).collect();
    format!(
        "\"{name}\" #{tid} prio=5 tid=0x{tid:x} nid=0x1 runnable [0x0]\n   \
         java.lang.Thread.State: {state}\n{lines}\n"
    )
}

const PARK: [&str; 2] = [
    "at jdk.internal.misc.Unsafe.park(java.base@17/Native Method)",
    "at java.util.concurrent.locks.LockSupport.park(java.base@17/LockSupport.java:211)",
];

/// A thread that is parked for this, in these frames.
fn parked(name: &str, lock: &str, frames: &[&str]) -> String {
    let lock = format!("- parking to wait for  <{lock})");
    let lines = [&[PARK[0], &lock, PARK[1]], frames].concat();
    thread(name, "WAITING (parking)", &lines)
}

/// Who keeps the program alive, and tells which code is its own.
fn main_thread() -> String {
    let lines =
        ["at java.lang.Thread.sleep(java.base@17/Native Method)", "at acme.Main.main(Main.java:1)"];
    thread("main", "TIMED_WAITING (sleeping)", &lines)
}

/// The verdict on dumps, a second after each other.
fn verdict(dumps: &[Vec<String>]) -> Value {
    let text: String = dumps
        .iter()
        .enumerate()
        .map(|(nth, threads)| {
            let threads = threads.concat();
            format!(
                "2024-03-05 10:11:1{nth}\nFull thread dump X (17 mixed mode):\n\n{}{threads}",
                main_thread()
            )
        })
        .collect();
    let logs = [Recording::from_bytes("it.txt", text.into_bytes()).unwrap()];
    let (filter, options) = (Filter::default(), ReportOptions::default());
    let findings = find(&logs, &filter, &options, &|_| {});
    serde_json::to_value(Verdict::of(&findings)).unwrap()
}

/// The same dump three times.
fn thrice(threads: &[String]) -> [Vec<String>; 3] {
    [threads.to_vec(), threads.to_vec(), threads.to_vec()]
}

fn kind_of(dumps: &[Vec<String>]) -> String {
    verdict(dumps)["kind"].as_str().unwrap().to_owned()
}

fn writer(name: &str) -> String {
    let lines = [
        "at java.lang.Thread.sleep(java.base@17/Native Method)",
        "at acme.Disk.write(Disk.java:7)",
        "- locked <0x0c> (a acme.Disk)",
        "at acme.Ledger.post(Ledger.java:9)",
        "- locked <0x0b> (a acme.Ledger)",
        "at acme.Teller.run(Teller.java:3)",
    ];
    thread(name, "TIMED_WAITING (sleeping)", &lines)
}

fn poster(name: &str) -> String {
    let lines = [
        "at acme.Ledger.post(Ledger.java:8)",
        "- waiting to lock <0x0b> (a acme.Ledger)",
        "at acme.Teller.run(Teller.java:3)",
    ];
    thread(name, "BLOCKED (on object monitor)", &lines)
}

#[test]
fn the_frame_that_took_a_lock_is_its_holder() {
    let said = verdict(&thrice(&[writer("one"), poster("two")]));
    assert_eq!((&said["kind"], &said["holder"]), (&"lock".into(), &"one".into()), "{said:#}");
    assert_eq!(said["holder_own"], "acme.Ledger.post(Ledger.java:9)", "not where it sleeps");
    assert_eq!(said["certainty"], "exact");
    // The same in a single dump is a moment.
    let said = verdict(&[vec![writer("one"), poster("two")]]);
    assert_eq!((&said["kind"], &said["certainty"]), (&"lock".into(), &"inferred".into()));
}

#[test]
fn a_wait_of_a_moment_is_none() {
    let idle = vec![writer("one")];
    let dumps = [idle.clone(), vec![writer("one"), poster("two")], idle.clone()];
    assert_eq!(kind_of(&dumps), "idle");
    assert_eq!(kind_of(&[idle, dumps[1].clone(), dumps[1].clone()]), "lock");
}

#[test]
fn the_last_lock_of_a_chain_is_named() {
    // Right: two wait for the ledger, whose holder waits for the till, which another one has.
    let between = thread(
        "between",
        "BLOCKED (on object monitor)",
        &[
            "at acme.Till.open(Till.java:4)",
            "- waiting to lock <0x0d> (a acme.Till)",
            "at acme.Ledger.post(Ledger.java:9)",
            "- locked <0x0b> (a acme.Ledger)",
            "at acme.Teller.run(Teller.java:3)",
        ],
    );
    let last = thread(
        "last",
        "TIMED_WAITING (sleeping)",
        &[
            "at java.lang.Thread.sleep(java.base@17/Native Method)",
            "at acme.Till.open(Till.java:5)",
            "- locked <0x0d> (a acme.Till)",
        ],
    );
    let said = verdict(&thrice(&[poster("a"), poster("b"), between, last]));
    assert_eq!((&said["name"], &said["holder"]), (&"acme.Till".into(), &"last".into()));
    assert!(said["lines"].to_string().contains("2 threads more wait for acme.Ledger"), "{said:#}");
}

#[test]
fn native_methods_are_outside_only_if_they_ask_what_is_outside() {
    for top in ["java.lang.Thread.sleep", "jdk.internal.misc.Unsafe.park", "java.lang.Object.wait"]
    {
        let top = format!("at {top}(java.base@17/Native Method)");
        let lines = [&*top, "at acme.Job.step(Job.java:2)", "at acme.Job.run(Job.java:1)"];
        assert_eq!(kind_of(&thrice(&[thread("job", "RUNNABLE", &lines)])), "idle", "{top}");
    }
    let wakes = ["at jdk.internal.misc.Unsafe.unpark(java.base@17/Native Method)"];
    let wakes = [&wakes[..], &["at acme.Job.step(Job.java:2)"]].concat();
    assert_eq!(kind_of(&thrice(&[thread("job", "RUNNABLE", &wakes)])), "computes");
    let asks = |called: &str| {
        let read = "at sun.nio.ch.SocketDispatcher.read0(java.base@17/Native Method)";
        kind_of(&thrice(&[thread("job", "RUNNABLE", &[read, called])]))
    };
    assert_eq!(asks("at acme.Mail.send(Mail.java:2)"), "outside");
    assert_eq!(asks("at org.lib.PacketReader.run(PacketReader.java:2)"), "idle");
}

#[test]
fn who_waits_for_the_turn_to_receive_is_idle() {
    let leads = [
        "at sun.nio.ch.DatagramChannelImpl.receive0(java.base@17/Native Method)",
        "at acme.Names.serve(Names.java:9)",
        "- locked <0x0b> (a acme.Names)",
    ];
    let follows = ["at acme.Names.serve(Names.java:8)", "- waiting to lock <0x0b> (a acme.Names)"];
    let of = |name: &str| thread(name, "BLOCKED (on object monitor)", &follows);
    let threads = [thread("leader", "RUNNABLE", &leads), of("a"), of("b"), of("c")];
    assert_eq!(kind_of(&thrice(&threads)), "idle");
}

#[test]
fn what_may_be_for_work_or_for_ever_is_not_decided() {
    let frames = [
        "at java.util.concurrent.Semaphore.acquire(java.base@17/Semaphore.java:1)",
        "at acme.Kitchen.cook(Kitchen.java:4)",
    ];
    let cook = parked("cook", "0x0a> (a java.util.concurrent.Semaphore$NonfairSync", &frames);
    let said = verdict(&thrice(&[cook]));
    assert_eq!(said["kind"], "unclear", "{said:#}");
    assert!(said["lines"].to_string().contains("for work, or for what never comes"), "{said:#}");
}

#[test]
fn virtual_threads_that_are_not_shown_are_told() {
    let unparker = parked(
        "VirtualThread-unparker",
        "0x0a> (a java.util.concurrent.SynchronousQueue",
        &["at java.util.concurrent.ThreadPoolExecutor.getTask(java.base@21/T.java:1)"],
    );
    let said = verdict(&thrice(&[unparker]));
    assert_eq!(said["kind"], "unclear", "{said:#}");
    assert!(said["lines"].to_string().contains("dump_to_file"), "{said:#}");
    assert_eq!(kind_of(&thrice(&[])), "idle");
}

#[test]
fn a_pool_to_which_nothing_returns_is_told_from_a_small_one() {
    let asks = |name: &str| {
        let frames = [
            "at org.pool.ConnectionPool.borrow(ConnectionPool.java:4)",
            "at acme.Shop.sell(Shop.java:5)",
        ];
        parked(name, "0x0a> (a java.util.concurrent.SynchronousQueue", &frames)
    };
    let has = thread(
        "has",
        "TIMED_WAITING (sleeping)",
        &[
            "at java.lang.Thread.sleep(java.base@17/Native Method)",
            "at acme.Shop.sell(Shop.java:8)",
        ],
    );
    let waiters = [asks("a"), asks("b"), asks("c")];
    assert_eq!(kind_of(&thrice(&waiters)), "nobody-answers");
    let said = verdict(&thrice(&[&waiters[..], &[has]].concat()));
    assert_eq!((&said["kind"], &said["advice"]), (&"wait".into(), &"larger-pool".into()));
    // A moment does not tell.
    assert_eq!(kind_of(&[waiters.to_vec()]), "wait");
}

#[test]
fn who_is_at_work_in_all_dumps_is_what_others_wait_for() {
    let task = |name: &str| {
        let lines = [
            "at java.lang.Thread.sleep(java.base@17/Native Method)",
            "at acme.Converter.convert(Converter.java:4)",
            "at java.util.concurrent.ThreadPoolExecutor.runWorker(java.base@17/T.java:1)",
        ];
        thread(name, "TIMED_WAITING (sleeping)", &lines)
    };
    let asks = parked(
        "asks",
        "0x0a> (a java.util.concurrent.FutureTask",
        &[
            "at java.util.concurrent.FutureTask.get(java.base@17/FutureTask.java:1)",
            "at acme.Mail.send(Mail.java:3)",
        ],
    );
    let pool = [task("convert-1"), task("convert-2")];
    let said = verdict(&thrice(&[&pool[..], std::slice::from_ref(&asks)].concat()));
    assert_eq!((&said["kind"], &said["advice"]), (&"wait".into(), &"speed-up-task".into()));
    assert!(said["holder"].as_str().unwrap().starts_with("convert-"), "{said:#}");
    assert!(said["holder_own"].as_str().unwrap().contains("Converter.convert"), "{said:#}");
    // Nobody works on it.
    assert_eq!(kind_of(&thrice(std::slice::from_ref(&asks))), "nobody-answers");
    // Nobody waits, and whether tasks do is not in a dump.
    assert_eq!(kind_of(&thrice(&pool)), "unclear");
    // Of another one a thread is free.
    let free = parked(
        "rooms(2)",
        "0x0a> (a java.util.concurrent.SynchronousQueue",
        &["at java.util.concurrent.ThreadPoolExecutor.getTask(java.base@17/T.java:1)"],
    );
    assert_eq!(kind_of(&thrice(&[task("rooms(1)"), free])), "idle");
    assert_eq!(kind_of(&thrice(&[task("rooms(1)"), task("rooms(2)")])), "unclear");
}
