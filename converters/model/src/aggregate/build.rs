//! Builds the profile from the sums of one log after another.

use super::{
    acquired::{Rows, ThreadRows},
    asked::WaitsBySite,
    handover,
    ids::{LogIds, WaitKey},
    known::thread_of,
    linked::{LinkedWait, LinkedWaits},
    pass::LogSums,
    resolve::{Interner, Resolver},
    result::Aggregate,
    sampled::{self, SampleSums},
    sums::{SiteSums, ThreadSums, WaitSums},
    trace::{Scope, TraceSums},
};
use crate::{
    filter::States,
    filter::{Filter, Window},
    identity::Node,
    profile::{LinkRow, NO_OWNER, Run, WaitRow},
    state::State,
    totals::KindTotals,
    withheld::Withheld,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use tyrion_formats::{HoldMode, Recording, ShortWaits};
use tyrion_wire::WaitKind;

/// The number of sums that become waits at a time. While they do, they are in memory
/// twice, so not all of them at once.
const BATCH: usize = 1 << 17;
/// Stands for sites that the filter leaves out.
const LEFT_OUT: u32 = u32::MAX;
/// Stands for sites whose definition is lost.
const UNKNOWN: u32 = u32::MAX - 1;

/// Builds the profile from the sums of one log after another.
pub(super) struct ProfileBuilder<'a> {
    filter: &'a Filter,
    withheld: &'a Withheld,
    out: Aggregate,
    interner: Interner,
    /// How many logs were recorded without trace mode.
    without_trace: u64,
    /// How many have no samples.
    without_samples: u64,
    /// Some log recorded more than samples, or says so.
    has_waits: bool,
    /// Some log has samples that stand for time.
    has_sample_times: bool,
}

/// The sums of one thread, of single waits and of folded ones.
#[derive(Default)]
struct Both {
    recorded: Vec<SiteSums>,
    folded: Vec<SiteSums>,
}

impl Both {
    fn len(&self) -> usize {
        self.recorded.len() + self.folded.len()
    }
}

/// What becomes of a thread's sums.
struct ThreadWaits {
    thread: u32,
    /// Their thread is not filled in yet.
    waits: Vec<WaitRow>,
    kinds: [KindTotals; WaitKind::ALL.len()],
    unknown: WaitSums,
}

impl<'a> ProfileBuilder<'a> {
    pub(super) fn new(filter: &'a Filter, withheld: &'a Withheld) -> Self {
        let mut out = Aggregate::default();
        let interner = Interner::new(&mut out.profile);
        let (without_trace, without_samples, has_waits, has_sample_times) = Default::default();
        ProfileBuilder {
            filter,
            withheld,
            out,
            interner,
            without_trace,
            without_samples,
            has_waits,
            has_sample_times,
        }
    }

    pub(super) fn finish(mut self) -> Aggregate {
        let profile = &mut self.out.profile;
        if profile.has_acquisitions || profile.has_blame {
            self.out.notes.without_trace = self.without_trace;
        }
        if profile.has_samples {
            profile.lacks_waits = !self.has_waits;
            profile.lacks_sample_times = !self.has_sample_times;
            self.out.notes.without_samples = self.without_samples;
        }
        handover::charge(profile);
        self.out.notes.in_bursts = profile.in_bursts();
        if self.filter.states == States::default() {
            self.out.notes.hidden_idle = self.out.state(State::Idle);
        }
        self.out
    }

