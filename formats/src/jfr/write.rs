//! Blocks of events become a log.

use super::{
    block::{BlockEntry, EventBlock},
    chunk::JfrChunk,
    constants::Constants,
    facts::{FactCounts, Facts},
    layout::Tells,
    load::CpuLoads,
    metadata::{FieldValues, TypeTable},
    names::{ChunkNames, FileNames, LookUp, SamplerKind, SiteKind},
};
use crate::{
    event_log::write::{LaneId, Wait},
    import::Importer,
    limits::{MAX_LANES, jfr::MAX_COLLECTIONS},
};
use std::{
    collections::{HashMap, hash_map},
    io,
};
use tyrion_wire::{
    cell::Cell,
    def::id,
    sample::{Sample, ThreadState},
    wake::Wake,
};

/// A thread with so many events in a block gets a lane of its own; the others share
/// one, where each change of the thread takes a record.
const OWN_LANE: usize = 32;
/// A lane in which time goes back begins a new chunk, which is only worth that for so many
/// events.
const FULL_LANE: usize = 1 << 10;

/// Writes what is read of a recording.
pub(super) struct LogBuilder {
    pub(super) importer: Importer,
    facts: Facts,
    known: FileNames,
    lanes: HashMap<u32, LaneId>,
    shared: Option<LaneId>,
    /// What `tyrion convert` adds.
    own: Option<LaneId>,
    /// From when to when the collector had all threads stopped, in ns.
    collections: Vec<(u64, u64)>,
    /// The last moment that anything tells of, in ns.
    last_ns: u64,
    seen: FactCounts,
    loads: CpuLoads,
}

/// What a chunk's blocks are written with.
pub(super) struct OfChunk<'c, 'a> {
    pub(super) chunk: JfrChunk<'a>,
    pub(super) constants: &'c Constants<'a>,
    pub(super) types: &'c TypeTable,
    pub(super) names: ChunkNames,
}

impl LogBuilder {
    pub(super) fn new(importer: Importer) -> LogBuilder {
        LogBuilder {
            importer,
            facts: Facts::default(),
            known: FileNames::default(),
            lanes: HashMap::new(),
            shared: None,
            own: None,
            collections: Vec::new(),
            last_ns: 0,
            seen: FactCounts::default(),
            loads: CpuLoads::default(),
        }
    }

