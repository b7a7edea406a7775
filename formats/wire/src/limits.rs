//! What the agent takes for its options: for the agent, and for the command
//! line, which refuses what the agent would refuse. Nobody would read the
//! complaint of an agent in a JVM that runs already.

use std::ops::RangeInclusive;

/// How many frames of a stack can be kept.
pub const DEPTHS: RangeInclusive<u16> = 1..=2048;
/// How many of a log's files can be kept.
pub const FILECOUNTS: RangeInclusive<u32> = 1..=10_000;
/// The longest duration that can be asked for, ns: an hour.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
/// Between two snapshots of what threads do, ns; shorter periods would leave
/// little time for the program.
pub const PERIODS_NS: RangeInclusive<u64> = 1_000_000..=LONGEST_NS;
/// One hold in so many can be measured.
const HOLDS: RangeInclusive<u32> = 1..=(1 << 20) - 1;

/// Which holds are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// None.
    Never,
    /// The first few and then one in so many, 2 at least.
    OneIn(u32),
    /// All.
    Every,
}

impl Hold {
    /// Reads `all`, `none` or a share as in `1/64`.
    ///
    /// # Errors
    /// For people, when it is none of these.
    pub fn parse(text: &str) -> Result<Hold, String> {
        let one_in = || text.strip_prefix("1/")?.parse().ok().filter(|n| HOLDS.contains(n));
        match text {
            "all" | "1" => Ok(Hold::Every),
            "none" | "0" => Ok(Hold::Never),
            _ => match one_in() {
                Some(1) => Ok(Hold::Every),
                Some(n) => Ok(Hold::OneIn(n)),
                None => Err(format!("hold={text} is neither all, none nor a share like 1/64")),
            },
        }
    }

    /// The `n` of one in `n`.
    pub fn one_in(self) -> Option<u32> {
        if let Hold::OneIn(n) = self { Some(n) } else { None }
    }

    /// As it stands in the log's metadata.
    pub fn name(self) -> String {
        match self {
            Hold::Never => "none".to_owned(),
            Hold::OneIn(n) => format!("1/{n}"),
            Hold::Every => "all".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_they_are_written() {
        for hold in [Hold::Never, Hold::OneIn(2), Hold::OneIn((1 << 20) - 1), Hold::Every] {
            assert_eq!(Hold::parse(&hold.name()), Ok(hold));
        }
        assert_eq!(Hold::parse("1/1"), Ok(Hold::Every));
        for text in ["", "64", "1/0", "1/1048576", "2/64", "1/", "some"] {
            assert!(Hold::parse(text).is_err(), "{text}");
        }
    }
}