    /// Adds what a log holds. Threads and locks of a log are its own, so they
    /// come after those of the logs before it, and so do its rows.
    pub(super) fn add(&mut self, log: &Recording, window: &Window, mut sums: LogSums) {
        let run = self.add_run(log);
        sums.trace.asked.keep_if_seen();
        self.note(log, run, &sums);
        self.note_trace(log, Scope::of(log, window), &sums.trace);
        self.note_samples(log, &sums);
        self.out.damage.append(&mut sums.damage);
        let (trace, samples) = (sums.trace, sums.samples);
        let waited = sums.recorded.iter().chain(&sums.folded);
        let waits = WaitsBySite::of(waited, &trace.asked);
        let threads = self.chosen_threads(log, run, (sums.recorded, sums.folded), &trace, &samples);
        let ids: Vec<u32> = threads.iter().map(|(thread, _)| *thread).collect();
        let used = used_sites(log, &threads, &trace);
        let mut resolver = Resolver::new(log, run, &mut self.out, &mut self.interner);
        let takes = |site: u32, kind| {
            let is_withheld = || self.withheld.is_withheld_site(run as usize, site);
            used[site as usize] && self.filter.kinds.takes(kind, is_withheld)
        };
        let (wait_keys, key_of_site) = wait_keys(log, self.filter, takes, &mut resolver);
        let mut rows = Rows {
            log,
            filter: self.filter,
            threads: &ids,
            wait_keys: &wait_keys,
            key_of_site: &key_of_site,
            resolver: &mut resolver,
        }
        .of(trace, &waits);
        let by_state = sampled::add_rows(samples, &ids, self.filter, &mut resolver, &mut rows);
        let known = resolver.into_ids();
        for (sum, totals) in self.out.states.iter_mut().zip(by_state) {
            sum.add(&totals);
        }
        self.out.profile.waits.reserve(threads.iter().map(|(_, both)| both.len()).sum());
        let mut threads = threads.into_iter();
        loop {
            let batch = next_batch(&mut threads);
            if batch.is_empty() {
                break;
            }
            let waits = |(thread, both)| thread_waits(thread, &both, &wait_keys, &key_of_site);
            let batch: Vec<ThreadWaits> = batch.into_par_iter().map(waits).collect();
            for thread in batch {
                let rows = rows.remove(&thread.thread).unwrap_or_default();
                self.add_thread(log, run, thread, rows);
            }
        }
        self.add_links(log, sums.links, (&wait_keys, &key_of_site));
        self.out.profile.waits.shrink_to_fit();
        if let Some(ids) = self.out.ids.last_mut() {
            let threads = std::mem::take(&mut ids.threads);
            *ids = LogIds { threads, wait_keys, key_of_site, ..known };
        }
    }

    /// Adds the waits whose spans are known, of threads and sites that the profile has.
    fn add_links(
        &mut self,
        log: &Recording,
        links: LinkedWaits,
        (wait_keys, key_of_site): (&[WaitKey], &[u32]),
    ) {
        let threads = self.out.ids.last().map_or(&[][..], |ids| &ids.threads);
        let row = |wait: LinkedWait| {
            let at = *key_of_site.get(wait.site as usize)?;
            let key = *wait_keys.get(at as usize)?;
            let of = threads.binary_search_by_key(&wait.thread, |(thread, _)| *thread).ok()?;
            Some(wait.row(log, threads[of].1, key))
        };
        let rows: Vec<LinkRow> = links.into_sorted().into_iter().filter_map(row).collect();
        self.out.profile.links.extend(rows);
        self.out.profile.links.sort_by_key(LinkRow::key);
    }

    fn add_run(&mut self, log: &Recording) -> u32 {
        let facts = log.facts();
        let fact = |key| facts.metadata(key).unwrap_or_default().to_owned();
        self.out.profile.runs.push(Run {
            log: log.name().to_owned(),
            host: fact("host"),
            pid: facts.pid,
            program: fact("program"),
            jvm: fact("jvm"),
            start_wall_ns: facts.start_wall_ns,
            duration_ns: log.recorded_ns(),
            threshold_ns: facts.threshold_ns,
            short_waits: facts.short_waits,
            hold: match log.is_trace() || log.is_aimed() {
                true => log.option_values("hold").join(", then "),
                false => String::new(),
            },
            period_ns: log.period_ns().unwrap_or(0),
        });
        self.out.ids.push(LogIds::default());
        self.out.profile.runs.len() as u32 - 1
    }

