//! Whether the waits at a place withhold work, or are idleness.
//!
//! Neither the JVM nor a name says. A queue from which tasks are taken is
//! waited at like a queue in which a pool keeps its connections. But threads
//! that want what others of them have are never all waiting at once; a thread
//! without work waits where its loop is, with the same few frames; and so on:
//! each rule looks at one such trace.

use super::evidence::{Evidence, Queue};
use crate::units::{counted, thousands};

/// What the waits at a place are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Threads had work to do and were kept from it.
    Withheld,
    /// The log does not tell.
    Unclear,
    /// Threads had nothing to do.
    Idle,
}

impl Verdict {
    /// The name that JSON has.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Withheld => "withheld",
            Verdict::Unclear => "unclear",
            Verdict::Idle => "idle",
        }
    }
}

/// Why the waits at a place are taken for what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Idle: the program has no frame on the stack.
    NoProgramFrame,
    /// Idle: the time was over, and nothing had come.
    TimedOut,
    /// Idle: all waits took the same time, and nothing tells how they ended.
    SameLength,
    /// Idle: a queue is read in the thread's outermost method.
    QueueLoop,
    /// Idle: a beginning or an end was waited for.
    Once,
    /// Idle: one thread waits for what it has others do.
    Coordinates,
    /// Idle: the thread's loop comes back to this place.
    Loop,
    /// Idle: others bring what the thread's loop waits for.
    Brought,
    /// Idle: from the thread's loop, its work goes far deeper.
    AboveWork,
    /// Withheld: another thread was asked for something.
    Asked,
    /// Withheld: it was asked for, and did not come.
    Unanswered,
    /// Withheld: something was to be handed over.
    HandsOver,
    /// Withheld: threads look again and again for something in others' code.
    Polls,
    /// Withheld: each wait was for something else.
    OtherObjects,
    /// Withheld: the threads waited for one another.
    OneAnother,
    /// Unclear: one thread waits for many things.
    ManyThings,
    /// Unclear: all wait at once, but it does not look like a loop.
    AllAtOnce,
    /// Unclear: like readers of a queue that is never empty for long.
    BusyQueue,
    /// Unclear: others may have ended the waits.
    Outsiders,
    /// Unclear: threads park, and nothing tells what for: it may be for time.
    Nameless,
    /// Unclear: none of the above.
    Nothing,
}

impl Why {
    /// Every reason.
    pub const ALL: [Why; 21] = [
        Why::NoProgramFrame,
        Why::TimedOut,
        Why::SameLength,
        Why::QueueLoop,
        Why::Once,
        Why::Coordinates,
        Why::Loop,
        Why::Brought,
        Why::AboveWork,
        Why::Asked,
        Why::Unanswered,
        Why::HandsOver,
        Why::Polls,
        Why::OtherObjects,
        Why::OneAnother,
        Why::ManyThings,
        Why::AllAtOnce,
        Why::BusyQueue,
        Why::Outsiders,
        Why::Nameless,
        Why::Nothing,
    ];

    /// What it says of the waits.
    pub fn verdict(self) -> Verdict {
        match self {
            Why::HandsOver
            | Why::Polls
            | Why::OtherObjects
            | Why::OneAnother
            | Why::Asked
            | Why::Unanswered => Verdict::Withheld,
            Why::ManyThings
            | Why::AllAtOnce
            | Why::BusyQueue
            | Why::Outsiders
            | Why::Nameless
            | Why::Nothing => Verdict::Unclear,
            Why::NoProgramFrame
            | Why::TimedOut
            | Why::SameLength
            | Why::QueueLoop
            | Why::Once
            | Why::Coordinates
            | Why::Loop
            | Why::Brought
            | Why::AboveWork => Verdict::Idle,
        }
    }

    /// Whether the waits are a loop's, for the next work.
    pub fn is_for_work(self) -> bool {
        matches!(self, Why::Brought | Why::QueueLoop | Why::Loop | Why::AboveWork)
    }

