//! Which waits that are for no lock withhold work, and which are idleness.
//!
//! A thread that waits in `Object.wait`, for a condition or parked may have
//! nothing to do, or may want a connection of a pool, a row of a table, room in
//! a queue: then it is as stopped as at a lock. Neither the kind of wait nor a
//! name tells. So all waits at one place are looked at together, in all logs
//! ([`Evidence`]), and [`decide()`] says what they are, and why.
//!
//! What a place is, is a matter of code, see [`WaitPlace`]. What is decided
//! depends on all waits of the logs, whatever a filter asks for: so a part of a
//! recording is not judged in another way than the whole.

mod assemble;
mod decide;
mod evidence;
mod gathered;
mod lengths;
mod overlap;
mod pass;
mod pending;
mod places;
#[cfg(test)]
mod tests;
mod work;

pub use decide::{Verdict, Why, decide};
pub use evidence::{Evidence, Overlap, Queue};
pub use places::{WaitPlace, is_of_one_maker, lends};
pub use work::WorkWaits;

use crate::{
    describe::Names,
    filter::{Filter, Kinds},
    lives::recordings,
    pass::Reading,
    states::StateReader,
};
use assemble::{Assembly, SeenLog};
use gathered::{KnownSite, KnownStack};
use pass::{EndedWaits, Gather, LogWaits, Role, WaitFilter, WakeKey};
use places::{PlaceNumbers, Shapes};
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};
use tyrion_formats::Recording;
use tyrion_wire::{WaitKind, def::id::EMPTY_STACK};

/// A place and what its waits are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedPlace {
    /// The place.
    pub place: WaitPlace,
    /// What the logs know of its waits.
    pub evidence: Evidence,
    /// What they are taken for.
    pub why: Why,
}

impl JudgedPlace {
    fn new((place, evidence): (&WaitPlace, Evidence)) -> JudgedPlace {
        let why = match evidence.waits {
            _ if place.at.is_empty() => Why::NoProgramFrame,
            0 => Why::Nothing,
            _ => decide(&evidence),
        };
        JudgedPlace { place: place.clone(), evidence, why }
    }

    /// What its waits are.
    pub fn verdict(&self) -> Verdict {
        self.why.verdict()
    }

    /// Whether threads come back here for the next work. Those that hardly ever wait for any are
    /// known by the loop alone.
    pub fn is_for_work(&self) -> bool {
        let is_loop = self.why == Why::AllAtOnce && self.evidence.is_shallow();
        self.why.is_for_work() || is_loop && !self.evidence.crosses
    }

    /// Whether a semaphore announces work here, and limits nothing.
    pub fn announces_work(&self) -> bool {
        self.evidence.is_of_permits && self.why.is_for_work() && !self.evidence.crosses
    }

    /// Whether the waits are for permits, and so for a lock.
    pub fn is_for_permits(&self) -> bool {
        self.evidence.is_of_permits && !self.announces_work()
    }

    /// Why they are, in words.
    pub fn reason(&self) -> String {
        self.why.text(&self.evidence)
    }
}

/// The places of some logs at which threads wait for no lock, and what their
/// waits are.
#[derive(Debug, Default)]
pub struct Withheld {
    judged: Vec<JudgedPlace>,
    places: PlaceNumbers,
    logs: Vec<OfLog>,
}

/// Waits of a thread at a site that are for no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherWaits {
    /// The thread, by its id in the log.
    pub thread: u32,
    /// The site, by its id in the log.
    pub site: u32,
    /// How many.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The longest of them, in ns.
    pub longest_ns: u64,
}

/// Waits at a place that a thread has ended, in one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherWakes {
    /// The place, an index into [`Withheld::places`].
    pub place: u32,
    /// The thread that ended them, by its id in the log.
    pub waker: u32,
    /// Where it did, a stack of the log; the empty one where none was taken.
    pub stack: u32,
    /// How many.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
}

