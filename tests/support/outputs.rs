//! The outputs of `convert`, read back by other means than our own.

use super::stdout_of;
use std::{
    ops::AddAssign,
    path::{Path, PathBuf},
    process::Command,
};

/// How often and how long threads waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// In nanoseconds.
    pub wait_ns: u64,
    /// So many waits.
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
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("\nevents: Wait_ns Contentions\n"), "{}", path.display());
        let mut sum = Sum::default();
        let mut of_call = false;
        for line in text.lines() {
            // What stands below a call is the callee's, included.
            if std::mem::replace(&mut of_call, line.starts_with("calls=")) {
                continue;
            }
            if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                let mut costs = line.split(' ').skip(1).map(|cost| cost.parse().unwrap());
                let mut next = || costs.next().unwrap_or(0);
                sum += Sum { wait_ns: next(), count: next() };
            }
        }
        sum
    }
}

/// The samples of a pprof profile, as `go tool pprof` reads them.
pub fn pprof_sum(path: &Path) -> Sum {
    let raw = stdout_of(Command::new("go").args(["tool", "pprof", "-raw"]).arg(path));
    let samples = raw.split("\nSamples:\n").nth(1).expect("samples");
    let samples = samples.split("\nLocations\n").next().unwrap();
    let mut lines = samples.lines();
    assert_eq!(lines.next(), Some("contentions/count delay/nanoseconds[dflt]"));
    let mut sum = Sum::default();
    for line in lines {
        // "  count   delay: locations"; other lines are labels.
        let values = line.split_once(':').map_or("", |(values, _)| values);
        let numbers: Vec<u64> = values.split_whitespace().flat_map(str::parse).collect();
        if let [count, wait_ns] = numbers[..] {
            sum += Sum { wait_ns, count };
        }
    }
    sum
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
