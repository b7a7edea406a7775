//! The waits that chains are made of.

use super::longest::Longest;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tyrion_converters::filter::Window;
use tyrion_formats::{Event, Recording};
use tyrion_wire::{WaitKind, slot::Pending};

/// So many waits whose owner is known are followed, and so many others are seen on
/// the way: the longest.
const MOST: usize = 1 << 18;

/// A wait, by the ids of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogWait {
    pub(super) thread: u32,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) kind: WaitKind,
    pub(super) lock: u32,
    /// 0 if it is not known.
    pub(super) owner: u32,
    /// Whether the filter asks for its time and duration.
    pub(super) is_asked: bool,
    /// Whether it had not ended when the log did.
    pub(super) is_pending: bool,
}

impl LogWait {
    /// A wait that has ended; `None` if its site's definition is lost.
    fn of(log: &Recording, window: &Window, event: &Event) -> Option<LogWait> {
        let site = log.definitions().sites().get(event.site)?;
        Some(LogWait {
            thread: event.thread,
            start_ns: event.start_ns,
            end_ns: event.end_ns,
            kind: site.kind,
            lock: site.lock,
            owner: known(log, event.owner),
            is_asked: window.is_open() || window.takes(event),
            is_pending: false,
        })
    }

    /// One that had not ended: it is asked for whenever it began, as long as it
    /// took until then.
    fn pending(log: &Recording, pending: &Pending) -> LogWait {
        LogWait {
            thread: pending.thread,
            start_ns: pending.start_ns,
            end_ns: log.end_ns().max(pending.start_ns),
            kind: pending.kind,
            lock: pending.lock,
            owner: known(log, pending.owner),
            is_asked: true,
            is_pending: true,
        }
    }

    pub(super) fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// An owner, 0 if it is not defined. The thread that stands for all virtual ones
/// is none.
fn known(log: &Recording, owner: u32) -> u32 {
    let thread = log.definitions().threads().get(owner).filter(|_| owner != 0);
    if thread.is_some_and(|thread| thread.java_id != 0) { owner } else { 0 }
}

/// The waits of a log.
pub(super) struct Gathered {
    /// Whose owner is known.
    pub(super) owned: Longest<LogWait>,
    /// Whose owner is not known.
    pub(super) others: Longest<LogWait>,
}

impl Default for Gathered {
    fn default() -> Self {
        Gathered { owned: Longest::new(MOST), others: Longest::new(MOST) }
    }
}

impl Gathered {
    /// Those of a log, gathered on all workers of the current rayon pool.
    pub(super) fn of(log: &Recording, window: &Window) -> Gathered {
        let (next, all) = (AtomicUsize::new(0), Mutex::new(Gathered::default()));
        rayon::broadcast(|_| {
            let mut gathered = Gathered::default();
            while let Some(chunk) = log.event_chunks().get(next.fetch_add(1, Relaxed)) {
                // What is damaged was told in the first pass.
                if let Ok(mut events) = log.events(chunk) {
                    events.visit(|event| gathered.put(LogWait::of(log, window, event)));
                }
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).add(gathered);
        });
        let mut gathered = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        for pending in log.pending() {
            gathered.put(Some(LogWait::pending(log, pending)));
        }
        gathered
    }

    fn put(&mut self, wait: Option<LogWait>) {
        if let Some(wait) = wait {
            let to = if wait.owner == 0 { &mut self.others } else { &mut self.owned };
            to.push(wait.length_ns(), wait);
        }
    }

    fn add(&mut self, other: Gathered) {
        self.owned.add(other.owned);
        self.others.add(other.others);
    }

    /// Hands over the waits that are not kept, since they are too short, whose
    /// owner is known, in the order of the log.
    pub(super) fn for_each_short(
        &self,
        log: &Recording,
        window: &Window,
        mut take: impl FnMut(LogWait),
    ) {
        if self.owned.keeps(0) {
            return;
        }
        let is_short = |wait: &LogWait| wait.owner != 0 && !self.owned.keeps(wait.length_ns());
        for chunk in log.event_chunks() {
            let Ok(mut events) = log.events(chunk) else { continue };
            events.visit(|event| {
                let wait = LogWait::of(log, window, event).filter(is_short);
                wait.into_iter().for_each(&mut take);
            });
        }
        let pending = log.pending().iter().map(|pending| LogWait::pending(log, pending));
        pending.filter(is_short).for_each(take);
    }
}
