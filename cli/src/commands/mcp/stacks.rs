//! The stacks of a lock, from collapsed ones.

use schemars::JsonSchema;
use serde::Serialize;

/// Where threads waited for locks, or held them.
#[derive(Serialize, JsonSchema)]
pub struct LockStacks {
    /// The stacks with the most time, in that order.
    stacks: Vec<LockStack>,
    /// How many stacks there are besides.
    more: usize,
    /// The time of those, in ns.
    more_ns: u64,
}

/// A stack, the same for all its waits.
#[derive(Serialize, JsonSchema)]
struct LockStack {
    /// The time, in ns.
    time_ns: u64,
    /// The thread, or what all its like are called.
    thread: String,
    /// The lock.
    lock: String,
    /// Methods, from the one that took the lock to the one that the thread began with.
    frames: Vec<String>,
}

/// Takes collapsed stacks with threads and locks apart: as many as fit into so many bytes.
pub fn read(printed: &[u8], most_bytes: usize) -> LockStacks {
    let text = String::from_utf8_lossy(printed);
    let mut all: Vec<LockStack> = text.lines().filter_map(stack).collect();
    all.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| a.frames.cmp(&b.frames)));
    let mut room = most_bytes;
    let fits = |stack: &LockStack| {
        // With quotes, commas, and the names of the fields.
        let texts = stack.frames.iter().chain([&stack.thread, &stack.lock]);
        let bytes: usize = texts.map(|text| text.len() + 4).sum::<usize>() + 64;
        let left = room.checked_sub(bytes);
        room = left.unwrap_or(0);
        left.is_some()
    };
    let kept = all.iter().map(fits).take_while(|fits| *fits).count();
    let rest = all.split_off(kept);
    let more_ns = rest.iter().map(|stack| stack.time_ns).sum();
    LockStacks { stacks: all, more: rest.len(), more_ns }
}

/// `thread;outermost;...;innermost;lock time`.
fn stack(line: &str) -> Option<LockStack> {
    let (frames, time_ns) = line.rsplit_once(' ')?;
    let mut frames: Vec<String> = frames.split(';').map(str::to_owned).collect();
    let lock = frames.pop()?;
    let thread = if frames.is_empty() { String::new() } else { frames.remove(0) };
    frames.reverse();
    Some(LockStack { time_ns: time_ns.parse().ok()?, thread, lock, frames })
}
