//! What a program knows of its locks, as its last line tells.

use crate::support::{list, number, text_of};
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// A wait that a program has staged.
#[derive(Clone)]
pub struct StagedWait {
    /// The thread that waited, which waited but once.
    pub thread: String,
    /// The number of the place.
    pub place: u32,
    /// The lock's number.
    pub lock: u64,
    /// `contention` or `object-wait`.
    pub kind: String,
}

impl fmt::Debug for StagedWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StagedWait { thread, place, lock, .. } = self;
        write!(f, "{thread} at place {place} for lock {lock}")
    }
}

/// What happened while a test changed nothing.
#[derive(Clone, Debug, Default)]
pub struct Round {
    pub name: String,
    /// How often each place took a lock.
    pub taken: BTreeMap<u32, u64>,
    pub waits: Vec<StagedWait>,
}

/// The account of a program.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub rounds: Vec<Round>,
    /// The identity hash of each lock, by its number.
    pub hashes: BTreeMap<u64, u64>,
}

impl Account {
    pub fn of(said: &Value) -> Account {
        let number_of = |value: &Value, key: &str| u32::try_from(number(value, key)).unwrap();
        let round = |said: &Value| Round {
            name: text_of(said, "round").to_owned(),
            taken: list(said, "taken")
                .iter()
                .map(|place| (number_of(place, "place"), number(place, "taken")))
                .collect(),
            waits: list(said, "waits")
                .iter()
                .map(|wait| StagedWait {
                    thread: text_of(wait, "thread").to_owned(),
                    place: number_of(wait, "place"),
                    lock: number(wait, "lock"),
                    kind: text_of(wait, "kind").to_owned(),
                })
                .collect(),
        };
        Account {
            rounds: list(said, "rounds").iter().map(round).collect(),
            hashes: list(said, "locks")
                .iter()
                .map(|lock| (number(lock, "lock"), number(lock, "hash")))
                .collect(),
        }
    }

    /// The account of some rounds alone.
    pub fn only(&self, names: &[&str]) -> Account {
        let rounds = self.rounds.iter().filter(|round| names.contains(&round.name.as_str()));
        Account { rounds: rounds.cloned().collect(), hashes: self.hashes.clone() }
    }

    /// How often each place took a lock, in all rounds.
    pub fn taken(&self) -> BTreeMap<u32, u64> {
        let mut sums = BTreeMap::new();
        for (&place, times) in self.rounds.iter().flat_map(|round| &round.taken) {
            *sums.entry(place).or_default() += times;
        }
        sums
    }

    pub fn waits(&self) -> impl Iterator<Item = &StagedWait> {
        self.rounds.iter().flat_map(|round| &round.waits)
    }

    /// How often threads waited at a place, and for how many locks.
    pub fn waits_at(&self, place: u32) -> usize {
        self.waits().filter(|wait| wait.place == place).count()
    }
}
