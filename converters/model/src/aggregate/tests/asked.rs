//! What was seen of owners at random moments.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::profile::BlameRow;
use tyrion_wire::{
    holder::{FREE, Holder},
    sample::ThreadState,
};

const MS: u64 = 1_000_000;
/// Stacks of [`Sample`].
const OUTER: u32 = 2;
const INNER: u32 = 3;

/// What a look found.
#[derive(Clone, Copy)]
enum LookOutcome {
    /// Thread and stack.
    Owner(u32, u32),
    Nobody,
    WaitWasOver,
}

/// The thread `main` waits for 100 ms at a monitor. Looks, and how much each stands for.
fn blames(looks: &[(LookOutcome, u64)]) -> (Profile, Vec<BlameRow>) {
    let mut sample = Sample::of(&[("mode", "contention"), ("holders", "true")]);
    sample.wait(0, 0, 100 * MS);
    for &(found, stands_for_ns) in looks {
        let (owner, stack, state) = match found {
            LookOutcome::Owner(owner, stack) => (owner, stack, ThreadState::Running.code()),
            LookOutcome::Nobody => (0, 0, FREE),
            LookOutcome::WaitWasOver => (0, 0, ThreadState::Other.code()),
        };
        let site = sample.sites[0];
        let look = Holder { owner, stack, state, site, stands_for_ns, ..Holder::default() };
        sample.end_ns += 1_000;
        sample.log.note(sample.lanes[0], sample.end_ns, look).unwrap();
    }
    let profile = aggregate(&[sample.finish()], &Filter::default(), &|_| ()).profile;
    let blames = profile.blames.clone();
    (profile, blames)
}

/// What is charged to whom: thread's name, stack's length, in ms, and how much of that nobody
/// had.
fn charged(looks: &[(LookOutcome, u64)]) -> Vec<(String, usize, u64, u64)> {
    let (profile, blames) = blames(looks);
    let of = |row: &BlameRow| {
        let name = profile.threads[row.thread as usize].name.clone();
        let frames = profile.frames_of(row.stack).count();
        (name, frames, row.blamed_ns / MS, row.free_ns / MS)
    };
    let mut all: BTreeMap<(String, usize), (u64, u64)> = BTreeMap::new();
    for (name, frames, blamed_ms, free_ms) in blames.iter().map(of) {
        let sum = all.entry((name, frames)).or_default();
        *sum = (sum.0 + blamed_ms, sum.1 + free_ms);
    }
    all.into_iter().map(|((name, frames), (blamed, free))| (name, frames, blamed, free)).collect()
}

#[test]
fn what_was_not_seen_is_charged_to_nobody() {
    let looks = [(LookOutcome::Owner(2, INNER), 6 * MS), (LookOutcome::WaitWasOver, 4 * MS)];
    let expected = [("[unknown]".to_owned(), 0, 40, 0), ("teller-1".to_owned(), 2, 60, 0)];
    assert_eq!(charged(&looks), expected);
}

#[test]
fn what_nobody_had_is_charged_to_those_that_have_it_otherwise() {
    let looks = [
        (LookOutcome::Owner(2, INNER), 30 * MS),
        (LookOutcome::Owner(3, OUTER), 10 * MS),
        (LookOutcome::WaitWasOver, 10 * MS),
        (LookOutcome::Nobody, 50 * MS),
    ];
    let expected = [
        ("[unknown]".to_owned(), 0, 10, 0),
        ("teller-1".to_owned(), 2, 67, 37),
        ("teller-2".to_owned(), 1, 22, 12),
    ];
    assert_eq!(charged(&looks), expected);
    let (_, blames) = blames(&looks);
    assert_eq!(blames.iter().map(|row| row.blamed_ns).sum::<u64>(), 100 * MS);
    assert!(blames.iter().all(|row| row.answers != 0 || row.free_ns != 0), "{blames:?}");
}

/// Then it is all that is known who had locks when waits began.
#[test]
fn where_nobody_was_seen_nothing_is_estimated() {
    let (profile, blames) =
        blames(&[(LookOutcome::Nobody, 3 * MS), (LookOutcome::WaitWasOver, MS)]);
    assert_eq!((blames, profile.has_blame, profile.is_blame_sampled), (vec![], false, false));
}

/// Whose code was gone before it was seen need not have had it where others have it.
#[test]
fn code_that_was_gone_stays_unknown() {
    let looks = [(LookOutcome::Owner(2, INNER), MS), (LookOutcome::Owner(2, 0), 3 * MS)];
    let expected = [("teller-1".to_owned(), 0, 75, 0), ("teller-1".to_owned(), 2, 25, 0)];
    assert_eq!(charged(&looks), expected);
}
