//! Java Flight Recorder's format, for JDK Mission Control, the JDK's `jfr` and all else that opens
//! recordings.
//!
//! Waits and samples are events of the JDK's own types, with more fields than the JDK has; what
//! the JDK does not tell are types of our own ([`types`]). Waits below the threshold are events
//! with their number and sum, since no single one of them is known: viewers that add up the
//! JDK's types lack them.
//!
//! A file is a row of chunks, each with all that is needed to read it: events, then what their
//! keys stand for ([`constants`]), then what fields they have ([`metadata`]). A chunk is made in
//! memory, and written when it is full. Ticks are ns of the timeline's clock.

mod bytes;
mod chunk;
mod constants;
mod ends;
mod events;
mod known;
mod metadata;
mod types;

use super::{By, Format, Metrics, OutputOptions, Stream};
use events::Recorder;
use std::io::{self, Write};
use tyrion_formats::Fact;
use tyrion_model::timeline::Timeline;

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "jfr",
    default_file: "waits.jfr",
    about: "Flight Recorder: waits, samples, holds and pauses as events",
    metrics: Metrics::Times,
    by: &[By::Waiter],
    features: &[],
    loses: &[Fact::Nesting],
    looked_at: Some("JDK Mission Control's libraries, jfrconv"),
    open_with: "JDK Mission Control, or jfr view",
    stream: Stream::Times(stream),
    files: None,
};

fn stream(timeline: &Timeline<'_>, _: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut recorder = Recorder::new(timeline, out);
    recorder.begin()?;
    timeline.in_time_with_samples(&mut |items, _| recorder.add(items))?;
    recorder.finish()
}
