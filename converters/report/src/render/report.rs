//! What all renderers draw.

use crate::{Answer, Findings, Options, SECTIONS, Section};
use serde::Serialize;
use tyrion_converters::outputs::units;
use tyrion_formats::Log;
use tyrion_wire::header::State;

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

/// What a log says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogFacts {
    /// Its name as the user gave it.
    pub log: String,
    /// The recorded process.
    pub pid: u32,
    /// Main class or jar; may be empty.
    pub program: String,
    /// The JVM's name and version; may be empty.
    pub jvm: String,
    /// `contention` or `trace`.
    pub mode: &'static str,
    /// The first moment of the log in words, `2026-11-21T10:49:00Z`.
    pub start: String,
    /// The same, in ns of Unix time.
    pub start_wall_ns: u64,
    /// From the first to the last moment of the log.
    pub duration_ns: u64,
    /// Waits shorter than this were folded when recorded.
    pub threshold_ns: u64,
    /// Whether the JVM ended in an orderly way and nothing is damaged.
    pub complete: bool,
}

impl LogFacts {
    fn of(log: &Log, damaged: bool) -> LogFacts {
        let header = log.header();
        let metadata = |key: &str| header.metadata(key).unwrap_or_default().to_owned();
        LogFacts {
            log: log.name().to_owned(),
            pid: header.pid,
            program: metadata("program"),
            jvm: metadata("jvm"),
            mode: if log.is_trace() { "trace" } else { "contention" },
            start: units::utc(header.wall_ns),
            start_wall_ns: header.wall_ns,
            duration_ns: log.end_ns().saturating_sub(log.start_ns()),
            threshold_ns: header.threshold_ns,
            complete: header.state == State::Closed && !damaged,
        }
    }
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
            logs: findings.logs.iter().map(|log| LogFacts::of(log, !damage.is_empty())).collect(),
            notes: findings.aggregate.notes.lines(),
            damage: damage.iter().map(ToString::to_string).collect(),
            options: options.clone(),
            sections: answers.collect(),
        }
    }
}
