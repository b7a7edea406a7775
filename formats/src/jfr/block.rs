//! Events of a chunk, with numbers of their own for threads and sites: what a worker
//! makes of a part of it, before anything is written.

mod order;
pub(super) mod own;

use super::{
    chunk::{ChunkClock, EventScan, Front, HEADER_LEN, JfrChunk},
    layout::{EventLayout, Layouts, Tells, event, slot},
    load::CpuLoad,
    metadata::{FieldValues, SLOTS, TypeTable},
    quick::{Quick, QuickFields, TAIL},
    scan::{RawText, squeeze},
};
use crate::limits::{
    MAX_DAMAGE,
    jfr::{MAX_PINNED, MAX_SETTINGS},
};
use order::{by_thread, in_order};
use own::OwnEvent;
use std::{collections::HashMap, hash::Hash};
use tyrion_wire::Outcome;

/// So many events are in a block at most.
pub(super) const BLOCK: usize = 1 << 17;
const NS_PER_MS: u64 = 1_000_000;
const MORE_SETTINGS: &str = "more settings than are read of a chunk; later ones were left out";
const MORE_PINNED: &str = "more waits of pinned threads than are compared with others; those that \
                           come later, and that no other event tells of, were left out";

/// What was waited for where, by the chunk's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SiteKey {
    pub(super) tells: Tells,
    pub(super) stack: u64,
    /// Of the lock; the state of a sample.
    pub(super) class: u64,
    pub(super) address: u64,
    /// How it was waited for, where the recording says so; else 0.
    pub(super) kind: u64,
}

/// A wait or a sample of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockEntry {
    pub(super) end_ns: u64,
    /// How long it took; of a sample, how often the thread was seen so, or for how long if
    /// it tells that.
    pub(super) wait_ns: u64,
    /// One more than the place there of who had the lock or ended the wait; 0 for
    /// nobody.
    pub(super) other: u32,
    /// Place in [`EventBlock::sites`], and the outcome in the two lowest bits: there are
    /// many entries.
    site: u32,
}

impl BlockEntry {
    /// Place in [`EventBlock::sites`].
    pub(super) fn site(&self) -> usize {
        self.site as usize >> 2
    }

    pub(super) fn outcome(&self) -> Outcome {
        Outcome::from_bits(self.site as u8)
    }
}

/// A part of a chunk's events, those of each thread together and in the order of
/// time.
#[derive(Debug, Default)]
pub(super) struct EventBlock {
    /// Of the first threads.
    own: Vec<Vec<BlockEntry>>,
    /// Of the others, and where those of each end.
    rest: (Vec<BlockEntry>, Vec<usize>),
    /// Keys of threads.
    pub(super) threads: Vec<u64>,
    pub(super) sites: Vec<SiteKey>,
    /// From when to when the collector had all threads stopped, in ns.
    pub(super) collections: Vec<(u64, u64)>,
    /// How many waits there were of pinned virtual threads, and how long, in ns.
    pub(super) pinned: (u64, u64),
    /// How much of the processors was in use.
    pub(super) loads: Vec<CpuLoad>,
    /// What `tyrion convert` adds, in the order of the chunk.
    pub(super) own_events: Vec<OwnEvent>,
}

impl EventBlock {
    /// The entries of each thread that has any, with its place in [`EventBlock::threads`].
    pub(super) fn by_thread(&self) -> impl Iterator<Item = (u32, &[BlockEntry])> {
        let (rest, ends) = &self.rest;
        let mut start = 0;
        let rest = ends
            .iter()
            .map(move |&end| rest.get(std::mem::replace(&mut start, end)..end).unwrap_or_default());
        let all = self.own.iter().map(Vec::as_slice).chain(rest);
        (0..).zip(all).filter(|(_, entries)| !entries.is_empty())
    }
}

/// A wait of a virtual thread that did not leave its carrier.
#[derive(Clone, Copy, Debug)]
struct PinnedWait {
    thread: u64,
    start_ns: u64,
    end_ns: u64,
    stack: u64,
}

