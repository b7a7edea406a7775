//! The options of Tyrion's agent.
//!
//! Every option stands once, in [`TABLE`]: its name, how its value is read, its
//! default and limits, its help text, in which mode it counts, and whether it can
//! change while the JVM is being recorded. From the table come
//!
//! - [`Options`], with a field for each option, and the reader of
//!   `-agentpath:…=key=value,…`, which the agent uses ([`Options::parse`]);
//! - the long options of `tyrion record`, `attach` and `sample`, with their help
//!   texts, completions and manual page;
//! - the options in the log's metadata ([`Options::in_force`]);
//! - `docs/agent-options.md` (`tests/document.rs` writes it).
//!
//! To add an option, add it to `table.rs` and use its field.
#![forbid(unsafe_code)]

mod error;
mod kinds;
mod parse;
mod table;
mod values;

pub use error::Wrong;
pub use kinds::{About, Form, Kind};
pub use parse::{Mistake, check, join_escaped};
pub use table::entry::{Counts, Entry, Later, Logged, Reach};
pub use table::{
    AutoOptions, DEFAULT_FILE, DEFAULT_PERIOD_NS, Options, PERIODS_NS, SampleOptions, TABLE,
    TraceOptions,
};
pub use tyrion_wire::pattern::Pattern;
pub use values::{
    Command, FileNames, HoldSampling, Locks, Mode, NamePattern, Parks, Rotation, Threshold, Walk,
};

/// The option of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.name == name)
}
