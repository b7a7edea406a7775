//! What is said of a command line that cannot be understood.

use crate::{commands, outcome};
use clap::{
    Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::{
    ffi::{OsStr, OsString},
    process::ExitCode,
};
use tyrion_model::harmless;

/// Tells what is wrong with these words, or the help that they ask for; the exit
/// status.
///
/// The message repeats the words, in colour on a terminal, where they must not
/// act as escape sequences. So it is the message of the same words made harmless,
/// as long as these are wrong in the same way.
pub fn tell(error: &Error, words: &[OsString]) -> ExitCode {
    let status = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    if let Some(advice) = missing_dashes(error, words) {
        outcome::tell_error(&advice);
        return status;
    }
    // Nothing to do about a closed stdout or stderr.
    if words.iter().all(|word| is_harmless(word)) {
        let _ = error.print();
        return status;
    }
    let shown: Vec<OsString> = words.iter().map(|word| shown(word).into()).collect();
    match commands::parse(&shown) {
        Err(same) if same.kind() == error.kind() => {
            let _ = same.print();
        }
        _ => eprint_lines(&error.render().to_string()),
    }
    status
}

/// What to write instead where the command of `record` does not follow `--`.
fn missing_dashes(error: &Error, words: &[OsString]) -> Option<String> {
    let (_, given) = words.split_first()?;
    let is_record = given.first().is_some_and(|word| word == "record");
    if error.kind() != ErrorKind::UnknownArgument || !is_record {
        return None;
    }
    let ContextValue::String(unknown) = error.get(ContextKind::InvalidArg)? else { return None };
    if unknown.starts_with('-') || given.iter().any(|word| word == "--") {
        return None;
    }
    let at = given.iter().position(|word| word.to_str() == Some(unknown))?;
    let (options, command) = given.split_at(at);
    let joined = |words: &[OsString]| -> String {
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    };
    Some(format!(
        "the command to record must follow --; write: tyrion {} -- {}",
        joined(options),
        joined(command)
    ))
}

fn is_harmless(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| !word.contains(harmless::is_harmful))
}

fn shown(word: &OsStr) -> String {
    harmless::text(&word.to_string_lossy()).into_owned()
}

/// Prints a message of several lines, without colours.
fn eprint_lines(message: &str) {
    use std::io::Write;
    let mut stderr = std::io::stderr().lock();
    for line in message.lines() {
        let _ = writeln!(stderr, "{}", harmless::text(line));
    }
}

/// A command line with these arguments and no commands, for tests.
#[cfg(test)]
#[derive(clap::Parser, Debug)]
pub struct CommandLine<T: clap::Args> {
    #[command(flatten)]
    pub args: T,
}
