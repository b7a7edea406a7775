//! Who ends waits for no lock, and what they do meanwhile.

use super::*;
use tyrion_wire::sample::{Sample, Snapshot, ThreadState};

/// Four workers of a library's pool wait for a result, 20 times each for 10 ms, which these
/// threads bring in turn; each is seen computing, time and again, if nobody asked for samples.
fn asked(wakers: &[&str], is_seen: bool) -> Verdict {
    let metadata = [("wakers", "true"), ("mode", "contention"), ("program", "com.acme.Main")];
    let mut it = Scenario::ended(&metadata, 1_300 * MS);
    let wait = it.stack(&[
        ("java/util/concurrent/CompletableFuture.get", 300),
        ("org/lib/Client.call", 42),
        ("com/acme/Shop.sell", 10),
        ("com/acme/Main.run", 11),
        ("java/lang/Thread.run", 840),
    ]);
    let complete = it.stack(&[
        ("java/util/concurrent/CompletableFuture.complete", 30),
        ("java/lang/Thread.run", 840),
    ]);
    let quote = it.stack(&[("org/lib/Reader.read", 7), ("com/acme/Quotes.find", 8)]);
    let future = it.lock("java/util/concurrent/CompletableFuture", "", 0);
    let workers = ["desk-1", "desk-2", "desk-3", "desk-4"].map(|name| it.thread(name));
    let wakers: Vec<u32> = wakers.iter().map(|name| it.thread(name)).collect();
    let mut turns = wakers.iter().cycle();
    for turn in 0..20 {
        for &worker in &workers {
            let (from, waker) = (60 * turn * MS, *turns.next().unwrap());
            let waits = (WaitKind::Park, wait, future);
            it.woken(worker, waits, (from, from + 10 * MS), (waker, complete));
        }
    }
    for nth in (0..10).filter(|_| is_seen) {
        let sample = Sample {
            wall_ns: 100 * MS,
            count: 1,
            state: ThreadState::Sleeping.code(),
            stack: quote,
            ..Sample::default()
        };
        it.snapshot(wakers[nth % wakers.len()], 100 * nth as u64 * MS, Snapshot::from(sample));
    }
    with(&[it.log("a.log")], &Filter::default(), Verdict::of)
}

/// Where a library waits, it is told what of the program called it.
#[test]
fn the_programs_own_method_is_told() {
    let told = asked(&["quotes-1", "quotes-2"], false);
    assert_eq!(told.finding, Finding::OtherWaits, "{:#?}", told.lines);
    assert_eq!(told.waiter, "org.lib.Client.call(Client.java:42)");
    assert_eq!(told.waiter_own, "com.acme.Shop.sell(Shop.java:10)");
    let place =
        "Client.call, called from Shop.sell, has 100.0 % of it, woken by quotes-* (100.0 %)";
    assert!(told.lines[1].starts_with(place), "{}", told.lines[1]);
    assert_eq!((told.holder.as_str(), told.holder_own.as_str()), ("quotes-*", ""));
}

/// The one of a group that all wait for has its own name.
#[test]
fn a_thread_unlike_its_group_is_told() {
    let told = asked(&["desk-7", "desk-7", "desk-7", "desk-7", "desk-8"], false);
    assert_eq!(told.withheld.unwrap().woken_by.unwrap().threads, "desk-7");
    let told = asked(&["desk-7", "desk-8"], false);
    assert_eq!(told.withheld.unwrap().woken_by.unwrap().threads, "desk-*");
}

/// Whoever ends a little of the wait is not to blame.
#[test]
fn a_quarter_of_the_wait_is_the_least() {
    let told = asked(&["a", "b", "c", "d", "e"], false);
    assert_eq!(told.withheld.unwrap().woken_by, None);
    assert!(told.lines[1].starts_with("Client.call, called from Shop.sell, has 100.0 % of it;"));
}

/// What they do meanwhile is what they were seen doing, asked or unasked.
#[test]
fn what_those_do_who_end_waits_is_told() {
    let told = asked(&["quotes-1", "quotes-2"], true);
    assert_eq!(told.holder_own, "com.acme.Quotes.find(Quotes.java:8)");
    let todo = "→ Look at what quotes-* does before that. It is mostly in Quotes.find: 100.0 %.";
    assert_eq!(told.lines[3], todo);
}
