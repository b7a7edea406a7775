//! Answers drawn for a terminal, for a browser, and for machines.
//!
//! [`text`] and [`html`] draw any [`View`](crate::View) and know nothing of
//! single sections; [`json`] passes on what sections say of themselves. [`junit`] draws what was checked.

mod heat;
pub mod html;
pub mod json;
pub mod junit;
mod names;
pub mod text;
