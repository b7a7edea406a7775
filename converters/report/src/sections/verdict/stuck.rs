//! Deadlocks, and threads that had waited for a long time when the recording ended.

use super::super::{
    shared::share,
    still_waiting::{Deadlock, Waiting, is_blocked, is_selected, lock_ref, owners, still_waiting},
};
use crate::{
    Findings, ReportOptions,
    findings::{
        SnapshotRow, life,
        names::place_in,
        program::{ProgramCode, is_of_pool},
        thread_group,
    },
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tyrion_formats::Recording;
use tyrion_model::{
    describe::Names,
    profile::State,
    withheld::{Why, lends},
};
use tyrion_wire::slot::Pending;

/// A wait that is shorter is not long.
const LEAST_NS: u64 = 1_000_000_000;
/// A wait of this length is always long.
const LONG_NS: u64 = 10_000_000_000;
/// Where most of the wait had not ended, it is long from here on.
const SEEN_NS: u64 = 200_000_000;
/// All of it is much if it is more than this part of the recording.
const MUCH: u64 = 4;
/// And one for an answer if it lasted for this part.
const PART_FOR_ANSWERS: u64 = 5;
/// In between, a wait is long if it lasts for this part of the recording.
const PART_OF_RECORDING: u64 = 10;
/// No wait is long if it is at most so many times as long as the longest one for that lock that
/// has ended: others get it, and who waits may be next.
const TIMES_USUAL: u64 = 2;

/// Threads that cannot continue.
#[derive(Debug, Default)]
pub(super) struct Stuck {
    /// The deadlock that lasted longest.
    pub(super) deadlock: Option<Deadlock>,
    /// How many deadlocks there are.
    pub(super) deadlocks: usize,
    /// Whether the program was killed, or still runs.
    pub(super) is_unfinished: bool,
    /// How many threads wait for those in a deadlock.
    pub(super) behind: usize,
    /// Threads in no deadlock that had waited for a long time: the longest waits first.
    pub(super) waiting: Vec<Waiting>,
    /// What threads had asked for, and had waited for long: where most of them wait.
    pub(super) unanswered: Option<Unanswered>,
}

/// Threads that had waited for long, at one place, for what they had asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Unanswered {
    /// Where they wait: the innermost frame outside of what locks and queues are made of.
    pub place: String,
    /// The innermost frame of the program's own code in the stack of the one that waits
    /// longest. Empty if that is `place`, or if there is none, or none is known.
    pub own_place: String,
    /// The class of what they wait for; empty if that is not known.
    pub class: String,
    /// How many threads.
    pub count: u64,
    /// Their group, if it is one; else one of them.
    pub threads: String,
    /// How long they had waited in all when the recording ended.
    pub waited_ns: u64,
    /// How long the longest had.
    pub longest_ns: u64,
    /// Whether all of them are threads of the JDK's pools, which wait within their tasks.
    pub is_in_pool: bool,
    /// Whether earlier waits there were ended by others that wait there, or what is called says
    /// that it is lent: whoever has it has to give it back.
    pub was_returned: bool,
    /// Whether some wait for a second one in what they do with the first.
    pub has_one_already: bool,
}

impl Stuck {
    /// The threads that the verdict is about.
    pub(super) fn threads(&self) -> Vec<String> {
        let all = match &self.deadlock {
            Some(deadlock) => &deadlock.threads,
            None => &self.waiting,
        };
        if let (true, Some(unanswered)) = (all.is_empty(), &self.unanswered) {
            return vec![unanswered.threads.clone()];
        }
        all.iter().map(|waiting| waiting.thread.clone()).collect()
    }
}

