//! Threads that wait for something of which no event tells: until another one has initialized
//! a class, or, once `Object.wait` has told that it is over, for the monitor that it takes
//! again.
//!
//! HotSpot says that before it takes the monitor. Most threads have it at once; one that was
//! notified before it slept, or whose time was over after that, waits for it then.
//!
//! So every half second the agent looks where the threads are that the JVM keeps from
//! running. Of one that is found at the same place of its code twice, it asks the JVM: if it
//! counts as running, is at an instruction that has a class initialized, and another thread
//! initializes that class, it waits for that, since it was found there first. If it counts
//! as blocked, it waits for its monitor. Shorter waits are not seen. The JVM is not asked
//! again about a place where a thread just sleeps.

use super::{Contention, owners::Look};
use crate::{
    clock,
    jvm::{
        Java, Object, Vm,
        monitors::Spot,
        threads::{is_blocked, state_of},
    },
    log::Generation,
    recorder::{
        InProgress, Initializer,
        threads::{Found, PendingWait, Seen, Thread, Waits},
    },
    sync::lock,
};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};
use tyrion_wire::{WaitKind, def::id, sample::ThreadState};

/// So many places where it just sleeps are remembered of a thread.
const REMEMBERED: usize = 8;
/// After so many looks in which nobody was found who initializes anything there, it is such a
/// place, too.
const IN_VAIN: u32 = 4;
/// At most so many threads are asked about in a look.
const MANY: usize = 1024;
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

/// A thread that the JVM keeps from running, now or before.
#[derive(Clone, Debug, Default)]
struct Suspect {
    /// Where it was in the last look, and when it was first found there.
    at: Option<(Spot, u64)>,
    /// Where it waits for no class.
    known: VecDeque<Spot>,
    /// What it waits for, and who initializes that, as far as it is known.
    wanted: Option<(String, Initializer)>,
    /// Whether its wait there has been found.
    is_found: bool,
    /// In how many looks nobody was found who initializes what it may wait for there.
    in_vain: u32,
}

impl Suspect {
    /// It is elsewhere now, or runs.
    fn moves(&mut self, to: Option<(Spot, u64)>) {
        let known = std::mem::take(&mut self.known);
        *self = Suspect { at: to, known, ..Suspect::default() };
    }
}

/// A thread that the JVM is asked about.
struct Stuck<'t> {
    thread: Object<'t>,
    java_id: i64,
    since_ns: u64,
    now_ns: u64,
}

impl Initializations {
    /// Those of all threads that the JVM is to be asked about now, and since when they are
    /// where they are, monotonic ns. `None` stands for a thread that runs, or is known to
    /// wait for something else.
    fn due(&self, threads: &[(i64, Option<Spot>)], now_ns: u64) -> Vec<(i64, u64)> {
        let mut suspects = lock(&self.suspects);
        let alive: HashSet<i64> = threads.iter().map(|&(java_id, _)| java_id).collect();
        suspects.retain(|java_id, _| alive.contains(java_id));
        let mut due = Vec::new();
        for &(java_id, spot) in threads {
            let Some(spot) = spot else {
                if let Some(suspect) = suspects.get_mut(&java_id) {
                    suspect.moves(None);
                }
                continue;
            };
            let suspect = suspects.entry(java_id).or_default();
            match suspect.at {
                Some((before, since_ns)) if before == spot => {
                    if !suspect.known.contains(&spot) {
                        due.push((java_id, since_ns));
                    }
                }
                _ => suspect.moves(Some((spot, now_ns))),
            }
        }
        due
    }

    /// Where a thread is, it waits for no class.
    fn waits_for_none(&self, java_id: i64) {
        let mut suspects = lock(&self.suspects);
        let Some(suspect) = suspects.get_mut(&java_id) else { return };
        if let Some((spot, _)) = suspect.at {
            if suspect.known.len() == REMEMBERED {
                suspect.known.pop_front();
            }
            suspect.known.push_back(spot);
        }
    }

    /// Nobody initializes what a thread may wait for. Who does so may be found later, through
    /// what others wait for.
    fn waits_in_vain(&self, java_id: i64) {
        let is_enough = {
            let mut suspects = lock(&self.suspects);
            let Some(suspect) = suspects.get_mut(&java_id) else { return };
            suspect.in_vain += 1;
            suspect.in_vain == IN_VAIN
        };
        if is_enough {
            self.waits_for_none(java_id);
        }
    }

