//! Blocks of code that the program wants sampled, on one thread each.

use super::{SAMPLER, Sampler, books, pace::Pace};
use crate::{
    clock,
    jvm::{Java, java::Global},
    sync::lock,
    threads::Thread,
};
use jvmti_bindings::sys::{jni::jthread, jvmti::jvmtiFrameInfo};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tyrion_wire::sample::ThreadState;

/// No request's period is shorter, ns.
const SHORTEST_PERIOD_NS: u64 = 1_000_000;
/// So many blocks are sampled at a time: programs may forget to close them.
const OPEN_LIMIT: usize = 4096;
/// The frames of the API when it says that a block has ended: the native
/// method and `Sampling.close`.
const END_FRAMES: usize = 2;

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
        self.open.is_empty() && self.ended.is_empty()
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

    fn end(&mut self, token: u64) -> Option<(i64, Arc<Thread>)> {
        let at = self.open.iter().position(|request| request.token == token)?;
        let Request { java_id, thread, known, .. } = self.open.swap_remove(at);
        self.ended.push(thread);
        Some((java_id, known))
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

impl Sampler {
    fn begin(&'static self, java: Java, thread: jthread, period_ns: u64) -> Option<u64> {
        let period_ns = period_ns.max(SHORTEST_PERIOD_NS);
        let java_id = self.recorder.java_id(java, thread);
        let ti = self.recorder.ti();
        let info = ti.thread(java, thread).ok()?;
        let known = self.recorder.sampled_thread(java, thread, java_id, info);
        if java_id <= 0 || known.excluded {
            return None;
        }
        let thread_of_request = java.global(thread)?;
        let mut state = lock(&self.state);
        let full = state.requests.open.len() >= OPEN_LIMIT;
        if state.ended || full {
            drop(state);
            java.drop_global(thread_of_request);
            return None;
        }
        if state.recording {
            state.books.open(java_id, books::now(ti.cpu_ns(thread).ok()), false);
        }
        let requests = &mut state.requests;
        requests.last_token += 1;
        let token = requests.last_token;
        requests.open.push(Request {
            token,
            java_id,
            thread: thread_of_request,
            known,
            period_ns,
            next_ns: clock::now_ns() + period_ns,
        });
        self.call_on(&mut state);
        Some(token)
    }

    fn end(&'static self, java: Java, token: u64) {
        let ti = self.recorder.ti();
        let current = ti.current_thread();
        let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        let mut frames = vec![frame; self.recorder.depth() + 1];
        let mut state = lock(&self.state);
        let Some((java_id, known)) = state.requests.end(token) else {
            drop(state);
            java.drop_local(current);
            return;
        };
        let is_own = !current.is_null() && self.recorder.java_id(java, current) == java_id;
        if is_own && state.recording && !state.ended {
            let now = books::now(ti.cpu_ns(current).ok());
            let count = ti.stack_of(std::ptr::null_mut(), END_FRAMES, &mut frames).unwrap_or(0);
            self.statistics.walks.fetch_add(1, Relaxed);
            state.books.seen(
                (&self.statistics, java),
                java_id,
                (&known, ThreadState::Running),
                &mut frames[..count],
                now,
            );
        }
        // Other blocks around this one, and snapshots of all, go on with it.
        if !state.requests.has(java_id) {
            match state.books.is_of_all(java_id) {
                true => state.books.flush(&self.statistics, java_id),
                false => state.books.close(&self.statistics, java_id),
            }
        }
        self.call_on(&mut state);
        drop(state);
        java.drop_local(current);
    }
}
