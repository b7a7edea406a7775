//! Answers drawn for a terminal, for a browser, and for machines.
//!
//! [`text`] and [`html`] draw any [`View`](crate::View) and know nothing of
//! single sections; [`json`] passes on what sections say of themselves.

pub(crate) mod cells;
pub(crate) mod clock;
mod heat;
pub mod html;
pub mod json;
mod names;
mod report;
pub mod text;

pub use crate::findings::LogFacts;
pub(crate) use cells::percent;
pub use cells::{change, ns_change, ns_rate, plain, shown};
pub use report::{Report, Shown, longer_intervals};
