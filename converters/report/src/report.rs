//! A report: sections and their answers, ready to be drawn.

use crate::{
    About, Answer, Findings, ReportOptions, SECTIONS, Section,
    findings::{LogFacts, ProgramCode},
    glance::Glance,
    sections::{
        contended::SECTION as CONTENDED, dumps::are_dumps, lines::SECTION as LINES,
        sampled::NO_LOCKS, tree::SECTION as TREE,
    },
};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};
use tyrion_model::units;

/// What is lacking where no JVM was recorded in any mode, and can be in another one.
const NOT_TOLD: &str = "needs more than the format of the log tells";

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
    pub options: ReportOptions,
    /// The sections, in the order to show them.
    pub sections: Vec<Shown>,
    /// What the first screen of the page shows beside the verdict, where nobody picked
    /// sections and anything is known.
    pub glance: Option<Glance>,
    /// Which code is the program's own.
    pub program: ProgramCode,
    /// What trace mode would add to them, where nobody picked any, in one line; else
    /// each says so itself.
    pub trace_adds: String,
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
    /// Has these sections answer; if there are none, those of [`SECTIONS`] that
    /// are about what the logs recorded.
    pub fn new(
        version: &'static str,
        findings: &Findings<'_>,
        options: &ReportOptions,
        sections: &[&'static Section],
    ) -> Report {
        let all: Vec<&Section> =
            SECTIONS.iter().filter(|section| is_recorded(findings, section.about)).collect();
        let chosen = if sections.is_empty() { &all } else { sections };
        let answers = chosen.iter().map(|&section| {
            let mut answer = (section.answer)(findings, options);
            let of_waits = matches!(section.about, About::Locks | About::Wakers);
            if of_waits && findings.profile().lacks_waits {
                (answer.lacking, answer.advises) = (NO_LOCKS.to_owned(), false);
            }
            if !findings.has_modes() && answer.lacking.contains("--mode") {
                answer.lacking = NOT_TOLD.to_owned();
            }
            Shown { section, answer }
        });
        let answers: Vec<Shown> = answers.collect();
        let says_once = sections.is_empty() && !findings.is_trace();
        let trace_adds = if says_once { trace_adds(&answers) } else { String::new() };
        let damage = &findings.aggregate.damage;
        let notes = notes(findings, options, chosen);
        Report {
            version,
            logs: LogFacts::of_all(findings),
            notes,
            damage: damage.iter().map(ToString::to_string).collect(),
            options: options.clone(),
            sections: answers,
            glance: if sections.is_empty() { Glance::of(findings) } else { None },
            program: findings.program.clone(),
            trace_adds,
        }
    }

    /// The sections that text and HTML show: without those that have nothing to say
    /// without trace mode, if that is said once.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = &Shown> {
        self.sections.iter().filter(|shown| self.trace_adds.is_empty() || !shown.waits_for_trace())
    }

    /// What a section lacks, unless it is said once of all.
    pub(crate) fn lacking<'s>(&self, shown: &'s Shown) -> &'s str {
        let is_said = !self.trace_adds.is_empty() && shown.needs_trace();
        if is_said { "" } else { &shown.answer.lacking }
    }
}

impl Shown {
    /// Whether trace mode is what it lacks.
    fn needs_trace(&self) -> bool {
        self.answer.lacking.contains("--mode trace") || self.answer.lacking == NOT_TOLD
    }

    /// Its title, and what trace mode needs besides to add to it.
    fn title_with_options(&self) -> String {
        let title = self.section.title;
        match self.answer.lacking.contains("--events all") {
            true => format!("{title} (with --events all)"),
            false => title.to_owned(),
        }
    }

    /// Whether it has nothing to say without.
    fn waits_for_trace(&self) -> bool {
        self.needs_trace() && self.answer.view.parts.is_empty()
    }
}

/// What trace mode would add, in one sentence; empty if nothing.
fn trace_adds(sections: &[Shown]) -> String {
    let titles = |of: &dyn Fn(&&Shown) -> bool| -> Vec<String> {
        sections.iter().filter(of).map(Shown::title_with_options).collect()
    };
    let whole = titles(&|shown| shown.waits_for_trace());
    let parts = titles(&|shown| shown.needs_trace() && !shown.waits_for_trace());
    let is_not_told = sections.iter().any(|shown| shown.answer.lacking == NOT_TOLD);
    match (&whole[..], &parts[..]) {
        ([], []) => String::new(),
        ([], parts) if is_not_told => {
            format!("The format of the log tells only a part of: {}.", parts.join(", "))
        }
        (whole, []) if is_not_told => {
            format!("The format of the log does not tell: {}.", whole.join(", "))
        }
        (whole, parts) if is_not_told => format!(
            "The format of the log does not tell: {}; and only a part of: {}.",
            whole.join(", "),
            parts.join(", ")
        ),
        (whole, []) => format!("--mode trace adds: {}.", whole.join(", ")),
        ([], parts) => format!("--mode trace adds to: {}.", parts.join(", ")),
        (whole, parts) => {
            format!("--mode trace adds: {}; and more to: {}.", whole.join(", "), parts.join(", "))
        }
    }
}

