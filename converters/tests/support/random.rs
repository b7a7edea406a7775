//! Random profiles.

use proptest::prelude::*;
use std::collections::BTreeMap;
use tyrion_model::profile::{
    AcquisitionRow, BlameRow, Frame, Function, GROUP, Lock, NO_LOCK, NO_OWNER, Profile, Run,
    SampleRow, Stack, State, Thread, WaitRow,
};
use tyrion_wire::WaitKind;

/// A profile of a few methods that call each other at random, themselves too,
/// with names that need no escapes.
pub fn profile() -> impl Strategy<Value = Profile> {
    let number = || any::<prop::sample::Index>();
    let threads = prop::collection::vec((0..3u32, 0..12u64, any::<bool>()), 1..8);
    let frames = prop::collection::vec((0..5u32, 0..4u32), 1..12);
    let stacks = prop::collection::vec((number(), number()), 0..30);
    let locks = prop::collection::vec((0..3u32, 0..3u32, 0..3u32), 1..6);
    // Some too short to be drawn beside the others.
    let wait_ns = prop_oneof![Just(0), 1..1_000u64, 1..1_000_000_000_000u64];
    let owner = prop_oneof![Just(NO_OWNER), 0..2u32];
    let wait = ((number(), number(), number(), number(), owner), (1..5u64, wait_ns));
    let waits = prop::collection::vec(wait, 0..60);
    (threads, frames, stacks, locks, waits).prop_map(|(threads, frames, stacks, locks, waits)| {
        let mut profile = Profile {
            runs: (0..3).map(run).collect(),
            threads: threads.into_iter().map(thread).collect(),
            functions: (0..5).map(function).collect(),
            frames: frames.into_iter().map(|(function, line)| Frame { function, line }).collect(),
            stacks: vec![Stack::default()],
            locks: locks.into_iter().map(|(run, id, class)| lock(run, id, class)).collect(),
            owners: [(0, 3, true), (1, 3, false)].map(thread).to_vec(),
            ..Profile::default()
        };
        profile.threads.sort_by_key(|thread| thread.run);
        for (parent, frame) in stacks {
            let parent = parent.index(profile.stacks.len()) as u32;
            let frame = frame.index(profile.frames.len()) as u32;
            profile.stacks.push(Stack { parent, frame });
        }
        let mut sums = BTreeMap::new();
        for ((thread, stack, lock, kind, owner), sum) in waits {
            let thread = thread.index(profile.threads.len()) as u32;
            let stack = stack.index(profile.stacks.len()) as u32;
            let lock = lock.index(profile.locks.len()) as u32;
            sums.insert((thread, stack, lock, *kind.get(&WaitKind::ALL), owner), sum);
        }
        for ((thread, stack, lock, kind, owner), (count, wait_ns)) in sums {
            profile.waits.push(WaitRow {
                thread,
                stack,
                lock,
                kind,
                owner,
                count,
                wait_ns,
                max_ns: wait_ns,
            });
        }
        profile.check().unwrap();
        profile
    })
}

fn lock(run: u32, id: u32, class: u32) -> Lock {
    // Some have a name besides.
    let name = if id == 0 && class > 0 { format!("C.lock{class}") } else { String::new() };
    Lock { run, id, class: format!("l.Lock{class}"), name }
}

/// The same with acquisitions, blame and wakers, of which some rows stand alone.
pub fn traced() -> impl Strategy<Value = Profile> {
    let number = || any::<prop::sample::Index>();
    let row = || (number(), number(), number(), number());
    let ns = || prop_oneof![Just(0), 1..1_000u64, 1..1_000_000_000_000u64];
    let acquisitions = prop::collection::vec((row(), (0..9u64, 0..3u64, ns())), 0..60);
    let blames = prop::collection::vec((row(), (number(), 1..5u64, ns())), 0..40);
    let wakes = blames.clone();
    let has = (any::<bool>(), any::<bool>(), any::<bool>());
    let rows = (acquisitions, blames, wakes);
    (profile(), rows, has).prop_map(|(mut profile, (acquisitions, blames, wakes), has)| {
        let kinds = &WaitKind::ALL[..5];
        (profile.has_acquisitions, profile.has_blame, profile.has_wakers) = has;
        let key = |(thread, stack, lock, kind): (
            prop::sample::Index,
            prop::sample::Index,
            prop::sample::Index,
            prop::sample::Index,
        )| {
            (
                thread.index(profile.threads.len()) as u32,
                stack.index(profile.stacks.len()) as u32,
                lock.index(profile.locks.len()) as u32,
                *kind.get(kinds),
            )
        };
        let acquisitions: BTreeMap<_, _> =
            acquisitions.into_iter().map(|(row, sums)| (key(row), sums)).collect();
        let of = |rows: Vec<_>| -> Vec<BlameRow> {
            let keyed: BTreeMap<_, _> = rows
                .into_iter()
                .map(|(row, (waiter, count, ns)): (_, (prop::sample::Index, u64, u64))| {
                    let waiter = waiter.index(profile.stacks.len()) as u32;
                    ((key(row), waiter), (count, ns))
                })
                .collect();
            let row =
                |(((thread, stack, lock, kind), waiter_stack), (count, blamed_ns))| BlameRow {
                    thread,
                    stack,
                    lock,
                    kind,
                    waiter_stack,
                    count,
                    blamed_ns,
                    above: 0,
                    free_ns: 0,
                    answers: 0,
                    error_ns: 0,
                };
            keyed.into_iter().map(row).collect()
        };
        let (blames, wakes) = (of(blames), of(wakes));
        if profile.has_acquisitions {
            let rows = acquisitions.into_iter();
            profile.acquisitions = rows
                .map(|((thread, stack, lock, kind), (acquisitions, reentrant, hold_ns))| {
                    // Of some rows all acquisitions are counted.
                    let (acquisitions_error, reentrant_error) = (hold_ns % 3, hold_ns % 2);
                    AcquisitionRow {
                        thread,
                        stack,
                        lock,
                        kind,
                        acquisitions,
                        acquisitions_error,
                        reentrant,
                        reentrant_error,
                        hold_ns,
                    }
                })
                .collect();
        }
        if profile.has_blame {
            profile.blames = blames;
        }
        if profile.has_wakers {
            profile.wakes = wakes;
        }
        profile.check().unwrap();
        profile
    })
}

