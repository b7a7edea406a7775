//! Chains of known waits, and of random ones against a slow and plain way.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use proptest::{collection::vec, prelude::*};
use std::collections::BTreeMap;

/// Threads `A` to `D`, and locks `L` to `O`.
const NAMES: [&str; 4] = ["A", "B", "C", "D"];
const LOCKS: [&str; 4] = ["L", "M", "N", "O"];

/// `A 0..10 L B`: from when to when who waited for what of whom, `-` for nobody. Behind
/// that may stand when that one ended the wait, of what is a lock (`!8`), no lock but
/// withheld (`~8`) or something else (`?8`).
fn waits(text: &str) -> Vec<Wait> {
    let number = |names: &[&str], name: &str| {
        names.iter().position(|it| *it == name).map_or(NOBODY, |at| at as u32)
    };
    let wait = |line: &str| {
        let mut words = line.split(' ');
        let [thread, span, lock, owner] = [(); 4].map(|()| words.next().unwrap());
        let (start_ns, end_ns) = span.split_once("..").unwrap();
        let (start_ns, end_ns) = (start_ns.parse().unwrap(), end_ns.parse().unwrap());
        let woken = words.next().map(|word| word.split_at(1));
        Wait {
            thread: number(&NAMES, thread),
            start_ns,
            end_ns,
            owner: number(&NAMES, owner),
            until_ns: woken.map_or(end_ns, |(_, until_ns)| until_ns.parse().unwrap()),
            lock: number(&LOCKS, lock),
            is_for: match woken {
                Some(("~", _)) => For::Withheld,
                Some(("?", _)) => For::Other,
                _ => For::Lock,
            },
            is_woken: woken.is_some(),
            what: 0,
        }
    };
    text.split(", ").map(wait).collect()
}

fn name(thread: u32) -> &'static str {
    NAMES.get(thread as usize).copied().unwrap_or("?")
}

/// The pieces of the first wait: `0..4 A-L>B-M>C runs`.
fn charged(text: &str) -> Vec<String> {
    let waits = waits(text);
    let mut pieces = Vec::new();
    Chains::new(&waits, NAMES.len(), u64::MAX).charge(0, &mut |piece: Piece<'_>| {
        let step = |&step: &u32| {
            let wait = &waits[step as usize];
            format!("{}-{}>", name(wait.thread), LOCKS[wait.lock as usize])
        };
        let steps: String = piece.steps.iter().map(step).collect();
        let end = format!("{:?}", piece.end).to_lowercase();
        pieces.push(format!(
            "{}..{} {steps}{} {end}",
            piece.from_ns,
            piece.to_ns,
            name(piece.root)
        ));
    });
    pieces
}

#[test]
fn an_owner_that_runs_is_charged() {
    assert_eq!(charged("A 0..10 L B"), ["0..10 A-L>B runs"]);
    assert_eq!(charged("A 3..10 L B, B 0..3 M C, B 10..12 M C"), ["3..10 A-L>B runs"]);
    assert_eq!(charged("A 0..10 L -"), [""; 0], "nobody is known");
    assert_eq!(charged("A 5..5 L B"), [""; 0], "no time");
}

#[test]
fn an_owner_that_waits_passes_the_charge_on_for_that_time() {
    assert_eq!(
        charged("A 0..10 L B, B 2..5 M C, C 3..4 N D, B 8..20 M C"),
        [
            "0..2 A-L>B runs",
            "2..3 A-L>B-M>C runs",
            "3..4 A-L>B-M>C-N>D runs",
            "4..5 A-L>B-M>C runs",
            "5..8 A-L>B runs",
            "8..10 A-L>B-M>C runs",
        ]
    );
}

#[test]
fn who_waits_for_nobody_known_ends_the_chain() {
    assert_eq!(
        charged("A 0..10 L B, B 4..6 M -"),
        ["0..4 A-L>B runs", "4..6 A-L>B waits", "6..10 A-L>B runs"]
    );
}

#[test]
fn rings_are_told_and_end_there() {
    assert_eq!(charged("A 0..10 L B, B 4..10 M A"), ["0..4 A-L>B runs", "4..10 A-L>B-M>A ring"]);
    assert_eq!(
        charged("A 0..10 L B, B 0..10 M C, C 0..10 N B"),
        ["0..10 A-L>B-M>C-N>B ring"],
        "it stands before one"
    );
    assert_eq!(charged("A 0..10 L A"), ["0..10 A-L>A ring"], "a log that is made up");
}

/// Who waits for the lock itself has handed it on.
#[test]
fn the_lock_may_have_gone_to_another_owner() {
    assert_eq!(
        charged("A 0..10 L B, B 4..10 L C"),
        ["0..4 A-L>B runs", "4..10 A-L>C runs"],
        "the chain is no longer for that"
    );
    assert_eq!(
        charged("A 0..10 L B, B 4..10 L C, C 6..10 L B"),
        ["0..4 A-L>B runs", "4..6 A-L>C runs", "6..10 A-L>? unknown"]
    );
    assert_eq!(charged("A 0..10 L B, B 4..10 L A"), ["0..4 A-L>B runs", "4..10 A-L>A ring"]);
}

