//! `tyrion dump-threads`: thread dumps of a JVM, as its attach protocol gives them. No agent is
//! loaded.

use super::{
    attach::TrustArgs, conditions::ConditionArgs, sections::SectionArgs, session::interruptible,
};
use crate::{
    filters::{ShapeArgs, duration_value},
    jvm::{
        attach::thread_dump,
        names::{JvmName, jvm_name},
        process::JvmProcess,
    },
    outcome::{self, CommandResult, Completion, Failure, tell},
    terminal,
};
use clap::Args;
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};
use tyrion_formats::Recording;
use tyrion_model::{filter::Filter, units};
use tyrion_report::{
    Report, find,
    render::{json, text},
};

/// Which JVM, how many dumps, and what to show.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion dump-threads 4711
  tyrion dump-threads 4711 -n 5 --every 1s -o dumps.txt
  tyrion dump-threads com.acme.Main --json | jq '.sections.dumps.blocked'
  tyrion dump-threads 4711 --fail-if 'deadlocks > 0' --fail-if 'pool_waiters > 0'

The JVM takes each dump itself, as for jstack -l, and stops all threads meanwhile. The file
of -o is text; tyrion report reads it again, and so do other tools for thread dumps.")]
pub struct DumpThreadsArgs {
    /// The JVM: its process id, or its main class or jar, or a part of these or of
    /// its arguments
    #[arg(value_name = "PID|NAME", value_parser = jvm_name)]
    jvm: JvmName,
    /// How many dumps to take
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    /// How long to wait from one dump to the next
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration_value)]
    every: u64,
    /// Keep the dumps in this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object, as tyrion report --json does
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    sections: SectionArgs,
    #[command(flatten)]
    conditions: ConditionArgs,
}

/// Takes dumps and reports on them.
pub fn run(args: DumpThreadsArgs) -> CommandResult {
    args.conditions.of_one_recording()?;
    let pid = args.jvm.pid()?;
    let mut jvm = JvmProcess::enter(pid).map_err(Failure::Failed)?;
    args.trust.apply(&mut jvm)?;
    let dumps = take(&jvm, &args)?;
    if let Some(path) = &args.output {
        let failed = |error| Failure::writing(&path.display().to_string(), &error);
        std::fs::write(path, &dumps).map_err(failed)?;
    }
    report(&dumps, &args)
}

/// The dumps, one after another. Who interrupts gets those that were taken.
fn take(jvm: &JvmProcess, args: &DumpThreadsArgs) -> Result<Vec<u8>, Failure> {
    let temporary = jvm.temporary().map_err(Failure::Failed)?;
    let every = Duration::from_nanos(args.every);
    interruptible(|interrupts| {
        let mut dumps = Vec::new();
        for nth in 0..args.count {
            let begin = Instant::now();
            match thread_dump(jvm, &temporary) {
                Ok(dump) => dumps.extend_from_slice(&dump),
                Err(error) if dumps.is_empty() => return Err(Failure::Failed(error)),
                Err(error) => {
                    let taken = units::counted(u64::from(nth), "dump");
                    tell(&format!("note: {error}; the report is of {taken}"));
                    break;
                }
            }
            let is_last = nth + 1 == args.count;
            if is_last || interrupts.wait(every.saturating_sub(begin.elapsed())) {
                break;
            }
        }
        Ok(dumps)
    })
}

fn report(dumps: &[u8], args: &DumpThreadsArgs) -> CommandResult {
    let name = match &args.output {
        Some(path) => path.display().to_string(),
        None => format!("process {}", args.jvm.pid()?),
    };
    let logs = [Recording::from_bytes(&name, dumps.to_vec())?];
    let options = args.sections.options(&ShapeArgs::default(), !args.json);
    let filter = Filter::default();
    let findings = find(&logs, &filter, &options, &|_| {});
    let report =
        Report::new(env!("CARGO_PKG_VERSION"), &findings, &options, &args.sections.picked());
    let written = match args.json {
        true => outcome::print(json::write(&report)),
        false => outcome::print(text::write(&report, &terminal::style())),
    };
    args.conditions.check_written(written.map(drop), Completion::Whole, &findings, None)
}