    /// Takes up what is said of the JVM and the recording.
    pub(super) fn take_facts(&mut self, of: &OfChunk<'_, '_>, rare: &[(Tells, FieldValues<'_>)]) {
        for (tells, values) in rare {
            self.facts.take_up(*tells, values, of.constants, of.types);
        }
    }

    /// Writes a block. All its times are on the clock of the log.
    pub(super) fn write(&mut self, of: &mut OfChunk<'_, '_>, block: &EventBlock) -> io::Result<()> {
        let mut look_up = LookUp {
            constants: of.constants,
            importer: &mut self.importer,
            known: &mut self.known,
            names: &mut of.names,
            start_ns: of.chunk.header.start_wall_ns,
            offset: of.chunk.offset,
        };
        let threads: Vec<u32> =
            block.threads.iter().map(|&key| look_up.thread(key)).collect::<io::Result<_>>()?;
        let sites: Vec<SiteKind> =
            block.sites.iter().map(|&key| look_up.site(key)).collect::<io::Result<_>>()?;
        let has = |tells| block.sites.iter().any(|site| site.tells == tells);
        self.seen.monitors |= has(Tells::MonitorEnter);
        self.seen.parks |= has(Tells::Park);
        let own = own_events(&mut look_up, block)?;
        self.write_own(own)?;
        self.take_up_rest(block, &of.chunk);
        let numbers = BlockNumbers { threads: &threads, sites: &sites };
        let mut few: Vec<(u32, BlockEntry)> = Vec::new();
        for (thread, own) in block.by_thread() {
            let Some((first, last)) = own.first().zip(own.last()) else { continue };
            self.last_ns = self.last_ns.max(last.end_ns);
            let thread = numbers.thread(thread);
            match self.lane(thread, own.len(), first.end_ns) {
                Some(lane) => {
                    self.importer.log.resume(lane, thread, first.end_ns)?;
                    own.iter().try_for_each(|entry| self.entry(lane, entry, &numbers))?;
                }
                None => few.extend(own.iter().map(|&entry| (thread, entry))),
            }
        }
        few.sort_by_key(|(_, entry)| entry.end_ns);
        self.write_few(&few, &numbers)
    }

    /// Takes up what of a block of a chunk belongs to no thread.
    fn take_up_rest(&mut self, block: &EventBlock, chunk: &JfrChunk<'_>) {
        let room = MAX_COLLECTIONS.saturating_sub(self.collections.len());
        if room != 0 && room < block.collections.len() {
            let what = "more pauses of the collector than are read; later ones were left out";
            self.importer.add_damage(chunk.offset, what, 0);
        }
        self.collections.extend(block.collections.iter().take(room));
        let (count, ns) = &mut self.seen.pinned;
        *count = count.saturating_add(block.pinned.0);
        *ns = ns.saturating_add(block.pinned.1);
        for &load in &block.loads {
            self.last_ns = self.last_ns.max(load.at_ns);
            self.loads.add(load, chunk.header.start_wall_ns);
        }
    }

    /// The thread's own lane, if it has one or has many events, the first of which ends at
    /// a moment.
    fn lane(&mut self, thread: u32, events: usize, first_ns: u64) -> Option<LaneId> {
        let may_have = events >= OWN_LANE && self.lanes.len() < MAX_LANES;
        match self.lanes.entry(thread) {
            hash_map::Entry::Occupied(found) => {
                let goes_on = first_ns >= self.importer.log.now_ns(*found.get());
                (goes_on || events >= FULL_LANE).then_some(*found.get())
            }
            hash_map::Entry::Vacant(place) if may_have => {
                Some(*place.insert(self.importer.log.lane(thread)))
            }
            hash_map::Entry::Vacant(_) => None,
        }
    }

    fn write_own(&mut self, own: Vec<(u32, u64, OwnRecord)>) -> io::Result<()> {
        if own.is_empty() {
            return Ok(());
        }
        let log = &mut self.importer.log;
        let lane = *self.own.get_or_insert_with(|| log.lane(id::UNKNOWN));
        for (thread, at_ns, record) in own {
            match record {
                OwnRecord::Sample(sample) => {
                    self.seen.samples = true;
                    log.resume(lane, thread, at_ns)?;
                    log.note(lane, at_ns, sample)?;
                    self.last_ns = self.last_ns.max(at_ns);
                }
                OwnRecord::Folded(cell) => {
                    self.seen.waits = true;
                    log.cell(lane, &cell)?;
                    self.last_ns = self.last_ns.max(cell.last_ns);
                }
            }
        }
        Ok(())
    }

    fn write_few(
        &mut self,
        few: &[(u32, BlockEntry)],
        numbers: &BlockNumbers<'_>,
    ) -> io::Result<()> {
        let log = &mut self.importer.log;
        let shared = *self.shared.get_or_insert_with(|| log.lane(id::UNKNOWN));
        for (thread, entry) in few {
            self.importer.log.resume(shared, *thread, entry.end_ns)?;
            self.entry(shared, entry, numbers)?;
        }
        Ok(())
    }

    #[inline]
    fn entry(
        &mut self,
        lane: LaneId,
        entry: &BlockEntry,
        numbers: &BlockNumbers<'_>,
    ) -> io::Result<()> {
        let &BlockEntry { end_ns, wait_ns, other, .. } = entry;
        let outcome = entry.outcome();
        let other = match other {
            0 => id::UNKNOWN,
            other => numbers.thread(other - 1),
        };
        let log = &mut self.importer.log;
        match numbers.sites.get(entry.site()) {
            Some(&SiteKind::Wait(site)) => {
                self.seen.waits = true;
                log.wait(lane, Wait { end_ns, wait_ns, site, outcome, owner: other, parks: 0 })
            }
            Some(&SiteKind::ObjectWait(site)) => {
                self.seen.waits = true;
                let owner = id::UNKNOWN;
                log.wait(lane, Wait { end_ns, wait_ns, site, outcome, owner, parks: 0 })?;
                if other == id::UNKNOWN {
                    return Ok(());
                }
                self.seen.wakers = true;
                // Neither the waker's stack nor when it woke the waiter is known.
                log.note(lane, 0, Wake { waker: other, site, wait_ns, ..Wake::default() })
            }
            Some(&SiteKind::Sample(stack, state, sampler)) => {
                self.seen.samples = true;
                let (wall_ns, cpu_ns) = self.facts.sampled_ns(sampler);
                let (count, wall_ns, cpu_ns) = match sampler {
                    SamplerKind::CpuTime => (1, wait_ns * wall_ns, wait_ns * cpu_ns),
                    _ => (wait_ns, wall_ns, cpu_ns),
                };
                let cpu_ns = if state == ThreadState::Running { cpu_ns } else { 0 };
                let sample = Sample {
                    wall_ns: wall_ns.saturating_mul(count),
                    cpu_ns: cpu_ns.saturating_mul(count),
                    count,
                    state: state.code(),
                    stack,
                    ..Sample::default()
                };
                log.note(lane, end_ns, sample)
            }
            None => Ok(()),
        }
    }

    /// Writes what is known in the end: the recording is as long as its chunks.
    pub(super) fn finish(mut self, end_ns: u64) -> io::Result<Importer> {
        self.collections.sort_unstable();
        self.seen.collections = !self.collections.is_empty();
        let mut last_ns = 0;
        for (start_ns, end_ns) in self.collections {
            // They do not overlap, but a file may say so.
            if start_ns >= last_ns && start_ns <= end_ns {
                self.importer.log.collection(start_ns, end_ns)?;
                last_ns = end_ns;
            }
        }
        self.importer.set_owners(self.facts.owners());
        self.facts.settle();
        self.importer.set_short_waits(self.facts.short_waits());
        self.importer.set_lacks(self.facts.lacks(self.seen));
        let header = &mut self.importer.header;
        header.end_ns = end_ns.max(self.last_ns);
        let recorded_ns = header.end_ns.saturating_sub(header.mono_ns);
        for (key, ns) in self.loads.statistics(self.facts.processors(), recorded_ns) {
            self.importer.log.statistic(key, ns)?;
        }
        let header = &mut self.importer.header;
        self.facts.finish(header, self.seen);
        Ok(self.importer)
    }
}

/// What `tyrion convert` adds of a thread, once its keys are looked up.
enum OwnRecord {
    Sample(Sample),
    Folded(Cell),
}

/// What of a block `tyrion convert` added: each with its thread and its time, in that order.
fn own_events(
    look_up: &mut LookUp<'_, '_>,
    block: &EventBlock,
) -> io::Result<Vec<(u32, u64, OwnRecord)>> {
    let mut found = Vec::with_capacity(block.own_events.len());
    for event in &block.own_events {
        let thread = look_up.thread(event.thread)?;
        let record = match event.site.tells {
            Tells::Folded => match look_up.site(event.site)? {
                SiteKind::Wait(site) => OwnRecord::Folded(event.cell(thread, site)),
                _ => continue,
            },
            _ => {
                let (state, stack, kind, lock) = look_up.own_sample(event)?;
                let kind = kind.map_or(0, |kind| kind.code().into());
                OwnRecord::Sample(event.sample(state, (stack, lock), kind))
            }
        };
        found.push((thread, event.start_ns, record));
    }
    found.sort_by_key(|(_, at_ns, _)| *at_ns);
    Ok(found)
}

/// What the numbers of a block stand for.
struct BlockNumbers<'n> {
    threads: &'n [u32],
    sites: &'n [SiteKind],
}

impl BlockNumbers<'_> {
    #[inline]
    fn thread(&self, number: u32) -> u32 {
        self.threads.get(number as usize).copied().unwrap_or(id::UNKNOWN)
    }
}