#[derive(Debug)]
struct OfLog {
    shapes: Shapes,
    /// The place of each site, [`NO_PLACE`] for those for locks.
    sites: Vec<u32>,
    /// The waits that the filter asks for, in ascending order of thread and site.
    waits: Vec<OtherWaits>,
    /// The same by who ended them, as far as that is known: in ascending order of place,
    /// waker and stack.
    wakes: Vec<OtherWakes>,
    /// All waits, whatever the filter asks for, in ascending order of thread and site.
    all: Vec<WorkWaits>,
    /// The stacks in which loops of the JDK's wait for work.
    loops: HashSet<u32>,
}

const NO_PLACE: u32 = u32::MAX;

/// Whether waits of this kind may be either. A semaphore is a lock if it has permits, and none if
/// it announces work.
fn is_judged(kind: WaitKind) -> bool {
    is_lockless(kind) || kind == WaitKind::Semaphore
}

/// Whether waits of this kind are for no lock, whatever is judged of them.
fn is_lockless(kind: WaitKind) -> bool {
    Kinds::idle().contains(kind)
}

impl Withheld {
    /// Goes over the waits of logs, on all workers of the current rayon pool.
    /// Logs in which the program waits for nothing but locks are not read. Of the
    /// filter, its span of time and least duration matter for
    /// [`Withheld::waits`], for [`Withheld::wakes`] also its threads and locks, and
    /// nothing for all else.
    pub fn find(logs: &[Recording], filter: &Filter) -> Withheld {
        let mut judging = Judge::new(filter);
        for (log, recording) in logs.iter().zip(recordings(logs)) {
            if let Some((gather, of)) = judging.begin(log, recording) {
                // Whoever sums the waits tells of what is damaged.
                crate::pass::run(log, &gather, Reading::new(&|_| {}));
                judging.end(gather, &of);
            }
        }
        judging.finish()
    }

    /// Who waits when a log ends is among those who wait at once.
    fn add_pending(&self, assembly: &mut Assembly, of: &SeenLog<'_>) {
        let Some(of_log) = self.logs.last() else { return };
        for pending in of.log.pending().iter().filter(|pending| is_judged(pending.kind)) {
            let stack = of_log.known_stack(of.log, pending.stack, false, |place| {
                // A place at which no wait has ended is none.
                self.places.find(&place)
            });
            if let Some(stack) = stack.filter(|stack| stack.shape.frames != 0) {
                let (kind, lock) = (pending.kind, pending.lock);
                let known = KnownSite { kind, lock, stack: Rc::new(stack) };
                assembly.add_pending(of, pending.thread, &known, pending.start_ns);
            }
        }
    }

    /// The places, in no order that means anything, but always in the same.
    pub fn places(&self) -> &[JudgedPlace] {
        &self.judged
    }

    /// The waits of the `run`-th log that are for no lock and have the program on
    /// their stack, as far as the filter asks for their time and duration, in
    /// ascending order of thread and site.
    pub fn waits(&self, run: usize) -> &[OtherWaits] {
        self.logs.get(run).map_or(&[], |of_log| &of_log.waits)
    }

    /// By whom the waits of the `run`-th log that are for no lock were ended, as far as
    /// that is known and the filter asks for the waits.
    pub fn wakes(&self, run: usize) -> &[OtherWakes] {
        self.logs.get(run).map_or(&[], |of_log| &of_log.wakes)
    }

    /// The place of a site of the `run`-th log, an index into
    /// [`Withheld::places`]; `None` for sites at which locks are waited for.
    pub fn place_of_site(&self, run: usize, site: u32) -> Option<usize> {
        let place = *self.logs.get(run)?.sites.get(site as usize)?;
        (place != NO_PLACE).then_some(place as usize)
    }

    /// Whether the waits at a site of the `run`-th log withhold work.
    pub fn is_withheld_site(&self, run: usize, site: u32) -> bool {
        self.place_of_site(run, site).is_some_and(|place| self.is_withheld_at(place))
    }

