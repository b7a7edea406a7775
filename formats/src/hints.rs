//! What the user says of a file, where the file itself does not say it.

/// What the user says of a file, where the file itself does not say it. An input that
/// needs none of it pays no attention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// What the numbers of collapsed stacks count.
    pub unit: Option<Unit>,
    /// Which values of a pprof profile are waits, by the name of their type: `delay`.
    pub sample_type: Option<String>,
}

tyrion_wire::named_enum! {
    /// What a number counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Unit {
        /// Nanoseconds.
        Ns => "ns",
        /// Microseconds.
        Us => "us",
        /// Milliseconds.
        Ms => "ms",
        /// Seconds.
        S => "s",
        /// Waits, or moments at which a thread was seen waiting.
        Samples => "samples",
    }
}

impl Unit {
    /// The unit of this name.
    pub fn from_name(name: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// How many ns it is; `None` if it is no time.
    pub fn ns(self) -> Option<u64> {
        match self {
            Unit::Ns => Some(1),
            Unit::Us => Some(1_000),
            Unit::Ms => Some(1_000_000),
            Unit::S => Some(1_000_000_000),
            Unit::Samples => None,
        }
    }
}
