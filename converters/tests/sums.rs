//! All outputs say the same of a profile, to the nanosecond, and say it in the
//! same bytes however many workers there are.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod support;

use proptest::prelude::*;
use std::collections::BTreeMap;
use support::{callgrind, random, totals, written};
use tyrion_converters::{
    outputs::{Format, Options, by_name, pprof::proto},
    profile::Profile,
};

fn format(name: &str) -> &'static Format {
    by_name(name).unwrap()
}

fn stream(name: &str, profile: &Profile, options: &Options) -> Vec<u8> {
    let mut bytes = Vec::new();
    (format(name).stream)(profile, options, &mut bytes).unwrap();
    bytes
}

/// Every combination of the options that change what is summed.
fn options() -> Vec<Options> {
    let mut list = Vec::new();
    for bits in 0..8 {
        list.push(Options {
            lock_frame: bits & 1 != 0,
            lock_identity: bits & 2 != 0,
            thread_label: bits & 4 != 0,
            by_thread: bits & 4 == 0,
            max_parts: [256, 4, 2, 1][bits as usize % 4],
            ..Options::default()
        });
    }
    list
}

/// The sums of a pprof's samples by path, names from root to leaf.
fn paths(profile: &proto::Profile) -> BTreeMap<String, (u64, u64)> {
    let mut paths = BTreeMap::new();
    for sample in &profile.sample {
        let name = |id: &u64| {
            let function = profile.location[*id as usize - 1].line[0].function_id;
            let name = profile.function[function as usize - 1].name;
            profile.string_table[name as usize].as_str()
        };
        let path: Vec<&str> = sample.location_id.iter().rev().map(name).collect();
        let sums: &mut (u64, u64) = paths.entry(path.join(";")).or_default();
        *sums = (sums.0 + sample.value[1] as u64, sums.1 + sample.value[0] as u64);
    }
    paths
}

fn lines(bytes: &[u8]) -> BTreeMap<String, u64> {
    let mut lines = BTreeMap::new();
    for line in std::str::from_utf8(bytes).unwrap().lines() {
        let (path, value) = line.rsplit_once(' ').unwrap();
        assert_eq!(lines.insert(path.to_owned(), value.parse().unwrap()), None, "twice: {path}");
    }
    lines
}

/// `p.C0::m1()` and `l.Lock::[monitor]` as pprof has them.
fn dotted(name: &str) -> String {
    match name.split_once("::") {
        Some((class, kind)) if kind.starts_with('[') => format!("{kind} {class}"),
        Some((class, method)) => format!("{class}.{}", method.trim_end_matches("()")),
        None => name.to_owned(),
    }
}

/// The frames of a flame graph that are wide enough to be drawn, worked out from
/// collapsed lines: names and widths, sorted.
fn wide_frames(lines: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let total: u64 = lines.values().sum();
    let mut widths: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, value) in lines {
        let ends = path.match_indices(';').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            *widths.entry(&path[..end]).or_default() += value;
        }
    }
    let is_wide = |width: u64| width as f64 >= 0.01 / (100.0 / total as f64);
    let name = |path: &str| path.rsplit(';').next().unwrap_or_default().to_owned();
    let wide = widths.into_iter().filter(|(_, width)| is_wide(*width));
    let mut frames: Vec<_> = wide.map(|(path, width)| (name(path), width)).collect();
    frames.push(("all".to_owned(), total));
    frames.sort();
    frames
}

