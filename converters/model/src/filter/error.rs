//! Why a filter cannot be understood.

use thiserror::Error;

/// Why a filter cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FilterError {
    /// No kind or group of kinds has this name.
    #[error(
        "`{0}` is not a kind of wait; kinds are {1}; groups are contention, idle, withheld, all"
    )]
    Kind(String, String),
    /// No state or group of states has this name.
    #[error("`{0}` is not a thread state; states are {1}; groups are busy (all but idle), all")]
    State(String, String),
    /// The text is no duration.
    #[error("`{0}` is not a duration; write 50us, 1.5ms, 5s or 1h2m")]
    Duration(String),
    /// The text is no moment.
    #[error(
        "`{0}` is not a time; write 5s (after the log's start), -10s (before its end) \
         or 2026-11-21T10:49:00Z"
    )]
    Moment(String),
}
