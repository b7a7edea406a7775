//! The words for the lock: how certain the verdict is, and what to do.

use super::{
    super::{Cause, GuiltyLock, KnownBy, machine::Machine},
    both, method, name,
};
use crate::{
    Findings,
    cells::percent,
    findings::short_names::ShortNames,
    sections::shared::{plus_minus, share},
};
use tyrion_model::units::{counted, duration, thousands};

/// What the holder does is told if it is this share of what it does.
const MEANWHILE: f64 = 0.25;

/// How certain it is.
pub(super) fn certainty(lock: &GuiltyLock, findings: &Findings<'_>) -> String {
    let notes = &findings.aggregate.notes;
    let exact = if notes.dropped_contention != 0 || notes.lacks_short_waits() {
        "at least"
    } else if notes.estimated.count != 0 {
        "estimated:"
    } else {
        "exact:"
    };
    let (waits, mean) = (thousands(lock.contended), duration(lock.mean_wait_ns));
    let holder = match lock.holder_known_by {
        KnownBy::Charged => ", charged to holders.".to_owned(),
        KnownBy::Asked => asked(lock, &findings.short_names),
        KnownBy::OwnerAtStart => ". Who had it is what the lock said when waits began.".to_owned(),
        KnownBy::PreviousOwner => ". Who had it is the owner before those that waited.".to_owned(),
        KnownBy::Inferred => ". Who holds it is inferred from where most waits are.".to_owned(),
        KnownBy::Unknown => match &lock.woken_by {
            Some(by) => {
                let (threads, share) = (name(&by.threads), percent(by.wait_share));
                format!(". Its holder is not known; {threads} ended {share} of the wait.")
            }
            None => ". Who holds it is not known.".to_owned(),
        },
    };
    let held = match (lock.mean_hold_ns.map(duration), lock.mean_hold_error_ns) {
        (None, _) => String::new(),
        (Some(held), None | Some(0)) => format!(" Holds are exact: {held}."),
        (Some(held), Some(error_ns)) => {
            format!(" Holds are estimated: {held} ± {}.", duration(error_ns))
        }
    };
    format!("Its waits are {exact} {waits}, mean {mean}{holder}{held}")
}

/// Where the owner was, and from where in the program.
fn meanwhile(lock: &GuiltyLock, short: &ShortNames) -> String {
    let (there, own) = (method(&lock.meanwhile, short), both(&lock.meanwhile_own, short));
    if own.is_empty() {
        there
    } else {
        format!("{there}, called from {},", own.trim_end_matches(','))
    }
}

/// What the owners did that were asked.
fn asked(lock: &GuiltyLock, short: &ShortNames) -> String {
    let looks = counted(lock.answers, "look");
    if lock.meanwhile.is_empty() || lock.meanwhile_share < MEANWHILE {
        return format!(". What holders do is known from {looks}.");
    }
    let (there, share) = (meanwhile(lock, short), percent(lock.meanwhile_share));
    format!(". By {looks}, its holder is in {there} for {share} of the time.")
}

/// What to do where nobody is known to hold it.
fn of_unheld(lock: &GuiltyLock, short: &ShortNames) -> String {
    let Some(by) = &lock.woken_by else {
        let waiter = method(&lock.waiter, short);
        if waiter.is_empty() {
            return "→ Find out who holds it, and why that takes long.".to_owned();
        }
        if lock.is_of_releases {
            return format!("→ Find out why {waiter} takes long until it releases it.");
        }
        return format!(
            "→ Find out whom its threads wait for in {waiter}, and why that takes long."
        );
    };
    let threads = name(&by.threads);
    match &by.at {
        Some(at) => {
            let at = method(at, short);
            format!("→ Look at what {threads} does before {at}, which ends these waits.")
        }
        None => format!("→ Look at what {threads} does before it ends these waits."),
    }
}

/// What to do about holds of which few are long. On busy processors, these are most likely
/// those in which the owner had to wait for a processor.
fn rare_long_holds(place: &str, hold: &str, most: &str, machine: &Machine) -> String {
    if !machine.is_busy() {
        return format!("→ Find the rare long holds in {place}: {most}, where {hold} is the mean.");
    }
    format!("→ Run fewer threads, or find why {place} held it for {most} (mean {hold}).")
}

/// What to do about a lock.
pub(super) fn advice(lock: &GuiltyLock, machine: &Machine, short: &ShortNames) -> String {
    let hold = lock.mean_hold_ns.map(duration).unwrap_or_default();
    let wait = duration(lock.mean_wait_ns);
    let holder = method(&lock.holder, short);
    let place = if holder.is_empty() { "the code that holds it".to_owned() } else { holder };
    match lock.cause {
        Cause::LongHolds => {
            format!("→ Hold it for less time: move out of {place} what needs no lock.")
        }
        Cause::RareLongHolds => {
            let most = lock.max_hold_ns.map(duration).unwrap_or_default();
            rare_long_holds(&place, &hold, &most, machine)
        }
        Cause::ManyAcquisitions => {
            let taken = lock.acquisitions.map(thousands).unwrap_or_default();
            let taken = taken + &plus_minus(lock.acquisitions_error.unwrap_or(0));
            let within = lock.traced_ns.map(|ns| format!(" in {}", duration(ns)));
            let within = within.unwrap_or_default();
            format!(
                "→ Take it less often, or split it. It is held briefly, but {taken} times{within}."
            )
        }
        Cause::OwnerNotRunning if hold.is_empty() => {
            let (want, used) =
                (machine.runnable.unwrap_or(0.0), machine.used().unwrap_or_default());
            format!(
                "→ Run fewer threads, or add processors: {want:.0} threads want to run, it used {used}."
            )
        }
        Cause::OwnerNotRunning => format!(
            "→ Run fewer threads, or add processors: held {hold}, waited {wait}: its owner was not \
             running."
        ),
        Cause::HandOver => {
            let slow = if lock.in_collections_ns.is_some() { ": slow hand-over" } else { "" };
            format!("→ Take it less often or split it: held {hold}, waited {wait}{slow}.")
        }
        Cause::Collections => {
            let collected = share(lock.in_collections_ns.unwrap_or(0), lock.wait_ns);
            let part = percent(collected);
            format!("→ Look at garbage collection: {part} of the wait fell into its pauses.")
        }
        Cause::FewPermits => {
            format!("→ Give it more permits, or give them back sooner in {place}.")
        }
        Cause::NotReturned => {
            "→ Look for permits that were taken and not given back, as after an error.".to_owned()
        }
        Cause::FairHandOver => {
            format!(
                "→ Take a lock that is not fair, or take it less often: held briefly, but with each \
                     turn the next thread has to be woken, and waits {wait}."
            )
        }
        Cause::Initialization => {
            "→ Do less while the class is initialized; it is waited for only once.".to_owned()
        }
        Cause::Unknown if lock.meanwhile_share >= 0.5 => {
            let (there, share) = (meanwhile(lock, short), percent(lock.meanwhile_share));
            format!("→ Hold it for less time: {place} is in {there} for {share} of it.")
        }
        Cause::Unknown if lock.holder_known_by == KnownBy::Unknown => of_unheld(lock, short),
        Cause::Unknown if machine.is_saturated() => {
            let used = machine.used().map(|used| format!(" It used {used}.")).unwrap_or_default();
            let first = "→ See first whether it is held for long (trace mode)";
            format!("{first}: few processors are free.{used}")
        }
        Cause::Unknown => {
            format!("→ Do less under it in {place}, or take it less often; trace mode tells which.")
        }
    }
}