    /// The wait of a thread has been found.
    fn note_found(&self, java_id: i64) {
        if let Some(suspect) = lock(&self.suspects).get_mut(&java_id) {
            suspect.is_found = true;
        }
    }

    /// Whether a thread whose wait was found is where it was then.
    fn is_found_at(&self, java_id: i64, spot: Spot) -> bool {
        let suspects = lock(&self.suspects);
        let is_it = |suspect: &Suspect| {
            suspect.is_found && suspect.at.is_some_and(|(before, _)| before == spot)
        };
        suspects.get(&java_id).is_some_and(is_it)
    }

    /// Nothing is looked for any more: what was seen says nothing of later.
    pub(super) fn forget(&self) {
        lock(&self.suspects).clear();
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

/// Whether a thread was found to wait for what is looked for here, no event telling of it.
pub(super) fn is_untold(found: &Found) -> bool {
    found.wait.kind == WaitKind::Monitor
}

impl Contention {
    /// Looks once. The JVM knows the agent's thread only while there is something to ask.
    pub(super) fn look_for_initializations(&self, vm: Vm) {
        let due = self.stuck_threads();
        if !due.is_empty() {
            vm.with_thread(|env| {
                // SAFETY: the environment is this thread's, as long as it is attached.
                let java = unsafe { Java::new(env) };
                self.look_at_stuck(java, &due);
            });
        }
    }

    /// Looks more than once: the log's last moment comes. The first look finds threads, the
    /// second one who initializes what they wait for, and the third one those of whom
    /// nothing but that was known.
    pub(super) fn look_for_initializations_now(&self, java: Java) {
        self.stuck_threads();
        for _ in 1..LOOKS {
            std::thread::sleep(MOMENT);
            let due = self.stuck_threads();
            if due.is_empty() {
                return;
            }
            self.look_at_stuck(java, &due);
        }
    }

    /// The threads that the JVM keeps from running for a reason that it has not told, if it
    /// is to be asked about them now, and since when.
    fn stuck_threads(&self) -> Vec<(i64, u64)> {
        let is_told_by_none = |waits: &Waits| match &waits.found {
            Some(found) if is_untold(found) => true,
            _ => waits.innermost().is_none(),
        };
        let now_ns = clock::now_ns();
        let mut threads = self.recorder.blocked_threads();
        for (java_id, spot) in threads.iter_mut().filter(|(_, spot)| spot.is_some()) {
            let known = self.recorder.threads().get(*java_id);
            let is_stuck = known.is_none_or(|known| {
                !known.excluded && known.try_waits().is_some_and(|waits| is_told_by_none(&waits))
            });
            *spot = spot.filter(|_| is_stuck);
        }
        self.initializations.due(&threads, now_ns)
    }

    fn look_at_stuck(&self, java: Java, stuck: &[(i64, u64)]) {
        // Asked for once in a look, and only if somebody may wait for a class.
        let mut known = None;
        for &(java_id, since_ns) in stuck.iter().take(MANY) {
            let thread = self.recorder.running_thread(java, java_id);
            if !thread.is_null() {
                let now_ns = clock::now_ns();
                let stuck = Stuck { thread: thread.get(), java_id, since_ns, now_ns };
                self.look_at_stuck_thread(java, &stuck, &mut known);
            }
            java.drop_local(thread);
        }
        if let Some(known) = known {
            known.drop_all(java);
        }
    }

    fn look_at_stuck_thread<'j>(
        &self,
        java: Java<'j>,
        stuck: &Stuck<'_>,
        known: &mut Option<InProgress<'j>>,
    ) {
        let bits = self.recorder.status_of_running(java, stuck.thread);
        if bits.is_some_and(is_blocked) {
            return self.found_reentry(java, stuck);
        }
        let counts_as_running = bits.and_then(state_of) == Some(ThreadState::Running);
        let class = counts_as_running
            .then(|| self.recorder.class_to_initialize(java, stuck.thread))
            .flatten();
        let Some(class) = class else { return self.initializations.waits_for_none(stuck.java_id) };
        let known = known.get_or_insert_with(|| self.recorder.in_progress(java));
        let class = class.or_else(|| Some(known.only_class(stuck.java_id)?.to_owned()));
        let owner_id =
            class.as_deref().and_then(|class| self.initializer(java, known, stuck.java_id, class));
        match class.zip(owner_id) {
            Some((class, owner_id)) => self.found_initialization(java, stuck, &class, owner_id),
            None => self.initializations.waits_in_vain(stuck.java_id),
        }
    }

    /// A thread waits for the initialization of a class, given by its internal name, by a
    /// thread of this Java id.
    fn found_initialization(&self, java: Java, stuck: &Stuck<'_>, class: &str, owner_id: i64) {
        let &Stuck { thread, java_id, since_ns, now_ns } = stuck;
        let generation = self.recorder.log().current();
        self.owner(&generation, java, thread);
        let Some(known) = self.recorder.threads().get(java_id).filter(|it| !it.excluded) else {
            return;
        };
        let owner = self.thread_of_owner(&generation, java, owner_id, || true);
        let owner = owner.map(|owner| self.as_owner(&generation, &owner)).unwrap_or_default();
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
        // Of another class it would be another one, and this one is about to end.
        if wait.start_ns == since_ns {
            self.note_seen(java, &Look { thread: known, wait }, &generation, seen);
        }
    }

    /// A thread waits for a monitor, though no event has told that it begins to.
    fn found_reentry(&self, java: Java, stuck: &Stuck<'_>) {
        let &Stuck { thread, java_id, since_ns, now_ns } = stuck;
        let generation = self.recorder.log().current();
        self.owner(&generation, java, thread);
        let known = self.recorder.threads().get(java_id).filter(|it| !it.excluded);
        let monitor = self.monitor_of_blocked(java_id);
        let (Some(known), Some(monitor)) = (known, monitor) else {
            return self.initializations.waits_for_none(java_id);
        };
        let is_found = known.try_waits().is_none_or(|waits| waits.found.is_some());
        if is_found {
            return;
        }
        let lock = self.lock_of_blocked(&generation, java, thread);
        let stack = self.recorder.stack_of_other_thread(&generation, java, thread);
        let (kind, start_ns) = (WaitKind::Monitor, since_ns);
        let wait = PendingWait { kind, start_ns, stack, lock, monitor, ..PendingWait::NONE };
        self.begin_found(&generation, &known, Found { wait, seen_ns: now_ns });
    }

    /// Whether a thread that was found to wait so has not moved since.
    pub(super) fn still_waits_untold(&self, java_id: i64) -> bool {
        let spot = self.recorder.blocked_at(java_id);
        spot.is_some_and(|spot| self.initializations.is_found_at(java_id, spot))
    }

    fn begin_found(&self, generation: &Arc<Generation>, known: &Arc<Thread>, found: Found) {
        let Some(mut waits) = known.try_waits() else { return };
        self.recorder.bring_waits(known, &mut waits, generation);
        let is_idle =
            waits.innermost().is_none() && self.recorder.blocked_at(known.java_id).is_some();
        if waits.generation() == generation.number && is_idle && self.is_on() {
            waits.found = Some(found);
            self.initializations.note_found(known.java_id);
            known.publish(&mut waits, generation);
        }
    }

    /// The thread that initializes a class for which another one waits, by its Java id.
    fn initializer(
        &self,
        java: Java,
        known: &mut InProgress<'_>,
        waiter: i64,
        class: &str,
    ) -> Option<i64> {
        let found = self.recorder.initializer(java, known, class, waiter);
        self.initializations.note_initializer(waiter, class, found);
        found.map(|found| found.java_id).or_else(|| self.initializations.begun_by(class, waiter))
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
    fn the_jvm_is_asked_once_about_a_place() {
        let spot = |at| Some(Spot::at(at));
        let known = Initializations::default();
        assert_eq!(known.due(&[(7, spot(1))], 10), []);
        assert_eq!(known.due(&[(7, spot(1))], 20), [(7, 10)], "twice at the same place");
        known.waits_for_none(7);
        assert_eq!(known.due(&[(7, spot(1))], 30), []);
        // At another place meanwhile, or not kept from running.
        assert_eq!(known.due(&[(7, spot(2))], 40), []);
        assert_eq!(known.due(&[(7, spot(2))], 50), [(7, 40)]);
        assert_eq!(known.due(&[(7, None)], 60), []);
        assert_eq!(known.due(&[(7, spot(2))], 70), []);
        assert_eq!(known.due(&[(7, spot(1))], 80), []);
        assert_eq!(known.due(&[(7, spot(1))], 90), []);
        // Of a thread that has ended nothing is known.
        assert_eq!(known.due(&[], 100), []);
        assert_eq!(known.due(&[(7, spot(1))], 110), []);
        assert_eq!(known.due(&[(7, spot(1))], 120), [(7, 110)]);
    }
}
