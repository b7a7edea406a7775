//! Waits for work, of locks and others, and threads that never have to wait for any.

use super::*;
use tyrion_wire::{
    sample::{Sample, Snapshot, ThreadState},
    slot::Pending,
};

const LONG_NS: u64 = 10 * S;

fn scenario() -> Scenario {
    let metadata = [("wakers", "true"), ("mode", "contention"), ("program", "com.acme.Main")];
    Scenario::ended(&metadata, START + LONG_NS)
}

const START: u64 = 1_000_000_000;

fn told(mut it: Scenario) -> Verdict {
    it.used(S);
    with(&[it.log("a.log")], &Filter::default(), Verdict::of)
}

/// A thread was seen doing this, for the whole time.
fn seen(it: &mut Scenario, thread: u32, state: ThreadState, stack: u32) {
    for nth in 0..10 {
        let sample =
            Sample { wall_ns: S, count: 1, state: state.code(), stack, ..Sample::default() };
        it.snapshot(thread, (nth + 1) * S, Snapshot::from(sample));
    }
}

/// Three workers of a server's pool that got their first tasks one by one, and later without
/// waiting, or not.
fn server(is_full: bool) -> Verdict {
    let mut it = scenario();
    let wait = it.stack(&[
        ("java/util/concurrent/LinkedTransferQueue.take", 300),
        ("org/srv/Worker.getTask", 42),
        ("org/srv/Worker.run", 10),
    ]);
    let offer = it.stack(&[("org/srv/Worker.offer", 20), ("org/srv/Loop.run", 3)]);
    let sleep = it.stack(&[
        ("java/lang/Thread.sleep", 1),
        ("com/acme/Orders.find", 7),
        ("org/srv/Worker.run", 12),
    ]);
    let queue = it.lock("java/util/concurrent/LinkedTransferQueue", "", 0);
    let selector = it.thread("selector");
    for name in ["exec(1)", "exec(2)", "exec(3)"] {
        let worker = it.thread(name);
        let turns = if is_full { 0..4 } else { 0..9 };
        for turn in turns {
            let span = (turn * S + 1, turn * S + 300 * MS);
            it.woken(worker, (WaitKind::Park, wait, queue), span, (selector, offer));
        }
        seen(&mut it, worker, ThreadState::Sleeping, sleep);
    }
    told(it)
}

#[test]
fn threads_that_are_never_free_keep_others_waiting() {
    let full = server(true);
    assert_eq!((full.kind, full.advice), (Kind::Wait, Advice::LargerPool), "{:#?}", full.lines);
    assert_eq!(full.name, "exec(*) in org.srv.Worker.getTask(Worker.java:42)");
    assert_eq!(full.holder, "exec(*)");
    assert!(full.holder_own.starts_with("com.acme.Orders.find("), "{}", full.holder_own);
    assert_eq!(
        full.lines[1],
        "Instead, exec(*) are all busy, and hardly ever free for what comes next; most in \
         Orders.find (100.0 %)."
    );
    let half = server(false);
    assert_eq!((half.kind, half.advice), (Kind::Idle, Advice::Nothing), "{:#?}", half.lines);
}

/// Who sleeps by its own choice keeps nobody waiting; of a library's thread that is not known.
#[test]
fn own_loops_may_sleep() {
    let of = |outer: &str| {
        let mut it = scenario();
        let thread = it.thread("desk-1");
        let sleep = it.stack(&[
            ("java/lang/Thread.sleep", 1),
            ("com/acme/Desk.sell", 7),
            (outer, 12),
            ("java/lang/Thread.run", 840),
        ]);
        seen(&mut it, thread, ThreadState::Sleeping, sleep);
        told(it).kind
    };
    assert_eq!(of("com/acme/Desk.run"), Kind::Idle);
    assert_eq!(of("org/srv/Worker.run"), Kind::Unclear);
    assert_eq!(of("java/util/concurrent/ThreadPoolExecutor.runWorker"), Kind::Unclear);
}

/// Cooks wait for a semaphore that tables release, and for the cash desk.
fn kitchen(cash_ms: u64) -> Verdict {
    let mut it = scenario();
    let wait = it.stack(&[
        ("java/util/concurrent/Semaphore.acquire", 300),
        ("com/acme/Cook.cook", 49),
        ("com/acme/Loop.run", 8),
    ]);
    let order = it.stack(&[("com/acme/Kitchen.order", 45), ("com/acme/Table.run", 3)]);
    let pay =
        it.stack(&[("com/acme/Cash.pay", 3), ("com/acme/Cook.cook", 60), ("com/acme/Loop.run", 8)]);
    let announced = it.lock("java/util/concurrent/Semaphore", "Kitchen.announced", 0);
    let cash = it.lock("com/acme/Cash", "", 0);
    let table = it.thread("table");
    for name in ["cook-1", "cook-2", "cook-3"] {
        let cook = it.thread(name);
        for turn in 0..9 {
            let from = turn * S;
            let waits = (WaitKind::Semaphore, wait, announced);
            it.woken(cook, waits, (from, from + 500 * MS), (table, order));
            if cash_ms != 0 {
                let span = (from + 500 * MS, from + (500 + cash_ms) * MS);
                it.waits(cook, (WaitKind::Monitor, pay, cash), span);
            }
        }
        it.pending(Pending {
            thread: cook,
            kind: WaitKind::Semaphore,
            stack: wait,
            lock: announced,
            owner: 0,
            start_ns: 9 * S,
            seen_ns: 0,
            flags: 0,
        });
    }
    told(it)
}

