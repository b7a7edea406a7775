//! What a thread does in a replay, one step after another.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The thread did something of which only the duration is known.
    Gap,
    /// It waited for anything but a replayed lock.
    Wait,
    /// It takes a lock.
    Acquire,
    /// It releases it.
    Release,
}

/// A step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) what: What,
    /// For an acquisition: whether others may share the lock.
    pub(crate) is_shared: bool,
    /// For a gap: how many of the agent's probes ran in it.
    pub(crate) probes: u16,
    /// The lock. For a gap the innermost one that was held, for a wait one of which only
    /// waits are known, or [`NONE`](crate::locks::NONE).
    pub(crate) lock: u32,
    /// For a gap or a wait its duration, in ns; for an acquisition its place.
    pub(crate) amount: u64,
}

/// What a thread did, or several threads one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    /// The threads.
    pub(crate) threads: Vec<u32>,
}

/// What one thread did, and when it lived.
#[derive(Clone, Debug)]
pub(crate) struct ThreadScript {
    pub(crate) thread: u32,
    pub(crate) life: Range<u64>,
    pub(crate) steps: Vec<Step>,
}

/// A thread that starts late, or ends early, by more than one in this many parts of the
/// time is absent then; otherwise it counts as present from the beginning to the end.
const LATE: u64 = 5;

impl Script {
    pub(crate) fn takes_locks(&self) -> bool {
        self.steps.iter().any(|step| step.what == What::Acquire)
    }
}

impl Step {
    pub(crate) fn wait(ns: u64, lock: u32) -> Step {
        Step { what: What::Wait, is_shared: false, probes: 0, lock, amount: ns }
    }
}

/// Makes scripts. Threads that follow one another, as in a pool that starts new ones,
/// become one script, since they never live at the same time.
pub(crate) fn scripts(mut parts: Vec<ThreadScript>, time: &Range<u64>) -> Vec<Script> {
    let late_ns = (time.end - time.start) / LATE;
    parts.retain(|part| !part.steps.is_empty());
    parts.sort_by_key(|part| (part.life.start, part.thread));
    let mut scripts: Vec<(Script, u64)> = Vec::new();
    let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for part in parts {
        let (start_ns, end_ns) = (part.life.start, part.life.end);
        let free = ends.peek().filter(|Reverse((end_ns, _))| *end_ns <= start_ns).copied();
        let at = match free {
            Some(Reverse((_, at))) => {
                ends.pop();
                at
            }
            None => {
                let from_ns = if start_ns - time.start > late_ns { time.start } else { start_ns };
                scripts.push((Script::default(), from_ns));
                scripts.len() - 1
            }
        };
        let (script, until_ns) = &mut scripts[at];
        if start_ns > *until_ns {
            script.steps.push(Step::wait(start_ns - *until_ns, crate::locks::NONE));
        }
        script.steps.extend(part.steps);
        script.threads.push(part.thread);
        *until_ns = end_ns;
        ends.push(Reverse((end_ns, at)));
    }
    let ended = scripts.into_iter().map(|(mut script, until_ns)| {
        if time.end.saturating_sub(until_ns) > late_ns {
            script.steps.push(Step::wait(time.end - until_ns, crate::locks::NONE));
        }
        script
    });
    ended.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::NONE;

    fn part(thread: u32, life: Range<u64>) -> ThreadScript {
        let gap = Step {
            what: What::Gap,
            is_shared: false,
            probes: 0,
            lock: NONE,
            amount: life.end - life.start,
        };
        ThreadScript { thread, life, steps: vec![gap] }
    }

    fn lengths(script: &Script) -> Vec<(What, u64)> {
        script.steps.iter().map(|step| (step.what, step.amount)).collect()
    }

    #[test]
    fn threads_that_follow_one_another_are_one_script() {
        let parts = vec![part(3, 500..900), part(1, 1000..1100), part(2, 0..500)];
        let made = scripts(parts, &(0..1000));
        assert_eq!(made.len(), 1);
        assert_eq!(made[0].threads, [2, 3, 1]);
        use What::{Gap, Wait};
        assert_eq!(lengths(&made[0]), [(Gap, 500), (Gap, 400), (Wait, 100), (Gap, 100)]);
    }

    #[test]
    fn a_little_late_is_not_late() {
        let made = scripts(vec![part(1, 100..1000), part(2, 0..900)], &(0..1000));
        assert!(made.iter().all(|script| script.steps.len() == 1), "{made:?}");
        let made = scripts(vec![part(1, 400..600)], &(0..1000));
        use What::{Gap, Wait};
        assert_eq!(lengths(&made[0]), [(Wait, 400), (Gap, 200), (Wait, 400)]);
        assert_eq!(scripts(vec![], &(0..10)), []);
    }
}
