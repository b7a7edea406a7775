//! `tyrion agent-path`.

use crate::{
    agent::{self, AGENT, Libc},
    outcome::{CommandResult, Failure, print},
};
use clap::Args;
use std::{
    fs::{File, Permissions},
    io::{self, IsTerminal},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};
use tyrion_model::harmless;

/// Which agent, and where it is wanted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion agent-path
  java -agentpath:$(tyrion agent-path)=file=report-%p.log -jar app.jar
  tyrion agent-path --jvm /opt/java/bin/java
  tyrion agent-path --libc musl --into /shared

There is an agent for each C library. Without --jvm and --libc it is the one for the java
of JAVA_HOME, or on the PATH, or else for the programs of this machine.")]
pub struct AgentPathArgs {
    /// The JVM that will load it: its java, or the process id of one that runs
    #[arg(long, value_name = "JAVA|PID", conflicts_with = "libc")]
    jvm: Option<PathBuf>,
    /// The C library of the JVM; that of Alpine Linux is musl
    #[arg(long)]
    libc: Option<Libc>,
    /// Copy the agent into this folder, and print the path of the copy
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// Prints the agent's path.
pub fn run(args: AgentPathArgs) -> CommandResult {
    let agent = match args.libc {
        Some(libc) => agent::find(libc)?,
        None => agent::for_java(args.jvm.as_deref().map(java).as_deref())?,
    };
    let path = match &args.into {
        Some(folder) => copy(&agent, folder)
            .map_err(|error| Failure::new(format!("{}: {error}", folder.join(AGENT).display())))?,
        None => agent,
    };
    print(match io::stdout().is_terminal() {
        true => format!("{}\n", harmless::text(&path.to_string_lossy())).into_bytes(),
        // To the byte, for what the shell puts into a command.
        false => [path.as_os_str().as_bytes(), b"\n"].concat(),
    })
}

/// The program of a JVM that is named by its process id.
fn java(named: &Path) -> PathBuf {
    let bytes = named.as_os_str().as_bytes();
    match bytes.iter().all(u8::is_ascii_digit) {
        true => Path::new("/proc").join(named).join("exe"),
        false => named.to_owned(),
    }
}

/// A copy of the agent in a folder. It is there whole or not at all: a JVM may be about
/// to load it.
fn copy(agent: &Path, folder: &Path) -> io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    let mut copy = tempfile::NamedTempFile::new_in(&folder)?;
    io::copy(&mut File::open(agent)?, &mut copy)?;
    // The JVM may be another user's.
    copy.as_file().set_permissions(Permissions::from_mode(0o755))?;
    let path = folder.join(AGENT);
    copy.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}
