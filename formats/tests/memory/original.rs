//! Logs of the original Tyrion.

use super::{MemoryCase, check};

/// An event as short as can be: what, when in ms, whose, and which lock.
fn line(kind: &str, ms: u64, thread: u64, hash: u64) -> String {
    format!(
        "{{\"{kind}\":{{\"timestamp\":{ms},\"accessor\":{{\"id\":{thread},\"name\":\"\"}},\
         \"target\":{{\"hashcode\":{hash},\"className\":\"\"}}}}}}\n"
    )
}

/// An acquisition.
pub fn short() -> Vec<u8> {
    (line("enter", 1, 1, 1) + &line("exit", 1, 1, 1)).into_bytes()
}

/// Locks that a thread takes within others and never releases.
fn open() -> Vec<u8> {
    (0..8_000).map(|nth| line("enter", nth, 1, nth)).collect::<String>().into_bytes()
}

/// Locks that are taken within as many others as are told.
fn nested() -> Vec<u8> {
    let outer = (0..64).map(|nth| line("enter", 1, 1, nth + 1));
    let inner =
        (0..4_000).map(|nth| line("enter", 2, 1, nth + 100) + &line("exit", 3, 1, nth + 100));
    outer.chain(inner).collect::<String>().into_bytes()
}

/// Threads that have all asked for one lock at the beginning, and get it in turn.
fn queued() -> Vec<u8> {
    let threads = 4_000;
    let asks = (1..=threads).map(|of| line("entering", 0, of, 1));
    let gets = (1..=threads).map(|of| line("enter", of, of, 1) + &line("exit", of, of, 1));
    asks.chain(gets).collect::<String>().into_bytes()
}

/// Events that differ in their number.
fn lines(line: impl Fn(u64) -> String, count: u64) -> Vec<u8> {
    (0..count).map(line).collect::<String>().into_bytes()
}

/// Acquisitions of threads that have just so many as give them a lane.
fn lanes() -> Vec<u8> {
    lines(|nth| line(["enter", "exit"][nth as usize % 2], nth, nth / 64, nth / 2), 12_000)
}

#[test]
fn logs_of_the_original_tyrion() {
    check("original-tyrion", || {
        let begin = line("entering", 0, 1, 1);
        let bad = format!("{begin}{}", "x\n".repeat(300_000));
        let brackets = format!("{begin}{}\n", "[".repeat(1 << 20));
        let take = |nth| line("enter", 0, 1, nth) + &line("exit", 0, 1, nth);
        vec![
            MemoryCase::new("locks within locks, never released", open()),
            MemoryCase::new("locks within many others", nested()),
            MemoryCase::new("threads that wait for all others", queued()).told("more parts"),
            MemoryCase::new("threads", lines(|nth| line("entering", 0, nth, 1), 8_000)),
            MemoryCase::new("threads with lanes", lanes()),
            MemoryCase::new("locks", lines(take, 4_000)),
            MemoryCase::new("what is no event", bad.into()).told("more places"),
            MemoryCase::new("brackets", brackets.into()).told("no event"),
        ]
    });
}
