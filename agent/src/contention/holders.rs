//! What those do who have a lock: a thread of the agent's own looks at random moments.
//!
//! At each look it chooses some of the threads that wait for a lock at that moment, reads
//! who has the lock, and asks the JVM for that thread's stack: if that one is still the owner
//! afterwards, or a frame has the lock by its code, the frames tell where it has the lock, and
//! what it does meanwhile. What could not be seen is written as such. A moment stands for the
//! time since the look before, of all who wait. So each owner is charged with the time for
//! which it made others wait, in the mean, whoever had the lock before it while they waited.
//! Had the waiters asked when their waits began, it would be the first owner that is charged,
//! and of those only the ones that hold a lock for long.
//!
//! The owner takes part in a handshake; before JDK 16 all threads do, and from JDK 21 on those
//! wait that are virtual and to be mounted or unmounted. Looks have a budget: a share of the
//! program's CPU time and, where a question makes others wait, the same share of all time.

mod pace;

use super::Contention;
use crate::{
    clock,
    jvm::{Java, Local, Object, Vm, setup::Synchronizer, threads::state_of},
    log::Generation,
    random,
    recorder::{
        HolderStack, Sought,
        threads::{Contending, PendingWait, Taken, Thread},
    },
};
use pace::Pace;
use std::{
    collections::BTreeSet,
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tyrion_wire::{
    WaitKind,
    def::id,
    holder::{ASKED, CPU_NS, FREE, GONE, Holder},
    sample::ThreadState,
};

/// So many waiting threads are chosen in a look.
const CHOSEN: usize = 2;
/// After so many looks at which nobody waited, the JVM does not know the thread any more.
const IDLE_LOOKS: u32 = 256;
/// While nothing is recorded.
const PAUSE: Duration = Duration::from_millis(200);

/// Who looks, and what that has taken.
pub struct Holders {
    /// Whether the user wants that, and whether it is done.
    is_wanted: AtomicBool,
    is_on: AtomicBool,
    was_on: AtomicBool,
    /// How many owners were asked, and how many of them had released the lock meanwhile, so
    /// that their stack tells nothing.
    asked: AtomicU64,
    gone: AtomicU64,
    spent_cpu_ns: AtomicU64,
}

impl Holders {
    /// Whether owners are looked at now.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    pub(super) fn new() -> Holders {
        Holders {
            is_wanted: AtomicBool::new(false),
            is_on: AtomicBool::new(false),
            was_on: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            gone: AtomicU64::new(0),
            spent_cpu_ns: AtomicU64::new(0),
        }
    }
}

impl Contention {
    /// Has owners looked at where no mode records who holds locks.
    pub fn want_holders(&self) {
        self.holders.is_wanted.store(true, Relaxed);
    }

    /// Whether that is wanted.
    pub fn wants_holders(&self) -> bool {
        self.holders.is_wanted.load(Relaxed)
    }

    /// Has owners looked at, if that is wanted, or not.
    pub fn look_at_holders(&self, on: bool) {
        let on = on && self.wants_holders();
        self.holders.is_on.store(on, Relaxed);
        self.holders.was_on.fetch_or(on, Relaxed);
    }

    /// Tells the log how much was asked so far.
    pub fn note_questions(&self) {
        let holders = &self.holders;
        if !holders.was_on.load(Relaxed) {
            return;
        }
        let generation = self.recorder.log().current();
        for (key, value) in
            [(ASKED, &holders.asked), (GONE, &holders.gone), (CPU_NS, &holders.spent_cpu_ns)]
        {
            let value = value.load(Relaxed);
            let _ = generation.dictionary.statistic(&generation.log, key, value);
        }
    }

