//! How commands end, and the exit status that tells it.

use crate::{console, system};
use std::{
    borrow::Cow,
    fmt,
    io::{self, Write},
    process::ExitCode,
};
use tyrion_model::harmless;

/// How a command ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// All is done: 0.
    Whole,
    /// Done, but the input was damaged and parts of it are missing: 3.
    Partly,
    /// Done, and a condition of `--fail-if` holds: 4.
    Held,
    /// A recorded program ended with this status.
    Program(u8),
}

/// Why a command failed; one line for the user.
#[derive(Debug)]
pub enum Failure {
    /// Something went wrong: 1.
    Failed(String),
    /// The command was used wrongly: 2, as clap does.
    Usage(String),
    /// The command was used wrongly, and these are what may be meant, one a line: 2.
    Which(String, Vec<String>),
    /// A program could not be started: 126 or 127, as shells do.
    Start(String, u8),
    /// Whoever read our output has gone: no error.
    ClosedPipe,
}

/// The result of a command.
pub type CommandResult = Result<Completion, Failure>;

/// Prints what a command has made.
///
/// # Errors
/// When stdout cannot be written to, or whoever read it has gone.
pub fn print(made: impl AsRef<[u8]>) -> CommandResult {
    let written = io::stdout().write_all(made.as_ref());
    written.map(|()| Completion::Whole).map_err(|error| Failure::writing("stdout", &error))
}

/// The table of exit statuses, for the help.
pub const EXIT_STATUS: &str = "Exit status:
  0    success
  1    failure; the message on stderr says why. Also when the filters of convert
       match nothing
  2    wrong usage
  3    success, but the input is cut off or damaged; the intact part was used
  4    a condition of --fail-if holds
  record, and profile of a program that it starts, exit as the program does: with
  its status, or with 128 + n when signal n ended it; profile with 1 or 3 if the
  program succeeds and there is no whole report. When the program cannot be started the status is 127 (not found)
  or 126, and 1 or 2 when it was not started because recording would fail.";

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Failed(text)
            | Failure::Usage(text)
            | Failure::Which(text, _)
            | Failure::Start(text, _) => f.write_str(text),
            Failure::ClosedPipe => f.write_str("the reader of the output has gone"),
        }
    }
}

impl Failure {
    /// A failure that is told in words.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure::Failed(text.into())
    }

    /// What is said where there are no JVMs to record.
    #[cfg(windows)]
    pub fn needs_linux(what: &str) -> Failure {
        Failure::Failed(format!(
            "{what} needs Linux: run it where the JVM runs, copy the log here, and read it with \
             tyrion report"
        ))
    }

    /// What went wrong while writing to `to`.
    pub fn writing(to: &str, error: &io::Error) -> Failure {
        match system::has_no_reader(error) {
            true => Failure::ClosedPipe,
            false => Failure::Failed(format!("{to}: {error}")),
        }
    }
}

impl From<tyrion_formats::Error> for Failure {
    fn from(error: tyrion_formats::Error) -> Self {
        Failure::Failed(error.to_string())
    }
}

/// Tells the user what is to be told and gives the exit status.
pub fn exit_code(outcome: CommandResult) -> ExitCode {
    let failure = match outcome {
        Ok(Completion::Whole) | Err(Failure::ClosedPipe) => return ExitCode::SUCCESS,
        Ok(Completion::Partly) => return ExitCode::from(3),
        Ok(Completion::Held) => return ExitCode::from(4),
        Ok(Completion::Program(status)) => return ExitCode::from(status),
        Err(failure) => failure,
    };
    tell_error(&failure.to_string());
    if let Failure::Which(_, lines) = &failure {
        lines.iter().for_each(|line| say(line));
    }
    ExitCode::from(match failure {
        Failure::Usage(_) | Failure::Which(..) => 2,
        Failure::Start(_, status) => status,
        _ => 1,
    })
}

/// Says something on stderr, in one line, whatever the files are called that it
/// names; nothing with `--quiet`.
pub fn tell(message: &str) {
    if !console::is_quiet() {
        tell_error(message);
    }
}

/// The same, also with `--quiet`: what went wrong.
pub fn tell_error(message: &str) {
    say(&format!("tyrion: {}", without_error_numbers(message)));
}

/// What Tyrion does, only with `--verbose`.
pub fn tell_step(message: impl FnOnce() -> String) {
    if console::is_verbose() {
        tell_error(&message());
    }
}

/// The parts of what Tyrion does, only with `-vv`.
pub fn tell_parts<L: IntoIterator<Item = String>>(messages: impl FnOnce() -> L) {
    if console::is_very_verbose() {
        messages().into_iter().for_each(|message| tell_error(&message));
    }
}

fn say(line: &str) {
    use io::Write;
    // Nothing to do about a closed stderr.
    let _ = writeln!(io::stderr(), "{}", harmless::text(line));
}

/// A message without ` (os error 2)`, which the standard library adds to what the
/// system says went wrong.
fn without_error_numbers(message: &str) -> Cow<'_, str> {
    const BEGIN: &str = " (os error ";
    let Some((before, rest)) = message.split_once(BEGIN) else { return Cow::Borrowed(message) };
    match rest.split_once(')') {
        Some((number, after)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Cow::Owned(format!("{before}{}", without_error_numbers(after)))
        }
        _ => Cow::Owned(format!("{before}{BEGIN}{}", without_error_numbers(rest))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_not_told() {
        for (message, told) in [
            ("a.log: No such file or directory (os error 2)", "a.log: No such file or directory"),
            ("a (os error 2); b (os error 13)!", "a; b!"),
            ("a (os error x) (os error 2", "a (os error x) (os error 2"),
            ("a", "a"),
        ] {
            assert_eq!(without_error_numbers(message), told);
        }
        let real = io::Error::from_raw_os_error(libc::ENOENT).to_string();
        assert_eq!(without_error_numbers(&real), "No such file or directory");
    }
}
