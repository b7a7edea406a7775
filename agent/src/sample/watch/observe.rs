//! What one thread is doing.

use super::{Subject, Watch};
use crate::{
    clock,
    jvm::{
        Object,
        code::at_monitor_enter,
        threads::{lasting, state_of},
    },
    sample::{
        accounting::{AccountStart, Moment, Observation},
        settings::Settings,
    },
};
use jvmti_bindings::sys::{
    jni::jint,
    jvmti::{jvmtiError, jvmtiFrameInfo},
};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tyrion_wire::sample::ThreadState;

/// The number of places where monitors are entered that are remembered.
const ENTERED_LIMIT: usize = 4096;
/// What a stack costs that the JVM's own thread walks in a safepoint, ns, about.
const STACK_NS: u64 = 10_000;

/// How often to ask for a state and a stack that must be of the same moment.
pub(super) const TRIES: u32 = 2;

impl Watch<'_> {
    /// Looks at one thread, or notes that its stack is to be asked for; `None`
    /// when it has ended.
    pub(super) fn observe(&mut self, at: usize, settings: &Settings) -> Option<()> {
        // Its name says whether it is looked at, also if it does nothing.
        let by_name = settings.threads.is_some();
        if by_name {
            self.check_name(at, settings);
        }
        let row = &mut self.table.all[at];
        let is_new = std::mem::take(&mut row.is_new);
        let noted = row.noted.take();
        let runs_others = row.is_carrier && self.virtual_thread.is_some();
        if !row.wanted && !runs_others {
            return Some(());
        }
        // SAFETY: threads are taken out of the table, and their references given
        // back, only when the subjects have been observed.
        let thread = unsafe { row.thread.get_kept() };
        let (java_id, started_ns) = (row.java_id, row.started_ns);
        let known = Arc::clone(row.known.as_ref()?);
        let now = self.moment(thread)?;
        let is_unmoved = {
            let Some(mut state) = self.state() else { return Some(()) };
            let accounting = &mut state.accounting;
            if !accounting.is_of_all(java_id) {
                accounting.open(java_id, self.account_start(started_ns, is_new, now), true);
            }
            accounting.is_unmoved(java_id, now)
        };
        if self.previous_ns.is_none() || is_unmoved && self.is_still(java_id, thread, now, noted) {
            return Some(());
        }
        if !by_name {
            self.check_name(at, settings);
        }
        if self.table.all[at].is_carrier && self.observe_mounted(at, settings, now) {
            return Some(());
        }
        if self.table.all[at].wanted {
            self.ask(Subject { java_id, thread, known, now, noted })?;
        }
        Some(())
    }

    /// Asks for a thread's stack, now or together with others'; `None` when it
    /// has ended.
    pub(super) fn ask(&mut self, subject: Subject<'static>) -> Option<()> {
        if self.at_once {
            self.subjects.push(subject);
            return Some(());
        }
        self.walk(&subject)
    }

    /// Looks whether a thread has another name by now: then it may be sampled
    /// no more, or from now on.
    fn check_name(&mut self, at: usize, settings: &Settings) {
        let jvm = (self.sampler.recorder, self.java);
        let row = &mut self.table.all[at];
        if row.check_name(jvm, settings)
            && !row.wanted
            && !row.is_carrier
            && let java_id = row.java_id
            && let Some(mut state) = self.state()
        {
            self.sampler.leave_out(&mut state, java_id);
        }
    }

    /// Now, and the CPU time that a thread has used; `None` when it has ended.
    /// Its stack is asked for after that: should it run meanwhile, it is seen to
    /// have run next time.
    pub(super) fn moment(&self, thread: Object<'_>) -> Option<Moment> {
        let at_ns = clock::now_ns();
        match self.ti.cpu_ns(thread) {
            Ok(cpu_ns) => Some(Moment { at_ns, cpu_ns: Some(cpu_ns) }),
            Err(error) if has_ended(error) => None,
            // The JVM does not tell it of virtual threads.
            Err(_) => Some(Moment { at_ns, cpu_ns: None }),
        }
    }

    /// From when on a thread is charged that was not looked at before: `is_new`
    /// says that it was not there, as far as the JVM told.
    fn account_start(&self, started_ns: Option<u64>, is_new: bool, now: Moment) -> AccountStart {
        let Some(previous_ns) = self.previous_ns else { return AccountStart::from(now) };
        let has_come = started_ns.map_or(is_new, |started_ns| started_ns >= previous_ns);
        // One that is not new has got a name that is asked for.
        let age_ns = || now.at_ns.saturating_sub(started_ns.unwrap_or(0));
        let age_ns = (!has_come).then(age_ns);
        AccountStart::when_first_seen(previous_ns, age_ns, now)
    }

    /// Whether a thread that has not run since it was looked at is in the same
    /// state, too: then it is charged for doing the same still.
    pub(super) fn is_still(
        &self,
        java_id: i64,
        thread: Object<'_>,
        now: Moment,
        noted: Option<jint>,
    ) -> bool {
        if !self.exact_cpu {
            return false;
        }
        let noted = noted.or_else(|| self.sampler.recorder.thread_status(self.java, thread));
        let status = noted.or_else(|| self.ti.state_bits(thread).ok().map(lasting));
        let Some(status) = status else { return false };
        let statistics = &self.sampler.statistics;
        self.state()
            .is_some_and(|mut state| state.accounting.still(statistics, java_id, (now, status)))
    }

    /// Asks for a thread's stack; `None` when it has ended.
    fn walk(&mut self, subject: &Subject<'_>) -> Option<()> {
        // The first stack of who ran is the nearest to what it was running.
        let ran = subject.noted.is_some_and(|noted| !is_waiting(noted));
        let (bits, count) = self.read(subject.thread, if ran { 1 } else { TRIES })?;
        let noted = subject.noted.unwrap_or(bits);
        let once = self.settings.as_ref().is_some_and(|settings| settings.once);
        match (is_waiting(noted), is_waiting(lasting(bits))) {
            // It ran, and came to its next wait before it could be stopped.
            (false, true) => {
                let count = self.strip_natives(count);
                self.seen(subject, subject.java_id, noted, count);
            }
            // It waited, but nobody knows where any more. If what it does now were
            // charged, being awake would count for more than it lasts; so both are
            // charged to what it does next time.
            (true, false) if !once => {}
            _ => self.seen(subject, subject.java_id, bits, count),
        }
        Some(())
    }

    /// Takes native methods off the inner end of a stack, in which a thread waits
    /// that ran just before: how many frames are left.
    fn strip_natives(&mut self, count: usize) -> usize {
        let is_native = |frame: &&jvmtiFrameInfo| frame.location < 0;
        let natives = self.frames[..count].iter().take_while(is_native).count();
        self.frames.copy_within(natives..count, 0);
        count - natives
    }

    /// The bits of a thread's state and how many frames its stack has; `None`
    /// when it has ended. State and stack are of the same moment, as near as can
    /// be in so many tries.
    pub(super) fn read(&mut self, thread: Object<'_>, tries: u32) -> Option<(jint, usize)> {
        let alive = |bits: &jint| state_of(*bits).is_some();
        let mut bits = self.ti.state_bits(thread).ok().filter(alive)?;
        let mut count = 0;
        for _ in 0..tries {
            count = match self.ti.stack_of(thread, 0, &mut self.frames) {
                Ok(count) => count,
                Err(error) if has_ended(error) => return None,
                Err(_) => {
                    self.sampler.statistics.unseen.fetch_add(1, Relaxed);
                    0
                }
            };
            let after = self.ti.state_bits(thread).ok().filter(alive)?;
            let before = std::mem::replace(&mut bits, after);
            if before == bits {
                break;
            }
        }
        Some((bits, count))
    }

    /// A thread was seen, whose time is that of another one if it is virtual.
    pub(super) fn seen(&mut self, subject: &Subject<'_>, timeline: i64, bits: jint, count: usize) {
        let Some(state) = state_of(bits) else { return };
        let sampler = self.sampler;
        sampler.statistics.walks.fetch_add(1, Relaxed);
        if state == ThreadState::Blocked {
            self.step_back(count);
        }
        let frames = &mut self.frames[..count];
        sampler.recorder.define_stack(self.java, &subject.known, frames);
        let Some(mut shared) = sampler.state_at(self.revision) else { return };
        let with = (&sampler.statistics, self.java);
        let observation = Observation { thread: &subject.known, state, bits, frames };
        shared.accounting.seen(with, timeline, observation, subject.now);
    }

    /// An interpreted frame that waits at a monitor is reported one bytecode
    /// too far.
    fn step_back(&mut self, count: usize) {
        let Some(innermost) = self.frames[..count].first_mut() else { return };
        // A native method: it is in `Object.wait`, and takes the monitor again.
        if innermost.location < 0 {
            return;
        }
        let version = self.sampler.recorder.version(innermost.method);
        let key = (innermost.method as u64, version, innermost.location as u64);
        if self.entered.len() >= ENTERED_LIMIT {
            self.entered.clear();
        }
        let ti = self.ti;
        innermost.location = *self.entered.entry(key).or_insert_with(|| {
            let code = ti.bytecodes(innermost.method).unwrap_or_default();
            at_monitor_enter(&code, innermost.location)
        });
    }

    /// Asks for the stacks that were put off, in one safepoint.
    pub(super) fn observe_subjects(&mut self) {
        if self.subjects.is_empty() {
            return;
        }
        let subjects = std::mem::take(&mut self.subjects);
        let threads: Vec<_> = subjects.iter().map(|subject| subject.thread).collect();
        let (ti, depth) = (self.ti, self.frames.len());
        let asked = ti.stacks_of(&threads, depth, |nth, bits, frames| {
            let Some(subject) = subjects.get(nth) else { return };
            let count = frames.len().min(self.frames.len());
            self.frames[..count].copy_from_slice(&frames[..count]);
            // What has ended is noticed when its CPU time is asked for.
            self.seen(subject, subject.java_id, bits, count);
        });
        if asked.is_err() {
            self.sampler.statistics.unseen.fetch_add(subjects.len() as u64, Relaxed);
        }
        self.elsewhere_ns += subjects.len() as u64 * STACK_NS;
        self.subjects = subjects;
        self.subjects.clear();
    }
}

/// Whether a thread with these bits waits for something.
fn is_waiting(bits: jint) -> bool {
    use ThreadState::{Blocked, Parked, Sleeping, Waiting};
    matches!(state_of(bits), Some(Blocked | Waiting | Parked | Sleeping))
}

/// Whether a thread has ended, by what JVMTI says.
fn has_ended(error: jvmtiError) -> bool {
    // After the JVM's end, too, nobody is there any more.
    matches!(
        error,
        jvmtiError::THREAD_NOT_ALIVE | jvmtiError::INVALID_THREAD | jvmtiError::WRONG_PHASE
    )
}
