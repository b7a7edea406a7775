//! Reads the items of chunks.

use super::{Axis, Hold, Item, Release, SampledThread, Source, Wait, Waker};
use crate::{
    aggregate::known_thread,
    filter::Window,
    profile::{NO_LOCK, SampleRow},
    states::StateReader,
    totals::SampleTotals,
};
use tyrion_formats::{Entry, Event, Events, Note, Noted, Recording};
use tyrion_wire::{self as wire, sample::Sample, trace, wake::Wake};

/// What reading needs of a timeline.
#[derive(Clone, Copy)]
pub(super) struct Readable<'t, 'a> {
    pub(super) source: &'t Source<'a>,
    pub(super) axis: &'t Axis,
    /// What the filter asks of single waits, by log.
    pub(super) windows: &'t [Window],
    /// The stack that is shown for each stack of the profile.
    pub(super) kept: &'t [u32],
    /// Whether the threads of each log are asked for, by their ids in the log.
    pub(super) wanted: &'t [Vec<bool>],
    /// When every hold was recorded, by log.
    pub(super) every_hold: &'t [Vec<Span>],
    /// What reads the samples of each log.
    pub(super) states: &'t [StateReader<'a>],
}

/// A span of time, in ns: from the first moment to the last one, both within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

impl Span {
    /// Whether a moment is within.
    #[inline]
    pub(super) fn holds(&self, at_ns: u64) -> bool {
        (self.from_ns..=self.to_ns).contains(&at_ns)
    }
}

/// Which items are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ItemFilter {
    /// Only waits of the threads of the profile from the first one to before the second
    /// one; of all if there are none.
    pub(super) threads: Option<(u32, u32)>,
    /// Holds and releases, too.
    pub(super) with_trace: bool,
    /// What threads were seen doing, too.
    pub(super) with_samples: bool,
}

impl ItemFilter {
    pub(super) fn has(&self, item: &Item) -> bool {
        match (self.threads, item) {
            (Some((first, end)), Item::Wait(wait)) => (first..end).contains(&wait.thread),
            _ => true,
        }
    }
}

/// The thread that was looked up last: most waits of a chunk are of one.
#[derive(Clone, Copy, Default)]
struct KnownThread {
    /// As the event has it.
    of: Option<u32>,
    id: u32,
    thread: Option<u32>,
}

impl Readable<'_, '_> {
    /// Hands over the items of a chunk that the filter asks for.
    pub(super) fn visit(
        &self,
        run: u32,
        events: &mut Events<'_>,
        wanted: ItemFilter,
        take: &mut dyn FnMut(Item),
    ) {
        let of_run = run as usize;
        let Some(window) = self.windows.get(of_run) else { return };
        // Who ended a wait, and in which span it was, is told behind it.
        let mut last: Option<Item> = None;
        let mut known = KnownThread::default();
        events.visit_all(|entry| {
            if let Entry::Note(noted) = &entry
                && self.tells_of(noted, &mut last)
            {
                return;
            }
            if let Some(item) = last.take() {
                take(item);
            }
            match &entry {
                Entry::Wait(event) if window.takes(event) => {
                    last = self.wait(run, event, &mut known).map(Item::Wait);
                }
                Entry::Note(noted) => last = self.noted(run, noted, (window, wanted)),
                _ => {}
            }
        });
        if let Some(item) = last {
            take(item);
        }
    }

    /// Whether a record tells of the one before, and what it does.
    fn tells_of(&self, noted: &Noted<Note<'_>>, last: &mut Option<Item>) -> bool {
        match (noted.record, last) {
            (Note::Wake(wake), Some(Item::Wait(wait))) => self.set_waker(wait, &noted.with(wake)),
            (Note::Span(span), Some(Item::Wait(wait))) => wait.span = span,
            (Note::Span(span), Some(Item::Hold(hold))) => hold.span = span,
            (Note::Wake(_) | Note::Span(_) | Note::Operation(_), _) => {}
            _ => return false,
        }
        true
    }

    /// The wait, if the profile has it.
    fn wait(&self, run: u32, event: &Event, known: &mut KnownThread) -> Option<Wait> {
        let log = self.source.logs.get(run as usize)?;
        let ids = self.source.ids.get(run as usize)?;
        let (stack, lock, kind) = ids.site(event.site)?;
        if known.of != Some(event.thread) {
            let id = known_thread(log, event.thread);
            *known = KnownThread { of: Some(event.thread), id, thread: ids.thread(id) };
        }
        Some(Wait {
            run,
            thread: known.thread?,
            thread_id: known.id,
            start_ns: self.axis.at(run, event.start_ns),
            end_ns: self.axis.at(run, event.end_ns),
            wait_ns: event.wait_ns(),
            stack: self.kept.get(stack as usize).copied().unwrap_or(stack),
            lock,
            kind,
            site: event.site,
            outcome: event.outcome,
            owner: known_thread(log, event.owner),
            parks: event.parks,
            waker: None,
            span: wire::span::Span::NONE,
        })
    }

