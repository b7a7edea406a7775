//! `tyrion report`.

use super::{
    conditions::{ConditionArgs, metrics_help},
    sections::{self, SectionArgs},
};
use crate::{
    console::ChartArgs,
    files::{OutputTarget, say_written},
    filters::{self, FilterArgs, JobsArg, ShapeArgs},
    inputs::InputArgs,
    logs,
    outcome::{CommandResult, Failure, tell, tell_parts, tell_step},
    progress,
};
use clap::Args;
use std::path::PathBuf;
use tyrion_formats::{Recording, decoded_bytes};
use tyrion_model::{
    aggregate::SampleTotals,
    filter::Kinds,
    pass::{Order, Pass, made},
    profile::Profile,
    units::thousands,
};
use tyrion_report::{
    Findings, Report, find,
    glance::Glance,
    render::{
        html::{self, Flame},
        json,
        text::{self, Style},
    },
    sections::dumps::are_dumps,
    work_bytes,
};

const EXAMPLES: &str = "Examples:
  tyrion report locks.log
  tyrion report --section contended,blockers --top 5 locks.log
  tyrion report --html locks.log                 # report.html, for any browser
  tyrion report --json locks.log | jq '.sections.\"lock-order\".cycles'
  tyrion report --section tree --packages com.acme --interval 15m samples.log
  tyrion report --section lines --top 10 --state running,blocked samples.log
  tyrion report --since 30s --until 90s --thread '^http-' monday.log tuesday.log
  tyrion report --last 10m /var/log/acme         # of all logs in that folder
  tyrion report --fail-if 'p99_wait_ns > 5ms' --fail-if 'deadlocks > 0' locks.log";

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", metrics_help())
}

/// What `--html` writes when nobody says otherwise.
pub(super) const PAGE: &str = "report.html";

/// What to answer, and how.
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub struct ReportArgs {
    /// Logs to read, or folders of logs; several become one report, - is stdin
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Write one JSON object, described in docs/report-json.md
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write one HTML file for browsers; it contains flame graphs unless
    /// --section is given
    #[arg(long, conflicts_with = "chart")]
    html: bool,
    /// Where to write: a file, or - for stdout [default: stdout, or report.html
    /// with --html]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    chart: ChartArgs,
    #[command(flatten)]
    sections: SectionArgs,
    #[command(flatten)]
    conditions: ConditionArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    jobs: JobsArg,
}

impl ReportArgs {
    fn is_text(&self) -> bool {
        !self.json && !self.html
    }
}

/// Reports on logs.
pub fn run(args: ReportArgs) -> CommandResult {
    args.conditions.of_one_recording()?;
    args.conditions.spare_logs()?;
    let mut filter = args.filters.filter(Kinds::contention())?;
    let target = target(&args);
    let logs = logs::open_filtered(&args.logs, &args.inputs, &mut filter, args.filters.last_ns())?;
    args.inputs.tell_unused(logs.iter());
    target.spare_logs()?;
    let bar = progress::bar(work_bytes(&logs), "reading");
    args.jobs.run(|| {
        let options = args.sections.options(&args.shape, args.is_text());
        let mut findings = find(&logs, &filter, &options, &|bytes| bar.inc(bytes));
        bar.finish_and_clear();
        let aggregate = &mut findings.aggregate;
        let waits = aggregate.events.saturating_add(aggregate.folded);
        let samples_alone = args.sections.shows_samples_alone();
        if args.filters.is_given() && !samples_alone && !aggregate.profile.lacks_waits {
            filters::tell_if_empty(&aggregate.profile, waits);
        }
        if args.sections.shows(sections::STILL_WAITING) {
            aggregate.notes.pending = 0;
        }
        if args.sections.shows(sections::TREE) {
            aggregate.notes.hidden_idle = SampleTotals::default();
        } else if !args.sections.shows(sections::LINES) {
            aggregate.notes.forget_samples();
        }
        let done = logs::tell_damage(&aggregate.damage);
        let written = write(&args, &target, &findings);
        tell_step(|| decoded(&logs));
        tell_parts(passes);
        args.conditions.check_written(written, done, &findings, None)
    })?
}

/// How often the events of logs were decoded.
fn decoded(logs: &[Recording]) -> String {
    let chunks = logs.iter().flat_map(|log| log.event_chunks());
    let all: u64 = chunks.map(|chunk| u64::from(chunk.committed)).sum();
    let times = decoded_bytes() as f64 / all.max(1) as f64;
    format!("{} bytes of events were decoded {times:.1} times", thousands(all))
}

/// The passes that were made over logs, a line each.
fn passes() -> Vec<String> {
    let line = |(nth, pass): (usize, Pass)| {
        let order = match pass.order {
            Order::ByThread => "by thread",
            Order::InTime => "in the order of time",
        };
        let (bytes, took_s) = (thousands(pass.bytes), pass.took.as_secs_f64());
        format!("pass {nth} {order} over {}, {bytes} bytes of events: {took_s:.3} s", pass.log)
    };
    (1..).zip(made()).map(line).collect()
}

fn target(args: &ReportArgs) -> OutputTarget {
    match &args.output {
        Some(path) => OutputTarget::of(path),
        None if args.html => OutputTarget::File(PAGE.into()),
        None => OutputTarget::Stdout,
    }
}

/// Writes a whole report for browsers, with flame graphs of the profile.
///
/// # Errors
/// When they cannot be drawn, or the target cannot be written to.
pub(super) fn write_page(
    report: &Report,
    (profile, are_dumps): (&Profile, bool),
    target: &OutputTarget,
) -> Result<(), Failure> {
    let drawn = tyrion_page::flames(profile, are_dumps);
    let drawn = drawn.map_err(|error| Failure::new(format!("flame graphs: {error}")))?;
    write_html(report, &drawn, target)
}

fn write_html(report: &Report, drawn: &[Flame], target: &OutputTarget) -> Result<(), Failure> {
    target.write(|out| html::write(report, drawn, out))?;
    if let OutputTarget::File(path) = target {
        let name = path.display().to_string();
        say_written(std::slice::from_ref(path), &name, "xdg-open {}, or any browser");
    }
    Ok(())
}

fn write(args: &ReportArgs, target: &OutputTarget, findings: &Findings<'_>) -> Result<(), Failure> {
    let picked = args.sections.picked();
    let version = env!("CARGO_PKG_VERSION");
    let options = args.sections.options(&args.shape, args.is_text());
    let mut report = Report::new(version, findings, &options, &picked);
    if args.html {
        return match picked.is_empty() {
            true => {
                let profile = args.shape.apply(findings.profile().clone());
                write_page(&report, (&profile, are_dumps(findings)), target)
            }
            false => write_html(&report, &[], target),
        };
    }
    if args.json {
        return target.write(|out| out.write_all(json::write(&report).as_bytes()));
    }
    if args.chart.is_asked_for() && report.glance.is_none() {
        report.glance = Glance::of(findings);
    }
    let style = Style { chart: args.chart.is_wanted(target.is_terminal()), ..target.style() };
    target.write(|out| out.write_all(text::write(&report, &style).as_bytes()))?;
    for note in &report.notes {
        tell(&format!("note: {note}"));
    }
    Ok(())
}
