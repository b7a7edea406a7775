//! Waits that are not for a lock: those that keep threads from work, and idle ones.

#[cfg(test)]
mod tests;
mod view;

use super::shared::{HotStack, cut, share};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::{Delay, LockRef, PlaceWaits, PlaceWaker},
    section::schema_of,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_model::{
    describe::Names,
    withheld::{Evidence, JudgedPlace, Overlap, Verdict},
};
use tyrion_wire::WaitKind;

/// The section.
pub const SECTION: Section = Section {
    name: "withheld",
    title: "Withheld waits",
    means: "Waits in Object.wait, for conditions and in parks that were not for a lock, but kept \
            threads from work: for a row, a connection, room in a queue. Each place is judged by \
            what its waits have in common.",
    advice: "Treat the first ones like contended locks: let fewer threads need the same thing, \
             have more of it, or keep it for less time.",
    about: About::Locks,
    in_brief: InBrief::IfAdvised,
    schema: schema_of::<WithheldWaits>,
    answer,
};

/// The answer.
///
/// A *place* is where the program waits: its innermost frame, the method that this frame calls,
/// and the outermost method. All waits at a place are judged together, whatever the filter; the
/// filter selects which of them are counted. Waits without a method of the program on the
/// stack, such as those in the JDK's pools, are left out. `--kind withheld` shows the waits of
/// the withheld places in all sections, and in all outputs of `convert`; the totals are the
/// same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WithheldWaits {
    /// How often threads were kept from work.
    pub waits: u64,
    /// How long in all.
    pub wait_ns: u64,
    /// The time of these waits, as far as recording was on, as a share of the time that threads
    /// lived.
    pub lost_share: f64,
    /// Waits that are not counted, since the logs do not show what they are.
    pub unclear_waits: u64,
    /// How long they took.
    pub unclear_wait_ns: u64,
    /// Waits of threads that had no work.
    pub idle_waits: u64,
    /// How long they took.
    pub idle_wait_ns: u64,
    /// Where threads were kept from work, most wait first.
    pub places: Vec<WithheldPlace>,
    /// How many more there are.
    pub left_out: usize,
    /// The other places: first the unclear ones, then those at which threads were idle, each
    /// with most wait first.
    pub others: Vec<WithheldPlace>,
    /// How many more there are.
    pub others_left_out: usize,
}