    /// The name that JSON has.
    pub fn name(self) -> &'static str {
        match self {
            Why::NoProgramFrame => "no-program-frame",
            Why::TimedOut => "timed-out",
            Why::SameLength => "same-length",
            Why::QueueLoop => "queue-loop",
            Why::Once => "once",
            Why::Coordinates => "coordinates",
            Why::Loop => "loop",
            Why::Brought => "brought",
            Why::AboveWork => "above-work",
            Why::Asked => "asked",
            Why::Unanswered => "unanswered",
            Why::HandsOver => "hands-over",
            Why::Polls => "polls",
            Why::OtherObjects => "other-objects",
            Why::OneAnother => "one-another",
            Why::ManyThings => "many-things",
            Why::AllAtOnce => "all-at-once",
            Why::BusyQueue => "busy-queue",
            Why::Outsiders => "outsiders",
            Why::Nameless => "nameless",
            Why::Nothing => "nothing-tells",
        }
    }

    /// The reason in words, with the figures that it comes from.
    pub fn text(self, evidence: &Evidence) -> String {
        let Evidence { waits, threads, objects, timed_out, .. } = *evidence;
        let waits_in_all = counted(waits, "wait");
        match self {
            Why::NoProgramFrame => {
                "no method of the program is on the stack: the JDK's own loops".to_owned()
            }
            Why::TimedOut => format!(
                "{} of {waits_in_all} ended because their time was over: nothing had come",
                thousands(timed_out)
            ),
            Why::SameLength => format!(
                "{} of {waits_in_all} took about the same time, as where time is waited for",
                thousands(evidence.alike)
            ),
            Why::QueueLoop => "takes from a queue in the thread's outermost method: a loop that \
                               waits for work"
                .to_owned(),
            Why::Once if threads == 1 => {
                "a thread waited here once: for a beginning or an end".to_owned()
            }
            Why::Once => format!(
                "{} waited here once each, at the same time: for a beginning or an end",
                counted(threads, "thread")
            ),
            Why::Coordinates => format!(
                "one thread spent {} here in {waits_in_all}, for other things to end",
                share(evidence)
            ),
            Why::Loop => format!(
                "the thread's loop: one stack, of {}, and {} spent here",
                counted(evidence.frames.into(), "frame"),
                share(evidence)
            ),
            Why::Brought => format!(
                "the thread's loop: others, which bring the work, ended {} of it",
                part(evidence.woken_ns.saturating_sub(evidence.by_insiders_ns), evidence.wait_ns)
            ),
            Why::AboveWork => format!(
                "the thread's loop: {}, while {} of its {} have many more",
                counted(evidence.frames.into(), "frame"),
                thousands(evidence.deep),
                counted(evidence.elsewhere, "other wait")
            ),
            Why::Asked => {
                "another thread was asked for something: a result, its end, to come".to_owned()
            }
            Why::Unanswered => format!(
                "{} of {waits_in_all} ended because their time was over: nobody had answered",
                thousands(timed_out)
            ),
            Why::HandsOver => {
                "puts into a queue: there was no room for what the thread had".to_owned()
            }
            Why::Polls => {
                format!("looks again and again for what is not there, {} times", thousands(waits))
            }
            Why::OtherObjects => format!(
                "{waits_in_all} for {} objects: not for the next work, but for something asked for",
                thousands(objects)
            ),
            Why::OneAnother => one_another_text(evidence),
            Why::ManyThings => format!(
                "one thread spends {} here, for {} objects: perhaps for what it has others do",
                share(evidence),
                thousands(objects)
            ),
            Why::AllAtOnce => {
                "all threads that wait here do so at once, but not as in a loop of theirs"
                    .to_owned()
            }
            Why::BusyQueue => format!(
                "never all of {} wait: for one another, or for a queue that was hardly ever empty",
                counted(evidence.object.threads, "thread")
            ),
            Why::Outsiders => format!(
                "{} used the lock and never waited here: perhaps they bring the work",
                counted(evidence.outsiders, "other thread")
            ),
            Why::Nameless => {
                "threads park without saying what for: perhaps only for some time".to_owned()
            }
            Why::Nothing => {
                format!("neither idle nor kept from work, as far as {waits_in_all} tell")
            }
        }
    }
}

