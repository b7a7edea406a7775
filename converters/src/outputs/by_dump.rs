//! Thread dumps, one after another: what outputs of single waits show of logs that have no
//! waits. A thread in a dump is one sample, and stands for no time.

use super::{OutputOptions, places::LockStacks};
use std::{collections::BTreeMap, io};
use tyrion_formats::Recording;
use tyrion_model::{
    describe::Names,
    harmless,
    profile::{NO_LOCK, NO_OWNER, Profile, WaitRow},
    timeline::{Item, SampledThread, Timeline},
    units,
};
use tyrion_wire::WaitKind;

/// The threads of a dump.
pub(super) struct DumpMoment {
    /// `dump 2 of 3, 2024-03-05T10:11:12Z`; without the time if that is not known.
    pub(super) name: String,
    /// When it was taken, in ns of the timeline's clock; a second after the one before if the
    /// file does not say.
    pub(super) at_ns: u64,
    /// Its threads.
    pub(super) threads: Vec<SampledThread>,
}

/// Whether all that is shown are thread dumps.
pub(super) fn are_dumps(timeline: &Timeline<'_>) -> bool {
    let logs = timeline.logs();
    !logs.is_empty() && logs.iter().all(|log| !log.dumps().is_empty())
}

/// The dumps, in the order of time.
pub(super) fn moments(timeline: &Timeline<'_>) -> io::Result<Vec<DumpMoment>> {
    let mut dumps: BTreeMap<(u64, u32), Vec<SampledThread>> = BTreeMap::new();
    timeline.in_time_with_samples(&mut |items, _| {
        for item in items {
            if let Item::Seen(seen) = item {
                dumps.entry((seen.at_ns, seen.run)).or_default().push(*seen);
            }
        }
        Ok(())
    })?;
    let count = dumps.len();
    let moments = (1..).zip(dumps).map(|(nth, ((at_ns, run), threads))| {
        let mut name = format!("dump {nth} of {count}");
        if let Some(wall_ns) = taken_ns(timeline, run, at_ns) {
            name = format!("{name}, {}", units::utc(wall_ns));
        }
        DumpMoment { name, at_ns, threads }
    });
    Ok(moments.collect())
}

/// When a dump was taken, as its file says.
fn taken_ns(timeline: &Timeline<'_>, run: u32, at_ns: u64) -> Option<u64> {
    let log: &Recording = timeline.logs().get(run as usize)?;
    let is_it = |ns: u64| timeline.axis().at(run, ns) == at_ns;
    log.dumps().iter().find(|dump| is_it(dump.at_ns))?.wall_ns
}

/// The name of a thread.
pub(super) fn thread_name(timeline: &Timeline<'_>, seen: &SampledThread) -> String {
    let log = timeline.logs().get(seen.run as usize);
    let name = log.map_or_else(String::new, |log| Names(log).thread(seen.thread_id));
    harmless::name(&name).into_owned()
}

/// The same sums with a wait for each sample of a thread that waits for a known lock, so that
/// stacks have locks as their leaves.
pub(super) fn with_waits(profile: &Profile) -> Profile {
    let mut waits: BTreeMap<(u32, u32, u32, WaitKind), u64> = BTreeMap::new();
    for row in &profile.samples {
        if let Some(kind) = row.kind.filter(|_| row.lock != NO_LOCK) {
            *waits.entry((row.thread, row.stack, row.lock, kind)).or_default() += row.count;
        }
    }
    let row = |((thread, stack, lock, kind), count)| WaitRow {
        thread,
        stack,
        lock,
        kind,
        owner: NO_OWNER,
        count,
        wait_ns: 0,
        max_ns: 0,
    };
    Profile { waits: waits.into_iter().map(row).collect(), ..profile.clone() }
}

/// The stacks of samples.
pub(super) struct DumpStacks<'p>(LockStacks<'p>);

impl<'p> DumpStacks<'p> {
    /// Those of a profile [`with_waits`].
    ///
    /// # Errors
    /// The profile breaks a rule of [`Profile::check`].
    pub(super) fn new(profile: &'p Profile, options: &OutputOptions) -> io::Result<DumpStacks<'p>> {
        Ok(DumpStacks(LockStacks::new(profile, options)?))
    }

    /// What the nodes are.
    pub(super) fn places(&self) -> &LockStacks<'p> {
        &self.0
    }

    /// The node of a sample; that of the stack alone if it waits for no known lock.
    pub(super) fn node(&self, seen: &SampledThread) -> u32 {
        let waits = seen.kind.filter(|_| seen.lock != NO_LOCK);
        match waits.map(|kind| self.0.node(seen.stack, seen.lock, kind)) {
            Some(node) if node != 0 => node,
            _ => seen.stack,
        }
    }
}