/// A place.
///
/// Values of `why`. More than one rule gives some of them, so their order is only about that in
/// which they are checked:
///
/// | why | verdict | meaning |
/// |---|---|---|
/// | no-program-frame | idle | The program has no method on the stack. |
/// | hands-over | withheld | The thread puts something into a queue of the JDK; or those that end its waits are busy with what it brings. |
/// | polls | withheld | In code of others, threads look again and again, for a moment each time, whether what they want is there. |
/// | once | idle | Each thread waited once, all at the same time: for a start or an end. |
/// | asked | withheld | The thread asks for what another one is to do: a result, its end, to come to a barrier. |
/// | unanswered | withheld | As `asked`, or several threads wait for one object in a library or for permits, but nine waits out of ten timed out, or were ended with an error after the same time. |
/// | coordinates | idle | One thread waits for many things, fewer than a hundred times, for most of its life: for others to end. |
/// | many-things | unclear | One thread waits for many things, but not as in `coordinates`. |
/// | other-objects | withheld | Several threads wait here repeatedly, but for a different object in a quarter of the cases or more: a loop would wait for the same one. |
/// | one-another | withheld | Threads wait for the same object, but all of them at the same time for a tenth of the time or less: some have what the others wait for. Or they are known to end the waits of one another. |
/// | above-work | idle | Few frames from the thread's outermost method, while half of its other waits have twelve methods of the program and more. |
/// | brought | idle | Few frames from the thread's outermost method, and others ended most of the wait: they never wait here, or did so at work, far deeper or in what the waiting method called. Or all come to a barrier that one lets them pass who never waits there. |
/// | timed-out | idle | Nine waits out of ten timed out. |
/// | same-length | idle | Nine waits out of ten took about the same time, and it is not known how they ended. |
/// | queue-loop | idle | The thread takes from a queue, few frames from its outermost method. |
/// | loop | idle | All threads that wait for an object wait at the same time; with one stack, for most of their lives or nearly only here. |
/// | all-at-once | unclear | All wait at the same time, but not as in a loop. |
/// | busy-queue | unclear | Never all at the same time, but few frames from the thread's outermost method: it may be a queue that was hardly ever empty. |
/// | outsiders | unclear | Never all at the same time, and few frames; but other threads use the lock, which may bring work. |
/// | nameless | unclear | Never all at the same time, but threads park without an object: perhaps only to let time pass. |
/// | nothing-tells | unclear | None of these. |
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WithheldPlace {
    /// The innermost frame of the program, `com.acme.Pool.borrow(Pool.java:42)`.
    pub place: String,
    /// The method of the JDK that it calls, `java.lang.Object.wait`.
    pub calls: String,
    /// The outermost method of the program, `com.acme.Worker.run`; empty if the stack was cut
    /// at the depth limit.
    pub root: String,
    /// `withheld`, `unclear` or `idle`.
    pub verdict: &'static str,
    /// The reason, in one word; see above.
    pub why: &'static str,
    /// The reason as a sentence, with the figures that it is based on.
    pub reason: String,
    /// How many waits match the filter.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
    /// The longest of them.
    pub max_wait_ns: u64,
    /// The kinds of waits.
    pub kinds: Vec<&'static str>,
    /// How many threads waited.
    pub threads: u64,
    /// The same by group of threads, most wait first.
    pub groups: Vec<WaitingGroup>,
    /// What they waited for, by class and name, most wait first.
    pub objects: Vec<AwaitedObjects>,
    /// The stack with the most wait.
    pub hottest: Option<HotStack>,
    /// For how many of these waits it is known who ended them.
    /// [event-log.md](event-log.md#who-ended-a-wait) says which waits these are; for
    /// `Object.wait` it takes trace mode.
    pub woken: u64,
    /// Their durations added up.
    pub woken_ns: u64,
    /// Who ended them, most wait first.
    pub wakers: Vec<WokenBy>,
    /// What all logs show about the place, whatever the filter.
    pub evidence: PlaceEvidence,
}

/// A group of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaitingGroup {
    /// The group.
    pub threads: String,
    /// How many waits.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
}

/// Objects of one class and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AwaitedObjects {
    /// Their class and name.
    pub lock: LockRef,
    /// How many waits.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
}

/// Waits that threads of a group ended, all at one place in their code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WokenBy {
    /// The group.
    pub threads: String,
    /// Where they were when they ended the waits: the innermost frame outside of
    /// `java.util.concurrent`. `null` if no stack was taken.
    pub at: Option<String>,
    /// How many waits.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
    /// As a share of all waits at the place, or for the lock.
    pub wait_share: f64,
    /// The stack with the most wait, innermost frame first; empty if none was taken.
    pub stack: Vec<String>,
}

/// What is known of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PlaceEvidence {
    /// How many waits ended.
    pub ended: u64,
    /// For how many it is known whether what they waited for happened.
    pub told: u64,
    /// How many of those timed out.
    pub timed_out: u64,
    /// The most waits that took about the same time.
    pub alike: u64,
    /// How many threads waited.
    pub waiters: u64,
    /// How many objects they waited for.
    pub objects_awaited: u64,
    /// How many pairs of a thread and an object that it waited for.
    pub pairs: u64,
    /// How many waits were for an unknown object, for example parks without one.
    pub nameless: u64,
    /// The fewest frames of the program in a stack that leads here.
    pub frames: u32,
    /// How many stacks lead here that differ in the program's methods.
    pub stacks: u64,
    /// Waits of the same threads elsewhere, those for locks included.
    pub elsewhere: u64,
    /// How many of those had at least twelve methods of the program on the stack, as where work
    /// is done.
    pub deep: u64,
    /// The share of their lives that the threads spent here. `null` when it is not known how
    /// long they lived.
    pub life_share: Option<f64>,
    /// The most threads that waited at the same time for one object; in the method, if each
    /// waits for objects of its own.
    pub most_at_once: u64,
    /// How many threads waited there in all, of which those are a part.
    pub of_threads: u64,
    /// Of the time in which any of them waited, the share in which all of them did.
    pub all_share: f64,
    /// Threads that waited for the same lock elsewhere, and never here.
    pub outsiders: u64,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let withheld = WithheldWaits::of(findings, options);
    let json = serde_json::to_value(&withheld).unwrap_or_default();
    let advises = withheld.waits != 0;
    let lacking = lacking(findings, &withheld).to_owned();
    Answer { json, view: view::view(&withheld), lacking, advises }
}

