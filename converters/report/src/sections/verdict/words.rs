//! The verdict in words.
//!
//! Names are short, but can still be searched for: a class without its package, a
//! method with its class. No fact is left out to keep a line short: whoever shows them wraps
//! them.

mod instead;
mod lock;
mod pinned;
mod unanswered;
mod withheld;

use super::{Finding, GuiltyLock, Instead, Verdict, machine::Machine, next, probed, stuck::Stuck};
use crate::{
    Findings,
    cells::percent,
    findings::{LockRef, short_names::ShortNames},
    sections::still_waiting::{Deadlock, Waiting},
};
use instead::{sources, todo, what};
use lock::{advice, certainty};
use tyrion_model::{
    harmless,
    names::lock_called,
    units::{counted, duration, thousands},
};

/// A verdict has no more lines.
const LINES: usize = 5;
/// Names are not longer.
const NAME: usize = 80;
/// The loss of a group of threads is mentioned if it is this many times that of all.
const NOTABLE: f64 = 1.5;
/// The number of threads of a deadlock that have a line each.
const OF_DEADLOCK: usize = 2;

/// Writes the verdict if locks were recorded.
pub(super) fn say(
    verdict: &mut Verdict,
    findings: &Findings<'_>,
    machine: &Machine,
    stuck: &Stuck,
) {
    let instead = verdict.instead.clone().unwrap_or_default();
    let short = &findings.short_names;
    let lines = match (&stuck.deadlock, stuck.waiting.first()) {
        (Some(deadlock), _) => of_deadlock(deadlock, stuck, short),
        (None, Some(first)) => of_waiting(verdict, findings, first, stuck.waiting.len()),
        (None, None) => match (&verdict.lock, verdict.finding) {
            (Some(lock), Finding::NotTimed) => {
                vec![untimed(verdict, findings), who(lock, short), advice(lock, machine, short)]
            }
            (None, Finding::NotTimed) => vec![untimed(verdict, findings)],
            (Some(lock), Finding::Locks | Finding::LocksALittle | Finding::Selected) => {
                of_lock(verdict, findings, machine, lock, &instead)
            }
            // No wait had ended.
            (None, Finding::Locks | Finding::LocksALittle | Finding::Selected) => vec![
                loss(verdict, findings),
                "→ Look at who waited when the recording ended: section still-waiting.".to_owned(),
            ],
            (_, Finding::Pinned) => pinned::lines(verdict, findings),
            (_, Finding::Unanswered) => unanswered::lines(verdict, findings),
            (_, Finding::OtherWaits) => {
                let withheld = verdict.withheld.clone().unwrap_or_default();
                let [most, place, todo] = withheld::lines(&withheld, machine, short);
                vec![most, place, loss(verdict, findings), todo]
            }
            _ => vec![
                loss(verdict, findings),
                what(&instead, machine, short),
                sources(findings, machine),
                todo(&instead),
            ],
        },
    };
    finish(verdict, findings, lines);
}

/// Writes the verdict if locks were not recorded.
pub(super) fn not_recorded(verdict: &mut Verdict, findings: &Findings<'_>, machine: &Machine) {
    let instead = verdict.instead.clone().unwrap_or_default();
    let lines = vec![
        "Whether locks slow this program is not known: only what threads did was recorded."
            .to_owned(),
        what(&instead, machine, &findings.short_names)
            .replace("Instead, it", "It")
            .replace("Instead, ", "On the whole, "),
        todo(&instead),
    ];
    finish(verdict, findings, lines);
}

/// Writes the verdict if locks were recorded, but no waits.
pub(super) fn only_held(verdict: &mut Verdict, findings: &Findings<'_>) {
    let has_holds = findings.logs.iter().any(|log| log.capabilities().acquisitions);
    let (known, todo) = match has_holds {
        true => (
            "the log tells who held them, not who waited.",
            "→ Look at which are held for long: section critical-sections.",
        ),
        false => (
            "waits for them were not recorded.",
            "→ Record them; of Flight Recorder, the events jdk.JavaMonitorEnter and jdk.ThreadPark.",
        ),
    };
    let line = format!("Whether locks slow this program is not known: {known}");
    finish(verdict, findings, vec![line, todo.to_owned()]);
}

fn finish(verdict: &mut Verdict, findings: &Findings<'_>, mut lines: Vec<String>) {
    // Behind what it may make untrue.
    lines.insert(lines.len().min(1), probed::line(findings));
    lines.retain(|line| !line.is_empty());
    lines.truncate(LINES - 1);
    verdict.next = next::command(verdict, findings);
    lines.push(format!("Next: {}", verdict.next));
    verdict.lines = lines;
}