fn part(ns: u64, of_ns: u64) -> String {
    format!("{:.0} %", 100.0 * ns as f64 / of_ns.max(1) as f64)
}

fn share(evidence: &Evidence) -> String {
    match evidence.life_share() {
        Some(share) => format!("{:.0} % of its life", 100.0 * share.min(1.0)),
        None => "its time".to_owned(),
    }
}

fn one_another_text(evidence: &Evidence) -> String {
    if evidence.is_by_insiders() == Some(true) {
        let ended = part(evidence.by_insiders_ns, evidence.wait_ns);
        return format!("threads that wait here ended {ended} of it: they waited for one another");
    }
    let of = if evidence.object.is_never_all() { evidence.object } else { evidence.method };
    format!(
        "of {} that wait here at most {} did at once: they waited for one another",
        counted(of.threads, "thread"),
        thousands(of.most.min(of.threads.saturating_sub(1)))
    )
}

/// One trace in the evidence; `None` where it is not found.
type Rule = fn(&Evidence) -> Option<Why>;

/// The rules, in the order in which they are asked.
const RULES: [Rule; 11] = [
    no_program_frame,
    hands_over,
    asked,
    other_objects,
    above_work,
    ended_by,
    once,
    nothing_came,
    queue_loop,
    all_at_once,
    one_another,
];

/// Decides what the waits at a place are, and why.
pub fn decide(evidence: &Evidence) -> Why {
    RULES.iter().find_map(|rule| rule(evidence)).unwrap_or(Why::Nothing)
}

fn no_program_frame(evidence: &Evidence) -> Option<Why> {
    (evidence.frames == 0).then_some(Why::NoProgramFrame)
}

/// Waits for time, in whatever words.
fn nothing_came(evidence: &Evidence) -> Option<Why> {
    if evidence.is_polling() && evidence.crosses && evidence.threads > 1 {
        return Some(Why::Polls);
    }
    if evidence.is_timed_out() {
        // Several want the same, in what their own code calls.
        let is_foreign = evidence.crosses || evidence.is_of_permits;
        let is_asked = is_foreign && evidence.object.threads > 1 && !evidence.is_nameless();
        return Some(if is_asked { Why::Unanswered } else { Why::TimedOut });
    }
    // A fair pool may let each thread wait for the same time as well.
    let is_alike = evidence.told == 0 && evidence.is_alike() && !evidence.object.is_never_all();
    is_alike.then_some(Why::SameLength)
}

/// A result is asked for, however regular the waits look. But one thread that does little
/// else waits for what it has others do, and one that comes back to the same thing whose
/// time is always over waits for time.
fn asked(evidence: &Evidence) -> Option<Why> {
    if !evidence.asks {
        return None;
    }
    if let Some(why) = once(evidence) {
        return Some(why);
    }
    // Those who meet wait for the last of them; but who never waits here only lets them begin.
    if evidence.meets && evidence.is_by_insiders() == Some(false) {
        return Some(Why::Brought);
    }
    let (again, others) = evidence.again();
    let is_one = evidence.threads == 1;
    Some(match () {
        () if is_one && evidence.is_most_of_life() && evidence.waits < COORDINATED => {
            Why::Coordinates
        }
        () if evidence.is_given_up() => Why::Unanswered,
        () if !evidence.is_timed_out() => Why::Asked,
        () if is_one && others < again.div_ceil(2) => Why::TimedOut,
        () => Why::Unanswered,
    })
}

/// Whoever has something that others wait for is at work, and so is whoever wants it: far from
/// where the threads of a pool come back to.
fn above_work(evidence: &Evidence) -> Option<Why> {
    evidence.is_above_work().then_some(Why::AboveWork)
}