/// What is not known of who ended waits.
fn lacking(findings: &Findings<'_>, withheld: &WithheldWaits) -> &'static str {
    let is_object_wait = |place: &WithheldPlace| {
        place.kinds.contains(&WaitKind::ObjectWait.name()) && place.woken_ns < place.wait_ns
    };
    match findings.profile().has_wakers {
        _ if withheld.places.is_empty() => "",
        false => {
            "the logs do not tell who ended the waits: they need the agent's option wakers=true"
        }
        true if !findings.is_trace() && withheld.places.iter().any(is_object_wait) => {
            "needs --mode trace to tell who ended waits in Object.wait"
        }
        true => "",
    }
}

impl WokenBy {
    /// From what was found, of waits that took so long in all.
    pub fn of(findings: &Findings<'_>, waker: &PlaceWaker, all_ns: u64) -> WokenBy {
        let (run, stack) = waker.stack;
        let log = findings.logs.get(run);
        WokenBy {
            threads: waker.threads.clone(),
            at: Some(waker.at.clone()).filter(|at| !at.is_empty()),
            waits: waker.waits.count,
            wait_ns: waker.waits.wait_ns,
            wait_share: share(waker.waits.wait_ns, all_ns),
            stack: log.map_or_else(Vec::new, |log| Names(log).stack(stack)),
        }
    }
}

/// A smaller share of the waits at a place is not worth a sentence.
const LEAST: f64 = 0.25;
/// From this share of what its group ended on, a thread is named by itself.
pub(super) const ALONE: f64 = 0.75;
/// From this share of what threads ended on, it is told where they were.
const MOST: f64 = 0.5;

impl WokenBy {
    /// Who ended most of the waits at a place, if they ended a quarter at least: a group, or
    /// the one of its threads that ended nearly all of that.
    pub fn most_of(findings: &Findings<'_>, waits: &PlaceWaits) -> Option<WokenBy> {
        let mut groups: BTreeMap<&str, Vec<&PlaceWaker>> = BTreeMap::new();
        for waker in &waits.wakers {
            groups.entry(&waker.threads).or_default().push(waker);
        }
        let sum = |wakers: &[&PlaceWaker]| {
            let mut sum = Delay::default();
            wakers.iter().for_each(|waker| sum += waker.waits);
            sum
        };
        // Of equal ones the first by name.
        let (_, wakers) = groups.into_iter().rev().max_by_key(|(_, it)| sum(it).wait_ns)?;
        let (all, first) = (sum(&wakers), wakers.first()?);
        let mut by = WokenBy::of(findings, first, waits.waits.wait_ns);
        let of_first_ns = by.wait_ns;
        (by.waits, by.wait_ns) = (all.count, all.wait_ns);
        by.wait_share = share(all.wait_ns, waits.waits.wait_ns);
        by.at = by.at.filter(|_| share(of_first_ns, all.wait_ns) >= MOST);
        let mut threads: BTreeMap<&str, u64> = BTreeMap::new();
        for (thread, ns) in wakers.iter().map(|waker| &waker.most) {
            let sum = threads.entry(thread).or_default();
            *sum = sum.saturating_add(*ns);
        }
        let one = threads.into_iter().rev().max_by_key(|(_, ns)| *ns);
        if let Some((one, _)) = one.filter(|(_, ns)| share(*ns, all.wait_ns) >= ALONE) {
            one.clone_into(&mut by.threads);
        }
        (by.wait_share >= LEAST).then_some(by)
    }
}

impl WithheldWaits {
    /// From what was found.
    pub fn of(findings: &Findings<'_>, options: &ReportOptions) -> WithheldWaits {
        let found = &findings.other_waits;
        let of = |verdicts: &[Verdict]| {
            let mut places: Vec<_> = verdicts.iter().flat_map(|it| found.of(*it)).collect();
            let left_out = cut(&mut places, options);
            let place = |(judged, waits)| place(findings, judged, waits, options);
            (places.into_iter().map(place).collect(), left_out)
        };
        let (places, left_out) = of(&[Verdict::Withheld]);
        let (others, others_left_out) = of(&[Verdict::Unclear, Verdict::Idle]);
        let phases = findings.phases.iter().map(|phase| phase.withheld_ns);
        let lost_ns = phases.fold(0, u64::saturating_add);
        let [all, unclear, idle] =
            [Verdict::Withheld, Verdict::Unclear, Verdict::Idle].map(|it| found.total(it));
        WithheldWaits {
            waits: all.count,
            wait_ns: all.wait_ns,
            lost_share: share(lost_ns, findings.threads.lived_ns),
            unclear_waits: unclear.count,
            unclear_wait_ns: unclear.wait_ns,
            idle_waits: idle.count,
            idle_wait_ns: idle.wait_ns,
            places,
            left_out,
            others,
            others_left_out,
        }
    }
}

fn place(
    findings: &Findings<'_>,
    judged: &JudgedPlace,
    waits: &PlaceWaits,
    options: &ReportOptions,
) -> WithheldPlace {
    let (stack, wait_ns) = &waits.hottest;
    let hottest = HotStack {
        wait_ns: *wait_ns,
        wait_share: share(*wait_ns, waits.waits.wait_ns),
        stack: stack.clone(),
    };
    let group = |(threads, waits): (&String, &Delay)| WaitingGroup {
        threads: threads.clone(),
        waits: waits.count,
        wait_ns: waits.wait_ns,
    };
    let awaited = |(lock, waits): (&LockRef, &Delay)| AwaitedObjects {
        lock: lock.clone(),
        waits: waits.count,
        wait_ns: waits.wait_ns,
    };
    let mut woken = Delay::default();
    waits.wakers.iter().for_each(|waker| woken += waker.waits);
    let mut wakers: Vec<&PlaceWaker> = waits.wakers.iter().collect();
    cut(&mut wakers, options);
    let woken_by = |waker: &PlaceWaker| WokenBy::of(findings, waker, waits.waits.wait_ns);
    WithheldPlace {
        place: judged.place.at.clone(),
        calls: judged.place.calls.clone(),
        root: judged.place.root.clone(),
        verdict: judged.verdict().name(),
        why: judged.why.name(),
        reason: judged.reason(),
        waits: waits.waits.count,
        wait_ns: waits.waits.wait_ns,
        max_wait_ns: waits.longest_ns,
        kinds: waits.kinds.iter().copied().map(WaitKind::name).collect(),
        threads: waits.threads,
        groups: ranked(&waits.groups, options).into_iter().map(group).collect(),
        objects: ranked(&waits.locks, options).into_iter().map(awaited).collect(),
        hottest: Some(hottest),
        woken: woken.count,
        woken_ns: woken.wait_ns,
        wakers: wakers.into_iter().map(woken_by).collect(),
        evidence: PlaceEvidence::of(&judged.evidence),
    }
}

/// The entries that are shown, most wait first; equal ones in their own order.
fn ranked<'a, K>(sums: &'a BTreeMap<K, Delay>, options: &ReportOptions) -> Vec<(&'a K, &'a Delay)> {
    let mut list: Vec<(&K, &Delay)> = sums.iter().collect();
    // Stable.
    list.sort_by_key(|(_, waits)| Reverse(waits.wait_ns));
    cut(&mut list, options);
    list
}

impl PlaceEvidence {
    fn of(evidence: &Evidence) -> PlaceEvidence {
        let Overlap { threads, most, any_ns, all_ns } = match evidence.object.threads {
            0 => evidence.method,
            _ => evidence.object,
        };
        PlaceEvidence {
            ended: evidence.waits,
            told: evidence.told,
            timed_out: evidence.timed_out,
            alike: evidence.alike,
            waiters: evidence.threads,
            objects_awaited: evidence.objects,
            pairs: evidence.pairs,
            nameless: evidence.nameless,
            frames: evidence.frames,
            stacks: evidence.stacks,
            elsewhere: evidence.elsewhere,
            deep: evidence.deep,
            life_share: evidence.life_share(),
            most_at_once: most,
            of_threads: threads,
            all_share: share(all_ns, any_ns),
            outsiders: evidence.outsiders,
        }
    }
}
