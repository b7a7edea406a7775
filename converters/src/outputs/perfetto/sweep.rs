//! Goes through time and writes what happens.

use super::{
    naming::NameCache,
    packets::{Packets, number},
    proto::{DebugAnnotation, TrackEvent, event_type},
    tracks::{TrackKey, Tracks},
};
use crate::outputs::OutputOptions;
use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BinaryHeap, HashMap},
    io,
};
use tyrion_formats::UNKNOWN;
use tyrion_model::timeline::{Hold, Item, Release, Timeline, Untimed, Wait};
use tyrion_wire::{WaitKind, def::id, span::Span};

/// The categories of events, as [`CATEGORIES`](super::packets::CATEGORIES) has them.
const CONTENTION: u64 = 1;
const WAIT: u64 = 2;
const HOLD: u64 = 3;

/// Among so many waits of a thread that have not ended one is looked for that a release has ended.
const MOST_OPEN: usize = 64;

/// Goes through time and writes what happens.
pub(super) struct Sweep<'a, 'w> {
    timeline: &'a Timeline<'a>,
    options: &'a OutputOptions,
    packets: Packets<'a, 'w>,
    tracks: Tracks,
    naming: NameCache<'a>,
    /// What is going to happen.
    due: BinaryHeap<Reverse<Due<'a>>>,
    /// The waits that have begun and not ended, by log and thread, and slice. A thread has one at a
    /// time, but for threads whose definition is lost, and for ends that were told late.
    waiting: HashMap<(u32, u32), BTreeMap<u64, Open>>,
    /// How many threads wait for each lock of the profile.
    waiters: HashMap<u32, u32>,
    /// How many slices and flows there were.
    slices: u64,
    flows: u64,
}

/// A wait that has not ended.
struct Open {
    site: u32,
    flow: Option<u64>,
}

/// What is going to happen at a moment.
struct Due<'a> {
    at_ns: u64,
    /// Ends come after all else of the same moment.
    is_end: bool,
    /// Of ends, what began last ends first.
    start_ns: Reverse<u64>,
    slice: Reverse<u64>,
    what: SweepItem<'a>,
}

#[derive(Clone, Copy)]
enum SweepItem<'a> {
    EndOfHold {
        thread: TrackKey,
        lane: usize,
    },
    EndOfWait {
        thread: TrackKey,
        lane: usize,
        wait: Wait,
    },
    /// Somebody ends a wait.
    Wake {
        wait: Wait,
        waker: u32,
        flow: u64,
    },
    /// Waits without times.
    Sum(&'a Untimed),
}

impl Due<'_> {
    fn key(&self) -> (u64, bool, Reverse<u64>, Reverse<u64>) {
        (self.at_ns, self.is_end, self.start_ns, self.slice)
    }
}

impl PartialEq for Due<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Due<'_> {}

impl PartialOrd for Due<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<'a, 'w> Sweep<'a, 'w> {
    pub(super) fn new(
        timeline: &'a Timeline<'a>,
        options: &'a OutputOptions,
        packets: Packets<'a, 'w>,
    ) -> Sweep<'a, 'w> {
        let (waiting, waiters) = Default::default();
        let mut sweep = Sweep {
            timeline,
            options,
            packets,
            tracks: Tracks::new(),
            naming: NameCache::new(timeline),
            due: BinaryHeap::new(),
            waiting,
            waiters,
            slices: 0,
            flows: 0,
        };
        for sum in timeline.untimed() {
            let slice = sweep.next_slice();
            sweep.plan(sum.last_ns, None, slice, SweepItem::Sum(sum));
        }
        sweep
    }

    /// Writes what happens up to the last of some items, in their order; `next` are those
    /// that come after them.
    pub(super) fn add(&mut self, items: &[Item], next: &[Item]) -> io::Result<()> {
        self.naming.take_releases(items.iter().chain(next));
        for item in items {
            let begins = !matches!(item, Item::Release(_));
            self.go_to(item.at_ns(), begins)?;
            match item {
                Item::Wait(wait) => self.begin_wait(wait)?,
                Item::Hold(hold) => self.begin_hold(hold)?,
                Item::Release(release) => self.release(release)?,
                // They are not asked for.
                Item::Seen(_) => {}
            }
        }
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.go_to(u64::MAX, true)
    }

    /// Writes what is due up to a moment; at that moment with the ends or without them.
    fn go_to(&mut self, at_ns: u64, with_ends: bool) -> io::Result<()> {
        let is_due =
            |Reverse(due): &Reverse<Due<'_>>| (due.at_ns, due.is_end) <= (at_ns, with_ends);
        while self.due.peek().is_some_and(is_due) {
            let Some(Reverse(due)) = self.due.pop() else { break };
            match due.what {
                SweepItem::EndOfHold { thread, lane } => self.end(due.at_ns, thread, lane, None)?,
                SweepItem::EndOfWait { thread, lane, wait } => {
                    self.end_wait(thread, lane, &wait, due.slice.0)?;
                }
                SweepItem::Wake { wait, waker, flow } => {
                    let name = format!("wake {}", self.naming.lock(wait.lock).name);
                    self.instant(due.at_ns, (wait.run, waker), name, flow)?;
                }
                SweepItem::Sum(sum) => self.sum(sum)?,
            }
        }
        Ok(())
    }

