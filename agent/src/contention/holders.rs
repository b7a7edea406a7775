//! What those do who have a lock: a thread of the agent's own looks at random moments.
//!
//! At each look it chooses some of the threads that wait for a lock at that moment, reads
//! who has the lock, asks the JVM for that thread's stack, and reads the owner again: if it
//! is the same, the frames tell where it has the lock, and what it does meanwhile. A moment
//! stands for the time since the look before, of all who wait. So each owner is charged
//! with the time for which it made others wait, in the mean, whoever had the lock before it
//! while they waited. Had the waiters asked when their waits began, it would be the first
//! owner that is charged, and of those only the ones that hold a lock for long.
//!
//! The owner takes part in a handshake; before JDK 16 all threads do, and from JDK 21 on those
//! wait that are virtual and to be mounted or unmounted. Looks have a budget: a share of the
//! program's CPU time and, where a question makes others wait, the same share of all time.

use super::Contention;
use crate::{
    clock,
    jvm::{Java, Object, Vm, threads::state_of},
    log::Generation,
    random,
    recorder::{
        HolderStack, Sought,
        threads::{PendingWait, Thread},
    },
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tyrion_wire::{
    WaitKind,
    def::id,
    holder::{ASKED, CPU_NS, GONE, Holder},
    sample::ThreadState,
};

/// The mean time between two looks that are paid for, ns.
const PERIOD_NS: u64 = 10_000_000;
/// Nothing is paid back for longer than this, ns.
const MOST_PAUSE_NS: u64 = 10_000_000_000;
/// No more than this is saved, ns: a program that has not waited for long is not looked at
/// all the more often.
const MOST_SAVED_NS: i64 = 20_000_000;
/// A look stands for this at most, ns: before that, nobody may have waited.
const MOST_SPAN_NS: u64 = 20_000_000_000;
/// So many waiting threads are chosen in a look.
const CHOSEN: usize = 2;
/// One part in so many of the time may be spent.
const SHARE: u64 = 200;
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
    /// How many owners were asked, and how many of them had released the lock meanwhile.
    asked: AtomicU64,
    gone: AtomicU64,
    spent_cpu_ns: AtomicU64,
}

/// When to look next. What may be spent is saved up, and spent by looks: an expensive one,
/// which had to read the code of methods for example, is paid back before the next.
struct Pace {
    looked_ns: u64,
    process_cpu_ns: u64,
    /// What is left of the budget, ns: of CPU time, and of time where all threads stop for a
    /// question. Below 0 it has to be earned first.
    saved_cpu_ns: i64,
    saved_wall_ns: i64,
    /// How many processors the program keeps busy, in thousandths.
    busy: u64,
    stops_all: bool,
}

impl Pace {
    fn new(stops_all: bool) -> Pace {
        Pace {
            looked_ns: clock::now_ns(),
            process_cpu_ns: clock::process_cpu_ns(),
            saved_cpu_ns: 0,
            saved_wall_ns: 0,
            busy: 1000,
            stops_all,
        }
    }

    /// How long it takes to earn what was spent, ns.
    fn debt_ns(&self) -> u64 {
        let owed = |saved: i64| saved.min(0).unsigned_abs();
        let of_cpu = owed(self.saved_cpu_ns).saturating_mul(SHARE * 1000) / self.busy.max(1);
        let of_time = if self.stops_all { owed(self.saved_wall_ns) * SHARE } else { 0 };
        of_cpu.max(of_time).min(MOST_PAUSE_NS)
    }

