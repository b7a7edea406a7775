//! `tyrion profile`: from a JVM to a report in one command.

mod desktop;
mod recorder;

use super::{
    attach::{Agent, TrustArgs},
    conditions::{ConditionArgs, metrics_help},
    convert::{self, format_names},
    list,
    record::record,
    report::{PAGE, write_page},
    sections::{FEW, seconds_value},
    session,
};
use crate::{
    agent_options::AgentOptions,
    console::ChartArgs,
    files::OutputTarget,
    filters::ShapeArgs,
    jvm::names::{JvmName, jvm_name},
    logs,
    outcome::{CommandResult, Completion, Failure, print, tell_error},
    progress, shell, terminal,
};
use clap::Args;
use recorder::Recorder;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, Kinds};
use tyrion_options::DEFAULT_FILE;
use tyrion_report::{
    About, Findings, Report, ReportOptions, SECTIONS, Section, find,
    render::{
        json,
        text::{self, Style},
    },
    sections::{contended, lines},
    work_bytes,
};

const EXAMPLES: &str = "Examples:
  tyrion profile 4711
  tyrion profile com.acme.Main --duration 2m -o acme.html
  tyrion profile 4711 --mode contention+sample --to flamegraph
  tyrion profile 4711 -d 60 --fail-if 'p99_wait_ns > 5ms' --json > report.json
  tyrion profile -- java -jar app.jar
  tyrion profile --mode trace --include 'com.acme.*' -- java -jar app.jar

Prints the beginning of the report, writes the whole report for a browser, and opens
it if there is a desktop. Ctrl-C ends recording early, and the report shows what was
recorded until then. A program that profile starts is recorded until it ends.

The log is kept for the other commands. If the JVM is already being recorded, that
recording continues, in its own log, and the report covers the time in which profile
ran. If profile starts a program, the exit status is the program's.";

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", metrics_help())
}

/// Which JVM, for how long, and what to write.
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub struct ProfileArgs {
    /// The JVM: its process id, or its main class or jar, or a part of these or of
    /// its arguments
    #[arg(value_name = "PID|NAME", value_parser = jvm_name, conflicts_with = "command")]
    jvm: Option<JvmName>,
    /// How long to record
    #[arg(short, long, value_name = "DURATION", default_value = "30s",
          value_parser = seconds_value, conflicts_with = "command")]
    duration: u64,
    /// The page to write, for a browser [default: report.html, or report-2.html and so on
    /// if that is there]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the whole report as one JSON object
    #[arg(long)]
    json: bool,
    /// Also convert the log to this format, or to all, under the usual names
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    to: Option<&'static str>,
    /// Do not open the page
    #[arg(long)]
    no_open: bool,
    /// The log; %p stands for the process id [default: tyrion-%p.log here, or in the
    /// JVM's /tmp if the JVM cannot write here]
    #[arg(long, value_name = "LOG")]
    log: Option<PathBuf>,
    #[command(flatten)]
    chart: ChartArgs,
    #[command(flatten)]
    conditions: ConditionArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    trust: TrustArgs,
    /// A command that starts a JVM, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Records, and reports.
pub fn run(args: ProfileArgs) -> CommandResult {
    args.agent.check()?;
    args.conditions.of_one_recording()?;
    args.conditions.spare_logs()?;
    if args.jvm.is_none() && args.command.is_empty() {
        return Err(which_jvm(list::lines()));
    }
    let output = args.output.clone().unwrap_or_else(|| unused(Path::new(PAGE)));
    let page = OutputTarget::of(&output);
    if page.is_stream() {
        return Err(Failure::Usage(
            "-o must name a file; to write the page elsewhere, use tyrion report --html".to_owned(),
        ));
    }
    page.spare_logs()?;
    let user = rustix::process::geteuid();
    let status = match &args.jvm {
        Some(jvm) => of_running(&args, &output, jvm),
        None => of_command(&args, &output),
    }?;
    // As another user, who has no part in our desktop, nothing is opened.
    if !args.no_open && user == rustix::process::geteuid() && output.is_file() {
        desktop::open(&output);
    }
    Ok(status)
}

