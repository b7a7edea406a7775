//! `mode`: what is recorded.

/// What is recorded: `contention`, `trace`, `sample`, or one of the first two
/// and `sample`, with a `+` between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// What of locks.
    pub locks: Locks,
    /// Whether threads are sampled.
    pub sample: bool,
}

/// What is recorded of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// Nothing: no class is changed, no event of a lock is asked for.
    Nothing,
    /// Waits.
    Contention,
    /// Waits, and every acquisition.
    Trace,
}

impl Default for Mode {
    fn default() -> Mode {
        Mode { locks: Locks::Contention, sample: false }
    }
}

impl Mode {
    /// Reads it as the user writes it.
    ///
    /// # Errors
    /// What there is instead.
    pub fn parse(value: &str) -> Result<Mode, String> {
        let mut mode = Mode { locks: Locks::Nothing, sample: false };
        for part in value.split('+') {
            match part {
                "contention" if mode.locks == Locks::Nothing => mode.locks = Locks::Contention,
                "trace" if mode.locks == Locks::Nothing => mode.locks = Locks::Trace,
                "sample" if !mode.sample => mode.sample = true,
                _ => {
                    return Err(format!(
                        "mode={value} is none of contention, trace, sample, contention+sample, \
                         trace+sample"
                    ));
                }
            }
        }
        Ok(mode)
    }

    /// As the user writes it.
    pub fn name(self) -> &'static str {
        match (self.locks, self.sample) {
            (Locks::Contention, false) => "contention",
            (Locks::Contention, true) => "contention+sample",
            (Locks::Trace, false) => "trace",
            (Locks::Trace, true) => "trace+sample",
            (Locks::Nothing, _) => "sample",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_as_they_are_written() {
        for name in ["contention", "trace", "sample", "contention+sample", "trace+sample"] {
            assert_eq!(Mode::parse(name).unwrap().name(), name);
        }
        assert_eq!(Mode::parse("sample+trace").unwrap().name(), "trace+sample");
        for wrong in ["", "+", "sample+", "trace+trace", "trace+contention", "Sample"] {
            assert!(Mode::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Mode::default().name(), "contention");
    }
}
