//! What threads were doing when they were sampled, as people read it.

pub use crate::state::State;
pub use tyrion_stacks::takes_input;

use crate::{filter::Kinds, java};
use std::sync::{
    OnceLock,
    atomic::{AtomicU8, Ordering::Relaxed},
};
use tyrion_formats::{Noted, Recording};
use tyrion_stacks::{Role, Says};
use tyrion_wire::{
    WaitKind,
    def::id::{CUT_STACK, EMPTY_STACK, UNKNOWN},
    sample::{Sample, ThreadState},
};

/// Tells the states of a log's samples: what the JVM said, and what it did not,
/// as far as the stack or the agent's own events know.
pub struct StateReader<'a> {
    log: &'a Recording,
    /// What is known of each method, and of each stack as far as it was asked
    /// for; nothing until the first sample.
    known: OnceLock<MethodRoles>,
}

/// What methods and stacks of a recording say of threads.
struct MethodRoles {
    roles: Vec<Role>,
    /// Whether any method is a probe.
    has_probes: bool,
    /// Codes of [`Says`], 0 where nobody has asked.
    stacks: Vec<AtomicU8>,
}

impl<'a> StateReader<'a> {
    /// What reads the samples of a log, from any thread.
    pub fn new(log: &'a Recording) -> StateReader<'a> {
        StateReader { log, known: OnceLock::new() }
    }

    /// The state of a sample.
    pub fn state(&self, sampled: &Noted<Sample>) -> State {
        let state = match sampled.state() {
            ThreadState::Blocked => return State::Blocked,
            ThreadState::Sleeping => return State::Sleeping,
            ThreadState::Other => return State::Other,
            ThreadState::Running => State::Running,
            ThreadState::Native => State::Native,
            ThreadState::Waiting => State::Waiting,
            ThreadState::Parked => State::Parked,
        };
        let kind = sampled.kind();
        let is_parked = state == State::Parked;
        if is_parked && kind.is_some_and(WaitKind::is_contention) {
            return State::Blocked;
        }
        let waits = is_parked || state == State::Waiting;
        match self.says(self.stack(sampled)) {
            Says::WaitsForLock if is_parked && kind.is_none() => State::Blocked,
            // A thread that the JVM calls runnable may compute where it could
            // wait for work, so its CPU time has to say that it does not. One
            // that waits does, whatever it did before.
            Says::WaitsForWork if waits || barely_ran(sampled) => State::Idle,
            Says::NoFrames if barely_ran(sampled) => State::Idle,
            // It is no I/O that it waits for, and not its turn to run either.
            Says::Starts => State::Other,
            _ => state,
        }
    }

    /// How the thread of a sample waits, as far as that is known: the JVM calls
    /// those blocked that wait for a monitor, be it after `notify`, and stacks tell
    /// of those that wait for a lock.
    pub fn kind(&self, sampled: &Noted<Sample>) -> Option<WaitKind> {
        if sampled.state() == ThreadState::Blocked {
            return Some(WaitKind::Monitor);
        }
        let waits_for_lock = || self.state(sampled) == State::Blocked;
        sampled.kind().or_else(|| waits_for_lock().then_some(WaitKind::Lock))
    }

    /// The ids of the thread and of the lock of a sample, 0 for what is not
    /// defined: made-up ids shall not take memory.
    pub fn thread_and_lock(&self, sampled: &Noted<Sample>) -> (u32, u32) {
        let definitions = self.log.definitions();
        let is_lock = definitions.locks().get(sampled.record.lock).is_some();
        let is_thread = definitions.threads().get(sampled.thread).is_some();
        let thread = if is_thread { sampled.thread } else { UNKNOWN };
        (thread, if is_lock { sampled.record.lock } else { UNKNOWN })
    }

    /// Whether a sample is asked for by these kinds of waits. `is_withheld` says
    /// whether a wait of a kind with a stack of the log withholds work.
    pub fn is_of(
        &self,
        sampled: &Noted<Sample>,
        kinds: Option<Kinds>,
        is_withheld: impl FnOnce(WaitKind, u32) -> bool,
    ) -> bool {
        let Some(kinds) = kinds else { return true };
        let takes = |kind| kinds.takes(kind, || is_withheld(kind, self.stack(sampled)));
        self.kind(sampled).is_some_and(takes)
    }

    /// Whether a thread with this stack waits for work, by what queues and pools
    /// are called.
    pub(crate) fn waits_for_work(&self, stack: u32) -> bool {
        self.says(stack) == Says::WaitsForWork
    }

    /// Whether a thread that ended the wait of another one with this stack only passed on what
    /// both had waited for.
    pub(crate) fn passes_on(&self, stack: u32) -> bool {
        tyrion_stacks::passes_on(self.roles(self.known(), stack))
    }

    /// The stack of a sample, by its id in the log, without the agent's own
    /// probes at its inner end, and what they call: that they were met there is
    /// the agent's doing, not the program's.
    pub fn stack(&self, sampled: &Noted<Sample>) -> u32 {
        let (known, stack) = (self.known(), sampled.record.stack);
        if !known.has_probes {
            return stack;
        }
        let stacks = self.log.definitions().stacks();
        let (mut at, mut without) = (stack, stack);
        for role in self.roles(known, stack).take(MAX_PROBE_FRAMES) {
            let parent = stacks.get(at).map_or(EMPTY_STACK, |frame| frame.parent);
            at = if parent < at { parent } else { EMPTY_STACK };
            match role {
                Role::Probe => without = at,
                Role::Program => break,
                _ => {}
            }
        }
        without
    }

    fn known(&self) -> &MethodRoles {
        self.known.get_or_init(|| MethodRoles::of(self.log))
    }

    fn says(&self, stack: u32) -> Says {
        let known = self.known();
        let cached = known.stacks.get(stack as usize);
        if let Some(says) = cached.and_then(|says| Says::from_code(says.load(Relaxed))) {
            return says;
        }
        let stacks = self.log.definitions().stacks();
        let is_lost =
            stack > CUT_STACK && stacks.get(stack).is_none() && stacks.group(stack).is_none();
        let says =
            if is_lost { Says::Nothing } else { tyrion_stacks::read(self.roles(known, stack)) };
        if let Some(cached) = cached {
            cached.store(says as u8, Relaxed);
        }
        says
    }

    /// The roles of a stack's frames, innermost first.
    fn roles(&self, known: &MethodRoles, stack: u32) -> impl Iterator<Item = Role> {
        let mut at = stack;
        std::iter::from_fn(move || {
            let frame = self.log.definitions().stacks().get(at)?;
            // Parents come before their children; anything else would not end.
            at = if frame.parent < at { frame.parent } else { EMPTY_STACK };
            Some(known.roles.get(frame.method as usize).copied().unwrap_or(Role::Program))
        })
    }
}

/// A probe and what it calls have no more frames.
const MAX_PROBE_FRAMES: usize = 8;

/// Whether a thread used less than a twentieth of its time to compute.
fn barely_ran(sampled: &Noted<Sample>) -> bool {
    let Sample { cpu_ns, wall_ns, .. } = sampled.record;
    cpu_ns.saturating_mul(20) <= wall_ns
}

impl MethodRoles {
    fn of(log: &Recording) -> MethodRoles {
        let definitions = log.definitions();
        let mut roles = vec![Role::Program; definitions.methods().len()];
        for (id, method) in definitions.methods().iter() {
            let Some(class) = definitions.classes().get(method.class) else { continue };
            let class = java::class_name(&log.text(class.name));
            if let Some(role) = roles.get_mut(id as usize) {
                *role = tyrion_stacks::role(&class, &log.text(method.name));
            }
        }
        let stacks = (0..definitions.stacks().len()).map(|_| AtomicU8::new(0)).collect();
        let has_probes = roles.contains(&Role::Probe);
        MethodRoles { roles, has_probes, stacks }
    }
}