fn of_deadlock(deadlock: &Deadlock, stuck: &Stuck, short: &ShortNames) -> Vec<String> {
    let names: Vec<String> = deadlock.threads.iter().map(|it| name(&it.thread)).collect();
    // The log of a program that was killed ends with its last record.
    let lasted = match deadlock.lasted_ns {
        0 => String::new(),
        ns if stuck.is_unfinished => format!(", for at least {}", duration(ns)),
        ns => format!(", for {} when the recording ended", duration(ns)),
    };
    let head = match &names[..] {
        [own] => format!("Deadlock: {own} waits for itself"),
        [one, other] => format!("Deadlock: {one} and {other} wait for each other"),
        [one, other, rest @ ..] => {
            let more = counted(rest.len() as u64, "more thread");
            format!("Deadlock: {one}, {other} and {more} wait for each other")
        }
        [] => "Deadlock".to_owned(),
    };
    let others = match stuck.deadlocks {
        0 | 1 => String::new(),
        2 => " There is another one.".to_owned(),
        count => format!(" There are {} more.", thousands(count as u64 - 1)),
    };
    let mut lines = vec![format!("{head}{lasted}.{others}")];
    lines.extend(deadlock.threads.iter().take(OF_DEADLOCK).map(|it| waits(it, short)));
    let is_inferred = deadlock.threads.iter().any(|it| it.owner_known_by == "earlier-nesting");
    let certain = match is_inferred {
        true => " The owners are inferred.",
        false => " The owners are exact.",
    };
    let is_of_classes = deadlock.threads.iter().all(|it| it.lock.initializes().is_some());
    let todo = match is_of_classes {
        true => "→ Let none of these classes need another one while it is initialized.",
        false => "→ Take these locks in the same order everywhere.",
    };
    let behind = match stuck.behind {
        0 => String::new(),
        1 => " 1 more waits behind them.".to_owned(),
        behind => format!(" {} more wait behind them.", thousands(behind as u64)),
    };
    lines.push(format!("{todo}{certain}{behind}"));
    lines
}

/// What a thread waits for, where, and which thread has it.
fn waits(waiting: &Waiting, short: &ShortNames) -> String {
    let place = method(waiting.place(), short);
    let has = match waiting.owner.as_str() {
        "" => "who has it is not known".to_owned(),
        owner => format!("{} has it", name(owner)),
    };
    let thread = name(&waiting.thread);
    let place = if place.is_empty() { String::new() } else { format!(" in {place}") };
    format!("{thread} waits for {}{place}; {has}.", label(&waiting.lock, 1, short))
}

fn of_waiting(
    verdict: &Verdict,
    findings: &Findings<'_>,
    first: &Waiting,
    count: usize,
) -> Vec<String> {
    let short = &findings.short_names;
    let (thread, lock) = (name(&first.thread), label(&first.lock, 1, short));
    let waited = duration(first.waited_ns);
    let head = match count {
        1 => format!("{thread} still waited for {lock} when the recording ended, after {waited}."),
        count => format!(
            "{} threads still waited for locks when the recording ended, {thread} after {waited}.",
            thousands(count as u64)
        ),
    };
    let todo = match first.owner.as_str() {
        "" => "→ Find out who has it: jstack shows that, and trace mode records it.".to_owned(),
        owner => format!("→ Look at what {} does while it holds the lock.", name(owner)),
    };
    let known = match first.owner_known_by {
        "" => "",
        "earlier-nesting" => " Inferred: the owner is known from an earlier time.",
        _ => " Exact: the owner is known.",
    };
    let lost = if verdict.contended == 0 { String::new() } else { loss(verdict, findings) };
    vec![head, waits(first, short) + known, lost, todo]
}

fn of_lock(
    verdict: &Verdict,
    findings: &Findings<'_>,
    machine: &Machine,
    lock: &GuiltyLock,
    instead: &Instead,
) -> Vec<String> {
    let short = &findings.short_names;
    let todo = match verdict.finding {
        Finding::LocksALittle => {
            format!("→ There is little to gain. {}", what(instead, machine, short))
        }
        _ => advice(lock, machine, short),
    };
    vec![loss(verdict, findings), who(lock, short), certainty(lock, findings), todo]
}

/// How long threads waited, where that is no share of anything.
fn untimed(verdict: &Verdict, findings: &Findings<'_>) -> String {
    let waits = counted(verdict.contended, "wait");
    let has_durations = findings.logs.iter().any(|log| !log.facts().lacks.durations);
    match has_durations {
        true => format!(
            "Threads waited {} for locks, in {waits}; of how much time is not known.",
            duration(verdict.wait_ns)
        ),
        false => format!("Locks made threads wait: {waits}; how long is not known."),
    }
}

