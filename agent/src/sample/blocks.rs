//! Blocks of code begin and end that the program wants sampled, on one thread
//! each.

use super::{
    accounting::{self, Moment, Observation},
    requests::OPEN_LIMIT,
    sampler::{SAMPLER, Sampler, SamplerState},
};
use crate::{
    jvm::{Java, Object},
    message::say,
    options::PERIODS_NS,
    recorder::threads::Thread,
    sync::lock,
};
use jvmti_bindings::sys::jvmti::jvmtiFrameInfo;
use std::sync::{
    MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tyrion_wire::sample::ThreadState;

/// The frames of the API when it says that a block has ended: the native
/// method and `Sampling.close`.
const END_FRAMES: usize = 2;

/// The user knows that there are too many.
static WARNED: AtomicBool = AtomicBool::new(false);

/// Has a thread be sampled, until [`end`]: a token for that, 0 when it cannot
/// be.
pub fn begin(java: Java, thread: Object<'_>, period_ns: u64) -> u64 {
    let begun = SAMPLER.get().and_then(|sampler| sampler.begin(java, thread, period_ns));
    begun.unwrap_or(0)
}

/// A block has ended. If that is on its own thread, takes a last sample.
pub fn end(java: Java, token: u64) {
    if let Some(sampler) = SAMPLER.get() {
        sampler.end(java, token);
    }
}

fn clamped(period_ns: u64) -> u64 {
    period_ns.clamp(*PERIODS_NS.start(), *PERIODS_NS.end())
}

impl Sampler {
    fn begin(&'static self, java: Java, thread: Object<'_>, period_ns: u64) -> Option<u64> {
        let log = self.recorder.log();
        if log.is_closed() || log.is_dead() {
            return None;
        }
        let period_ns = clamped(period_ns);
        let java_id = self.recorder.java_id(java, thread);
        let ti = self.recorder.ti();
        let info = ti.thread(java, thread).ok()?;
        let known = self.recorder.known_thread(java, thread, java_id, info);
        if java_id <= 0 || known.excluded {
            return None;
        }
        let thread_of_request = java.global(thread)?;
        let since = accounting::now(ti.cpu_ns(thread).ok());
        let mut state = lock(&self.state);
        let full = state.requests.is_full();
        if state.ended || full {
            drop(state);
            java.drop_global(thread_of_request);
            if full && !WARNED.swap(true, Relaxed) {
                say(&format!(
                    "{OPEN_LIMIT} blocks are being sampled, the limit: does the program close them?"
                ));
            }
            return None;
        }
        // What such a program asks for is what the log has, from now on.
        let was_unasked = state.unasked.take().is_some();
        if was_unasked && state.accounting.is_unasked() {
            self.close_unrequested(&mut state);
            state.accounting.set_unasked(false);
        }
        if state.recording {
            state.accounting.open(java_id, since.into(), false);
        }
        let next_ns = since.at_ns + period_ns;
        let of = (java_id, thread_of_request, known);
        let token = state.requests.add(of, period_ns, next_ns);
        match was_unasked {
            true => self.changed(state),
            false => self.call_on(state, next_ns),
        }
        Some(token)
    }

    fn end(&'static self, java: Java, token: u64) {
        let Some((java_id, known)) = lock(&self.state).requests.of(token) else { return };
        let last = self.observe_self(java, java_id, &known);
        let mut state = lock(&self.state);
        if state.requests.end(token).is_none() {
            return;
        }
        if let Some((now, mut frames)) = last.filter(|_| state.recording && !state.ended) {
            let (thread, frames) = (&known, &mut frames[..]);
            let observation = Observation { thread, state: ThreadState::Running, bits: 0, frames };
            state.accounting.seen((&self.statistics, java), java_id, observation, now);
        }
        // Other blocks around this one, and snapshots of all, go on with it.
        if !state.requests.has(java_id) {
            match state.accounting.is_of_all(java_id) {
                true => state.accounting.flush(&self.statistics, java_id),
                false => state.accounting.close(&self.statistics, java_id),
            }
        }
        self.give_back(java, state);
    }

    /// The last look at a thread, by itself; `None` for another one.
    fn observe_self(
        &self,
        java: Java,
        java_id: i64,
        known: &Thread,
    ) -> Option<(Moment, Vec<jvmtiFrameInfo>)> {
        let ti = self.recorder.ti();
        let current = ti.current_thread(java);
        if current.is_null() {
            return None;
        }
        let is_own = self.recorder.java_id(java, current.get()) == java_id;
        let last = is_own.then(|| {
            let now = accounting::now(ti.cpu_ns(current.get()).ok());
            let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
            let mut frames = vec![frame; self.recorder.depth() + 1];
            let count = ti.stack_of(Object::NULL, END_FRAMES, &mut frames).unwrap_or(0);
            frames.truncate(count);
            self.recorder.define_stack(java, known, &mut frames);
            self.statistics.walks.fetch_add(1, Relaxed);
            (now, frames)
        });
        java.drop_local(current);
        last
    }

    /// Sees to it that references are given back that are used no more, by the
    /// thread that takes snapshots if there is one, which may be using them.
    fn give_back(&self, java: Java, mut state: MutexGuard<'_, SamplerState>) {
        if state.watched {
            if state.requests.many_ended() {
                self.wake.notify_all();
            }
            return;
        }
        let ended = state.requests.take_ended();
        drop(state);
        ended.into_iter().for_each(|reference| java.drop_global(reference));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_clamped() {
        assert_eq!(clamped(0), 1_000_000);
        assert_eq!(clamped(u64::MAX), 3_600_000_000_000);
        assert_eq!(clamped(100_000_000), 100_000_000);
    }
}
