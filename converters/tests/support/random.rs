//! Random profiles.

use proptest::prelude::*;
use std::collections::BTreeMap;
use tyrion_converters::profile::{Frame, Function, Lock, Profile, Run, Stack, Thread, Wait};
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
    let wait = ((number(), number(), number(), number()), (1..5u64, wait_ns));
    let waits = prop::collection::vec(wait, 0..60);
    (threads, frames, stacks, locks, waits).prop_map(|(threads, frames, stacks, locks, waits)| {
        let mut profile = Profile {
            runs: (0..3).map(run).collect(),
            threads: threads.into_iter().map(thread).collect(),
            functions: (0..5).map(function).collect(),
            frames: frames.into_iter().map(|(function, line)| Frame { function, line }).collect(),
            stacks: vec![Stack::default()],
            locks: locks
                .into_iter()
                .map(|(run, id, class)| Lock { run, id, class: format!("l.Lock{class}") })
                .collect(),
            waits: Vec::new(),
        };
        profile.threads.sort_by_key(|thread| thread.run);
        for (parent, frame) in stacks {
            let parent = parent.index(profile.stacks.len()) as u32;
            let frame = frame.index(profile.frames.len()) as u32;
            profile.stacks.push(Stack { parent, frame });
        }
        let mut sums = BTreeMap::new();
        for ((thread, stack, lock, kind), sum) in waits {
            let thread = thread.index(profile.threads.len()) as u32;
            let stack = stack.index(profile.stacks.len()) as u32;
            let lock = lock.index(profile.locks.len()) as u32;
            sums.insert((thread, stack, lock, *kind.get(&WaitKind::ALL)), sum);
        }
        for ((thread, stack, lock, kind), (count, wait_ns)) in sums {
            profile.waits.push(Wait { thread, stack, lock, kind, count, wait_ns, max_ns: wait_ns });
        }
        profile.check().unwrap();
        profile
    })
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
