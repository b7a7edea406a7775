//! `mode=auto`: finds the locks that cost much, and has them traced for a while.
//!
//! A thread of the agent's own looks again and again at which threads wait for which locks,
//! as [`cost`] adds up, and so costs nothing while a thread waits. Locks that cost more than
//! the limit, and whose [`holders`] do not just wait for work, are traced until [`certainty`]
//! says that their holds are known, or the time is over; afterwards they are left alone.

mod certainty;
mod cost;
mod holders;
mod retry;

use super::{hooks, running};
use crate::{
    clock,
    jvm::{Java, Vm},
    message::{PANICKED, say},
    recorder::{
        Recorder, Sought,
        threads::{Contending, PendingWait},
    },
    spawn::{NoThread, thread},
    sync::lock,
    trace,
};
use cost::{Costs, Guilty, Waiter, Window};
use holders::Turns;
use retry::Retry;
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tyrion_plan::{Aim, CodeName, Place};
use tyrion_wire::{WaitKind, def::id};

/// So many looks are taken of each window.
const LOOKS: u64 = 200;
/// Between two looks.
const LEAST: Duration = Duration::from_millis(1);
const MOST: Duration = Duration::from_millis(50);
/// One look stands for so many pauses at most, and no less than this: the process may have been
/// stopped, and a thread that waits at that moment has not waited all of the time.
const PAUSES: u32 = 5;
const LEAST_SPAN: Duration = Duration::from_millis(100);
/// While nothing can be aimed at.
const REST: Duration = Duration::from_millis(200);
/// So many locks are traced at a time.
const LOCKS: usize = 8;

/// Why this JVM's classes are left as they are, if they are.
static OBSTACLE: Mutex<Option<&'static str>> = Mutex::new(None);

/// Notes why this JVM's classes must be left as they are.
pub fn must_not(reason: &'static str) {
    lock(&OBSTACLE).get_or_insert(reason);
}

/// Has a thread see to it that locks are traced that cost much, unless one does, or classes
/// have to be left as they are; the user is told that once.
pub fn watch(vm: Vm) -> Result<(), NoThread> {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.swap(true, Relaxed) {
        return Ok(());
    }
    if let Some(reason) = lock(&OBSTACLE).or_else(hooks::why_classes_stay) {
        say(&format!("mode=auto records waits alone: {reason}"));
        return Ok(());
    }
    let begun = thread("tyrion-aim", move || {
        let mut retry = Retry::default();
        while let Some(recorder) = running::recorder().filter(|it| !it.log().is_closed()) {
            if running::may_aim(recorder) {
                Watch {
                    vm,
                    recorder,
                    known: BTreeSet::new(),
                    turns: Turns::default(),
                    retry: &mut retry,
                }
                .run();
            } else {
                take_back_what_is_left(vm, recorder, &mut retry);
                std::thread::sleep(REST);
            }
        }
    });
    // Whoever asks again may have more luck.
    WATCHED.store(begun.is_ok(), Relaxed);
    begun
}

/// Takes back what a JVM without memory has kept, now and then: a thread that comes into the
/// JVM has it look for memory everywhere.
fn take_back_what_is_left(vm: Vm, recorder: &'static Recorder, retry: &mut Retry) {
    if !running::has_left() {
        retry.reset();
    } else if retry.is_due(clock::now_ns()) {
        vm.with_thread(|env| running::take_back_what_is_left(recorder, env).is_ok());
    }
}

/// Watches as long as recording is on.
struct Watch<'a> {
    vm: Vm,
    recorder: &'static Recorder,
    /// The locks that have been traced.
    known: BTreeSet<CodeName>,
    turns: Turns,
    retry: &'a mut Retry,
}

