//! Threads that wait until another one has initialized a class.
//!
//! No event tells of such a wait. So threads that the JVM keeps from running, though it
//! counts them as running, are looked at every half second: one that is found twice at the
//! same instruction, which has a class initialized, waits for that. It has waited since it
//! was found first. Shorter waits are not seen.

use super::{Contention, owners::Look};
use crate::{
    clock,
    jvm::{Java, Object, Vm, threads::state_of},
    log::Generation,
    recorder::{
        Initializer, Innermost,
        threads::{Found, Owner, PendingWait, Seen, Thread, Waits},
    },
    sync::lock,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tyrion_wire::{WaitKind, def::id, sample::ThreadState};

/// A thread that sleeps or waits is looked at again after so many looks at most.
const REST: u32 = 4;
/// One that is the JVM's own, or is kept from running by something else.
const LONG_REST: u32 = 64;
/// So many looks at the end of recording, and what is between two of them.
const LOOKS: u32 = 3;
const MOMENT: Duration = Duration::from_millis(2);
/// The class of the object that HotSpot has threads wait for.
const CLASS: &[u8] = b"[I";

/// Who may wait for the initialization of a class.
#[derive(Default)]
pub(super) struct Initializations {
    suspects: Mutex<HashMap<i64, Suspect>>,
    /// The id of the lock that stands for a class, by the class's internal name.
    locks: Mutex<HashMap<String, u32>>,
}

/// A thread that the JVM keeps from running.
#[derive(Clone, Debug, Default)]
struct Suspect {
    /// Where it was in the look before, if that may wait, and when it was first found there.
    at: Option<(Innermost, u64)>,
    /// What it waits for, and who initializes that, as far as it is known.
    wanted: Option<(String, Initializer)>,
    /// How many looks pass it over, now and the next time.
    passed: u32,
    rest: u32,
}

impl Initializations {
    /// The threads among these that are to be looked at now. All others are forgotten.
    fn due(&self, stuck: &[i64]) -> Vec<i64> {
        let mut suspects = lock(&self.suspects);
        suspects.retain(|java_id, _| stuck.contains(java_id));
        let is_due = |java_id: &i64| {
            let suspect = suspects.entry(*java_id).or_default();
            let is_due = suspect.passed == 0;
            suspect.passed = suspect.passed.saturating_sub(1);
            is_due
        };
        stuck.iter().copied().filter(is_due).collect()
    }

    /// A thread does not wait for a class: it is passed over ever longer.
    fn rests(&self, java_id: i64, most: u32) {
        let mut suspects = lock(&self.suspects);
        let suspect = suspects.entry(java_id).or_default();
        let rest = (2 * suspect.rest).clamp(1, most);
        *suspect = Suspect { rest, passed: rest, ..Suspect::default() };
    }

    /// A thread is at an instruction that may wait: since when, monotonic ns, if it was
    /// there in the look before.
    fn found_at(&self, java_id: i64, at: Innermost, now_ns: u64) -> Option<u64> {
        let mut suspects = lock(&self.suspects);
        let suspect = suspects.entry(java_id).or_default();
        match suspect.at {
            Some((before, since_ns)) if before == at => Some(since_ns),
            _ => {
                *suspect = Suspect { at: Some((at, now_ns)), ..Suspect::default() };
                None
            }
        }
    }

    fn initializer_for(&self, waiter: i64) -> Option<Initializer> {
        Some(lock(&self.suspects).get(&waiter)?.wanted.as_ref()?.1)
    }

    fn note_initializer(&self, waiter: i64, class: &str, found: Option<Initializer>) {
        if let Some(suspect) = lock(&self.suspects).get_mut(&waiter) {
            suspect.wanted = found.map(|found| (class.to_owned(), found));
        }
    }

    /// Whoever has begun with a class, and now waits for its superclass, has nothing of the
    /// class on its stack: it is the only other one that wants that class.
    fn begun_by(&self, class: &str, waiter: i64) -> Option<i64> {
        let suspects = lock(&self.suspects);
        let mut others = suspects.iter().filter(|&(&java_id, suspect)| {
            let of_super = |(wanted, found): &(String, Initializer)| {
                wanted == class && found.is_of_super && found.java_id == waiter
            };
            suspect.wanted.as_ref().is_some_and(of_super) && java_id != waiter
        });
        let (&java_id, _) = others.next()?;
        others.next().is_none().then_some(java_id)
    }
}

/// Whether what a thread was found to wait for is the initialization of a class.
pub(super) fn is_initialization(found: &Found) -> bool {
    found.wait.kind == WaitKind::Monitor
}

impl Contention {
    /// Looks once. The JVM knows the agent's thread only while there is something to ask.
    pub(super) fn look_for_initializations(&self, vm: Vm) {
        let due = self.initializations.due(&self.stuck_threads());
        if !due.is_empty() {
            vm.with_thread(|env| {
                // SAFETY: the environment is this thread's, as long as it is attached.
                let java = unsafe { Java::new(env) };
                self.look_at_stuck(java, &due);
            });
        }
    }

    /// Looks at all threads, more than once: the log's last moment comes. The first look
    /// finds them, the second one who initializes what they wait for, and the third one
    /// those of whom nothing but that was known.
    pub(super) fn look_for_initializations_now(&self, java: Java) {
        for _ in 1..LOOKS {
            if !self.look_at_stuck(java, &self.stuck_threads()) {
                return;
            }
            std::thread::sleep(MOMENT);
        }
        self.look_at_stuck(java, &self.stuck_threads());
    }

    /// The threads that the JVM keeps from running for a reason that it has not told.
    fn stuck_threads(&self) -> Vec<i64> {
        let is_untold = |waits: &Waits| match &waits.found {
            Some(found) if is_initialization(found) => true,
            _ => waits.innermost().is_none(),
        };
        let mut stuck = self.recorder.blocked_threads();
        stuck.retain(|&java_id| {
            let known = self.recorder.threads().get(java_id);
            known.is_none_or(|known| {
                !known.excluded && known.try_waits().is_some_and(|waits| is_untold(&waits))
            })
        });
        stuck
    }

    /// Whether there may be one that waits for a class.
    fn look_at_stuck(&self, java: Java, stuck: &[i64]) -> bool {
        let mut any = false;
        for &java_id in stuck {
            let thread = self.recorder.thread_object(java, java_id);
            if !thread.is_null() {
                any |= self.look_at_stuck_thread(java, thread.get(), java_id);
            }
            java.drop_local(thread);
        }
        any
    }

    fn look_at_stuck_thread(&self, java: Java, thread: Object<'_>, java_id: i64) -> bool {
        let now_ns = clock::now_ns();
        let bits = self.recorder.thread_status(java, thread);
        if bits.and_then(state_of) != Some(ThreadState::Running) {
            self.initializations.rests(java_id, REST);
            return false;
        }
        let at = self.recorder.innermost_frame(thread);
        let class =
            at.and_then(|at| Some((at, self.recorder.class_to_initialize(java, at, java_id)?)));
        let Some((at, class)) = class else {
            self.initializations.rests(java_id, LONG_REST);
            return false;
        };
        if let Some(since_ns) = self.initializations.found_at(java_id, at, now_ns) {
            self.found_initialization(java, (thread, java_id), &class, (since_ns, now_ns));
        }
        true
    }

    /// A thread waits for the initialization of a class, given by its internal name, since
    /// a time.
    fn found_initialization(
        &self,
        java: Java,
        (thread, java_id): (Object<'_>, i64),
        class: &str,
        (since_ns, now_ns): (u64, u64),
    ) {
        let generation = self.recorder.log().current();
        self.owner(&generation, java, thread);
        let Some(known) = self.recorder.threads().get(java_id).filter(|it| !it.excluded) else {
            return;
        };
        let owner = self.initializer(&generation, java, java_id, class);
        let seen = Seen { owner, at_ns: now_ns, reenters: false };
        let found = known.try_waits().and_then(|waits| waits.found.as_ref().map(|it| it.wait));
        let Some(wait) = found.filter(|wait| wait.kind == WaitKind::Monitor) else {
            let lock = self.lock_of_class(&generation, class);
            let stack = self.recorder.stack_of_other_thread(&generation, java, thread);
            let (kind, start_ns) = (WaitKind::Monitor, since_ns);
            let wait = PendingWait { kind, start_ns, stack, lock, owner, ..PendingWait::NONE };
            let wait = PendingWait { seen: Some(seen), ..wait };
            return self.begin_found(&generation, &known, Found { wait, seen_ns: now_ns });
        };
        self.note_seen(&Look { thread: known, wait }, &generation, seen);
    }

    fn begin_found(&self, generation: &Arc<Generation>, known: &Arc<Thread>, found: Found) {
        let Some(mut waits) = known.try_waits() else { return };
        self.recorder.bring_waits(known, &mut waits, generation);
        let is_idle = waits.innermost().is_none() && self.recorder.is_blocked_thread(known.java_id);
        if waits.generation() == generation.number && is_idle {
            waits.found = Some(found);
            known.publish(&mut waits, generation);
        }
    }

    /// The thread that initializes a class for which another one waits.
    fn initializer(
        &self,
        generation: &Arc<Generation>,
        java: Java,
        waiter: i64,
        class: &str,
    ) -> Owner {
        let before = self.initializations.initializer_for(waiter);
        let found = before
            .filter(|found| self.recorder.initializes_still(java, found.java_id))
            .or_else(|| self.recorder.initializer(java, class, waiter));
        self.initializations.note_initializer(waiter, class, found);
        let owner_id = found.map(|found| found.java_id);
        let known = owner_id
            .or_else(|| self.initializations.begun_by(class, waiter))
            .and_then(|java_id| self.thread_of_owner(generation, java, java_id, || true));
        known.map(|known| self.as_owner(generation, &known)).unwrap_or_default()
    }

    /// The id of the lock that stands for the initialization of a class.
    fn lock_of_class(&self, generation: &Generation, class: &str) -> u32 {
        let mut locks = lock(&self.initializations.locks);
        let known = locks.get(class).copied();
        let Some(id) = known.or_else(|| self.new_lock_id()) else { return id::UNKNOWN };
        let Generation { log, dictionary, .. } = generation;
        let defined = dictionary
            .class(log, CLASS, b"")
            .and_then(|of_array| dictionary.lock_object(log, id, of_array));
        if defined.is_none() {
            return id::UNKNOWN;
        }
        let name = format!("initialization of {}", class.replace('/', "."));
        let _ = dictionary.lock_name(log, id, name.as_bytes());
        locks.insert(class.to_owned(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_wait_for_something_else_are_passed_over_ever_longer() {
        let known = Initializations::default();
        let mut looked_at = Vec::new();
        for nth in 0..20 {
            if !known.due(&[7]).is_empty() {
                looked_at.push(nth);
                known.rests(7, REST);
            }
        }
        assert_eq!(looked_at, [0, 2, 5, 10, 15]);
        // Whoever has run meanwhile is looked at at once.
        assert!(known.due(&[]).is_empty());
        assert_eq!(known.due(&[7]), [7]);
    }
}