    /// Whether a wait of this kind with this stack withholds work, in `log`, the
    /// `run`-th: one that has not ended, or that was sampled.
    pub fn is_withheld(&self, (run, log): (usize, &Recording), kind: WaitKind, stack: u32) -> bool {
        let of_log = self.logs.get(run).filter(|_| is_lockless(kind));
        let place = of_log.and_then(|of_log| self.find_place(of_log, log, stack));
        place.is_some_and(|place| self.is_withheld_at(place as usize))
    }

    /// What the waits at the place of this stack of `log`, the `run`-th, are taken for, and
    /// why, if any have ended there.
    pub fn why(&self, (run, log): (usize, &Recording), stack: u32) -> Option<Why> {
        let place = self.find_place(self.logs.get(run)?, log, stack)?;
        let judged = self.judged.get(place as usize)?;
        (judged.evidence.waits != 0).then_some(judged.why)
    }

    /// When the last wait at the place of this stack of `log`, the `run`-th, ended, monotonic ns;
    /// 0 if that is not known. Of several logs, it is that of the last one.
    pub fn last_ns(&self, (run, log): (usize, &Recording), stack: u32) -> u64 {
        let place = self.logs.get(run).and_then(|of_log| self.find_place(of_log, log, stack));
        let judged = place.and_then(|place| self.judged.get(place as usize));
        judged.map_or(0, |judged| judged.evidence.last_ns)
    }

    fn is_withheld_at(&self, place: usize) -> bool {
        let is_withheld =
            |it: &JudgedPlace| it.verdict() == Verdict::Withheld && !it.is_for_permits();
        self.judged.get(place).is_some_and(is_withheld)
    }

    /// The place of a stack, if waits have ended there.
    fn find_place(&self, of_log: &OfLog, log: &Recording, stack: u32) -> Option<u32> {
        let shape = of_log.shapes.shape(log, stack);
        self.places.find(&of_log.shapes.place(log, &shape))
    }
}

/// Judges places, log by log.
pub(crate) struct Judge<'f> {
    filter: &'f Filter,
    found: Withheld,
    assembly: Assembly,
}

impl<'f> Judge<'f> {
    pub(crate) fn new(filter: &'f Filter) -> Judge<'f> {
        Judge { filter, found: Withheld::default(), assembly: Assembly::default() }
    }

    /// What is to be asked of the next log, which is of this recording; `None` where the
    /// program waits for nothing but locks.
    pub(crate) fn begin<'a>(
        &mut self,
        log: &'a Recording,
        recording: u32,
    ) -> Option<(Gather<'a>, SeenLog<'a>)> {
        let states = StateReader::new(log);
        let (of_log, sites) = OfLog::new(log, &states, &mut self.found.places);
        self.found.logs.push(of_log);
        // Where the program is on no stack, that tells all, unless a pool waits there.
        if sites.values().all(|known| known.stack.shape.frames == 0 && !known.stack.takes) {
            return None;
        }
        let of = SeenLog { log, recording, sites, states, sees_signals: sees_signals(log) };
        let asked = asked(log, self.filter, &of.sites);
        let deep = self.found.logs.last().map_or_else(Vec::new, |of_log| of_log.shapes.deep(log));
        Some((Gather::new(log, asked, roles(log, &of.sites), deep), of))
    }

    /// The pass over that log is over.
    pub(crate) fn end(&mut self, gather: Gather<'_>, of: &SeenLog<'_>) {
        let mut seen = gather.into_seen();
        mark_passed_on(of, self.found.logs.last(), &mut seen);
        if let Some(of_log) = self.found.logs.last_mut() {
            of_log.keep(&seen);
            self.assembly.add(of, &of_log.shapes, seen);
        }
        self.found.add_pending(&mut self.assembly, of);
    }

    pub(crate) fn finish(self) -> Withheld {
        let Judge { mut found, assembly, .. } = self;
        let mut evidence = assembly.finish();
        evidence.resize(found.places.list.len(), Evidence::default());
        found.judged = found.places.list.iter().zip(evidence).map(JudgedPlace::new).collect();
        found
    }
}

