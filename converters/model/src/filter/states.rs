//! Sets of states of threads.

use super::error::FilterError;
use crate::state::State;

/// A set of states. The default is all but idle: who waits for work would swamp
/// those who work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States(u8);

impl Default for States {
    fn default() -> Self {
        State::ALL.into_iter().filter(|&state| state != State::Idle).fold(States(0), States::with)
    }
}

impl States {
    /// Every state.
    pub fn all() -> States {
        State::ALL.into_iter().fold(States(0), States::with)
    }

    /// The set and this state.
    pub fn with(self, state: State) -> States {
        States(self.0 | 1 << state as u8)
    }

    /// Whether the state is in the set.
    pub fn contains(self, state: State) -> bool {
        self.0 & 1 << state as u8 != 0
    }

    /// Reads names of states and groups, separated by commas.
    ///
    /// # Errors
    /// When a name is neither.
    pub fn parse(text: &str) -> Result<States, FilterError> {
        let mut states = States(0);
        for name in text.split(',').map(str::trim) {
            states.0 |= match name {
                "all" => States::all().0,
                "busy" => States::default().0,
                _ => match State::from_name(name) {
                    Some(state) => States(0).with(state).0,
                    None => {
                        let known = State::ALL.map(State::name).join(", ");
                        return Err(FilterError::State(name.to_owned(), known));
                    }
                },
            };
        }
        Ok(states)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn states_are_named_alone_and_in_groups() {
        for (at, state) in State::ALL.into_iter().enumerate() {
            assert_eq!(State::from_name(state.name()), Some(state));
            assert_eq!(state as usize, at);
            assert!(States::all().contains(state));
            assert_eq!(States::default().contains(state), state != State::Idle);
        }
        assert_eq!(States::parse("busy, idle"), Ok(States::all()));
        assert_eq!(States::parse("all"), Ok(States::all()));
        let two = States::parse("running,blocked").unwrap();
        assert!(two.contains(State::Blocked) && !two.contains(State::Parked));
        let error = States::parse("runing").unwrap_err().to_string();
        assert!(error.contains("`runing`") && error.contains("sleeping"), "{error}");
    }
}
