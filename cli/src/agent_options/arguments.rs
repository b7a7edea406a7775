//! Arguments of the command line, made from the agent's table of options.

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches,
    builder::{PossibleValue, TypedValueParser},
    error::ErrorKind,
};
use regex::Regex;
use std::ffi::OsStr;
use tyrion_options::{Counts, Entry, Form, Options, Reach, SampleOptions, TABLE, join_escaped};

/// Options that were given, by the agent's names, in the order of the table.
type OptionValues = Vec<(&'static str, String)>;

/// What the agent shall do. The same names are keys in `-agentpath:…=key=value`.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    pub(super) given: OptionValues,
}

/// How threads shall be sampled: what `tyrion sample` has of the agent's options.
#[derive(Clone, Debug, Default)]
pub struct SamplingOptions {
    given: OptionValues,
    /// Which threads, if the user said it.
    pub threads: Option<Regex>,
}

/// The agent's options that are long options of `record` and `attach`.
fn long_options() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().filter(|entry| entry.reach == Reach::LongOption)
}

/// Those of `tyrion sample`.
fn sampling_options() -> impl Iterator<Item = &'static Entry> {
    long_options().filter(|entry| entry.counts == Counts::Sampling || is_depth(entry))
}

/// The one option of `tyrion sample` that is not only about sampling.
fn is_depth(entry: &Entry) -> bool {
    entry.name == "depth"
}

/// A value that the agent takes. Others are refused with its words.
#[derive(Clone)]
struct OptionParser(&'static Entry);

impl TypedValueParser for OptionParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let entry = self.0;
        let check = move |text: &str| entry.check(text.as_bytes()).map(|()| text.to_owned());
        check.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = match self.0.about().form {
            Form::Choice(words) => words,
            Form::Switch => vec!["true", "false"],
            Form::One | Form::List => return None,
        };
        Some(Box::new(words.into_iter().map(PossibleValue::new)))
    }
}

/// Help with what the table says of limits and defaults.
fn help(entry: &Entry, more: &str) -> String {
    let limits = entry.about().limits.map(|limits| format!(" [{limits}]"));
    let default = entry.default().map(|default| format!(" [default: {default}]"));
    [entry.help(), more.to_owned(), limits.unwrap_or_default(), default.unwrap_or_default()]
        .concat()
}

/// The long option of an entry.
fn argument(entry: &'static Entry) -> Arg {
    let argument = Arg::new(entry.name)
        .long(entry.name)
        .value_name(entry.value_name)
        .value_parser(OptionParser(entry))
        .help(help(entry, ""))
        .help_heading(match entry.counts {
            Counts::Always => "Agent",
            Counts::Trace => "Agent, with --mode trace",
            Counts::Auto => "Agent, with --mode auto",
            Counts::Sampling => "Sampling",
        });
    match entry.about().form {
        // `tyrion sample` has those of sampling, too; its PID is no value of them.
        Form::Switch => argument
            .num_args(0..=1)
            .default_missing_value("true")
            .require_equals(entry.counts == Counts::Sampling),
        Form::List => argument.action(ArgAction::Append),
        Form::One | Form::Choice(_) => argument,
    }
}

/// The values of these options; several of one option become a list.
fn given(matches: &ArgMatches, entries: impl Iterator<Item = &'static Entry>) -> OptionValues {
    let value = |entry: &'static Entry| {
        let values: Vec<&str> =
            matches.get_many::<String>(entry.name)?.map(String::as_str).collect();
        Some((entry.name, values.join(";")))
    };
    entries.filter_map(value).collect()
}

impl Args for AgentOptions {
    fn augment_args(command: Command) -> Command {
        long_options().fold(command, |command, entry| command.arg(argument(entry)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AgentOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(AgentOptions { given: given(matches, long_options()) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for SamplingOptions {
    fn augment_args(command: Command) -> Command {
        sampling_options().fold(command, |command, entry| {
            let argument = argument(entry);
            command.arg(match is_depth(entry) {
                true => argument
                    .help(help(entry, ", if the agent is not loaded yet"))
                    .help_heading(None::<&str>),
                false => argument,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SamplingOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = given(matches, sampling_options());
        let threads = given.iter().find(|(name, _)| *name == "threads");
        // Where the agent samples other threads, too, this command chooses.
        let threads = threads.map(|(_, pattern)| Regex::new(pattern)).transpose();
        let threads = threads.map_err(|error| Error::raw(ErrorKind::ValueValidation, error))?;
        Ok(SamplingOptions { given, threads })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl SamplingOptions {
    fn value(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// What the agent makes of them.
    fn read(&self) -> SampleOptions {
        let pairs = self.given.iter().map(|(name, value)| (*name, value.as_bytes()));
        let text = join_escaped(pairs);
        // Each value has been checked.
        Options::parse(text).unwrap_or_default().sampling
    }

    /// The period, if the user said it.
    pub fn period_ns(&self) -> Option<u64> {
        self.read().period_ns
    }

    /// Whether daemon threads are left out.
    pub fn skips_daemons(&self) -> bool {
        self.read().skip_daemon.unwrap_or(false)
    }

    /// With all about sampling that the user did not say as it is by default,
    /// whatever the agent was told before.
    pub(super) fn complete(&self) -> OptionValues {
        let complete = sampling_options().filter_map(|entry| match self.value(entry.name) {
            Some(value) => Some((entry.name, value.to_owned())),
            None if is_depth(entry) => None,
            None => Some((entry.name, entry.default().unwrap_or_default())),
        });
        complete.collect()
    }
}
