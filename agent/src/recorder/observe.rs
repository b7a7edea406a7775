//! What one mode wants to know of the waits that another one records.
//!
//! The modes do not know each other: whoever composes them gives an observer of
//! one to the other.

use super::{
    EventContext,
    threads::{PendingWait, Thread},
};
use crate::jvm::{Java, Object};

/// What the releases of one thread at one place were charged of one wait.
pub struct FoldedBlame {
    /// The Java id of the thread that released, or that of all virtual ones.
    pub owner: i64,
    /// The number of the place where it had taken the lock; 0 unknown.
    pub place: u32,
    /// The charges added up.
    pub charged_ns: u64,
}

/// Who observes waits. All is called on the thread that waits, or has waited.
pub trait WaitObserver: Sync {
    /// When the thread wanted the monitor that it begins to wait for, monotonic
    /// ns; `None` where only the JVM has noticed.
    fn asked_ns(&self, thread: &Thread) -> Option<u64>;

    /// The context's thread begins to wait for a lock.
    fn wait_begins(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        wait: PendingWait,
        lock: Object<'_>,
    );

    /// The context's thread waits no more, since `end_ns`: what is still to be written of its
    /// wait, with [`WaitObserver::wait_written`].
    fn wait_ends(&self, thread: &Thread, wait: &PendingWait, end_ns: u64) -> Vec<FoldedBlame>;

    /// The wait that has ended is written, under a site.
    fn wait_written(&self, context: &mut EventContext<'_>, site: u32, blame: Vec<FoldedBlame>);

    /// `Object.wait` is about to give a monitor up, or has it again: it is not
    /// held between.
    fn object_wait(&self, java: Java, java_id: i64, monitor: Object<'_>, gives_up: bool);
}
