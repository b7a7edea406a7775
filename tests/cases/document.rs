//! The table of docs/verdicts.md, which `make cases` makes.

use crate::{accuracy, judge::Grade, outcome::Outcome, words::Way};
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

/// Which programs the document's table says were right by which way in.
pub fn right_before(document: &str) -> Vec<(String, Way)> {
    let Some((_, rest)) = document.split_once(BEGIN) else { return Vec::new() };
    let table = rest.split(END).next().unwrap_or_default();
    let of_cases = table.lines().skip_while(|line| !line.starts_with("| case |"));
    let mut right = Vec::new();
    for row in of_cases.skip(2) {
        let row = row.replace("\\|", "/");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        // Before the first and after the last line there is nothing.
        let Some((program, by_way)) = cells.get(1).zip(cells.get(3..)) else { continue };
        for (way, cell) in Way::ALL.iter().zip(by_way) {
            if *cell == Grade::Right.word() {
                right.push(((*program).to_owned(), *way));
            }
        }
    }
    right
}
