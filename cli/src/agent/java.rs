//! Which agent a JVM needs that does not run yet, by the `java` that will be started.

use super::{Elf, Libc, find};
use crate::{
    jvm::launch::{find_on_path, java_of},
    outcome::Failure,
};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Programs whose loader tells the C library of a machine.
const SHELLS: &[&str] = &["/bin/sh", "/usr/bin/env"];
/// What is there where glibc is.
const LOADERS_OF_GLIBC: &[&str] = &["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
const LOADERS_OF_MUSL: &[&str] = &["/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"];

/// The agent for the JVMs that a command starts: as its `java` is, or else that of the
/// machine, the program itself, or the machine.
///
/// # Errors
/// When there is no such agent, or `java` is for another processor.
pub fn for_command(command: &[OsString]) -> Result<PathBuf, Failure> {
    let named = java_of(command).map(resolved);
    let itself = command.first().map(|first| resolved(first));
    for_first(named.into_iter().chain(of_machine()).chain(itself))
}

/// The agent for this `java`, or without one for that of the machine.
///
/// # Errors
/// When there is no such agent, or it is for another processor.
pub fn for_java(java: Option<&Path>) -> Result<PathBuf, Failure> {
    match java {
        Some(java) if java.metadata().is_err() => {
            Err(Failure::new(format!("{}: no such program, or another user's", java.display())))
        }
        Some(java) if Elf::of(java).is_none() => Err(Failure::new(format!(
            "{}: not a program; name the java of a JVM, a script that starts it does not tell \
             the C library",
            java.display()
        ))),
        Some(java) => for_first(std::iter::once(java.to_owned())),
        None => for_first(of_machine()),
    }
}

/// The C library of this machine's own programs.
fn libc_here() -> Libc {
    let told = SHELLS.iter().find_map(|shell| Elf::of(Path::new(shell))?.libc);
    let has = |loaders: &[&str]| loaders.iter().any(|loader| Path::new(loader).exists());
    told.unwrap_or(match !has(LOADERS_OF_GLIBC) && has(LOADERS_OF_MUSL) {
        true => Libc::Musl,
        false => Libc::Glibc,
    })
}

/// The agent for the first of these that is a program and not a script.
fn for_first(programs: impl Iterator<Item = PathBuf>) -> Result<PathBuf, Failure> {
    let mut programs = programs.filter_map(|program| Some((Elf::of(&program)?, program)));
    let Some((mut elf, program)) = programs.next() else { return find(libc_here()) };
    if elf.libc == Some(Libc::Glibc) && is_on_musl(&program) {
        elf.libc = Some(Libc::Musl);
    }
    let agent = find(elf.libc.unwrap_or_else(libc_here))?;
    // Where the agent is not there, whoever loads it tells.
    let Some(its) = Elf::of(&agent) else { return Ok(agent) };
    let program = program.display();
    if its.machine != elf.machine {
        return Err(Failure::new(format!(
            "{program} is for {}, and the agent {} for {}; use the tyrion for {}",
            elf.machine,
            agent.display(),
            its.machine,
            elf.machine
        )));
    }
    match (its.libc, elf.libc) {
        (Some(its), Some(wanted)) if its != wanted => Err(Failure::new(format!(
            "{program} is for {wanted}, and the agent {} for {its}; name another in TYRION_AGENT, \
             or none",
            agent.display()
        ))),
        _ => Ok(agent),
    }
}

/// Whether a program that was built for glibc runs on musl all the same, by the help of
/// gcompat: what a process has loaded counts, or what this machine's loader belongs to.
fn is_on_musl(program: &Path) -> bool {
    if program.starts_with("/proc")
        && let Ok(maps) = std::fs::read_to_string(program.with_file_name("maps"))
    {
        return maps.lines().any(|line| line.contains("/ld-musl-"));
    }
    LOADERS_OF_GLIBC
        .iter()
        .any(|loader| Elf::of(Path::new(loader)).is_some_and(|elf| elf.libc == Some(Libc::Musl)))
}

/// The `java` of `JAVA_HOME`, which scripts prefer, and that on the PATH.
fn of_machine() -> impl Iterator<Item = PathBuf> {
    let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let home = home.map(|home| Path::new(&home).join("bin/java"));
    home.into_iter().chain(find_on_path(OsStr::new("java")))
}

/// The file of a program that is named as in a shell.
fn resolved(program: &OsStr) -> PathBuf {
    find_on_path(program).unwrap_or_else(|| program.into())
}
