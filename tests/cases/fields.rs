//! Reads the codes of the cases out of the verdict's present fields and sentences. This is all
//! that has to go once the verdict has codes of its own.

use crate::{
    said::{Said, UNCLEAR, texts},
    words::{Advice, Kind},
};
use serde_json::Value;

/// What a verdict says that has no codes.
pub fn said(verdict: &Value) -> Said {
    let todo = sentence(verdict);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match verdict["finding"].as_str().unwrap_or_default() {
        "deadlock" => Said {
            kind: Kind::Deadlock.word().to_owned(),
            holder: texts(&verdict["waiting"]),
            advice: advised(&todo),
            certainty: "exact".to_owned(),
            ..Said::default()
        },
        "still-waiting" => {
            Said { kind: Kind::Lock.word().to_owned(), advice: advised(&todo), ..Said::default() }
        }
        "locks" => of_lock(&verdict["lock"], &todo),
        "other-waits" => of_other_waits(&verdict["withheld"], &todo),
        "not-locks" | "locks-a-little" => {
            let instead = &verdict["instead"];
            let activity = text(&instead["activity"]);
            let kind = kind_of(&activity).map_or(UNCLEAR, Kind::word);
            let place = texts(&instead["place"]);
            let mut advice = advised(&todo);
            if kind == Kind::Processors.word() {
                advice.push(Advice::MoreProcessors.word().to_owned());
            }
            Said { kind: kind.to_owned(), name: place, advice, ..Said::default() }
        }
        _ => Said { kind: UNCLEAR.to_owned(), ..Said::default() },
    }
}

/// What to do, in words.
fn sentence(verdict: &Value) -> String {
    let lines = texts(&verdict["lines"]);
    let all: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("→ ")).collect();
    all.join(" ")
}

fn of_lock(lock: &Value, todo: &str) -> Said {
    let kinds = texts(&lock["kinds"]);
    let kind = match lock["cause"].as_str().unwrap_or_default() {
        "owner-not-running" => Kind::Processors,
        "collections" => Kind::CollectsGarbage,
        "few-permits" => Kind::Wait,
        _ if kinds.first().is_some_and(|kind| kind == "semaphore") => Kind::Wait,
        _ => Kind::Lock,
    };
    let of = |keys: &[&str]| keys.iter().flat_map(|key| texts(&lock[key])).collect::<Vec<_>>();
    let mut holder = of(&["holder", "holders", "meanwhile"]);
    holder.extend(texts(&lock["woken_by"]["at"]));
    holder.extend(texts(&lock["woken_by"]["threads"]));
    Said {
        kind: kind.word().to_owned(),
        name: [texts(&lock["lock"]["name"]), texts(&lock["lock"]["class"])].concat(),
        holder,
        waiter: of(&["waiter"]),
        advice: advised(todo),
        certainty: lock["certainty"].as_str().unwrap_or_default().to_owned(),
        ..Said::default()
    }
}

fn of_other_waits(withheld: &Value, todo: &str) -> Said {
    let by = &withheld["woken_by"];
    let holder = [&withheld["root"]["threads"], &by["at"], &by["threads"]];
    Said {
        kind: Kind::Wait.word().to_owned(),
        name: texts(&withheld["place"]),
        holder: holder.into_iter().flat_map(texts).collect(),
        waiter: texts(&withheld["place"]),
        advice: advised(todo),
        ..Said::default()
    }
}

/// What the program does instead of waiting for locks, if that decides.
fn kind_of(activity: &str) -> Option<Kind> {
    match activity {
        "few-processors" => Some(Kind::Processors),
        "computing" | "computing-on-some" => Some(Kind::Computes),
        "native" => Some(Kind::Outside),
        "idle" | "sleeping" => Some(Kind::Idle),
        _ => None,
    }
}

/// What sentences advise.
const SENTENCES: [(&str, &[Advice]); 16] = [
    ("Take these locks in the same order", &[Advice::SameOrder]),
    ("Let none of these classes", &[Advice::InitializeEarlier]),
    ("while it holds the lock", &[Advice::ShortenHold]),
    ("Hold it for less time", &[Advice::ShortenHold]),
    ("Find the rare long holds", &[Advice::ShortenHold]),
    ("Run fewer threads", &[Advice::FewerThreads]),
    ("add processors", &[Advice::MoreProcessors]),
    ("Take it less often", &[Advice::TakeLessOften, Advice::SplitLock]),
    ("Do less under it", &[Advice::ShortenHold, Advice::TakeLessOften]),
    ("garbage collection", &[Advice::LessGarbage]),
    ("Give it more permits", &[Advice::LargerPool, Advice::ReturnSooner]),
    ("Do less while the class", &[Advice::InitializeEarlier]),
    ("before", &[Advice::SpeedUpTask]),
    ("CPU", &[Advice::ProfileCpu]),
    ("reads, writes or calls", &[Advice::LookOutside]),
    ("There is nothing to do", &[Advice::Nothing]),
];

fn advised(todo: &str) -> Vec<String> {
    let said = SENTENCES.iter().filter(|(words, _)| todo.contains(words));
    said.flat_map(|(_, advice)| *advice).map(|advice| advice.word().to_owned()).collect()
}
