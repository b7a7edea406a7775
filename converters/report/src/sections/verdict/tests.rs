//! Verdicts on known logs.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod unseen;
mod wakers;
mod work;

use super::*;
use crate::{
    render::text,
    sections::scenario::{Scenario, with},
    testing::{Crafted, found},
};
use std::collections::BTreeMap;
use tyrion_formats::Recording;
use tyrion_model::filter::Filter;
use tyrion_wire::sample::ThreadState::{Native, Running, Waiting};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// Every log is so long.
const LENGTH_NS: u64 = 10 * S;

type LockSpec = (WaitKind, (&'static str, &'static str));
const JOURNAL: LockSpec = (WaitKind::Monitor, ("com.acme.bank.Journal", ""));
const CACHE: LockSpec =
    (WaitKind::Lock, ("java.util.concurrent.locks.ReentrantLock", "Cache.lock"));
const APPEND: &[&str] = &["com.acme.bank.Teller.run:7", "com.acme.bank.Journal.append:23"];
const READ: &[&str] = &["com.acme.bank.Teller.run:9", "com.acme.bank.Journal.read:40"];

fn verdict_of(logs: &[Recording], filter: &Filter) -> Verdict {
    let verdict = Verdict::of(&found(logs, filter));
    assert!((2..=5).contains(&verdict.lines.len()), "{:#?}", verdict.lines);
    let whole = text::view(&View { parts: vec![Part::Lines(verdict.lines.clone())] }, &wide());
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&whole), words(&verdict.lines.join("\n")), "all is there, wrapped");
    verdict
}

fn wide() -> text::Style {
    text::Style::default()
}

fn verdict(log: Crafted) -> Verdict {
    verdict_of(&[log.finish("a.log")], &Filter::default())
}

/// Waits of two tellers in turn, 5 ms apart.
fn tellers(log: &mut Crafted, frames: &[&str], lock: LockSpec, count: u64, wait_ns: u64) {
    for nth in 0..count {
        log.pass(5 * MS);
        log.wait(&format!("teller-{}", nth % 2), frames, lock, wait_ns, "");
    }
}

#[test]
fn a_hot_lock_is_named_with_what_is_known_of_it() {
    let mut log = Crafted::with(LENGTH_NS, &[("program", "com.acme.Main")]);
    tellers(&mut log, APPEND, JOURNAL, 1_000, 4 * MS);
    tellers(&mut log, READ, CACHE, 10, 2 * MS);
    let told = verdict(log);
    assert_eq!(told.finding, Finding::Locks);
    assert!((told.lost_share.unwrap() - 0.201).abs() < 1e-6, "{told:#?}");
    let lock = told.lock.as_ref().unwrap();
    assert_eq!((lock.contended, lock.mean_wait_ns, lock.waiting_threads), (1_000, 4 * MS, 2));
    assert_eq!((lock.cause, lock.certainty), (Cause::Unknown, Certainty::Inferred));
    assert_eq!(
        told.lines,
        [
            "Waiting for locks took 20.1 % of the threads' busy time: 4.02 s in 1,010 waits.",
            "Journal#1 has 99.5 % of it: held and waited for in Journal.append.",
            "Its waits are exact: 1,000, mean 4 ms. Who holds it is inferred from where most waits are.",
            "→ Do less under it in Journal.append, or take it less often; trace mode tells which.",
            "Next: tyrion record --mode trace -- java … com.acme.Main",
        ]
    );
}

#[test]
fn locks_of_the_jdk_say_who_had_them() {
    let mut log = Crafted::new(LENGTH_NS);
    for _ in 0..100 {
        log.pass(50 * MS);
        log.wait("reader-1", READ, CACHE, 20 * MS, "loader-3");
    }
    let told = verdict(log);
    let lock = told.lock.unwrap();
    assert_eq!((&*lock.holders, lock.holder_known_by), ("loader-*", KnownBy::OwnerAtStart));
    assert_eq!(
        told.lines[1],
        "Cache.lock (ReentrantLock#1) has 100.0 % of it: held by loader-*, waited for in \
         Journal.read."
    );
}

