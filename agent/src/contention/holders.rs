//! What those do who have a lock: a sample of the threads that wait ask before they block.
//!
//! A waiter has nothing better to do. It asks the JVM for the owner's stack, and looks then
//! whether that thread still has the lock: if so, the frames tell where it has it, and what
//! it does meanwhile. Who asks is left to chance, and each answer says for how many waits it
//! stands, so what is worked out of them is right in the mean.
//!
//! - The more a lock makes threads wait, the more often its waiters ask; the less often, the
//!   longer all answers are the same.
//! - All questions together have a budget: [`MOST_A_SECOND`], a share of the program's CPU
//!   time and, where a question stops all threads, the same share of all time.

use super::Contention;
use crate::{
    clock,
    jvm::{Java, Object, threads::state_of},
    log::lane::EndedWait,
    random,
    recorder::{
        EventContext, Sought,
        threads::{Answer, PendingWait},
    },
};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use tyrion_wire::{
    holder::{Holder, ONE_WAIT},
    sample::ThreadState,
};

/// Questions in a second, at most.
const MOST_A_SECOND: u64 = 200;
/// So many that were not asked may be asked at once.
const SAVED: u64 = 20;
/// One part in so many of the time may be spent.
const SHARE: u64 = 200;
/// What may be spent before anything was used, ns.
const ALLOWANCE_NS: u64 = 3_000_000;
/// How often the chance is brought in line with the budget, ns.
const PERIOD_NS: u64 = 100_000_000;
/// The number of slots in which locks are told apart; a power of two.
const SLOTS: usize = 1 << 10;
/// The least chance, one in so many, however alike the answers are.
const LEAST_ONE_IN: f64 = 4096.0;

/// Who asks.
pub struct Holders {
    /// Whether the user wants that, and whether it is done.
    is_wanted: AtomicBool,
    is_on: AtomicBool,
    /// The chance of a wait, by its usual length: so many in 2^64 for each ns.
    per_ns: AtomicU64,
    /// When that was last brought in line, monotonic ns.
    since_ns: AtomicU64,
    /// Questions that chance has chosen since then.
    chosen: AtomicU32,
    /// How many may be asked at once, in parts of a second's.
    saved: AtomicU64,
    saved_at_ns: AtomicU64,
    /// What questions have taken, and when that began to count: of CPU time and of time.
    spent_cpu_ns: AtomicU64,
    spent_ns: AtomicU64,
    from_cpu_ns: AtomicU64,
    from_ns: AtomicU64,
    /// How many were asked, and after how many of them the owner had gone.
    pub(super) asked: AtomicU64,
    pub(super) gone: AtomicU64,
    slots: Box<[Slot]>,
}

/// What is known of the waits for a lock.
#[derive(Default)]
struct Slot {
    /// How long they usually take, ns.
    usual_ns: AtomicU32,
    /// The last answer, and how often it came.
    last: AtomicU32,
    same: AtomicU32,
}

impl Holders {
    pub(super) fn new() -> Holders {
        Holders {
            is_wanted: AtomicBool::new(false),
            is_on: AtomicBool::new(false),
            per_ns: AtomicU64::new(u64::MAX / 1000),
            since_ns: AtomicU64::new(0),
            chosen: AtomicU32::new(0),
            saved: AtomicU64::new(SAVED),
            saved_at_ns: AtomicU64::new(0),
            spent_cpu_ns: AtomicU64::new(0),
            spent_ns: AtomicU64::new(0),
            from_cpu_ns: AtomicU64::new(0),
            from_ns: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            gone: AtomicU64::new(0),
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
        }
    }

    fn slot(&self, wait: &PendingWait) -> &Slot {
        let key = u64::from(wait.lock) << 32 | u64::from(wait.place);
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        &self.slots[mixed as usize % SLOTS]
    }

