//! Scenarios: what is known of the waits, and what they are.

use super::*;
use crate::withheld::evidence::Overlap;
use std::collections::BTreeSet;

const S: u64 = 1_000_000_000;

/// Threads that wait for one object, of which at most `most` did at once, and all
/// for a thousandth of the time if that is all of them.
fn overlap(threads: u64, most: u64, any_ns: u64) -> Overlap {
    Overlap { threads, most, any_ns, all_ns: if most >= threads { any_ns / 1000 } else { 0 } }
}

/// A loop of a consumer: one thread, one stack, one object, nothing else.
fn consumer() -> Evidence {
    Evidence {
        waits: 200,
        wait_ns: 8 * S,
        told: 200,
        measured: 200,
        alike: 60,
        threads: 1,
        objects: 1,
        pairs: 1,
        frames: 2,
        stacks: 1,
        life_ns: 10 * S,
        alone_ns: 8 * S,
        object: Overlap { threads: 1, most: 1, any_ns: 8 * S, all_ns: 8 * S },
        method: Overlap { threads: 1, most: 1, any_ns: 8 * S, all_ns: 8 * S },
        ..Evidence::default()
    }
}

/// Eight threads that borrow from a pool of two, in a loop of theirs.
fn borrowers() -> Evidence {
    Evidence {
        waits: 800,
        wait_ns: 50 * S,
        told: 800,
        measured: 800,
        alike: 300,
        threads: 8,
        objects: 1,
        pairs: 8,
        frames: 2,
        stacks: 1,
        life_ns: 80 * S,
        object: overlap(8, 6, 9 * S),
        method: overlap(8, 6, 9 * S),
        ..Evidence::default()
    }
}

