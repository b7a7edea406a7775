//! Waits for what others bring, whatever it is that announces it.

use super::*;
use tyrion_wire::wake::Wake;

const COOK: [&str; 3] =
    ["com.acme.Loop.run:8", "com.acme.Cook.cook:49", "java.util.concurrent.Semaphore.acquire:318"];
const ORDER: [&str; 3] = [
    "com.acme.Table.run:5",
    "com.acme.Kitchen.order:45",
    "java.util.concurrent.Semaphore.release:432",
];
/// In what a cook does for an order.
const AGAIN: [&str; 4] = [
    "com.acme.Loop.run:8",
    "com.acme.Cook.cook:68",
    "com.acme.Kitchen.order:45",
    "java.util.concurrent.Semaphore.release:432",
];
/// Where the cook itself gives back what it has taken.
const BACK: [&str; 3] =
    ["com.acme.Loop.run:8", "com.acme.Cook.cook:55", "java.util.concurrent.Semaphore.release:432"];

/// Four cooks wait for a semaphore in turn, half of the time, and the next one or somebody else
/// ends the wait with this stack.
fn cooks(waker: Option<&str>, waking: &[&str]) -> Recording {
    let mut story = Story::new(1_000);
    for turn in 0..20 {
        for cook in 0..4 {
            let (name, from) = (format!("cook-{cook}"), 10 + 40 * turn + 10 * cook);
            let waits = (&COOK[..], WaitKind::Semaphore, "permits");
            story.waits(&name, waits, (from, from + 20), Outcome::Granted);
            let site = story.site(&COOK, WaitKind::Semaphore, "permits");
            let next = format!("cook-{}", (cook + 1) % 4);
            let (waker, _) = story.thread(waker.unwrap_or(&next));
            let (stack, (_, lane)) = (story.stack(waking), story.thread(&name));
            let wake = Wake { waker, stack, site, wait_ns: 20 * MS, late_ns: 7 };
            story.log.note(lane, 0, wake).unwrap();
        }
    }
    story.finish()
}

fn announces(log: Recording) -> (bool, bool) {
    let logs = [log];
    let found = Withheld::find(&logs, &Filter::default());
    let [judged] = found.places() else { panic!("{:?}", found.places()) };
    (judged.announces_work(), judged.is_for_permits())
}

#[test]
fn semaphores_announce_work_or_limit_it() {
    assert_eq!(announces(cooks(Some("table-9"), &ORDER)), (true, false), "others order");
    assert_eq!(announces(cooks(None, &AGAIN)), (true, false), "at work, one orders more");
    assert_eq!(announces(cooks(None, &BACK)), (false, true), "one gives its permit back");
}

#[test]
fn who_passes_on_what_it_got_brings_nothing() {
    let passing = [COOK[0], COOK[1], COOK[2], AQS];
    const AQS: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire:700";
    let logs = [cooks(None, &passing)];
    let found = Withheld::find(&logs, &Filter::default());
    let evidence = found.places()[0].evidence;
    assert_eq!((evidence.woken_ns, evidence.passed_on_ns), (0, 80 * 20 * MS));
    assert!(found.wakes(0).is_empty());
}

/// The loop of a server's pool, as Tomcat's.
const TAKE: [&str; 7] = [
    "org.srv.TaskThread.run:61",
    "org.srv.Worker.run:659",
    "org.srv.Executor.runWorker:1176",
    "org.srv.Executor.getTask:1114",
    "org.srv.TaskQueue.take:33",
    "org.srv.TaskQueue.take:141",
    "java.util.concurrent.LinkedBlockingQueue.take:435",
];
const OFFER: [&str; 3] = [
    "org.srv.Poller.run:705",
    "org.srv.Executor.execute:1356",
    "java.util.concurrent.LinkedBlockingQueue.offer:423",
];
const SUBMIT: [&str; 8] = [
    "org.srv.TaskThread.run:61",
    "org.srv.Worker.run:659",
    "org.srv.Executor.runWorker:1176",
    "com.acme.Shop.sell:20",
    "com.acme.Shop.later:31",
    "org.srv.Executor.submit:1200",
    "org.srv.Executor.execute:1356",
    "java.util.concurrent.LinkedBlockingQueue.offer:423",
];

/// Seven of eight of its threads are busy. The poller ends four waits of five, and other threads
/// of the pool the rest, in short waits without a stack, and once with this one.
fn pool(of_worker: &[&str]) -> Recording {
    let mut story = Story::new(2_000);
    for turn in 0..40 {
        let from = 10 + 40 * turn;
        let waits = (&TAKE[..], WaitKind::Condition, "notEmpty");
        for nth in 0..5 {
            let name = format!("exec-{}", (turn + nth) % 8);
            let next = format!("exec-{}", (turn + nth + 1) % 8);
            let (waker, stack) = match nth {
                4 if turn == 0 => (next.as_str(), of_worker),
                4 => (next.as_str(), &[][..]),
                _ => ("poller-99", &OFFER[..]),
            };
            story.woken(&name, waits, (from + 8 * nth, from + 8 * nth + 7), (waker, stack));
        }
    }
    story.finish()
}

#[test]
fn who_takes_from_a_queue_wakes_the_next_one() {
    assert_eq!(why(&[pool(&TAKE)], "take"), Why::Brought);
    assert_ne!(why(&[pool(&SUBMIT)], "take"), Why::Brought, "one has work for others");
}

/// A client's threads call a library, in which others have got their answers soon.
fn callers(answers: u64, pending: &[&str]) -> (Vec<Recording>, Vec<bool>) {
    const CALL: [&str; 4] = [
        "com.acme.Shop.run:3",
        "org.lib.Stub.call:9",
        "org.lib.Answer.get:30",
        "java.util.concurrent.locks.LockSupport.park:200",
    ];
    const FIRST: [&str; 4] = ["com.acme.Main.main:2", CALL[1], CALL[2], CALL[3]];
    let mut story = Story::new(9_000);
    for nth in 0..answers {
        let waits = (&FIRST[..], WaitKind::Park, "answer");
        story.waits("main", waits, (100 * nth, 100 * nth + 20), Outcome::Granted);
    }
    for name in pending {
        let (thread, lock) = (story.thread(name).0, story.lock("own"));
        let stack = story.stack(&CALL);
        let start_ns = START_NS + 1_000 * MS;
        let (kind, owner) = (WaitKind::Park, 0);
        story
            .log
            .pending(&Pending { thread, kind, stack, lock, owner, start_ns, seen_ns: 0, flags: 0 })
            .unwrap();
    }
    let logs = vec![story.finish()];
    let found = Withheld::find(&logs, &Filter::default());
    let asked = logs[0].pending().iter().map(|it| {
        let waited_ns = logs[0].end_ns() - it.start_ns;
        found.is_asked((0, &logs[0]), (it.kind, it.stack, waited_ns))
    });
    let asked = asked.collect();
    (logs, asked)
}

#[test]
fn answers_elsewhere_show_that_one_is_asked_for() {
    assert_eq!(callers(8, &["shop-1", "shop-2"]).1, [true, true]);
    assert_eq!(callers(2, &["shop-1"]).1, [false], "too few");
}
