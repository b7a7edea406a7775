//! Whether what a verdict says is right.

use crate::{
    case::Answer,
    said::{Said, UNCLEAR},
};
use regex::Regex;

/// How right it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    Right,
    Partly,
    Unclear,
    Wrong,
}

impl Grade {
    /// All of them.
    pub const ALL: [Grade; 4] = [Grade::Right, Grade::Partly, Grade::Unclear, Grade::Wrong];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Grade::Right => "right",
            Grade::Partly => "partly",
            Grade::Unclear => "unclear",
            Grade::Wrong => "wrong",
        }
    }
}

/// A verdict compared with the right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub grade: Grade,
    /// What is not as it should be.
    pub why: String,
    /// What is right in the sentences alone, since no field says it.
    pub in_words: Vec<&'static str>,
}

/// Where a name was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    InField,
    InWords,
    Nowhere,
}

/// Compares.
pub fn judge(answer: &Answer, said: &Said) -> Judgement {
    let right = |grade, why: &str| Judgement { grade, why: why.to_owned(), in_words: Vec::new() };
    if said.kind == UNCLEAR {
        return right(Grade::Unclear, "it does not decide");
    }
    let is_unsure = said.certainty == UNCLEAR;
    if said.kind != answer.kind.word() {
        let grade = if is_unsure { Grade::Unclear } else { Grade::Wrong };
        return right(grade, &format!("it is {}", answer.kind.word()));
    }
    let mut in_words = Vec::new();
    let mut missing = Vec::new();
    let named = [
        ("name", &answer.name, &said.name),
        ("holder", &answer.holder, &said.holder),
        ("waiter", &answer.waiter, &said.waiter),
    ];
    for (field, expected, said_names) in named {
        match found(expected, said_names, &said.lines) {
            Found::InField => {}
            Found::InWords => in_words.push(field),
            Found::Nowhere => missing.push(field),
        }
    }
    let advice = || answer.advice.iter().map(|advice| advice.word());
    if !answer.advice.is_empty() && !advice().any(|right| said.advice.iter().any(|it| it == right))
    {
        missing.push("advice");
    }
    if answer.withheld_most.is_some_and(|most| said.withheld_share > most) {
        missing.push("withheld");
    }
    let grade = match missing.as_slice() {
        [] => Grade::Right,
        _ if is_unsure => Grade::Unclear,
        ["name", ..] => Grade::Wrong,
        _ => Grade::Partly,
    };
    let why =
        if missing.is_empty() { String::new() } else { format!("not {}", missing.join(", ")) };
    Judgement { grade, why, in_words }
}

/// Whether one of the names that are right is said.
fn found(expected: &[String], names: &[String], lines: &[String]) -> Found {
    let is_in = |texts: &[String]| {
        let mut patterns = expected.iter().filter_map(|pattern| Regex::new(pattern).ok());
        patterns.any(|pattern| texts.iter().any(|text| pattern.is_match(text)))
    };
    if expected.is_empty() || is_in(names) {
        Found::InField
    } else if names.is_empty() && is_in(lines) {
        Found::InWords
    } else {
        Found::Nowhere
    }
}