/// The same with samples, of which some rows stand alone, and with groups.
pub fn sampled() -> impl Strategy<Value = Profile> {
    let number = || any::<prop::sample::Index>();
    let row = (number(), number(), number(), number(), number());
    let ns = || prop_oneof![Just(0), 1..1_000u64, 1..1_000_000_000_000u64];
    let samples = prop::collection::vec((row, (1..9u64, ns(), ns())), 0..60);
    let grouped = prop::collection::vec((number(), number()), 0..9);
    (traced(), samples, grouped, any::<bool>()).prop_map(
        |(mut profile, samples, grouped, lacks)| {
            profile.has_samples = true;
            add_groups(&mut profile, grouped);
            if lacks {
                profile.lacks_waits = true;
                (profile.has_acquisitions, profile.has_blame) = (false, false);
                profile.has_wakers = false;
                (profile.waits, profile.acquisitions) = Default::default();
                (profile.blames, profile.wakes) = Default::default();
            }
            let mut sums = BTreeMap::new();
            for ((thread, stack, state, lock, kind), sum) in samples {
                let thread = thread.index(profile.threads.len()) as u32;
                let stack = stack.index(profile.stacks.len()) as u32;
                let lock = lock.index(profile.locks.len() + 1) as u32;
                let lock = if lock == profile.locks.len() as u32 { NO_LOCK } else { lock };
                let kind = kind.index(WaitKind::ALL.len() + 1).checked_sub(1);
                let kind = kind.map(|at| WaitKind::ALL[at]);
                sums.insert((thread, stack, *state.get(&State::ALL), lock, kind), sum);
            }
            for ((thread, stack, state, lock, kind), (count, wall_ns, cpu_ns)) in sums {
                let sample = SampleRow { thread, stack, state, lock, kind, count, wall_ns, cpu_ns };
                profile.samples.push(sample);
            }
            profile.check().unwrap();
            profile
        },
    )
}

/// Adds stacks of which each begins with one of two groups.
fn add_groups(profile: &mut Profile, grouped: Vec<(prop::sample::Index, prop::sample::Index)>) {
    let first = profile.stacks.len();
    for name in ["GET /orders", "import"] {
        let function = profile.functions.len() as u32;
        let (method, descriptor) = (name.to_owned(), GROUP.to_owned());
        profile.functions.push(Function { method, descriptor, ..Function::default() });
        let frame = profile.frames.len() as u32;
        profile.frames.push(Frame { function, line: 0 });
        profile.stacks.push(Stack { parent: 0, frame });
    }
    let frames = profile.frames.len() - 2;
    for (parent, frame) in grouped {
        let parent = (first + parent.index(profile.stacks.len() - first)) as u32;
        profile.stacks.push(Stack { parent, frame: frame.index(frames) as u32 });
    }
}

fn run(number: u32) -> Run {
    Run { pid: 7 + number / 2, program: format!("p.Main{number}"), ..Run::default() }
}

fn thread((run, number, is_virtual): (u32, u64, bool)) -> Thread {
    let name = match number % 4 {
        0 => String::new(),
        1 => format!("worker-{number}"),
        2 => format!("pool-{number}-thread-{run}"),
        _ => "main".to_owned(),
    };
    Thread { run, java_id: number, name, is_virtual, ..Thread::default() }
}

/// Methods 3 and 4 differ in their results only.
fn function(number: u32) -> Function {
    let result = if number == 4 { "I" } else { "V" };
    let number = number.min(3);
    Function {
        class: format!("p.C{}", number / 2),
        method: format!("m{number}"),
        descriptor: format!("(){result}"),
        source: format!("p/C{}.java", number / 2),
        first_line: number,
    }
}
