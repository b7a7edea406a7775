//! The verdict on thread dumps of all families against the right answers.

use std::path::Path;
use tyrion_formats::Recording;
use tyrion_model::filter::Filter;
use tyrion_report::{
    ReportOptions, find,
    sections::{
        dumps::{DumpFindings, dump_findings},
        verdict::Verdict,
    },
};

fn open(name: &str) -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/dumps");
    Recording::open(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn judged(names: &[&str]) -> (serde_json::Value, DumpFindings) {
    let logs: Vec<Recording> = names.iter().map(|name| open(name)).collect();
    let (filter, options) = (Filter::default(), ReportOptions::default());
    let findings = find(&logs, &filter, &options, &|_| {});
    let verdict = serde_json::to_value(Verdict::of(&findings)).unwrap();
    (verdict, dump_findings(&findings).unwrap())
}

/// The verdict on a text.
fn verdict_on(text: &str) -> serde_json::Value {
    let logs = [Recording::from_bytes("it.txt", text.as_bytes().to_vec()).unwrap()];
    let (filter, options) = (Filter::default(), ReportOptions::default());
    let findings = find(&logs, &filter, &options, &|_| {});
    serde_json::to_value(Verdict::of(&findings)).unwrap()
}

/// What is wrong with the verdict on a file, of which a line has the answer.
fn wrong(line: &str) -> Option<String> {
    let [file, kind, name, holder, waiting] = line.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{line}");
    };
    let (verdict, _) = judged(&[file]);
    let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
    let is_part = |part: &str, of: &str| part == "-" || of.contains(part);
    let is_right = text("kind") == kind
        && is_part(name, &text("name"))
        && is_part(holder, &text("holder"))
        && (holder == "-") == text("holder").is_empty()
        && verdict["contended"].as_u64() == waiting.parse().ok();
    (!is_right).then(|| format!("{line}: {verdict:#}"))
}

