//! The trees and the lines of the samplers that Tyrion comes after, which look
//! on in the same program, and Tyrion's own.

use super::{
    outputs::{StateRow, WATCHED, rows, sum},
    shares::Judge,
};
use crate::support::{Recording, Report, list, number, stdout_of, text_of, tyrion};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PACKAGE: &str = "tyrion.sampling";
/// What the forebear of the lines shows.
const SHOWN: usize = 40;

/// What the tree of the forebear in the program is off by, of what the program
/// measured itself.
pub fn error(recording: &Recording) -> f64 {
    let groups = list(&recording.said, "tree");
    let cumulative_ns = |method: &str| -> u64 {
        let nodes = groups.iter().flat_map(|group| list(group, "nodes"));
        let at_method = nodes.filter(|node| text_of(node, "path").ends_with(method));
        at_method.map(|node| number(node, "cumulative_ns")).sum()
    };
    let mut worst = 0.0f64;
    for thread in list(&recording.said, "threads") {
        // Methods that call others of ours are of no thread alone.
        for activity in list(thread, "activities").iter().filter(|it| it["method"] != "live") {
            let method = format!(";{}.{}", text_of(activity, "class"), text_of(activity, "method"));
            let off_ns = cumulative_ns(&method).abs_diff(number(activity, "wall_ns"));
            worst = worst.max(off_ns as f64 / number(thread, "lived_ns") as f64);
        }
    }
    worst
}

/// The same groups, the same nodes, and the same shares of time and of ticks.
pub fn check(judge: &mut Judge, recording: &Recording) {
    let rows = folded(recording);
    let groups = list(&recording.said, "tree");
    let names: BTreeSet<&str> = groups.iter().map(|group| text_of(group, "group")).collect();
    let own: BTreeSet<&str> = rows.iter().map(|row| row.thread.as_str()).collect();
    assert_eq!(own, names);
    for group in groups {
        let name = text_of(group, "group");
        let own: Vec<&StateRow> = rows.iter().filter(|row| row.thread == name).collect();
        check_group(judge, group, &own);
    }
    check_lines(judge, recording);
}

/// The report has what the outputs have, to the ns, and as the forebear has it.
pub fn check_report(recording: &Recording) {
    let whole = check_whole(recording, list(&recording.said, "tree"), &folded(recording));
    check_hidden(recording, &whole);
}

/// By groups of threads, and cut down to what is of interest.
fn folded(recording: &Recording) -> Vec<StateRow> {
    let options = ["--thread", WATCHED, "--group-by", "digits", "--packages", PACKAGE];
    rows(&recording.log, "wall", &options)
}

/// What the report shows for a stack without frames.
const NO_FRAME: &str = "[no Java frame]";

/// Cumulative and own time by path: `Thread.run;Foo.bar`.
type PathTree = BTreeMap<String, (u64, u64)>;

fn tree(rows: &[&StateRow]) -> PathTree {
    let mut tree = PathTree::new();
    for row in rows {
        // A thread may be seen before its first frame.
        let none = [NO_FRAME.to_owned()];
        let frames = if row.frames.is_empty() { &none[..] } else { &row.frames };
        for depth in 1..=frames.len() {
            let (cumulative, own) = tree.entry(frames[..depth].join(";")).or_default();
            *cumulative += row.ns;
            *own += if depth == frames.len() { row.ns } else { 0 };
        }
    }
    tree
}

fn check_group(judge: &mut Judge, group: &Value, rows: &[&StateRow]) {
    let name = text_of(group, "group");
    let (total_ns, sampled_ns) = (number(group, "wall_ns"), sum(rows.iter().copied(), |_| true));
    judge.compare(&format!("group {name}"), sampled_ns as f64 / total_ns as f64, 1.0);
    let theirs: PathTree = list(group, "nodes")
        .iter()
        .map(|node| {
            let times = (number(node, "cumulative_ns"), number(node, "method_ns"));
            (text_of(node, "path").to_owned(), times)
        })
        .collect();
    let ours = tree(rows);
    let paths: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for path in paths {
        let of = |tree: &PathTree, total_ns: u64| {
            let (cumulative, own) = tree.get(path).copied().unwrap_or_default();
            (cumulative as f64 / total_ns as f64, own as f64 / total_ns as f64)
        };
        let (truth, got) = (of(&theirs, total_ns), of(&ours, sampled_ns));
        judge.compare(&format!("tree {name} {path}"), got.0, truth.0);
        judge.compare(&format!("tree {name} {path} itself"), got.1, truth.1);
    }
}

