//! Plain answers from event logs.
//!
//! [`find`] reads the logs, once for the profile and once for what a profile
//! does not keep (distributions, times, single records of trace mode). A
//! [`Section`] turns these [`Findings`] into one [`Answer`]: a typed value for
//! machines, and a [`View`] for eyes, which text and HTML draw. Data flow one
//! way: logs → `Findings` → `Answer` → [`Report`] → [`render`].
//!
//! To add a section: a file under `sections` with a `pub const SECTION`, and a
//! line in [`SECTIONS`].
#![forbid(unsafe_code)]

pub mod cells;
mod clock;
mod collections;
pub mod conditions;
pub mod diff;
pub mod findings;
pub mod glance;
mod options;
mod own_cpu;
pub mod render;
mod report;
mod section;
pub mod sections;
pub mod shell;
#[cfg(test)]
mod testing;
pub mod view;

pub use collections::Collections;
pub use findings::{Findings, find, work_bytes};
pub use options::ReportOptions;
pub use own_cpu::OwnCpu;
pub use report::{Report, Shown, longer_intervals};
pub use section::{About, Answer, InBrief, Section, schema_of};
pub use sections::SECTIONS;
pub use view::View;
