//! The commands: a file for each, and a line in [`Command`] and [`run`].

#[cfg(unix)]
mod agent_path;
mod api_jar;
#[cfg(unix)]
mod attach;
mod cache;
mod completions;
mod conditions;
mod convert;
mod diff;
mod dump;
#[cfg(unix)]
mod dump_threads;
#[cfg(windows)]
mod elsewhere;
mod info;
#[cfg(unix)]
mod list;
mod lock_names;
mod man;
mod mcp;
#[cfg(unix)]
mod metrics;
mod printed;
#[cfg(unix)]
mod profile;
mod push;
#[cfg(unix)]
mod record;
mod rendered;
mod report;
#[cfg(unix)]
mod sample;
mod sample_filter;
mod schema;
mod sections;
#[cfg(unix)]
mod session;
#[cfg(test)]
mod tests;
mod top;
mod whatif;

use crate::{
    console::{self, ConsoleArgs},
    outcome::{CommandResult, EXIT_STATUS},
    system::ELSEWHERE,
};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;

#[cfg(windows)]
use elsewhere::{agent_path, attach, dump_threads, list, metrics, profile, record, sample};

/// A lock profiler for the JVM: who waits for which lock, how long, and where.
#[derive(Parser, Debug)]
#[command(name = "tyrion", version, after_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}{ELSEWHERE}"), max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub console: ConsoleArgs,
}

/// Reads a command line.
///
/// # Errors
/// What is wrong with it, or the help that it asks for.
pub fn parse(words: &[OsString]) -> Result<Cli, clap::Error> {
    let command = Cli::command().color(console::color_choice(words));
    Cli::from_arg_matches(&command.try_get_matches_from(words)?)
}

const EXAMPLES: &str = "Examples:
  tyrion profile 4711 --duration 30s          # a JVM that runs: report.html
  tyrion record -o report.log -- java -cp app.jar com.acme.Main
  tyrion report report.log
  tyrion convert --to flamegraph report.log   # then open waits.svg in a browser
  tyrion convert --to callgrind report.log && kcachegrind out.callgrind
  tyrion convert --to pprof report.log && go tool pprof locks.pb.gz
  tyrion attach 4711 && sleep 60 && tyrion stop 4711
  tyrion sample 4711 --duration 50s --packages com.acme";

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Record a JVM for a while and report on its locks, all in one
    Profile(profile::ProfileArgs),
    /// Run a Java program and record its locks
    Record(record::RecordArgs),
    /// Convert logs to the formats of visualizers
    Convert(convert::ConvertArgs),
    /// Report which locks are contended, who holds them and what may deadlock
    Report(report::ReportArgs),
    /// Predict what is gained if a lock were free, split, or held for less time
    Whatif(whatif::WhatifArgs),
    /// Watch what threads wait for while the program runs
    Top(top::TopArgs),
    /// Send what is recorded to a collector, as OpenTelemetry profiles
    Push(push::PushArgs),
    /// Serve a recording's figures to Prometheus while the program runs
    Metrics(metrics::MetricsArgs),
    /// Compare logs: what waits more or less than before
    // Samples are not compared.
    #[command(mut_arg("state", |state| state.hide(true)))]
    Diff(diff::DiffArgs),
    /// Show what a log contains, whether it is complete, and its totals
    Info(info::InfoArgs),
    /// Print the records of a log, one per line
    Dump(dump::DumpArgs),
    /// List the JVMs that run, and which of them are recorded
    List(list::ListArgs),
    /// Start recording in a running JVM, or resume it after stop
    Attach(attach::AttachArgs),
    /// Sample what the threads of a JVM are doing, and print a tree
    Sample(sample::SampleArgs),
    /// Take thread dumps of a JVM, without an agent, and report on them
    DumpThreads(dump_threads::DumpThreadsArgs),
    /// Stop recording in a JVM; attach resumes it
    #[command(after_help = "Examples:\n  tyrion stop 4711\n  tyrion stop com.acme.Main")]
    Stop(attach::JvmArgs),
    /// Show what the agent in a JVM is doing
    #[command(after_help = "Examples:\n  tyrion status --json 4711")]
    Status(attach::JvmArgs),
    /// Answer assistants, by the Model Context Protocol on stdin and stdout
    Mcp(mcp::McpArgs),
    /// Print the path of the agent, for -agentpath
    AgentPath(agent_path::AgentPathArgs),
    /// Write the Java library with which programs name what they do
    ApiJar(api_jar::ApiJarArgs),
    /// Print what the fields of JSON outputs are, as JSON Schemas
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    #[command(after_help = "Examples:\n  tyrion man | man -l -")]
    Man,
}

/// Runs a command.
pub fn run(command: Command) -> CommandResult {
    match command {
        Command::Profile(args) => profile::run(args),
        Command::Record(args) => record::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Report(args) => report::run(args),
        Command::Whatif(args) => whatif::run(args),
        Command::Push(args) => push::run(args),
        Command::Top(args) => top::run(args),
        Command::Metrics(args) => metrics::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Info(args) => info::run(args),
        Command::Dump(args) => dump::run(args),
        Command::List(args) => list::run(args),
        Command::Attach(args) => attach::attach(args),
        Command::Sample(args) => sample::run(args),
        Command::DumpThreads(args) => dump_threads::run(args),
        Command::Stop(args) => attach::stop(args),
        Command::Status(args) => attach::status(args),
        Command::Mcp(args) => mcp::run(args),
        Command::AgentPath(args) => agent_path::run(args),
        Command::ApiJar(args) => api_jar::run(args),
        Command::Schema(args) => schema::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man => man::run(),
    }
}