/// A tick is a tick, however long the samples are apart.
fn check_lines(judge: &mut Judge, recording: &Recording) {
    let ticks = |lines: &[Value], key: &str| -> BTreeMap<String, f64> {
        let all: u64 = lines.iter().map(|line| number(line, key)).sum();
        let mut shares = BTreeMap::new();
        for line in lines {
            let share: &mut f64 = shares.entry(place(text_of(line, "line"))).or_default();
            *share += number(line, key) as f64 / all.max(1) as f64;
        }
        shares
    };
    let theirs = ticks(list(&recording.said, "lines"), "ticks");
    let options = ["--section=lines", "--state=all", "--thread", WATCHED];
    let report = Report::with(&[&recording.log], &options);
    let lines = list(report.section("lines"), "lines");
    let counts: Vec<u64> = lines.iter().map(|line| number(line, "samples")).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b) && counts.len() <= SHOWN, "{counts:?}");
    let ours = ticks(lines, "samples");
    let names: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for name in names {
        let of = |ticks: &BTreeMap<String, f64>| ticks.get(name).copied().unwrap_or(0.0);
        judge.compare(&format!("line {name}"), of(&ours), of(&theirs));
    }
    check_listing(recording, lines);
}

/// A line; of the method that is blocked all of them. The interpreter tells Java
/// programs that a thread blocked at `synchronized` is on the line after it, and
/// we know better.
fn place(line: &str) -> String {
    let blocked = "tyrion.sampling.Actors$Blocked.entering";
    if line.starts_with(blocked) { blocked.to_owned() } else { line.to_owned() }
}

/// For eyes: the number and the line, its class shortened where it must be.
fn check_listing(recording: &Recording, lines: &[Value]) {
    let mut report = tyrion();
    report.args(["report", "--section=lines", "--state=all", "--thread", WATCHED]);
    let text = stdout_of(report.arg(&recording.log));
    for line in lines {
        let (count, place) = (number(line, "samples").to_string(), text_of(line, "line"));
        let method = place.rsplit('.').next().unwrap();
        // Of a long name the middle is left out, even of a method's.
        let is_place = |shown: &str| match shown.rsplit_once('…') {
            Some((_, end)) => place.ends_with(end),
            None => shown.ends_with(method),
        };
        let is_it = |shown: &str| {
            let mut words = shown.split_whitespace();
            words.next().is_some_and(|first| first.replace(',', "") == count)
                && words.next().is_some_and(is_place)
        };
        assert!(text.lines().any(is_it), "no {count} {place}:\n{text}");
    }
}

/// A node of the report's: its path of frames with lines, and its time.
type ReportNode = (Vec<String>, u64, u64);

/// The nodes of the report, by group.
fn check_whole(
    recording: &Recording,
    groups: &[Value],
    rows: &[StateRow],
) -> BTreeMap<String, Vec<ReportNode>> {
    let options =
        ["--section=tree", "--state=all", "--zero", "--thread", WATCHED, "--packages", PACKAGE];
    let report = Report::with(&[&recording.log], &options);
    let whole = nodes_by_group(&report);
    assert_eq!(whole.len(), groups.len());
    for group in groups {
        let name = text_of(group, "group");
        let threads = list(group, "threads");
        let shown = group_of(&report, name);
        assert_eq!(list(shown, "threads"), threads, "{name}");
        assert_eq!(number(shown, "thread_count") as usize, threads.len(), "{name}");
        let mut by_method = PathTree::new();
        for (path, cumulative_ns, method_ns) in &whole[name] {
            let method = |frame: &String| frame.split('(').next().unwrap().to_owned();
            // What is blocked on a lock is at the frame that it stands below.
            let is_lock = path.last().is_some_and(|frame| is_lock(frame));
            let path = &path[..path.len() - usize::from(is_lock)];
            let path: Vec<String> = path.iter().map(method).collect();
            let (cumulative, own) = by_method.entry(path.join(";")).or_default();
            *cumulative += if is_lock { 0 } else { *cumulative_ns };
            *own += method_ns;
        }
        let own: Vec<&StateRow> = rows.iter().filter(|row| row.thread == name).collect();
        assert_eq!(by_method, tree(&own), "{name}");
    }
    whole
}

/// Whether a frame stands for a lock, `[lock] Cache.lock (com.acme.Sync)`.
fn is_lock(frame: &str) -> bool {
    frame.starts_with('[') && frame.contains("] ")
}

