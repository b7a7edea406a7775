//! Waits whose spans are known: the longest ones.

use super::{ids::WaitKey, known::known_thread};
use crate::profile::LinkRow;
use std::{cmp::Reverse, collections::BinaryHeap};
use tyrion_formats::{Event, Recording};
use tyrion_wire::span::Span;

/// So many are kept of a log, however many there are.
const MOST: usize = 1 << 14;

/// A wait in a span. In the order of how long it took; which ones are kept does not depend on
/// who finds which of them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LinkedWait {
    pub(super) wait_ns: u64,
    trace: [u64; 2],
    id: u64,
    pub(super) thread: u32,
    pub(super) site: u32,
    end_ns: u64,
    owner: u32,
}

impl LinkedWait {
    /// As a profile has it.
    pub(super) fn row(
        &self,
        log: &Recording,
        thread: u32,
        (stack, lock, kind): WaitKey,
    ) -> LinkRow {
        let span = Span { trace: self.trace, id: self.id };
        let owner = log.definitions().threads().get(self.owner).map_or(0, |it| it.java_id);
        LinkRow { thread, stack, lock, kind, owner, span, wait_ns: self.wait_ns }
    }
}

/// The longest ones.
#[derive(Default)]
pub(super) struct LinkedWaits(BinaryHeap<Reverse<LinkedWait>>);

impl LinkedWaits {
    fn put(&mut self, wait: LinkedWait) {
        if self.0.len() >= MOST {
            if self.0.peek().is_none_or(|Reverse(least)| *least >= wait) {
                return;
            }
            self.0.pop();
        }
        self.0.push(Reverse(wait));
    }

    /// Takes others up.
    pub(super) fn take(&mut self, others: &mut LinkedWaits) {
        others.0.drain().for_each(|Reverse(wait)| self.put(wait));
    }

    /// All of them, the longest first.
    pub(super) fn into_sorted(self) -> Vec<LinkedWait> {
        self.0.into_sorted_vec().into_iter().map(|Reverse(wait)| wait).collect()
    }
}

/// Finds them.
pub(super) struct Linker {
    /// The record before, if it was a wait that the filter takes.
    last: Option<Event>,
    pub(super) found: LinkedWaits,
}

impl Linker {
    pub(super) fn new() -> Linker {
        Linker { last: None, found: LinkedWaits::default() }
    }

    /// A wait, to which a span may belong.
    #[inline]
    pub(super) fn wait(&mut self, event: &Event) {
        self.last = Some(*event);
    }

    /// The span of the record before.
    pub(super) fn span(&mut self, log: &Recording, thread: u32, span: Span) {
        let Some(event) = self.last.take().filter(|event| event.thread == thread) else { return };
        if span.trace != [0; 2] && log.definitions().sites().get(event.site).is_some() {
            self.found.put(LinkedWait {
                wait_ns: event.wait_ns(),
                trace: span.trace,
                id: span.id,
                thread: known_thread(log, event.thread),
                site: event.site,
                end_ns: event.end_ns,
                owner: event.owner,
            });
        }
    }

    /// Another record.
    pub(super) fn other(&mut self) {
        self.last = None;
    }
}