    /// Has something happen later; ends have a beginning.
    fn plan(&mut self, at_ns: u64, start_ns: Option<u64>, slice: u64, what: SweepItem<'a>) {
        let (is_end, start_ns) = (start_ns.is_some(), Reverse(start_ns.unwrap_or(0)));
        self.due.push(Reverse(Due { at_ns, is_end, start_ns, slice: Reverse(slice), what }));
    }

    fn next_slice(&mut self) -> u64 {
        self.slices += 1;
        self.slices
    }

    fn next_flow(&mut self) -> u64 {
        self.flows += 1;
        self.flows
    }

    fn begin_wait(&mut self, wait: &Wait) -> io::Result<()> {
        let place = (wait.run, wait.thread_id);
        let thread = self.tracks.thread(self.timeline, place, &mut self.packets)?;
        let name = match wait.kind.is_contention() {
            true => self.contention_name(wait)?,
            false => self.naming.wait(wait),
        };
        let category = if wait.kind.is_contention() { CONTENTION } else { WAIT };
        let mut annotations = self.annotations(wait.lock, wait.kind);
        annotations.push(self.packets.text("outcome", wait.outcome.name()));
        if wait.parks != 0 {
            annotations.push(number("parks", wait.parks));
        }
        annotate_span(wait.span, &mut annotations);
        let (lane, uuid) = self.tracks.begin(thread, wait.end_ns, &mut self.packets)?;
        let mut event = TrackEvent {
            r#type: Some(event_type::SLICE_BEGIN),
            category_iids: vec![category],
            track_uuid: uuid,
            debug_annotations: annotations,
            callstack_iid: self.packets.callstack(wait.stack),
            ..TrackEvent::default()
        };
        self.packets.set_name(&mut event, name);
        self.packets.event(wait.start_ns, event)?;
        self.count(wait, wait.start_ns, 1)?;
        let slice = self.next_slice();
        let flow = self.plan_wake(wait, slice);
        let open = Open { site: wait.site, flow };
        self.waiting.entry(place).or_default().insert(slice, open);
        let what = SweepItem::EndOfWait { thread, lane, wait: *wait };
        self.plan(wait.end_ns, Some(wait.start_ns), slice, what);
        Ok(())
    }

    /// Has the wake happen that will end a wait, unless the log tells of releases: its
    /// flow.
    fn plan_wake(&mut self, wait: &Wait, slice: u64) -> Option<u64> {
        let waker = wait.waker.filter(|waker| waker.thread_id != id::UNKNOWN)?;
        let log = self.timeline.logs().get(wait.run as usize)?;
        if log.is_trace() && wait.kind.is_contention() {
            return None;
        }
        let flow = self.next_flow();
        let what = SweepItem::Wake { wait: *wait, waker: waker.thread_id, flow };
        self.plan(waker.at_ns, None, slice, what);
        Some(flow)
    }

    fn end_wait(
        &mut self,
        thread: TrackKey,
        lane: usize,
        wait: &Wait,
        slice: u64,
    ) -> io::Result<()> {
        let place = (wait.run, wait.thread_id);
        let open = self.waiting.get_mut(&place).and_then(|open| open.remove(&slice));
        let flow = open.and_then(|open| open.flow);
        self.end(wait.end_ns, thread, lane, flow)?;
        self.count(wait, wait.end_ns, -1)
    }

    /// Ends a slice, and a flow with it.
    fn end(
        &mut self,
        at_ns: u64,
        thread: TrackKey,
        lane: usize,
        flow: Option<u64>,
    ) -> io::Result<()> {
        let event = TrackEvent {
            r#type: Some(event_type::SLICE_END),
            track_uuid: self.tracks.end(thread, lane),
            terminating_flow_ids: flow.into_iter().collect(),
            ..TrackEvent::default()
        };
        self.packets.event(at_ns, event)
    }

