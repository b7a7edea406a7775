//! Which platform threads live, and when: the log tells of all, not only of
//! those that wait, so that it can be said what share of their time was lost.

use super::{Recorder, os_thread};
use crate::{
    clock,
    jvm::{Java, Object, threads::is_own},
    spawn,
    sync::lock,
};
use std::{
    collections::VecDeque,
    sync::{Mutex, atomic::Ordering::Relaxed},
};

/// A thread takes some 80 bytes of the log: of those that do not wait, so many
/// are listed that they take an eighth of a file at most.
const BYTES_A_THREAD: u64 = 640;
/// And of no more than these in a log that does not rotate.
const MOST_LISTED: u64 = 100_000;

/// The Java ids of platform threads that have ended last; while threads are being
/// listed, of all that end.
static ENDS: Mutex<Ends> = Mutex::new(Ends { ids: VecDeque::new(), is_listing: false });
/// The JVM lists a thread for a moment after it has said that it ends: so many
/// may be in such a moment.
const ENDS_KEPT: usize = 4096;

struct Ends {
    ids: VecDeque<i64>,
    is_listing: bool,
}

impl Ends {
    fn add(&mut self, java_id: i64) {
        if !self.is_listing {
            self.ids.truncate(ENDS_KEPT - 1);
        }
        self.ids.push_front(java_id);
    }
}

/// How many threads a file of the log lists that do not wait; `filesize` as the
/// user has it.
pub fn most_listed(filesize: Option<u64>) -> u32 {
    let most = filesize.map_or(MOST_LISTED, |bytes| (bytes / BYTES_A_THREAD).min(MOST_LISTED));
    u32::try_from(most).unwrap_or(u32::MAX)
}

impl Recorder {
    /// Recording begins, or goes on: has the log tell of all threads there are.
    /// `each` gets every one of them but the agent's own.
    pub fn list_threads(&self, java: Java, each: impl Fn(Object<'_>)) {
        // Those that started while nothing was recorded count from now on.
        let started_ns = if os_thread::ALL_LISTED.load(Relaxed) { clock::now_ns() } else { 0 };
        let mut all_listed = true;
        lock(&ENDS).is_listing = true;
        for thread in self.ti.all_threads(java).unwrap_or_default() {
            if !is_own(java, thread.get()) {
                all_listed &= self.list_thread(java, thread.get(), started_ns);
                each(thread.get());
            }
            java.drop_local(thread);
        }
        if all_listed {
            os_thread::ALL_LISTED.store(true, Relaxed);
        }
        // Some have said that they end before they were listed here: never again.
        let ended = {
            let mut ends = lock(&ENDS);
            ends.is_listing = false;
            ends.ids.clone()
        };
        ended.into_iter().for_each(|java_id| self.forget_ended(java_id));
    }

    /// The current thread starts.
    pub fn thread_starts(&self, java: Java, thread: Object<'_>, recorded: bool) {
        let now_ns = clock::now_ns();
        os_thread::starts(now_ns);
        self.note_current_address(java, thread);
        if recorded && self.is_enabled() && !spawn::is_agents() {
            self.list_thread(java, thread, now_ns);
        }
    }

    /// Has the log tell of a thread: `false` when it lists as many as it may.
    fn list_thread(&self, java: Java, thread: Object<'_>, started_ns: u64) -> bool {
        let java_id = java.long_field(thread, self.fields.thread_id);
        if java_id <= 0 || self.log.is_closed() {
            return true;
        }
        let generation = self.log.current();
        if generation.dictionary.threads() >= most_listed(self.log.filesize()) {
            return false;
        }
        let known = match self.threads.get(java_id) {
            Some(known) => known,
            None => self.add_thread(java, thread, java_id),
        };
        if !known.excluded && !known.is_known(&generation) {
            self.describe_thread(java, thread, &known);
            known.started_at(&generation, started_ns);
            return known.list_in(&generation);
        }
        true
    }

    /// Whether a platform thread has ended, as far as that is remembered.
    pub fn has_ended(&self, java_id: i64) -> bool {
        lock(&ENDS).ids.contains(&java_id)
    }

    /// A thread ends.
    pub fn thread_ends(&'static self, java: Java, thread: Object<'_>, is_virtual: bool) {
        let java_id = java.long_field(thread, self.fields.thread_id);
        if !is_virtual {
            lock(&ENDS).add(java_id);
            self.forget_current_address(java, java_id);
        }
        os_thread::ends(java_id);
        if let Some(ended) = self.threads.remove(java_id) {
            let generation = self.log.current();
            if !ended.is_virtual() {
                ended.started_at(&generation, os_thread::started_ns());
            }
            ended.ends(&generation, clock::now_ns());
            self.drop_slot(java, &ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_list_fewer_threads() {
        assert_eq!(most_listed(Some(64 << 10)), 102);
        assert_eq!(most_listed(Some(1 << 40)), 100_000);
        assert_eq!(most_listed(None), 100_000);
    }

    #[test]
    fn all_ends_are_kept_while_threads_are_listed() {
        let mut ends = Ends { ids: VecDeque::new(), is_listing: true };
        (0..10_000).for_each(|id| ends.add(id));
        assert_eq!(ends.ids.len(), 10_000);
        ends.is_listing = false;
        ends.add(10_000);
        assert_eq!(ends.ids.len(), ENDS_KEPT);
        assert_eq!(ends.ids.iter().copied().take(2).collect::<Vec<_>>(), [10_000, 9_999]);
    }
}
