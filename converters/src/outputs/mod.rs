//! The outputs, and the registry from which the command line's values, its
//! help, the default file names and the golden tests derive.
//!
//! To add one: a file here with a `pub const FORMAT: Format`, and a line in
//! [`FORMATS`].

mod bits;
pub mod callgrind;
pub mod collapsed;
mod facts;
pub mod flamegraph;
mod lines;
pub mod pprof;
mod rows;
mod tree;
pub mod units;

use crate::profile::Profile;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// What a picture's widths are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// How long threads waited.
    #[default]
    Wait,
    /// How long they held locks.
    Hold,
    /// How often they took them.
    Acquisitions,
    /// How long others waited for what they held.
    Blame,
    /// How long threads were there, by samples.
    Wall,
    /// How long they computed there, by samples.
    Cpu,
    /// How long they were blocked there, by samples.
    Blocked,
}

impl Value {
    /// Every value, in the order of the help.
    pub const ALL: [Value; 7] = [
        Value::Wait,
        Value::Hold,
        Value::Acquisitions,
        Value::Blame,
        Value::Wall,
        Value::Cpu,
        Value::Blocked,
    ];

    /// Whether it comes from samples.
    pub fn is_sampled(self) -> bool {
        matches!(self, Value::Wall | Value::Cpu | Value::Blocked)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Value::Wait => "wait",
            Value::Hold => "hold",
            Value::Acquisitions => "acquisitions",
            Value::Blame => "blame",
            Value::Wall => "wall",
            Value::Cpu => "cpu",
            Value::Blocked => "blocked",
        }
    }
}

/// Whose stack carries the wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// That of the thread that waited, as in Go's block profile.
    #[default]
    Waiter,
    /// That of the thread that held what others waited for, as in Go's mutex
    /// profile: blame stands for the waits.
    Holder,
    /// That of the thread itself, below what it was doing: samples stand for
    /// the waits.
    State,
}

impl By {
    /// All, in the order of the help.
    pub const ALL: [By; 3] = [By::Waiter, By::Holder, By::State];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            By::Waiter => "waiter",
            By::Holder => "holder",
            By::State => "state",
        }
    }
}

/// How outputs shall render a profile. [`Format::options`] says which of them
/// an output follows, besides those that all do.
#[derive(Clone, Debug)]
pub struct Options {
    /// End every stack with a frame named after the lock's class.
    pub lock_frame: bool,
    /// Name locks in that frame by identity too, `java.lang.Object#7`.
    pub lock_identity: bool,
    /// Tell threads apart (pprof: the label `thread`).
    pub thread_label: bool,
    /// Begin every stack with a frame named after the thread (flame graphs, collapsed).
    pub by_thread: bool,
    /// Show numbers of waits instead of their duration (flame graphs, collapsed).
    pub count: bool,
    /// What to show (flame graphs, collapsed).
    pub value: Value,
    /// Whose stack carries the wait.
    pub by: By,
    /// Draw the flame graph upside down.
    pub icicle: bool,
    /// One file with all threads in it (callgrind).
    pub merged: bool,
    /// At most so many parts (callgrind); threads beyond share a part by name group.
    pub max_parts: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            lock_frame: true,
            lock_identity: false,
            thread_label: true,
            by_thread: false,
            count: false,
            value: Value::Wait,
            by: By::Waiter,
            icicle: false,
            merged: false,
            max_parts: 256,
        }
    }
}

impl Options {
    /// What is shown of a profile: the value asked for, but wall time instead of
    /// waits where nothing but samples is known.
    pub fn value_of(&self, profile: &Profile) -> Value {
        let samples_only = profile.lacks_waits || self.by == By::State;
        match self.value {
            Value::Wait if samples_only && self.by != By::Holder => Value::Wall,
            value => value,
        }
    }

    /// Whether stacks begin with a frame named after the state: that of a wait or
    /// of a hold is not told.
    pub(crate) fn is_by_state(&self, profile: &Profile) -> bool {
        self.by == By::State && self.value_of(profile).is_sampled()
    }
}

/// Writes a profile as one stream of bytes.
pub type WriteStream = fn(&Profile, &Options, &mut dyn Write) -> io::Result<()>;
/// Writes a profile as files at and beside a path: all that were written, the
/// one to open first.
pub type WriteFiles = fn(&Profile, &Options, &Path) -> io::Result<Vec<PathBuf>>;

/// An output format.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file that is written when the user names none.
    pub default_file: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// The options of the command line that it follows, besides those that all
    /// do.
    pub options: &'static [&'static str],
    /// What to do with the file, for the line printed after it was written.
    /// `{}` stands for its name.
    pub open_with: &'static str,
    /// Writes it as one stream.
    pub stream: WriteStream,
    /// Writes it as several files, where the format prefers that.
    pub files: Option<WriteFiles>,
}

/// Every output format, in the order of the help.
pub const FORMATS: &[Format] =
    &[callgrind::FORMAT, pprof::FORMAT, flamegraph::FORMAT, collapsed::FORMAT];

/// The format of this name, if there is one.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
