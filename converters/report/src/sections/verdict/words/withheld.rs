//! Waits that are not for a lock, in words.

use super::{
    super::{
        machine::Machine,
        withheld::{Root, WithheldLoss},
    },
    both, called_from, method, name,
};
use crate::{cells::percent, findings::short_names::ShortNames, sections::withheld::WokenBy};
use tyrion_model::units::{counted, duration};

/// How much they took, where most of it was and who ended it, and what to do.
pub(super) fn lines(loss: &WithheldLoss, machine: &Machine, short: &ShortNames) -> [String; 3] {
    let (took, waits) = (duration(loss.wait_ns), counted(loss.waits, "wait"));
    let lost = percent(loss.lost_share);
    [
        format!(
            "Waits other than for locks kept threads from work for {lost} of their time: {took} in \
             {waits}."
        ),
        format!("{}; counted: {}.", place(loss, short), loss.reason),
        used_up(todo(loss, short), machine),
    ]
}

/// What to do, and that it gains little if there is no processor for threads that wait less.
fn used_up(todo: String, machine: &Machine) -> String {
    let Some(used) = machine.used().filter(|_| machine.is_used_up()) else { return todo };
    format!("{todo} The program used {used}: waiting less gains little.")
}

/// Where most of the wait was, and who ended it.
fn place(loss: &WithheldLoss, short: &ShortNames) -> String {
    let place = called_from(method(&loss.place, short), &loss.own_place, short);
    let most = format!("{place} has {} of it", percent(loss.place_share));
    let Some(by) = &loss.woken_by else { return most };
    let (threads, share) = (name(&by.threads), percent(by.wait_share));
    match &by.at {
        Some(at) => {
            let at = called_from(method(at, short), &loss.waker_own, short);
            format!("{most}, woken by {threads} in {at} ({share})")
        }
        None => format!("{most}, woken by {threads} ({share})"),
    }
}

/// What those who end the waits mostly do, if that was seen.
fn busy(loss: &WithheldLoss, short: &ShortNames) -> String {
    match loss.meanwhile.as_str() {
        "" => String::new(),
        at => {
            let (place, share) = (both(at, short), percent(loss.meanwhile_share));
            format!(" It is mostly in {}: {share}.", place.trim_end_matches(','))
        }
    }
}

fn todo(loss: &WithheldLoss, short: &ShortNames) -> String {
    let todo = whom(loss, short);
    todo + &busy(loss, short)
}

/// Whom to look at.
fn whom(loss: &WithheldLoss, short: &ShortNames) -> String {
    let is_other =
        |root: &&Root| loss.woken_by.as_ref().is_none_or(|by| by.threads != root.threads);
    match (loss.root.as_ref().filter(is_other), &loss.woken_by) {
        (Some(Root { threads, wait_share, .. }), _) => format!(
            "→ Look at what {} does: in the end, {} of these waits depend on it.",
            name(threads),
            percent(*wait_share)
        ),
        (None, _) if !loss.served_by.is_empty() => {
            format!("→ Look at what {} does: most likely they wait for it.", name(&loss.served_by))
        }
        (None, Some(WokenBy { threads, at: Some(at), .. })) => format!(
            "→ Look at what {} does before {}, which these waits are for.",
            name(threads),
            method(at, short)
        ),
        (None, Some(by)) => {
            format!("→ Look at what {} does before that.", name(&by.threads))
        }
        (None, None) => "→ Look at what they wait for there, and at what ends it.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_up_processors_are_told() {
        let told = |cpu_ns| used_up("→ Look.".to_owned(), &Machine::with(2, cpu_ns, 1_000));
        assert_eq!(told(1_500), "→ Look.", "a processor is free now and then");
        let whole = "→ Look. The program used 1.95 of 2 processors: waiting less gains little.";
        assert_eq!(told(1_950), whole);
        assert_eq!(used_up("→ Look.".to_owned(), &Machine::default()), "→ Look.", "not known");
    }
}