impl OfLog {
    /// Those of a log, and what is to be known of sites that are judged, and of
    /// those that tell of signals at the same places.
    fn new(
        log: &Recording,
        states: &StateReader<'_>,
        places: &mut PlaceNumbers,
    ) -> (OfLog, HashMap<u32, KnownSite>) {
        let definitions = log.definitions();
        let mut of_log = OfLog {
            shapes: Shapes::of(log),
            sites: vec![NO_PLACE; definitions.sites().len()],
            waits: Vec::new(),
            wakes: Vec::new(),
            all: Vec::new(),
            loops: HashSet::new(),
        };
        let (mut sites, mut stacks) = (HashMap::new(), HashMap::new());
        for (id, site) in definitions.sites().iter().filter(|(_, site)| is_judged(site.kind)) {
            let known: &Option<Rc<KnownStack>> = stacks.entry(site.stack).or_insert_with(|| {
                let takes = states.waits_for_work(site.stack);
                let number = |place| Some(places.number(place));
                of_log.known_stack(log, site.stack, takes, number).map(Rc::new)
            });
            if let Some(stack) = known.clone() {
                if stack.shape.frames == 0 && stack.takes {
                    of_log.loops.insert(site.stack);
                }
                of_log.sites[id as usize] = stack.place;
                sites.insert(id, KnownSite { kind: site.kind, lock: site.lock, stack });
            }
        }
        for (id, site) in definitions.sites().iter() {
            let of_condition = site.kind == WaitKind::LockReacquire;
            let stack = stacks.get(&site.stack).filter(|_| of_condition).cloned().flatten();
            if let Some(stack) = stack {
                sites.insert(id, KnownSite { kind: site.kind, lock: site.lock, stack });
            }
        }
        (of_log, sites)
    }

    /// Keeps the waits that the filter asks for.
    fn keep(&mut self, seen: &LogWaits) {
        let all = seen.sites.iter().map(|(&(thread, site), waits)| WorkWaits {
            thread,
            site,
            count: waits.count,
            late_ns: waits.late_ns,
        });
        self.all = all.collect();
        self.all.sort_unstable_by_key(|it| (it.thread, it.site));
        // Where conditions were signalled, it asks for none.
        let asked = seen.sites.iter().filter(|(_, waits)| waits.asked != 0);
        let waits = asked.map(|(&(thread, site), waits)| OtherWaits {
            thread,
            site,
            count: waits.asked,
            wait_ns: waits.asked_ns,
            longest_ns: waits.longest_ns,
        });
        self.waits = waits.collect();
        self.waits.sort_unstable();
        let is_told = |ended: &EndedWaits| ended.asked != 0 && !ended.is_passed_on;
        let asked = seen.wakes.iter().filter(|(_, ended)| is_told(ended));
        let wakes = asked.map(|(&(place, waker, stack), ended)| {
            let (count, wait_ns) = (ended.asked, ended.asked_ns);
            OtherWakes { place, waker, stack, count, wait_ns }
        });
        self.wakes = wakes.collect();
        self.wakes.sort_unstable();
    }

    /// What there is to know of a stack, if its place has a number.
    fn known_stack(
        &self,
        log: &Recording,
        stack: u32,
        takes: bool,
        number: impl FnOnce(WaitPlace) -> Option<u32>,
    ) -> Option<KnownStack> {
        let shape = self.shapes.shape(log, stack);
        let place = number(self.shapes.place(log, &shape))?;
        let method = self.shapes.method(log, &shape);
        let crosses = self.shapes.crosses(log, &shape);
        Some(KnownStack { place, shape, method, takes, crosses })
    }
}

