//! The states of threads.

/// What a thread was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Running Java code, or ready to.
    Running,
    /// In native code: in I/O, or computing.
    Native,
    /// Waiting for a lock that another thread held.
    Blocked,
    /// In `Object.wait`.
    Waiting,
    /// Parked, as what waits in `java.util.concurrent` is.
    Parked,
    /// In `Thread.sleep`.
    Sleeping,
    /// Waiting for work: a thread of a pool, a selector, a timer.
    Idle,
    /// Suspended, or not known.
    Other,
}

impl State {
    /// Every state, in the order of the help.
    pub const ALL: [State; 8] = [
        State::Running,
        State::Native,
        State::Blocked,
        State::Waiting,
        State::Parked,
        State::Sleeping,
        State::Idle,
        State::Other,
    ];

    /// Its name in outputs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Native => "native",
            State::Blocked => "blocked",
            State::Waiting => "waiting",
            State::Parked => "parked",
            State::Sleeping => "sleeping",
            State::Idle => "idle",
            State::Other => "other",
        }
    }

    /// The state of this name, if there is one.
    pub fn from_name(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == name)
    }
}
