//! `tyrion agent-path`, and where the agent is for the other commands.

use crate::outcome::{CommandResult, Done, Failure};
use std::{
    io::{IsTerminal, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use tyrion_converters::harmless;

/// The agent's file name.
const AGENT: &str = "libtyrion_agent.so";

/// The agent: named by `TYRION_AGENT`, beside this program, or in the `lib`
/// folder beside its folder.
///
/// # Errors
/// When it is in none of these places.
pub fn agent_path() -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os("TYRION_AGENT") {
        // The JVM has another working folder.
        return std::path::absolute(&path).map_err(|error| {
            Failure::new(format!("TYRION_AGENT={}: {error}", Path::new(&path).display()))
        });
    }
    let program = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(|error| Failure::new(format!("cannot find out where this program is: {error}")))?;
    let folder = program.parent().unwrap_or(&program);
    let places = [folder.join(AGENT), folder.join("../lib").join(AGENT)];
    places.iter().find(|path| path.is_file()).and_then(|path| path.canonicalize().ok()).ok_or_else(
        || {
            Failure::new(format!(
                "no {AGENT} in {} or ../lib; build it with `cargo build --release`, \
                 or name it in TYRION_AGENT",
                folder.display()
            ))
        },
    )
}

/// Prints the agent's path.
pub fn run() -> CommandResult {
    let path = agent_path()?;
    let mut out = std::io::stdout();
    let written = match out.is_terminal() {
        true => writeln!(out, "{}", harmless::text(&path.to_string_lossy())),
        // To the byte, for what the shell puts into a command.
        false => out.write_all(&[path.as_os_str().as_bytes(), b"\n"].concat()),
    };
    written.map(|()| Done::Whole).map_err(|error| Failure::writing("stdout", &error))
}