/// Marks what was ended by who had just got what both had waited for, where more of it was
/// left: who takes from a queue, gets a permit, or puts into a queue in which there is room.
fn mark_passed_on(of: &SeenLog<'_>, of_log: Option<&OfLog>, seen: &mut LogWaits) {
    let Some(of_log) = of_log else { return };
    let stacks: HashMap<u32, &KnownStack> =
        of.sites.values().map(|known| (known.stack.place, &*known.stack)).collect();
    for (&(place, _, stack), ended) in &mut seen.wakes {
        let puts = stacks.get(&place).filter(|it| places::puts(&it.method.1));
        ended.is_passed_on = match puts {
            Some(known) => {
                let shape = of_log.shapes.shape(of.log, stack);
                of_log.shapes.method(of.log, &shape).1 == known.method.1
            }
            None => of.states.passes_on(stack),
        };
    }
    mark_untold(of, &stacks, seen);
}

/// Marks the same among short waits, whose enders were not asked for their stacks: those for work
/// that others end who wait for it, too, unless one of these was seen to bring some.
fn mark_untold(of: &SeenLog<'_>, stacks: &HashMap<u32, &KnownStack>, seen: &mut LogWaits) {
    let of_site = |&(thread, site): &(u32, u32)| Some((of.sites.get(&site)?.stack.place, thread));
    let waits: HashSet<(u32, u32)> = seen.sites.keys().filter_map(of_site).collect();
    let brings = |(&(place, waker, stack), ended): (&WakeKey, &EndedWaits)| {
        let is_told = stack != EMPTY_STACK && !ended.is_passed_on;
        (is_told && waits.contains(&(place, waker))).then_some(place)
    };
    let brought: HashSet<u32> = seen.wakes.iter().filter_map(brings).collect();
    for (&(place, waker, stack), ended) in &mut seen.wakes {
        let is_for_work = stacks.get(&place).is_some_and(|it| it.takes);
        ended.is_passed_on |= stack == EMPTY_STACK
            && is_for_work
            && waits.contains(&(place, waker))
            && !brought.contains(&place);
    }
}

/// Which waits of a log the filter asks for, of those whose sites are known.
fn asked(log: &Recording, filter: &Filter, known: &HashMap<u32, KnownSite>) -> WaitFilter {
    let names = Names(log);
    let wants_thread = |id: u32| {
        let regex = filter.thread.as_ref();
        regex.is_none_or(|regex| regex.is_match(&names.thread(id)))
    };
    let mut sites = vec![false; log.definitions().sites().len()];
    for &id in known.keys() {
        let regex = filter.lock.as_ref();
        let own = log.definitions().sites().get(id);
        if let (Some(site), Some(own)) = (sites.get_mut(id as usize), own) {
            *site = regex.is_none_or(|regex| names.site_matches(regex, own));
        }
    }
    let threads = 0..log.definitions().threads().len().max(1) as u32;
    WaitFilter { window: filter.window(log), threads: threads.map(wants_thread).collect(), sites }
}

/// What to look for at each site of a log.
fn roles(log: &Recording, known: &HashMap<u32, KnownSite>) -> Vec<Role> {
    let sites = log.definitions().sites();
    // Also those that are taken again, and so are the lock of a condition.
    let locks: HashSet<u32> = known.values().map(|known| known.lock).collect();
    let mut roles = vec![Role::Elsewhere; sites.len()];
    for (id, site) in sites.iter() {
        roles[id as usize] = match known.get(&id) {
            Some(_) if site.kind == WaitKind::LockReacquire => Role::Signalled,
            Some(known) if known.stack.shape.frames == 0 && known.stack.takes => Role::TakesWork,
            Some(known) if known.stack.shape.frames != 0 => {
                Role::Judged(known.stack.place, site.kind == WaitKind::ObjectWait)
            }
            _ if locks.contains(&site.lock) => Role::Touches,
            _ => Role::Elsewhere,
        };
    }
    roles
}

/// Whether a log tells of conditions whether they were signalled: then a lock is
/// waited for after each signal.
fn sees_signals(log: &Recording) -> bool {
    let mut sites = log.definitions().sites().iter();
    match log.facts().metadata("parks") {
        Some(seen_by) => seen_by != "natives",
        None => sites.any(|(_, site)| site.kind == WaitKind::LockReacquire),
    }
}
