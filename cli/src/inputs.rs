//! What the user says of files that do not say it themselves.

use crate::outcome::tell;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tyrion_formats::{Hints, Recording, Unit};

/// What the user says of files that do not say it themselves.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Inputs")]
pub struct InputArgs {
    /// What the numbers of collapsed stacks count [default: ns for those that
    /// Tyrion wrote, samples for others]
    #[arg(long, value_name = "UNIT", value_parser = units())]
    unit: Option<Unit>,
    /// Which values of a pprof profile to read, by the name of their type, such
    /// as delay [default: those of waits for locks]
    #[arg(long, value_name = "NAME")]
    sample_type: Option<String>,
}

fn units() -> impl TypedValueParser<Value = Unit> {
    let names = PossibleValuesParser::new(Unit::ALL.map(Unit::name));
    names.try_map(|name| Unit::from_name(&name).ok_or("no such unit"))
}

impl InputArgs {
    /// What is said.
    pub fn hints(&self) -> Hints {
        Hints { unit: self.unit, sample_type: self.sample_type.clone() }
    }

    /// Tells of what concerns none of the files.
    pub fn tell_unused<'l>(&self, logs: impl Iterator<Item = &'l Recording> + Clone) {
        for (option, is_given, format) in [
            ("--unit", self.unit.is_some(), "collapsed"),
            ("--sample-type", self.sample_type.is_some(), "pprof"),
        ] {
            if is_given && !logs.clone().any(|log| log.facts().format == format) {
                tell(&format!("note: {option} is for {format} files; there is none"));
            }
        }
    }
}