/// A log of trace mode: so many waits of so long for a lock that was held so often
/// for so long, by a process that took so much CPU time of two processors.
fn traced((count, wait_ns): (u64, u64), holds: &[u64], cpu_ns: u64) -> Verdict {
    let metadata = [("mode", "trace"), ("hold", "all"), ("processors", "2")];
    let mut log = Crafted::with(LENGTH_NS, &metadata);
    // Not only when all begins.
    log.pass(3 * S);
    for nth in 0..count {
        log.pass(wait_ns + 1_000);
        log.wait(&format!("teller-{}", nth % 2), APPEND, JOURNAL, wait_ns, "");
    }
    log.take("teller-0", "com.acme.bank.Journal.append:23", JOURNAL, holds);
    let waiting = ("teller-1", APPEND);
    log.charge(("teller-0", READ), waiting, JOURNAL, 90 * MS);
    log.charge(("teller-0", APPEND), waiting, JOURNAL, 10 * MS);
    log.used(cpu_ns);
    verdict(log)
}

#[test]
fn advice_depends_on_holds_waits_and_processors() {
    // Holds of which one is another.
    let holds = |usual: u64, count: usize, one: u64| -> Vec<u64> {
        let mut holds = vec![usual; count];
        holds[0] = one;
        holds
    };
    let short = |one| holds(1_300, 100_000, one);
    let (free, all, rare) = (S, 19 * S, (100, 13_600_000));
    for (what, told, cause, said) in [
        (
            "long",
            traced((100, 14 * MS), &holds(20 * MS, 100, 20 * MS), all),
            Cause::LongHolds,
            "→ Hold it for less time: move out of Journal.read",
        ),
        (
            "many",
            traced((20_000, 60_000), &holds(20_000, 100_000, 20_000), free),
            Cause::ManyAcquisitions,
            "→ Take it less often, or split it. It is held briefly, but 100,000 times.",
        ),
        // Held 1.3 µs, waited 13.6 ms.
        (
            "the owner had no processor",
            traced(rare, &short(1_300), all),
            Cause::OwnerNotRunning,
            "→ Run fewer threads, or add processors: held 1.3 µs, waited 13.6 ms",
        ),
        (
            "nor had it one in a hold that was measured",
            traced(rare, &short(20 * MS), all),
            Cause::OwnerNotRunning,
            "→ Run fewer threads",
        ),
        (
            "handed over",
            traced(rare, &short(1_300), free),
            Cause::HandOver,
            "→ Take it less often or",
        ),
        (
            "a long hold now and then",
            traced(rare, &short(200 * MS), free),
            Cause::RareLongHolds,
            "→ Find the rare long holds in Journal.read: 200 ms, where",
        ),
        (
            "the same where most of the processors' time is used",
            traced(rare, &short(200 * MS), 15 * S),
            Cause::RareLongHolds,
            "→ Run fewer threads, or find why Journal.read held it for 200 ms (mean 3.3 µs).",
        ),
    ] {
        let lock = told.lock.as_ref().unwrap();
        assert_eq!(lock.cause, cause, "{what}: {told:#?}");
        assert_eq!(lock.holder, "com.acme.bank.Journal.read(Journal.java:40)", "{what}");
        assert_eq!(lock.certainty, Certainty::Exact, "{what}");
        assert!(told.lines[1].contains("held in Journal.read, waited for in Journal.append"));
        assert!(told.lines[3].starts_with(said), "{what}: {:#?}", told.lines);
        assert_eq!(told.lines[3].contains("not running"), cause == Cause::OwnerNotRunning);
        assert!(told.lines[4].contains("--section blockers,critical-sections a.log"));
    }
}

