//! All outputs say the same of a profile, to the nanosecond, and say it in the
//! same bytes however many workers there are.

use crate::support::{
    callgrind, of_sums, random, stream_of,
    totals::{self, TotalsReader},
    traced, written,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tyrion_converters::outputs::{
    By, Format, Metric, OutputOptions, by_name, go_together, pprof::proto,
};
use tyrion_model::profile::Profile;

fn format(name: &str) -> &'static Format {
    by_name(name).unwrap_or_else(|| panic!("no format {name}"))
}

fn stream(name: &str, profile: &Profile, options: &OutputOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream_of(format(name))(profile, options, &mut bytes).unwrap();
    bytes
}

/// Every combination of the options that change what is summed.
fn options() -> Vec<OutputOptions> {
    let mut list = Vec::new();
    for bits in 0..8 {
        list.push(OutputOptions {
            lock_frame: bits & 1 != 0,
            lock_identity: bits & 2 != 0,
            thread_label: bits & 4 != 0,
            by_thread: bits & 4 == 0,
            max_parts: [256, 4, 2, 1][bits as usize % 4],
            ..OutputOptions::default()
        });
    }
    list
}

/// Every choice of a metric and of whose stack carries it, the open ones too.
fn shown() -> impl Iterator<Item = (Option<Metric>, Option<By>)> {
    let metrics = Metric::ALL.map(Some).into_iter().chain([None]);
    let all = metrics.flat_map(|metric| by().map(move |by| (metric, by)));
    all.filter(|&(metric, by)| go_together(metric, by))
}

/// Whose stack may carry it, the open choice too.
fn by() -> impl Iterator<Item = Option<By>> {
    By::ALL.map(Some).into_iter().chain([None])
}

/// What a picture of these options sums to.
fn picture(profile: &Profile, options: &OutputOptions) -> u64 {
    let [wait_ns, count, acquisitions, hold_ns, blamed_ns, wall_ns, cpu_ns, blocked_ns, _] =
        totals::of_profile(profile, options.by).cost;
    match options.metric_of(profile) {
        Metric::Wait => wait_ns,
        Metric::Contentions => count,
        Metric::Hold => hold_ns,
        Metric::Acquisitions => acquisitions,
        Metric::Blame => blamed_ns,
        Metric::Wall => wall_ns,
        Metric::Cpu => cpu_ns,
        Metric::Blocked => blocked_ns,
        Metric::Samples => profile.samples.iter().map(|sample| sample.count).sum(),
    }
}

/// Every output of the profile sums to what the profile does.
fn check_totals(profile: &Profile, options: &OutputOptions) {
    for format in of_sums() {
        check_format(format, profile, options);
    }
}

/// Both as files, where it has several, and as one stream.
fn check_format(format: &Format, profile: &Profile, options: &OutputOptions) {
    let both = |options: &OutputOptions| {
        let stream = vec![(format.name.to_owned(), stream(format.name, profile, options))];
        [written(format, profile, options), stream]
    };
    let expected = totals::of_profile(profile, options.by);
    match totals::reader(format) {
        TotalsReader::Costs(read) => {
            let [files, stream] = both(options);
            assert_eq!([read(&files), read(&stream)], [expected.cost; 2], "{}", format.name);
            assert!(files.len() - 1 <= options.max_parts.max(1));
        }
        TotalsReader::Totals(read) => {
            let [files, stream] = both(options);
            assert_eq!([read(&files), read(&stream)], [expected; 2], "{}", format.name);
        }
        TotalsReader::Picture(read) => {
            for (metric, _) in shown().filter(|&(_, by)| by == options.by) {
                let options = OutputOptions { metric, ..options.clone() };
                let stream = [(format.name.to_owned(), stream(format.name, profile, &options))];
                assert_eq!(read(&stream), picture(profile, &options), "{}", format.name);
            }
        }
    }
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

/// A path as pictures have it: what is `[monitor] C.lock1 (l.Lock1)` in text is
/// `C.lock1 [monitor]` there.
fn brief(path: &str) -> String {
    let of = |frame: &str| match frame.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((kind, lock)) => format!("{} [{kind}]", lock.split(" (").next().unwrap()),
        None => frame.to_owned(),
    };
    path.split(';').map(of).collect::<Vec<_>>().join(";")
}

fn brief_lines(lines: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut brief_lines = BTreeMap::new();
    for (path, value) in lines {
        *brief_lines.entry(brief(path)).or_default() += value;
    }
    brief_lines
}

/// `p.C0::m1()` and `l.Lock::[monitor]` as pprof has them.
fn dotted(name: &str) -> String {
    match name.split_once("::") {
        Some((class, lock)) if lock.starts_with('[') => match lock.split_once(' ') {
            Some((kind, name)) => format!("{} {kind}]", name.trim_end_matches(']')),
            None => format!("{class} {lock}"),
        },
        Some((class, method)) => format!("{class}.{}", method.trim_end_matches("()")),
        None => name.to_owned(),
    }
}

/// The frames of a flame graph that are wide enough to be drawn, worked out from
/// collapsed lines: names and widths, sorted.
fn wide_frames(lines: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let lines = brief_lines(lines);
    let total: u64 = lines.values().sum();
    let mut widths: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, value) in &lines {
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
            let (title, rest) = frame.split_once("</title>").unwrap();
            let (name, _) = title.rsplit_once(" (").unwrap();
            let width = rest.split("fg:w=\"").nth(1).unwrap().split('"').next().unwrap();
            (name.to_owned(), width.parse().unwrap())
        })
        .collect();
    frames.sort();
    frames
}

