//! Perfetto's traces: a track for each thread, with its waits as slices.
//!
//! * A wait for a lock has the name that Android's runtime gives to contended monitors,
//!   of whatever kind the lock is: Perfetto's analysis of lock contention knows waits by
//!   that name. Its annotation `kind` tells the kind. Other waits are named after their
//!   kind and lock.
//! * A hold has the name of the lock with `_lock_held` behind it, as that analysis wants
//!   it. Holds are there where the log has every one of them.
//! * A flow goes from the release of the lock, or from whatever ended the wait, to the
//!   wait, as far as that was recorded.
//! * A counter for each process tells how many threads wait for locks.
//! * Waits that have no times are an instant for each thread, stack and lock, at the end
//!   of the time in which they were, with their number and sum.
//!
//! Packets are in the order of their times, on the log's clock, `CLOCK_MONOTONIC`. They
//! are written as they are made: the trace is never in memory as a whole.

mod dumps;
mod naming;
mod owners;
mod packets;
pub mod proto;
mod sweep;
mod tracks;

use super::{By, Format, Metrics, OutputOptions, Stream, by_dump};
use packets::Packets;
use std::io::{self, BufWriter, Write};
use sweep::Sweep;
use tyrion_formats::Fact;
use tyrion_model::timeline::Timeline;

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "perfetto",
    default_file: "waits.perfetto-trace",
    about: "Perfetto trace: the waits and holds of each thread as slices, with flows",
    metrics: Metrics::Times,
    by: &[By::Waiter],
    features: &[],
    loses: &[Fact::Acquisitions, Fact::Blame, Fact::Nesting, Fact::Samples, Fact::Collections],
    looked_at: None,
    open_with: "https://ui.perfetto.dev (Open trace file)",
    stream: Stream::Times(stream),
    files: None,
};

fn stream(timeline: &Timeline<'_>, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 18, out);
    if by_dump::are_dumps(timeline) {
        dumps::write(timeline, &mut out)?;
        return out.flush();
    }
    let packets = Packets::new(timeline.profile(), timeline.axis(), &mut out)?;
    let mut sweep = Sweep::new(timeline, options, packets);
    timeline.in_time(&mut |items, next| sweep.add(items, next))?;
    sweep.finish()?;
    out.flush()
}