#[test]
fn the_garbage_collector_is_told_from_holds() {
    let mut log = Crafted::with(LENGTH_NS, &[("collections", "true")]);
    for _ in 0..10 {
        log.wait("teller-1", APPEND, JOURNAL, 200 * MS, "");
        log.pass(S / 2);
    }
    // All of the first wait, which is cut off at the start, fell into it.
    log.collection(300 * MS, 299 * MS);
    let told = verdict(log);
    assert_eq!(told.lock.as_ref().unwrap().cause, Cause::Unknown, "one of ten waits");

    let mut log = Crafted::with(LENGTH_NS, &[("collections", "true")]);
    log.wait("teller-1", APPEND, JOURNAL, 900 * MS, "");
    log.pass(5 * S);
    log.wait("teller-1", APPEND, JOURNAL, 700 * MS, "");
    log.collection(950 * MS, 940 * MS);
    let told = verdict(log);
    assert_eq!(told.lock.as_ref().unwrap().cause, Cause::Collections, "{told:#?}");
    assert!(told.lines[3].starts_with("→ Look at garbage collection: 55"), "{:#?}", told.lines);
}

#[test]
fn a_deadlock_comes_first() {
    let mut log = Crafted::new(LENGTH_NS);
    tellers(&mut log, APPEND, JOURNAL, 1_000, 4 * MS);
    let fork = |name| (WaitKind::Monitor, ("a.Fork", name));
    log.still_waits(("left", READ), fork("second"), "right", 5 * S);
    log.still_waits(("right", APPEND), fork("first"), "left", 7 * S);
    log.still_waits(("third", APPEND), fork("first"), "left", 8 * S);
    let told = verdict(log);
    assert_eq!(told.finding, Finding::Deadlock);
    assert_eq!(told.waiting, ["left", "right"]);
    assert_eq!((told.kind, told.advice), (Kind::Deadlock, Advice::SameOrder));
    assert_eq!(
        (told.name.as_str(), told.holder.as_str()),
        ("second (a.Fork), first (a.Fork)", "right, left")
    );
    assert_eq!(
        told.lines,
        [
            "Deadlock: left and right wait for each other, for 3 s when the recording ended.",
            "left waits for second (Fork#2) in Journal.read; right has it.",
            "right waits for first (Fork#3) in Journal.append; left has it.",
            "→ Take these locks in the same order everywhere. The owners are exact. 1 more waits \
             behind them.",
            "Next: tyrion report --section still-waiting a.log",
        ]
    );
}

#[test]
fn classes_that_need_each_other_are_a_deadlock() {
    let mut log = Crafted::new(LENGTH_NS);
    let class = |name| (WaitKind::Monitor, ("int[]", name));
    log.still_waits(("left", READ), class("initialization of a.One"), "right", 5 * S);
    log.still_waits(("right", APPEND), class("initialization of a.Two"), "left", 7 * S);
    let told = verdict(log);
    assert_eq!(told.finding, Finding::Deadlock);
    assert_eq!(
        told.lines[3],
        "→ Let none of these classes need another one while it is initialized. The owners are \
         exact."
    );
}

#[test]
fn who_waits_for_long_comes_before_what_was_lost() {
    let stuck = |start_ns, ended_ns| {
        let mut log = Crafted::new(LENGTH_NS);
        log.pass(9 * S);
        for teller in ["teller-0", "teller-2", "teller-3"] {
            log.wait(teller, APPEND, JOURNAL, ended_ns, "");
        }
        log.still_waits(("teller-1", READ), JOURNAL, "clerk", start_ns);
        verdict(log)
    };
    let told = stuck(6 * S, MS);
    assert_eq!(told.finding, Finding::StillWaiting);
    assert_eq!(told.waiting, ["teller-1"]);
    assert_eq!(
        told.lines[..2],
        [
            "teller-1 still waited for Journal#1 when the recording ended, after 4 s.",
            "teller-1 waits for Journal#1 in Journal.read; clerk has it. Exact: the owner is known.",
        ]
    );
    assert!(told.lines[2].starts_with("Waiting for locks took"), "{:#?}", told.lines);
    // Nothing unusual: less than a second, and no longer than others, or not twice as long.
    assert_eq!(stuck(9_500 * MS, MS).finding, Finding::LocksALittle);
    assert_eq!(stuck(6 * S, 5 * S).finding, Finding::Locks);
    assert_eq!(stuck(6 * S, 2_100 * MS).finding, Finding::Locks);
    assert_eq!(stuck(6 * S, 1_900 * MS).finding, Finding::StillWaiting);
}

