//! Virtual threads, on the threads that carry them.

use super::{Subject, Watch, look::TRIES};
use crate::sample::{Settings, books::Moment};
use std::sync::Arc;

impl Watch {
    /// Looks at the virtual thread that a carrier runs; `false` when there is
    /// none.
    pub(super) fn look_at_occupant(&mut self, at: usize, settings: &Settings, now: Moment) -> bool {
        let Some(function) = self.virtual_thread else { return false };
        let jvm = (self.sampler.recorder, self.java);
        let seat = &mut self.seats.all[at];
        let carrier_id = seat.java_id;
        let thread = self.ti.virtual_thread(function, seat.thread.get());
        let before = seat.occupant.as_ref().map(|occupant| occupant.java_id);
        if thread.is_null() {
            seat.vacate(jvm);
        }
        let occupant = (!thread.is_null()).then(|| seat.occupy(jvm, thread, settings)).flatten();
        let occupant = occupant.map(|o| (o.java_id, Arc::clone(&o.known), o.wanted));
        let now_id = occupant.as_ref().map(|&(java_id, ..)| java_id);
        if let Some(before) = before.filter(|_| before != now_id)
            && let Some(mut state) = self.state()
        {
            state.books.flush(&self.sampler.statistics, before);
        }
        let found = occupant.is_some();
        match occupant {
            Some((java_id, known, wanted)) => {
                let subject = Subject { java_id, thread, known, now, noted: None };
                self.walk_occupant(&subject, carrier_id, wanted);
            }
            None if !self.seats.all[at].wanted => self.pass_over(carrier_id, now),
            None => {}
        }
        self.java.drop_local(thread);
        found
    }

    /// The carrier's time is the virtual thread's, unless that one's time is
    /// accounted for by itself.
    fn walk_occupant(&mut self, subject: &Subject, carrier_id: i64, wanted: bool) {
        let by_itself = self.state().is_some_and(|state| state.books.knows(subject.java_id));
        let looked = (wanted || by_itself).then(|| self.look(subject.thread, TRIES)).flatten();
        let Some((bits, count)) = looked else {
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
            state.books.pass_over(java_id, now);
        }
    }
}