/// What is said to who names neither a JVM nor a command: which JVMs there are.
fn which_jvm(jvms: Vec<String>) -> Failure {
    let what = "name the JVM to profile, or the command that starts one after --";
    match jvms.is_empty() {
        true => Failure::Usage(format!("{what}; none is running, as far as can be seen from here")),
        false => Failure::Which(format!("{what}. These are running:"), jvms),
    }
}

/// The first of this file and those with a number in their names that is not there yet: a
/// page of earlier stays as it is.
fn unused(page: &Path) -> PathBuf {
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    let end = page.extension().unwrap_or_default().to_string_lossy();
    let numbered =
        (2..MOST_PAGES).map(|number| page.with_file_name(format!("{stem}-{number}.{end}")));
    let mut names = std::iter::once(page.to_owned()).chain(numbered);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_else(|| page.to_owned())
}

/// So many pages can be beside each other.
const MOST_PAGES: u32 = 10_000;

/// Attaches to a JVM for a while.
fn of_running(args: &ProfileArgs, page: &Path, jvm: &JvmName) -> CommandResult {
    let agent = Agent::find(jvm, args.trust)?;
    // As the user that this process is from now on, and before time is spent.
    check_writable(page)?;
    let log = session::interruptible(|interrupts| {
        let recorder = Recorder::begin(&agent, args)?;
        recorder.wait(interrupts, Duration::from_nanos(args.duration));
        recorder.end()
    })?;
    let logs = log.open(&agent)?;
    let filter = Filter { kinds: Kinds::contention(), ..log.filter(&logs) };
    let done = report(args, page, &logs, &filter)?;
    tell_log(&log.here);
    Ok(done)
}

/// Runs a program to its end.
fn of_command(args: &ProfileArgs, page: &Path) -> CommandResult {
    check_writable(page)?;
    let log = args.log.as_deref().unwrap_or(Path::new(DEFAULT_FILE));
    let (status, newest) = record(&args.command, log, &args.agent)?;
    let reported = match newest.is_empty() {
        // Why has been told.
        true => Ok(Completion::Program(1)),
        false => report_all(args, page, &newest),
    };
    match (status, reported) {
        (Completion::Program(0), reported) => reported,
        // How the program ended is told by the status, so this is told in words.
        (status, Err(failure)) => {
            tell_error(&failure.to_string());
            Ok(status)
        }
        (status, Ok(_)) => Ok(status),
    }
}

/// Reports on all recordings of a program, each with its earlier files.
fn report_all(args: &ProfileArgs, page: &Path, newest: &[PathBuf]) -> CommandResult {
    let mut logs = Vec::new();
    for log in newest {
        logs.extend(logs::open_since(&logs::Here, log, Some(0))?);
    }
    let filter = Filter { kinds: Kinds::contention(), ..Filter::default() };
    let done = report(args, page, &logs, &filter)?;
    newest.iter().for_each(|log| tell_log(log));
    Ok(done)
}

/// Refuses a page that could not be written later.
fn check_writable(page: &Path) -> Result<(), Failure> {
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(page);
    let is_new = opened.as_ref().is_ok_and(|file| file.metadata().is_ok_and(|it| it.len() == 0));
    if is_new {
        // There is nothing in it yet, and may be nothing ever.
        let _ = std::fs::remove_file(page);
    }
    opened.map(drop).map_err(|error| {
        Failure::new(format!("{}: {error}; name another file with -o", page.display()))
    })
}