#[test]
fn answers_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/dumps");
    let answers = std::fs::read_to_string(folder.join("answers.txt")).unwrap();
    let lines: Vec<&str> = answers.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() >= 40, "{}", lines.len());
    let wrong: Vec<String> = lines.iter().filter_map(|line| wrong(line)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_series_of_files_is_one_of_dumps() {
    let names =
        ["hotspot-11-adapter-3.txt", "hotspot-11-adapter-1.txt", "hotspot-11-adapter-2.txt"];
    let (verdict, found) = judged(&names);
    let pool = found.crowds.iter().find(|it| it.is_pool).unwrap();
    assert_eq!(pool.per_dump, [2, 9, 10], "in the order of time");
    assert_eq!((found.dumps, found.deadlocks.len()), (3, 0));
    let lock = found.blocked.iter().find(|it| it.class.ends_with("DataOutputStream")).unwrap();
    assert_eq!((lock.in_dumps, lock.most_waiters, lock.waiters), (2, 3, 1));
    assert_eq!(lock.holders[0].thread, "AsynchThread-1");
    assert_eq!(verdict["kind"], "wait");
}

#[test]
fn a_lock_that_moves_is_one_and_threads_that_do_not_are_told() {
    let (_, found) = judged(&["log-with-dumps.txt"]);
    let [lock] = &found.blocked[..] else { panic!("{:?}", found.blocked) };
    assert_eq!((lock.in_dumps, lock.waiters), (2, 1));
    assert_eq!(found.unmoved.len(), 1, "{:?}", found.unmoved);
    let cpu: Vec<u64> = found.cpu.iter().map(|row| row.cpu_ns).collect();
    assert_eq!(cpu, [1_000_000], "the difference");
}

#[test]
fn the_jvm_s_section_is_checked() {
    let (_, found) = judged(&["hotspot-7-deadlock.txt"]);
    assert_eq!(found.told_deadlocked, 3);
    let [deadlock] = &found.deadlocks[..] else { panic!("{:?}", found.deadlocks) };
    let names: Vec<&str> = deadlock.threads.iter().map(|it| it.thread.as_str()).collect();
    assert_eq!((names, deadlock.behind), (vec!["Thread-97", "Thread-1"], 5));
}

#[test]
fn who_has_what_a_pool_gives_is_inferred_from_two_signs() {
    for (file, sign) in [
        ("jdk-25-hikari-held-print.txt", "App.askSupplier"),
        ("spring-21-dbcp-held.json", "App.askSupplier"),
    ] {
        let (verdict, found) = judged(&[file]);
        let pool = found.crowds.iter().find(|it| it.is_pool).unwrap();
        let mut known: Vec<&str> = pool.holders.iter().map(|it| it.known_by).collect();
        known.sort_unstable();
        assert_eq!(known, ["beyond-the-call", "uses-it"], "{file}");
        let beyond = pool.holders.iter().find(|it| it.known_by == "beyond-the-call").unwrap();
        assert!(beyond.stack.iter().any(|frame| frame.contains(sign)), "{file}");
        assert!(pool.caller.contains("App.order"), "{file}: {}", pool.caller);
        let lines = verdict["lines"].to_string();
        assert!(lines.contains("seem to have its objects"), "{lines}");
    }
    // Who holds one is in another method than those who wait: nothing tells.
    let (verdict, found) = judged(&["spring-21-hikari.txt"]);
    assert!(found.crowds.iter().all(|it| it.holders.is_empty()));
    assert_eq!(verdict["holder"], "");
    // The published answer: 13 are in IOBuf.waitOnBuf, that is, use a session.
    let (_, found) = judged(&["hotspot-11-adapter-3.txt"]);
    let pool = found.crowds.iter().find(|it| it.is_pool).unwrap();
    assert_eq!(pool.holders.len(), 13);
}

/// A thread as HotSpot writes it.
fn thread(name: &str, nth: u32, what: &str, lines: &[&str]) -> String {
    let state = match what {
        "waiting for monitor entry" => "BLOCKED (on object monitor)",
        "waiting on condition" => "WAITING (parking)",
        _ => "RUNNABLE",
    };
    let lines: String = lines.iter().map(|line| format!("\t{line}\n")).collect();
    format!(
        "\"{name}\" #{nth} prio=5 tid=0x{nth} nid=0x{nth} {what} [0x0]\n   \
         java.lang.Thread.State: {state}\n{lines}\n"
    )
}

fn dump(threads: &[String]) -> String {
    format!("2024-03-05 10:11:12\nFull thread dump X (17 mixed mode):\n\n{}", threads.concat())
}

#[test]
fn the_largest_group_on_one_address_may_be_an_idle_pool() {
    // Right: one teller waits for the ledger, which the holder has. Nobody waits for the queue.
    let idle = (10..16).map(|nth| {
        let lines = [
            "at jdk.internal.misc.Unsafe.park(Native Method)",
            "- parking to wait for  <0x0a> (a java.util.concurrent.SynchronousQueue$TransferStack)",
            "at java.util.concurrent.SynchronousQueue.take(SynchronousQueue.java:1)",
            "at java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1)",
            "at java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1)",
        ];
        thread(&format!("pool-1-thread-{nth}"), nth, "waiting on condition", &lines)
    });
    let holder = ["at acme.Ledger.post(Ledger.java:9)", "- locked <0x0b> (a acme.Ledger)"];
    let teller = ["at acme.Ledger.post(Ledger.java:8)", "- waiting to lock <0x0b> (a acme.Ledger)"];
    let mut threads: Vec<String> = idle.collect();
    threads.push(thread("holder", 1, "runnable", &holder));
    threads.push(thread("teller", 2, "waiting for monitor entry", &teller));
    let verdict = verdict_on(&dump(&threads));
    assert_eq!((&verdict["kind"], &verdict["holder"]), (&"lock".into(), &"holder".into()));
    assert_eq!(verdict["contended"], 1);
}

#[test]
fn circles_that_the_jvm_does_not_find_are_found() {
    // Right: each of two threads initializes the class that the other waits for.
    let of = |name: &str, nth, own: &str, other: &str| {
        let lines = [
            format!("at acme.{own}.<clinit>({own}.java:3)"),
            format!("- waiting on the Class initialization monitor for acme.{other}"),
            "at acme.Main.run(Main.java:1)".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        thread(name, nth, "in Object.wait()", &lines)
    };
    let verdict = verdict_on(&dump(&[of("one", 1, "A", "B"), of("two", 2, "B", "A")]));
    assert_eq!((&verdict["kind"], &verdict["contended"]), (&"deadlock".into(), &2.into()));
    assert_eq!(verdict["holder"], "two, one");
}

#[test]
fn who_is_named_like_another_is_no_holder() {
    // Right: the second "worker" has what the teller waits for, and runs.
    let of = |nth: u32, state: &str, more: &str| {
        format!(
            "3XMTHREADINFO      \"worker\" J9VMThread:0x{nth:016X}, omrthread_t:0x1, \
             java/lang/Thread:0x2, state:{state}, prio=5\n\
             3XMJAVALTHREAD            (java/lang/Thread getId:0x{nth:X}, isDaemon:true)\n\
             3XMTHREADINFO3           Java callstack:\n\
             4XESTACKTRACE                at acme/Worker.run(Worker.java:{nth})\n{more}"
        )
    };
    let teller = "3XMTHREADINFO      \"teller\" J9VMThread:0x0000000000000009, omrthread_t:0x1, \
                  java/lang/Thread:0x2, state:B, prio=5\n\
                  3XMTHREADBLOCK     Blocked on: acme/Ledger@0x00000000E0000000 Owned by: \
                  \"worker\" (J9VMThread:0x0000000000000008, java/lang/Thread:0x2)\n\
                  4XESTACKTRACE                at acme/Ledger.post(Ledger.java:30)\n";
    let text = format!(
        "0SECTION       TITLE subcomponent dump routine\nNULL\n1TISIGINFO     Dump Event\n{}{}{teller}",
        of(7, "R", ""),
        of(8, "R", "")
    );
    let verdict = verdict_on(&text);
    assert_eq!((&verdict["kind"], &verdict["holder"]), (&"lock".into(), &"worker".into()));
    assert!(verdict["holder_own"].as_str().unwrap().contains("Worker.java:8"), "{verdict:#}");
}

#[test]
fn threads_that_are_not_the_program_s_are_idle() {
    // Right: all of them wait for work; the environment and the JDK have threads of their own.
    let console = [
        "at sun.nio.ch.SocketDispatcher.read0(Native Method)",
        "at java.net.Socket$SocketInputStream.read(Socket.java:1)",
        "at com.intellij.rt.execution.application.AppMainV2$1.run(AppMainV2.java:31)",
    ];
    let poller = [
        "at java.lang.VirtualThread.park(VirtualThread.java:1)",
        "at sun.nio.ch.Poller.subPollerLoop(Poller.java:1)",
        "at java.lang.VirtualThread.run(VirtualThread.java:1)",
    ];
    let threads = [
        thread("Monitor Ctrl-Break", 1, "runnable", &console),
        thread("Read-Poller", 2, "waiting on condition", &poller),
    ];
    assert_eq!(verdict_on(&dump(&threads))["kind"], "idle");
}

#[test]
fn who_reads_from_outside_works_on_what_others_wait_for() {
    // Right: main waits for the latch of a worker, which waits for an answer from the network.
    let main = [
        "at jdk.internal.misc.Unsafe.park(Native Method)",
        "- parking to wait for  <0x0a> (a java.util.concurrent.CountDownLatch$Sync)",
        "at java.util.concurrent.CountDownLatch.await(CountDownLatch.java:1)",
        "at acme.Load.run(Load.java:5)",
        "at acme.Main.main(Main.java:5)",
        "at acme.Launcher.main(Launcher.java:5)",
    ];
    let worker = [
        "at sun.nio.ch.SocketDispatcher.read0(Native Method)",
        "at java.net.Socket$SocketInputStream.read(Socket.java:1)",
        "at acme.Mail.send(Mail.java:1)",
        "at acme.Worker.run(Worker.java:1)",
    ];
    let threads = [
        thread("main", 1, "waiting on condition", &main),
        thread("worker", 2, "runnable", &worker),
    ];
    assert_eq!(verdict_on(&dump(&threads))["kind"], "outside");
}
