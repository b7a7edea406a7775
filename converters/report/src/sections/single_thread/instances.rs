//! Which lock objects one thread took, and which several.

use super::{PlaceKey, SingleThreadTotals};
use crate::{
    Findings,
    findings::trace::{Taking, recordings},
};
use std::collections::{BTreeMap, HashMap, HashSet};
use tyrion_formats::Recording;
use tyrion_model::describe::Names;

/// The agent tells this many threads of an instance apart, but for the first
/// two.
const SHARERS: usize = 448;

/// A thread of a recording: the recording, and `Thread.getId()`.
type ThreadKey = (u32, u64);

/// Whose locks a thread took, of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Its own alone.
    Private,
    /// Those that others took, too.
    Shared,
    /// Some of both, or it is not known.
    Unknown,
}

/// Lock objects by place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AtPlace {
    pub(super) instances: u64,
    pub(super) private: u64,
    pub(super) shared: u64,
    /// Who the private ones belong to.
    pub(super) owners: HashSet<ThreadKey>,
}

/// What is known of a class.
#[derive(Clone, Copy, Debug, Default)]
struct OfClass {
    /// Some are shared.
    shared: bool,
    /// Of some it is not known, since virtual threads took them, or the agent
    /// had no room for them.
    unknown: bool,
}

/// What is known of a thread's locks of one class.
#[derive(Clone, Copy, Debug, Default)]
struct OfThread {
    private: bool,
    shared: bool,
    unknown: bool,
}

/// Lock objects and whose they are.
#[derive(Default)]
pub(super) struct Instances {
    pub(super) totals: SingleThreadTotals,
    pub(super) places: BTreeMap<PlaceKey, AtPlace>,
    classes: HashMap<String, OfClass>,
    /// By thread of the profile and class.
    threads: HashMap<u32, HashMap<String, OfThread>>,
    /// More threads than the agent tells apart.
    crowded: bool,
}

impl Instances {
    /// Goes through what was recorded.
    pub(super) fn find(findings: &Findings<'_>) -> Instances {
        let finder = Finder { findings, recordings: recordings(findings.logs) };
        let mut found = Instances::default();
        let mut thread_keys: HashSet<ThreadKey> = HashSet::new();
        let mut classes = Classes::default();
        let takings = &findings.trace.takings;
        let mut by_instance: Vec<(u32, u32, u32, Taking)> = Vec::with_capacity(takings.len());
        for taking in takings {
            let Some(log) = findings.logs.get(taking.run as usize) else { continue };
            let class = classes.number(taking.run, log, taking.class);
            let recording = finder.recordings[taking.run as usize];
            by_instance.push((recording, class, taking.hash, *taking));
            thread_keys.extend(finder.thread_key(taking));
        }
        by_instance.sort_unstable();
        for same in by_instance.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
            let takings: Vec<Taking> = same.iter().map(|(_, _, _, taking)| *taking).collect();
            let class = &classes.public[same[0].1 as usize];
            finder.instance(&mut found, class, &takings);
        }
        finder.unidentified(&mut found);
        found.crowded = thread_keys.len() > SHARERS;
        found
    }

    /// Whose locks of a class a thread of the profile took.
    pub(super) fn whose(&self, thread: u32, class: &str) -> Whose {
        let of_class = self.classes.get(class).copied().unwrap_or_default();
        let of_thread = self.threads.get(&thread).and_then(|classes| classes.get(class));
        match of_thread {
            Some(OfThread { private: true, shared: false, unknown: false })
                if !(self.crowded && of_class.shared) =>
            {
                Whose::Private
            }
            Some(OfThread { private: false, shared: true, unknown: false }) => Whose::Shared,
            _ => Whose::Unknown,
        }
    }

    /// Whether no lock of a class is known, or could be, to be shared.
    pub(super) fn is_whole(&self, class: &str) -> bool {
        self.classes.get(class).is_some_and(|class| !class.shared && !class.unknown)
    }

    fn of_thread(&mut self, thread: u32, class: &str) -> &mut OfThread {
        let classes = self.threads.entry(thread).or_default();
        classes.entry(class.to_owned()).or_default()
    }
}

