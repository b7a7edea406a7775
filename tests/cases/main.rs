//! Runs the programs of `testdata/cases`, whose causes are known, and compares what Tyrion says.
//!
//! `make cases` runs all of them, and goes on where it stopped. Its words are names of cases,
//! kinds, areas or sets; `--way` and `--jdk` select further, `--seconds N` has programs run so
//! long, `--busy N` keeps processors busy meanwhile, `--again` records anew, and `--write` writes the table of docs/verdicts.md,
//! in which ways in that were not asked for stay as they are.
//! `cargo test` runs the slice that the cases' files mark.

mod accuracy;
mod arguments;
mod busy;
#[allow(dead_code, reason = "checks.rs reads the rest of the files")]
mod case;
mod document;
mod judge;
mod kept;
mod outcome;
mod place;
mod run;
mod said;
mod session;
#[allow(dead_code, reason = "checks.rs compares all words")]
mod words;

use arguments::Arguments;
use busy::Busy;
use case::Program;
use judge::Grade;
use kept::Binaries;
use outcome::Outcome;
use session::{Ended, Session};
use std::{
    fs::File,
    process::{Command, ExitCode},
};
use words::Way;

/// The way in that `cargo test` tries.
const OF_SLICE: Way = Way::Contention;
const DOCUMENT: &str = "docs/verdicts.md";

fn main() -> ExitCode {
    let is_whole = std::env::var_os("TYRION_TEST_EVERYWHERE").is_some_and(|it| !it.is_empty());
    let done = if is_whole { whole() } else { slice() };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cases: {error}");
            ExitCode::FAILURE
        }
    }
}

/// All that is asked for.
fn whole() -> Result<(), String> {
    let arguments = Arguments::of(std::env::args().skip(1))?;
    let programs = arguments.select(programs(arguments.seconds)?)?;
    let cases: Vec<&str> = programs.iter().map(|program| &*program.case.name).collect();
    // What is lacking is told by the script, and once more by what cannot run for that.
    let _ = prepare(&cases);
    let ended = run(&arguments, &programs)?;
    println!("\n{}", accuracy::printed(&ended.outcomes));
    let path = place::root().join(DOCUMENT);
    let document = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let right = document::right_before(&document);
    if arguments.write {
        let mut outcomes = document::kept(&document, &programs, |way| !arguments.has(way));
        outcomes.extend(ended.outcomes.iter().cloned());
        let document = document::with_table(&document, &outcomes)?;
        std::fs::write(&path, document).map_err(|error| error.to_string())?;
    }
    told(&ended.failures, &lost(&right, &ended.outcomes))
}

/// What `cargo test` runs: whatever is kept, it is recorded, and all of it has to be right.
fn slice() -> Result<(), String> {
    // Words of a command line for all tests mean tests, and this is one of them.
    let words: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let is_meant = |program: &Program| {
        program.case.slice && (words.is_empty() || words.iter().any(|it| program.is_called(it)))
    };
    let programs: Vec<Program> = programs(None)?.into_iter().filter(is_meant).collect();
    let cases: Vec<&str> = programs.iter().map(|program| &*program.case.name).collect();
    if programs.is_empty() {
        return Ok(());
    }
    if let Err(lacking) = prepare(&cases) {
        return skip(&lacking);
    }
    let alone = Arguments { ways: vec![OF_SLICE], again: true, ..Arguments::default() };
    let arguments = Arguments { crowded: true, ..alone.clone() };
    let right: Vec<(String, Way)> =
        programs.iter().map(|program| (program.name.clone(), OF_SLICE)).collect();
    let first = run(&arguments, &programs)?;
    let lost_at_first = lost(&right, &first.outcomes);
    if first.failures.is_empty() && lost_at_first.is_empty() {
        return Ok(());
    }
    // The others, or what else a machine is busy with, may disturb what a program stages.
    let is_lost = |program: &Program| {
        first.failures.iter().chain(&lost_at_first).any(|it| it.contains(&program.name))
    };
    let programs: Vec<Program> = programs.into_iter().filter(is_lost).collect();
    println!("once more:");
    let second = run(&alone, &programs)?;
    told(&second.failures, &lost(&right, &second.outcomes))
}

/// All of them, to run for so many seconds if that is told.
fn programs(seconds: Option<u64>) -> Result<Vec<Program>, String> {
    let mut cases = case::all(&place::cases())?;
    if let Some(seconds) = seconds {
        cases.iter_mut().for_each(|case| case.program.seconds = seconds);
    }
    Ok(cases.iter().flat_map(case::Case::programs).collect())
}

/// Gets libraries and compiles.
fn prepare(cases: &[&str]) -> Result<(), String> {
    let script = place::root().join("tests/setup/cases.sh");
    let mut command = Command::new(script);
    let status = command.args(cases).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err("what tests/setup/cases.sh gets".to_owned()) }
}

/// As the other tests do: what is missing in CI is a failure.
fn skip(what: &str) -> Result<(), String> {
    match std::env::var("CI").is_ok_and(|ci| ci == "true") {
        true => Err(format!("missing in CI: {what}")),
        false => {
            println!("skipped: no {what}");
            Ok(())
        }
    }
}

fn run(arguments: &Arguments, programs: &[Program]) -> Result<Ended, String> {
    let binaries = Binaries::of_build()?;
    std::fs::create_dir_all(place::work()).map_err(|error| error.to_string())?;
    // Two sessions at a time take turns.
    let lock = File::create(place::work().join(".lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let _busy = Busy::start(arguments.busy);
    Ok(Session::new(arguments, binaries).run(programs))
}

/// What was right, by the document, and is so no longer.
fn lost(right: &[(String, Way)], outcomes: &[Outcome]) -> Vec<String> {
    let was_right =
        |it: &&Outcome| right.iter().any(|(program, way)| *program == it.program && *way == it.way);
    let lost = outcomes.iter().filter(was_right).filter(|it| it.judgement.grade != Grade::Right);
    lost.map(|it| format!("was right: {it}")).collect()
}

fn told(failures: &[String], lost: &[String]) -> Result<(), String> {
    let all: Vec<&str> = failures.iter().chain(lost).map(String::as_str).collect();
    if all.is_empty() { Ok(()) } else { Err(format!("not as it was:\n{}", all.join("\n"))) }
}
