//! What trace mode recorded, as `tyrion dump --json` prints it.

use super::dump;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::AddAssign,
    path::Path,
};

/// How often locks were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcquisitionSum {
    /// Outermost.
    pub acquisitions: u64,
    /// Of a lock that the thread had already.
    pub reentrant: u64,
    /// Attempts that failed or timed out.
    pub failed: u64,
}

impl AcquisitionSum {
    /// From the keys of a record, or of what a program said.
    pub fn from_json(record: &Value) -> AcquisitionSum {
        let number =
            |key: &str| record[key].as_u64().unwrap_or_else(|| panic!("no {key}: {record}"));
        AcquisitionSum {
            acquisitions: number("acquisitions"),
            reentrant: number("reentrant"),
            failed: number("failed"),
        }
    }
}

impl AddAssign for AcquisitionSum {
    fn add_assign(&mut self, other: AcquisitionSum) {
        self.acquisitions += other.acquisitions;
        self.reentrant += other.reentrant;
        self.failed += other.failed;
    }
}

/// The records of trace mode.
pub struct TraceLog {
    records: Vec<Value>,
}

impl TraceLog {
    /// Those of a log that are sums, or come once: `acquisitions`, `instance`,
    /// `nest`, `statistic`.
    pub fn of(log: &Path) -> TraceLog {
        TraceLog::of_kinds(log, &["acquisitions", "instance", "nest", "statistic"])
    }

    /// Those of some kinds, which may be `hold` and `blame`, too.
    pub fn of_kinds(log: &Path, kinds: &[&str]) -> TraceLog {
        TraceLog { records: dump(log, kinds) }
    }

    /// The records of a kind.
    pub fn records(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.records.iter().filter(move |record| record["record"] == kind)
    }

    /// The records of a kind about locks that methods of a class took.
    pub fn at_class(&self, kind: &str, class: &str) -> Vec<&Value> {
        let is_there = |record: &&Value| {
            let at = record["at"].as_str().unwrap_or_default();
            at.strip_prefix(class).is_some_and(|rest| rest.starts_with('.'))
        };
        self.records(kind).filter(is_there).collect()
    }

    /// What each thread took in methods of a class.
    pub fn taken_by_thread(&self, class: &str) -> BTreeMap<String, AcquisitionSum> {
        let mut threads = BTreeMap::new();
        for record in self.at_class("acquisitions", class) {
            let thread: &mut AcquisitionSum = threads.entry(text(record, "thread")).or_default();
            *thread += AcquisitionSum::from_json(record);
        }
        // A thread may have met a lock and not got it; one with nothing at all
        // need not be there.
        threads.retain(|_, taken| *taken != AcquisitionSum::default());
        threads
    }

    /// What was taken in methods of a class.
    pub fn taken(&self, class: &str) -> AcquisitionSum {
        let mut sum = AcquisitionSum::default();
        for taken in self.taken_by_thread(class).into_values() {
            sum += taken;
        }
        sum
    }

    /// The standard error of what was taken in methods of a class.
    pub fn count_error(&self, class: &str) -> u64 {
        let errors = self.at_class("acquisitions", class).into_iter().flat_map(|record| {
            ["acquisitions_error", "reentrant_error"].map(|key| record[key].as_u64().unwrap_or(0))
        });
        errors.sum()
    }

    /// Time for which methods of a class held locks, and the longest hold.
    pub fn held(&self, class: &str) -> (u64, u64) {
        let cells = self.at_class("acquisitions", class);
        let number = |cell: &&Value, key: &str| cell[key].as_u64().unwrap();
        let sum = cells.iter().map(|cell| number(cell, "hold_ns")).sum();
        (sum, cells.iter().map(|cell| number(cell, "max_hold_ns")).max().unwrap_or(0))
    }

    /// The identity hashes of the locks that methods of a class took, each with
    /// the threads that took it.
    pub fn instances(&self, class: &str) -> BTreeMap<u64, BTreeSet<String>> {
        let mut instances: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for record in self.at_class("instance", class) {
            let hash = record["hash"].as_u64().unwrap();
            instances.entry(hash).or_default().insert(text(record, "thread"));
        }
        instances
    }

    /// The hashes of those that the log calls shared.
    pub fn shared(&self, class: &str) -> BTreeSet<u64> {
        let records = self.at_class("instance", class).into_iter();
        records
            .filter(|record| record["shared"] == true)
            .map(|record| record["hash"].as_u64().unwrap())
            .collect()
    }

    /// What the agent tells of itself.
    pub fn statistic(&self, key: &str) -> Option<u64> {
        self.records("statistic").find(|record| record["key"] == key)?["value"].as_u64()
    }
}

fn text(record: &Value, key: &str) -> String {
    record[key].as_str().unwrap_or_else(|| panic!("no {key}: {record}")).to_owned()
}
