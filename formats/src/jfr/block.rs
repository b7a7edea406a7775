//! Events of a chunk, with numbers of their own for threads and sites: what a worker
//! makes of a part of it, before anything is written.

use super::{
    chunk::{Chunk, Clock, EventScan, HEADER_LEN},
    layout::{Layouts, Tells, event, slot},
    metadata::{SLOTS, Types, Values},
    scan::Text,
};
use std::{collections::HashMap, hash::Hash};
use tyrion_wire::Outcome;

/// So many events are in a block at most.
pub(super) const BLOCK: usize = 1 << 17;
/// So many settings and the like are kept of a chunk; a usual one has some thirty.
const MOST_RARE: usize = 1 << 12;
/// So many waits of pinned threads of a chunk are compared with its other waits.
const MOST_PINNED: usize = 1 << 18;
const NS_PER_MS: u64 = 1_000_000;

/// What was waited for where, by the chunk's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SiteKey {
    pub(super) tells: Tells,
    pub(super) stack: u64,
    /// Of the lock; the state of a sample.
    pub(super) class: u64,
    pub(super) address: u64,
}

/// A wait or a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) end_ns: u64,
    /// How long it took; of a sample, how often the thread was seen so.
    pub(super) wait_ns: u64,
    /// Place of the thread in [`Block::threads`].
    pub(super) thread: u32,
    /// One more than the place there of who had the lock or ended the wait; 0 for
    /// nobody.
    pub(super) other: u32,
    /// Place in [`Block::sites`].
    pub(super) site: u32,
    pub(super) outcome: Outcome,
}

/// A part of a chunk's events, those of each thread together and in the order of
/// time.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) entries: Vec<Entry>,
    /// Keys of threads.
    pub(super) threads: Vec<u64>,
    pub(super) sites: Vec<SiteKey>,
    /// From when to when the collector had all threads stopped, in ns.
    pub(super) collections: Vec<(u64, u64)>,
    /// How many waits there were of pinned virtual threads, and how long, in ns.
    pub(super) pinned: (u64, u64),
}

/// A wait of a virtual thread that did not leave its carrier.
#[derive(Clone, Copy, Debug)]
struct Pinned {
    thread: u64,
    start_ns: u64,
    end_ns: u64,
    stack: u64,
}

/// Makes blocks of a chunk's events.
pub(super) struct Blocks<'c, 'a> {
    chunk: &'c Chunk<'a>,
    events: EventScan<'a>,
    types: &'c Types,
    layouts: &'c Layouts,
    clock: Clock,
    is_done: bool,
    pinned: Vec<Pinned>,
    /// Where an event could not be read, in bytes from the chunk's start.
    pub(super) damaged: Vec<usize>,
    /// Events of these are few, and are kept as they are.
    pub(super) rare: Vec<(Tells, Values<'a>)>,
}

impl<'c, 'a> Blocks<'c, 'a> {
    pub(super) fn new(
        chunk: &'c Chunk<'a>,
        types: &'c Types,
        layouts: &'c Layouts,
    ) -> Blocks<'c, 'a> {
        Blocks {
            chunk,
            events: chunk.events(HEADER_LEN),
            types,
            layouts,
            clock: Clock::new(&chunk.header),
            is_done: false,
            pinned: Vec::new(),
            damaged: Vec::new(),
            rare: Vec::new(),
        }
    }

    /// Where what is no event, or only a part of one, stands in the chunk.
    pub(super) fn torn_at(&self) -> Option<usize> {
        self.events.is_torn().then(|| self.events.at())
    }

    /// The next block; `None` after the last one.
    pub(super) fn next(&mut self) -> Option<Block> {
        if self.is_done {
            return None;
        }
        let mut made = Made::default();
        let mut values = Values::default();
        while made.len() < BLOCK {
            let Some(mut event) = self.events.next() else {
                self.is_done = true;
                let alone = self.pinned_alone();
                alone.iter().for_each(|pinned| made.add_pinned(pinned));
                break;
            };
            let Some(layout) = self.layouts.get(event.kind) else { continue };
            values.numbers = [0; SLOTS];
            if !layout.plan.is_plain() {
                values.texts = [Text::Missing; SLOTS];
            }
            match layout.plan.read(self.types, &mut event.fields, &mut values) {
                Some(()) => self.take_up(layout.tells, &values, &mut made),
                None if self.damaged.len() < crate::limits::MAX_DAMAGE => {
                    self.damaged.push(event.at);
                }
                None => {}
            }
        }
        Some(made.finish())
    }