    /// Counts a thread that begins to wait for a lock, or no longer does.
    fn count(&mut self, wait: &Wait, at_ns: u64, change: i64) -> io::Result<()> {
        if !wait.kind.is_contention() {
            return Ok(());
        }
        let waiters = self.waiters.entry(wait.lock).or_default();
        *waiters = if change > 0 { *waiters + 1 } else { waiters.saturating_sub(1) };
        let recording = self.timeline.axis().recording(wait.run);
        let Some((uuid, value)) = self.tracks.count(recording, change) else { return Ok(()) };
        let event = TrackEvent {
            r#type: Some(event_type::COUNTER),
            track_uuid: Some(uuid),
            counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.packets.event(at_ns, event)
    }

    fn begin_hold(&mut self, hold: &Hold) -> io::Result<()> {
        let Some((name, held)) = self.naming.hold(hold) else { return Ok(()) };
        let mut annotations = vec![
            self.packets.text("kind", held.kind.name()),
            self.packets.text("place", &held.place),
        ];
        if !held.class.is_empty() {
            annotations.push(self.packets.text("lock_class", &held.class));
        }
        annotate_span(hold.span, &mut annotations);
        let place = (hold.run, hold.thread_id);
        let thread = self.tracks.thread(self.timeline, place, &mut self.packets)?;
        let (lane, uuid) = self.tracks.begin(thread, hold.end_ns, &mut self.packets)?;
        let mut event = TrackEvent {
            r#type: Some(event_type::SLICE_BEGIN),
            category_iids: vec![HOLD],
            track_uuid: uuid,
            debug_annotations: annotations,
            ..TrackEvent::default()
        };
        self.packets.set_name(&mut event, name);
        self.packets.event(hold.start_ns, event)?;
        let slice = self.next_slice();
        let what = SweepItem::EndOfHold { thread, lane };
        self.plan(hold.end_ns, Some(hold.start_ns), slice, what);
        Ok(())
    }

    /// A release that a wait has waited for, as far as that is shown.
    fn release(&mut self, release: &Release) -> io::Result<()> {
        let next = self.flows + 1;
        let open = self.waiting.get_mut(&(release.run, release.waiter_id));
        let mut open = open.into_iter().flat_map(BTreeMap::values_mut).take(MOST_OPEN);
        let Some(open) = open.find(|open| open.site == release.site) else { return Ok(()) };
        let flow = *open.flow.get_or_insert(next);
        self.flows = self.flows.max(flow);
        let name = format!("release {}", self.naming.lock_of_site(release.run, release.site));
        self.instant(release.at_ns, (release.run, release.thread_id), name, flow)
    }

    /// Writes an instant from which a flow goes.
    fn instant(
        &mut self,
        at_ns: u64,
        thread: (u32, u32),
        name: String,
        flow: u64,
    ) -> io::Result<()> {
        let thread = self.tracks.thread(self.timeline, thread, &mut self.packets)?;
        let mut event = TrackEvent {
            r#type: Some(event_type::INSTANT),
            category_iids: vec![HOLD],
            track_uuid: self.tracks.uuid(thread),
            flow_ids: vec![flow],
            ..TrackEvent::default()
        };
        self.packets.set_name(&mut event, name);
        self.packets.event(at_ns, event)
    }

    /// Writes waits that have no times.
    fn sum(&mut self, sum: &Untimed) -> io::Result<()> {
        let place = (sum.run, sum.thread_id);
        let thread = self.tracks.thread(self.timeline, place, &mut self.packets)?;
        let mut annotations = self.annotations(sum.lock, sum.kind);
        annotations.extend([
            number("count", sum.count),
            number("wait_ns", sum.wait_ns),
            number("longest_ns", sum.longest_ns),
            number("from_ns", sum.first_ns),
        ]);
        let mut event = TrackEvent {
            r#type: Some(event_type::INSTANT),
            category_iids: vec![if sum.kind.is_contention() { CONTENTION } else { WAIT }],
            track_uuid: self.tracks.uuid(thread),
            debug_annotations: annotations,
            callstack_iid: self.packets.callstack(sum.stack),
            ..TrackEvent::default()
        };
        self.packets.set_name(&mut event, "summed waits".to_owned());
        self.packets.event(sum.last_ns, event)
    }

    /// The annotations that all waits have.
    fn annotations(&mut self, lock: u32, kind: WaitKind) -> Vec<DebugAnnotation> {
        let mut annotations = vec![self.packets.text("kind", kind.name())];
        if self.options.lock_frame {
            let lock = self.naming.lock(lock);
            annotations.push(self.packets.text("lock", &lock.name));
            if !lock.class.is_empty() {
                annotations.push(self.packets.text("lock_class", &lock.class));
            }
        }
        annotations
    }

    /// The name of a wait for a lock, as Android's runtime gives it.
    fn contention_name(&mut self, wait: &Wait) -> io::Result<String> {
        let (tid, owner) = match wait.owner {
            id::UNKNOWN => (0, UNKNOWN.to_owned()),
            owner => {
                let place = (wait.run, owner);
                let key = self.tracks.thread(self.timeline, place, &mut self.packets)?;
                let (tid, name) = self.tracks.told(key);
                // Perfetto takes what stands before the first ` (` for the name.
                (tid, name.replace('(', "[").replace(')', "]"))
            }
        };
        let holding = self.naming.owners_method(wait);
        let waiters = self.waiters.get(&wait.lock).copied().unwrap_or(0);
        let waiting = self.naming.method(wait.stack, wait.kind);
        Ok(format!(
            "monitor contention with owner {owner} ({tid}) at {holding} waiters={waiters} \
             blocking from {waiting}"
        ))
    }
}

/// Adds the ids of a span, if there is one.
fn annotate_span(span: Span, annotations: &mut Vec<DebugAnnotation>) {
    if span.is_some() {
        annotations.push(Packets::rare_text("trace_id", span.trace_text()));
        annotations.push(Packets::rare_text("span_id", span.id_text()));
    }
}
