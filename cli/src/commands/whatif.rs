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
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use tyrion_model::{
    aggregate::{aggregate, work_bytes},
    filter::{Filter, Kinds},
    profile::Profile,
};
use tyrion_report::{
    View,
    findings::{LockGroups, LockRef},
    render::{json::escaped, text},
    sections::whatif,
};
use tyrion_whatif::{Change, Evidence, Method, Prediction, Question};

const EXAMPLES: &str = "Examples:
  tyrion whatif report.log                                  # at which lock to begin
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
    /// expression or as plain text [default: list those where something may be
    /// gained]
    #[arg(long, value_name = "NAME", required_if_eq_any = [("free", "true"), ("read_write", "true")])]
    lock: Option<String>,
    /// Predict what happens if nobody waits for it any more
    #[arg(long, group = "change")]
    free: bool,
    /// Predict what happens if it is held for less time: /2 is half of it
    #[arg(long, value_name = "/N", group = "change", value_parser = Change::parse_hold, requires = "lock")]
    hold: Option<Change>,
    /// Predict what happens if it is split into N locks, which are taken evenly
    #[arg(long, value_name = "N", group = "change", value_parser = Change::parse_stripes, requires = "lock")]
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
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Document {
    /// The version that predicted.
    tyrion: &'static str,
    /// The version of what this document describes: 1.
    schema: u32,
    /// The locks: `id` is 0 unless a single lock is meant. Empty without `--lock`.
    lock: LockRef,
    /// On how many processors the program ran. `null` if the log does not say.
    recorded_processors: Option<u32>,
    /// The prediction for each change.
    predictions: Vec<Prediction>,
    /// Changes for which there is no answer. If that is all of them, the command fails.
    refused: Vec<Refusal>,
    /// Without `--lock`: the locks at which something may be gained, 20 at most, the largest and
    /// surest gain first.
    candidates: Vec<Candidate>,
}

/// A lock at which something may be gained: what is predicted if it were free.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Candidate {
    /// The locks.
    lock: LockRef,
    /// How long threads waited for them in all.
    wait_ns: u64,
    /// As in `predictions`.
    method: Method,
    /// As in `predictions`.
    throughput_ratio: f64,
    /// As in `predictions`.
    low_ratio: f64,
    /// As in `predictions`.
    high_ratio: f64,
}

/// So many are listed.
const MOST_CANDIDATES: usize = 20;

/// A change for which there is no prediction.
#[derive(Debug, Default, Serialize, JsonSchema)]
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
    let pattern = |name: &String| lock_value(name).or_else(|_| lock_value(&regex::escape(name)));
    let pattern = args.lock.as_ref().map(pattern).transpose();
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
        let chosen = match (&args.lock, &pattern) {
            (Some(name), Some(pattern)) => {
                Some(choose::choose(&sums.profile, &groups, name, pattern)?)
            }
            _ => None,
        };
        let group_of = |class: &str, name: &str| groups.find(class, name);
        let evidence = Evidence::read(&logs, &group_of).map_err(Failure::new)?;
        bar.finish_and_clear();
        let (document, view) = match chosen {
            Some(chosen) => {
                let document = answer(&args, &evidence, chosen)?;
                let view = shown::view(&document, &args.changes());
                (document, view)
            }
            None => candidates(&args, &evidence, &sums.profile, &groups),
        };
        let done = logs::tell_damage(&sums.damage);
        write(&args, &target, &document, &view)?;
        Ok(done)
    })?
}

fn write(
    args: &WhatifArgs,
    target: &OutputTarget,
    document: &Document,
    view: &View,
) -> Result<(), Failure> {
    let text = if args.json {
        let json = serde_json::to_string_pretty(document);
        let json = json.map_err(|error| Failure::new(error.to_string()))?;
        escaped(&json).into_owned() + "\n"
    } else {
        text::view(view, &target.style())
    };
    target.write(|out| out.write_all(text.as_bytes()))
}

/// The locks at which something may be gained.
fn candidates(
    args: &WhatifArgs,
    evidence: &Evidence<'_>,
    profile: &Profile,
    groups: &LockGroups,
) -> (Document, View) {
    let hot = whatif::hot(profile, groups);
    let mut chosen = hot.clone();
    chosen.retain(|&(group, ..)| evidence.check_candidate(group).is_ok());
    chosen.truncate(MOST_CANDIDATES);
    let predicted = chosen.par_iter().filter_map(|&(group, _, wait_ns)| {
        let question =
            Question { processors: args.processors, ..Question::about(group, Change::Free) };
        Some((group, wait_ns, evidence.predict(&question).ok()?))
    });
    let mut predicted: Vec<(u32, u64, Prediction)> = predicted.collect();
    // Of equal ones the one with more wait stays in front.
    predicted.sort_by(|a, b| b.2.rank().total_cmp(&a.2.rank()));
    let candidate = |(group, wait_ns, of): (u32, u64, Prediction)| Candidate {
        lock: groups.lock_ref(group),
        wait_ns,
        method: of.method,
        throughput_ratio: of.throughput_ratio,
        low_ratio: of.low_ratio,
        high_ratio: of.high_ratio,
    };
    let candidates: Vec<Candidate> = predicted.into_iter().map(candidate).collect();
    let left_out = hot.len() - candidates.len();
    let document = Document {
        tyrion: env!("CARGO_PKG_VERSION"),
        schema: SCHEMA,
        recorded_processors: evidence.processors(),
        candidates,
        ..Document::default()
    };
    let view = shown::candidates(&document, left_out);
    (document, view)
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
        one_by_one: true,
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