/// Two tasks of a pool wait for results, and a client for room in a queue; the client's wait
/// is the shorter one.
fn asking(filter: &Filter) -> Verdict {
    let mut log = Crafted::new(LENGTH_NS);
    let get = &[
        "java.util.concurrent.ThreadPoolExecutor.runWorker:1100",
        "com.acme.Search.all:30",
        "java.util.concurrent.FutureTask.get:190",
        "java.util.concurrent.locks.LockSupport.park:200",
    ];
    let put = &[
        "com.acme.Client.send:7",
        "java.util.concurrent.ArrayBlockingQueue.put:350",
        "java.util.concurrent.locks.LockSupport.park:200",
    ];
    let future = (WaitKind::Park, ("java.util.concurrent.FutureTask", ""));
    log.still_waits(("search-1", get), future, "", 2 * S);
    log.still_waits(("search-2", get), future, "", 3 * S);
    log.still_waits(("client", put), (WaitKind::Condition, ("a.Room", "")), "", 5 * S);
    log.pass(9 * S);
    log.wait("other", APPEND, JOURNAL, 10 * MS, "");
    verdict_of(&[log.finish("a.log")], filter)
}

#[test]
fn who_is_not_answered_comes_before_what_was_lost() {
    let told = asking(&Filter::default());
    assert_eq!((told.finding, told.kind), (Finding::Unanswered, Kind::NobodyAnswers));
    assert_eq!(told.advice, Advice::SeparatePool, "they wait within tasks");
    let asked = told.unanswered.unwrap();
    assert_eq!((asked.count, asked.threads.as_str()), (2, "search-*"));
    assert_eq!((asked.waited_ns, asked.longest_ns), (15 * S, 8 * S));
    assert_eq!(asked.place, "com.acme.Search.all(Search.java:30)");
    let head = "2 threads (search-*) still waited in Search.all when the recording ended, the \
                longest for 8 s: nobody had answered.";
    assert_eq!(told.lines[0], head);

    let thread = Some(regex::Regex::new("client").unwrap());
    let told = asking(&Filter { thread, ..Filter::default() });
    assert_eq!((told.waiting, told.advice), (vec!["client".to_owned()], Advice::Signal));
    let lock = Some(regex::Regex::new("Journal").unwrap());
    assert_eq!(asking(&Filter { lock, ..Filter::default() }).finding, Finding::Selected);
}

#[test]
fn locks_are_excused_only_where_hardly_anybody_waits() {
    let lost = |count: u64, others: usize| {
        let mut log = Crafted::new(LENGTH_NS);
        // Not only when all begins.
        log.pass(2 * S + S / 2);
        tellers(&mut log, APPEND, JOURNAL, count, 2 * MS);
        for other in 0..others {
            log.wait(&format!("other-{other}x"), READ, CACHE, 1, "");
        }
        verdict(log)
    };
    // Of 20 s: 0.5 %, 2 % and 10 %.
    for (count, finding, said) in [
        (50, Finding::NotLocks, "Locks are not what slows this program: 0.5 % of"),
        (200, Finding::LocksALittle, "Waiting for locks took only 2.0 %"),
        (1_000, Finding::Locks, "Waiting for locks took 10.0 %"),
    ] {
        let told = lost(count, 0);
        assert_eq!(told.finding, finding, "{told:#?}");
        assert!(told.lines[0].starts_with(said), "{:#?}", told.lines);
    }
    // Many threads that do something else do not hide two that wait.
    let told = lost(1_000, 498);
    assert!(told.lost_share.unwrap() < 0.01);
    assert_eq!(told.finding, Finding::Locks);
    assert!(told.lines[0].ends_with("teller-* lost 10.0 %."), "{:#?}", told.lines);
}

