//! Profiles hold sums: how often threads waited in a stack, or how long in all, and
//! not when. They become recordings of cells, which are what the event log has for
//! waits that were summed.

pub(crate) mod kinds;
pub(crate) mod names;
#[cfg(test)]
pub(crate) mod testing;

use crate::{
    error::Error,
    event_log::write::{LaneId, LogOptions},
    fact::Fact,
    import::Importer,
    input::Input,
    limits::{MAX_DEPTH, MAX_SUMS},
    recording::{Lacks, Recording},
};
use names::LockName;
use std::{collections::HashMap, io};
use tyrion_wire::{
    WaitKind,
    cell::{BUCKETS, Cell, bucket},
    def::id,
    header::Header,
};

/// What profiles of sums tell.
pub(crate) const TELLS: &[Fact] = &[
    Fact::Waits,
    Fact::Threads,
    Fact::Stacks,
    Fact::Lines,
    Fact::Kinds,
    Fact::LockClasses,
    Fact::LockNames,
    Fact::LockIdentities,
];

/// The thread of waits of which the profile does not say whose they are.
const NO_THREAD: &str = "unknown thread";

/// How often threads waited, and how long in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitTotals {
    pub(crate) count: u64,
    pub(crate) wait_ns: u64,
}

/// Makes a recording of sums.
pub(crate) struct SummedLog {
    pub(crate) importer: Importer,
    lane: Option<LaneId>,
    threads: HashMap<String, u32>,
    /// By the texts of class and name, and the number of the identity. Names and classes
    /// may be long, and each name may come with each class.
    locks: HashMap<(u32, u32, u32), u32>,
    identities: HashMap<String, u32>,
    /// By thread and site.
    sums: HashMap<(u32, u32), WaitTotals>,
    names_threads: bool,
    duration_ns: u64,
    is_empty: bool,
}

impl SummedLog {
    /// For a file of this name. `start_wall_ns` is Unix time, 0 if it is not known when
    /// the profile was made; `duration_ns` is 0 if it is not known for how long.
    pub(crate) fn new(
        input: Input,
        name: &str,
        start_wall_ns: u64,
        duration_ns: u64,
    ) -> io::Result<SummedLog> {
        let header = Header {
            wall_ns: start_wall_ns,
            mono_ns: 0,
            end_ns: duration_ns,
            pid: 0,
            depth: MAX_DEPTH,
            ..LogOptions::default().header
        };
        let importer = Importer::new(input, name, header)?;
        let (threads, locks, identities, sums) = Default::default();
        let (lane, names_threads) = (None, false);
        let is_empty = true;
        Ok(SummedLog {
            importer,
            lane,
            threads,
            locks,
            identities,
            sums,
            names_threads,
            duration_ns,
            is_empty,
        })
    }

    /// The number of the thread of this name.
    pub(crate) fn thread(&mut self, name: Option<&str>) -> io::Result<u32> {
        self.names_threads |= name.is_some();
        let name = name.unwrap_or(NO_THREAD);
        if let Some(&known) = self.threads.get(name) {
            return Ok(known);
        }
        // Its id is not known, and so stays 0.
        let number = self.importer.log.thread(0, name, "", 0)?;
        self.threads.insert(name.to_owned(), number);
        Ok(number)
    }

    /// The number of a lock.
    pub(crate) fn lock(&mut self, lock: &LockName) -> io::Result<u32> {
        let identity = self.identity(lock.identity());
        let log = &mut self.importer.log;
        let key = (log.string(&lock.class)?, log.string(&lock.name)?, identity);
        if let Some(&known) = self.locks.get(&key) {
            return Ok(known);
        }
        let number = match lock.is_unknown() {
            true => id::UNKNOWN,
            false => {
                let class = log.class(&lock.class, "")?;
                log.lock(class)?
            }
        };
        if !lock.name.is_empty() {
            log.lock_name(number, &lock.name)?;
        }
        self.locks.insert(key, number);
        Ok(number)
    }

    /// A number for what tells a lock from others of its class.
    fn identity(&mut self, identity: &str) -> u32 {
        if let Some(&known) = self.identities.get(identity) {
            return known;
        }
        let number = self.identities.len() as u32;
        self.identities.insert(identity.to_owned(), number);
        number
    }

    /// The number of a site.
    pub(crate) fn site(&mut self, kind: WaitKind, stack: u32, lock: u32) -> io::Result<u32> {
        self.importer.log.site(kind, stack, lock)
    }

    /// Adds waits of a thread at a site.
    pub(crate) fn add(&mut self, thread: u32, site: u32, waits: WaitTotals) -> io::Result<()> {
        if waits.count == 0 {
            return Ok(());
        }
        self.is_empty = false;
        let sum = self.sums.entry((thread, site)).or_default();
        sum.count = sum.count.saturating_add(waits.count);
        sum.wait_ns = sum.wait_ns.saturating_add(waits.wait_ns);
        if self.sums.len() >= MAX_SUMS { self.write() } else { Ok(()) }
    }

    /// Whether nothing was added so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    fn lane(&mut self) -> LaneId {
        *self.lane.get_or_insert_with(|| self.importer.log.lane(id::UNKNOWN))
    }

    fn write(&mut self) -> io::Result<()> {
        let lane = self.lane();
        let mut sums: Vec<((u32, u32), WaitTotals)> = self.sums.drain().collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        for ((thread, site), waits) in sums {
            self.importer.log.cell(lane, &cell(thread, site, waits, self.duration_ns))?;
        }
        Ok(())
    }

    /// The recording. What it lacks because all profiles do is filled in.
    pub(crate) fn finish(mut self, name: &str, lacks: Lacks) -> Result<Recording, Error> {
        let io = |source| Error::Io { log: name.to_owned(), source };
        self.write().map_err(io)?;
        let threads = !self.names_threads;
        self.importer.set_lacks(Lacks { times: true, singles: true, threads, ..lacks });
        self.importer.finish()
    }
}

/// A cell of waits that are as long as their average.
fn cell(thread: u32, site: u32, waits: WaitTotals, duration_ns: u64) -> Cell {
    let WaitTotals { count, wait_ns } = waits;
    let mean_ns = wait_ns / count.max(1);
    let mut histogram = [0; BUCKETS];
    if let Some(waits) = histogram.get_mut(bucket(mean_ns)) {
        *waits = u32::try_from(count).unwrap_or(u32::MAX);
    }
    // The longest is no shorter than the average.
    let max_ns = wait_ns.div_ceil(count.max(1));
    Cell {
        thread,
        site,
        owner: 0,
        group: 0,
        first_ns: 0,
        last_ns: duration_ns,
        count,
        sum_ns: wait_ns,
        max_ns,
        histogram,
    }
}