/// Finds them.
pub(super) fn find(findings: &Findings<'_>) -> Stuck {
    let found = still_waiting(findings, &ReportOptions { top: 0, ..ReportOptions::default() });
    let deadlocks = found.deadlocks.len();
    // The first of those that lasted equally long.
    let longest = found.deadlocks.into_iter().rev().max_by_key(|deadlock| deadlock.lasted_ns);
    let behind = found.waiting.iter().filter(|it| it.state == "behind-deadlock").count();
    let ended = longest_ended(findings);
    let waits = findings.profile().waits.iter().filter(|wait| findings.shows(wait.kind));
    let ended_ns = waits.fold(0, |sum: u64, wait| sum.saturating_add(wait.wait_ns));
    let is_lock = |it: &Waiting| {
        let is_none = it.is_for_work || is_carrier(it) || waits_for_input(findings, it);
        it.state == "lock" && !is_none
    };
    let locks = found.waiting.iter().filter(|it| is_lock(it));
    let pending_ns = locks.fold(0, |sum: u64, it| sum.saturating_add(it.waited_ns));
    let least_ns = findings.axis.duration_ns / MUCH;
    let is_long = |it: &Waiting| {
        // What had not ended may be all there is to see.
        if pending_ns > ended_ns.max(least_ns) && it.waited_ns >= SEEN_NS {
            return is_lock(it);
        }
        let key = (it.lock.class.as_str(), it.lock.name.as_str());
        let usual_ns = findings.groups.find(key.0, key.1).and_then(|group| ended.get(&group));
        let unusual_ns = usual_ns.map_or(0, |usual_ns| usual_ns.saturating_mul(TIMES_USUAL));
        is_lock(it) && it.waited_ns >= long_ns(findings) && it.waited_ns > unusual_ns
    };
    let waiting = found.waiting.iter().filter(|it| is_long(it)).cloned().collect();
    let is_unfinished = found.unfinished_logs != 0;
    let unanswered = unanswered(findings);
    Stuck { deadlock: longest, deadlocks, is_unfinished, behind, waiting, unanswered }
}

/// Whether it is the carrier of a virtual thread, whose wait it is.
fn is_carrier(waiting: &Waiting) -> bool {
    waiting.stack.iter().any(|frame| frame.starts_with("jdk.internal.vm.Continuation.run"))
}

/// Whether who has the lock was seen waiting for what comes in, where the other one waits for
/// its turn.
fn waits_for_input(findings: &Findings<'_>, waiting: &Waiting) -> bool {
    let method = |frame: &str| frame.split('(').next().unwrap_or_default().to_owned();
    let here = method(waiting.place());
    let takes_input = |row: &&SnapshotRow| {
        let receives =
            row.calls.starts_with("java.net.Datagram") && row.calls.ends_with(".receive");
        method(&row.place) == here && (row.state == State::Idle || receives)
    };
    let sum = |of: &dyn Fn(&&SnapshotRow) -> bool| {
        let rows = findings.snapshots.of_threads(&waiting.owner).filter(|row| of(row));
        rows.fold(0u64, |sum, row| sum.saturating_add(row.wall_ns))
    };
    !waiting.owner.is_empty() && share(sum(&takes_input), sum(&|_| true)) >= WHOLE_LIFE
}

/// A thread that does nothing else from its start to the end waits for the program's end, as
/// `main` does: alone at its place, it is not stuck.
const WHOLE_LIFE: f64 = 0.9;

/// Where most of the time was waited that had not ended, for what was asked for.
fn unanswered(findings: &Findings<'_>) -> Option<Unanswered> {
    let mut places: BTreeMap<String, Crowd> = BTreeMap::new();
    for (run, pending) in owners::pending(findings.logs) {
        let Some(log) = findings.logs.get(run as usize) else { continue };
        let waited_ns = log.end_ns().saturating_sub(pending.start_ns);
        let judged = &findings.other_waits.judged;
        let of_log = (run as usize, log);
        let is_asked = || judged.is_asked(of_log, (pending.kind, pending.stack, waited_ns));
        let is_shown = is_selected(findings.filter, log, &pending) && !is_blocked(&pending);
        if !is_shown || waited_ns < unanswered_ns(findings) || !is_asked() {
            continue;
        }
        let crowd = places.entry(place_in(log, pending.stack)).or_default();
        if waited_ns > crowd.longest_ns {
            crowd.last_ns = judged.last_ns(of_log, pending.stack);
            crowd.half_ns = log.end_ns().saturating_sub(waited_ns / 2);
            let own = findings.program.frame(&Names(log).stack(pending.stack)).map(str::to_owned);
            crowd.own_place = own.unwrap_or_default();
        }
        crowd.add(log, &pending, waited_ns);
        crowd.add_stack(&findings.program, Names(log).stack(pending.stack));
        let why = judged.why(of_log, pending.stack);
        crowd.was_returned |= why == Some(Why::OneAnother);
    }
    let all = places.into_iter().filter(|(_, crowd)| crowd.count > 1 || !crowd.is_whole_life);
    // Where others still got what they wanted, somebody answers.
    let all = all.filter(|(_, crowd)| crowd.last_ns < crowd.half_ns);
    // Of equal ones the first by name.
    let most = all.rev().max_by_key(|(_, crowd)| crowd.waited_ns);
    most.map(|(place, crowd)| crowd.finish(place))
}