    /// How long to wait now: what is owed, and then exponentially distributed, so that no
    /// rhythm of the program's is met again and again.
    fn pause(&self) -> Duration {
        let number = random::number().unwrap_or(1 << 63);
        // Between 0 and 1, and neither.
        let uniform = ((number >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let factor = (-uniform.ln()).min(8.0);
        Duration::from_nanos(self.debt_ns() + (PERIOD_NS as f64 * factor) as u64)
    }

    /// A look begins: how long the one before was ago, ns.
    fn begin(&mut self, now_ns: u64) -> u64 {
        let span_ns = now_ns.saturating_sub(self.looked_ns);
        self.looked_ns = now_ns;
        let process_cpu_ns = clock::process_cpu_ns();
        let used_ns = process_cpu_ns.saturating_sub(self.process_cpu_ns);
        self.process_cpu_ns = process_cpu_ns;
        let busy = used_ns.saturating_mul(1000) / span_ns.max(1);
        self.busy = (self.busy * 15 + busy) / 16;
        self.earn(used_ns, span_ns);
        span_ns.min(MOST_SPAN_NS)
    }

    /// The program has used so much, of CPU time and of time.
    fn earn(&mut self, cpu_ns: u64, wall_ns: u64) {
        let more =
            |saved: i64, ns: u64| saved.saturating_add_unsigned(ns / SHARE).min(MOST_SAVED_NS);
        self.saved_cpu_ns = more(self.saved_cpu_ns, cpu_ns);
        self.saved_wall_ns = more(self.saved_wall_ns, wall_ns);
    }

    /// A look has taken so much.
    fn spend(&mut self, cpu_ns: u64, wall_ns: u64) {
        self.saved_cpu_ns = self.saved_cpu_ns.saturating_sub_unsigned(cpu_ns);
        self.saved_wall_ns = self.saved_wall_ns.saturating_sub_unsigned(wall_ns);
    }
}

impl Holders {
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
        // The JVM answers only threads that it knows.
        let stops_all = vm.with_thread(|_| self.recorder.ti().stacks_make_others_wait());
        let mut pace = Pace::new(stops_all.unwrap_or(true));
        while !self.recorder.log().is_closed() {
            if !self.looks() {
                std::thread::sleep(PAUSE);
                pace = Pace::new(pace.stops_all);
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
                while self.looks() && !self.recorder.log().is_closed() && idle < IDLE_LOOKS {
                    idle = if self.look_once(java, &mut pace) { 0 } else { idle + 1 };
                    std::thread::sleep(pace.pause());
                }
            });
        }
    }

    fn looks(&self) -> bool {
        self.holders.is_on.load(Relaxed) && self.is_on()
    }

