//! What `tyrion diff` writes for visualizers.

use super::{DiffArgs, Format, Side};
use crate::{
    files::{Target, say_written},
    outcome::{Failure, tell},
};
use tyrion_converters::{
    outputs::{
        OutputOptions,
        flamegraph::{Difference, Widths},
        pprof, units,
    },
    profile::Profile,
};
use tyrion_report::diff::{Pair, Per, scaled};

/// The picture that is written when the user names no other.
const PICTURE: &str = "diff.svg";
/// The profiles that are written into the user's folder.
const PROFILES: [&str; 2] = ["before.pb.gz", "after.pb.gz"];

/// Where the files go.
pub(super) fn targets(args: &DiffArgs) -> Vec<Target> {
    match (args.to, &args.output) {
        (None, None) => vec![Target::Stdout],
        (None | Some(Format::Flamegraph), Some(path)) => vec![Target::of(path)],
        (Some(Format::Flamegraph), None) => vec![Target::File(PICTURE.into())],
        (Some(Format::Pprof), folder) => {
            let folder = folder.clone().unwrap_or_default();
            PROFILES.map(|name| Target::File(folder.join(name))).into()
        }
    }
}

/// Writes a format.
pub(super) fn write(args: &DiffArgs, format: Format, pair: &Pair<'_>) -> Result<(), Failure> {
    let per = args.per(pair);
    let profiles = scaled(pair, per).map_err(|error| Failure::new(error.to_string()))?;
    match format {
        Format::Flamegraph => flamegraph(args, &profiles, per),
        Format::Pprof => pprofs(args, &profiles),
    }
}

fn flamegraph(args: &DiffArgs, [before, after]: &[Profile; 2], per: Per) -> Result<(), Failure> {
    let widths = match args.widths {
        Some(Side::Before) => Widths::Before,
        Some(Side::After) => Widths::After,
        // Where most of it can be seen, be it what went or what came.
        None if before.totals().1 > after.totals().1 => Widths::Before,
        None => Widths::After,
    };
    let subtitle = subtitle(before, after, per);
    let picture = Difference { before, after, widths, subtitle: &subtitle };
    for target in targets(args) {
        target.write(|out| picture.write(out))?;
        if let Target::File(path) = target {
            let name = path.display().to_string();
            say_written(std::slice::from_ref(&path), &name, "xdg-open {}, or any browser");
        }
    }
    Ok(())
}

/// `waits before: 4.1 s, scaled to 0.35 s recorded; after: 25 ms`
fn subtitle(before: &Profile, after: &Profile, per: Per) -> String {
    let wait = |profile: &Profile| units::duration(profile.totals().1);
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

fn pprofs(args: &DiffArgs, profiles: &[Profile; 2]) -> Result<(), Failure> {
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    }
    let mut names = Vec::new();
    for (target, profile) in targets(args).into_iter().zip(profiles) {
        target.write(|out| pprof::stream(profile, &OutputOptions::default(), out))?;
        if let Target::File(path) = target {
            names.push(path.display().to_string());
        }
    }
    let [before, after] = &names[..] else { return Ok(()) };
    tell(&format!(
        "wrote {before} and {after}; open with: go tool pprof -diff_base {before} {after}"
    ));
    Ok(())
}