/// Who ends the waits, where that is known: whoever has what the others wait for waits
/// here, too; and whoever brings work does not.
fn ended_by(evidence: &Evidence) -> Option<Why> {
    // A pool's thread that has nothing of the program's but its beginning waits for a task.
    let is_outermost = evidence.is_outermost && !evidence.crosses;
    let is_nameless = evidence.is_nameless();
    match evidence.is_by_insiders()? {
        true if evidence.queue == Queue::Takes && (is_outermost || is_nameless) => {
            Some(Why::QueueLoop)
        }
        // Workers call one another, too; and who has something for others says what it is.
        true if is_nameless && evidence.is_of_framework() => Some(Why::Nameless),
        true => Some(Why::OneAnother),
        false if evidence.is_brought() => {
            Some(if evidence.is_for_room() { Why::HandsOver } else { Why::Brought })
        }
        false => None,
    }
}

fn hands_over(evidence: &Evidence) -> Option<Why> {
    (evidence.queue == Queue::Puts).then_some(Why::HandsOver)
}

fn queue_loop(evidence: &Evidence) -> Option<Why> {
    let is_loop = evidence.is_outermost || evidence.is_shallow() && !evidence.crosses;
    (evidence.queue == Queue::Takes && is_loop).then_some(Why::QueueLoop)
}

/// Each thread once: nothing comes back here. One thread after another, as with
/// a thread for each request, is something else.
fn once(evidence: &Evidence) -> Option<Why> {
    let is_once = evidence.waits <= evidence.threads;
    let at_once = evidence.threads == 1 || evidence.object.is_often_all();
    match (is_once, at_once) {
        (true, true) => Some(Why::Once),
        (true, false) if evidence.is_alone() => Some(Why::Nothing),
        _ => None,
    }
}

/// Fewer waits than these of one thread that does little else are how a `main`
/// waits for its threads.
const COORDINATED: u64 = 100;
/// Fewer waits by threads that come back do not tell whether their objects differ.
const LEAST_AGAIN: u64 = 4;

/// A loop waits for the same object again and again; who has asked for something may look for
/// it several times.
fn other_objects(evidence: &Evidence) -> Option<Why> {
    let (again, others) = evidence.again();
    if again < LEAST_AGAIN || others < again.div_ceil(4) {
        return None;
    }
    let is_most = evidence.is_most_of_life();
    Some(match evidence.threads {
        1 if is_most && evidence.waits < COORDINATED => Why::Coordinates,
        1 => Why::ManyThings,
        _ => Why::OtherObjects,
    })
}

/// When all wait, none of them has what the others wait for.
fn all_at_once(evidence: &Evidence) -> Option<Why> {
    let is_alone = evidence.is_alone();
    if !is_alone && !evidence.object.is_often_all() {
        return None;
    }
    // A session that waits for others waits for an object of its own, and comes
    // here on many ways.
    let from_work = !evidence.is_shallow() && evidence.stacks > 1;
    if is_alone && from_work && evidence.method.is_never_all() {
        return Some(Why::OneAnother);
    }
    let is_loop = evidence.stacks <= 1 && evidence.is_most_of_life()
        || evidence.is_shallow() && evidence.is_only_here();
    Some(if is_loop { Why::Loop } else { Why::AllAtOnce })
}

/// As with a lock: who does not wait has what the others wait for.
fn one_another(evidence: &Evidence) -> Option<Why> {
    let object = &evidence.object;
    // Who is sent away had rather not waited.
    let mostly_came = evidence.timed_out < evidence.waits.div_ceil(2);
    if !object.is_never_all() || !mostly_came {
        return None;
    }
    // Nobody was seen to end the waits.
    let may_be_loop = evidence.woken_ns == 0 && evidence.is_of_framework();
    Some(match evidence.queue {
        _ if evidence.is_nameless() => Why::Nameless,
        _ if !evidence.is_shallow() && !may_be_loop => Why::OneAnother,
        Queue::Takes => Why::BusyQueue,
        _ if evidence.outsiders != 0 => Why::Outsiders,
        _ if object.most >= object.threads => Why::BusyQueue,
        _ => Why::OneAnother,
    })
}

#[cfg(test)]
mod tests;
