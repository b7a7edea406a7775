//! The blocks of code that are to be sampled, and when they are due.

use super::pace::Pace;
use crate::{
    jvm::{Object, java::Global},
    recorder::threads::Thread,
};
use std::sync::Arc;

/// At most this many blocks are sampled at a time: programs may forget to close them.
pub const OPEN_LIMIT: usize = 4096;
/// At most this many references may wait for the thread that takes snapshots to wake.
const ENDED_LIMIT: usize = 256;

/// All of them.
#[derive(Default)]
pub struct Requests {
    last_token: u64,
    open: Vec<Request>,
    /// References that nobody uses any more.
    ended: Vec<Global>,
}

/// One block that is sampled.
struct Request {
    token: u64,
    /// The thread's Java id.
    java_id: i64,
    /// The thread, to be looked at by the thread that takes snapshots; it gives
    /// the reference back.
    thread: Global,
    /// As the recorder knows it.
    known: Arc<Thread>,
    period_ns: u64,
    next_ns: u64,
}

/// A request that is due.
pub struct Due {
    /// The thread's Java id.
    pub java_id: i64,
    /// The thread: a global reference, until [`Requests::take_ended`].
    pub thread: Object<'static>,
    /// As the recorder knows it.
    pub known: Arc<Thread>,
}

impl Requests {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether there are as many as there may be.
    pub fn is_full(&self) -> bool {
        self.open.len() >= OPEN_LIMIT
    }

    /// Has a thread sampled, the next time at `next_ns`, monotonic: a token for
    /// that.
    pub fn add(
        &mut self,
        (java_id, thread, known): (i64, Global, Arc<Thread>),
        period_ns: u64,
        next_ns: u64,
    ) -> u64 {
        self.last_token += 1;
        let token = self.last_token;
        self.open.push(Request { token, java_id, thread, known, period_ns, next_ns });
        token
    }

    /// Whether there are so many references to give back that it is time.
    pub fn many_ended(&self) -> bool {
        self.ended.len() >= ENDED_LIMIT
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
                // SAFETY: the thread that takes snapshots uses it, and is the one
                // that gives references back, when it is not looking any more.
                let thread = unsafe { request.thread.get_kept() };
                let java_id = request.java_id;
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
    pub fn of(&self, token: u64) -> Option<(i64, Arc<Thread>)> {
        let request = self.open.iter().find(|request| request.token == token)?;
        Some((request.java_id, Arc::clone(&request.known)))
    }

    /// A block has ended: its thread's Java id.
    pub fn end(&mut self, token: u64) -> Option<i64> {
        let at = self.open.iter().position(|request| request.token == token)?;
        let Request { java_id, thread, .. } = self.open.swap_remove(at);
        self.ended.push(thread);
        Some(java_id)
    }
}