#[test]
fn a_wait_within_a_wait_counts_while_it_lasts() {
    assert_eq!(
        charged("A 0..10 L B, B 1..9 M C, B 3..5 N D, B 4..5 O -"),
        [
            "0..1 A-L>B runs",
            "1..3 A-L>B-M>C runs",
            "3..4 A-L>B-N>D runs",
            "4..5 A-L>B waits",
            "5..9 A-L>B-M>C runs",
            "9..10 A-L>B runs",
        ]
    );
}

/// Until it is ended, a wait is for the one who ends it, whatever that one does.
#[test]
fn who_ended_a_wait_is_charged_until_then() {
    assert_eq!(charged("A 0..10 L B ~8"), ["0..8 A-L>B runs", "8..10 A-L>A late"]);
    assert_eq!(charged("A 0..10 L B ~10"), ["0..10 A-L>B runs"]);
    assert_eq!(charged("A 0..10 L B !8"), ["0..8 A-L>B runs", "8..10 A-L>A late"], "a lock");
    assert_eq!(charged("A 5..10 L B ~2"), ["5..10 A-L>A late"], "a log that is made up");
    assert_eq!(
        charged("A 0..10 L B ~9, B 2..6 M C, C 3..4 N D"),
        [
            "0..2 A-L>B runs",
            "2..3 A-L>B-M>C runs",
            "3..4 A-L>B-M>C-N>D runs",
            "4..6 A-L>B-M>C runs",
            "6..9 A-L>B runs",
            "9..10 A-L>A late",
        ],
        "its waits for locks"
    );
}

#[test]
fn who_was_woken_and_does_not_go_on_ends_the_chain() {
    assert_eq!(
        charged("A 0..10 L B ~10, B 2..6 M C ~5"),
        ["0..2 A-L>B runs", "2..5 A-L>B-M>C runs", "5..6 A-L>B late", "6..10 A-L>B runs",]
    );
}

/// Who had a lock when a wait began has given it back when it waits for work.
#[test]
fn work_holds_up_only_who_ends_waits() {
    assert_eq!(
        charged("A 0..10 L B, B 2..6 M C ?6"),
        ["0..2 A-L>B runs", "2..6 A-L>B waits", "6..10 A-L>B runs"]
    );
    assert_eq!(
        charged("A 0..10 L B, B 2..6 M C ~6"),
        ["0..2 A-L>B runs", "2..6 A-L>B-M>C runs", "6..10 A-L>B runs"],
        "not for work"
    );
    assert_eq!(
        charged("A 0..10 L B ~10, B 2..6 M C ?6"),
        ["0..2 A-L>B runs", "2..6 A-L>B-M>C runs", "6..10 A-L>B runs"],
        "the work came first"
    );
}

/// The object of `Object.wait` is that of a monitor, too.
#[test]
fn a_monitor_is_not_what_it_is_waited_at_for() {
    assert_eq!(
        charged("A 0..10 L B ~10, B 2..6 L C ~6"),
        ["0..2 A-L>B runs", "2..6 A-L>C runs", "6..10 A-L>B runs"],
        "it had not got it either"
    );
    assert_eq!(
        charged("A 0..10 L B ~10, B 2..6 L C"),
        ["0..2 A-L>B runs", "2..6 A-L>B-L>C runs", "6..10 A-L>B runs"]
    );
}

/// A wait may be told twice, once without who ended it.
#[test]
fn of_the_same_wait_the_one_that_tells_more_counts() {
    for twice in ["B 2..6 M -, B 2..6 M C ~6", "B 2..6 M C ~6, B 2..6 M -"] {
        assert_eq!(
            charged(&format!("A 0..10 L B ~10, {twice}")),
            ["0..2 A-L>B runs", "2..6 A-L>B-M>C runs", "6..10 A-L>B runs"]
        );
    }
}

#[test]
fn what_would_be_too_much_is_charged_to_the_last_one_known() {
    let waits = waits("A 0..10 L B, B 0..4 M C, B 5..9 M C");
    let mut chains = Chains::new(&waits, NAMES.len(), 2);
    let mut ends = Vec::new();
    let mut take = |piece: Piece<'_>| ends.push((piece.end, piece.to_ns - piece.from_ns));
    chains.charge(0, &mut take);
    chains.charge(1, &mut take);
    assert_eq!(ends[..2], [(End::Runs, 4), (End::Runs, 1)]);
    assert_eq!(ends[2..], [(End::NotFollowed, 4), (End::Runs, 1), (End::NotFollowed, 4)]);
}

