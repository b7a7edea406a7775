//! Events of a chunk, with numbers of their own for threads and sites: what a worker
//! makes of a part of it, before anything is written.

use super::{
    chunk::{Chunk, Clock, EventScan},
    layout::{Layouts, Tells, slot},
    metadata::{Types, Values},
};
use std::{collections::HashMap, hash::Hash};
use tyrion_wire::Outcome;

/// So many events are in a block at most.
pub(super) const BLOCK: usize = 1 << 17;

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
    /// One more than the place of the owner there; 0 for nobody.
    pub(super) owner: u32,
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
}

/// Makes blocks of a chunk's events.
pub(super) struct Blocks<'c, 'a> {
    events: EventScan<'a>,
    types: &'c Types,
    layouts: &'c Layouts,
    clock: Clock,
    is_done: bool,
    /// Where an event could not be read, in bytes from the chunk's start.
    pub(super) damaged: Vec<usize>,
    /// Events of these are few, and are kept as they are.
    pub(super) rare: Vec<(Tells, Values<'a>)>,
}

impl<'c, 'a> Blocks<'c, 'a> {
    pub(super) fn new(
        chunk: &Chunk<'a>,
        types: &'c Types,
        layouts: &'c Layouts,
        clock: Clock,
    ) -> Blocks<'c, 'a> {
        Blocks {
            events: chunk.events(super::chunk::HEADER_LEN),
            types,
            layouts,
            clock,
            is_done: false,
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
        let (mut entries, mut collections) = (Vec::with_capacity(BLOCK / 4), Vec::new());
        let (mut threads, mut sites) = (Numbers::default(), Numbers::default());
        while entries.len() < BLOCK {
            let Some(mut event) = self.events.next() else {
                self.is_done = true;
                break;
            };
            let Some(layout) = self.layouts.get(event.kind) else { continue };
            let mut values = Values::default();
            if layout.plan.read(self.types, &mut event.fields, &mut values).is_none() {
                if self.damaged.len() < crate::limits::MAX_DAMAGE {
                    self.damaged.push(event.at);
                }
                continue;
            }
            let (start_ns, wait_ns) = self.span(&values);
            let end_ns = start_ns.saturating_add(wait_ns);
            match layout.tells {
                Tells::Collection => collections.push((start_ns, end_ns)),
                tells @ (Tells::Setting | Tells::Jvm | Tells::Cpu) => {
                    self.rare.push((tells, values));
                }
                tells => {
                    let (entry, site) = entry(tells, &values.numbers, end_ns, wait_ns);
                    let thread = threads.number(values.numbers[slot::THREAD]);
                    let owner = match values.numbers[slot::OWNER] {
                        0 => 0,
                        owner => threads.number(owner) + 1,
                    };
                    entries.push(Entry { thread, owner, site: sites.number(site), ..entry });
                }
            }
        }
        let entries = by_thread(entries, threads.keys.len());
        Some(Block { entries, threads: threads.keys, sites: sites.keys, collections })
    }

    fn span(&self, values: &Values<'_>) -> (u64, u64) {
        let of = |slot: usize| values.numbers.get(slot).copied().unwrap_or(0);
        (self.clock.at_ns(of(slot::START)), self.clock.span_ns(of(slot::DURATION)))
    }
}

/// An entry without its numbers, and its site.
fn entry(tells: Tells, numbers: &[u64], end_ns: u64, wait_ns: u64) -> (Entry, SiteKey) {
    let of = |slot: usize| numbers.get(slot).copied().unwrap_or(0);
    let timeout = of(slot::TIMEOUT);
    let outcome = match tells {
        Tells::MonitorWait if of(slot::EXTRA) != 0 => Outcome::TimedOut,
        // In ns, and below zero where there is no limit.
        Tells::Park if timeout as i64 > 0 && timeout <= wait_ns => Outcome::TimedOut,
        _ => Outcome::Granted,
    };
    // How often the thread was seen.
    let wait_ns = match tells {
        Tells::Sample | Tells::NativeSample => of(slot::EXTRA).max(1),
        _ => wait_ns,
    };
    let site = SiteKey {
        tells,
        stack: of(slot::STACK),
        class: of(slot::CLASS),
        address: of(slot::ADDRESS),
    };
    (Entry { end_ns, wait_ns, thread: 0, owner: 0, site: 0, outcome }, site)
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
