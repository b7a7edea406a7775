//! The outputs of `convert`, read back by other means than our own.

use super::stdout_of;
use std::{
    collections::BTreeMap,
    ops::AddAssign,
    path::{Path, PathBuf},
    process::Command,
};

/// How often and how long threads waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// In nanoseconds.
    pub wait_ns: u64,
    /// The number of waits.
    pub count: u64,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Sum) {
        self.wait_ns += other.wait_ns;
        self.count += other.count;
    }
}

/// The parts beside an `out.callgrind`, by name.
pub fn callgrind_parts(out: &Path) -> Vec<PathBuf> {
    let prefix = format!("{}.", out.file_name().unwrap().to_str().unwrap());
    let entries = std::fs::read_dir(out.parent().unwrap()).unwrap();
    let mut parts: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&prefix))
        .collect();
    parts.sort();
    parts
}

impl Sum {
    /// The self costs of a callgrind file with the events `Wait_ns Contentions`.
    pub fn of_callgrind(path: &Path) -> Sum {
        let sums = callgrind_sums(path);
        check_names(path, &sums, ["Wait_ns", "Contentions", "Blamed_ns"]);
        Sum { wait_ns: sums["Wait_ns"], count: sums["Contentions"] }
    }
}

/// Waits, and beside them what is charged to holders, if anything is.
fn check_names(path: &Path, sums: &BTreeMap<String, u64>, names: [&str; 3]) {
    let is_known = |key: &String| names.contains(&key.as_str());
    assert!(sums.keys().all(is_known), "{}: {sums:?}", path.display());
}

/// The self costs of a callgrind file, by event.
pub fn callgrind_sums(path: &Path) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(path).unwrap();
    let events = text.lines().find_map(|line| line.strip_prefix("events: ")).expect("events");
    let events: Vec<&str> = events.split(' ').collect();
    let mut sums = vec![0; events.len()];
    let mut of_call = false;
    for line in text.lines() {
        // What stands below a call is the callee's, included.
        if std::mem::replace(&mut of_call, line.starts_with("calls=")) {
            continue;
        }
        if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            for (sum, cost) in sums.iter_mut().zip(line.split(' ').skip(1)) {
                *sum += cost.parse::<u64>().unwrap();
            }
        }
    }
    events.into_iter().map(str::to_owned).zip(sums).collect()
}

/// The samples of a pprof profile, as `go tool pprof` reads them.
pub fn pprof_sum(path: &Path) -> Sum {
    let sums = pprof_sums(path);
    check_names(path, &sums, ["delay/nanoseconds", "contentions/count", "blamed/nanoseconds"]);
    Sum { wait_ns: sums["delay/nanoseconds"], count: sums["contentions/count"] }
}

/// The sums of a pprof profile by type of sample, as `go tool pprof` reads
/// them.
pub fn pprof_sums(path: &Path) -> BTreeMap<String, u64> {
    let raw = stdout_of(Command::new("go").args(["tool", "pprof", "-raw"]).arg(path));
    let samples = raw.split("\nSamples:\n").nth(1).expect("samples");
    let samples = samples.split("\nLocations\n").next().unwrap();
    let mut lines = samples.lines();
    let types: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let mut sums = vec![0; types.len()];
    for line in lines {
        // "  count   delay: locations"; other lines are labels.
        let values = line.split_once(':').map_or("", |(values, _)| values);
        let numbers: Vec<u64> = values.split_whitespace().flat_map(str::parse).collect();
        if numbers.len() == sums.len() {
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
    }
    let name = |text: &str| text.trim_end_matches("[dflt]").to_owned();
    types.into_iter().map(name).zip(sums).collect()
}

/// The sum of the values of collapsed stacks.
pub fn collapsed_sum(text: &str) -> u64 {
    let value = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    text.lines().map(value).sum()
}

/// The value at the root of a flame graph.
pub fn flamegraph_root(path: &Path) -> u64 {
    let svg = std::fs::read_to_string(path).unwrap();
    let (_, rest) = svg.split_once("total_samples=\"").expect("a root");
    rest.split('"').next().unwrap().parse().unwrap()
}