    /// What a thread of the agent's own does for ever. The JVM knows it only while threads
    /// wait for locks.
    pub fn watch_holders(&'static self, vm: Vm) {
        let mut pace = Pace::new(true);
        while !self.recorder.log().is_closed() {
            if !self.looks_at_holders() {
                std::thread::sleep(PAUSE);
                pace = Pace::new(true);
                continue;
            }
            std::thread::sleep(pace.pause());
            let (now_ns, cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns());
            if self.waiters().is_empty() {
                pace.begin(now_ns);
                self.spent(&mut pace, now_ns, cpu_ns);
                continue;
            }
            vm.with_thread(|env| {
                // SAFETY: the environment is this thread's, as long as it is attached.
                let java = unsafe { Java::new(env) };
                let mut idle = 0;
                while self.looks_at_holders()
                    && !self.recorder.log().is_closed()
                    && idle < IDLE_LOOKS
                {
                    // The JVM answers only threads that it knows. Virtual ones may come late.
                    pace.makes_others_wait = self.recorder.stacks_make_others_wait();
                    idle = if self.look_once(java, &mut pace) { 0 } else { idle + 1 };
                    std::thread::sleep(pace.pause());
                }
            });
        }
    }

    /// Whether holders of locks are looked at now.
    pub fn looks_at_holders(&self) -> bool {
        self.holders.is_on() && self.is_on()
    }

    /// The threads that wait for a lock that has one owner.
    fn waiters(&self) -> Vec<Contending> {
        let mut waiters = self.recorder.threads().contending();
        waiters.retain(|Contending { thread, wait, .. }| {
            // Nobody has the objects at which virtual threads park.
            let is_seen = match wait.kind {
                WaitKind::Monitor => wait.monitor != 0 && self.recorder.monitors().is_some(),
                _ => !thread.is_virtual(),
            };
            !thread.excluded && is_seen && wait.kind.has_owner()
        });
        waiters
    }

    /// Looks at some of those who wait; false if nobody does.
    fn look_once(&'static self, java: Java, pace: &mut Pace) -> bool {
        let (now_ns, begun_cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns());
        let span_ns = pace.begin(now_ns);
        let mut waiters = self.waiters();
        let count = waiters.len();
        let chosen = count.min(CHOSEN);
        for nth in 0..chosen {
            let rest = count - nth;
            let at = nth + random::number().unwrap_or(0) as usize % rest;
            waiters.swap(nth, at);
        }
        // All who wait are stood for by those that are chosen.
        let stands_for_ns = span_ns.saturating_mul(count as u64) / chosen.max(1) as u64;
        for waiter in waiters.iter().take(chosen) {
            let Contending { wait, generation, .. } = waiter;
            let of_lock = waiters
                .iter()
                .filter(|other| other.wait.is_for_same(wait, other.generation == *generation));
            let first_ns = of_lock.map(|other| other.wait.start_ns).min();
            let first_ns = first_ns.unwrap_or(wait.start_ns);
            self.look_at_holder(java, waiter, first_ns, stands_for_ns);
        }
        self.spent(pace, now_ns, begun_cpu_ns);
        count != 0
    }

    /// A look is over that began when the clocks showed this.
    fn spent(&self, pace: &mut Pace, begun_ns: u64, begun_cpu_ns: u64) {
        let cpu_ns = clock::thread_cpu_ns().saturating_sub(begun_cpu_ns);
        self.holders.spent_cpu_ns.fetch_add(cpu_ns, Relaxed);
        // The owners take part in handshakes, which takes them less.
        pace.spend(2 * cpu_ns, clock::now_ns().saturating_sub(begun_ns));
    }

