//! The outputs, and the registry from which the command line's values, its
//! help, the default file names and the golden tests derive.
//!
//! To add one: a file here with a `pub const FORMAT: Format`, and a line in
//! [`FORMATS`].

mod bits;
mod by_dump;
#[cfg(not(target_family = "wasm"))]
pub mod callgrind;
pub mod collapsed;
#[cfg(not(target_family = "wasm"))]
mod create;
mod facts;
pub mod firefox;
#[cfg(not(target_family = "wasm"))]
pub mod flamegraph;
mod held;
pub mod jfr;
mod json;
mod lines;
mod metric;
pub mod otlp;
#[cfg(not(target_family = "wasm"))]
pub mod parquet;
pub mod perfetto;
mod places;
pub mod pprof;
mod processes;
mod rows;
pub mod speedscope;
mod tables;
mod tree;

#[cfg(not(target_family = "wasm"))]
pub use create::write;
pub use metric::{By, Metric, Needs, go_together};

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};
use tyrion_formats::Fact;
use tyrion_model::{profile::Profile, timeline::Timeline};

/// How outputs shall render a profile. [`Format::metrics`], [`Format::by`] and
/// [`Format::features`] say which of these options an output follows, besides
/// those that all do.
#[derive(Clone, Debug)]
pub struct OutputOptions {
    /// End every stack with a frame named after the lock's class.
    pub lock_frame: bool,
    /// Name locks in that frame by identity too, `java.lang.Object#7`.
    pub lock_identity: bool,
    /// Tell threads apart (pprof: the labels `thread` and `owner_thread`).
    pub thread_label: bool,
    /// Begin every stack with a frame named after the thread (flame graphs, collapsed).
    pub by_thread: bool,
    /// What to show, for outputs that show one metric.
    pub metric: Option<Metric>,
    /// Whose stack carries it.
    pub by: Option<By>,
    /// Draw the flame graph upside down.
    pub icicle: bool,
    /// Begin its stacks with the innermost frame.
    pub invert: bool,
    /// The packages that its stacks begin with; none for whole stacks.
    pub packages: Vec<String>,
    /// One file with all threads in it (callgrind).
    pub merged: bool,
    /// At most so many parts (callgrind); threads beyond share a part by name group.
    pub max_parts: usize,
    /// What is known of the recorded processes besides what logs say, as OpenTelemetry's
    /// resource attributes, `service.name`: key and value.
    pub resource: Vec<(String, String)>,
}

impl Default for OutputOptions {
    fn default() -> Self {
        OutputOptions {
            lock_frame: true,
            lock_identity: false,
            thread_label: true,
            by_thread: false,
            metric: None,
            by: None,
            icicle: false,
            invert: false,
            packages: Vec::new(),
            merged: false,
            max_parts: 256,
            resource: Vec::new(),
        }
    }
}

impl OutputOptions {
    /// The metric that is shown of a profile by an output that shows one.
    pub fn metric_of(&self, profile: &Profile) -> Metric {
        metric::shown(self.metric, self.by, profile)
    }

    /// Whether the stacks of those who held locks carry the waits.
    pub(crate) fn is_by_holder(&self) -> bool {
        self.by == Some(By::Holder)
    }

    /// Whether the stacks of those who ended waits carry them.
    pub(crate) fn is_by_waker(&self) -> bool {
        self.by == Some(By::Waker)
    }

    /// Whether stacks begin with a frame named after the state: that of a wait or
    /// of a hold is not told.
    pub(crate) fn is_by_state(&self, profile: &Profile) -> bool {
        self.by == Some(By::State) && self.metric_of(profile).is_sampled()
    }
}

