//! Virtual threads, on the threads that carry them.

use super::{Subject, Watch, observe::TRIES};
use crate::sample::{accounting::Moment, settings::Settings};
use std::sync::Arc;

impl Watch<'_> {
    /// Looks at the virtual thread that a carrier runs; `false` when there is
    /// none.
    pub(super) fn observe_mounted(&mut self, at: usize, settings: &Settings, now: Moment) -> bool {
        let Some(function) = self.virtual_thread else { return false };
        let jvm = (self.sampler.recorder, self.java);
        let row = &mut self.table.all[at];
        let carrier_id = row.java_id;
        let thread = self.ti.virtual_thread(self.java, function, row.thread.get());
        let before = row.mounted.as_ref().map(|mounted| mounted.java_id);
        if thread.is_null() {
            row.unmount(jvm);
        }
        let mounted = (!thread.is_null()).then(|| row.mount(jvm, thread.get(), settings)).flatten();
        let mounted = mounted.map(|it| (it.java_id, Arc::clone(&it.known), it.wanted));
        let now_id = mounted.as_ref().map(|&(java_id, ..)| java_id);
        if let Some(before) = before.filter(|_| before != now_id)
            && let Some(mut state) = self.state()
        {
            state.accounting.flush(&self.sampler.statistics, before);
        }
        let found = mounted.is_some();
        match mounted {
            Some((java_id, known, wanted)) => {
                let subject = Subject { java_id, thread: thread.get(), known, now, noted: None };
                self.walk_mounted(&subject, carrier_id, wanted);
            }
            None if !self.table.all[at].wanted => self.pass_over(carrier_id, now),
            None => {}
        }
        self.java.drop_local(thread);
        found
    }

    /// The carrier's time is the virtual thread's, unless that one's time is
    /// accounted for by itself.
    fn walk_mounted(&mut self, subject: &Subject<'_>, carrier_id: i64, wanted: bool) {
        let by_itself = self.state().is_some_and(|state| state.accounting.knows(subject.java_id));
        let seen = (wanted || by_itself).then(|| self.read(subject.thread, TRIES)).flatten();
        let Some((bits, count)) = seen else {
            return self.pass_over(carrier_id, subject.now);
        };
        if by_itself {
            let now = Moment { cpu_ns: None, ..subject.now };
            let alone = Subject { known: Arc::clone(&subject.known), now, ..*subject };
            self.seen(&alone, subject.java_id, bits, count);
            self.pass_over(carrier_id, subject.now);
        } else {
            self.seen(subject, carrier_id, bits, count);
        }
    }

    fn pass_over(&self, java_id: i64, now: Moment) {
        if let Some(mut state) = self.state() {
            state.accounting.pass_over(java_id, now);
        }
    }
}