    /// Looks at the owner of what somebody waits for, as others do, since `first_ns`.
    fn look_at_holder(
        &'static self,
        java: Java,
        waiter: &Contending,
        first_ns: u64,
        stands_for_ns: u64,
    ) {
        let Contending { thread, wait, .. } = waiter;
        let lock = self.awaited_lock(java, waiter);
        let at_ns = clock::now_ns();
        let owner_now = || self.owner_now(java, wait, lock.as_ref());
        let taken = |owner_id| self.recorder.threads().get(owner_id)?.taken();
        let owner_id = owner_now();
        let owner = owner_id.filter(|&owner_id| owner_id != thread.java_id);
        let seen = owner.and_then(|owner_id| {
            let is_still = || owner_now() == Some(owner_id);
            let taken = taken(owner_id);
            if !wait.owner.is_known() {
                // Nobody had to wait for it before: now somebody is known.
                self.note_owner(java, thread, wait, (owner_id, at_ns), is_still);
            }
            // First: to ask takes as long as many a wait.
            let moment = self.moment(java, thread, wait, (owner_id, at_ns), is_still)?;
            let asked = self.ask(java, owner_id, &self.sought(wait), is_still);
            let taken = || taken_by(&taken?, waiter, first_ns..=at_ns);
            Some((moment, asked.or_else(taken)))
        });
        match seen {
            Some((moment, asked)) => self.write_holder(thread, &moment, asked, stands_for_ns),
            None => {
                let lacking = match owner_id {
                    Some(_) => Lacking::Unseen,
                    None => self.without_owner(java, waiter, lock.as_ref().map(Local::get)),
                };
                self.write_unseen(waiter, at_ns, lacking, stands_for_ns);
            }
        }
        if let Some(lock) = lock {
            java.drop_local(lock);
        }
    }

