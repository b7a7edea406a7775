//! Numbers for the threads and classes of a recording: the same in all of its files,
//! where ids are not.

use std::{collections::HashMap, ops::Range};
use tyrion_formats::Recording;
use tyrion_model::describe::Names;

/// The number for anything undefined.
pub(crate) const UNKNOWN: u32 = 0;

/// A thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberedThread {
    /// Represents all virtual threads: trace mode does not tell them apart.
    pub(crate) is_all_virtual: bool,
    /// Its name; if a pool has numbered it, with a star for the number.
    pub(crate) group: String,
    /// When it lived, monotonic ns; empty if that is not known.
    pub(crate) life: Range<u64>,
    /// The JVM or the agent has started it: it does none of the program's work.
    pub(crate) is_jvms: bool,
}

/// The thread groups of the JVM's own threads. Those of a program are in `main`, or in its own.
const JVMS_GROUPS: [&str; 2] = ["system", "InnocuousThreadGroup"];
/// What the names of the agent's threads begin with.
const AGENTS: &str = "tyrion-";

impl NumberedThread {
    /// For how long it lived in these times, in ns.
    pub(crate) fn lived_ns(&self, times: &[Range<u64>]) -> u64 {
        let inside = |time: &Range<u64>| {
            self.life.end.min(time.end).saturating_sub(self.life.start.max(time.start))
        };
        times.iter().map(inside).fold(0, u64::saturating_add)
    }
}

/// Threads and classes by number.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// By log and id.
    threads_of: Vec<Vec<u32>>,
    classes_of: Vec<Vec<u32>>,
    /// By number.
    pub(crate) threads: Vec<NumberedThread>,
    /// A log and an id in it of each class, by number.
    classes: Vec<(u32, u32)>,
}

impl Numbers {
    pub(crate) fn new(logs: &[Recording]) -> Numbers {
        let mut numbers = Numbers {
            threads: vec![NumberedThread::default()],
            classes: vec![(0, 0)],
            ..Numbers::default()
        };
        let mut by_java_id: HashMap<u64, u32> = HashMap::new();
        let mut by_name: HashMap<String, u32> = HashMap::new();
        for (run, log) in (0u32..).zip(logs) {
            let threads = numbers.number_threads(log, &mut by_java_id);
            numbers.threads_of.push(threads);
            let definitions = log.definitions();
            let mut classes = vec![UNKNOWN; definitions.classes().len()];
            for (id, _) in definitions.classes().iter() {
                let next = numbers.classes.len() as u32;
                let number = *by_name.entry(Names(log).class(id)).or_insert(next);
                if number == next {
                    numbers.classes.push((run, id));
                }
                classes[id as usize] = number;
            }
            numbers.classes_of.push(classes);
        }
        numbers
    }

    fn number_threads(&mut self, log: &Recording, known: &mut HashMap<u64, u32>) -> Vec<u32> {
        let definitions = log.definitions();
        let mut ids = vec![UNKNOWN; definitions.threads().len()];
        for (id, thread) in definitions.threads().iter() {
            let next = self.threads.len() as u32;
            let number = *known.entry(thread.java_id).or_insert(next);
            if number == next {
                let is_all_virtual = thread.java_id == 0;
                let name = Names(log).thread(id);
                let is_jvms = name.starts_with(AGENTS)
                    || JVMS_GROUPS.contains(&log.text(thread.group).as_ref());
                let group = group(&name);
                self.threads.push(NumberedThread { is_all_virtual, group, is_jvms, life: 0..0 });
            }
            ids[id as usize] = number;
            let Some(known) = self.threads.get_mut(number as usize) else { continue };
            let (from_ns, to_ns) = match definitions.thread_span(id) {
                Some(span) => {
                    let ended_ns = span.ended_ns.map_or(log.end_ns(), |ended_ns| ended_ns.get());
                    (span.started_ns, ended_ns)
                }
                None => (log.start_ns(), log.end_ns()),
            };
            known.life = match known.life.is_empty() {
                true => from_ns..to_ns,
                false => known.life.start.min(from_ns)..known.life.end.max(to_ns),
            };
        }
        ids
    }

    /// The number of a thread of the `run`-th log.
    pub(crate) fn thread(&self, run: usize, id: u32) -> u32 {
        number(self.threads_of.get(run), id)
    }

    /// The number of a class of the `run`-th log.
    pub(crate) fn class(&self, run: usize, id: u32) -> u32 {
        number(self.classes_of.get(run), id)
    }

    /// A log and an id in it of a class.
    pub(crate) fn class_id(&self, number: u32) -> (usize, u32) {
        let (run, id) = self.classes.get(number as usize).copied().unwrap_or((0, 0));
        (run as usize, id)
    }
}

/// `pool-1-thread-7` becomes `pool-1-thread-*`.
fn group(name: &str) -> String {
    let stem = name.trim_end_matches(|char: char| char.is_ascii_digit());
    if stem.len() == name.len() { name.to_owned() } else { format!("{stem}*") }
}

fn number(numbers: Option<&Vec<u32>>, id: u32) -> u32 {
    numbers.and_then(|numbers| numbers.get(id as usize)).copied().unwrap_or(UNKNOWN)
}
