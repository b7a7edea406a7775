//! Probes in methods, and what locks are called there.

#![allow(clippy::expect_used, reason = "a test that cannot go on should say why")]

mod common;
mod generated;
mod hostile;
mod naming;
mod places;
mod real_classes;
mod trace;
