//! What all renderers draw.

use crate::{Answer, Findings, Options, SECTIONS, Section, findings::LogFacts};

/// A report, ready to be drawn.
#[derive(Clone)]
pub struct Report {
    /// The version of Tyrion that made it.
    pub version: &'static str,
    /// The logs that it is of.
    pub logs: Vec<LogFacts>,
    /// What a reader should know about how the figures came about.
    pub notes: Vec<String>,
    /// What was damaged in the logs.
    pub damage: Vec<String>,
    /// How the sections were to answer.
    pub options: Options,
    /// The sections, in the order to show them.
    pub sections: Vec<Shown>,
}

/// A section and its answer.
#[derive(Clone)]
pub struct Shown {
    /// The section.
    pub section: &'static Section,
    /// Its answer.
    pub answer: Answer,
}

impl Report {
    /// Has these sections answer; those of [`SECTIONS`] if there are none.
    pub fn new(
        version: &'static str,
        findings: &Findings<'_>,
        options: &Options,
        sections: &[&'static Section],
    ) -> Report {
        let all: Vec<&Section> = SECTIONS.iter().collect();
        let chosen = if sections.is_empty() { &all } else { sections };
        let answers = chosen
            .iter()
            .map(|&section| Shown { section, answer: (section.answer)(findings, options) });
        let damage = &findings.aggregate.damage;
        Report {
            version,
            logs: LogFacts::of_all(findings),
            notes: findings.aggregate.notes.lines(),
            damage: damage.iter().map(ToString::to_string).collect(),
            options: options.clone(),
            sections: answers.collect(),
        }
    }
}
