//! The table of docs/verdicts.md, which `make cases` makes.

use crate::{
    accuracy,
    case::Program,
    judge::{Grade, Judgement},
    outcome::Outcome,
    words::Way,
};
use std::collections::BTreeMap;

/// The lines between which the document has the table.
pub const BEGIN: &str = "<!-- made: cases (make cases NAMES=--write) -->";
const END: &str = "<!-- made -->";

/// The document with the table in its place.
pub fn with_table(document: &str, outcomes: &[Outcome]) -> Result<String, String> {
    let (before, rest) =
        document.split_once(BEGIN).ok_or_else(|| format!("the document has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).ok_or("the table has no end")?;
    Ok(format!("{before}{BEGIN}\n{}{END}{after}", table(outcomes)))
}

/// All that was said, judged, after how much of it is right.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut text = drawn(&accuracy::head(), &accuracy::rows(outcomes));
    let mut programs: BTreeMap<&str, BTreeMap<Way, &Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        programs.entry(&outcome.program).or_default().entry(outcome.way).or_insert(outcome);
    }
    let ways = Way::ALL.iter().map(|way| way.word().to_owned());
    let head: Vec<String> =
        ["case".to_owned(), "right answer".to_owned()].into_iter().chain(ways).collect();
    let rows: Vec<Vec<String>> = programs
        .iter()
        .map(|(program, by_way)| {
            let expected = by_way.values().next().map_or("", |outcome| &outcome.expected);
            let cells =
                Way::ALL.iter().map(|way| by_way.get(way).map_or(String::new(), |it| cell(it)));
            [(*program).to_owned(), code(expected)].into_iter().chain(cells).collect()
        })
        .collect();
    text.push('\n');
    text + &drawn(&head, &rows)
}

fn cell(outcome: &Outcome) -> String {
    let grade = outcome.judgement.grade;
    match (grade, &outcome.unknowable) {
        (Grade::Right, _) => grade.word().to_owned(),
        (Grade::Unclear, Some(lacking)) => format!("{}: {lacking}", grade.word()),
        (Grade::Unclear, None) => grade.word().to_owned(),
        _ => format!("{}: {}", grade.word(), code(&outcome.said)),
    }
}

/// What comes from programs is shown as it is.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

fn drawn(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    line(head) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

/// A row of the document's table: a program, and what stands there for each way in.
struct Row {
    program: String,
    by_way: Vec<(Way, String)>,
}

/// The rows of the document's table of cases.
fn rows(document: &str) -> Vec<Row> {
    let Some((_, rest)) = document.split_once(BEGIN) else { return Vec::new() };
    let table = rest.split(END).next().unwrap_or_default();
    let of_cases = table.lines().skip_while(|line| !line.starts_with("| case |"));
    // Before the first and after the last line of a row there is nothing.
    let cells = |row: &str| -> Vec<String> {
        let row = row.replace("\\|", "\0");
        row.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
    };
    let mut ways = Vec::new();
    let mut rows = Vec::new();
    for (nth, row) in of_cases.map(cells).enumerate() {
        let Some((program, by_way)) = row.get(1).zip(row.get(3..)) else { continue };
        match nth {
            0 => {
                let way = |word: &String| Way::ALL.iter().find(|way| way.word() == word).copied();
                ways = by_way.iter().map_while(way).collect();
            }
            1 => {}
            _ => rows.push(Row {
                program: program.clone(),
                by_way: ways.iter().copied().zip(by_way.iter().cloned()).collect(),
            }),
        }
    }
    rows
}

/// Which programs the document's table says were right by which way in.
pub fn right_before(document: &str) -> Vec<(String, Way)> {
    let mut right = Vec::new();
    for row in rows(document) {
        let is_right = |(_, cell): &&(Way, String)| cell == Grade::Right.word();
        right
            .extend(row.by_way.iter().filter(is_right).map(|(way, _)| (row.program.clone(), *way)));
    }
    right
}

/// What the document's table says of these programs by the ways in that `is_kept` wants: they
/// stand there as they are if others are recorded anew.
pub fn kept(document: &str, programs: &[Program], is_kept: impl Fn(Way) -> bool) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for row in rows(document) {
        let Some(program) = programs.iter().find(|it| it.name == row.program) else { continue };
        let wanted = row.by_way.iter().filter(|(way, _)| is_kept(*way));
        outcomes.extend(wanted.filter_map(|(way, cell)| outcome(program, *way, cell)));
    }
    outcomes
}

/// What a cell says, if it says something.
fn outcome(program: &Program, way: Way, cell: &str) -> Option<Outcome> {
    let (word, said) = cell.split_once(": ").unwrap_or((cell, ""));
    let grade = Grade::ALL.into_iter().find(|grade| grade.word() == word)?;
    Some(Outcome {
        program: program.name.clone(),
        kind: program.answer.kind,
        way,
        jdk: program.case.program.jdk.first().copied().unwrap_or_default(),
        expected: program.answer.to_string(),
        said: said.trim_matches('`').to_owned(),
        judgement: Judgement { grade, why: String::new(), in_words: Vec::new() },
        unknowable: program.case.unknowable.get(&way).cloned(),
    })
}