    /// Whether the waiter asks, and for how many waits the answer would stand.
    #[inline]
    fn choose(&self, wait: &PendingWait) -> Option<u64> {
        if !self.is_on.load(Relaxed) || !wait.owner.is_known() {
            return None;
        }
        let slot = self.slot(wait);
        let usual_ns = u64::from(slot.usual_ns.load(Relaxed)).max(1000);
        let rarer = 1 + u64::from(slot.same.load(Relaxed)) / 16;
        let chance = (self.per_ns.load(Relaxed).saturating_mul(usual_ns) / rarer)
            .max((u64::MAX as f64 / LEAST_ONE_IN) as u64);
        if random::number()? > chance {
            return None;
        }
        self.chosen.fetch_add(1, Relaxed);
        let one_in = u64::MAX as f64 / chance as f64;
        Some((one_in * ONE_WAIT as f64) as u64)
    }

    /// Notes how long a wait took.
    #[inline]
    pub(super) fn note_end(&self, wait: &PendingWait, end_ns: u64) {
        if !self.is_on.load(Relaxed) || !wait.owner.is_known() {
            return;
        }
        let slot = self.slot(wait);
        let wait_ns = u32::try_from(end_ns.saturating_sub(wait.start_ns)).unwrap_or(u32::MAX);
        let usual_ns = slot.usual_ns.load(Relaxed);
        // Whoever writes at the same time wins or loses: it is no sum.
        let next = match usual_ns {
            0 => wait_ns,
            usual_ns => usual_ns - usual_ns / 8 + wait_ns / 8,
        };
        slot.usual_ns.store(next, Relaxed);
    }

    fn note_answer(&self, wait: &PendingWait, stack: u32) {
        let slot = self.slot(wait);
        match slot.last.swap(stack, Relaxed) == stack {
            true => slot.same.fetch_add(1, Relaxed),
            false => slot.same.swap(0, Relaxed),
        };
    }

    /// Whether the budget lets another question be asked now.
    fn may_ask(&self, now_ns: u64, stops_all: bool) -> bool {
        self.follow(now_ns, stops_all);
        let saved_at_ns = self.saved_at_ns.load(Relaxed);
        let more = now_ns.saturating_sub(saved_at_ns) * MOST_A_SECOND / 1_000_000_000;
        if more != 0
            && self.saved_at_ns.compare_exchange(saved_at_ns, now_ns, Relaxed, Relaxed).is_ok()
        {
            let add = |saved: u64| Some(saved.saturating_add(more).min(SAVED));
            let _ = self.saved.fetch_update(Relaxed, Relaxed, add);
        }
        let take = |saved: u64| saved.checked_sub(1);
        self.left_ns(now_ns, stops_all) > 0
            && self.saved.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    /// What may be spent, in ns of CPU time or, where all threads stop, of time.
    fn left_ns(&self, now_ns: u64, stops_all: bool) -> i64 {
        let left = |used_ns: u64, from: &AtomicU64, spent: &AtomicU64| {
            let may_ns = used_ns.saturating_sub(from.load(Relaxed)) / SHARE + ALLOWANCE_NS;
            may_ns.cast_signed().saturating_sub(spent.load(Relaxed).cast_signed())
        };
        let of_cpu = left(clock::process_cpu_ns(), &self.from_cpu_ns, &self.spent_cpu_ns);
        match stops_all {
            true => of_cpu.min(left(now_ns, &self.from_ns, &self.spent_ns)),
            false => of_cpu,
        }
    }

    /// Brings the chance in line with what may be asked.
    fn follow(&self, now_ns: u64, stops_all: bool) {
        let since_ns = self.since_ns.load(Relaxed);
        let span_ns = now_ns.saturating_sub(since_ns);
        let is_due = span_ns >= PERIOD_NS
            && self.since_ns.compare_exchange(since_ns, now_ns, Relaxed, Relaxed).is_ok();
        if !is_due || since_ns == 0 {
            return;
        }
        let chosen = f64::from(self.chosen.swap(0, Relaxed)).max(0.5);
        let seconds = span_ns as f64 / 1e9;
        let wanted = match self.left_ns(now_ns, stops_all) {
            ..=0 => 1.0,
            _ => MOST_A_SECOND as f64 * seconds,
        };
        let factor = (wanted / chosen).clamp(0.25, 2.0);
        let per_ns = self.per_ns.load(Relaxed) as f64 * factor;
        self.per_ns.store(per_ns.clamp(1.0, u64::MAX as f64 / 1000.0) as u64, Relaxed);
    }

    fn add_spent(&self, ns: u64, cpu_ns: u64) {
        self.spent_ns.fetch_add(ns, Relaxed);
        // The owner takes part in it, too.
        self.spent_cpu_ns.fetch_add(2 * cpu_ns, Relaxed);
    }
}

impl Contention {
    /// Has waiters ask where no mode records who holds locks.
    pub fn want_holders(&self) {
        self.holders.is_wanted.store(true, Relaxed);
    }

