//! What is wrong with options.

use thiserror::Error;

/// What is wrong with options, or with the value of one, in words: nobody but the user acts
/// upon it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Wrong(String);

impl Wrong {
    pub(crate) fn new(words: impl Into<String>) -> Wrong {
        Wrong(words.into())
    }
}

impl From<Wrong> for String {
    fn from(wrong: Wrong) -> String {
        wrong.0
    }
}
