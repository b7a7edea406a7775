//! What could be done about a lock.

use std::fmt;

/// What could be done about a lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// No thread waits for it any more, as if the work that it guards needed no lock.
    Free,
    /// It is held for less time: the work under it is divided by this, which is
    /// more than 1.
    Hold {
        /// 2 halves each hold.
        divisor: f64,
    },
    /// It becomes several locks, at least 2, and each acquisition takes one of them at
    /// random, all with equal probability.
    Stripes {
        /// The number of locks.
        count: u32,
    },
    /// Threads that only read share it.
    ReadWrite,
}

/// The maximum number of stripes.
pub const MOST_STRIPES: u32 = 65_536;

/// The largest divisor of holds.
pub const MOST_DIVISOR: f64 = 1e6;

impl Change {
    /// The changes that are predicted if the user names none.
    pub const USUAL: [Change; 4] = [
        Change::Free,
        Change::Hold { divisor: 2.0 },
        Change::Stripes { count: 4 },
        Change::ReadWrite,
    ];

    /// Parses `/2` or `/1.5`, the divisor of holds.
    ///
    /// # Errors
    /// If it is not a divisor, with a message of one line.
    pub fn parse_hold(text: &str) -> Result<Change, String> {
        let divisor = text.strip_prefix('/').and_then(|number| number.parse::<f64>().ok());
        match divisor {
            Some(divisor) if divisor > 1.0 && divisor <= MOST_DIVISOR => {
                Ok(Change::Hold { divisor })
            }
            Some(_) => {
                Err(format!("`{text}`: holds can be divided by more than 1, up to {MOST_DIVISOR}"))
            }
            None => Err(format!("`{text}` is not a fraction of the hold; write /2 for half of it")),
        }
    }

    /// Parses a number of stripes.
    ///
    /// # Errors
    /// As [`Change::parse_hold`].
    pub fn parse_stripes(text: &str) -> Result<Change, String> {
        match text.parse::<u32>() {
            Ok(count) if (2..=MOST_STRIPES).contains(&count) => Ok(Change::Stripes { count }),
            _ => Err(format!("`{text}` is not a number of stripes, from 2 to {MOST_STRIPES}")),
        }
    }

    /// The changed lock, in a clause that begins with "if it".
    pub fn clause(&self) -> String {
        match self {
            Change::Free => "were free".to_owned(),
            Change::Hold { divisor: 2.0 } => "were held for half the time".to_owned(),
            Change::Hold { divisor } => format!("were held for 1/{divisor} of the time"),
            Change::Stripes { count } => format!("were split into {count} stripes"),
            Change::ReadWrite => "were a read-write lock".to_owned(),
        }
    }
}

/// As on the command line, without the dashes: `free`, `hold /2`, `stripes 4`,
/// `read-write`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Free => f.write_str("free"),
            Change::Hold { divisor } => write!(f, "hold /{divisor}"),
            Change::Stripes { count } => write!(f, "stripes {count}"),
            Change::ReadWrite => f.write_str("read-write"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_and_shown() {
        for (text, shown) in
            [("/2", "hold /2"), ("/1.5", "hold /1.5"), ("/1000000", "hold /1000000")]
        {
            assert_eq!(Change::parse_hold(text).unwrap().to_string(), shown);
        }
        for text in ["", "2", "/", "/1", "/0", "/-3", "/nan", "/inf", "/1e7", "/x"] {
            assert!(Change::parse_hold(text).is_err(), "{text}");
        }
        assert_eq!(Change::parse_stripes("16"), Ok(Change::Stripes { count: 16 }));
        for text in ["", "0", "1", "-4", "65537", "4.5"] {
            assert!(Change::parse_stripes(text).is_err(), "{text}");
        }
        let half = Change::Hold { divisor: 2.0 };
        assert_eq!(half.clause(), "were held for half the time");
    }
}
