//! Flame graphs: one SVG that any browser opens, with zoom and search.

mod colors;
mod difference;
mod fitted;
mod reshaped;
mod svg;
mod titles;

pub use difference::{Difference, Widths};

use super::{
    By, Feature, Format, Metric, Metrics, OutputOptions, facts, lines::Lines, rows::RowColumn,
};
use inferno::flamegraph::{self, Direction, color::BackgroundColor};
use std::io::{self, BufWriter, Write};
use svg::SvgWriter;
use titles::{TitleClasses, escaped};
use tyrion_model::{profile::Profile, units};

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "flamegraph",
    default_file: "waits.svg",
    about: "Flame graph: an SVG for any browser",
    metrics: Metrics::OneOf(&Metric::ALL),
    by: &By::ALL,
    features: &[Feature::ByThread, Feature::Icicle, Feature::Invert],
    loses: super::STACKS_LOSE,
    looked_at: Some("Chromium"),
    open_with: "xdg-open {}, or any browser",
    stream: super::Stream::Sums(stream),
    files: None,
};

/// At most so many bytes of lines are drawn: a few times what those who are wide
/// enough to be seen have in large programs.
const MAX_LINES: usize = 64 << 20;

fn stream(profile: &Profile, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let lines = Lines::brief(profile, options)?;
    if lines.total() == 0 {
        write_empty(profile, options, &lines, &mut out)?;
    } else {
        write_graph(profile, options, &lines, &mut out)?;
    }
    out.flush()
}

fn write_graph(
    profile: &Profile,
    options: &OutputOptions,
    lines: &Lines<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut palette = colors::palette(lines);
    let mut style = flamegraph::Options::default();
    style.title = format!("{}: {}", title(lines, options), sum(lines, options));
    style.subtitle = Some(facts::summary(profile, lines.kinds()));
    style.name_type = "Frame:".to_owned();
    style.count_name = unit(lines).to_owned();
    style.palette_map = Some(&mut palette);
    style.deterministic = true;
    style.bgcolors = Some(BackgroundColor::Grey);
    if options.icicle {
        style.direction = Direction::Inverted;
    }
    // The lines are in order of frames, which is not that of bytes: ` ` and `;`
    // are not the smallest ones. Sorted by bytes, a method that waits itself and
    // also calls is drawn twice when a sibling's name continues its own (`get`,
    // `get0`). Only a flame chart takes lines as they come, last one first.
    style.flame_chart = true;

    // Inferno holds all lines; those of frames too narrow to be drawn can be
    // gigabytes.
    let reshapes = options.invert || !options.packages.is_empty();
    // What is narrow here may be a part of what is wide then.
    let smallest = if reshapes { 0.0 } else { style.min_width / (100.0 / lines.total() as f64) };
    let (mut text, _) = lines.text(smallest, MAX_LINES)?;
    if reshapes {
        text = reshaped::reshaped(&text, lines, options);
    }
    let legend = colors::legend(lines, &text);
    let mut svg = SvgWriter::new(out, TitleClasses::of(&[lines]), legend);
    let last_first: Vec<&str> = text.lines().rev().collect();
    flamegraph::from_lines(&mut style, last_first, &mut svg)?;
    svg.finish()
}

fn title(lines: &Lines<'_>, options: &OutputOptions) -> String {
    let what = match (lines.column(), options.is_by_holder()) {
        (RowColumn::WaitNs, _) if options.is_by_waker() => "Wait time, by who ended it",
        (RowColumn::Count, _) if options.is_by_waker() => "Waits, by who ended them",
        (RowColumn::HoldNs, _) => "Lock hold time",
        (RowColumn::Acquisitions | RowColumn::AcquisitionsError, _) => "Lock acquisitions",
        (RowColumn::Reentrant | RowColumn::ReentrantError, _) => "Reentrant lock acquisitions",
        (RowColumn::BlamedNs, _) | (RowColumn::WaitNs, true) => {
            "Lock wait time, by who held the lock"
        }
        (RowColumn::Count, true) => "Contended lock acquisitions, by who held the lock",
        (RowColumn::WaitNs, _) if contention_only(lines) => "Lock wait time",
        (RowColumn::Count, _) if contention_only(lines) => "Contended lock acquisitions",
        (RowColumn::WaitNs, _) => "Wait time",
        (RowColumn::Count, _) => "Waits",
        (RowColumn::WallNs, _) => "Wall time, sampled",
        (RowColumn::CpuNs, _) => "CPU time, sampled",
        (RowColumn::BlockedNs, _) => "Time blocked at locks, sampled",
        (RowColumn::Samples, _) => "Samples",
    };
    let by_state = options.by == Some(By::State) && lines.column().is_sampled();
    let by = match (by_state, options.by_thread) {
        (true, true) => " by state and thread",
        (true, false) => " by state",
        (false, true) => " by thread",
        (false, false) => "",
    };
    let inverted = if options.invert { ", from the inside out" } else { "" };
    format!("{what}{by}{inverted}")
}

