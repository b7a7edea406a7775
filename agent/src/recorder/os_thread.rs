//! What an OS thread knows of its own life.

use crate::clock;
use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

thread_local! {
    /// When this OS thread became a thread of the JVM, monotonic ns; 0 before
    /// recording began.
    static STARTED: Cell<u64> = const { Cell::new(0) };
    /// The Java thread that ended last on this OS thread.
    static ENDED: Cell<i64> = const { Cell::new(0) };
}

/// Whether all threads there were when recording began are in the log.
pub static ALL_LISTED: AtomicBool = AtomicBool::new(false);

/// The current thread starts.
pub fn starts(now_ns: u64) {
    let _ = STARTED.try_with(|started| started.set(now_ns));
}

/// The Java thread that runs here ends.
pub fn ends(java_id: i64) {
    let _ = ENDED.try_with(|ended| ended.set(java_id));
}

/// Whether a Java thread that runs here has ended: HotSpot may still contend
/// for its `Thread` object then.
#[inline]
pub fn has_ended(java_id: i64) -> bool {
    ENDED.try_with(|ended| ended.get() == java_id).unwrap_or(true)
}

/// When the current thread started, monotonic ns; 0 before recording began.
pub fn started_ns() -> u64 {
    match STARTED.try_with(Cell::get).unwrap_or(0) {
        // One that attaches itself may take a monitor before it is said to start.
        0 if ALL_LISTED.load(Relaxed) => clock::now_ns(),
        started_ns => started_ns,
    }
}