/// Makes blocks of a chunk's events.
pub(super) struct EventBlocks<'c, 'a> {
    chunk: &'c JfrChunk<'a>,
    events: EventScan<'a>,
    types: &'c TypeTable,
    layouts: &'c Layouts,
    clock: ChunkClock,
    is_done: bool,
    pinned: Vec<PinnedWait>,
    /// Where an event could not be read, in bytes from the chunk's start.
    pub(super) damaged: Vec<usize>,
    /// Events of these are few, and are kept as they are.
    pub(super) rare: Vec<(Tells, FieldValues<'a>)>,
    /// How many of them there were.
    rare_count: usize,
    /// Where the first one stands of those that are too many, and what they are.
    pub(super) left_out: Vec<(usize, &'static str)>,
}

impl<'c, 'a> EventBlocks<'c, 'a> {
    pub(super) fn new(
        chunk: &'c JfrChunk<'a>,
        types: &'c TypeTable,
        layouts: &'c Layouts,
    ) -> EventBlocks<'c, 'a> {
        EventBlocks {
            chunk,
            events: chunk.events(HEADER_LEN),
            types,
            layouts,
            clock: ChunkClock::new(&chunk.header),
            is_done: false,
            pinned: Vec::new(),
            damaged: Vec::new(),
            rare: Vec::new(),
            rare_count: 0,
            left_out: Vec::new(),
        }
    }

    /// Where what is no event, or only a part of one, stands in the chunk.
    pub(super) fn torn_at(&self) -> Option<usize> {
        self.events.is_torn().then(|| self.events.at())
    }

    /// The next block; `None` after the last one.
    pub(super) fn next(&mut self) -> Option<EventBlock> {
        if self.is_done {
            return None;
        }
        let recent_tails = vec![Default::default(); RECENT];
        let mut made = BlockBuilder { recent_tails, ..BlockBuilder::default() };
        let mut values = FieldValues::default();
        loop {
            self.take_up_quickly(&mut made);
            if made.len >= BLOCK {
                break;
            }
            let Some(mut event) = self.events.next() else {
                self.is_done = true;
                let alone = self.pinned_alone();
                alone.iter().for_each(|pinned| made.add_pinned(pinned));
                break;
            };
            let Some(layout) = self.layouts.get(event.kind) else { continue };
            values.numbers = [0; SLOTS];
            if !layout.plan.is_plain() {
                values.texts = [RawText::Missing; SLOTS];
            }
            match layout.plan.read(self.types, &mut event.fields, &mut values) {
                Some(()) => self.take_up(event.at, layout, &values, &mut made),
                None if self.damaged.len() < MAX_DAMAGE => {
                    self.damaged.push(event.at);
                }
                None => {}
            }
        }
        Some(made.finish())
    }

    /// Takes up the events in front of one that has to be read field by field.
    fn take_up_quickly(&mut self, made: &mut BlockBuilder) {
        while made.len < BLOCK {
            let Some(front) = self.events.front() else { return };
            if let Some(layout) = self.layouts.get(front.kind) {
                let Some(quick) = &layout.quick else { return };
                let Some(()) = made.add_front(layout.tells, quick, &front, &self.clock) else {
                    return;
                };
            }
            self.events.pass(&front);
        }
    }

    /// Takes up an event, which stands at a place.
    fn take_up(
        &mut self,
        at: usize,
        layout: &EventLayout,
        values: &FieldValues<'a>,
        made: &mut BlockBuilder,
    ) {
        let EventLayout { tells, is_own, .. } = *layout;
        let numbers = &values.numbers;
        let (start_ns, end_ns) = self.span(numbers);
        match tells {
            Tells::Collection => {
                made.len += 1;
                made.collections.push((start_ns, end_ns));
            }
            Tells::CpuLoad => {
                let [_, user, system, machine, ..] = *numbers;
                if let Some(load) = CpuLoad::new(start_ns, [user, system, machine]) {
                    made.len += 1;
                    made.loads.push(load);
                }
            }
            Tells::Setting | Tells::Jvm | Tells::Cpu => {
                if !self.matters(tells, numbers) {
                    return;
                }
                self.rare_count += 1;
                match self.rare_count <= MAX_SETTINGS {
                    true => self.rare.push((tells, *values)),
                    false => self.leave_out(at, MORE_SETTINGS),
                }
            }
            Tells::Pinned => {
                let [_, _, thread, stack, ..] = *numbers;
                made.pinned.0 += 1;
                made.pinned.1 = made.pinned.1.saturating_add(end_ns.saturating_sub(start_ns));
                match self.pinned.len() < MAX_PINNED {
                    true => self.pinned.push(PinnedWait { thread, start_ns, end_ns, stack }),
                    false => self.leave_out(at, MORE_PINNED),
                }
            }
            tells if is_own && (tells == Tells::Folded || tells.is_sample()) => {
                made.len += 1;
                made.own_events.push(OwnEvent::new(tells, numbers, (start_ns, end_ns)));
            }
            tells => made.add((tells, is_own), numbers, start_ns, end_ns),
        }
    }

    /// Remembers that some are left out, from a place on.
    fn leave_out(&mut self, at: usize, what: &'static str) {
        if !self.left_out.iter().any(|(_, known)| *known == what) {
            self.left_out.push((at, what));
        }
    }

    /// Whether an event of a rare sort is worth being kept: most settings are those of
    /// events that nobody asks for.
    fn matters(&self, tells: Tells, numbers: &[u64; SLOTS]) -> bool {
        let of = || self.types.by_id(numbers[slot::START]).map_or("", |of| &*of.name);
        tells != Tells::Setting || event::ALL.contains(&of())
    }

    /// From when to when, in ns.
    #[inline]
    fn span(&self, numbers: &[u64; SLOTS]) -> (u64, u64) {
        let start_ns = self.clock.at_ns(numbers[slot::START]);
        (start_ns, start_ns.saturating_add(self.clock.span_ns(numbers[slot::DURATION])))
    }

    /// The waits of pinned threads that no other event tells of. A thread that is
    /// pinned and waits for a monitor, or is parked, has an event of that, too; which is
    /// written first differs from JDK to JDK.
    fn pinned_alone(&mut self) -> Vec<PinnedWait> {
        let mut pinned = std::mem::take(&mut self.pinned);
        if pinned.is_empty() {
            return pinned;
        }
        pinned.sort_unstable_by_key(|it| (it.thread, it.start_ns, it.end_ns, it.stack));
        let mut is_told = vec![false; pinned.len()];
        let mut values = FieldValues::default();
        for mut event in self.chunk.events(HEADER_LEN) {
            let layout = self.layouts.get(event.kind).filter(|it| it.tells.is_java_wait());
            let Some(layout) = layout else { continue };
            values.numbers = [0; SLOTS];
            if layout.plan.read(self.types, &mut event.fields, &mut values).is_none() {
                continue;
            }
            let (thread, (start_ns, end_ns)) =
                (values.numbers[slot::THREAD], self.span(&values.numbers));
            // A thread's are one after another: the first one that ends later.
            let first = pinned.partition_point(|it| (it.thread, it.end_ns) < (thread, start_ns));
            if let Some((it, is_told)) = pinned.get(first).zip(is_told.get_mut(first)) {
                *is_told |= it.thread == thread && it.start_ns <= end_ns;
            }
        }
        let mut is_told = is_told.into_iter();
        pinned.retain(|_| is_told.next() == Some(false));
        pinned
    }
}

/// Threads that come after so many share a list of entries: each list has room to grow.
const OWN: usize = 256;

/// What an event tells, but for when.
#[derive(Clone, Copy, Default)]
struct EventData {
    thread: u32,
    other: u32,
    site: u32,
    limits: [u64; 2],
}

/// A block that is being made.
#[derive(Default)]
struct BlockBuilder {
    /// How much there is of what counts for [`BLOCK`].
    len: usize,
    own: Vec<Vec<BlockEntry>>,
    rest: Vec<(u32, BlockEntry)>,
    threads: KeyNumbers<u64>,
    sites: KeyNumbers<SiteKey>,
    /// By the bytes of an event behind its times.
    recent_tails: Vec<([u64; TAIL], EventData)>,
    recent_threads: Recent<1>,
    recent_sites: Recent<4>,
    collections: Vec<(u64, u64)>,
    pinned: (u64, u64),
    loads: Vec<CpuLoad>,
    own_events: Vec<OwnEvent>,
}

impl BlockBuilder {
    fn add(
        &mut self,
        (tells, is_own): (Tells, bool),
        numbers: &[u64; SLOTS],
        start_ns: u64,
        end_ns: u64,
    ) {
        let site = self.sites.number(SiteKey {
            tells,
            stack: numbers[slot::STACK],
            class: numbers[slot::CLASS],
            address: numbers[slot::ADDRESS],
            kind: numbers[slot::KIND],
        });
        let thread = self.threads.number(numbers[slot::THREAD]);
        let other = match numbers[slot::OTHER] {
            0 => 0,
            other => self.threads.number(other) + 1,
        };
        let limits = [numbers[slot::TIMEOUT], numbers[slot::EXTRA]];
        let of = EventData { thread, other, site, limits };
        let mut entry = entry(tells, start_ns, end_ns, of);
        if is_own {
            entry.site = site << 2 | own::outcome(numbers) as u32;
        }
        self.push(thread, entry);
    }

    /// Adds the event at the front; `None` where it has to be read field by field.
    #[inline(always)]
    fn add_front(
        &mut self,
        tells: Tells,
        quick: &Quick,
        front: &Front<'_>,
        clock: &ChunkClock,
    ) -> Option<()> {
        let head = quick.head(front.window, front.len, front.kind);
        let (times, of) = match head {
            Some(head) => {
                let at = place(&head.tail);
                match self.recent_tails.get(at) {
                    Some((tail, of)) if same(tail, &head.tail) => (head.times, *of),
                    _ => {
                        let (times, of) = self.look_up(tells, quick, front)?;
                        if let Some(place) = self.recent_tails.get_mut(at) {
                            *place = (head.tail, of);
                        }
                        (times, of)
                    }
                }
            }
            None => self.look_up(tells, quick, front)?,
        };
        let start_ns = clock.at_ns(squeeze(times[0]));
        let span_ns = clock.span_ns(squeeze(times[1]));
        let end_ns = start_ns.saturating_add(span_ns);
        self.push(of.thread, entry(tells, start_ns, end_ns, of));
        Some(())
    }

    /// When the event at the front was, and what it tells else.
    #[inline(never)]
    fn look_up(
        &mut self,
        tells: Tells,
        quick: &Quick,
        front: &Front<'_>,
    ) -> Option<([u64; 2], EventData)> {
        let QuickFields { words, values: limits } = quick.read(front.window, front.len)?;
        let threads = &mut self.threads;
        let mut number =
            |word: u64| self.recent_threads.number([word], || threads.number(squeeze(word)));
        let thread = number(words[slot::THREAD]);
        let other = match words[slot::OTHER] {
            0 => 0,
            other => number(other) + 1,
        };
        let (stack, class) = (words[slot::STACK], words[slot::CLASS]);
        let address = words[slot::ADDRESS];
        let sites = &mut self.sites;
        let site = self.recent_sites.number([stack, address, class, tells as u64], || {
            let [stack, class, address] = [stack, class, address].map(squeeze);
            sites.number(SiteKey { tells, stack, class, address, kind: 0 })
        });
        let times = [words[slot::START], words[slot::DURATION]];
        Some((times, EventData { thread, other, site, limits }))
    }

    #[inline(always)]
    fn push(&mut self, thread: u32, entry: BlockEntry) {
        self.len += 1;
        let own = match self.own.get_mut(thread as usize) {
            Some(own) => own,
            None if (thread as usize) < OWN => self.first_of(thread),
            None => return self.rest.push((thread, entry)),
        };
        own.push(entry);
    }

    /// The list of a thread that has none yet. Does not take the entry, which would have
    /// to be in memory for it.
    #[cold]
    #[inline(never)]
    fn first_of(&mut self, thread: u32) -> &mut Vec<BlockEntry> {
        let len = self.own.len().max(thread as usize + 1);
        self.own.resize_with(len, Vec::new);
        &mut self.own[thread as usize]
    }

    fn add_pinned(&mut self, pinned: &PinnedWait) {
        let mut numbers = [0; SLOTS];
        (numbers[slot::THREAD], numbers[slot::STACK]) = (pinned.thread, pinned.stack);
        self.add((Tells::Pinned, false), &numbers, pinned.start_ns, pinned.end_ns);
    }

    fn finish(mut self) -> EventBlock {
        let threads = self.threads.keys;
        if !self.rest.is_empty() {
            self.own.resize_with(OWN, Vec::new);
        }
        self.own.iter_mut().for_each(|own| in_order(own));
        EventBlock {
            own: self.own,
            rest: by_thread(self.rest, threads.len()),
            threads,
            sites: self.sites.keys,
            collections: self.collections,
            pinned: self.pinned,
            loads: self.loads,
            own_events: self.own_events,
        }
    }
}

/// The entry of an event from one time to another.
#[inline(always)]
fn entry(tells: Tells, start_ns: u64, end_ns: u64, of: EventData) -> BlockEntry {
    let EventData { other, site, limits, .. } = of;
    let (end_ns, wait_ns) = match tells {
        // It stands for the time before.
        Tells::CpuTimeSample => (start_ns, end_ns - start_ns),
        // How often the thread was seen.
        _ if tells.is_sample() => (end_ns, limits[1].max(1)),
        _ => (end_ns, end_ns - start_ns),
    };
    let outcome = outcome(tells, limits, end_ns, wait_ns);
    BlockEntry { end_ns, wait_ns, other, site: site << 2 | outcome as u32 }
}

fn outcome(tells: Tells, limits: [u64; 2], end_ns: u64, wait_ns: u64) -> Outcome {
    // Below zero where there is no limit.
    let passed = |limit: u64, ns_per: u64, now_ns: u64| {
        limit as i64 > 0 && limit.saturating_mul(ns_per) <= now_ns
    };
    let timed_out = match tells {
        Tells::MonitorWait => limits[1] != 0,
        Tells::Park => passed(limits[0], 1, wait_ns) || passed(limits[1], NS_PER_MS, end_ns),
        _ => false,
    };
    if timed_out { Outcome::TimedOut } else { Outcome::Granted }
}

/// Numbers for keys, in the order in which they come.
struct KeyNumbers<K> {
    keys: Vec<K>,
    numbers: HashMap<K, u32>,
}

impl<K> Default for KeyNumbers<K> {
    fn default() -> Self {
        KeyNumbers { keys: Vec::new(), numbers: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash> KeyNumbers<K> {
    fn number(&mut self, key: K) -> u32 {
        let next = self.keys.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        number
    }
}

/// Where words are remembered.
#[inline(always)]
fn place<const WORDS: usize>(words: &[u64; WORDS]) -> usize {
    let sum = words
        .iter()
        .fold(0u64, |sum, &word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_right(21));
    (sum ^ sum >> 32) as usize % RECENT
}

/// Compares word by word: the compiler would put them into memory to compare all at once.
#[inline(always)]
fn same<const WORDS: usize>(known: &[u64; WORDS], words: &[u64; WORDS]) -> bool {
    known.iter().zip(words).fold(0, |differs, (known, word)| differs | (known ^ word)) == 0
}

/// The numbers that were found last, by some bits of what they are for.
struct Recent<const WORDS: usize> {
    places: Vec<([u64; WORDS], u32)>,
}

const RECENT: usize = 1 << 10;

impl<const WORDS: usize> Default for Recent<WORDS> {
    fn default() -> Self {
        Recent { places: vec![([0; WORDS], u32::MAX); RECENT] }
    }
}

impl<const WORDS: usize> Recent<WORDS> {
    /// The number of these words, as `find` says it.
    #[inline(always)]
    fn number(&mut self, words: [u64; WORDS], find: impl FnOnce() -> u32) -> u32 {
        let at = place(&words);
        let Some(place) = self.places.get_mut(at) else { return find() };
        if !same(&place.0, &words) || place.1 == u32::MAX {
            *place = (words, find());
        }
        place.1
    }
}