    /// Has waiters ask, if that is wanted, or not.
    pub fn ask_holders(&self, on: bool) {
        let holders = &self.holders;
        let on = on && holders.is_wanted.load(Relaxed);
        if on && holders.from_ns.load(Relaxed) == 0 {
            holders.from_ns.store(clock::now_ns(), Relaxed);
            holders.from_cpu_ns.store(clock::process_cpu_ns(), Relaxed);
        }
        holders.is_on.store(on, Relaxed);
    }

    /// Whether a wait that begins is to ask.
    #[inline]
    pub(super) fn chooses(&self, wait: &PendingWait) -> Option<Question> {
        let stands_for = self.holders.choose(wait)?;
        Some(Question { wait: *wait, stands_for })
    }

    /// The current thread asks, which is about to block: what the owner does, as long as it
    /// `is_still` the owner.
    #[cold]
    pub(super) fn ask(
        &self,
        java: Java,
        thread: Object<'_>,
        question: &Question,
        lock: Object<'_>,
        is_still: impl Fn() -> bool,
    ) {
        let (begun_ns, begun_cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns());
        let stops_all = self.recorder.ti().stacks_take_safepoints();
        if !self.holders.may_ask(begun_ns, stops_all) {
            return;
        }
        let wait = &question.wait;
        let owner = self.recorder.thread_object(java, wait.owner.java_id);
        if owner.is_null() {
            return;
        }
        let generation = self.recorder.log().current();
        let sought = self.sought(java, wait, lock);
        let seen = self.recorder.stack_of_holder(&generation, java, owner.get(), &sought);
        let state = self.state_of_holder(java, owner.get());
        java.drop_local(owner);
        let is_still = is_still();
        let end_ns = clock::now_ns();
        self.holders.asked.fetch_add(1, Relaxed);
        self.holders.add_spent(
            end_ns.saturating_sub(begun_ns),
            clock::thread_cpu_ns().saturating_sub(begun_cpu_ns),
        );
        if !is_still {
            self.holders.gone.fetch_add(1, Relaxed);
        }
        let answer = seen.filter(|_| is_still).map(|seen| Answer {
            owner: wait.owner,
            seen,
            state: state.code(),
            stands_for: question.stands_for,
        });
        if let Some(answer) = answer {
            self.holders.note_answer(wait, answer.seen.stack);
        }
        let took_ns = end_ns.saturating_sub(begun_ns);
        self.recorder.with(java, thread, true, |context, waits| {
            let is_of = context.generation.number == generation.number;
            let Some(pending) = waits.innermost_mut() else { return };
            if pending.start_ns == wait.start_ns && pending.kind == wait.kind {
                // It is no part of the wait.
                pending.start_ns += took_ns;
                pending.answer = answer.filter(|_| is_of);
            }
        });
    }

    fn sought(&self, java: Java, wait: &PendingWait, lock: Object<'_>) -> Sought {
        let signature = self.recorder.class_of(java, lock).map(|(signature, _)| signature);
        let signature = signature.map(|it| self.recorder.lock_signature(it, lock));
        let signature = signature.unwrap_or_default();
        let class = String::from_utf8_lossy(&signature).into_owned();
        let class = class.strip_prefix('L').unwrap_or(&class);
        Sought {
            name: self.recorder.places().name(wait.place),
            class: class.strip_suffix(';').unwrap_or(class).to_owned(),
            is_monitor: wait.kind == tyrion_wire::WaitKind::Monitor,
        }
    }

