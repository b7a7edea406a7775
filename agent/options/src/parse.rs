//! Reads `key=value` pairs between commas. A comma, or a backslash, within a
//! value is written with a backslash before it.

use crate::{
    Counts, Entry, Wrong, find,
    table::{
        AutoOptions, Options, TABLE, TraceOptions,
        entry::{Later, Reach},
    },
    values::{Command, HoldSampling, Mode, Rotation},
};
use std::{
    borrow::Cow,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use tyrion_harmless as harmless;

/// What is wrong with options, and those that say what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// One line for the user.
    pub message: String,
    /// Whether the JVM shall not start.
    pub strict: bool,
    /// A file for the answer to a command; empty for none.
    pub reply: String,
}

/// Whether the agent would take this value for the option of this name.
///
/// # Errors
/// What is wrong, in one line, as the agent says it.
pub fn check(name: &str, value: &[u8]) -> Result<(), Wrong> {
    Options::default().set(name, value)
}

/// Writes pairs as [`Options::parse`] reads them.
pub fn join_escaped<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push(b',');
        }
        text.extend_from_slice(name.as_bytes());
        text.push(b'=');
        for &byte in value {
            if matches!(byte, b'\\' | b',') {
                text.push(b'\\');
            }
            text.push(byte);
        }
    }
    text
}

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    /// The first unknown key or bad value.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Options, Mistake> {
        let mut options = Options::default();
        let mut mistake = None;
        for pair in split_escaped(text.as_ref(), b',') {
            if pair.is_empty() {
                continue;
            }
            let (key, value) = key_and_value(&pair);
            if let Err(wrong) = options.set(key.trim(), value) {
                mistake.get_or_insert(wrong);
            }
        }
        let checked = options.check_needs().and_then(|()| options.check_limits());
        if let Err(wrong) = checked.and_then(|()| options.trace.check()) {
            mistake.get_or_insert(wrong);
        }
        options.settle();
        match mistake {
            Some(wrong) => {
                let message = wrong.into();
                Err(Mistake { message, strict: options.strict, reply: options.reply })
            }
            None => Ok(options),
        }
    }

    fn set(&mut self, name: &str, value: &[u8]) -> Result<(), Wrong> {
        let Some(entry) = find(name) else {
            let known = TABLE.iter().filter(|entry| entry.reach != Reach::Internal);
            let known: Vec<&str> = known.map(|entry| entry.name).collect();
            let message = format!("unknown option {name}; known are {}", known.join(", "));
            return Err(Wrong::new(harmless::text(&message)));
        };
        // Also where the value is wrong: it was meant to be given.
        if !self.is_given(entry.name) {
            self.given.push(entry.name);
        }
        entry.set(self, value)
    }

    /// Refuses an option without the one that it needs.
    fn check_needs(&self) -> Result<(), Wrong> {
        for entry in TABLE.iter().filter(|entry| self.is_given(entry.name)) {
            if let Some(needed) = entry.needs.filter(|needed| !self.is_given(needed)) {
                let example = find(needed).map(|entry| entry.about().accepted.swap_remove(0));
                return Err(Wrong::new(format!(
                    "{} needs {needed}, as in {needed}={}",
                    entry.name,
                    example.unwrap_or_default()
                )));
            }
        }
        Ok(())
    }

    /// Draws the conclusions from options that concern each other.
    fn settle(&mut self) {
        if let Some(number) = self.end_sample {
            self.command = Command::EndSample(number);
        }
    }

    /// Whether the user gave the option of this name.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    /// What is recorded, unless the agent records already.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }

    /// When one file of the log follows another and which are kept; `None` for one file
    /// without end.
    pub fn rotation(&self) -> Option<Rotation> {
        self.rotation_after(None)
    }

    /// The same if it was `before` so far: of what is not given here, nothing changes.
    pub fn rotation_after(&self, before: Option<Rotation>) -> Option<Rotation> {
        let Some(filesize) = self.filesize else { return before };
        let is_limited = self.maxsize.is_some() || self.maxage.is_some();
        let is_counted = self.is_given("filecount") || !is_limited;
        let asked = Rotation {
            filesize,
            filecount: is_counted.then_some(self.filecount as usize),
            filetime: self.filetime,
            filenames: self.filenames,
            maxsize: self.maxsize,
            maxage: self.maxage,
        };
        let Some(before) = before else { return Some(asked) };
        let of = |name| if self.is_given(name) { asked } else { before };
        Some(Rotation {
            filesize,
            filecount: of("filecount").filecount,
            filetime: of("filetime").filetime,
            filenames: of("filenames").filenames,
            maxsize: of("maxsize").maxsize,
            maxage: of("maxage").maxage,
        })
    }

    /// Refuses a limit that not even the file which is written to keeps.
    fn check_limits(&self) -> Result<(), Wrong> {
        match (self.filesize, self.maxsize) {
            (Some(filesize), Some(maxsize)) if maxsize < filesize => {
                Err(Wrong::new("maxsize is less than one file takes; use filesize at least"))
            }
            _ => Ok(()),
        }
    }

    /// The options in force, as the log's metadata have them: key and value of
    /// those that count in this mode and have a value.
    pub fn in_force(&self) -> Vec<(&'static str, String)> {
        let mut pairs = self.logged(|entry| {
            entry.counts.applies_to(self.mode())
                && entry.needs.is_none_or(|needed| self.is_given(needed))
        });
        let is_uncounted = self.rotation().is_some_and(|it| it.filecount.is_none());
        pairs.retain(|(_, value)| !value.is_empty());
        if is_uncounted {
            pairs.retain(|(key, _)| *key != "filecount");
        }
        pairs
    }

    /// Key and value in the log of these options, as far as it has them.
    fn logged(&self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<(&'static str, String)> {
        let of = Options { trace: self.trace.settled(), ..self.clone() };
        let wanted = TABLE.iter().filter(|entry| is_wanted(entry));
        wanted.filter_map(|entry| Some((entry.log_key()?, (entry.logged_value)(&of)?))).collect()
    }

    /// What trace mode is asked to do from now on, if so far it was asked for `before`:
    /// of what is not given here, nothing changes.
    pub fn trace_after(&self, before: &TraceOptions) -> TraceOptions {
        let before = Options { trace: before.clone(), ..Options::default() };
        self.after(before, Counts::Trace).trace
    }

    /// The same of when locks are traced for a while.
    pub fn auto_after(&self, before: &AutoOptions) -> AutoOptions {
        let before = Options { auto: before.clone(), ..Options::default() };
        self.after(before, Counts::Auto).auto
    }

    /// Options with those that are given here, and count in such modes, in their place.
    fn after(&self, mut before: Options, counts: Counts) -> Options {
        let given = TABLE.iter().filter(|entry| self.is_given(entry.name));
        for entry in given.filter(|entry| entry.counts == counts) {
            (entry.copy)(&mut before, self);
        }
        before
    }

    /// What to tell a user who gave options that cannot change once the agent
    /// records, and are not as they are `now`; `None` if there are none of those. All of
    /// trace mode's own can be given `before_trace`: as long as it has not been on.
    pub fn note_of_fixed(&self, now: &Options, before_trace: bool) -> Option<String> {
        let names = |is_wanted: &dyn Fn(&Entry) -> bool| -> Vec<&str> {
            TABLE.iter().filter(|entry| is_wanted(entry)).map(|entry| entry.name).collect()
        };
        let is_other = |entry: &Entry| {
            let mut with = now.clone();
            (entry.copy)(&mut with, self);
            with != *now
        };
        let fixed = names(&|entry| {
            let is_open = before_trace && entry.counts == Counts::Trace;
            let is_fixed = entry.later == Later::Fixed && !is_open;
            is_fixed && self.is_given(entry.name) && is_other(entry)
        });
        let changing = names(&|entry| entry.later == Later::Changes);
        (!fixed.is_empty()).then(|| {
            format!(
                "{} cannot change once the agent is loaded; only {} can",
                listed(&fixed),
                listed(&changing)
            )
        })
    }

    /// The log's path, with the process id where the user asked for it.
    pub fn path(&self, pid: u32) -> PathBuf {
        let pid = pid.to_string();
        let mut path = Vec::new();
        let mut rest = self.file.as_os_str().as_bytes();
        while let Some(at) = rest.windows(2).position(|two| two == b"%p") {
            path.extend_from_slice(&rest[..at]);
            path.extend_from_slice(pid.as_bytes());
            rest = &rest[at + 2..];
        }
        path.extend_from_slice(rest);
        Path::new(OsStr::from_bytes(&path)).to_owned()
    }
}