#[test]
fn nobody_waits_and_what_there_is_instead() {
    let of = |cpu_ns, processors| {
        let mut log = Crafted::with(LENGTH_NS, &[("processors", processors)]);
        // A thread that lives.
        log.wait("main", APPEND, JOURNAL, 1, "");
        log.used(cpu_ns);
        verdict(log)
    };
    for (cpu_ns, processors, activity, said) in [
        (19 * S, "2", Activity::Computing, "Instead, it computes: it used 1.90 of 2 processors."),
        (
            10 * S,
            "2",
            Activity::ComputingOnSome,
            "Instead, it computes: it used 1.00 of 2 processors.",
        ),
        (S, "2", Activity::Unknown, "What takes its time instead was not recorded."),
        (10 * S, "1", Activity::Computing, "Instead, it computes: it used 1.00 of 1 processor."),
    ] {
        let told = of(cpu_ns, processors);
        assert_eq!(told.finding, Finding::NotLocks);
        assert_eq!(told.instead.as_ref().unwrap().activity, activity);
        assert_eq!(told.lines[1], said);
        assert!(told.next.contains("--mode contention+sample"), "{}", told.next);
    }
}

/// Others use the processors, and threads were seen running that got next to nothing of them.
#[test]
fn who_wants_to_run_computes_only_if_little_else_is_done() {
    let of = |waiting: u64| {
        let metadata = [("mode", "contention+sample"), ("period", "10000000"), ("processors", "2")];
        let mut log = Crafted::with(LENGTH_NS, &metadata);
        let frames = ["com.acme.Main.main:1", "com.acme.Work.step:2"];
        for thread in 0..2 + waiting {
            let state = if thread < 2 { Running } else { Waiting };
            log.sample((&format!("t-{thread}"), &frames), state, (9 * S, 900), (9 * S, 5));
        }
        log.used(S);
        verdict(log).instead.unwrap().activity
    };
    assert_eq!((of(1), of(6)), (Activity::Computing, Activity::Waiting));
}

#[test]
fn samples_tell_what_there_is_instead() {
    let of = |state, threads: u64, frames: &[&str], cpu_ns: u64| {
        let metadata = [("mode", "contention+sample"), ("period", "10000000"), ("processors", "2")];
        let mut log = Crafted::with(LENGTH_NS, &metadata);
        for thread in 0..threads {
            log.sample((&format!("t-{thread}"), frames), state, (9 * S, 900), (9 * S, 5));
        }
        log.used(cpu_ns);
        verdict(log)
    };
    let work = &["com.acme.Main.main:1", "com.acme.Work.step:2", "java.util.HashMap.put:3"][..];
    let told = of(Running, 8, work, 19 * S);
    assert_eq!(told.instead.as_ref().unwrap().activity, Activity::FewProcessors);
    assert_eq!(
        told.lines[1],
        "Instead, 7.2 threads want to run, and get 1.90 of 2 processors; most in Work.step (100.0 %)."
    );
    assert!(told.next.starts_with("tyrion convert --to flamegraph --metric cpu"), "{}", told.next);
    for (state, threads, frames, cpu_ns, activity) in [
        (Running, 1, work, 9 * S, Activity::ComputingOnSome),
        (Native, 3, work, 5, Activity::Native),
        (Waiting, 3, work, 5, Activity::Waiting),
        (Waiting, 3, &["java.util.TimerThread.mainLoop:3"][..], 5, Activity::Idle),
    ] {
        let told = of(state, threads, frames, cpu_ns);
        assert_eq!(told.instead.as_ref().unwrap().activity, activity, "{told:#?}");
        assert_eq!(told.finding, Finding::NotLocks);
    }
}

#[test]
fn what_was_not_recorded_or_was_left_out_is_not_judged() {
    let mut log = Crafted::sampled(LENGTH_NS);
    log.sample(("main", APPEND), Running, (S, 100), (S, 5));
    let told = verdict(log);
    assert_eq!((told.finding, told.lost_share), (Finding::NotRecorded, None));
    assert!(told.lines[0].contains("is not known"), "{:#?}", told.lines);

    let mut log = Crafted::new(LENGTH_NS);
    tellers(&mut log, APPEND, JOURNAL, 10, MS);
    let logs = [log.finish("a.log")];
    let lock = regex::Regex::new("Journal").unwrap();
    let filter = Filter { lock: Some(lock), ..Filter::default() };
    let told = verdict_of(&logs, &filter);
    assert_eq!(told.finding, Finding::Selected);
    assert!(told.lines[0].starts_with("The selected lock waits took"), "{:#?}", told.lines);
    assert_eq!(verdict_of(&logs, &Filter::default()).finding, Finding::NotLocks);
}