/// Prints the beginning of the report, and writes the rest.
fn report(args: &ProfileArgs, page: &Path, logs: &[Recording], filter: &Filter) -> CommandResult {
    let default = ReportOptions::default();
    let options = ReportOptions {
        group_by: args.shape.group_by.clone().unwrap_or(default.group_by),
        packages: args.shape.packages.clone(),
        ..ReportOptions::default()
    };
    let bar = progress::bar(work_bytes(logs), "reading");
    let findings = find(logs, filter, &options, &|bytes| bar.inc(bytes));
    bar.finish_and_clear();
    let done = logs::tell_damage(&findings.aggregate.damage);
    let whole = Report::new(VERSION, &findings, &options, &[]);
    print(match args.json {
        true => json::write(&whole),
        false => {
            let few = ReportOptions { top: FEW, lines: FEW, brief: true, ..options.clone() };
            let mut beginning = Report::new(VERSION, &findings, &few, &beginning(&findings));
            beginning.glance.clone_from(&whole.glance);
            let chart = args.chart.is_wanted(OutputTarget::Stdout.is_terminal());
            text::write(&beginning, &Style { chart, ..terminal::style() })
        }
    })?;
    let profile = args.shape.apply(findings.profile().clone());
    let written = write_page(&whole, (&profile, false), &OutputTarget::of(page)).and_then(|()| {
        args.to.map_or(Ok(()), |to| convert::write_usual(to, logs, filter).map(drop))
    });
    args.conditions.check_written(written, done, &findings, None)
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The sections that are printed: up to that of the hottest locks, or of the
/// hottest lines where no locks were recorded.
fn beginning(findings: &Findings<'_>) -> Vec<&'static Section> {
    let last = SECTIONS.iter().position(|section| section.name == contended::SECTION.name);
    let first = SECTIONS.iter().take(last.map_or(SECTIONS.len(), |last| last + 1));
    // Nobody dumps threads here.
    let first = first.filter(|section| section.about != About::Dumps);
    match findings.profile().lacks_waits {
        false => first.collect(),
        true => {
            first.filter(|section| section.about == About::All).chain([&lines::SECTION]).collect()
        }
    }
}

fn tell_log(log: &Path) {
    let log = log.to_string_lossy();
    crate::outcome::tell(&format!(
        "the log is {log}; for more: tyrion report {}",
        shell::suggested(&log)
    ));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::usage::CommandLine;
    use clap::Parser;

    fn parse(line: &str) -> Result<ProfileArgs, String> {
        let words = std::iter::once("profile").chain(line.split_whitespace());
        CommandLine::<ProfileArgs>::try_parse_from(words)
            .map(|line| line.args)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_jvm_or_a_command() {
        let args = parse("4711 --duration 2m --mode trace").unwrap();
        assert_eq!((args.jvm, args.duration), (Some(JvmName::Pid(4711)), 120_000_000_000));
        let args = parse("com.acme.Main").unwrap();
        assert_eq!(args.duration, 30_000_000_000);
        let args = parse("--log a.log -- java -jar a.jar --duration 7").unwrap();
        assert_eq!((args.jvm, args.command.len()), (None, 5));
        assert_eq!(parse("1 -d 3").unwrap().duration, 3_000_000_000);
        for wrong in ["0", "1 2", "1 -- java", "--duration 5s -- java", "1 --to pictures"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn who_names_no_jvm_is_told_which_there_are() {
        let said = which_jvm(vec!["4711  shop".to_owned()]);
        assert!(matches!(&said, Failure::Which(_, lines) if lines == &["4711  shop"]), "{said}");
        let said = which_jvm(Vec::new());
        assert!(
            matches!(&said, Failure::Usage(text) if text.contains("none is running")),
            "{said}"
        );
        assert!(matches!(run(parse("").unwrap()), Err(Failure::Usage(_) | Failure::Which(..))));
    }

    #[test]
    fn a_page_of_earlier_stays() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("report.html");
        for name in ["report.html", "report-2.html", "report-3.html"] {
            let free = unused(&page);
            assert_eq!(free, folder.path().join(name));
            std::fs::write(free, "").unwrap();
        }
    }

    #[test]
    fn a_page_is_a_file() {
        for (page, said) in [("-", "must name a file"), ("/dev/null", "must name a file")] {
            let args = parse(&format!("1 -o {page}")).unwrap();
            let refused = run(args).unwrap_err();
            assert!(matches!(&refused, Failure::Usage(text) if text.contains(said)), "{refused}");
        }
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("report.html");
        assert!(check_writable(&page).is_ok() && !page.exists(), "nothing is left behind");
        std::fs::write(&page, "kept").unwrap();
        assert!(check_writable(&page).is_ok() && page.exists());
        let nowhere = check_writable(&folder.path().join("no/report.html")).unwrap_err();
        assert!(nowhere.to_string().contains("name another file with -o"), "{nowhere}");
    }
}