    /// The threads that wait for a lock that has one owner.
    fn waiters(&self) -> Vec<(Arc<Thread>, PendingWait)> {
        let mut waiters = self.recorder.threads().contending();
        waiters.retain(|(thread, wait)| {
            // Nobody has the objects at which virtual threads park.
            let is_seen = wait.kind == WaitKind::Monitor || !thread.is_virtual();
            !thread.excluded && is_seen && wait.kind != WaitKind::Semaphore
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
        for (thread, wait) in waiters.into_iter().take(chosen) {
            self.look_at_holder(java, &thread, &wait, stands_for_ns);
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

    fn look_at_holder(
        &'static self,
        java: Java,
        waiter: &Arc<Thread>,
        wait: &PendingWait,
        stands_for_ns: u64,
    ) {
        let lock = match wait.kind {
            WaitKind::Monitor => None,
            _ => {
                let thread = self.recorder.thread_object(java, waiter.java_id);
                let lock = (!thread.is_null())
                    .then(|| java.object_field(thread.get(), self.recorder.fields().park_blocker));
                java.drop_local(thread);
                lock
            }
        };
        let at_ns = clock::now_ns();
        let owner_now = || match &lock {
            None => self.owner_of_monitor_now(wait.monitor),
            Some(lock) => self.owner_of_lock_now(java, lock.get()),
        };
        if let Some(owner_id) = owner_now().filter(|&owner_id| owner_id != waiter.java_id) {
            let is_still = || owner_now() == Some(owner_id);
            if !wait.owner.is_known() {
                // Nobody had to wait for it before: now somebody is known.
                self.note_owner(java, waiter, wait, (owner_id, at_ns), is_still);
            }
            // First: to ask takes as long as many a wait.
            let seen = self.moment(java, waiter, wait, (owner_id, at_ns), is_still);
            if let Some(seen) = seen {
                let asked = self.ask(java, owner_id, &self.sought(wait), is_still);
                self.write_holder(waiter, &seen, asked, stands_for_ns);
            }
        }
        if let Some(lock) = lock {
            java.drop_local(lock);
        }
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
        let is_owned = self
            .recorder
            .fields()
            .synchronizers
            .iter()
            .any(|synchronizer| java.is_instance(lock, synchronizer.class));
        if !is_owned {
            return None;
        }
        let owner = java.object_field(lock, self.recorder.fields().exclusive_owner);
        let owner_id = (!owner.is_null()).then(|| self.recorder.java_id(java, owner.get()));
        java.drop_local(owner);
        owner_id
    }

    /// What the owner does, as long as it `is_still` the owner. Virtual threads are not
    /// asked: one that is just leaving its carrier would be waited for.
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
        if !is_still() {
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
        let none = (HolderStack { stack: id::EMPTY_STACK, above: 0 }, ThreadState::Other);
        let asked = asked.filter(|(.., number)| *number == moment.generation);
        let (seen, state) = asked.map_or(none, |(seen, state, _)| (seen, state));
        let record = Holder {
            delta_ns: 0,
            owner: moment.owner,
            stack: seen.stack,
            above: seen.above,
            state: state.code(),
            site: moment.site,
            stands_for_ns,
        };
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

/// Who has a lock that another thread waits for, in the ids of a generation.
struct Moment {
    at_ns: u64,
    owner: u32,
    site: u32,
    generation: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many looks of 100 µs in ten seconds of a program that keeps some processors busy.
    fn looks(busy: u64, stops_all: bool, wall_ns: u64) -> u64 {
        let mut pace = Pace::new(stops_all);
        pace.busy = busy;
        let (mut now_ns, mut looks) = (0, 0);
        while now_ns < 10_000_000_000 {
            let pause_ns = pace.pause().as_nanos() as u64;
            now_ns += pause_ns;
            pace.earn(pause_ns * busy / 1000, pause_ns);
            pace.spend(100_000, wall_ns);
            looks += 1;
        }
        looks
    }

    #[test]
    fn looks_keep_to_their_share() {
        // A part in 200 of ten seconds of one processor, by 100 µs.
        assert!((475..=505).contains(&looks(1000, false, 0)), "{}", looks(1000, false, 0));
        assert!((45..=51).contains(&looks(100, false, 0)), "{}", looks(100, false, 0));
        // Nor more than one in 10 ms, whatever is left.
        let many = looks(16_000, false, 0);
        assert!((900..=1100).contains(&many), "{many}");
        // Nor so many that all threads stand still for longer than that part of the time.
        let few = looks(16_000, true, 1_000_000);
        assert!((45..=51).contains(&few), "{few}");
    }

    #[test]
    fn an_expensive_look_is_paid_back() {
        let mut pace = Pace::new(false);
        pace.busy = 2000;
        pace.spend(10_000_000, 0);
        assert_eq!(pace.debt_ns(), 1_000_000_000);
        pace.earn(2_000_000_000, 1_000_000_000);
        assert_eq!(pace.debt_ns(), 0);
        pace.earn(u64::MAX, u64::MAX);
        assert_eq!(pace.saved_cpu_ns, MOST_SAVED_NS);
    }

    #[test]
    fn pauses_are_as_long_as_asked_in_the_mean() {
        let pace = Pace::new(false);
        let all: Duration = (0..10_000).map(|_| pace.pause()).sum();
        let mean_ns = all.as_nanos() as u64 / 10_000;
        assert!((9_200_000..10_800_000).contains(&mean_ns), "{mean_ns}");
    }
}
