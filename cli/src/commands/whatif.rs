//! `tyrion whatif`.

mod choose;
#[cfg(test)]
mod documented;
mod shown;

use crate::{
    files::OutputTarget,
    filters::{JobsArg, lock_value},
    inputs::InputArgs,
    logs,
    outcome::{CommandResult, Failure},
    progress,
};
use clap::Args;
use rayon::prelude::*;
use regex::Regex;
use serde::Serialize;
use std::path::PathBuf;
use tyrion_model::{
    aggregate::{aggregate, work_bytes},
    filter::{Filter, Kinds},
};
use tyrion_report::{
    findings::{LockGroups, LockRef},
    render::{json::escaped, text},
};
use tyrion_whatif::{Change, Evidence, Prediction, Question};

const EXAMPLES: &str = "Examples:
  tyrion whatif report.log --lock Cache.lock                # the usual changes
  tyrion whatif report.log --lock Cache.lock --free
  tyrion whatif report.log --lock Cache.lock --hold /2 --processors 16
  tyrion whatif report.log --lock com.acme.Account --stripes 8 --json
  tyrion whatif report.log --lock 'java.lang.Object#7' --read-write --reads 'Cache.get'

For the best prediction record every hold and wait, and samples:
  tyrion record --mode trace+sample --period 10ms --events all --precise --threshold 0 \\
      -o report.log -- java -jar app.jar

docs/whatif.md describes how predictions are made, and when not to believe them.";

/// What to predict.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct WhatifArgs {
    /// Log to read, or all files of one that rotates; - is stdin
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The lock, or all locks of a name or class: what the program calls it, its
    /// class, or class and identity (java.lang.Object#7), as a regular
    /// expression or as plain text
    #[arg(long, value_name = "NAME")]
    lock: String,
    /// Predict what happens if nobody waits for it any more
    #[arg(long, group = "change")]
    free: bool,
    /// Predict what happens if it is held for less time: /2 is half of it
    #[arg(long, value_name = "/N", group = "change", value_parser = Change::parse_hold)]
    hold: Option<Change>,
    /// Predict what happens if it is split into N locks, which are taken evenly
    #[arg(long, value_name = "N", group = "change", value_parser = Change::parse_stripes)]
    stripes: Option<Change>,
    /// Predict what happens if threads that only read share it
    #[arg(long, group = "change")]
    read_write: bool,
    /// The places that only read, as a regular expression that matches part of
    /// com.acme.Cache.get(Cache.java:12) [default: methods whose name begins
    /// with get, is, has, contains, size, find and the like]
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["free", "hold", "stripes"])]
    reads: Option<Regex>,
    /// Predict for N processors, before and after [default: the recorded number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    processors: Option<u32>,
    /// Write one JSON object, described in docs/whatif.md
    #[arg(long)]
    json: bool,
    /// Where to write: a file, or - for stdout [default: stdout]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    jobs: JobsArg,
}

/// The version of the JSON.
const SCHEMA: u32 = 1;

/// The answer.
#[derive(Debug, Default, Serialize)]
struct Document {
    /// The version that predicted.
    tyrion: &'static str,
    /// The version of what this document describes: 1.
    schema: u32,
    /// The locks: `id` is 0 unless a single lock is meant.
    lock: LockRef,
    /// On how many processors the program ran. `null` if the log does not say.
    recorded_processors: Option<u32>,
    /// The prediction for each change.
    predictions: Vec<Prediction>,
    /// Changes for which there is no answer. If that is all of them, the command fails.
    refused: Vec<Refusal>,
}

/// A change for which there is no prediction.
#[derive(Debug, Default, Serialize)]
struct Refusal {
    /// The change, as in `predictions`.
    change: String,
    /// Why there is none.
    reason: String,
}

impl WhatifArgs {
    /// The changes that the user asks for.
    fn changes(&self) -> Vec<Change> {
        let free = self.free.then_some(Change::Free);
        let read_write = (self.read_write || self.reads.is_some()).then_some(Change::ReadWrite);
        match free.or(self.hold).or(self.stripes).or(read_write) {
            Some(change) => vec![change],
            None => Change::USUAL.to_vec(),
        }
    }
}

/// Predicts what a change of a lock would do.
pub fn run(args: WhatifArgs) -> CommandResult {
    // What is no pattern is plain text, such as int[].
    let pattern = lock_value(&args.lock).or_else(|_| lock_value(&regex::escape(&args.lock)));
    let pattern = pattern.map_err(|error| Failure::Usage(format!("--lock: {error}")))?;
    let target = args.output.as_deref().map_or(OutputTarget::Stdout, OutputTarget::of);
    let logs = logs::open_all(&args.logs, &args.inputs)?;
    args.inputs.tell_unused(logs.iter());
    target.spare_logs()?;
    let bar = progress::bar(work_bytes(&logs), "reading");
    args.jobs.run(|| {
        let filter = Filter { kinds: Kinds::all(), ..Filter::default() };
        let sums = aggregate(&logs, &filter, &|bytes| bar.inc(bytes));
        let groups = LockGroups::new(&sums.profile);
        let chosen = choose::choose(&sums.profile, &groups, &args.lock, &pattern)?;
        let group_of = |class: &str, name: &str| groups.find(class, name);
        let evidence = Evidence::read(&logs, &group_of).map_err(Failure::new)?;
        bar.finish_and_clear();
        let document = answer(&args, &evidence, chosen)?;
        let done = logs::tell_damage(&sums.damage);
        let text = if args.json {
            let json = serde_json::to_string_pretty(&document);
            let json = json.map_err(|error| Failure::new(error.to_string()))?;
            escaped(&json).into_owned() + "\n"
        } else {
            text::view(&shown::view(&document, &args.changes()), &target.style())
        };
        target.write(|out| out.write_all(text.as_bytes()))?;
        Ok(done)
    })?
}

fn answer(
    args: &WhatifArgs,
    evidence: &Evidence<'_>,
    chosen: choose::LockChoice,
) -> Result<Document, Failure> {
    let question = |change: Change| Question {
        group: chosen.group,
        lock: chosen.lock,
        change,
        processors: args.processors,
        reads: args.reads.clone(),
    };
    let changes = args.changes();
    let answers: Vec<Result<Prediction, String>> =
        changes.par_iter().map(|&change| evidence.predict(&question(change))).collect();
    let mut document = Document {
        tyrion: env!("CARGO_PKG_VERSION"),
        schema: SCHEMA,
        lock: chosen.name,
        recorded_processors: evidence.processors(),
        ..Document::default()
    };
    for (change, answer) in changes.iter().zip(answers) {
        match answer {
            Ok(prediction) => document.predictions.push(prediction),
            Err(reason) => {
                document.refused.push(Refusal { change: change.to_string(), reason });
            }
        }
    }
    match document.refused.first().filter(|_| document.predictions.is_empty()) {
        Some(first) => Err(Failure::new(format!(
            "{}: nothing can be predicted: {}",
            document.lock.label(),
            first.reason
        ))),
        None => Ok(document),
    }
}