#[test]
fn commands_are_harmless() {
    let mut log = Crafted::with(LENGTH_NS, &[("program", "a; reboot \u{1b}[31m")]);
    tellers(&mut log, APPEND, JOURNAL, 1_000, 4 * MS);
    let told = verdict_of(&[log.finish("-o x.log")], &Filter::default());
    assert_eq!(told.next, "tyrion record --mode trace -- java … 'a; reboot _[31m'");
    let mut log = Crafted::with(LENGTH_NS, &[("mode", "trace"), ("program", "/opt/app.jar")]);
    tellers(&mut log, APPEND, JOURNAL, 1_000, 4 * MS);
    let told = verdict_of(&[log.finish("-o x.log")], &Filter::default());
    assert_eq!(told.next, "tyrion report --section blockers,critical-sections './-o x.log'");
}

/// Three workers take turns with what a pool has one of; nobody is known to have given it
/// back, or whoever of them had it, or one who waits for a lock meanwhile, from a flusher.
fn pool(wakers: &str) -> Verdict {
    let mut it = Scenario::ended(&[("wakers", "true")], 1_070 * MS);
    // Deeper than where a loop waits for its work.
    let borrow = it.stack(&[
        ("java/lang/Object.wait", 300),
        ("a/Pool.borrow", 42),
        ("a/Store.find", 10),
        ("a/Store.load", 11),
        ("a/Service.answer", 12),
        ("a/Service.handle", 13),
        ("a/Worker.run", 20),
    ]);
    let give = it.stack(&[("a/Pool.giveBack", 60), ("a/Worker.run", 30)]);
    let enter = it.stack(&[("a/Worker.run", 25)]);
    let (pool, monitor) = (it.lock("a/Pool", "", 0), it.lock("a/Count", "", 0));
    let workers = ["worker-1", "worker-2", "worker-3"].map(|name| it.thread(name));
    let others = (wakers == "maker").then(|| (it.thread("maker"), it.thread("flusher")));
    for turn in 0..20 {
        for (nth, &worker) in (0..).zip(&workers) {
            let from = (3 * turn + nth) * MS;
            let (waits, span) = ((WaitKind::ObjectWait, borrow, pool), (from, from + 2 * MS));
            match (wakers, others) {
                (_, Some((maker, _))) => it.woken(worker, waits, span, (maker, give)),
                ("", _) => it.waits(worker, waits, span),
                _ => it.woken(worker, waits, span, (workers[(nth as usize + 2) % 3], give)),
            }
        }
    }
    if let Some((maker, flusher)) = others {
        let lock = it.lock("a/Lock", "", 0);
        it.woken(maker, (WaitKind::Lock, enter, lock), (0, 62 * MS), (flusher, 0));
    }
    it.waits(workers[0], (WaitKind::Monitor, enter, monitor), (65 * MS, 67 * MS));
    with(&[it.log("a.log")], &Filter::default(), Verdict::of)
}

#[test]
fn waits_for_no_lock_come_first_where_they_are_more() {
    let told = pool("");
    assert_eq!(told.finding, Finding::OtherWaits);
    let withheld = told.withheld.unwrap();
    assert_eq!((withheld.waits, withheld.wait_ns), (60, 120 * MS));
    // Of 210 ms that they lived.
    assert!((withheld.lost_share - 120.0 / 210.0).abs() < 1e-3, "{}", withheld.lost_share);
    assert_eq!((withheld.place_share, withheld.woken_by, withheld.root), (1.0, None, None));
    assert_eq!(told.lines.len(), 5);
    let counted = "of 3 threads that wait here at most 2 did at once: they waited for one another";
    assert_eq!(told.lines[1], format!("Pool.borrow has 100.0 % of it; counted: {counted}."));
}

