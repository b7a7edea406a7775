//! `tyrion agent-path`, and where the agent is for the other commands.

use crate::outcome::{Done, Failure, Outcome};
use std::{io::Write, path::PathBuf};

/// The agent's file name.
const AGENT: &str = "libtyrion_agent.so";

/// The agent: named by `TYRION_AGENT`, beside this program, or in the `lib`
/// folder beside its folder.
///
/// # Errors
/// When it is in none of these places.
pub fn agent_path() -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os("TYRION_AGENT") {
        return Ok(PathBuf::from(path));
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
pub fn run() -> Outcome {
    let path = agent_path()?;
    let written = writeln!(std::io::stdout(), "{}", path.display());
    written.map(|()| Done::Whole).map_err(|error| Failure::writing("stdout", &error))
}
