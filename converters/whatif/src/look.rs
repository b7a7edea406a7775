//! Looks of the agent at what the owners of locks did.

use tyrion_formats::{Noted, Recording};
use tyrion_model::{profile::State, states::StateReader};
use tyrion_wire::{
    def::id::{EMPTY_STACK, UNKNOWN},
    holder::{FREE, Holder},
    sample::Sample,
};

/// A look at the owner of a lock that others waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogLook {
    pub(crate) at_ns: u64,
    /// The site of the wait.
    pub(crate) site: u32,
    /// The owner's id in the log, and its stack from the frame on that has taken the lock;
    /// both are 0 if it was not seen.
    pub(crate) owner: u32,
    pub(crate) stack: u32,
    /// Nobody had it.
    pub(crate) is_free: bool,
    /// What the owner did; `None` if that was not seen.
    pub(crate) state: Option<State>,
    pub(crate) stands_for_ns: u64,
}

impl LogLook {
    /// A record of the log.
    pub(crate) fn of(noted: &Noted<Holder>, log: &Recording, states: &StateReader<'_>) -> LogLook {
        let Holder { owner, stack, above, site, stands_for_ns, .. } = noted.record;
        // A thread that computes where it could wait for work is taken to wait: such a look
        // has no CPU time.
        let sample = Sample { wall_ns: 1, state: noted.record.state, stack, ..Sample::default() };
        let is_seen = owner != UNKNOWN && stack != EMPTY_STACK;
        LogLook {
            at_ns: noted.at_ns,
            site,
            owner,
            stack: if is_seen { without(log, stack, above) } else { EMPTY_STACK },
            is_free: owner == UNKNOWN && noted.record.state == FREE,
            state: is_seen.then(|| states.state(&noted.with(sample))),
            stands_for_ns,
        }
    }

    /// Whether the owner computed; `None` if that is not known.
    pub(crate) fn computes(&self) -> Option<bool> {
        match self.state? {
            State::Running => Some(true),
            State::Sleeping | State::Idle | State::Waiting | State::Parked => Some(false),
            // Native code computes, or waits for a file or a socket: CPU times would tell.
            State::Native | State::Blocked | State::Other => None,
        }
    }
}

/// A stack without so many of its innermost frames.
fn without(log: &Recording, mut stack: u32, above: u32) -> u32 {
    let stacks = log.definitions().stacks();
    for _ in 0..above.min(MOST_ABOVE) {
        let parent = stacks.get(stack).map_or(EMPTY_STACK, |frame| frame.parent);
        stack = if parent < stack { parent } else { EMPTY_STACK };
    }
    stack
}

/// Stacks have fewer frames.
const MOST_ABOVE: u32 = 4_096;