#[test]
fn who_ends_waits_for_no_lock_is_told() {
    let told = pool("workers");
    assert_eq!(
        told.lines[1],
        "Pool.borrow has 100.0 % of it, woken by worker-* in Pool.giveBack (100.0 %); counted: \
         threads that wait here ended 100 % of it: they waited for one another."
    );
    let todo = "→ Look at what worker-* does before Pool.giveBack, which these waits are for.";
    assert_eq!(told.lines[3], todo);
    let withheld = told.withheld.unwrap();
    assert_eq!(withheld.root, None, "they wait for one that runs");
    let by = withheld.woken_by.unwrap();
    assert_eq!((by.threads.as_str(), by.waits, by.wait_share), ("worker-*", 60, 1.0));
    assert_eq!(by.at.as_deref(), Some("a.Pool.giveBack(Pool.java:60)"));
}

#[test]
fn whom_they_wait_for_in_the_end_is_told() {
    let told = pool("maker");
    let woken = "Pool.borrow has 100.0 % of it, woken by maker in Pool.giveBack (100.0 %)";
    assert!(told.lines[1].starts_with(woken), "{}", told.lines[1]);
    let todo = "→ Look at what flusher does: in the end, 100.0 % of these waits depend on it.";
    assert_eq!(told.lines[3], todo);
    let root = told.withheld.unwrap().root.unwrap();
    assert_eq!((root.threads.as_str(), root.wait_ns, root.wait_share), ("flusher", 120 * MS, 1.0));
}

/// Three sessions wait in turn for a latch that one of the others counts down; only the
/// long ones of these waits have the waker's stack.
fn latch(by: &[(&str, u64)]) -> Verdict {
    let mut it = Scenario::ended(&[("wakers", "true")], 2_100 * MS);
    let frames = [("a/Latch.await", 12), ("a/Session.run", 20)];
    let wait = it.stack(&frames);
    let end = it.stack(&[("a/Latch.countDown", 30), ("a/Session.commit", 40)]);
    let latch = it.lock("a/Latch$Sync", "", 0);
    let waiters = ["session-1", "session-2", "session-3"].map(|name| it.thread(name));
    let (mut from, mut wakers) = (0, BTreeMap::new());
    for (nth, &(waker, ns)) in by.iter().enumerate() {
        let (waits, span) = ((WaitKind::Lock, wait, latch), (from, from + ns));
        match waker {
            "" => it.waits(waiters[nth % 3], waits, span),
            waker => {
                let waker = *wakers.entry(waker).or_insert_with(|| it.thread(waker));
                let stack = if ns >= 20 * MS { end } else { 0 };
                it.woken(waiters[nth % 3], waits, span, (waker, stack));
            }
        }
        from += ns;
    }
    with(&[it.log("a.log")], &Filter::default(), Verdict::of)
}

#[test]
fn who_ended_the_waits_is_told_where_nobody_holds_it() {
    let sessions = [("session-4", 300 * MS), ("session-5", 10 * MS), ("timer", 20 * MS)];
    let told = latch(&sessions);
    let lock = told.lock.as_ref().unwrap();
    let by = lock.woken_by.as_ref().unwrap();
    assert_eq!((by.threads.as_str(), by.waits, by.wait_ns), ("session-4", 2, 310 * MS));
    assert_eq!(by.at.as_deref(), Some("a.Latch.countDown(Latch.java:30)"));
    assert_eq!(by.stack.len(), 2);
    assert!((by.wait_share - 310.0 / 330.0).abs() < 1e-9, "{}", by.wait_share);
    assert!(told.lines[2].ends_with("; session-4 ended 93.9 % of the wait."), "{told:#?}");
    let todo = "→ Look at what session-4 does before Latch.countDown, which ends these waits.";
    assert_eq!(told.lines[3], todo);
    assert_eq!(told.next, "tyrion report --section wakers a.log");

    let without_stacks = latch(&[("session-4", 10 * MS); 30]);
    let todo = "→ Look at what session-4 does before it ends these waits.";
    assert_eq!(without_stacks.lines[3], todo);
    let few = latch(&[("session-4", 100 * MS), ("", 900 * MS)]);
    assert_eq!(few.lock.unwrap().woken_by, None, "of a tenth of the time it is not enough");
    assert!(few.lines[3].starts_with("→ Find out whom its threads wait for in Latch.await"));
}