    fn note(&mut self, log: &Recording, run: u32, sums: &LogSums) {
        self.out.events = self.out.events.saturating_add(sums.events);
        let bytes = log.event_chunks().iter().map(|chunk| u64::from(chunk.committed));
        self.out.event_bytes += bytes.sum::<u64>();
        self.out.folded = self.out.folded.saturating_add(sums.folds.count);
        let notes = &mut self.out.notes;
        notes.add_folds(&sums.folds);
        let lacks = log.capabilities().lacks;
        notes.add_lacks(log);
        notes.min_wait_on_counts |= lacks.durations && self.filter.min_wait_ns > 0;
        notes.unknown_sites.add(&sums.unknown);
        let (contention, other) = log.tallies();
        notes.dropped_contention = notes.dropped_contention.saturating_add(contention.dropped);
        notes.dropped_other = notes.dropped_other.saturating_add(other.dropped);
        let short_waits = log.capabilities().short_waits;
        if let ShortWaits::Sampled { interval_ns } = short_waits {
            notes.sampled_per_ns = notes.sampled_per_ns.max(interval_ns);
        }
        if short_waits != ShortWaits::Counted {
            notes.unknown_below_ns = notes.unknown_below_ns.max(log.facts().threshold_ns);
            notes.unknown_thresholds += u64::from(!log.has_threshold());
        }
        // The samples of a thread dump are its waits.
        if !log.dumps().is_empty() {
            return;
        }
        let (kinds, withheld) = (self.filter.kinds, self.withheld);
        let pending = log.pending().iter().filter(|pending| {
            let (kind, stack) = (pending.kind, pending.stack);
            kinds.takes(kind, || withheld.is_withheld((run as usize, log), kind, stack))
        });
        notes.pending += pending.count() as u64;
    }

    fn note_trace(&mut self, log: &Recording, scope: Scope, sums: &TraceSums) {
        self.out.acquisitions = self.out.acquisitions.saturating_add(sums.acquisitions);
        let (profile, notes) = (&mut self.out.profile, &mut self.out.notes);
        profile.has_acquisitions |= scope.acquisitions;
        profile.has_blame |= scope.blame || !sums.asked.is_empty();
        profile.is_blame_sampled |= !sums.asked.is_empty();
        profile.has_wakers |= log.has_wakers() || !sums.wakes.is_empty();
        if log.is_aimed() {
            let spans = log.recorded_acquisitions().into_iter().map(|part| part.end - part.start);
            let aims = log.aims().into_iter().flat_map(|aim| aim.locks);
            let aimed = notes.aimed.get_or_insert_default();
            aimed.locks.extend(aims);
            aimed.traced_ns = spans.fold(aimed.traced_ns, u64::saturating_add);
        }
        if log.is_trace() || log.is_aimed() {
            notes.hold_unmeasured |= log.hold_mode() == HoldMode::None && scope.acquisitions;
            if !scope.acquisitions {
                notes.untimed = notes.untimed.saturating_add(sums.acquisitions);
            }
        } else {
            self.without_trace += 1;
        }
        notes.unknown_places = notes.unknown_places.saturating_add(sums.unknown_places);
        notes.unknown_blame.add(&sums.unknown_blame);
        notes.unsorted_blame.add(&sums.unsorted_blame);
    }

    fn note_samples(&mut self, log: &Recording, sums: &LogSums) {
        let LogSums { samples, events, folds, .. } = sums;
        self.out.sample_records = self.out.sample_records.saturating_add(samples.records);
        let has_samples = log.has_sampling() || samples.records != 0;
        self.without_samples += u64::from(!has_samples);
        self.out.profile.has_samples |= has_samples;
        self.has_sample_times |= has_samples && log.dumps().is_empty();
        self.out.notes.min_wait_on_samples |= has_samples && self.filter.min_wait_ns > 0;
        self.has_waits |= log.capabilities().waits || *events != 0 || folds.count != 0;
    }

