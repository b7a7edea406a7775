//! `tyrion dump-threads`: thread dumps of a JVM, as its attach protocol gives them. No agent is
//! loaded.

use super::{
    attach::TrustArgs, conditions::ConditionArgs, sections::SectionArgs, session::interruptible,
};
use crate::{
    files::OutputTarget,
    filters::{ShapeArgs, duration_value},
    jvm::{
        attach::thread_dump,
        names::{JvmName, jvm_name},
        process::JvmProcess,
    },
    outcome::{self, CommandResult, Completion, Failure, tell},
    signals::Interrupts,
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
    /// Keep the dumps in this file; - prints them in place of the report
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

/// More bytes of dumps than a report could be made of.
const LONGEST_SERIES: usize = 1 << 30;

/// Takes dumps and reports on them.
pub fn run(args: DumpThreadsArgs) -> CommandResult {
    args.conditions.of_one_recording()?;
    args.conditions.spare_logs()?;
    let pid = args.jvm.pid()?;
    let mut jvm = JvmProcess::enter(pid).map_err(Failure::Failed)?;
    args.trust.apply(&mut jvm)?;
    let target = args.output.as_deref().map(OutputTarget::of);
    // Before time is spent, and threads are stopped.
    target.as_ref().map_or(Ok(()), OutputTarget::spare_logs)?;
    let dumps = take(&jvm, &args)?;
    let name = match &args.output {
        Some(path) => path.display().to_string(),
        None => format!("process {pid}"),
    };
    if let Some(target) = target {
        target.write(|to| to.write_all(&dumps))?;
        if target == OutputTarget::Stdout {
            return Ok(Completion::Whole);
        }
    }
    report(&name, dumps, &args)
}

/// The dumps, one after another. Who interrupts gets those that were taken.
fn take(jvm: &JvmProcess, args: &DumpThreadsArgs) -> Result<Vec<u8>, Failure> {
    let temporary = jvm.temporary().map_err(Failure::Failed)?;
    interruptible(|interrupts| series(args, interrupts, || thread_dump(jvm, &temporary)))
}

fn series(
    args: &DumpThreadsArgs,
    interrupts: &Interrupts,
    dump: impl Fn() -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, Failure> {
    let every = Duration::from_nanos(args.every);
    let mut dumps = Vec::new();
    for nth in 0..args.count {
        let begin = Instant::now();
        let taken = dump().and_then(|dump| match dumps.len() + dump.len() > LONGEST_SERIES {
            true => Err(format!("more than {} GiB of dumps", LONGEST_SERIES >> 30)),
            false => Ok(dump),
        });
        match taken {
            Ok(dump) => dumps.extend_from_slice(&dump),
            Err(error) if dumps.is_empty() => return Err(Failure::Failed(error)),
            Err(error) => {
                // If that was the user, it is answered by the report.
                interrupts.wait(Duration::ZERO);
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
}

fn report(name: &str, dumps: Vec<u8>, args: &DumpThreadsArgs) -> CommandResult {
    let logs = [Recording::from_bytes(name, dumps)?];
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
