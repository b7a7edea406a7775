//! The agent's options, as long options of `record`, `attach` and `sample`: all
//! made from the agent's own table, in `tyrion-options`.

mod arguments;
#[cfg(test)]
mod tests;

pub use arguments::{AgentOptions, SamplingOptions};

use crate::outcome::Failure;
use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
    time::Duration,
};
use tyrion_options::{Counts, Locks, Mode, Options, check, find, join_escaped};

/// Refuses a log's path that the agent would refuse: it stands in lines of text.
///
/// # Errors
/// What is wrong, for the user.
pub fn check_file(file: &Path) -> Result<(), Failure> {
    check("file", file.as_os_str().as_bytes()).map_err(|wrong| Failure::Usage(wrong.into()))
}

/// The same of a path that is sent to a JVM that runs already, as text.
///
/// # Errors
/// What is wrong, for the user.
pub fn check_sent_file(file: &Path) -> Result<(), Failure> {
    check_file(file)?;
    match file.to_str() {
        None => Err(Failure::Usage(format!(
            "{}: a running JVM takes only names in UTF-8; name another file",
            file.display()
        ))),
        Some(_) => Ok(()),
    }
}

impl AgentOptions {
    /// Those of `tyrion sample`: nothing else is recorded, unless a recording is
    /// under way.
    pub fn for_sampling(sampling: &SamplingOptions) -> AgentOptions {
        let mode = ("mode", "sample".to_owned());
        AgentOptions { given: [mode].into_iter().chain(sampling.complete()).collect() }
    }

    /// One look only.
    pub fn once(self) -> AgentOptions {
        self.with("once", "true".to_owned())
    }

    /// For a while: so long at most. Samples that are being taken already are
    /// left as they are.
    pub fn lasting(self, limit: Duration) -> AgentOptions {
        self.with("for", format!("{}ns", limit.as_nanos()))
    }

    fn with(mut self, name: &'static str, value: String) -> AgentOptions {
        self.given.push((name, value));
        self
    }

    /// What `--mode` asks for, or the agent's own mode without it.
    fn mode(&self) -> Mode {
        let given = self.given.iter().find(|(name, _)| *name == "mode");
        given.and_then(|(_, value)| Mode::parse(value)).unwrap_or_default()
    }

    /// Whether the user has given none.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Whether `--mode` asks for acquisitions.
    pub fn asks_for_trace(&self) -> bool {
        self.mode().locks == Locks::Trace
    }

    /// Whether there are options of trace mode, but no `--mode`: they change what trace
    /// mode does that is on already, or will be.
    pub fn changes_trace(&self) -> bool {
        let mut given = self.given.iter().map(|(name, _)| *name);
        !given.clone().any(|name| name == "mode")
            && given.any(|name| find(name).is_some_and(|entry| entry.counts == Counts::Trace))
    }

    /// Whether earlier recordings of the log's name are kept beside it.
    pub fn keeps_earlier(&self) -> bool {
        let mut names = self.given.iter().filter(|(name, _)| *name == "filenames");
        names.any(|(_, value)| value == "time")
    }

    /// Refuses options that would have no effect, and what the agent would refuse.
    ///
    /// # Errors
    /// What is wrong, for the user.
    pub fn check(&self) -> Result<(), Failure> {
        self.check_but(|_| false)
    }

    /// The same for a JVM that may be recorded already: whether it is, is to be looked at
    /// where these options change trace mode ([`AgentOptions::changes_trace`]).
    ///
    /// # Errors
    /// What is wrong, for the user.
    pub fn check_for_change(&self) -> Result<(), Failure> {
        self.check_but(|counts| counts == Counts::Trace && self.changes_trace())
    }

    fn check_but(&self, is_open: impl Fn(Counts) -> bool) -> Result<(), Failure> {
        for (name, _) in &self.given {
            let counts = find(name).map_or(Counts::Always, |entry| entry.counts);
            if counts.applies_to(self.mode()) || is_open(counts) {
                continue;
            }
            let advice = match counts {
                Counts::Trace => "is for trace mode; add --mode trace",
                Counts::Auto => "is for mode auto; add --mode auto",
                _ => "is for sampling; add --mode sample or --mode contention+sample",
            };
            return Err(Failure::Usage(format!("--{name} {advice}")));
        }
        let read = Options::parse(self.for_agent(None, &[]));
        read.map(|_| ()).map_err(|mistake| Failure::Usage(mistake.message))
    }

    /// The options as the agent reads them, with the log's path, whose name may be
    /// of any bytes.
    pub fn for_java(&self, file: &Path, more: &[(&str, &str)]) -> OsString {
        let file = ("file", file.as_os_str().as_bytes());
        OsString::from_vec(join_escaped(std::iter::once(file).chain(self.pairs(more))))
    }

    /// The options as the agent reads them, with the log's path in UTF-8.
    pub fn for_agent(&self, file: Option<&Path>, more: &[(&str, &str)]) -> String {
        let file = file.map(|file| file.to_string_lossy().into_owned());
        let file = file.as_ref().map(|file| ("file", file.as_bytes()));
        let text = join_escaped(file.into_iter().chain(self.pairs(more)));
        String::from_utf8_lossy(&text).into_owned()
    }

    fn pairs<'a>(
        &'a self,
        more: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let given = self.given.iter().map(|(name, value)| (*name, value.as_str()));
        given.chain(more.iter().copied()).map(|(name, value)| (name, value.as_bytes()))
    }
}