#[test]
fn a_semaphore_that_announces_work_is_no_lock() {
    let idle = kitchen(0);
    assert_eq!((idle.finding, idle.contended), (Finding::NotLocks, 0), "{:#?}", idle.lines);
    assert!(idle.lock.is_none() && idle.waiting.is_empty());
    let guilty = kitchen(200);
    assert_eq!(guilty.finding, Finding::Locks, "{:#?}", guilty.lines);
    assert_eq!((guilty.contended, guilty.name.as_str()), (27, "com.acme.Cash"));
}

/// Permits are asked for with a time limit, and there are none.
#[test]
fn permits_that_nobody_gives_back_are_told() {
    let mut log = Crafted::with(LENGTH_NS, &[("parks", "probes")]);
    let lock = (WaitKind::Semaphore, ("java.util.concurrent.Semaphore", "Ovens.free"));
    for nth in 0..60 {
        log.pass(100 * MS);
        log.times_out(&format!("cook-{}", nth % 4), READ, lock, 400 * MS);
    }
    let told = verdict(log);
    assert_eq!(told.lock.as_ref().unwrap().cause, Cause::NotReturned, "{told:#?}");
    assert_eq!((told.kind, told.advice), (Kind::NobodyAnswers, Advice::ReturnAlways));
}

/// Turns of less than 50 µs, of a lock that is fair or not.
#[test]
fn hand_over_of_a_fair_lock_is_a_cause() {
    let of = |class| {
        let mut log = Crafted::new(LENGTH_NS);
        for nth in 0..60_000 {
            log.pass(MS / 10);
            log.wait(
                &format!("t-{}", nth % 16),
                READ,
                (WaitKind::Lock, (class, "A.lock")),
                700_000,
                "",
            );
        }
        verdict(log)
    };
    let fair = of("java.util.concurrent.locks.ReentrantLock$FairSync");
    assert_eq!(fair.lock.as_ref().unwrap().cause, Cause::FairHandOver, "{fair:#?}");
    assert_eq!((fair.kind, fair.advice), (Kind::Lock, Advice::Unfair));
    let other = of("java.util.concurrent.locks.ReentrantLock$NonfairSync");
    assert_ne!(other.lock.unwrap().cause, Cause::FairHandOver);
}

/// What is waited for only at the start is no problem of what follows.
#[test]
fn little_at_the_start_is_no_finding() {
    let of = |after_ns| {
        let mut log = Crafted::new(LENGTH_NS);
        log.pass(after_ns);
        tellers(&mut log, APPEND, JOURNAL, 200, 2 * MS);
        verdict(log).finding
    };
    assert_eq!(of(0), Finding::NotLocks);
    assert_eq!(of(5 * S), Finding::LocksALittle);
}

/// Threads wait for connections for ever, at these places of the program's.
fn borrowers(places: &[&[(&str, u32)]]) -> Verdict {
    let mut it = scenario();
    for (nth, place) in places.iter().enumerate() {
        let thread = it.thread(&format!("ward-{nth}"));
        let library = [("java/util/concurrent/CompletableFuture.get", 9), ("org/lib/Pool.next", 5)];
        let frames: Vec<(&str, u32)> = library.iter().chain(*place).copied().collect();
        let (stack, lock) = (it.stack(&frames), it.lock("org/lib/Pool", "", 0));
        let (kind, owner) = (WaitKind::Park, 0);
        let (start_ns, seen_ns, flags) = (3 * S, 0, 0);
        it.pending(Pending { thread, kind, stack, lock, owner, start_ns, seen_ns, flags });
    }
    told(it)
}

#[test]
fn what_mends_a_pool_depends_on_who_waits() {
    let outer = [("com/acme/Ward.save", 4), ("com/acme/Ward.run", 2)];
    let inner = [("com/acme/Ward.number", 9), outer[0], outer[1]];
    let lent = [("org/lib/Pool.borrow", 3), outer[0], outer[1]];
    let advice = |told: Verdict| {
        assert_eq!(told.kind, Kind::NobodyAnswers, "{:#?}", told.lines);
        told.advice
    };
    assert_eq!(advice(borrowers(&[&outer, &outer])), Advice::Signal);
    assert_eq!(advice(borrowers(&[&lent, &lent])), Advice::ReturnAlways);
    assert_eq!(advice(borrowers(&[&outer, &inner, &inner])), Advice::LargerPool);
}

/// A thread sleeps, and another one starts threads on a machine that is busy with others.
#[test]
fn threads_that_start_others_are_in_no_io() {
    let mut it = scenario();
    let starts = it.stack(&[
        ("java/lang/Thread.start0", 0),
        ("java/lang/Thread.start", 809),
        ("com/acme/Clients.ask", 7),
    ]);
    let sleeps = it.stack(&[("java/lang/Thread.sleep", 1), ("com/acme/Timer.tick", 4)]);
    for (thread, state, stack) in [
        ("client-1", ThreadState::Native, starts),
        ("client-2", ThreadState::Native, starts),
        ("timer", ThreadState::Sleeping, sleeps),
    ] {
        let thread = it.thread(thread);
        seen(&mut it, thread, state, stack);
    }
    let instead = told(it).instead.unwrap();
    assert_eq!((instead.activity, &*instead.place), (Activity::Sleeping, "com.acme.Timer.tick"));
}
