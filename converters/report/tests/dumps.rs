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
    judged_text(text).0
}

fn judged_text(text: &str) -> (serde_json::Value, DumpFindings) {
    let logs = [Recording::from_bytes("it.txt", text.as_bytes().to_vec()).unwrap()];
    let (filter, options) = (Filter::default(), ReportOptions::default());
    let findings = find(&logs, &filter, &options, &|_| {});
    let verdict = serde_json::to_value(Verdict::of(&findings)).unwrap();
    (verdict, dump_findings(&findings).unwrap())
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
    // Its stacks are those of threads that stand above.
    assert_eq!(found.threads, 11);
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
        "in Object.wait()" => "WAITING (on object monitor)",
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
    assert_eq!((&verdict["kind"], &verdict["holder"]), (&"lock".into(), &"worker #8".into()));
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

#[test]
fn who_runs_waits_for_nothing() {
    // Right: four compute; what they say that they park for is what they had parked for.
    let stale = [
        "at acme.Solver.solve(Solver.java:38)",
        "- parking to wait for  <0x0a> (a java.util.concurrent.ForkJoinPool)",
        "at acme.Main.lambda$main$0(Main.java:5)",
        "at java.util.concurrent.ForkJoinWorkerThread.run(ForkJoinWorkerThread.java:1)",
    ];
    let of = |nth| thread(&format!("ForkJoinPool-1-worker-{nth}"), nth, "runnable", &stale);
    let (verdict, found) = judged_text(&dump(&(1..=4).map(of).collect::<Vec<_>>()));
    assert_eq!((&verdict["kind"], &verdict["contended"]), (&"computes".into(), &0.into()));
    assert!(found.blocked.is_empty() && found.crowds.is_empty(), "{found:?}");
}

/// Some tools leave out what threads park for.
#[test]
fn parks_without_a_line_are_told_by_their_frames() {
    // Right: two wait for a lock, and nothing tells who has it; the pool's thread is idle.
    let waits = [
        "at jdk.internal.misc.Unsafe.park(Native Method)",
        "at java.util.concurrent.locks.LockSupport.park(LockSupport.java:1)",
        "at java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(A.java:1)",
        "at java.util.concurrent.locks.ReentrantLock.lock(ReentrantLock.java:1)",
        "at acme.Ledger.post(Ledger.java:8)",
    ];
    let idle = [
        "at jdk.internal.misc.Unsafe.park(Native Method)",
        "at java.util.concurrent.LinkedBlockingQueue.take(LinkedBlockingQueue.java:1)",
        "at java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1)",
        "at java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1)",
    ];
    let threads = [
        thread("teller-1", 1, "waiting on condition", &waits),
        thread("teller-2", 2, "waiting on condition", &waits),
        thread("pool-1-thread-1", 3, "waiting on condition", &idle),
    ];
    let (verdict, found) = judged_text(&dump(&threads));
    assert_eq!((&verdict["kind"], &verdict["contended"]), (&"lock".into(), &2.into()));
    assert_eq!((&verdict["holder"], &verdict["certainty"]), (&"".into(), &"inferred".into()));
    assert!(verdict["lines"].to_string().contains("does not tell who has it"), "{verdict:#}");
    assert_eq!(found.idle.iter().map(|it| it.count).sum::<u64>(), 1);
}

#[test]
fn who_waits_for_a_monitor_does_not_own_it() {
    // Right: two wait for the stream, which the first writer has; it waits for the buffer, though
    // it says "locked" of that, and nothing tells who has it.
    let first = [
        "at acme.Buffer.write(Buffer.java:94)",
        "- locked <0x0b> (a acme.Buffer)",
        "at acme.Frame.writeTo(Frame.java:185)",
        "- locked <0x0a> (a acme.Stream)",
    ];
    let others =
        ["at acme.Handler.write(Handler.java:190)", "- waiting to lock <0x0a> (a acme.Stream)"];
    let blocked = "waiting for monitor entry";
    let threads = [
        thread("writer-1", 1, blocked, &first),
        thread("writer-2", 2, blocked, &others),
        thread("writer-3", 3, blocked, &others),
    ];
    let (verdict, found) = judged_text(&dump(&threads));
    let of = |class: &str| found.blocked.iter().find(|it| it.class == class).unwrap();
    assert_eq!((of("acme.Stream").waiters, of("acme.Buffer").waiters), (2, 1));
    assert_eq!(of("acme.Stream").holders[0].thread, "writer-1");
    assert!(of("acme.Stream").holders[0].is_blocked && of("acme.Buffer").holders.is_empty());
    assert!(found.deadlocks.is_empty());
    assert_eq!(verdict["kind"], "lock");
}

#[test]
fn who_enters_again_after_a_wait_waits_for_nobody() {
    // Right: three wait for work, two of them notified at once, and nobody has the monitor.
    let waits = [
        "at java.lang.Object.wait(Native Method)",
        "- waiting on <0x0a> (a acme.Queue)",
        "at acme.Queue.take(Queue.java:7)",
        "- waiting to re-lock in wait() <0x0a> (a acme.Queue)",
        "at acme.Worker.run(Worker.java:3)",
    ];
    let threads = [
        thread("worker-1", 1, "in Object.wait()", &waits),
        thread("worker-2", 2, "waiting for monitor entry", &waits),
        thread("worker-3", 3, "waiting for monitor entry", &waits),
    ];
    let (verdict, found) = judged_text(&dump(&threads));
    assert!(found.blocked.is_empty(), "{:?}", found.blocked);
    assert_eq!((&verdict["kind"], &verdict["holder"]), (&"idle".into(), &"".into()));
}

#[test]
fn circles_through_a_pool_are_found() {
    // Right: all threads of the pool wait for tasks that only its threads could run.
    let waits = [
        "at jdk.internal.misc.Unsafe.park(Native Method)",
        "- parking to wait for  <0x0a> (a java.util.concurrent.FutureTask)",
        "at java.util.concurrent.FutureTask.awaitDone(FutureTask.java:1)",
        "at java.util.concurrent.FutureTask.get(FutureTask.java:1)",
        "at acme.Import.all(Import.java:40)",
        "at acme.Import.run(Import.java:30)",
        "at java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1)",
    ];
    let of = |nth| thread(&format!("pool-1-thread-{nth}"), nth, "waiting on condition", &waits);
    let now = dump(&(1..=4).map(of).collect::<Vec<_>>());
    let later = now.replace("10:11:12", "10:11:22");
    let verdict = verdict_on(&format!("{now}JNI global refs: 1\n\n{later}"));
    assert_eq!(
        (&verdict["kind"], &verdict["advice"]),
        (&"nobody-answers".into(), &"separate-pool".into())
    );
}

#[test]
fn owners_that_are_not_in_the_file_are_inferred_or_unknown() {
    // Right: the reader is beyond the call in which the writer waits, or nobody is.
    let waits = [
        "at jdk.internal.misc.Unsafe.park(Native Method)",
        "- parking to wait for  <0x0a> (a java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync)",
        "at java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock.lock(R.java:1)",
        "at acme.Index.update(Index.java:20)",
    ];
    let with = |line: u32| {
        let reader = format!("at acme.Index.update(Index.java:{line})");
        let threads = [
            thread("writer", 1, "waiting on condition", &waits),
            thread("reader", 2, "runnable", &["at acme.Disk.read(Disk.java:1)", &reader]),
        ];
        judged_text(&dump(&threads))
    };
    let (verdict, found) = with(21);
    assert_eq!((&verdict["holder"], &verdict["certainty"]), (&"reader".into(), &"inferred".into()));
    assert_eq!(found.blocked[0].holders[0].known_by, "beyond-the-call");
    assert!(verdict["lines"].to_string().contains("seems to have it"), "{verdict:#}");
    let (verdict, found) = with(19);
    assert_eq!((&verdict["holder"], found.blocked[0].holders.len()), (&"".into(), 0));
    assert!(verdict["lines"].to_string().contains("does not tell who has it"), "{verdict:#}");
}

#[test]
fn threads_of_one_name_are_told_apart() {
    // Right: of three "worker", the second has what the others wait for.
    let waits = ["at acme.Ledger.post(Ledger.java:8)", "- waiting to lock <0x0b> (a acme.Ledger)"];
    let has = ["at acme.Ledger.post(Ledger.java:9)", "- locked <0x0b> (a acme.Ledger)"];
    let blocked = "waiting for monitor entry";
    let threads = [
        thread("worker", 11, blocked, &waits),
        thread("worker", 12, "runnable", &has),
        thread("worker", 13, blocked, &waits),
        thread("other", 14, "runnable", &["at acme.Other.run(Other.java:1)"]),
    ];
    let (verdict, found) = judged_text(&dump(&threads));
    assert_eq!((&verdict["holder"], &verdict["contended"]), (&"worker #12".into(), &2.into()));
    assert_eq!(found.blocked[0].threads, ["worker #11", "worker #13"]);
    // JDK 7 and earlier number none.
    let unnumbered = dump(&threads).replace(" #11", "").replace(" #12", "").replace(" #13", "");
    let (verdict, found) = judged_text(&unnumbered);
    assert_eq!(verdict["holder"], "worker (2)");
    assert_eq!(found.blocked[0].threads, ["worker", "worker (3)"]);
}

#[test]
fn locks_of_one_class_and_place_are_told_apart() {
    // Right: three wait for the ledger that the first holder has, one for the other's.
    let at = "at acme.Ledger.post(Ledger.java:8)";
    let waits = |lock: &str| format!("- waiting to lock <0x0{lock}> (a acme.Ledger)");
    let has = |lock: &str| format!("- locked <0x0{lock}> (a acme.Ledger)");
    let blocked = "waiting for monitor entry";
    let mut threads: Vec<String> = [(1, "b"), (2, "a"), (3, "a"), (4, "a"), (5, "c")]
        .map(|(nth, lock)| thread(&format!("teller-{nth}"), nth, blocked, &[at, &waits(lock)]))
        .into();
    for (nth, lock) in [(7, "a"), (8, "b")] {
        let lines = ["at acme.Ledger.write(Ledger.java:9)", &has(lock)];
        threads.push(thread(&format!("holder-{nth}"), nth, "runnable", &lines));
    }
    let (verdict, found) = judged_text(&dump(&threads));
    let rows: Vec<(u64, u64, usize)> =
        found.blocked.iter().map(|it| (it.waiters, it.in_dumps, it.holders.len())).collect();
    assert_eq!(rows, [(3, 1, 1), (1, 1, 1), (1, 1, 0)]);
    assert_eq!((&verdict["holder"], &verdict["contended"]), (&"holder-7".into(), &3.into()));
}

#[test]
fn a_pool_that_few_wait_for_is_told() {
    // The published answer: 2 wait for a session of the pool, and 12 use one.
    let (verdict, found) = judged(&["hotspot-11-adapter-1.txt"]);
    assert_eq!((&verdict["kind"], &verdict["contended"]), (&"wait".into(), &2.into()));
    let pool = found.crowds.iter().find(|it| it.is_pool).unwrap();
    assert_eq!(pool.holders.len(), 12);
    // Right: one computes, and may have nothing to do with it.
    let waits = [
        "at jdk.internal.misc.Unsafe.park(Native Method)",
        "- parking to wait for  <0x0a> (a java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject)",
        "at org.apache.commons.pool2.impl.GenericObjectPool.borrowObject(GenericObjectPool.java:441)",
        "at acme.Order.order(Order.java:20)",
    ];
    let threads = [
        thread("asker", 1, "waiting on condition", &waits),
        thread("solver", 2, "runnable", &["at acme.Solver.solve(Solver.java:1)"]),
    ];
    let verdict = verdict_on(&dump(&threads));
    assert_eq!(verdict["kind"], "computes");
    let lines = verdict["lines"].to_string();
    assert!(lines.contains("1 thread waits for an object of a pool in"), "{lines}");
}
