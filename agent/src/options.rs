//! The agent's options, under the name by which the rest of the agent knows them.
//!
//! They stand in a crate of their own, `agent/options`, since the command line and
//! the documentation are made from the same table.

pub use tyrion_options::{
    AutoOptions, Command, DEFAULT_PERIOD_NS, FileNames, Locks, Mode, NamePattern, Options,
    PERIODS_NS, Parks, Pattern, Rotation, SampleOptions, Threshold, TraceOptions, Walk,
};