fn group_of<'r>(report: &'r Report, name: &str) -> &'r Value {
    let [interval] = list(report.section("tree"), "intervals") else { panic!("not one interval") };
    let mut groups = list(interval, "groups").iter();
    groups.find(|group| group["group"] == name).unwrap_or_else(|| panic!("no {name}: {interval}"))
}

fn nodes_by_group(report: &Report) -> BTreeMap<String, Vec<ReportNode>> {
    let [interval] = list(report.section("tree"), "intervals") else { panic!("not one interval") };
    let mut by_group = BTreeMap::new();
    for group in list(interval, "groups") {
        let mut path: Vec<String> = Vec::new();
        let nodes = list(group, "nodes").iter().map(|node| {
            path.truncate(number(node, "level") as usize);
            path.push(text_of(node, "frame").to_owned());
            (path.clone(), number(node, "cumulative_ns"), number(node, "method_ns"))
        });
        by_group.insert(text_of(group, "group").to_owned(), nodes.collect());
    }
    by_group
}

/// Without `--zero`, a node that only called another one is not shown; and so
/// in the text.
fn check_hidden(recording: &Recording, whole: &BTreeMap<String, Vec<ReportNode>>) {
    let options = ["--section=tree", "--state=all", "--thread", WATCHED, "--packages", PACKAGE];
    let report = Report::with(&[&recording.log], &options);
    let text = stdout_of(tyrion().arg("report").args(options).arg(&recording.log));
    assert_eq!(text.matches("Report interval: ").count(), 1, "{text}");
    for (name, nodes) in whole {
        let is_callee = |path: &[String], other: &ReportNode| {
            other.0.len() == path.len() + 1 && other.0.starts_with(path)
        };
        let is_shown = |(path, cumulative_ns, method_ns): &&ReportNode| {
            let mut callees = nodes.iter().filter(|other| is_callee(path, other));
            let first = callees.next().map(|callee| callee.1);
            *method_ns != 0 || callees.next().is_some() || first != Some(*cumulative_ns)
        };
        let shown: Vec<&ReportNode> = nodes.iter().filter(is_shown).collect();
        let got = list(group_of(&report, name), "nodes");
        let key = |node: &Value| (text_of(node, "frame").to_owned(), number(node, "cumulative_ns"));
        let expected = shown.iter().map(|node| (node.0.last().unwrap().clone(), node.1));
        // Others tell frames apart that look the same, or say where a lock was
        // waited for.
        let tells_time = |(at, node): &(usize, &Value)| {
            let only = |next: &Value| {
                number(next, "depth") == number(node, "depth") + 1
                    && number(next, "cumulative_ns") == number(node, "cumulative_ns")
            };
            number(node, "method_ns") != 0 || !got.get(at + 1).is_some_and(only)
        };
        let told = got.iter().enumerate().filter(tells_time);
        let got_keys: Vec<(String, u64)> = told.map(|(_, node)| key(node)).collect();
        assert_eq!(got_keys, expected.collect::<Vec<_>>(), "{name}");
        check_text(&text, group_of(&report, name));
    }
}

/// The lines of a group, with what the forebear has in them.
fn check_text(text: &str, group: &Value) {
    let threads: Vec<&str> =
        list(group, "threads").iter().map(|name| name.as_str().unwrap()).collect();
    let title = format!(
        "Aggregated thread: {}. Max depth: {}. Distinct threads: {} [{}]",
        text_of(group, "group"),
        number(group, "max_depth"),
        threads.len(),
        threads.join(", "),
    );
    // Long titles take several lines.
    let start = title.split(" [").next().unwrap();
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no {title}:\n{text}"));
    let (head, rest) = rest.split_once(']').unwrap();
    let names = head.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(format!("{start} {names}]"), title);
    let mut lines = rest.lines().skip(1);
    let margin = lines.next().unwrap_or_default().find("frame").unwrap();
    for node in list(group, "nodes") {
        let line = lines.next().unwrap_or_default();
        let (columns, frame) = line.split_at(margin);
        let indent = frame.len() - frame.trim_start().len();
        assert_eq!(indent, 2 * number(node, "depth") as usize, "{line}");
        let ms = |key: &str| ((number(node, key) + 500_000) / 1_000_000).to_string();
        let times: Vec<&str> = columns.split_whitespace().take(2).collect();
        assert_eq!(times, [ms("cumulative_ns"), ms("method_ns")], "{line}: {node}");
        // Names that are too long for the line are shortened.
        let method = text_of(node, "frame").split('(').next().unwrap();
        let method = method.trim_end().rsplit('.').next().unwrap();
        assert!(frame.contains(method), "{line}: {node}");
    }
}