    fn state_of_holder(&self, java: Java, owner: Object<'_>) -> ThreadState {
        let bits = self.recorder.thread_status(java, owner);
        state_of(bits.unwrap_or(0)).unwrap_or(ThreadState::Other)
    }
}

impl Contention {
    /// The same where the lock is one of java.util.concurrent, at which the thread parks.
    #[cold]
    pub(super) fn ask_of_lock(&self, java: Java, thread: Object<'_>, question: &Question) {
        let fields = self.recorder.fields();
        let lock = java.object_field(thread, fields.park_blocker);
        if !lock.is_null() {
            let is_still = || {
                let owner = java.object_field(lock.get(), fields.exclusive_owner);
                let is_same = !owner.is_null()
                    && self.recorder.java_id(java, owner.get()) == question.wait.owner.java_id;
                java.drop_local(owner);
                is_same
            };
            self.ask(java, thread, question, lock.get(), is_still);
        }
        java.drop_local(lock);
    }

    /// Writes what an owner did, after the record of the wait.
    pub(super) fn write_holder(
        &self,
        context: &mut EventContext<'_>,
        wait: &EndedWait,
        answer: &Answer,
    ) {
        let record = Holder {
            owner: answer.owner.id,
            stack: answer.seen.stack,
            above: answer.seen.above,
            state: answer.state,
            site: wait.site,
            wait_ns: wait.end_ns.saturating_sub(wait.start_ns),
            stands_for: answer.stands_for,
        };
        let (log, end_ns) = (&context.generation.log, Some(wait.end_ns));
        // If there is no room for it, others stand for it.
        let _ = context.lane.append_misc(log, wait.thread, end_ns, |_, out| record.encode(out));
    }
}

/// A wait whose thread asks.
pub(super) struct Question {
    wait: PendingWait,
    stands_for: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::threads::Owner;

    fn wait(lock: u32, start_ns: u64) -> PendingWait {
        PendingWait {
            kind: tyrion_wire::WaitKind::Monitor,
            start_ns,
            stack: 1,
            lock,
            place: 1,
            owner: Owner { id: 7, java_id: 7 },
            ..PendingWait::NONE
        }
    }

    /// Waits of 10 µs of one lock and of 1 ms of another, a hundred times as often each as
    /// there are questions: all questions stand for all waits, and most are of long ones.
    #[test]
    fn questions_stand_for_all_waits_and_are_of_long_ones() {
        let holders = Holders::new();
        holders.is_on.store(true, Relaxed);
        let mut now_ns = 1_000_000_000;
        let (mut stands, mut asked) = ([0.0_f64; 2], [0_u32; 2]);
        for nth in 0..400_000_u64 {
            now_ns += 50_000;
            let which = (nth % 2) as usize;
            let wait = wait(which as u32 + 1, now_ns);
            if let Some(stands_for) = holders.choose(&wait) {
                holders.follow(now_ns, false);
                if nth >= 200_000 {
                    stands[which] += stands_for as f64 / ONE_WAIT as f64;
                    asked[which] += 1;
                }
            }
            let length_ns = if which == 0 { 10_000 } else { 1_000_000 };
            holders.note_end(&wait, now_ns + length_ns);
        }
        for stands in stands {
            assert!((70_000.0..140_000.0).contains(&stands), "{stands} of 100000");
        }
        assert!(asked[1] > 20 * asked[0], "{asked:?}");
        // Ten seconds.
        assert!((1_200..3_500).contains(&asked[1]), "{asked:?}");
    }

    #[test]
    fn no_more_are_asked_than_the_budget_lets() {
        let holders = Holders::new();
        holders.from_cpu_ns.store(clock::process_cpu_ns(), Relaxed);
        let asked = |from_ns: u64| {
            (0..1000).filter(|nth| holders.may_ask(from_ns + nth * 1_000_000, false)).count()
        };
        let first = asked(1_000_000_000);
        assert!((195..=225).contains(&first), "{first} in a second");
        holders.add_spent(1_000_000_000, 1_000_000_000);
        assert_eq!(asked(2_000_000_000), 0, "a second is more than its share");
    }
}