    /// The threads that the filter asks for, in ascending order, with their
    /// sums of single waits and of folded ones.
    fn chosen_threads(
        &self,
        log: &Recording,
        run: u32,
        (recorded, folded): (Vec<ThreadSums>, Vec<ThreadSums>),
        trace: &TraceSums,
        samples: &SampleSums,
    ) -> Vec<(u32, Both)> {
        let mut threads: BTreeMap<u32, Both> = BTreeMap::new();
        for sums in recorded {
            threads.entry(sums.thread).or_default().recorded = sums.sites;
        }
        for sums in folded {
            threads.entry(sums.thread).or_default().folded = sums.sites;
        }
        let traced =
            trace.cells.keys().map(|key| key.0).chain(trace.blames.keys().map(|key| key.0));
        let wakers = trace.wakes.keys().map(|key| key.0);
        for thread in traced.chain(wakers).chain(trace.asked.threads()).chain(samples.threads()) {
            threads.entry(thread).or_default();
        }
        let wanted = |thread: &u32| {
            let regex = self.filter.thread.as_ref();
            regex.is_none_or(|regex| regex.is_match(&thread_of(log, run, *thread).label()))
        };
        threads.into_iter().filter(|(thread, _)| wanted(thread)).collect()
    }

    fn add_thread(
        &mut self,
        log: &Recording,
        run: u32,
        mut thread: ThreadWaits,
        mut rows: ThreadRows,
    ) {
        self.out.notes.unknown_sites.add(&thread.unknown);
        for (sum, kind) in self.out.kinds.iter_mut().zip(thread.kinds) {
            *sum += kind;
        }
        if thread.waits.is_empty() && rows.is_empty() {
            return;
        }
        let profile = &mut self.out.profile;
        let id = profile.threads.len() as u32;
        // What is left of a charge is written when the wait ends, and whoever
        // released the lock may have ended by then: no name is lost.
        let is_charged_only = thread.waits.is_empty() && rows.is_blame_only();
        let is_defined = log.definitions().threads().get(thread.thread).is_some();
        if !is_defined && !is_charged_only {
            self.out.notes.unknown_names += 1;
        }
        profile.threads.push(thread_of(log, run, thread.thread));
        if let Some(ids) = self.out.ids.last_mut() {
            ids.threads.push((thread.thread, id));
        }
        thread.waits.iter_mut().for_each(|wait| wait.thread = id);
        rows.set_thread(id);
        profile.waits.append(&mut thread.waits);
        profile.acquisitions.append(&mut rows.acquisitions);
        profile.sections.append(&mut rows.sections);
        profile.blames.append(&mut rows.blames);
        profile.wakes.append(&mut rows.wakes);
        profile.operations.append(&mut rows.operations);
        profile.samples.append(&mut rows.samples);
    }
}

/// The wait keys of the used sites, in ascending order, and the number of its
/// key for each site. `takes` says whether a site was used and is asked for, by
/// its kind.
fn wait_keys(
    log: &Recording,
    filter: &Filter,
    takes: impl Fn(u32, WaitKind) -> bool,
    resolver: &mut Resolver<'_>,
) -> (Vec<WaitKey>, Vec<u32>) {
    let sites = log.definitions().sites();
    let chosen = |(id, site): &(u32, &tyrion_formats::WaitSite)| takes(*id, site.kind);
    let node_of = |site: &tyrion_formats::WaitSite| (site.lock, resolver.node_of(site));
    let nodes: Vec<Option<(u32, Node)>> =
        sites.iter().map(|it| chosen(&it).then(|| node_of(it.1))).collect();
    let mut locks: Vec<(u32, Node)> = nodes.iter().flatten().copied().collect();
    locks.sort_unstable();
    locks.dedup();
    let locks = resolver.locks(&locks, filter.lock.as_ref());
    let mut key_of_site = vec![UNKNOWN; sites.len()];
    let mut wait_keys = Vec::new();
    let mut of_sites = Vec::new();
    for ((id, site), node) in sites.iter().zip(nodes) {
        key_of_site[id as usize] = LEFT_OUT;
        if let Some(&lock) = node.and_then(|node| locks.get(&node)) {
            let key = (resolver.stack(site.stack), lock, site.kind);
            wait_keys.push(key);
            of_sites.push((id, key));
        }
    }
    wait_keys.sort_unstable();
    wait_keys.dedup();
    for (id, key) in of_sites {
        let at = wait_keys.binary_search(&key).unwrap_or_else(|at| at);
        key_of_site[id as usize] = at as u32;
    }
    (wait_keys, key_of_site)
}