/// The names and widths of a flame graph's frames, sorted.
fn drawn_frames(svg: &[u8]) -> Vec<(String, u64)> {
    let svg = std::str::from_utf8(svg).unwrap();
    let mut frames: Vec<_> = svg
        .split("<title>")
        .skip(1)
        .map(|frame| {
            let (name, rest) = frame.split_once(" (").unwrap();
            let width = rest.split("fg:w=\"").nth(1).unwrap().split('"').next().unwrap();
            (name.to_owned(), width.parse().unwrap())
        })
        .collect();
    frames.sort();
    frames
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn totals_are_equal(profile in random::profile()) {
        let (count, wait_ns) = profile.totals();
        for options in options() {
            let parts = written(format("callgrind"), &profile, &options);
            prop_assert_eq!(totals::of_callgrind(&parts), (wait_ns, count));
            prop_assert!(parts.len() - 1 <= options.max_parts.max(1));
            let merged = [("merged".to_owned(), stream("callgrind", &profile, &options))];
            prop_assert_eq!(totals::of_callgrind(&merged), (wait_ns, count));
            prop_assert_eq!(totals::of_pprof(&stream("pprof", &profile, &options)), (wait_ns, count));
            for (options, total) in [
                (Options { count: false, ..options.clone() }, wait_ns),
                (Options { count: true, ..options }, count),
            ] {
                let collapsed = stream("collapsed", &profile, &options);
                prop_assert_eq!(totals::of_collapsed(&collapsed), total);
                let flame_graph = stream("flamegraph", &profile, &options);
                prop_assert_eq!(totals::of_flamegraph(&flame_graph), total);
            }
        }
    }

    #[test]
    fn stacks_are_equal(profile in random::profile()) {
        for lock_frame in [true, false] {
            let options = Options { lock_frame, ..Options::default() };
            let pprof = paths(&totals::pprof(&stream("pprof", &profile, &options)));
            let by_count = lines(&stream("collapsed", &profile, &Options { count: true, ..options.clone() }));
            let by_time = lines(&stream("collapsed", &profile, &options));
            let counts = pprof.iter().map(|(path, sums)| (path.clone(), sums.1)).collect();
            prop_assert_eq!(&by_count, &counts);
            let times = pprof.iter().filter(|(_, sums)| sums.0 > 0);
            prop_assert_eq!(&by_time, &times.map(|(path, sums)| (path.clone(), sums.0)).collect());
        }
    }

    #[test]
    fn flame_graphs_show_all_that_is_wide_enough(profile in random::profile()) {
        for options in options() {
            let lines = lines(&stream("collapsed", &profile, &options));
            if !lines.is_empty() {
                let drawn = drawn_frames(&stream("flamegraph", &profile, &options));
                prop_assert_eq!(drawn, wide_frames(&lines));
            }
        }
    }

    #[test]
    fn calls_add_up(profile in random::profile()) {
        let (count, wait_ns) = profile.totals();
        for lock_frame in [true, false] {
            let options = Options { lock_frame, ..Options::default() };
            let text = String::from_utf8(stream("callgrind", &profile, &options)).unwrap();
            let merged = callgrind::parse(&text);
            prop_assert_eq!(merged.check_flow(), (wait_ns, count));

            // What a method's first occurrences cost is what stacks with the method cost.
            let mut expected: BTreeMap<String, u64> = BTreeMap::new();
            for (path, (_, count)) in paths(&totals::pprof(&stream("pprof", &profile, &options))) {
                let mut names: Vec<&str> = path.split(';').collect();
                names.sort();
                names.dedup();
                for name in names {
                    *expected.entry(name.to_owned()).or_default() += count;
                }
            }
            let mut inclusive: BTreeMap<String, u64> = BTreeMap::new();
            for ((_, callee), call) in &merged.calls {
                let (name, _) = callee.rsplit_once(" [").unwrap();
                let (name, _) = name.rsplit_once(' ').unwrap();
                if !name.contains('\'') {
                    *inclusive.entry(dotted(name)).or_default() += call.2;
                }
            }
            prop_assert_eq!(inclusive, expected);
        }
    }

    #[test]
    fn parts_are_threads(profile in random::profile()) {
        let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
        for wait in &profile.waits {
            let run = profile.threads[wait.thread as usize].run + 1;
            let key = (run.to_string(), profile.thread_name(wait.thread));
            *expected.entry(key).or_default() += wait.wait_ns;
        }
        let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (_, bytes) in written(format("callgrind"), &profile, &Options::default()) {
            if bytes.is_empty() {
                continue;
            }
            let part = callgrind::parse(std::str::from_utf8(&bytes).unwrap());
            prop_assert_eq!(part.check_flow(), part.totals);
            if part.totals.1 > 0 {
                let trigger = part.header("desc").unwrap().strip_prefix("Trigger: ").unwrap();
                let key = (part.header("part").unwrap().to_owned(), trigger.to_owned());
                *found.entry(key).or_default() += part.totals.0;
            }
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn bytes_do_not_depend_on_workers(profile in random::profile()) {
        for options in options() {
            for format in tyrion_converters::outputs::FORMATS {
                let [one, three] = [1, 3].map(|workers| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
                    pool.install(|| written(format, &profile, &options))
                });
                prop_assert_eq!(one, three);
            }
        }
    }
}
