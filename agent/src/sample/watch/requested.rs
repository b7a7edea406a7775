//! Threads that are looked at by request.

use super::{Subject, Watch};
use crate::{sample::requests::Due, sync::lock};
use std::sync::Arc;

impl Watch<'_> {
    /// Looks at the threads that are due by request.
    pub(super) fn observe_requested(&mut self) {
        let due = std::mem::take(&mut self.due);
        for due in &due {
            if self.observe_request(due).is_none() {
                let mut state = lock(&self.sampler.state);
                state.requests.end_of_thread(due.java_id);
                state.accounting.close(&self.sampler.statistics, due.java_id);
            }
        }
        self.observe_subjects();
        self.due = due;
        self.due.clear();
    }

    fn observe_request(&mut self, due: &Due) -> Option<()> {
        let noted = self.sampler.recorder.thread_status(self.java, due.thread);
        let now = self.moment(due.thread)?;
        let is_unmoved = {
            let Some(mut state) = self.state() else { return Some(()) };
            if !state.requests.has(due.java_id) {
                return Some(());
            }
            let accounting = &mut state.accounting;
            if !accounting.knows(due.java_id) {
                // After a pause.
                accounting.open(due.java_id, now.into(), false);
                return Some(());
            }
            accounting.is_unmoved(due.java_id, now)
        };
        if is_unmoved && self.is_still(due.java_id, due.thread, now, noted) {
            return Some(());
        }
        let known = Arc::clone(&due.known);
        self.ask(Subject { java_id: due.java_id, thread: due.thread, known, now, noted })
    }
}
