//! What `tyrion diff` writes for visualizers.

use super::{DiffArgs, DiffFormat, DiffSide};
use crate::{
    files::{OutputTarget, say_written},
    outcome::{Failure, tell},
};
use tyrion_converters::outputs::{
    Metric, OutputOptions,
    flamegraph::{Difference, Widths},
    pprof,
};
use tyrion_model::{profile::Profile, units};
use tyrion_report::diff::{Measure, Pair, Per, scaled};

/// The picture that is written when the user names no other.
const PICTURE: &str = "diff.svg";
/// The profiles that are written into the user's folder.
const PROFILES: [&str; 2] = ["before.pb.gz", "after.pb.gz"];

/// Where the files go.
pub(super) fn targets(args: &DiffArgs) -> Vec<OutputTarget> {
    match (args.to, &args.output) {
        (None, None) => vec![OutputTarget::Stdout],
        (None | Some(DiffFormat::Flamegraph), Some(path)) => vec![OutputTarget::of(path)],
        (Some(DiffFormat::Flamegraph), None) => vec![OutputTarget::File(PICTURE.into())],
        (Some(DiffFormat::Pprof), folder) => {
            let folder = folder.clone().unwrap_or_default();
            PROFILES.map(|name| OutputTarget::File(folder.join(name))).into()
        }
    }
}

/// Writes a format.
pub(super) fn write(args: &DiffArgs, format: DiffFormat, pair: &Pair<'_>) -> Result<(), Failure> {
    let per = args.per(pair);
    let metric = match pair.measure() {
        Measure::Wait => Metric::Wait,
        Measure::Contentions => Metric::Contentions,
    };
    let profiles = scaled(pair, per).map_err(|error| Failure::new(error.to_string()))?;
    match format {
        DiffFormat::Flamegraph => flamegraph(args, &profiles, metric, per),
        DiffFormat::Pprof => pprofs(args, &profiles, metric),
    }
}

fn flamegraph(
    args: &DiffArgs,
    [before, after]: &[Profile; 2],
    metric: Metric,
    per: Per,
) -> Result<(), Failure> {
    let widths = match args.widths {
        Some(DiffSide::Before) => Widths::Before,
        Some(DiffSide::After) => Widths::After,
        // Where most of it can be seen, be it what went or what came.
        None if amount(before, metric) > amount(after, metric) => Widths::Before,
        None => Widths::After,
    };
    let subtitle = subtitle([before, after], metric, per);
    let picture = Difference { before, after, metric, widths, subtitle: &subtitle };
    for target in targets(args) {
        target.write(|out| picture.write(out))?;
        if let OutputTarget::File(path) = target {
            let name = path.display().to_string();
            say_written(std::slice::from_ref(&path), &name, "xdg-open {}, or any browser");
        }
    }
    Ok(())
}

/// How long threads waited, or how often.
fn amount(profile: &Profile, metric: Metric) -> u64 {
    let (waits, wait_ns) = profile.totals();
    if metric == Metric::Contentions { waits } else { wait_ns }
}

/// `waits before: 4.1 s, scaled to 0.35 s recorded; after: 25 ms`
fn subtitle([before, after]: [&Profile; 2], metric: Metric, per: Per) -> String {
    let wait = |profile: &Profile| match amount(profile, metric) {
        waits if metric == Metric::Contentions => units::counted(waits, "wait"),
        wait_ns => units::duration(wait_ns),
    };
    let to = match per {
        Per::Second => {
            let recorded_ns = after.runs.iter().map(|run| run.duration_ns).sum();
            units::duration(recorded_ns)
        }
        Per::Acquisition => "the acquisitions after".to_owned(),
        Per::Recording => return format!("{} before, {} after", wait(before), wait(after)),
    };
    format!("{} before, scaled to {to}; {} after", wait(before), wait(after))
}

fn pprofs(args: &DiffArgs, profiles: &[Profile; 2], metric: Metric) -> Result<(), Failure> {
    let options = OutputOptions { metric: Some(metric), ..OutputOptions::default() };
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    }
    let mut names = Vec::new();
    for (target, profile) in targets(args).into_iter().zip(profiles) {
        target.write(|out| pprof::stream(profile, &options, out))?;
        if let OutputTarget::File(path) = target {
            names.push(path.display().to_string());
        }
    }
    let [before, after] = &names[..] else { return Ok(()) };
    tell(&format!(
        "wrote {before} and {after}; open with: go tool pprof -diff_base {before} {after}"
    ));
    Ok(())
}
