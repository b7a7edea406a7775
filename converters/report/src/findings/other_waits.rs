//! Waits that are for no lock, place by place: what they are, and how long they
//! took.

use super::{
    delay::Delay,
    groups::{LockRef, thread_group},
    names,
};
use regex::Regex;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};
use tyrion_formats::{Recording, WaitSite};
use tyrion_model::{
    describe::Names,
    filter::Filter,
    lives::recordings,
    withheld::{JudgedPlace, OtherWakes, Verdict, Withheld},
};
use tyrion_wire::WaitKind;

/// Waits that are for no lock and have the program on their stack, as far as the
/// filter asks for their thread, lock, time and duration; whatever kinds it asks
/// for.
#[derive(Debug, Default)]
pub struct OtherWaits {
    /// What the waits at each place are.
    pub judged: Withheld,
    /// The places of which the filter leaves any waits, most wait first.
    pub places: Vec<PlaceWaits>,
}

/// The waits at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceWaits {
    /// The place, an index into [`Withheld::places`].
    pub place: usize,
    /// The waits.
    pub waits: Delay,
    /// The longest of them, in ns.
    pub longest_ns: u64,
    /// How threads waited.
    pub kinds: BTreeSet<WaitKind>,
    /// How many threads did.
    pub threads: u64,
    /// The same by group of threads, in the order of names.
    pub groups: BTreeMap<String, Delay>,
    /// By what they waited for, all of a class and name together.
    pub locks: BTreeMap<LockRef, Delay>,
    /// The stack in which they waited longest, innermost frame first, and how
    /// long, in ns.
    pub hottest: (Vec<String>, u64),
    /// Who ended them, as far as that is known, most wait first.
    pub wakers: Vec<PlaceWaker>,
}

/// Waits at a place that threads of a group ended, all at one place in their code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceWaker {
    /// The group.
    pub threads: String,
    /// Where they were: the innermost frame outside of `java.util.concurrent`; empty
    /// where no stack was taken, or none is.
    pub at: String,
    /// The waits.
    pub waits: Delay,
    /// The stack with the most wait: the number of its log, and its id there.
    pub stack: (usize, u32),
    /// The thread of the group that ended most of the wait, and of how much, in ns.
    pub most: (String, u64),
}

/// What is gathered of a place.
#[derive(Debug, Default)]
struct GatheredWaits {
    sums: PlaceWaits,
    /// By recording and Java id.
    threads: BTreeSet<(u32, u64)>,
    stacks: Stacks,
    /// By the group of those who ended waits, and their place.
    wakers: BTreeMap<(String, String), WakerSums>,
}

/// What is gathered of those who ended waits.
#[derive(Debug, Default)]
struct WakerSums {
    waits: Delay,
    stacks: Stacks,
    /// By thread, in ns.
    threads: BTreeMap<String, u64>,
}

/// How long waits were, by log and stack, in ns.
type Stacks = BTreeMap<(usize, u32), u64>;

impl OtherWaits {
    /// Those of logs, whose places are judged.
    pub(super) fn find(logs: &[Recording], filter: &Filter, judged: Withheld) -> OtherWaits {
        let mut places: BTreeMap<usize, GatheredWaits> = BTreeMap::new();
        for ((run, log), recording) in logs.iter().enumerate().zip(recordings(logs)) {
            let mut names = FilteredNames::new(log, filter);
            for waits in judged.waits(run) {
                let Some(place) = judged.place_of_site(run, waits.site) else { continue };
                // A lock's are counted with those.
                if judged.places().get(place).is_some_and(JudgedPlace::is_for_permits) {
                    continue;
                }
                let Some(site) = log.definitions().sites().get(waits.site) else { continue };
                let named = names.thread(waits.thread).zip(names.lock(site));
                let Some((group, lock)) = named else { continue };
                let delay = Delay { count: waits.count, wait_ns: waits.wait_ns };
                let gathered = places.entry(place).or_default();
                let sums = &mut gathered.sums;
                sums.waits += delay;
                sums.longest_ns = sums.longest_ns.max(waits.longest_ns);
                sums.kinds.insert(site.kind);
                *sums.groups.entry(group).or_default() += delay;
                *sums.locks.entry(lock).or_default() += delay;
                let thread = log.definitions().threads().get(waits.thread);
                gathered.threads.insert((recording, thread.map_or(0, |thread| thread.java_id)));
                add(&mut gathered.stacks, (run, site.stack), delay.wait_ns);
            }
            add_wakers((run, log), judged.wakes(run), &mut places);
        }
        let mut places: Vec<PlaceWaits> =
            places.into_iter().map(|(place, gathered)| gathered.finish(place, logs)).collect();
        places.sort_by_cached_key(|waits| {
            let place = judged.places().get(waits.place).map(|judged| judged.place.clone());
            (Reverse(waits.waits.wait_ns), place)
        });
        OtherWaits { judged, places }
    }

