//! A small reader of callgrind files, which checks what KCacheGrind and
//! `callgrind_annotate` are strict about.

use std::collections::{BTreeMap, HashMap};

/// Costs by event: wait ns, waits, acquisitions, hold ns, blamed ns; sampled wall
/// ns, CPU ns, blocked ns; the errors of acquisitions. Events that a file does not have are 0.
pub type CostSums = [u64; 9];

const EVENTS: [&[&str]; 9] = [
    &["Wait_ns"],
    &["Contentions", "Waits"],
    &["Acquisitions"],
    &["Hold_ns"],
    &["Blamed_ns"],
    &["Wall_ns"],
    &["Cpu_ns"],
    &["Blocked_ns"],
    &["Acquisitions_error"],
];

fn add(sum: &mut CostSums, cost: CostSums) {
    sum.iter_mut().zip(cost).for_each(|(sum, cost)| *sum += cost);
}

/// A part.
#[derive(Debug, Default)]
pub struct FilePart {
    pub headers: Vec<(String, String)>,
    /// Own costs of functions.
    pub own: BTreeMap<String, CostSums>,
    /// Costs of calls by caller and callee, with the number of calls.
    pub calls: BTreeMap<(String, String), (u64, CostSums)>,
    pub totals: CostSums,
    /// Which costs the numbers of a line are.
    events: Vec<usize>,
}

impl FilePart {
    /// The sum of all own costs.
    pub fn sum(&self) -> CostSums {
        let mut sum = CostSums::default();
        self.own.values().for_each(|own| add(&mut sum, *own));
        sum
    }

    /// Costs that flow into each function and out of it must be equal: what its
    /// callers pay for it is its own cost and that of what it calls. The roots,
    /// of which this gives the sum, have no callers.
    pub fn check_flow(&self) -> CostSums {
        let mut flow: BTreeMap<&str, (CostSums, CostSums)> = BTreeMap::new();
        for (function, own) in &self.own {
            add(&mut flow.entry(function).or_default().1, *own);
        }
        for ((caller, callee), (calls, cost)) in &self.calls {
            add(&mut flow.entry(caller).or_default().1, *cost);
            add(&mut flow.entry(callee).or_default().0, *cost);
            let [_, waits, acquisitions, hold_ns, blamed_ns, ..] = *cost;
            // Lines of one call add up.
            let least = waits.max(acquisitions).max(1);
            assert!(*calls >= least && *calls <= waits + acquisitions + 100, "{calls} {cost:?}");
            let has_others = cost[5..] != [0; 4];
            if waits > 0 && (acquisitions, hold_ns, blamed_ns) == (0, 0, 0) && !has_others {
                assert_eq!(*calls, waits, "as many calls as waits");
            }
        }
        let mut roots = CostSums::default();
        for (function, (into, out)) in flow {
            let is_root = function.starts_with('[') && function.ends_with(" ??? [threads]");
            if is_root && into == CostSums::default() {
                add(&mut roots, out);
            } else {
                assert_eq!(into, out, "{function}");
            }
        }
        roots
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }
}

/// The names of one kind, `(7) name` and `(7)`.
#[derive(Default)]
struct NameTable(HashMap<u32, String>);

impl NameTable {
    fn get(&mut self, text: &str) -> String {
        let (number, name) = text.strip_prefix('(').unwrap().split_once(')').unwrap();
        let number = number.parse().unwrap();
        assert!(number > 0, "KCacheGrind cannot grow its tables from 0");
        match name.strip_prefix(' ') {
            Some(name) => {
                assert!(!name.is_empty());
                assert_eq!(self.0.insert(number, name.to_owned()), None, "twice: {text}");
                name.to_owned()
            }
            None => self.0[&number].clone(),
        }
    }
}

/// Reads a part.
pub fn parse(text: &str) -> FilePart {
    assert!(text.starts_with("# callgrind format\n"));
    assert!(!text.contains(['\0', '\r', '\t']));
    let found = text[..text.len().min(2047)].find("events:").expect("recognised by KCacheGrind");
    assert_eq!(text.as_bytes()[found - 1], b'\n', "recognised by KCacheGrind");
    let (header, body) = text.split_at(text[found..].find('\n').unwrap() + found);
    let mut part = FilePart::default();
    for line in header.lines().skip(1) {
        let (name, value) = line.split_once(": ").unwrap();
        part.headers.push((name.to_owned(), value.to_owned()));
    }
    let events = part.header("events").unwrap();
    let event = |name: &str| EVENTS.iter().position(|names| names.contains(&name)).expect("known");
    part.events = events.split(' ').map(event).collect();
    read_body(&mut part, body);
    part
}

impl FilePart {
    fn cost(&self, numbers: &[u64]) -> CostSums {
        assert_eq!(numbers.len(), self.events.len(), "a number for each event");
        let mut cost = CostSums::default();
        self.events.iter().zip(numbers).for_each(|(at, number)| cost[*at] = *number);
        cost
    }
}

fn read_body(part: &mut FilePart, body: &str) {
    let [mut objects, mut files, mut functions] = [(); 3].map(|()| NameTable::default());
    let mut at = (String::new(), String::new(), String::new());
    let mut callee = (None, None, String::new());
    let mut calls = None;
    for line in body.lines().filter(|line| !line.is_empty()) {
        assert_eq!(part.totals, CostSums::default(), "totals are last");
        let (key, value) =
            line.split_once('=').filter(|(key, _)| key.len() < 6).unwrap_or(("", line));
        match key {
            "ob" => at.0 = objects.get(value),
            "fl" => at.1 = files.get(value),
            "fn" => at.2 = functions.get(value),
            "cob" => callee.0 = Some(objects.get(value)),
            "cfi" => callee.1 = Some(files.get(value)),
            "cfn" => callee.2 = functions.get(value),
            "calls" => {
                let [count, _line] = numbers(value)[..] else { panic!("{line}") };
                assert!(count > 0);
                calls = Some(count);
            }
            _ if line.starts_with("totals: ") => {
                part.totals = part.cost(&numbers(&line[8..]));
            }
            _ => {
                let cost = part.cost(&numbers(line)[1..]);
                let name = |object: &str, file: &str, function: &str| {
                    format!("{function} {file} [{object}]")
                };
                let caller = name(&at.0, &at.1, &at.2);
                if let Some(number) = calls.take() {
                    let (object, file, function) = std::mem::take(&mut callee);
                    let callee = name(
                        &object.unwrap_or(at.0.clone()),
                        &file.unwrap_or(at.1.clone()),
                        &function,
                    );
                    let sums = part.calls.entry((caller, callee)).or_default();
                    sums.0 += number;
                    add(&mut sums.1, cost);
                } else {
                    add(part.own.entry(caller).or_default(), cost);
                }
            }
        }
    }
    assert!(calls.is_none());
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(' ').map(|number| number.parse().unwrap_or_else(|_| panic!("{text}"))).collect()
}
