//! A small reader of callgrind files, which checks what KCacheGrind and
//! `callgrind_annotate` are strict about.

use std::collections::{BTreeMap, HashMap};

/// A part.
#[derive(Debug, Default)]
pub struct Part {
    pub headers: Vec<(String, String)>,
    /// Own costs of functions: ns and count.
    pub own: BTreeMap<String, (u64, u64)>,
    /// Costs of calls by caller and callee: calls, ns and count.
    pub calls: BTreeMap<(String, String), (u64, u64, u64)>,
    pub totals: (u64, u64),
}

impl Part {
    /// The sum of all own costs.
    pub fn sum(&self) -> (u64, u64) {
        self.own.values().fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1))
    }

    /// Costs that flow into each function and out of it must be equal: what its
    /// callers pay for it is its own cost and that of what it calls. The roots,
    /// of which this gives the sum, have no callers.
    pub fn check_flow(&self) -> (u64, u64) {
        let mut flow: BTreeMap<&str, (u64, u64, u64, u64)> = BTreeMap::new();
        for (function, own) in &self.own {
            let sums = flow.entry(function).or_default();
            (sums.2, sums.3) = (sums.2 + own.0, sums.3 + own.1);
        }
        for ((caller, callee), call) in &self.calls {
            let sums = flow.entry(caller).or_default();
            (sums.2, sums.3) = (sums.2 + call.1, sums.3 + call.2);
            let sums = flow.entry(callee).or_default();
            (sums.0, sums.1) = (sums.0 + call.1, sums.1 + call.2);
            assert_eq!(call.0, call.2, "as many calls as waits");
        }
        let mut roots = (0, 0);
        for (function, (in_ns, in_count, out_ns, out_count)) in flow {
            if function.starts_with('[') && function.ends_with(" ??? [threads]") && in_count == 0 {
                roots = (roots.0 + out_ns, roots.1 + out_count);
            } else {
                assert_eq!((in_ns, in_count), (out_ns, out_count), "{function}");
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
struct Names(HashMap<u32, String>);

impl Names {
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
pub fn parse(text: &str) -> Part {
    assert!(text.starts_with("# callgrind format\n"));
    assert!(!text.contains(['\0', '\r', '\t']));
    let found = text[..text.len().min(2047)].find("events:").expect("recognised by KCacheGrind");
    assert_eq!(text.as_bytes()[found - 1], b'\n', "recognised by KCacheGrind");
    let (header, body) = text.split_at(text[found..].find('\n').unwrap() + found);
    let mut part = Part::default();
    for line in header.lines().skip(1) {
        let (name, value) = line.split_once(": ").unwrap();
        part.headers.push((name.to_owned(), value.to_owned()));
    }
    read_body(&mut part, body);
    part
}

fn read_body(part: &mut Part, body: &str) {
    let [mut objects, mut files, mut functions] = [(); 3].map(|()| Names::default());
    let mut at = (String::new(), String::new(), String::new());
    let mut callee = (None, None, String::new());
    let mut calls = None;
    for line in body.lines().filter(|line| !line.is_empty()) {
        assert_eq!(part.totals, (0, 0), "totals are last");
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
                let [wait_ns, count] = numbers(&line[8..])[..] else { panic!("{line}") };
                part.totals = (wait_ns, count);
            }
            _ => {
                let [_line, wait_ns, count] = numbers(line)[..] else { panic!("{line}") };
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
                    *sums = (sums.0 + number, sums.1 + wait_ns, sums.2 + count);
                } else {
                    let sums = part.own.entry(caller).or_default();
                    *sums = (sums.0 + wait_ns, sums.1 + count);
                }
            }
        }
    }
    assert!(calls.is_none());
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(' ').map(|number| number.parse().unwrap_or_else(|_| panic!("{text}"))).collect()
}
