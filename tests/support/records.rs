//! `tyrion info --json` and `tyrion dump --json`, read back.

use super::{stdout_of, tyrion};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

/// A wait, as `dump` prints it.
#[derive(Clone, Debug)]
pub struct Wait {
    /// `wait`, `fold` or `pending`.
    pub record: String,
    /// `monitor`, `lock`, ...
    pub kind: String,
    /// The waiting thread's name.
    pub thread: String,
    /// The lock's class and number.
    pub lock: String,
    /// The lock's class.
    pub lock_class: String,
    /// Who held the lock, if known.
    pub owner: Option<String>,
    /// `granted`, `timed-out`, ... of a wait that ended.
    pub outcome: Option<String>,
    /// When it began, since the log's start; 0 of a `fold`.
    pub start_ns: u64,
    /// How long, of a wait that has not ended until now.
    pub wait_ns: u64,
    /// The number of waits in this record.
    pub count: u64,
    /// Frames, innermost first.
    pub stack: Vec<String>,
}

impl Wait {
    fn from_json(record: &Value) -> Wait {
        let text = |key: &str| record[key].as_str().map(str::to_owned);
        let stack = record["stack"].as_array().expect("a stack").iter();
        Wait {
            record: text("record").unwrap(),
            kind: text("kind").unwrap(),
            thread: text("thread").unwrap(),
            lock: text("lock").unwrap(),
            lock_class: text("lock_class").unwrap(),
            owner: text("owner"),
            outcome: text("outcome"),
            start_ns: record["start_ns"].as_u64().unwrap_or(0),
            wait_ns: record["wait_ns"].as_u64().or(record["waited_ns"].as_u64()).unwrap(),
            count: record["count"].as_u64().unwrap_or(1),
            stack: stack.map(|frame| frame.as_str().unwrap().to_owned()).collect(),
        }
    }

    /// Whether it is lock contention.
    pub fn is_contention(&self) -> bool {
        ["monitor", "lock", "lock-read", "lock-write", "semaphore"].contains(&self.kind.as_str())
    }

    /// Whether it is of the JVM's own making. A thread that ends and the thread
    /// that joins it meet at the monitor of the `Thread` object; threads that
    /// begin and end at that of their `ThreadGroup`; threads that use a class
    /// for the first time at its loader's, and at that of an `int[]` under
    /// which HotSpot initializes it; threads that run a `VarHandle` or a lambda
    /// for the first time in the tables of method types, to which the JVM calls
    /// up to link it (seen inside a latch of JDK 11, and, at that of an `int[]`, where a virtual
    /// thread is first run on JDK 25).
    pub fn is_of_the_jvm(&self) -> bool {
        let loads_or_links = |frame: &String| {
            frame.starts_with("java.lang.ClassLoader.loadClass")
                || frame.starts_with("java.lang.invoke.MethodHandleNatives.link")
        };
        ["java.lang.Thread", "java.lang.ThreadGroup", "int[]"].contains(&self.lock_class.as_str())
            || self.stack.iter().any(loads_or_links)
    }

    /// Whether a method of the test's program is on the stack.
    pub fn is_in_the_program(&self) -> bool {
        self.stack.iter().any(|frame| frame.starts_with("tyrion."))
    }
}

/// All ended waits of a log.
pub fn waits(log: &Path) -> Vec<Wait> {
    records(log).into_iter().filter(|wait| wait.record != "pending").collect()
}

/// The waits that have not ended in a log.
pub fn pending(log: &Path) -> Vec<Wait> {
    records(log).into_iter().filter(|wait| wait.record == "pending").collect()
}

fn records(log: &Path) -> Vec<Wait> {
    dump(log, &["wait", "fold", "pending"]).iter().map(Wait::from_json).collect()
}

/// The records of some kinds, as `dump` prints them. Line by line: of the
/// others there may be millions.
pub fn dump(log: &Path, kinds: &[&str]) -> Vec<Value> {
    let mut command = tyrion();
    command.args(["dump", "--json"]).arg(log).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let of_kind: Vec<String> = kinds.iter().map(|kind| format!("\"record\":\"{kind}\"")).collect();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let wanted = lines.filter(|line| of_kind.iter().any(|kind| line.contains(kind)));
    let records = wanted.map(|line| serde_json::from_str(&line).unwrap()).collect();
    assert!(child.wait().unwrap().success(), "{command:?}");
    records
}

/// The threads that a log names, each with its last name.
pub fn threads(log: &Path) -> Vec<Value> {
    let mut threads = Vec::new();
    for record in dump(log, &["thread", "thread-name"]) {
        if record["record"] == "thread" {
            threads.push(record);
            continue;
        }
        let is_it = |thread: &&mut Value| thread["thread_id"] == record["thread_id"];
        threads.iter_mut().find(is_it).unwrap()["name"] = record["name"].clone();
    }
    threads
}

/// What `info` says about a log.
pub fn info(log: &Path) -> Value {
    let info = stdout_of(tyrion().args(["info", "--json"]).arg(log));
    serde_json::from_str(&info).unwrap()
}