/// What a reader should know about the figures of these sections.
fn notes(findings: &Findings<'_>, options: &ReportOptions, sections: &[&Section]) -> Vec<String> {
    let mut notes = findings.aggregate.notes.clone();
    if sections.iter().all(|section| section.about == About::Samples) {
        notes.forget_waits();
    }
    let mut notes = notes.lines();
    let shows_tree = sections.iter().any(|section| section.name == TREE.name);
    for (option, is_given) in [("--interval", options.interval_ns != 0), ("--zero", options.zero)] {
        if is_given && !shows_tree {
            notes.push(format!("{option} has no effect: it is for the section tree"));
        }
    }
    let shows_lines = sections.iter().any(|section| section.name == LINES.name);
    let shows_locks = sections.iter().any(|section| section.name == CONTENDED.name);
    let by_default = options.group_by == ReportOptions::default().group_by;
    for (option, is_given, shown, of) in [
        (
            "--packages",
            !options.packages.is_empty(),
            shows_tree || shows_lines || shows_locks,
            "sections contended, lines and tree",
        ),
        ("--group-by", !by_default, shows_tree, "section tree"),
    ] {
        if is_given && !shown {
            notes.push(format!("{option} is for the flame graphs of the HTML and the {of}"));
        }
    }
    notes.extend(longer_intervals(findings, options).filter(|_| shows_tree));
    notes
}

/// Says so if the tree's intervals are longer than asked for.
pub fn longer_intervals(findings: &Findings<'_>, options: &ReportOptions) -> Option<String> {
    (findings.interval_ns > options.interval_ns).then(|| {
        format!(
            "--interval {} would make more than 1,000 trees; they are of {} each",
            units::duration(options.interval_ns),
            units::duration(findings.interval_ns),
        )
    })
}

/// What the JSON has of any of the sections.
pub(crate) fn sections_schema(generator: &mut SchemaGenerator) -> Schema {
    let schema = |section: &Section| {
        let mut schema = (section.schema)(generator);
        schema.insert("description".to_owned(), section.title.into());
        (section.name.to_owned(), schema.to_value())
    };
    let sections: Map<String, Value> = SECTIONS.iter().map(schema).collect();
    json_schema!({ "type": "object", "properties": sections })
}

/// Whether a section has something to be about.
fn is_recorded(findings: &Findings<'_>, about: About) -> bool {
    let profile = findings.profile();
    if are_dumps(findings) {
        // The other sections count what takes time, and a dump has no durations.
        return matches!(about, About::Dumps | About::Verdict);
    }
    match about {
        About::All | About::Verdict => true,
        About::Dumps => findings.logs.iter().any(|log| !log.dumps().is_empty()),
        About::Locks => !profile.lacks_waits,
        About::Wakers => !profile.wakes.is_empty(),
        About::Operations => !profile.operations.is_empty(),
        About::Samples => profile.has_samples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::{Crafted, found},
        view::{Part, View},
    };
    use tyrion_model::filter::Filter;

    fn shown(title: &'static str, lacking: &str, says: bool) -> Shown {
        let parts = if says { vec![Part::Text("a".to_owned())] } else { Vec::new() };
        let section = SECTIONS.iter().find(|section| section.title == title).unwrap();
        let view = View { parts };
        Shown { section, answer: Answer { view, lacking: lacking.to_owned(), ..Answer::default() } }
    }

    #[test]
    fn what_trace_mode_adds_is_one_sentence() {
        let trace = "needs --mode trace: for holders";
        let order = shown("Lock order", trace, false);
        let near = shown("Near misses", "needs --mode trace --events all: for times", false);
        let blockers = shown("Who blocks whom", trace, true);
        let lines = shown("Lines", "needs samples", false);
        let adds = |sections: &[&Shown]| {
            trace_adds(&sections.iter().copied().cloned().collect::<Vec<_>>())
        };
        assert_eq!(adds(&[&lines]), "");
        assert_eq!(
            adds(&[&order, &lines, &near]),
            "--mode trace adds: Lock order, Near misses (with --events all)."
        );
        assert_eq!(adds(&[&blockers]), "--mode trace adds to: Who blocks whom.");
        assert_eq!(
            adds(&[&blockers, &order]),
            "--mode trace adds: Lock order; and more to: Who blocks whom."
        );
    }

    #[test]
    fn it_is_said_once_unless_sections_were_picked() {
        let logs = [Crafted::new(1_000_000).finish("a.log")];
        let filter = Filter::default();
        let findings = found(&logs, &filter);
        let report = |picked: &[&'static Section]| {
            Report::new("1", &findings, &ReportOptions::default(), picked)
        };
        let whole = report(&[]);
        assert!(whole.trace_adds.contains("Lock order"), "{}", whole.trace_adds);
        assert!(whole.drawn().all(|shown| shown.section.title != "Lock order"));
        assert!(whole.sections.len() > whole.drawn().count(), "JSON has all of them");
        let order = SECTIONS.iter().find(|section| section.title == "Lock order").unwrap();
        let picked = report(&[order]);
        assert_eq!((picked.trace_adds.as_str(), picked.drawn().count()), ("", 1));
        assert!(picked.lacking(&picked.sections[0]).starts_with("needs --mode trace"));
    }
}