    /// What a thread waits for, unless it is a monitor.
    fn awaited_lock<'j>(&self, java: Java<'j>, waiter: &Contending) -> Option<Local<'j>> {
        if waiter.wait.kind == WaitKind::Monitor {
            return None;
        }
        let thread = self.recorder.thread_object(java, waiter.thread.java_id);
        let lock = (!thread.is_null())
            .then(|| java.object_field(thread.get(), self.recorder.fields().park_blocker));
        java.drop_local(thread);
        lock
    }

    fn owner_now(&self, java: Java, wait: &PendingWait, lock: Option<&Local<'_>>) -> Option<i64> {
        match lock {
            None => self.owner_of_monitor_now(wait.monitor),
            Some(lock) => self.owner_of_lock_now(java, lock.get()),
        }
    }

    /// Of each lock, which threads wait for at these places, whether its holder waits for work at
    /// this moment; `None` if that cannot be seen.
    pub fn idle_holders<'p>(
        &self,
        java: Java,
        locks: impl Iterator<Item = &'p BTreeSet<u32>>,
    ) -> Vec<Option<bool>> {
        let begun_cpu_ns = clock::thread_cpu_ns();
        let waiters = self.waiters();
        let is_idle = |places: &BTreeSet<u32>| {
            let mut at_these: Vec<_> =
                waiters.iter().filter(|it| places.contains(&it.wait.place)).collect();
            let any = random::number().unwrap_or(0) as usize % at_these.len().max(1);
            let waiter = (!at_these.is_empty()).then(|| at_these.swap_remove(any))?;
            self.is_holder_idle(java, waiter)
        };
        let are_idle = locks.map(is_idle).collect();
        let cpu_ns = clock::thread_cpu_ns().saturating_sub(begun_cpu_ns);
        self.holders.spent_cpu_ns.fetch_add(cpu_ns, Relaxed);
        are_idle
    }

    fn is_holder_idle(&self, java: Java, waiter: &Contending) -> Option<bool> {
        let lock = self.awaited_lock(java, waiter);
        let owner_now = || self.owner_now(java, &waiter.wait, lock.as_ref());
        let owner_id = owner_now().filter(|&owner_id| owner_id != waiter.thread.java_id);
        // Otherwise what was read may be another lock.
        let owner_id = owner_id.filter(|_| waiter.goes_on());
        let is_idle = owner_id.and_then(|owner_id| {
            self.holders.asked.fetch_add(1, Relaxed);
            let owner = self.recorder.thread_object(java, owner_id);
            let is_idle = (!owner.is_null())
                .then(|| self.recorder.waits_for_work(java, owner.get()))
                .flatten()
                .filter(|_| owner_now() == Some(owner_id));
            java.drop_local(owner);
            is_idle
        });
        if let Some(lock) = lock {
            java.drop_local(lock);
        }
        is_idle
    }

    /// What is waited for has no owner that could be read.
    fn without_owner(&self, java: Java, waiter: &Contending, lock: Option<Object<'_>>) -> Lacking {
        let Contending { wait, .. } = waiter;
        let is_free = match lock {
            None => self.has_no_owner(wait.monitor),
            Some(lock) => match self.synchronizer_of(java, lock) {
                // Latches may have waiters while nobody has what is a lock in others.
                Some(it) => it.is_free(java, lock) && wait.owner.is_known(),
                // The wait is over, or it is a lock without an owner.
                None => false,
            },
        };
        match (waiter.goes_on(), is_free) {
            (false, _) => Lacking::Unseen,
            (true, true) => Lacking::Nobody,
            (true, false) if lock.is_some() => Lacking::NoLock,
            (true, false) => Lacking::Unseen,
        }
    }

    /// Whoever had the lock at that moment was not seen. Were nothing written, longer waits
    /// would stand for such ones, and their owners need not be the same.
    fn write_unseen(
        &'static self,
        waiter: &Contending,
        at_ns: u64,
        lacking: Lacking,
        stands_for_ns: u64,
    ) {
        let Contending { thread, wait, generation } = waiter;
        let state = match lacking {
            Lacking::NoLock => return,
            Lacking::Nobody => FREE,
            Lacking::Unseen => ThreadState::Other.code(),
        };
        let site = self.recorder.in_context_of_thread(thread, |context| {
            let is_same = context.generation.number == *generation;
            is_same.then(|| self.recorder.site(context, wait)).flatten()
        });
        let Some(site) = site.flatten() else { return };
        let moment = Moment { at_ns, owner: id::UNKNOWN, site, generation: *generation };
        let record = Holder { state, stands_for_ns, ..Holder::default() };
        self.append_holder(thread, &moment, record);
    }

    /// Who has what a thread waits for, as the log has it, if it waits for it still.
    fn moment(
        &'static self,
        java: Java,
        waiter: &Arc<Thread>,
        wait: &PendingWait,
        (owner_id, at_ns): (i64, u64),
        is_still: impl Fn() -> bool,
    ) -> Option<Moment> {
        let moment = self.recorder.in_context_of_thread(waiter, |context| {
            let generation: &Generation = context.generation;
            let known = self.thread_of_owner(generation, java, owner_id, is_still)?;
            let owner = self.as_owner(generation, &known).id;
            let number = generation.number;
            let (pending, site) = self.recorder.site_of_waiter(context, waiter)?;
            let is_it = pending.start_ns == wait.start_ns && owner != id::UNKNOWN;
            is_it.then_some(Moment { at_ns, owner, site, generation: number })
        });
        moment.flatten()
    }

    fn owner_of_lock_now(&self, java: Java, lock: Object<'_>) -> Option<i64> {
        self.synchronizer_of(java, lock)?;
        let owner = java.object_field(lock, self.recorder.fields().exclusive_owner);
        let owner_id = (!owner.is_null()).then(|| self.recorder.java_id(java, owner.get()));
        java.drop_local(owner);
        owner_id
    }

    fn synchronizer_of(&self, java: Java, lock: Object<'_>) -> Option<&Synchronizer> {
        let synchronizers = &self.recorder.fields().synchronizers;
        synchronizers.iter().find(|it| java.is_instance(lock, it.class))
    }

    /// What the owner does, if it `is_still` the owner afterwards, or it runs and its stack
    /// shows that it had the lock when that was taken: on busy processors, the owner goes on
    /// for long until whoever asked does. One that waits may have given the lock up for that,
    /// or be about to take it. Virtual threads are not asked: one that is just leaving its carrier
    /// would be waited for.
    fn ask(
        &self,
        java: Java,
        owner_id: i64,
        sought: &Sought,
        is_still: impl Fn() -> bool,
    ) -> Option<(HolderStack, ThreadState, u32)> {
        let owner = self.recorder.thread_object(java, owner_id);
        if owner.is_null() {
            return None;
        }
        let generation = self.recorder.log().current();
        let seen = self.recorder.stack_of_holder(&generation, java, owner.get(), sought);
        let state = self.state_of_holder(java, owner.get(), owner_id);
        java.drop_local(owner);
        self.holders.asked.fetch_add(1, Relaxed);
        let runs = matches!(state, ThreadState::Running | ThreadState::Native);
        let has_lock = runs && seen.is_some_and(|seen| seen.has_lock);
        if !has_lock && !is_still() {
            self.holders.gone.fetch_add(1, Relaxed);
            return None;
        }
        Some((seen?, state, generation.number))
    }

    fn sought(&self, wait: &PendingWait) -> Sought {
        let (name, class) = self.recorder.places().taken(wait.place);
        Sought { name, class, is_monitor: wait.kind == WaitKind::Monitor }
    }

    fn state_of_holder(&self, java: Java, owner: Object<'_>, owner_id: i64) -> ThreadState {
        let bits = self.recorder.thread_status(java, owner);
        let state = state_of(bits.unwrap_or(0)).unwrap_or(ThreadState::Other);
        let is_native = || {
            let at = self.recorder.address_of(owner_id);
            self.recorder.monitors().zip(at).is_some_and(|(it, at)| it.is_in_native_code(at))
        };
        if state == ThreadState::Running && is_native() { ThreadState::Native } else { state }
    }

    /// Writes what was seen.
    fn write_holder(
        &'static self,
        waiter: &Arc<Thread>,
        moment: &Moment,
        asked: Option<(HolderStack, ThreadState, u32)>,
        stands_for_ns: u64,
    ) {
        let none =
            (HolderStack { stack: id::EMPTY_STACK, above: 0, has_lock: false }, ThreadState::Other);
        let asked = asked.filter(|(.., number)| *number == moment.generation);
        let (seen, state) = asked.map_or(none, |(seen, state, _)| (seen, state));
        let HolderStack { stack, above, .. } = seen;
        let state = state.code();
        let record = Holder { stack, above, state, stands_for_ns, ..Holder::default() };
        self.append_holder(waiter, moment, record);
    }

    /// Writes a record, completed by what is known of its moment.
    fn append_holder(&'static self, waiter: &Arc<Thread>, moment: &Moment, record: Holder) {
        let record = Holder { owner: moment.owner, site: moment.site, ..record };
        self.recorder.in_context_of_thread(waiter, |context| {
            // Its ids are of one file of the log.
            if context.generation.number == moment.generation {
                // If there is no room for it, others stand for it.
                let _ = self.recorder.append(context, Some(moment.at_ns), |delta_ns, out| {
                    Holder { delta_ns, ..record }.encode(out);
                });
            }
        });
    }
}

/// Why no owner is known at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lacking {
    /// It was not seen; the wait may be over.
    Unseen,
    /// Nobody had the lock.
    Nobody,
    /// What is waited for is a latch, or has readers.
    NoLock,
}

/// Where an owner took a lock that others have waited for since the beginning of these
/// moments, if it had to wait for it itself until one of them. Had it released the lock since,
/// one of those would have been woken; though the owner may have been faster than that one, so
/// this is not certain.
fn taken_by(
    taken: &Taken,
    waiter: &Contending,
    moments: RangeInclusive<u64>,
) -> Option<(HolderStack, ThreadState, u32)> {
    let &Taken { wait, generation, at_ns } = taken;
    let is_it = wait.is_for_same(&waiter.wait, generation == waiter.generation)
        && wait.kind == waiter.wait.kind
        && moments.contains(&at_ns)
        && wait.stack != id::EMPTY_STACK;
    let stack = HolderStack { stack: wait.stack, above: 0, has_lock: true };
    is_it.then_some((stack, ThreadState::Other, generation))
}

/// Who has a lock that another thread waits for, in the ids of a generation.
struct Moment {
    at_ns: u64,
    owner: u32,
    site: u32,
    generation: u32,
}
