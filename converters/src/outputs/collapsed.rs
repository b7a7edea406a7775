//! Collapsed stacks: a line for each stack, its frames from root to leaf joined
//! by `;`, and a number. FlameGraph, inferno, speedscope and jfrconv read it.

use super::{By, Feature, Format, Metric, Metrics, OutputOptions, lines::Lines};
use std::io::{self, BufWriter, Write};
use tyrion_model::profile::Profile;

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "collapsed",
    default_file: "waits.collapsed",
    about: "Collapsed stacks, one a line, with a sum (of times in ns): for any flame graph tool",
    metrics: Metrics::OneOf(&Metric::ALL),
    by: &By::ALL,
    features: &[Feature::ByThread],
    loses: super::STACKS_LOSE,
    looked_at: Some("a text editor"),
    open_with: "flamegraph.pl {} >flames.svg, or https://www.speedscope.app",
    stream: super::Stream::Sums(stream),
    files: None,
};

/// Writes the stacks of a profile, a line each.
///
/// # Errors
/// Those of `out`.
pub fn stream(profile: &Profile, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, out);
    Lines::new(profile, options)?.for_each(0.0, |line| {
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")
    })?;
    out.flush()
}