    /// What is known of a place.
    pub fn judged(&self, waits: &PlaceWaits) -> Option<&JudgedPlace> {
        self.judged.places().get(waits.place)
    }

    /// The places whose waits are this, most wait first.
    pub fn of(&self, verdict: Verdict) -> impl Iterator<Item = (&JudgedPlace, &PlaceWaits)> {
        let known = self.places.iter().filter_map(|waits| Some((self.judged(waits)?, waits)));
        known.filter(move |(judged, _)| judged.verdict() == verdict)
    }

    /// All waits that are this.
    pub fn total(&self, verdict: Verdict) -> Delay {
        let mut sum = Delay::default();
        self.of(verdict).for_each(|(_, waits)| sum += waits.waits);
        sum
    }
}

fn add(stacks: &mut Stacks, key: (usize, u32), wait_ns: u64) {
    let sum = stacks.entry(key).or_default();
    *sum = sum.saturating_add(wait_ns);
}

/// Adds who ended waits of a log, at the places of which there are any.
fn add_wakers(
    (run, log): (usize, &Recording),
    wakes: &[OtherWakes],
    places: &mut BTreeMap<usize, GatheredWaits>,
) {
    let (mut threads, mut methods) = (HashMap::new(), HashMap::new());
    for wakes in wakes {
        let Some(gathered) = places.get_mut(&(wakes.place as usize)) else { continue };
        let (thread, group) = threads.entry(wakes.waker).or_insert_with(|| {
            let thread = Names(log).thread(wakes.waker);
            let group = thread_group(&thread);
            (thread, group)
        });
        let frames = || names::waker_place(&Names(log).stack(wakes.stack));
        let at = methods.entry(wakes.stack).or_insert_with(frames);
        let sums = gathered.wakers.entry((group.clone(), at.clone())).or_default();
        sums.waits += Delay { count: wakes.count, wait_ns: wakes.wait_ns };
        add(&mut sums.stacks, (run, wakes.stack), wakes.wait_ns);
        let of_thread = sums.threads.entry(thread.clone()).or_default();
        *of_thread = of_thread.saturating_add(wakes.wait_ns);
    }
}

impl GatheredWaits {
    fn finish(self, place: usize, logs: &[Recording]) -> PlaceWaits {
        let waker = |((threads, at), sums): ((String, String), WakerSums)| {
            // Of equal ones the first by name.
            let most = sums.threads.into_iter().rev().max_by_key(|(_, ns)| *ns);
            let stack = hottest(sums.stacks).unwrap_or_default().0;
            PlaceWaker { threads, at, waits: sums.waits, stack, most: most.unwrap_or_default() }
        };
        let mut wakers: Vec<PlaceWaker> = self.wakers.into_iter().map(waker).collect();
        // Stable, so that equal ones stay in the order of names.
        wakers.sort_by_key(|waker| Reverse(waker.waits.wait_ns));
        let frames = |(run, stack): (usize, u32)| {
            logs.get(run).map_or_else(Vec::new, |log| Names(log).stack(stack))
        };
        let hottest = hottest(self.stacks).map(|(key, ns)| (frames(key), ns)).unwrap_or_default();
        PlaceWaits { place, threads: self.threads.len() as u64, hottest, wakers, ..self.sums }
    }
}

/// The stack with the most wait, and how much that is, in ns.
fn hottest(stacks: Stacks) -> Option<((usize, u32), u64)> {
    stacks.into_iter().max_by_key(|&(key, ns)| (ns, Reverse(key)))
}

/// Names of the threads and locks that the filter asks for.
struct FilteredNames<'a> {
    log: &'a Recording,
    thread: Option<&'a Regex>,
    lock: Option<&'a Regex>,
    threads: HashMap<u32, Option<String>>,
    /// By lock, place and kind.
    locks: HashMap<(u32, u32, u8), Option<LockRef>>,
}

impl<'a> FilteredNames<'a> {
    fn new(log: &'a Recording, filter: &'a Filter) -> FilteredNames<'a> {
        let (threads, locks) = Default::default();
        let (thread, lock) = (filter.thread.as_ref(), filter.lock.as_ref());
        FilteredNames { log, thread, lock, threads, locks }
    }

    /// The group of a thread.
    fn thread(&mut self, id: u32) -> Option<String> {
        let known = self.threads.entry(id).or_insert_with(|| {
            let name = Names(self.log).thread(id);
            let is_wanted = self.thread.is_none_or(|regex| regex.is_match(&name));
            is_wanted.then(|| thread_group(&name))
        });
        known.clone()
    }

    /// A lock without its identity: places are about many.
    fn lock(&mut self, site: &WaitSite) -> Option<LockRef> {
        let key = (site.lock, site.place, site.kind.code());
        let known = self.locks.entry(key).or_insert_with(|| {
            let names = Names(self.log);
            let is_wanted = self.lock.is_none_or(|regex| names.site_matches(regex, site));
            let (class, name) = names.site_parts(site);
            is_wanted.then_some(LockRef { name, class, id: 0 })
        });
        known.clone()
    }
}
