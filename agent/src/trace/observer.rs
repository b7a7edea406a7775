//! What trace mode wants to know of waits, which contention records: whoever
//! leaves the lock is charged for them, and what the thread holds meanwhile is
//! noted.

use super::Trace;
use crate::{
    jvm::{Java, Object, walk::MOST_SKIPPED},
    recorder::{
        EventContext,
        observe::{FoldedBlame, WaitObserver},
        threads::{PendingWait, Thread},
    },
};
use std::sync::atomic::Ordering::Relaxed;
use tyrion_wire::WaitKind;

/// The frames of `TyrionTrace` between a program's block and the agent, when
/// the block says that its monitor took long.
pub const DELAY_PROBES: usize = 3;
const _: () = assert!(DELAY_PROBES <= MOST_SKIPPED);
/// The same when an object is about to be notified.
pub const NOTIFY_PROBES: usize = 2;
const _: () = assert!(NOTIFY_PROBES <= MOST_SKIPPED);

impl WaitObserver for Trace {
    fn asked_ns(&self, thread: &Thread) -> Option<u64> {
        if !self.on.load(Relaxed) {
            return None;
        }
        self.take_asked_ns(thread.java_id)
    }

    fn wait_begins(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        wait: PendingWait,
        lock: Object<'_>,
    ) {
        if self.on.load(Relaxed) && is_blamed(wait.kind) {
            self.enter_waiter(context.thread, wait, lock);
            if wait.kind.is_contention() {
                self.note_waiting(context, java, wait, lock);
            }
        }
    }

    fn wait_ends(&self, thread: &Thread, wait: &PendingWait, end_ns: u64) -> Vec<FoldedBlame> {
        if is_blamed(wait.kind) {
            self.remove_waiter(thread, wait.lock, end_ns)
        } else {
            Vec::new()
        }
    }

    fn wait_written(&self, context: &mut EventContext<'_>, site: u32, blame: Vec<FoldedBlame>) {
        self.write_blame(context, site, blame);
    }

    fn object_wait(&self, java: Java, java_id: i64, monitor: Object<'_>, gives_up: bool) {
        if self.on.load(Relaxed) {
            self.monitor_paused(java, java_id, monitor, gives_up);
        }
    }
}

/// Whether somebody is to blame for a wait of this kind.
fn is_blamed(kind: WaitKind) -> bool {
    kind.is_contention() || kind == WaitKind::LockReacquire
}
