//! Waits that are not for a lock, in words.

use super::{
    super::{
        machine::Machine,
        withheld::{Root, WithheldLoss},
    },
    Line, fitting, method, name,
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
        Line(place(loss, short)).and(&format!("; counted: {}", loss.reason)).0 + ".",
        used_up(todo(loss, short), machine),
    ]
}

/// What to do, and that it gains little if there is no processor for threads that wait less.
fn used_up(todo: String, machine: &Machine) -> String {
    let Some(used) = machine.used().filter(|_| machine.is_used_up()) else { return todo };
    let used = format!("{todo} The program used {used}");
    fitting(&[format!("{used}: waiting less gains little."), format!("{used}."), todo])
}

/// Where most of the wait was, and who ended it.
fn place(loss: &WithheldLoss, short: &ShortNames) -> String {
    let most = format!("{} has {} of it", method(&loss.place, short), percent(loss.place_share));
    let Some(by) = &loss.woken_by else { return most };
    let (threads, share) = (name(&by.threads), percent(by.wait_share));
    let somewhere = format!("{most}, woken by {threads} ({share})");
    match &by.at {
        Some(at) => fitting(&[
            format!("{most}, woken by {threads} in {} ({share})", method(at, short)),
            somewhere,
        ]),
        None => somewhere,
    }
}

fn todo(loss: &WithheldLoss, short: &ShortNames) -> String {
    let is_other =
        |root: &&Root| loss.woken_by.as_ref().is_none_or(|by| by.threads != root.threads);
    match (loss.root.as_ref().filter(is_other), &loss.woken_by) {
        (Some(Root { threads, wait_share, .. }), _) => format!(
            "→ Look at what {} does: in the end, {} of these waits depend on it.",
            name(threads),
            percent(*wait_share)
        ),
        (None, Some(WokenBy { threads, at: Some(at), .. })) => fitting(&[
            format!(
                "→ Look at what {} does before {}, which these waits are for.",
                name(threads),
                method(at, short)
            ),
            format!("→ Look at what {} does before that.", name(threads)),
        ]),
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
    fn used_up_processors_are_told_where_there_is_room() {
        let told = |todo: &str, cpu_ns| used_up(todo.to_owned(), &Machine::with(2, cpu_ns, 1_000));
        let short = "→ Look at what client-* does before that.";
        assert_eq!(told(short, 1_500), short, "a processor is free now and then");
        assert_eq!(told(short, 1_950), format!("{short} The program used 1.95 of 2 processors."));
        let longer = "→ Look at what they wait for there, and at what ends it.";
        assert_eq!(told(longer, 1_950), format!("{longer} The program used 1.95 of 2 processors."));
        let brief = "→ Look at what ends it.";
        let whole =
            format!("{brief} The program used 1.95 of 2 processors: waiting less gains little.");
        assert_eq!(told(brief, 1_950), whole);
        let longest = format!("→ {}.", "x".repeat(90));
        assert_eq!(told(&longest, 1_950), longest);
        assert_eq!(used_up(short.to_owned(), &Machine::default()), short, "nothing is known");
    }
}
