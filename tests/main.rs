//! End-to-end tests: programs that know their own truth run under `tyrion
//! record`, and what the tools then say is compared with it.
//!
//! `make test` prepares what they need: the agent beside the binary, the Java
//! runtimes and classes, and the readers of the outputs. What is missing skips
//! its tests with a message, or fails them when `CI` is `true`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

mod support;

mod agent_jar;
mod another_log;
mod api;
mod attached;
mod attaching;
mod attacks;
mod auto;
mod beside;
mod collections;
mod collector;
mod command_line;
mod console;
mod containers;
mod crafted;
mod crash;
mod damaged_input;
mod diff;
mod disk;
mod dump_threads;
mod for_ever;
mod hostile;
mod identity;
mod intact;
mod jfr;
mod jmh;
mod judges;
mod junit;
mod kernels;
mod launching;
mod libcs;
mod looks;
mod mcp;
mod metrics;
mod mishaps;
mod mode_changes;
mod options;
mod otel;
mod other_tools;
mod outcomes;
mod outputs;
mod own_cpu;
mod owners;
mod page;
mod profile;
mod push;
mod report;
mod reporting;
mod rotation;
mod sampling;
mod schemas;
mod sql;
mod streams;
mod structure;
mod terminal;
mod threshold;
mod times;
mod top;
mod totals;
mod trace;
mod trace_changes;
mod truth;
mod verdicts;
mod virtual_threads;
mod waiting;
mod wakers;
mod walking;
mod web;
mod whatif;
mod windows;