/// Classes of lock objects: a number for each, whatever ids it has.
#[derive(Default)]
struct Classes {
    by_id: HashMap<(u32, u32), u32>,
    by_name: HashMap<String, u32>,
    /// What people call them, by number.
    public: Vec<String>,
}

impl Classes {
    fn number(&mut self, run: u32, log: &Recording, id: u32) -> u32 {
        *self.by_id.entry((run, id)).or_insert_with(|| {
            let next = self.public.len() as u32;
            let number = *self.by_name.entry(Names(log).class(id)).or_insert(next);
            if number == next {
                self.public.push(Names(log).public_class(id));
            }
            number
        })
    }
}

struct Finder<'a> {
    findings: &'a Findings<'a>,
    recordings: Vec<u32>,
}

impl Finder<'_> {
    /// Who took an instance; `None` for virtual threads, which have one name
    /// together.
    fn thread_key(&self, taking: &Taking) -> Option<ThreadKey> {
        let log = self.findings.logs.get(taking.run as usize)?;
        let java_id = log.definitions().threads().get(taking.thread)?.java_id;
        (java_id != 0).then_some((self.recordings[taking.run as usize], java_id))
    }

    /// Adds an instance that was taken so.
    fn instance(&self, found: &mut Instances, class: &str, takings: &[Taking]) {
        let mut owners: Vec<Option<ThreadKey>> =
            takings.iter().map(|it| self.thread_key(it)).collect();
        owners.sort_unstable();
        owners.dedup();
        // That of another thread may be missing.
        let shared = owners.len() > 1 || takings.iter().any(|it| it.shared);
        let owner = owners.first().copied().flatten().filter(|_| !shared);
        let private = owner.is_some();
        let of_class = found.classes.entry(class.to_owned()).or_default();
        of_class.shared |= shared;
        of_class.unknown |= !shared && !private;
        let mut wanted = false;
        let mut keys: Vec<PlaceKey> = Vec::new();
        for taking in takings {
            if let Some(thread) = self.profile_thread(taking.run, taking.thread) {
                let of_thread = found.of_thread(thread, class);
                of_thread.private |= private;
                of_thread.shared |= shared;
                of_thread.unknown |= !private && !shared;
            }
            if let Some(key) = self.key(taking) {
                wanted = true;
                keys.push(key);
            }
        }
        if !wanted {
            return;
        }
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let place = found.places.entry(key).or_default();
            place.instances += 1;
            place.private += u64::from(private);
            place.shared += u64::from(shared);
            place.owners.extend(owner);
        }
        let totals = &mut found.totals;
        totals.instances += 1;
        totals.private_instances += u64::from(private);
        totals.shared_instances += u64::from(shared);
        totals.virtual_instances += u64::from(!private && !shared);
    }

    fn profile_thread(&self, run: u32, thread: u32) -> Option<u32> {
        self.findings.aggregate.ids.get(run as usize)?.thread(thread)
    }

    /// Where an instance was taken, if the filter asks for it.
    fn key(&self, taking: &Taking) -> Option<PlaceKey> {
        let log = self.findings.logs.get(taking.run as usize)?;
        let (names, filter) = (Names(log), self.findings.filter);
        let place = log.definitions().places().get(taking.place)?;
        let wanted = filter.kinds.contains(place.kind)
            && filter.thread.as_ref().is_none_or(|it| it.is_match(&names.thread(taking.thread)))
            && (filter.lock.as_ref())
                .is_none_or(|it| names.place_matches(it, taking.place, taking.class));
        let (class, name) = names.place_parts(taking.place, taking.class);
        let (kind, place) = (place.kind.name(), names.place(place));
        wanted.then_some(PlaceKey { class, name, kind, place })
    }

    /// Notes the acquisitions of objects that the agent had no room for.
    fn unidentified(&self, found: &mut Instances) {
        for (log, run) in self.findings.logs.iter().zip(0u32..) {
            for cell in log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk)) {
                if cell.unidentified == 0 {
                    continue;
                }
                let class = Names(log).public_class(cell.class);
                if let Some(thread) = self.profile_thread(run, cell.thread) {
                    found.of_thread(thread, &class).unknown = true;
                }
                found.classes.entry(class).or_default().unknown = true;
                let sum = &mut found.totals.unidentified;
                *sum = sum.saturating_add(cell.unidentified);
            }
        }
    }
}
