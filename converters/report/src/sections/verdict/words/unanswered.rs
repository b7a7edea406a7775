//! What threads had asked for and did not get, in words.

use super::{super::Verdict, called_from, loss, method, name};
use crate::Findings;
use tyrion_model::units::{counted, duration};

/// Who waits, where, since when; and what to do.
pub(super) fn lines(verdict: &Verdict, findings: &Findings<'_>) -> Vec<String> {
    let stuck = verdict.unanswered.clone().unwrap_or_default();
    let short = &findings.short_names;
    let (threads, longest) = (name(&stuck.threads), duration(stuck.longest_ns));
    let place = called_from(method(&stuck.place, short), &stuck.own_place, short);
    let head = match stuck.count {
        1 => format!(
            "{threads} still waited in {place} when the recording ended, after {longest}: nobody \
             had answered."
        ),
        count => format!(
            "{} ({threads}) still waited in {place} when the recording ended, the longest for \
             {longest}: nobody had answered.",
            counted(count, "thread")
        ),
    };
    let what = match stuck.class.as_str() {
        "" => String::new(),
        class => format!("What they wait for is {}.", name(short.class(class))),
    };
    let todo = match (stuck.is_in_pool, stuck.was_returned) {
        _ if stuck.has_one_already => {
            "→ Threads wait for a second one while they have the first: have more of them than \
             threads, or take one at a time."
        }
        (_, true) => {
            "→ Look for what was taken and not given back, as after an error, or while more is \
             waited for."
        }
        (true, false) => {
            "→ Look whether what these tasks wait for needs a thread of the same pool: then have \
             another pool for it."
        }
        (false, false) => {
            "→ Find out who should have answered: a signal that was \
             missed, a task that failed."
        }
    };
    let lost = if verdict.contended == 0 { String::new() } else { loss(verdict, findings) };
    vec![head, what, lost, todo.to_owned()]
}