fn scenarios() -> Vec<(&'static str, Evidence, Why)> {
    vec![
        ("a pool's worker", Evidence { frames: 0, ..consumer() }, Why::NoProgramFrame),
        ("a consumer of a queue of its own", consumer(), Why::Loop),
        (
            "a consumer with work that contends, and a life full of it",
            Evidence { wait_ns: S, alone_ns: S, elsewhere: 5000, ..consumer() },
            Why::AllAtOnce,
        ),
        (
            "a consumer of the JDK's queue",
            Evidence { queue: Queue::Takes, is_outermost: true, frames: 1, ..consumer() },
            Why::QueueLoop,
        ),
        (
            "many consumers of one queue, seldom busy",
            Evidence {
                threads: 8,
                pairs: 8,
                wait_ns: 70 * S,
                alone_ns: 0,
                life_ns: 80 * S,
                object: Overlap { threads: 8, most: 8, any_ns: 10 * S, all_ns: 7 * S },
                ..consumer()
            },
            Why::Loop,
        ),
        (
            "many consumers of one queue through a class of the program's, always busy",
            Evidence { queue: Queue::Takes, object: overlap(8, 8, 9 * S), ..borrowers() },
            Why::QueueLoop,
        ),
        (
            "the workers of a server's pool, one of which is always busy",
            Evidence {
                queue: Queue::Takes,
                frames: 5,
                object: overlap(10, 9, 9 * S),
                ..borrowers()
            },
            Why::QueueLoop,
        ),
        (
            "the same, from whose ends it is known that others bring the work",
            Evidence { woken_ns: 40 * S, object: overlap(10, 9, 9 * S), ..borrowers() },
            Why::Brought,
        ),
        (
            "the same of a framework with more frames",
            Evidence {
                queue: Queue::Takes,
                frames: 7,
                woken_ns: 30 * S,
                by_insiders_ns: S,
                object: overlap(10, 9, 9 * S),
                ..borrowers()
            },
            Why::Brought,
        ),
        (
            "the same with so many that it may be work",
            Evidence {
                queue: Queue::Takes,
                frames: 9,
                woken_ns: 30 * S,
                by_insiders_ns: S,
                object: overlap(10, 9, 9 * S),
                ..borrowers()
            },
            Why::OneAnother,
        ),
        (
            "the same of a framework whose own threads bring the work, deep in what they do",
            Evidence {
                woken_ns: 40 * S,
                by_insiders_ns: 40 * S,
                elsewhere: 500,
                deep: 300,
                ..borrowers()
            },
            Why::AboveWork,
        ),
        (
            "the same in a library that the threads' own code calls",
            Evidence {
                woken_ns: 40 * S,
                by_insiders_ns: 40 * S,
                elsewhere: 500,
                deep: 300,
                crosses: true,
                ..borrowers()
            },
            Why::OneAnother,
        ),
        (
            "a library's pool whose clients all give up",
            Evidence { timed_out: 790, crosses: true, ..borrowers() },
            Why::Unanswered,
        ),
        (
            "a loop that several own workers have, which find nothing",
            Evidence { timed_out: 790, ..borrowers() },
            Why::TimedOut,
        ),
        (
            "workers of a framework that were never all idle, and nobody knows why they go on",
            Evidence { frames: 7, object: overlap(8, 8, 9 * S), ..borrowers() },
            Why::BusyQueue,
        ),
        (
            "a pool that is a queue, to which the borrowers themselves return things",
            Evidence {
                queue: Queue::Takes,
                woken_ns: 40 * S,
                by_insiders_ns: 39 * S,
                ..borrowers()
            },
            Why::OneAnother,
        ),
        (
            "clients whose answers come from a dispatcher, after the same time each",
            Evidence { asks: true, told: 0, alike: 799, ..borrowers() },
            Why::Asked,
        ),
        (
            "clients who are never answered",
            Evidence { asks: true, timed_out: 790, ..borrowers() },
            Why::Unanswered,
        ),
        (
            "a thread that awaits its end, again and again",
            Evidence { asks: true, timed_out: 200, wait_ns: S, ..consumer() },
            Why::TimedOut,
        ),
        (
            "the same of a queue of the program's own",
            Evidence { object: overlap(8, 8, 9 * S), ..borrowers() },
            Why::BusyQueue,
        ),
        (
            "the same where those who put contend",
            Evidence { outsiders: 2, ..borrowers() },
            Why::Outsiders,
        ),
        (
            "a scheduled thread",
            Evidence { timed_out: 198, alike: 198, ..consumer() },
            Why::TimedOut,
        ),
        (
            "a thread that parks for a time",
            Evidence { told: 0, alike: 195, ..consumer() },
            Why::SameLength,
        ),
        (
            "main, which awaits the end",
            Evidence { waits: 1, measured: 1, alike: 1, ..consumer() },
            Why::Once,
        ),
        (
            "workers that await the start",
            Evidence {
                waits: 8,
                threads: 8,
                pairs: 8,
                alone_ns: 0,
                wait_ns: S,
                life_ns: 80 * S,
                elsewhere: 900,
                object: Overlap { threads: 8, most: 8, any_ns: S / 8, all_ns: S / 9 },
                ..consumer()
            },
            Why::Once,
        ),
        (
            "main, which joins its threads",
            Evidence { waits: 8, objects: 8, pairs: 8, ..consumer() },
            Why::Coordinates,
        ),
        (
            "main, which awaits many results",
            Evidence { waits: 800, objects: 800, pairs: 800, ..consumer() },
            Why::ManyThings,
        ),
        (
            "main, which joins its threads now and then",
            Evidence { waits: 8, objects: 8, pairs: 8, wait_ns: S, ..consumer() },
            Why::ManyThings,
        ),
        ("a pool of two, of which eight borrow", borrowers(), Why::OneAnother),
        (
            "a pool that is a queue, deep in calls",
            Evidence { queue: Queue::Takes, frames: 14, ..borrowers() },
            Why::OneAnother,
        ),
        (
            "a fair pool whose waits take all the same time",
            Evidence { told: 0, alike: 790, ..borrowers() },
            Why::OneAnother,
        ),
        (
            "a pool in which all wait for a moment, as one wakes up late",
            Evidence { frames: 9, object: overlap(8, 8, 9 * S), ..borrowers() },
            Why::OneAnother,
        ),
        (
            "threads that pause in their work for some time or other",
            Evidence { told: 0, nameless: 800, frames: 12, stacks: 4, ..borrowers() },
            Why::Nameless,
        ),
        (
            "callers of a library that look for room all the time",
            Evidence {
                waits: 500_000,
                timed_out: 500_000,
                frames: 14,
                crosses: true,
                nameless: 500_000,
                life_ns: 52 * S,
                ..borrowers()
            },
            Why::Polls,
        ),
        (
            "a library's own threads that look for work so",
            Evidence {
                waits: 500_000,
                timed_out: 500_000,
                nameless: 500_000,
                life_ns: 52 * S,
                ..borrowers()
            },
            Why::TimedOut,
        ),
        (
            "results that somebody says are late",
            Evidence { asks: true, alike: 800, woken_ns: 50 * S, failed_ns: 50 * S, ..borrowers() },
            Why::Unanswered,
        ),
        (
            "results that are errors, after this time or that",
            Evidence { asks: true, woken_ns: 50 * S, failed_ns: 50 * S, ..borrowers() },
            Why::Asked,
        ),
        (
            "rounds that one who never waits lets begin",
            Evidence {
                asks: true,
                meets: true,
                woken_ns: 12 * S,
                passed_on_ns: 30 * S,
                ..borrowers()
            },
            Why::Brought,
        ),
        (
            "rounds for which all wait for the last one",
            Evidence {
                asks: true,
                meets: true,
                woken_ns: 12 * S,
                by_insiders_ns: 12 * S,
                passed_on_ns: 30 * S,
                ..borrowers()
            },
            Why::Asked,
        ),
        (
            "room in what others take from, who are busy",
            Evidence { is_of_permits: true, woken_ns: 40 * S, by_takers_ns: 30 * S, ..borrowers() },
            Why::HandsOver,
        ),
        (
            "workers that call one another, and say not for what",
            Evidence { nameless: 800, woken_ns: 40 * S, by_insiders_ns: 30 * S, ..borrowers() },
            Why::Nameless,
        ),
        (
            "the same where queues of tasks are known",
            Evidence {
                queue: Queue::Takes,
                nameless: 800,
                woken_ns: 40 * S,
                by_insiders_ns: 30 * S,
                ..borrowers()
            },
            Why::QueueLoop,
        ),
        (
            "permits that nobody gives back",
            Evidence { is_of_permits: true, timed_out: 790, ..borrowers() },
            Why::Unanswered,
        ),
        (
            "answers for which threads look more than once",
            Evidence { objects: 250, pairs: 300, frames: 17, stacks: 5, ..borrowers() },
            Why::OtherObjects,
        ),
        ("borrowers who are sent away", Evidence { timed_out: 500, ..borrowers() }, Why::Nothing),
        (
            "row locks: a transaction is waited for, each time another one",
            Evidence { waits: 393, objects: 180, pairs: 310, frames: 17, stacks: 5, ..borrowers() },
            Why::OtherObjects,
        ),
        (
            "a request in each thread, and each borrows once",
            Evidence {
                waits: 500,
                threads: 500,
                pairs: 500,
                object: overlap(500, 40, 9 * S),
                ..borrowers()
            },
            Why::OneAnother,
        ),
        (
            "a session that waits at an object of its own",
            Evidence {
                objects: 8,
                alone_ns: 50 * S,
                frames: 7,
                stacks: 3,
                object: Overlap::default(),
                ..borrowers()
            },
            Why::OneAnother,
        ),
        (
            "listeners with a channel of their own, deep in a framework",
            Evidence {
                objects: 8,
                alone_ns: 50 * S,
                frames: 11,
                object: Overlap::default(),
                ..borrowers()
            },
            Why::Loop,
        ),
        (
            "a producer without room",
            Evidence { queue: Queue::Puts, is_outermost: true, ..consumer() },
            Why::HandsOver,
        ),
        (
            "a producer that gives up",
            Evidence { queue: Queue::Puts, timed_out: 200, ..consumer() },
            Why::HandsOver,
        ),
        (
            "all sessions wait for a checkpoint",
            Evidence {
                frames: 12,
                stacks: 6,
                elsewhere: 9000,
                wait_ns: 5 * S,
                object: Overlap { threads: 8, most: 8, any_ns: S, all_ns: S * 6 / 10 },
                ..borrowers()
            },
            Why::AllAtOnce,
        ),
        (
            "sometimes all, sometimes some",
            Evidence {
                object: Overlap { threads: 8, most: 8, any_ns: 10 * S, all_ns: 3 * S },
                ..borrowers()
            },
            Why::Nothing,
        ),
        (
            "threads that live once each, for objects of their own",
            Evidence {
                waits: 300,
                threads: 300,
                objects: 300,
                pairs: 300,
                alone_ns: 50 * S,
                object: Overlap::default(),
                ..borrowers()
            },
            Why::Nothing,
        ),
        (
            "nothing but folded waits",
            Evidence { waits: 9, frames: 3, ..Evidence::default() },
            Why::Nothing,
        ),
    ]
}