/// Writes a profile as one stream of bytes.
pub type WriteStream = fn(&Profile, &OutputOptions, &mut dyn Write) -> io::Result<()>;
/// Writes a timeline as one stream of bytes.
pub type WriteTimes = fn(&Timeline<'_>, &OutputOptions, &mut dyn Write) -> io::Result<()>;
/// Writes a timeline as a folder of files.
pub type WriteFolder = fn(&Timeline<'_>, &Path) -> io::Result<()>;
/// Writes a profile as files at and beside a path: all that were written, the
/// one to open first.
pub type WriteFiles = fn(&Profile, &OutputOptions, &Path) -> io::Result<Vec<PathBuf>>;

/// Writes an output as one stream, and says what it is made of.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Of sums: a profile.
    Sums(WriteStream),
    /// Of single waits with their times: a timeline.
    Times(WriteTimes),
    /// Of single waits, too, but as a folder of files.
    Folder(WriteFolder),
}

/// What of a log an output shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metrics {
    /// Every metric that the log has, so there is none to be chosen.
    All,
    /// One of these.
    OneOf(&'static [Metric]),
    /// Single waits, with how long they took and when, so there is none to be chosen.
    Times,
}

/// An option of [`OutputOptions`] that not all outputs follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// [`OutputOptions::thread_label`].
    ThreadLabel,
    /// [`OutputOptions::by_thread`].
    ByThread,
    /// [`OutputOptions::icicle`].
    Icicle,
    /// [`OutputOptions::invert`].
    Invert,
    /// [`OutputOptions::resource`].
    Resource,
    /// [`OutputOptions::merged`]; so outputs do that write several files.
    Merged,
    /// [`OutputOptions::max_parts`]; so outputs do that write several files.
    MaxParts,
}

/// An output format. The command line's values, help, refusals and file names
/// derive from what it declares.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file that is written when the user names none.
    pub default_file: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// What it shows.
    pub metrics: Metrics,
    /// Whose stacks can carry it.
    pub by: &'static [By],
    /// What else it follows, besides what every output follows and what comes
    /// with several files.
    pub features: &'static [Feature],
    /// What of a recording it does not show, whatever the options.
    pub loses: &'static [Fact],
    /// The program that somebody has looked at its files with.
    pub looked_at: Option<&'static str>,
    /// What to do with the file, for the line printed after it was written.
    /// `{}` stands for its name.
    pub open_with: &'static str,
    /// Writes it as one stream.
    pub stream: Stream,
    /// Writes it as several files, where the format prefers that.
    pub files: Option<WriteFiles>,
}

impl Format {
    /// Whether an option has an effect on it.
    pub fn follows(&self, feature: Feature) -> bool {
        match feature {
            Feature::Merged | Feature::MaxParts => self.files.is_some(),
            _ => self.features.contains(&feature),
        }
    }

    /// Whether it shows one metric, which the user may choose.
    pub fn shows_one_metric(&self) -> bool {
        matches!(self.metrics, Metrics::OneOf(_))
    }

    /// Whether it is made of a timeline.
    pub fn shows_times(&self) -> bool {
        matches!(self.stream, Stream::Times(_) | Stream::Folder(_))
    }

    /// Whether the user may choose this metric.
    pub fn can_show(&self, metric: Metric) -> bool {
        matches!(self.metrics, Metrics::OneOf(metrics) if metrics.contains(&metric))
    }
}

/// What outputs of stacks without lines lose.
const STACKS_LOSE: &[Fact] =
    &[Fact::Moments, Fact::Outcomes, Fact::Lines, Fact::Owners, Fact::Nesting, Fact::Collections];
/// What outputs of single waits lose.
const WAITS_LOSE: &[Fact] = &[
    Fact::Acquisitions,
    Fact::Holds,
    Fact::Blame,
    Fact::Nesting,
    Fact::Samples,
    Fact::Collections,
];

/// Every output format, in the order of the help.
pub const FORMATS: &[Format] = &[
    #[cfg(not(target_family = "wasm"))]
    callgrind::FORMAT,
    pprof::FORMAT,
    #[cfg(not(target_family = "wasm"))]
    flamegraph::FORMAT,
    collapsed::FORMAT,
    speedscope::FORMAT,
    firefox::FORMAT,
    perfetto::FORMAT,
    jfr::FORMAT,
    otlp::FORMAT,
    #[cfg(not(target_family = "wasm"))]
    parquet::FORMAT,
];

/// The format of this name, if there is one.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The names of the formats that something is true of.
pub fn names_where(is_so: impl Fn(&Format) -> bool) -> Vec<&'static str> {
    FORMATS.iter().filter(|format| is_so(format)).map(|format| format.name).collect()
}