    #[inline]
    fn take_up(&mut self, tells: Tells, values: &Values<'a>, made: &mut Made) {
        let numbers = &values.numbers;
        let (start_ns, end_ns) = self.span(numbers);
        match tells {
            Tells::Collection => made.collections.push((start_ns, end_ns)),
            Tells::Setting | Tells::Jvm | Tells::Cpu => {
                if self.rare.len() < MOST_RARE && self.matters(tells, numbers) {
                    self.rare.push((tells, *values));
                }
            }
            Tells::Pinned => {
                let [_, _, thread, stack, ..] = *numbers;
                made.pinned.0 += 1;
                made.pinned.1 = made.pinned.1.saturating_add(end_ns.saturating_sub(start_ns));
                if self.pinned.len() < MOST_PINNED {
                    self.pinned.push(Pinned { thread, start_ns, end_ns, stack });
                }
            }
            tells => made.add(tells, numbers, (start_ns, end_ns)),
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
    fn pinned_alone(&mut self) -> Vec<Pinned> {
        let mut pinned = std::mem::take(&mut self.pinned);
        if pinned.is_empty() {
            return pinned;
        }
        pinned.sort_unstable_by_key(|it| (it.thread, it.start_ns, it.end_ns, it.stack));
        let mut is_told = vec![false; pinned.len()];
        let mut values = Values::default();
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

/// A block that is being made.
#[derive(Default)]
struct Made {
    entries: Vec<Entry>,
    threads: Numbers<u64>,
    sites: Numbers<SiteKey>,
    collections: Vec<(u64, u64)>,
    pinned: (u64, u64),
}

impl Made {
    fn len(&self) -> usize {
        self.entries.len() + self.collections.len()
    }

    #[inline]
    fn add(&mut self, tells: Tells, numbers: &[u64; SLOTS], (start_ns, end_ns): (u64, u64)) {
        // Of a sample, how often the thread was seen.
        let wait_ns = match tells.is_sample() {
            true => numbers[slot::EXTRA].max(1),
            false => end_ns - start_ns,
        };
        let site = SiteKey {
            tells,
            stack: numbers[slot::STACK],
            class: numbers[slot::CLASS],
            address: numbers[slot::ADDRESS],
        };
        let thread = self.threads.number(numbers[slot::THREAD]);
        let other = match numbers[slot::OTHER] {
            0 => 0,
            other => self.threads.number(other) + 1,
        };
        let outcome = outcome(tells, numbers, (end_ns, wait_ns));
        let site = self.sites.number(site);
        self.entries.push(Entry { end_ns, wait_ns, thread, other, site, outcome });
    }

    fn add_pinned(&mut self, pinned: &Pinned) {
        let mut numbers = [0; SLOTS];
        (numbers[slot::THREAD], numbers[slot::STACK]) = (pinned.thread, pinned.stack);
        self.add(Tells::Pinned, &numbers, (pinned.start_ns, pinned.end_ns));
    }

    fn finish(self) -> Block {
        let threads = self.threads.keys;
        Block {
            entries: by_thread(self.entries, threads.len()),
            threads,
            sites: self.sites.keys,
            collections: self.collections,
            pinned: self.pinned,
        }
    }
}

fn outcome(tells: Tells, numbers: &[u64; SLOTS], (end_ns, wait_ns): (u64, u64)) -> Outcome {
    // Below zero where there is no limit.
    let passed = |limit: u64, ns_per: u64, now_ns: u64| {
        limit as i64 > 0 && limit.saturating_mul(ns_per) <= now_ns
    };
    let timed_out = match tells {
        Tells::MonitorWait => numbers[slot::EXTRA] != 0,
        Tells::Park => {
            passed(numbers[slot::TIMEOUT], 1, wait_ns)
                || passed(numbers[slot::EXTRA], NS_PER_MS, end_ns)
        }
        _ => false,
    };
    if timed_out { Outcome::TimedOut } else { Outcome::Granted }
}

/// Puts the entries of each thread together, in the order of time.
fn by_thread(entries: Vec<Entry>, threads: usize) -> Vec<Entry> {
    let Some(&any) = entries.first() else { return entries };
    let mut ends = vec![0; threads];
    for entry in &entries {
        if let Some(count) = ends.get_mut(entry.thread as usize) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for place in &mut ends {
        sum += std::mem::replace(place, sum);
    }
    let mut sorted = vec![any; entries.len()];
    for entry in entries {
        if let Some(at) = ends.get_mut(entry.thread as usize) {
            if let Some(place) = sorted.get_mut(*at) {
                *place = entry;
            }
            *at += 1;
        }
    }
    for own in sorted.chunk_by_mut(|one, other| one.thread == other.thread) {
        // Nearly always they are.
        if !own.is_sorted_by_key(|entry| entry.end_ns) {
            own.sort_by_key(|entry| entry.end_ns);
        }
    }
    sorted
}

/// Numbers for keys, in the order in which they come.
struct Numbers<K> {
    keys: Vec<K>,
    numbers: HashMap<K, u32>,
    /// The last ones, by some bits of their hash.
    recent: Vec<Option<(K, u32)>>,
}

const RECENT: usize = 1 << 10;

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        let recent = (0..RECENT).map(|_| None).collect();
        Numbers { keys: Vec::new(), numbers: HashMap::new(), recent }
    }
}

impl<K: Copy + Eq + Hash + Mix> Numbers<K> {
    #[inline]
    fn number(&mut self, key: K) -> u32 {
        let at = key.mix() as usize % RECENT;
        if let Some(Some((known, number))) = self.recent.get(at)
            && *known == key
        {
            return *number;
        }
        let next = self.keys.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        if let Some(place) = self.recent.get_mut(at) {
            *place = Some((key, number));
        }
        number
    }
}

/// A quick hash, for what is only a guess.
trait Mix {
    fn mix(&self) -> u64;
}

impl Mix for u64 {
    #[inline]
    fn mix(&self) -> u64 {
        *self
    }
}

impl Mix for SiteKey {
    #[inline]
    fn mix(&self) -> u64 {
        let sum = self.stack.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ self.class.rotate_left(7)
            ^ (self.address >> 4).wrapping_mul(0xd1b5_4a32_d192_ed03)
            ^ self.tells as u64;
        sum ^ sum >> 32
    }
}