#[test]
fn each_scenario_is_what_it_is() {
    for (name, evidence, why) in scenarios() {
        assert_eq!(decide(&evidence), why, "{name}: {evidence:?}");
    }
}

#[test]
fn every_reason_has_a_scenario_and_words() {
    let told: BTreeSet<Why> = scenarios().iter().map(|(.., why)| *why).collect();
    assert_eq!(told, BTreeSet::from(Why::ALL));
    let names: BTreeSet<&str> = Why::ALL.iter().map(|why| why.name()).collect();
    assert_eq!(names.len(), Why::ALL.len());
    for (name, evidence, why) in scenarios() {
        let text = why.text(&evidence);
        assert!(text.len() > 20 && !text.contains("  "), "{name}: {text}");
    }
}

#[test]
fn reasons_have_their_figures() {
    let text = |evidence: Evidence| decide(&evidence).text(&evidence);
    assert_eq!(
        text(borrowers()),
        "of 8 threads that wait here at most 6 did at once: they waited for one another"
    );
    assert_eq!(
        text(Evidence { waits: 393, objects: 180, pairs: 310, stacks: 5, ..borrowers() }),
        "393 waits for 180 objects: not for the next work, but for something asked for"
    );
    assert_eq!(
        text(consumer()),
        "the thread's loop: one stack, of 2 frames, and 80 % of its life spent here"
    );
}

/// Shares are compared exactly, however large the numbers are.
#[test]
fn large_numbers_do_not_overflow() {
    let most = u64::MAX;
    let evidence = Evidence {
        waits: most,
        wait_ns: most,
        told: most,
        timed_out: most,
        life_ns: most,
        alone_ns: most,
        frames: 1,
        ..Evidence::default()
    };
    assert_eq!(decide(&evidence), Why::TimedOut);
    assert!(evidence.is_most_of_life() && evidence.is_alone());
}