#[test]
fn long_chains_end_somewhere() {
    let long = (MAX_STEPS + 8) as u32;
    let any = waits("A 0..9 L B")[0];
    let wait = |thread| Wait { thread, owner: thread + 1, lock: thread, ..any };
    let waits: Vec<Wait> = (0..long).map(wait).collect();
    let mut pieces = Vec::new();
    let mut chains = Chains::new(&waits, long as usize + 1, u64::MAX);
    chains.charge(0, &mut |it: Piece<'_>| pieces.push((it.steps.len(), it.root, it.end)));
    assert_eq!(pieces, [(MAX_STEPS + 1, MAX_STEPS as u32 + 1, End::NotFollowed)]);
}

/// Steps, root and end of a wait's chain at one moment, step by step.
fn at(waits: &[Wait], wait: u32, ns: u64) -> (Vec<u32>, u32, End) {
    let mut steps = vec![wait];
    let mut seen = vec![waits[wait as usize].thread];
    // The wait that is looked at: the last step, or one that was passed over.
    let mut last = waits[wait as usize];
    if last.until_ns <= ns {
        return (steps, last.thread, End::Late);
    }
    loop {
        let owner = last.owner;
        if steps.iter().any(|it| waits[*it as usize].thread == owner) {
            return (steps, owner, End::Ring);
        }
        if seen.contains(&owner) {
            return (steps, NOBODY, End::Unknown);
        }
        seen.push(owner);
        let own = (0..waits.len() as u32).filter(|&it| {
            let it = &waits[it as usize];
            it.thread == owner && (it.start_ns..it.end_ns).contains(&ns)
        });
        let innermost = |&it: &u32| {
            let wait = &waits[it as usize];
            (wait.start_ns, std::cmp::Reverse(wait.end_ns), wait.owner != NOBODY, it)
        };
        let Some(at) = own.max_by_key(innermost) else { return (steps, owner, End::Runs) };
        let next = waits[at as usize];
        let is_stale = !last.is_woken && next.is_for == For::Other;
        if next.owner == NOBODY || is_stale {
            return (steps, owner, End::Waits);
        }
        if next.until_ns <= ns {
            return (steps, owner, End::Late);
        }
        let is_lock = |wait: &Wait| wait.is_for == For::Lock;
        if next.lock != last.lock || is_lock(&next) != is_lock(&last) {
            steps.push(at);
        }
        last = next;
    }
}

fn random_waits() -> impl Strategy<Value = Vec<Wait>> {
    let owner = prop_oneof![4 => 0..5u32, 1 => Just(NOBODY)];
    let is_for = prop_oneof![2 => Just(For::Lock), 1 => Just(For::Withheld), 1 => Just(For::Other)];
    let woken = prop_oneof![Just(None), (0..20u64).prop_map(Some)];
    let wait = (0..5u32, 0..30u64, 0..15u64, owner, 0..4u32, is_for, woken);
    let wait = wait.prop_map(|(thread, start_ns, long, owner, lock, is_for, woken)| Wait {
        thread,
        start_ns,
        end_ns: start_ns + long,
        owner,
        until_ns: woken.map_or(start_ns + long, |after_ns| start_ns + after_ns),
        lock,
        is_for,
        is_woken: woken.is_some(),
        what: 0,
    });
    vec(wait, 1..25)
}

proptest! {
    #[test]
    fn each_moment_is_charged_to_its_chain(waits in random_waits()) {
        let mut chains = Chains::new(&waits, 5, u64::MAX);
        for wait in 0..waits.len() as u32 {
            let own = &waits[wait as usize];
            let mut moments: BTreeMap<u64, (Vec<u32>, u32, End)> = BTreeMap::new();
            chains.charge(wait, &mut |piece: Piece<'_>| {
                for ns in piece.from_ns..piece.to_ns {
                    let chain = (piece.steps.to_vec(), piece.root, piece.end);
                    assert_eq!(moments.insert(ns, chain), None, "twice");
                }
            });
            let expected: BTreeMap<u64, _> = match own.owner {
                NOBODY => BTreeMap::new(),
                _ => (own.start_ns..own.end_ns).map(|ns| (ns, at(&waits, wait, ns))).collect(),
            };
            prop_assert_eq!(&moments, &expected, "{:?}", waits);
        }
    }

    /// Whatever is not followed, no time is lost.
    #[test]
    fn charges_add_up_to_the_waits(waits in random_waits(), most in 0..40u64) {
        let mut chains = Chains::new(&waits, 5, most);
        let mut charged_ns = 0;
        for wait in 0..waits.len() as u32 {
            chains.charge(wait, &mut |piece: Piece<'_>| charged_ns += piece.to_ns - piece.from_ns);
        }
        let owned = waits.iter().filter(|wait| wait.owner != NOBODY);
        prop_assert_eq!(charged_ns, owned.map(|wait| wait.end_ns - wait.start_ns).sum::<u64>());
    }
}