    /// What a thread was seen doing, if the profile has it.
    fn seen(&self, run: u32, sampled: &Noted<Sample>, window: &Window) -> Option<SampledThread> {
        let ids = self.source.ids.get(run as usize)?;
        let reader = self.states.get(run as usize)?;
        let SampleTotals { snapshots: count, wall_ns, cpu_ns } = window.part(sampled)?;
        let (thread_id, lock) = reader.thread_and_lock(sampled);
        let (thread, lock) = (ids.thread(thread_id)?, ids.lock(lock).unwrap_or(NO_LOCK));
        let stack = ids.stack(reader.stack(sampled))?;
        let (stack, kind) = (self.kept.get(stack as usize).copied()?, sampled.kind());
        // What the filter asks for is what the profile has.
        let key = (thread, stack, reader.state(sampled), lock, kind);
        let of = |row: &SampleRow| (row.thread, row.stack, row.state, row.lock, row.kind);
        self.source.profile.samples.binary_search_by_key(&key, of).ok()?;
        let (at_ns, state) = (self.axis.at(run, sampled.at_ns), sampled.state());
        Some(SampledThread {
            run,
            thread_id,
            at_ns,
            stack,
            state,
            lock,
            kind,
            count,
            wall_ns,
            cpu_ns,
        })
    }

    fn set_waker(&self, wait: &mut Wait, woken: &Noted<Wake>) {
        let Some(log) = self.source.logs.get(wait.run as usize) else { return };
        if woken.record.site == wait.site && known_thread(log, woken.thread) == wait.thread_id {
            let at_ns = self.axis.at(wait.run, woken.woken_ns());
            wait.waker = Some(Waker {
                thread_id: known_thread(log, woken.record.waker),
                stack_id: woken.record.stack,
                at_ns: at_ns.min(wait.end_ns).max(wait.start_ns),
            });
        }
    }

    fn noted(
        &self,
        run: u32,
        noted: &Noted<Note<'_>>,
        (window, wanted): (&Window, ItemFilter),
    ) -> Option<Item> {
        let ItemFilter { with_trace, with_samples, .. } = wanted;
        match noted.record {
            Note::Hold(hold) if with_trace => {
                self.hold(run, &noted.with(hold), window).map(Item::Hold)
            }
            Note::Blame(blame) if with_trace => {
                self.release(run, &noted.with(blame)).map(Item::Release)
            }
            Note::Sample(sample) if with_samples => {
                self.seen(run, &noted.with(sample), window).map(Item::Seen)
            }
            _ => None,
        }
    }

    /// The hold, if it has a time of its own and the filter does not leave it out; its
    /// lock is not looked at.
    fn hold(&self, run: u32, traced: &Noted<trace::Hold>, window: &Window) -> Option<Hold> {
        let hold = &traced.record;
        let log = self.source.logs.get(run as usize)?;
        let thread_id = known_thread(log, traced.thread);
        let is_wanted = self.wanted.get(run as usize)?.get(thread_id as usize) == Some(&true);
        let mut every = self.every_hold.get(run as usize)?.iter();
        // One that ended earlier than the record before it has no time since then.
        let is_timed = hold.delta_ns != 0 && every.any(|span| span.holds(traced.at_ns));
        if !is_wanted || !is_timed || window.min_wait_ns > 0 || !window.holds(traced.at_ns) {
            return None;
        }
        Some(Hold {
            run,
            thread_id,
            start_ns: self.axis.at(run, traced.at_ns.saturating_sub(hold.hold_ns)),
            end_ns: self.axis.at(run, traced.at_ns),
            place: hold.place,
            class: hold.class,
            hash: hold.hash,
            span: wire::span::Span::NONE,
        })
    }

    /// The release, if the profile has waits of that thread and site.
    fn release(&self, run: u32, traced: &Noted<trace::Blame>) -> Option<Release> {
        let blame = &traced.record;
        let log = self.source.logs.get(run as usize)?;
        let ids = self.source.ids.get(run as usize)?;
        let waiter_id = known_thread(log, blame.waiter);
        ids.site(blame.site)?;
        ids.thread(waiter_id)?;
        Some(Release {
            run,
            at_ns: self.axis.at(run, traced.at_ns),
            thread_id: known_thread(log, traced.thread),
            waiter_id,
            site: blame.site,
            stack_id: blame.stack,
            place: blame.place,
        })
    }
}

/// When every hold of a log was recorded, in its own times.
pub(super) fn every_hold(log: &Recording) -> Vec<Span> {
    if !log.is_trace() {
        return Vec::new();
    }
    let first = log.facts().metadata("events").unwrap_or_default() == "all";
    let changes = log.option_changes().into_iter().filter(|change| change.key == "events");
    let mut spans = Vec::new();
    let mut since_ns = first.then_some(0);
    for change in changes {
        let is_all = change.value == "all";
        if let Some(from_ns) = since_ns.filter(|_| !is_all) {
            spans.push(Span { from_ns, to_ns: change.from_ns });
        }
        since_ns = if is_all { since_ns.or(Some(change.from_ns)) } else { None };
    }
    spans.extend(since_ns.map(|from_ns| Span { from_ns, to_ns: u64::MAX }));
    spans
}