impl Rotation {
    /// It as the log's metadata have it: key and value.
    pub fn in_force(&self) -> Vec<(&'static str, String)> {
        let filecount = self.filecount.and_then(|count| u32::try_from(count).ok());
        let options = Options {
            filesize: Some(self.filesize),
            filecount: filecount.unwrap_or_default(),
            filetime: self.filetime,
            filenames: self.filenames,
            maxsize: self.maxsize,
            maxage: self.maxage,
            ..Options::default()
        };
        let is_of_it = |entry: &Entry| [Some(entry.name), entry.needs].contains(&Some("filesize"));
        let mut pairs = options.logged(is_of_it);
        pairs.retain(|(key, _)| *key != "filecount" || filecount.is_some());
        pairs
    }
}

impl TraceOptions {
    /// Refuses options that contradict each other.
    ///
    /// # Errors
    /// Which ones, and what to do.
    pub fn check(&self) -> Result<(), Wrong> {
        let every = match self {
            TraceOptions { adaptive: false, .. } => return Ok(()),
            TraceOptions { every_event: true, .. } => "events=all",
            TraceOptions { hold: HoldSampling::Every, .. } => "hold=all",
            TraceOptions { precise: true, .. } => "precise=true",
            _ => return Ok(()),
        };
        Err(Wrong::new(format!("{every} needs every acquisition; use it with count=full")))
    }

    /// The same with the conclusions from options that concern each other. As they were
    /// given they have to be kept: one of them may be given anew.
    pub fn settled(&self) -> TraceOptions {
        let mut settled = self.clone();
        if settled.every_event {
            // A record says how long, so all are measured.
            settled.hold = HoldSampling::Every;
        }
        settled
    }

    /// All of them as the log has them: key and value, which may be empty.
    pub fn logged(&self) -> Vec<(&'static str, String)> {
        let options = Options { trace: self.clone(), ..Options::default() };
        options.logged(|entry| entry.counts == Counts::Trace)
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [more @ .., last] => format!("{} and {last}", more.join(", ")),
    }
}

/// Splits at `separator` and takes away the backslashes that protect it.
fn split_escaped(text: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let mut parts = vec![Vec::new()];
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == separator {
            parts.push(Vec::new());
            continue;
        }
        let kept = if byte == b'\\' { bytes.next().unwrap_or(b'\\') } else { byte };
        if let Some(part) = parts.last_mut() {
            part.push(kept);
        }
    }
    parts
}

/// What stands in front of the first `=`, and behind it: `true` for a key alone.
fn key_and_value(pair: &[u8]) -> (Cow<'_, str>, &[u8]) {
    let (key, value) = match pair.iter().position(|&byte| byte == b'=') {
        Some(at) => (&pair[..at], &pair[at + 1..]),
        None => (pair, &b"true"[..]),
    };
    (String::from_utf8_lossy(key), value)
}

#[cfg(test)]
mod tests;
