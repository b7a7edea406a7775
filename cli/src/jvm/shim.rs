//! A `java` that stands before the real one on the PATH and adds the agent.
//!
//! A script that starts `java` finds this one. It says nothing, where
//! `JAVA_TOOL_OPTIONS` would have the JVM print a line; that variable is set
//! too, for what starts `java` by its full path. The folder mirrors the real
//! Java home, since scripts look for their `JAVA_HOME` beside the `java` they
//! find.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";
/// The agent gives its JVM's children this as their `JAVA_TOOL_OPTIONS`.
const CHILD_OPTIONS: &str = "TYRION_CHILD_JAVA_TOOL_OPTIONS";
/// For that the agent replaces this variable where there is no
/// `JAVA_TOOL_OPTIONS`: it cannot add one while other threads may be reading.
const SLOT: &str = "TYRION_SLOT";

/// Which JVMs load the agent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those that are started by the `java` on the PATH.
    Path,
    /// All others, too; they print a line that says so.
    All,
}

/// Has JVMs that `command` starts load the agent. The folder must live as long
/// as the command runs.
///
/// # Errors
/// When the folder cannot be made.
pub fn install(
    command: &mut Command,
    agent_option: &OsStr,
    reach: Reach,
) -> io::Result<Option<TempDir>> {
    let before = std::env::var_os(TOOL_OPTIONS);
    if reach == Reach::All {
        let mut with_agent = before.clone().unwrap_or_default();
        if !with_agent.is_empty() {
            with_agent.push(" ");
        }
        with_agent.push(quoted_for_jvm(agent_option));
        command.env(TOOL_OPTIONS, &with_agent).env(CHILD_OPTIONS, &with_agent).env(SLOT, "");
    }

    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(java) = find_java(&path) else { return Ok(None) };
    // The script in it is run, and holds what the environment has.
    let ours = fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix("tyrion-java-").permissions(ours).tempdir()?;
    mirror(&java, folder.path())?;
    let bin = folder.path().join("bin");
    let shim = bin.join("java");
    fs::write(&shim, script(&java, agent_option, before.as_deref()))?;
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755))?;
    let paths = std::iter::once(bin).chain(std::env::split_paths(&path));
    if let Ok(joined) = std::env::join_paths(paths) {
        command.env("PATH", joined);
    }
    Ok(Some(folder))
}

fn find_java(path: &OsStr) -> Option<PathBuf> {
    let found = std::env::split_paths(path).map(|folder| folder.join("java"));
    found.filter_map(|java| java.canonicalize().ok()).find(|java| java.is_file())
}

/// Links to all that is in the home of `java`, but for `bin/java` itself.
fn mirror(java: &Path, folder: &Path) -> io::Result<()> {
    let bin = folder.join("bin");
    fs::create_dir(&bin)?;
    let Some(real_bin) = java.parent() else { return Ok(()) };
    link_all(real_bin, &bin, "java")?;
    match real_bin.parent() {
        // Only a Java home: `java` may be a script in /usr/local/bin.
        Some(home) if home.join("lib").join("modules").exists() => link_all(home, folder, "bin"),
        _ => Ok(()),
    }
}

fn link_all(from: &Path, to: &Path, except: &str) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() != except {
            symlink(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn script(java: &Path, agent_option: &OsStr, tool_options: Option<&OsStr>) -> Vec<u8> {
    let mut script = OsString::from("#!/bin/sh\n");
    match tool_options {
        Some(before) => {
            script.push("JAVA_TOOL_OPTIONS=");
            script.push(quoted(before));
            script.push("\nexport JAVA_TOOL_OPTIONS\n");
        }
        None => script.push("unset JAVA_TOOL_OPTIONS\n"),
    }
    // Where a JVM starts this one, its agent has used it up.
    script.push(format!("{SLOT}=\nexport {SLOT}\n"));
    script.push("exec ");
    script.push(quoted(java.as_os_str()));
    script.push(" ");
    script.push(quoted(agent_option));
    script.push(" \"$@\"\n");
    script.into_encoded_bytes()
}

/// In quotes, as the JVM reads its environment variables: it knows no escapes,
/// so a text with both kinds of quotes is left as it is.
fn quoted_for_jvm(text: &OsStr) -> OsString {
    let has = |wanted: fn(&u8) -> bool| text.as_bytes().iter().any(wanted);
    let quote = match (has(|&byte| byte == b'"'), has(|&byte| byte == b'\'')) {
        _ if !has(u8::is_ascii_whitespace) => return text.to_owned(),
        (false, _) => "\"",
        (true, false) => "'",
        (true, true) => return text.to_owned(),
    };
    let mut quoted = OsString::from(quote);
    quoted.push(text);
    quoted.push(quote);
    quoted
}

/// In single quotes, as POSIX shells read them.
fn quoted(text: &OsStr) -> OsString {
    let mut quoted = b"'".to_vec();
    for &byte in text.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold() {
        for (text, quoted) in [("plain", "plain"), ("a b", "\"a b\""), ("a \"b", "'a \"b'")] {
            assert_eq!(quoted_for_jvm(OsStr::new(text)), quoted);
        }
        assert_eq!(super::quoted(OsStr::new("a'b c")), r"'a'\''b c'");
        assert_eq!(super::quoted(OsStr::from_bytes(b"\xff")).as_bytes(), b"'\xff'");
    }

    #[test]
    fn the_script_restores_what_was_there() {
        let text = |options: Option<&str>| {
            let script =
                script(Path::new("/x/java"), OsStr::new("-agentpath:y"), options.map(OsStr::new));
            String::from_utf8(script).unwrap()
        };
        assert!(text(None).contains("unset JAVA_TOOL_OPTIONS\n"),);
        assert!(text(Some("-Da=b c")).contains("JAVA_TOOL_OPTIONS='-Da=b c'\nexport"));
        for options in [None, Some("-Da=b c")] {
            let end = "TYRION_SLOT=\nexport TYRION_SLOT\nexec '/x/java' '-agentpath:y' \"$@\"\n";
            assert!(text(options).ends_with(end));
        }
    }
}