/// What all frames sum to: `12.3 s in 4,211 waits`.
fn sum(lines: &Lines<'_>, options: &OutputOptions) -> String {
    let total = lines.total();
    let time = || units::duration(total);
    match lines.column() {
        RowColumn::Acquisitions => units::thousands(total) + &error(lines),
        RowColumn::AcquisitionsError
        | RowColumn::Reentrant
        | RowColumn::ReentrantError
        | RowColumn::Samples
        | RowColumn::Count => units::thousands(total),
        RowColumn::HoldNs => {
            let acquisitions = lines.sum(RowColumn::Acquisitions);
            let acquisitions = units::counted(acquisitions, "acquisition");
            format!("{} in {acquisitions}{}", time(), error(lines))
        }
        // A wait may be charged to several holders, in parts: there is no number of waits.
        RowColumn::WaitNs if !options.is_by_holder() => {
            format!("{} in {}", time(), units::counted(lines.sum(RowColumn::Count), "wait"))
        }
        RowColumn::WaitNs | RowColumn::BlamedNs => time(),
        RowColumn::WallNs | RowColumn::CpuNs | RowColumn::BlockedNs => time(),
    }
}

/// How far the number of acquisitions may be off, where they were counted in bursts.
fn error(lines: &Lines<'_>) -> String {
    match lines.sum(RowColumn::AcquisitionsError) {
        0 => String::new(),
        error => format!(" (standard error {})", units::thousands(error)),
    }
}

fn contention_only(lines: &Lines<'_>) -> bool {
    lines.kinds().is_contention_only()
}

/// What the frames' widths count.
fn unit(lines: &Lines<'_>) -> &'static str {
    match lines.column() {
        RowColumn::WaitNs | RowColumn::HoldNs | RowColumn::BlamedNs => titles::NANOSECONDS,
        RowColumn::WallNs | RowColumn::CpuNs | RowColumn::BlockedNs => titles::NANOSECONDS,
        RowColumn::Acquisitions | RowColumn::AcquisitionsError => "acquisitions",
        RowColumn::Reentrant | RowColumn::ReentrantError => "acquisitions",
        RowColumn::Count if contention_only(lines) => "contentions",
        RowColumn::Count => "waits",
        RowColumn::Samples => "samples",
    }
}

/// A picture that says that there is nothing to draw, which is no error.
fn write_empty(
    profile: &Profile,
    options: &OutputOptions,
    lines: &Lines<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let nothing = match lines.column() {
        RowColumn::HoldNs => "no hold time",
        RowColumn::Acquisitions | RowColumn::AcquisitionsError => "no acquisitions",
        RowColumn::Reentrant | RowColumn::ReentrantError => "no acquisitions",
        RowColumn::Count | RowColumn::WaitNs | RowColumn::BlamedNs => "no waits",
        RowColumn::WallNs | RowColumn::CpuNs | RowColumn::Samples => "no samples",
        RowColumn::BlockedNs => "no blocked thread was seen",
    };
    write_nothing([&title(lines, options), &facts::summary(profile, lines.kinds()), nothing], out)
}

/// A picture of a title, a subtitle and why there is no more.
fn write_nothing([title, subtitle, nothing]: [&str; 3], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        r##"<?xml version="1.0" standalone="no"?>
<svg version="1.1" width="1200" height="120" viewBox="0 0 1200 120" xmlns="http://www.w3.org/2000/svg">
<style type="text/css">text {{ font-family:monospace; font-size:12px; text-anchor:middle }}</style>
<rect width="100%" height="100%" fill="#f8f8f8"/>
<text x="600" y="24" style="font-size:17px">{}</text>
<text x="600" y="48">{}</text>
<text x="600" y="84">{nothing}</text>
</svg>"##,
        escaped(title),
        escaped(subtitle),
    )
}