/// How much was lost.
fn loss(verdict: &Verdict, findings: &Findings<'_>) -> String {
    let share = verdict.lost_share.unwrap_or(0.0);
    let whose = if findings.filter.thread.is_some() { "selected threads'" } else { "threads'" };
    let part = format!("{} of the {whose} busy time", percent(share));
    let waits = format!("{} in {}", duration(verdict.wait_ns), counted(verdict.contended, "wait"));
    let line = match (verdict.finding, verdict.contended) {
        (Finding::NotLocks, 0) if let Some(locks) = findings.unrecorded_locks() => {
            return format!(
                "Whether locks slow this program is not known: waits for {locks} were not recorded."
            );
        }
        (Finding::NotLocks, 0) => {
            return "Locks are not what slows this program: no thread waited for one.".to_owned();
        }
        (Finding::NotLocks, _) => {
            return format!("Locks are not what slows this program: {part}, {waits}.");
        }
        (Finding::LocksALittle, _) => format!("Waiting for locks took only {part}"),
        (Finding::Selected, _) => format!("The selected lock waits took {part}"),
        _ => format!("Waiting for locks took {part}"),
    };
    let line = match verdict.contended {
        0 => format!("{line}; no wait had ended."),
        _ => format!("{line}: {waits}."),
    };
    match &verdict.most_lost {
        Some(group) if group.lost_share >= NOTABLE * share => {
            let lost = percent(group.lost_share);
            format!("{line} {} lost {lost}.", name(&group.threads))
        }
        _ => line,
    }
}

/// Which lock, who holds it and who waits.
fn who(lock: &GuiltyLock, short: &ShortNames) -> String {
    let called = label(&lock.lock, lock.objects, short);
    let (holder, waiter) = (method(&lock.holder, short), method(&lock.waiter, short));
    let is_same = holder == waiter;
    let holder = called_from(holder, &lock.holder_own, short);
    let waiter = called_from(waiter, &lock.waiter_own, short);
    let who = match (holder.as_str(), lock.holders.as_str()) {
        // The log has no stacks.
        ("", "") if waiter.is_empty() => {
            return format!("{called} has {} of it.", percent(lock.wait_share));
        }
        ("", "") if lock.is_of_releases => format!("released in {waiter}"),
        ("", "") => format!("waited for in {waiter}"),
        ("", threads) => format!("held by {}, waited for in {waiter}", name(threads)),
        (_, _) if is_same => format!("held and waited for in {waiter}"),
        (holder, _) => {
            let holder = holder.trim_end_matches(',');
            format!("held in {holder}, waited for in {waiter}")
        }
    };
    let who = who.trim_end_matches(',');
    format!("{called} has {} of it: {who}.", percent(lock.wait_share))
}

/// `AuditLog.append` of `com.acme.bank.AuditLog.append(AuditLog.java:12)`; empty of the
/// place that stands for all that are not known.
fn method(frame: &str, short: &ShortNames) -> String {
    if frame == tyrion_formats::SOMEWHERE {
        return String::new();
    }
    name(&short.method(frame))
}

/// A place and the one that called it, both of the program: `own < caller`.
fn both(own: &str, short: &ShortNames) -> String {
    match own.split_once(" < ") {
        Some((own, caller)) => called_from(method(own, short), caller, short),
        None => method(own, short),
    }
}

/// A place in a library, and where the program's own code called it, if that is known.
fn called_from(place: String, own: &str, short: &ShortNames) -> String {
    match method(own, short) {
        own if own.is_empty() || own == place => place,
        own if place.is_empty() => own,
        own => format!("{place}, called from {own},"),
    }
}

/// `Cache.lock (ReentrantLock#7)`, `AuditLog#1`, `Account (200 objects)`.
fn label(lock: &LockRef, objects: u64, short: &ShortNames) -> String {
    if let Some(class) = lock.initializes() {
        return name(&format!("initialization of {}", short.class(class)));
    }
    let (called, class) = lock.telling();
    let identity = match class.strip_suffix(".class") {
        // There is but one.
        Some(_) => String::new(),
        None => lock.identity(),
    };
    // Of many names that it has, the first one: all of them would be cut to pieces.
    let called = match called.split_once(", ") {
        Some((first, _)) if called.len() > NAME / 2 => format!("{first}, …"),
        _ => called.to_owned(),
    };
    let label = name(&lock_called(&called, short.class(class), &identity));
    match objects {
        0 | 1 => label,
        objects => format!("{label}, {} objects,", thousands(objects)),
    }
}

fn name(name: &str) -> String {
    harmless::within(name, NAME).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_have_short_labels() {
        let lock = |name: &str, class: &str, id| LockRef {
            name: name.to_owned(),
            class: class.to_owned(),
            id,
        };
        let label = |lock: &LockRef, objects| label(lock, objects, &ShortNames::default());
        assert_eq!(label(&lock("Cache.lock", "a.b.Sync", 7), 1), "Cache.lock (Sync#7)");
        assert_eq!(label(&lock("", "a.Account", 0), 12), "Account, 12 objects,");
        assert_eq!(label(&lock("", "a.b.Foo.class", 2), 1), "Foo.class");
        let many =
            lock("a lock in Zip.entry, a lock in Zip.stream, Zip.this in Zip.read", "a.Zip", 2);
        assert_eq!(label(&many, 1), "a lock in Zip.entry, … (Zip#2)");
        let initialization = lock("initialization of a.b.Foo", "int[]", 3);
        assert_eq!(label(&initialization, 1), "initialization of Foo");
    }
}