/// The next threads with enough sums to be worth handing out to workers.
fn next_batch(threads: &mut impl Iterator<Item = (u32, Both)>) -> Vec<(u32, Both)> {
    let mut batch = Vec::new();
    let mut sums = 0;
    while sums < BATCH
        && let Some(thread) = threads.next()
    {
        sums += thread.1.len();
        batch.push(thread);
    }
    batch
}

/// Which sites the threads have waited at, or made others wait at.
fn used_sites(log: &Recording, threads: &[(u32, Both)], trace: &TraceSums) -> Vec<bool> {
    let mut used = vec![false; log.definitions().sites().len()];
    let mut mark = |site: u32| {
        if let Some(used) = used.get_mut(site as usize) {
            *used = true;
        }
    };
    for (_, both) in threads {
        both.recorded.iter().chain(&both.folded).for_each(|entry| mark(entry.site));
    }
    let blames = trace.blames.keys().map(|&(thread, _, _, site)| (thread, site));
    let wakes = trace.wakes.keys().map(|&(thread, _, site)| (thread, site));
    for (thread, site) in blames.chain(wakes).chain(trace.asked.sites()) {
        if threads.binary_search_by_key(&thread, |(thread, _)| *thread).is_ok() {
            mark(site);
        }
    }
    used
}

/// The waits of a thread in the order of their keys.
fn thread_waits(
    thread: u32,
    both: &Both,
    wait_keys: &[WaitKey],
    key_of_site: &[u32],
) -> ThreadWaits {
    let kinds = [KindTotals::default(); WaitKind::ALL.len()];
    let mut out = ThreadWaits { thread, waits: Vec::new(), kinds, unknown: WaitSums::default() };
    let mut sums: Vec<(u32, WaitSums)> = Vec::with_capacity(both.len());
    for (entries, is_folded) in [(&both.recorded, false), (&both.folded, true)] {
        for entry in entries {
            let at = key_of_site.get(entry.site as usize).copied().unwrap_or(UNKNOWN);
            let Some(&(_, _, kind)) = wait_keys.get(at as usize) else {
                if at == UNKNOWN {
                    out.unknown.add(&entry.sums);
                }
                continue;
            };
            let (count, ns) = (entry.sums.count, entry.sums.wait_ns);
            out.kinds[usize::from(kind.code()) - 1] += if is_folded {
                KindTotals { folded: count, folded_ns: ns, ..KindTotals::default() }
            } else {
                KindTotals { recorded: count, recorded_ns: ns, ..KindTotals::default() }
            };
            sums.push((at, entry.sums));
        }
    }
    sums.sort_unstable_by_key(|(at, _)| *at);
    sums.dedup_by(|(next, from), (kept, into)| {
        let same = next == kept;
        if same {
            into.add(from);
        }
        same
    });
    out.waits = sums.into_iter().map(|(at, sums)| wait(wait_keys[at as usize], sums)).collect();
    out
}

fn wait((stack, lock, kind): WaitKey, sums: WaitSums) -> WaitRow {
    let WaitSums { count, wait_ns, max_ns } = sums;
    WaitRow { thread: 0, stack, lock, kind, owner: NO_OWNER, count, wait_ns, max_ns }
}
