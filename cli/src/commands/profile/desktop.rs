//! Opening a page in the user's browser.

use crate::{
    jvm::launch::find_on_path,
    outcome::{tell, tell_step},
};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::{Command, Stdio},
};

/// What opens a file with the program that its user has chosen for it.
const OPENER: &str = "xdg-open";

/// Opens a file where there is a desktop, without waiting for what opens it.
pub fn open(file: &Path) {
    if !is_there(|name| std::env::var_os(name)) {
        return;
    }
    let Some(opener) = find_on_path(OsStr::new(OPENER)) else {
        tell_step(|| format!("there is a desktop, but no {OPENER}: nothing is opened"));
        return;
    };
    let mut command = Command::new(opener);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    tell_step(|| format!("opening {} with {OPENER}", file.display()));
    // What it starts outlives this command.
    if let Err(error) = command.spawn() {
        tell(&format!("note: {OPENER}: {error}; open {} yourself", file.display()));
    }
}

/// Whether the environment names a screen.
fn is_there(var: impl Fn(&str) -> Option<OsString>) -> bool {
    ["WAYLAND_DISPLAY", "DISPLAY"]
        .into_iter()
        .any(|name| var(name).is_some_and(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_desktop_has_a_name() {
        let with = |name: &str, value: &str| {
            is_there(|asked| (asked == name).then(|| OsString::from(value)))
        };
        assert!(with("DISPLAY", ":0") && with("WAYLAND_DISPLAY", "wayland-0"));
        assert!(!with("DISPLAY", "") && !with("SSH_TTY", "/dev/pts/0"));
    }
}
