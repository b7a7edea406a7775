//! Commands that need JVMs, where there are none that are recorded: each says so.

use clap::Args;
use std::ffi::OsString;

/// Whatever a command is given.
#[derive(Args, Debug)]
#[command(
    after_help = "Needs Linux: run it where the JVM runs, copy the log here, and read it with \
    tyrion report."
)]
pub struct GivenWords {
    /// What it is given there
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Modules of commands, as they are called on Linux: each with its arguments, and the
/// functions that run its commands.
macro_rules! commands {
    ($($module:ident: $($args:ident)+, $($run:ident $name:literal)+;)+) => {$(
        pub mod $module {
            use crate::outcome::{CommandResult, Failure};

            $(pub type $args = super::GivenWords;)+
            $(pub fn $run(_given: super::GivenWords) -> CommandResult {
                Err(Failure::needs_linux($name))
            })+
        }
    )+};
}

commands! {
    agent_path: AgentPathArgs, run "agent-path";
    attach: AttachArgs JvmArgs, attach "attach" status "status" stop "stop";
    dump_threads: DumpThreadsArgs, run "dump-threads";
    list: ListArgs, run "list";
    metrics: MetricsArgs, run "metrics";
    profile: ProfileArgs, run "profile";
    record: RecordArgs, run "record";
    sample: SampleArgs, run "sample";
}
