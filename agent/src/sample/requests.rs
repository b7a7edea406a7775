//! Blocks of code that the program wants sampled, on one thread each.

use super::{
    SAMPLER, Sampler, State,
    books::{self, Moment, Sight},
    pace::Pace,
};
use crate::{
    agent,
    jvm::{Java, java::Global},
    options::PERIODS_NS,
    sync::lock,
    threads::Thread,
};
use jvmti_bindings::sys::{jni::jthread, jvmti::jvmtiFrameInfo};
use std::sync::{
    Arc, MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tyrion_wire::sample::ThreadState;

/// So many blocks are sampled at a time: programs may forget to close them.
const OPEN_LIMIT: usize = 4096;
/// The frames of the API when it says that a block has ended: the native
/// method and `Sampling.close`.
const END_FRAMES: usize = 2;
/// So many references may wait until the thread that takes snapshots wakes up.
const ENDED_LIMIT: usize = 256;

/// Somebody knows that there are too many.
static TOLD: AtomicBool = AtomicBool::new(false);

/// All of them.
#[derive(Default)]
pub struct Requests {
    last_token: u64,
    open: Vec<Request>,
    /// References that nobody uses any more.
    ended: Vec<Global>,
}

/// One block that is sampled.
pub struct Request {
    token: u64,
    /// The thread's Java id.
    pub java_id: i64,
    /// The thread, to be looked at by the thread that takes snapshots; it gives
    /// the reference back.
    pub thread: Global,
    /// As the recorder knows it.
    pub known: Arc<Thread>,
    period_ns: u64,
    next_ns: u64,
}

/// A request that is due.
pub struct Due {
    /// The thread's Java id.
    pub java_id: i64,
    /// The thread: a global reference, until [`Requests::take_ended`].
    pub thread: jthread,
    /// As the recorder knows it.
    pub known: Arc<Thread>,
}

impl Requests {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether there are references to give back.
    pub fn any_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Nobody is sampled any more.
    pub fn end_all(&mut self) {
        self.ended.extend(self.open.drain(..).map(|request| request.thread));
    }

    /// Whether a thread is sampled by request.
    pub fn has(&self, java_id: i64) -> bool {
        self.open.iter().any(|request| request.java_id == java_id)
    }

    /// When the next one is due, monotonic ns.
    pub fn next_ns(&self) -> Option<u64> {
        self.open.iter().map(|request| request.next_ns).min()
    }

    /// Those that are due; they are due again a period later.
    pub fn take_due(&mut self, now_ns: u64, pace: &mut Pace, due: &mut Vec<Due>) {
        due.clear();
        for request in self.open.iter_mut().filter(|request| request.next_ns <= now_ns) {
            request.next_ns = pace.next_ns(request.next_ns, now_ns, request.period_ns);
            // A thread may have several.
            if due.iter().all(|due| due.java_id != request.java_id) {
                let (java_id, thread) = (request.java_id, request.thread.get());
                due.push(Due { java_id, thread, known: Arc::clone(&request.known) });
            }
        }
    }

    /// References that nobody uses any more but the thread that takes snapshots.
    pub fn take_ended(&mut self) -> Vec<Global> {
        std::mem::take(&mut self.ended)
    }

    /// The thread of these requests has ended.
    pub fn end_of_thread(&mut self, java_id: i64) {
        let ended = self.open.extract_if(.., |request| request.java_id == java_id);
        self.ended.extend(ended.map(|request| request.thread));
    }

    /// The thread of a request, by its Java id and as the recorder knows it.
    fn of(&self, token: u64) -> Option<(i64, Arc<Thread>)> {
        let request = self.open.iter().find(|request| request.token == token)?;
        Some((request.java_id, Arc::clone(&request.known)))
    }

    fn end(&mut self, token: u64) -> Option<i64> {
        let at = self.open.iter().position(|request| request.token == token)?;
        let Request { java_id, thread, .. } = self.open.swap_remove(at);
        self.ended.push(thread);
        Some(java_id)
    }
}

/// Has a thread be sampled, until [`end`]: a token for that, 0 when it cannot
/// be.
pub fn begin(java: Java, thread: jthread, period_ns: u64) -> u64 {
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
    fn begin(&'static self, java: Java, thread: jthread, period_ns: u64) -> Option<u64> {
        let log = self.recorder.log();
        if log.is_closed() || log.is_dead() {
            return None;
        }
        let period_ns = clamped(period_ns);
        let java_id = self.recorder.java_id(java, thread);
        let ti = self.recorder.ti();
        let info = ti.thread(java, thread).ok()?;
        let known = self.recorder.sampled_thread(java, thread, java_id, info);
        if java_id <= 0 || known.excluded {
            return None;
        }
        let thread_of_request = java.global(thread)?;
        let since = books::now(ti.cpu_ns(thread).ok());
        let mut state = lock(&self.state);
        let full = state.requests.open.len() >= OPEN_LIMIT;
        if state.ended || full {
            drop(state);
            java.drop_global(thread_of_request);
            if full && !TOLD.swap(true, Relaxed) {
                agent::say(&format!(
                    "{OPEN_LIMIT} blocks are sampled, so no more are: does the program close them?"
                ));
            }
            return None;
        }
        if state.recording {
            state.books.open(java_id, since.into(), false);
        }
        let next_ns = since.at_ns + period_ns;
        let requests = &mut state.requests;
        requests.last_token += 1;
        let (token, thread) = (requests.last_token, thread_of_request);
        requests.open.push(Request { token, java_id, thread, known, period_ns, next_ns });
        self.call_on(state, next_ns);
        Some(token)
    }

    fn end(&'static self, java: Java, token: u64) {
        let Some((java_id, known)) = lock(&self.state).requests.of(token) else { return };
        let last = self.look_at_own(java, java_id, &known);
        let mut state = lock(&self.state);
        if state.requests.end(token).is_none() {
            return;
        }
        if let Some((now, mut frames)) = last.filter(|_| state.recording && !state.ended) {
            let (thread, frames) = (&known, &mut frames[..]);
            let sight = Sight { thread, state: ThreadState::Running, bits: 0, frames };
            state.books.seen((&self.statistics, java), java_id, sight, now);
        }
        // Other blocks around this one, and snapshots of all, go on with it.
        if !state.requests.has(java_id) {
            match state.books.is_of_all(java_id) {
                true => state.books.flush(&self.statistics, java_id),
                false => state.books.close(&self.statistics, java_id),
            }
        }
        self.give_back(java, state);
    }

    /// The last look at a thread, by itself; `None` for another one.
    fn look_at_own(
        &self,
        java: Java,
        java_id: i64,
        known: &Thread,
    ) -> Option<(Moment, Vec<jvmtiFrameInfo>)> {
        let ti = self.recorder.ti();
        let current = ti.current_thread();
        if current.is_null() {
            return None;
        }
        let is_own = self.recorder.java_id(java, current) == java_id;
        let last = is_own.then(|| {
            let now = books::now(ti.cpu_ns(current).ok());
            let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
            let mut frames = vec![frame; self.recorder.depth() + 1];
            let count = ti.stack_of(std::ptr::null_mut(), END_FRAMES, &mut frames).unwrap_or(0);
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
    fn give_back(&self, java: Java, mut state: MutexGuard<'_, State>) {
        if state.watched {
            if state.requests.ended.len() >= ENDED_LIMIT {
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
