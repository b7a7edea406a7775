//! What was sampled, as the outputs tell it.

use crate::support::{dump, stdout_of, tyrion};
use serde_json::Value;
use std::path::Path;

/// The threads of the program that measure themselves.
pub const WATCHED: &str = r"^((worker|keeper|reader|selector)-\d|pool-1-thread-1)$";

/// Time of a thread, or of a group of threads, in one stack and one state.
#[derive(Debug)]
pub struct StateRow {
    /// As `--by state` has it.
    pub state: String,
    pub thread: String,
    /// Outermost first: `com.acme.Foo.bar`. Without what stands for a state or
    /// a lock.
    pub frames: Vec<String>,
    pub ns: u64,
}

impl StateRow {
    pub fn is_in(&self, method: &str) -> bool {
        self.frames.iter().any(|frame| frame == method)
    }
}

/// All samples of a log, summed: `wall`, `cpu` or `blocked`.
pub fn rows(log: &Path, metric: &str, options: &[&str]) -> Vec<StateRow> {
    let mut convert = tyrion();
    convert.args(["convert", "--to", "collapsed", "-o", "-", "--by", "state", "--by-thread"]);
    convert.args(["--state", "all", "--metric", metric]).args(options).arg(log);
    stdout_of(&mut convert).lines().map(row).collect()
}

/// `[state];[thread];frame;frame;[state] 12345`
fn row(line: &str) -> StateRow {
    let (stack, ns) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let mut frames = stack.split(';').map(str::to_owned);
    let mut bracketed = || {
        let frame = frames.next().unwrap_or_else(|| panic!("{line}"));
        let name = frame.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        name.unwrap_or_else(|| panic!("{frame} in {line}")).to_owned()
    };
    let (state, thread) = (bracketed(), bracketed());
    let frames = frames.filter(|frame| !frame.starts_with('[')).collect();
    StateRow { state, thread, frames, ns: ns.parse().unwrap() }
}

/// The sum of the rows that are wanted.
pub fn sum<'r>(
    rows: impl IntoIterator<Item = &'r StateRow>,
    wanted: impl Fn(&StateRow) -> bool,
) -> u64 {
    rows.into_iter().filter(|row| wanted(row)).map(|row| row.ns).sum()
}

/// The samples of a log as they were recorded.
pub fn samples(log: &Path) -> Vec<Value> {
    dump(log, &["sample"])
}

/// For how long a thread was sampled, as its records have it.
pub fn sampled_ns(samples: &[Value], thread: &str) -> u64 {
    let own = samples.iter().filter(|sample| sample["thread"] == thread);
    own.map(|sample| sample["wall_ns"].as_u64().unwrap()).sum()
}