/// That what callgrind's calls bring in and take out adds up to the whole.
#[track_caller]
fn check_calls(profile: &Profile) {
    for by in by() {
        let options = OutputOptions { by, ..OutputOptions::default() };
        let text = String::from_utf8(stream("callgrind", profile, &options)).unwrap();
        let flow = callgrind::parse(&text).check_flow();
        assert_eq!(flow, totals::of_profile(profile, by).cost);
    }
}

/// Each profile is written in all formats and shown in all ways, which takes a while.
fn cases() -> ProptestConfig {
    let everywhere = std::env::var_os("TYRION_TEST_EVERYWHERE").is_some();
    ProptestConfig::with_cases(if everywhere { 100 } else { 20 })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn totals_are_equal(profile in random::profile()) {
        for options in options() {
            check_totals(&profile, &options);
        }
    }

    #[test]
    fn totals_of_trace_mode_are_equal(profile in random::traced()) {
        for options in options() {
            for by in by() {
                check_totals(&profile, &OutputOptions { by, ..options.clone() });
            }
        }
    }

    #[test]
    fn totals_of_samples_are_equal(profile in random::sampled()) {
        for options in options() {
            for by in by() {
                check_totals(&profile, &OutputOptions { by, ..options.clone() });
            }
        }
    }

    #[test]
    fn calls_of_samples_add_up(profile in random::sampled()) {
        check_calls(&profile);
    }

    #[test]
    fn pictures_of_samples_show_all_that_is_wide_enough(profile in random::sampled()) {
        for (metric, by) in shown() {
            for by_thread in [false, true] {
                let options = OutputOptions { metric, by, by_thread, ..OutputOptions::default() };
                let lines = lines(&stream("collapsed", &profile, &options));
                if !lines.is_empty() {
                    let drawn = drawn_frames(&stream("flamegraph", &profile, &options));
                    prop_assert_eq!(drawn, wide_frames(&lines));
                }
            }
        }
    }

    #[test]
    fn calls_of_trace_mode_add_up(profile in random::traced()) {
        check_calls(&profile);
    }

    #[test]
    fn pictures_of_trace_mode_show_all_that_is_wide_enough(profile in random::traced()) {
        for metric in Metric::ALL.map(Some) {
            let options = OutputOptions { metric, ..OutputOptions::default() };
            let lines = lines(&stream("collapsed", &profile, &options));
            if !lines.is_empty() {
                let drawn = drawn_frames(&stream("flamegraph", &profile, &options));
                prop_assert_eq!(drawn, wide_frames(&lines));
            }
        }
    }

    #[test]
    fn stacks_are_equal(profile in random::profile()) {
        for lock_frame in [true, false] {
            let options = OutputOptions { lock_frame, ..OutputOptions::default() };
            let pprof = paths(&totals::pprof(&stream("pprof", &profile, &options)));
            let counted = OutputOptions { metric: Some(Metric::Contentions), ..options.clone() };
            let by_count = lines(&stream("collapsed", &profile, &counted));
            let by_time = lines(&stream("collapsed", &profile, &options));
            let counts = pprof.iter().map(|(path, sums)| (path.clone(), sums.1)).collect();
            prop_assert_eq!(brief_lines(&by_count), counts);
            let times = pprof.iter().filter(|(_, sums)| sums.0 > 0);
            let times = times.map(|(path, sums)| (path.clone(), sums.0)).collect();
            prop_assert_eq!(brief_lines(&by_time), times);
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
            let options = OutputOptions { lock_frame, ..OutputOptions::default() };
            let text = String::from_utf8(stream("callgrind", &profile, &options)).unwrap();
            let merged = callgrind::parse(&text);
            prop_assert_eq!(&merged.check_flow()[..2], &[wait_ns, count]);

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
                    *inclusive.entry(dotted(name)).or_default() += call.1[1];
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
        for (_, bytes) in written(format("callgrind"), &profile, &OutputOptions::default()) {
            if bytes.is_empty() {
                continue;
            }
            let part = callgrind::parse(std::str::from_utf8(&bytes).unwrap());
            prop_assert_eq!(part.check_flow(), part.totals);
            if part.totals[1] > 0 {
                let trigger = part.header("desc").unwrap().strip_prefix("Trigger: ").unwrap();
                let key = (part.header("part").unwrap().to_owned(), trigger.to_owned());
                *found.entry(key).or_default() += part.totals[0];
            }
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn bytes_do_not_depend_on_workers(
        profile in random::profile(), traced in random::traced(), sampled in random::sampled(),
    ) {
        for options in options() {
            check_workers(&profile, &options);
        }
        for (metric, by) in shown() {
            check_workers(&traced, &OutputOptions { metric, by, ..OutputOptions::default() });
            check_workers(&sampled, &OutputOptions { metric, by, ..OutputOptions::default() });
        }
    }
}

fn check_workers(profile: &Profile, options: &OutputOptions) {
    for format in of_sums() {
        let [one, three] = [1, 3].map(|workers| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            pool.install(|| written(format, profile, options))
        });
        assert_eq!(one, three);
    }
}

/// From a log's bytes to those of the outputs.
#[test]
fn any_number_of_workers_writes_the_same_of_a_traced_log() {
    let written_by = |workers| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        pool.install(|| {
            let profile = traced::profile();
            let of_format = |format| {
                let options =
                    |(metric, by)| OutputOptions { metric, by, ..OutputOptions::default() };
                shown()
                    .map(options)
                    .map(|options| written(format, &profile, &options))
                    .collect::<Vec<_>>()
            };
            of_sums().map(of_format).collect::<Vec<_>>()
        })
    };
    let one = written_by(1);
    assert_eq!(one, written_by(2));
    assert_eq!(one, written_by(7));
}