impl Watch<'_> {
    fn run(&mut self) {
        while self.may_go_on() {
            let Some(costs) = self.one_window() else { return };
            // Probes that are left have to go first: nobody asks a JVM without memory for more.
            if running::has_left() {
                continue;
            }
            let guilty = self.guilty(costs);
            if !guilty.is_empty() {
                self.aim(&guilty);
            }
        }
    }

    /// The locks that cost too much, without those that threads take in turns to wait for work:
    /// these keep nobody from it.
    fn guilty(&mut self, mut costs: Costs) -> Vec<Guilty> {
        loop {
            let locks = costs.guilty(running::auto().percent, &self.known, LOCKS);
            let now_ns = clock::now_ns();
            let (mut turns, locks): (Vec<_>, Vec<_>) =
                locks.into_iter().partition(|lock| self.turns.has(lock, now_ns));
            let mut guilty = Vec::new();
            if turns.is_empty() {
                // The JVM may have no room for a thread.
                let Some(are_idle) = self.are_idle(&locks) else { return Vec::new() };
                for (lock, is_idle) in locks.into_iter().zip(are_idle) {
                    if is_idle { turns.push(lock) } else { guilty.push(lock) }
                }
                turns.iter().for_each(|lock| self.turns.note(lock, now_ns));
            }
            if turns.is_empty() {
                return guilty;
            }
            turns.iter().for_each(|lock| costs.leave_out(lock));
        }
    }

    /// Of each lock, whether who has it mostly waits for work; `None` if the JVM cannot be asked.
    fn are_idle(&self, locks: &[Guilty]) -> Option<Vec<bool>> {
        let contention = running::contention().filter(|it| it.looks_at_holders());
        let Some(contention) = contention.filter(|_| !locks.is_empty()) else {
            return Some(vec![false; locks.len()]);
        };
        self.vm.with_thread(|env| {
            // SAFETY: the environment is this thread's, as long as it is attached.
            let java = unsafe { Java::new(env) };
            holders::are_idle(contention, java, locks, || self.may_go_on())
        })
    }

    fn may_go_on(&self) -> bool {
        running::may_aim(self.recorder) && !self.recorder.log().is_closed()
    }

    /// What waits cost in one window; `None` if recording ends meanwhile.
    fn one_window(&mut self) -> Option<Costs> {
        let begun = Window::begin();
        let generation = self.recorder.log().current().number;
        let mut costs = Costs::default();
        let mut last_ns = begun.mono_ns;
        loop {
            let after = running::auto().after;
            let after_ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
            let pause = Duration::from_nanos(after_ns / LOOKS).clamp(LEAST, MOST);
            std::thread::sleep(pause);
            if !self.may_go_on() {
                return None;
            }
            take_back_what_is_left(self.vm, self.recorder, self.retry);
            let now_ns = clock::now_ns();
            let passed_ns = now_ns.saturating_sub(begun.mono_ns);
            let span_ns = stands_for(now_ns.saturating_sub(last_ns), pause);
            self.look(&mut costs, generation, (part_of(passed_ns, after_ns), span_ns));
            last_ns = now_ns;
            if passed_ns >= after_ns {
                costs.end(&begun, &Window::begin());
                return Some(costs);
            }
        }
    }

    /// Adds what is waited for at this moment, which is in a part of the window and stands for
    /// some time. Locks are told apart by their ids in a generation.
    fn look(&self, costs: &mut Costs, generation: u32, at: (usize, u64)) {
        let mut contending = self.recorder.threads().contending();
        contending.retain(|it| !it.thread.excluded);
        let waiters = contending.iter().map(|Contending { thread, wait, generation: of }| {
            let &PendingWait { start_ns, place, lock, .. } = wait;
            // One that is not known can be guilty, but not be traced.
            let is_counted = match wait.kind {
                WaitKind::Monitor => true,
                kind => kind.has_owner() && !self.recorder.is_uncounted(lock),
            };
            let of_lock = is_counted.then(|| self.place(place)).flatten();
            let lock = if *of == generation { lock } else { id::UNKNOWN };
            (Waiter { thread: thread.java_id, start_ns, place, lock }, of_lock)
        });
        costs.look(waiters, at);
    }

    fn place(&self, number: u32) -> Option<Place> {
        self.recorder.places().with(number, |place, _| Some(place.clone()))
    }

    /// Traces locks until they are known.
    fn aim(&mut self, guilty: &[Guilty]) {
        let mut aim = Aim::default();
        for place in guilty.iter().flat_map(|it| &it.places) {
            aim.add(place);
            let sought = Sought {
                name: place.taken.name.clone(),
                class: place.class.clone(),
                is_monitor: place.taken.kind == WaitKind::Monitor,
            };
            let holders = self.recorder.holders_of(&sought);
            holders.iter().for_each(|class| aim.add_class(class));
        }
        let names: Vec<String> = guilty.iter().map(|it| it.name.to_string()).collect();
        let names = names.join(";");
        let aim = Arc::new(aim);
        // The JVM knows this thread all the time: it could not come in once the heap is full.
        let came_in = self.vm.with_thread(|env| {
            let traced = running::aim(self.recorder, env, &aim, names).and_then(|has_begun| {
                if has_begun {
                    self.await_certainty(guilty);
                }
                running::end_aim(self.recorder, env)
            });
            if let Err(reason) = traced {
                say(&format!("mode=auto: {reason}"));
            }
        });
        if came_in.is_none() {
            if running::is_aimed() {
                // Nobody else would end it.
                running::give_up(PANICKED);
            }
            // The JVM has no room for the thread; it may have some later.
            return;
        }
        // What cannot be traced now is not tried again and again.
        self.known.extend(guilty.iter().flat_map(|it| it.names.iter().cloned()));
    }

    /// Waits until it is known well how long these locks are held, or the time is over.
    fn await_certainty(&self, guilty: &[Guilty]) {
        let begun_ns = clock::now_ns();
        while self.may_go_on() && running::is_aimed() {
            let auto = running::auto();
            let passed = Duration::from_nanos(clock::now_ns().saturating_sub(begun_ns));
            if passed >= auto.at_most || passed >= auto.after && self.is_certain(guilty) {
                return;
            }
            let pause = (auto.after / 10).min(auto.at_most.saturating_sub(passed));
            std::thread::sleep(pause.clamp(LEAST, REST));
        }
    }

    fn is_certain(&self, guilty: &[Guilty]) -> bool {
        let Some(trace) = trace::active() else { return false };
        let measured = trace.measured();
        guilty.iter().all(|it| {
            let of_lock = measured.iter().filter(|found| {
                let name = |place: &Place, _| CodeName::of(&place.class, &place.taken);
                let name = self.recorder.places().with(found.place, name);
                name.is_some_and(|name| it.names.contains(&name))
            });
            certainty::is_certain(of_lock.map(|found| &found.histogram))
        })
    }
}

/// In which part of a window a moment is, so long after it began.
fn part_of(passed_ns: u64, window_ns: u64) -> usize {
    let part = u128::from(passed_ns) * cost::PARTS as u128 / u128::from(window_ns.max(1));
    part.min(cost::PARTS as u128 - 1) as usize
}

/// How long what one look has seen lasts, in ns.
fn stands_for(passed_ns: u64, pause: Duration) -> u64 {
    let most = (pause * PAUSES).max(LEAST_SPAN);
    passed_ns.min(u64::try_from(most.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_parts() {
        assert_eq!(
            [0, 19, 20, 99, 100, 500].map(|passed| part_of(passed, 100)),
            [0, 0, 1, 4, 4, 4]
        );
        assert_eq!(part_of(u64::MAX, 0), 4);
    }

    #[test]
    fn a_process_that_was_stopped_has_not_waited_all_the_time() {
        const MS: u64 = 1_000_000;
        assert_eq!(stands_for(60 * MS, MOST), 60 * MS);
        assert_eq!(stands_for(10_000 * MS, MOST), 250 * MS);
        assert_eq!(stands_for(10_000 * MS, LEAST), 100 * MS);
    }
}