/// Threads that wait at a place.
#[derive(Default)]
struct Crowd {
    count: u64,
    waited_ns: u64,
    longest_ns: u64,
    own_place: String,
    /// When the last wait there ended, and the middle of the longest one that did not.
    last_ns: u64,
    half_ns: u64,
    /// How many there are of each group.
    groups: BTreeMap<String, u64>,
    class: String,
    outside_pools: u64,
    is_whole_life: bool,
    was_returned: bool,
    /// The program's own methods that wait, and those that have called them.
    own: BTreeSet<String>,
    outer: BTreeSet<String>,
}

impl Crowd {
    fn add(&mut self, log: &Recording, pending: &Pending, waited_ns: u64) {
        let names = Names(log);
        let (thread, stack) = (names.thread(pending.thread), names.stack(pending.stack));
        let known = log.definitions().threads().get(pending.thread);
        let life = known.and_then(|it| life(log, pending.thread, it));
        let lived_ns = life.map_or(0, |(from_ns, to_ns)| to_ns.saturating_sub(from_ns));
        self.count += 1;
        self.waited_ns = self.waited_ns.saturating_add(waited_ns);
        self.longest_ns = self.longest_ns.max(waited_ns);
        *self.groups.entry(thread_group(&thread)).or_default() += 1;
        self.class = lock_ref(log, pending.lock).class;
        let is_in_pool = stack.iter().any(|frame| is_of_pool(frame));
        self.outside_pools += u64::from(!is_in_pool);
        self.is_whole_life = share(waited_ns, lived_ns) >= WHOLE_LIFE;
    }

    /// What the stack tells of what is waited for.
    fn add_stack(&mut self, program: &ProgramCode, frames: Vec<String>) {
        self.was_returned |= frames.iter().any(|frame| lends(frame));
        let method = |frame: &str| frame.split('(').next().unwrap_or_default().to_owned();
        if let Some(own) = program.frame(&frames).map(str::to_owned) {
            let outer = frames.iter().skip_while(|frame| **frame != own).skip(1);
            self.outer.extend(outer.map(|frame| method(frame)));
            self.own.insert(method(&own));
        }
    }

    fn finish(self, place: String) -> Unanswered {
        let largest = self.groups.into_iter().rev().max_by_key(|(_, count)| *count);
        let own_place = if self.own_place == place { String::new() } else { self.own_place };
        Unanswered {
            place,
            own_place,
            class: self.class,
            count: self.count,
            threads: largest.map(|(group, _)| group).unwrap_or_default(),
            waited_ns: self.waited_ns,
            longest_ns: self.longest_ns,
            is_in_pool: self.outside_pools == 0,
            was_returned: self.was_returned,
            has_one_already: self.own.intersection(&self.outer).next().is_some(),
        }
    }
}

/// The duration from which on a wait that has not ended is long.
fn long_ns(findings: &Findings<'_>) -> u64 {
    (findings.axis.duration_ns / PART_OF_RECORDING).clamp(LEAST_NS, LONG_NS)
}

/// The same of one for what was asked for: answers may take some time.
fn unanswered_ns(findings: &Findings<'_>) -> u64 {
    (findings.axis.duration_ns / PART_FOR_ANSWERS).clamp(LEAST_NS, LONG_NS)
}

/// The longest wait that ended, by lock group: if waits of some seconds are usual, the
/// last one is not worth mentioning.
fn longest_ended(findings: &Findings<'_>) -> HashMap<u32, u64> {
    let mut longest: HashMap<u32, u64> = HashMap::new();
    for wait in findings.profile().waits.iter().filter(|wait| findings.shows(wait.kind)) {
        let of_group = longest.entry(findings.groups.of(wait.lock)).or_default();
        *of_group = (*of_group).max(wait.max_ns);
    }
    longest
}
