//! Which platform threads live, and when: the log tells of all, not only of
//! those that wait, so that it can be said what share of their time was lost.

use super::{
    Recorder,
    scene::{ENDED, STARTED},
};
use crate::{
    clock,
    jvm::{
        Java,
        threads::{is_blocked, is_own},
    },
    lock_names::Way,
    spawn,
    sync::lock,
    threads::{Begun, Owner, Thread},
    trace,
};
use jvmti_bindings::sys::jni::jthread;
use std::{
    cell::Cell,
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tyrion_wire::{WaitKind, def::id};

/// A thread takes some 80 bytes of the log: of those that do not wait, so many
/// are told of that they take an eighth of a file at most.
const BYTES_A_THREAD: u64 = 640;
/// And of no more than these in a log that does not rotate.
const MOST_TOLD: u64 = 100_000;

/// Whether all threads there were when recording began have been told of.
static ALL_TOLD: AtomicBool = AtomicBool::new(false);

/// The Java ids of platform threads that have ended last; while threads are being
/// told of, of all that end.
static ENDS: Mutex<Ends> = Mutex::new(Ends { ids: VecDeque::new(), is_telling: false });
/// The JVM lists a thread for a moment after it has said that it ends: so many
/// may be in such a moment.
const ENDS_KEPT: usize = 256;

struct Ends {
    ids: VecDeque<i64>,
    is_telling: bool,
}

impl Ends {
    fn add(&mut self, java_id: i64) {
        if !self.is_telling {
            self.ids.truncate(ENDS_KEPT - 1);
        }
        self.ids.push_front(java_id);
    }
}

/// How many threads a file of the log tells of that do not wait; `filesize` as
/// the user has it.
pub fn most_told(filesize: Option<u64>) -> u32 {
    let most = filesize.map_or(MOST_TOLD, |bytes| (bytes / BYTES_A_THREAD).min(MOST_TOLD));
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// When the current thread started, monotonic ns; 0 before recording began.
pub(super) fn started_ns() -> u64 {
    match STARTED.try_with(Cell::get).unwrap_or(0) {
        // One that attaches itself may take a monitor before it is said to start.
        0 if ALL_TOLD.load(Relaxed) => clock::now_ns(),
        started_ns => started_ns,
    }
}

impl Recorder {
    /// Recording begins, or goes on: tells of all threads there are.
    pub fn tell_threads(&self, java: Java) {
        // Those that started while nothing was recorded count from now on.
        let started_ns = if ALL_TOLD.load(Relaxed) { clock::now_ns() } else { 0 };
        let mut all_told = true;
        lock(&ENDS).is_telling = true;
        for thread in self.ti.all_threads(java).unwrap_or_default() {
            if !is_own(java, thread) {
                all_told &= self.tell_thread(java, thread, started_ns);
                self.find_wait(java, thread);
            }
            java.drop_local(thread);
        }
        if all_told {
            ALL_TOLD.store(true, Relaxed);
        }
        // Some have said that they end before they were told of here: never again.
        let ended = {
            let mut ends = lock(&ENDS);
            ends.is_telling = false;
            ends.ids.clone()
        };
        ended.into_iter().for_each(|java_id| self.forget_ended(java_id));
    }

    /// The current thread starts.
    pub fn thread_starts(&self, java: Java, thread: jthread, recorded: bool) {
        let now_ns = clock::now_ns();
        let _ = STARTED.try_with(|started| started.set(now_ns));
        if recorded && self.is_enabled() && !spawn::is_agents() {
            self.tell_thread(java, thread, now_ns);
        }
    }

    /// A thread that has been told of waits for a monitor already: without this a
    /// program that hangs when it is attached to would seem to be idle. Waits
    /// count from now on. Those in `java.util.concurrent` do not: no probe would
    /// tell when they end.
    fn find_wait(&self, java: Java, thread: jthread) {
        let is_blocked = || self.ti.state_bits(thread).is_ok_and(is_blocked);
        let known = self.threads.get(java.long_field(thread, self.fields.thread_id));
        let Some(known) = known.filter(|known| !known.excluded && is_blocked()) else { return };
        let start_ns = clock::now_ns();
        let volume = self.log.current();
        let stack = self.stack_at_monitor(&volume, java, thread);
        // HotSpot tells no agent that was attached later.
        let monitor = self.ti.contended_monitor(thread);
        let lock = match monitor.is_null() {
            true => id::UNKNOWN,
            false => self.lock_of(&volume, java, monitor, Way::Unseen).id,
        };
        java.drop_local(monitor);
        // From here on the thread's own events wait.
        let mut waits = known.waits();
        let waits_already = waits.monitor.is_some() || waits.object_wait.is_some();
        if waits.volume() == volume.number && !waits_already && is_blocked() {
            let (kind, owner) = (WaitKind::Monitor, Owner::default());
            waits.monitor = Some(Begun { kind, start_ns, stack, lock, owner });
            known.publish(&mut waits, &volume);
        }
    }

    /// Whether the log tells of it, as far as it is to.
    fn tell_thread(&self, java: Java, thread: jthread, started_ns: u64) -> bool {
        let java_id = java.long_field(thread, self.fields.thread_id);
        if java_id <= 0 || self.log.is_closed() {
            return true;
        }
        let volume = self.log.current();
        if volume.dictionary.threads() >= self.most_told {
            return false;
        }
        let known = match self.threads.get(java_id) {
            Some(known) => known,
            None => self.add_thread(java, thread, java_id),
        };
        if !known.excluded && !known.is_known(&volume) {
            self.describe_thread(java, thread, &known);
            known.started_at(&volume, started_ns);
            return known.is_told(&volume);
        }
        true
    }

    /// A thread of which the log tells begins its first event, or is named as an
    /// owner: it may have another name by now.
    #[cold]
    pub(super) fn look_at_name(&self, java: Java, thread: jthread, known: &Thread) {
        if let Ok(info) = self.ti.thread(java, thread) {
            known.rename(&self.log.current(), info.name, clock::now_ns());
        }
    }

    /// A thread ends.
    pub fn thread_ends(&'static self, java: Java, thread: jthread, is_virtual: bool) {
        let java_id = java.long_field(thread, self.fields.thread_id);
        if !is_virtual {
            lock(&ENDS).add(java_id);
        }
        // HotSpot may still contend for the Thread object after this.
        let _ = ENDED.try_with(|ended| ended.set(java_id));
        if let Some(ended) = self.threads.remove(java_id) {
            let volume = self.log.current();
            if !ended.is_virtual() {
                ended.started_at(&volume, started_ns());
            }
            ended.ends(&volume, clock::now_ns());
        }
        if let Some(trace) = trace::active() {
            trace.thread_ends(java_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_tell_of_fewer_threads() {
        assert_eq!(most_told(Some(64 << 10)), 102);
        assert_eq!(most_told(Some(1 << 40)), 100_000);
        assert_eq!(most_told(None), 100_000);
    }

    #[test]
    fn all_ends_are_kept_while_threads_are_told_of() {
        let mut ends = Ends { ids: VecDeque::new(), is_telling: true };
        (0..1000).for_each(|id| ends.add(id));
        assert_eq!(ends.ids.len(), 1000);
        ends.is_telling = false;
        ends.add(1000);
        assert_eq!(ends.ids.len(), ENDS_KEPT);
        assert_eq!(ends.ids.iter().copied().take(2).collect::<Vec<_>>(), [1000, 999]);
    }
}
