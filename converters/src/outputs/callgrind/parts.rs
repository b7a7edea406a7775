//! Which threads share a part.

use crate::outputs::rows::{RowColumn, RowSpans, Rows};
use std::collections::{BTreeMap, HashMap};
use tyrion_model::{
    grouping::replace_numbers,
    profile::{Profile, Thread},
};

/// The threads of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ThreadPart {
    /// The run they belong to, an index into [`Profile::runs`].
    pub(super) run: u32,
    /// Their number within the run, from 1.
    pub(super) number: u32,
    /// The thread's name, or the group's.
    pub(super) name: String,
    /// Indices into [`Profile::threads`], ascending.
    pub(super) threads: Vec<u32>,
    /// The rows of each of them.
    pub(super) rows: Vec<RowSpans>,
}

/// Threads that may share a part: those of one run whose names differ in numbers
/// only.
type PartGroup = (u32, String);

/// Gives each thread that has rows a part of its own, if those are not more than
/// `max_parts`. If they are, threads whose names differ in numbers only share
/// one, the largest such group first, until it fits. If that is not enough, the
/// groups that waited longest keep their parts and the others share the last.
///
/// Without any rows there is one part that says so.
pub(super) fn plan(profile: &Profile, rows: &Rows<'_>, max_parts: usize) -> Vec<ThreadPart> {
    let max_parts = max_parts.max(1);
    let spans = rows.by_thread(profile.threads.len());
    let threads: Vec<u32> =
        (0..spans.len() as u32).filter(|&at| !spans[at as usize].is_empty()).collect();
    let mut parts = if threads.len() <= max_parts {
        threads.iter().map(|&thread| single(profile, thread)).collect()
    } else {
        grouped(profile, &threads, max_parts)
    };
    for part in &mut parts {
        part.rows = part.threads.iter().map(|&at| spans[at as usize].clone()).collect();
    }
    if parts.len() > max_parts {
        parts = with_others(profile, rows, parts, max_parts);
    }
    if parts.is_empty() {
        let nothing = if profile.lacks_waits { "no samples" } else { "no waits" };
        parts.push(part(0, nothing.to_owned(), Vec::new()));
    }
    parts.sort_by_key(|part| (part.run, part.threads.first().copied()));
    number(&mut parts);
    parts
}

fn part(run: u32, name: String, threads: Vec<u32>) -> ThreadPart {
    ThreadPart { run, number: 0, name, threads, rows: Vec::new() }
}

fn single(profile: &Profile, thread: u32) -> ThreadPart {
    let run = profile.threads[thread as usize].run;
    part(run, profile.thread_name(thread), vec![thread])
}

/// Groups the threads, the largest group first, until there are no more than
/// `max_parts` or nothing is left to group.
fn grouped(profile: &Profile, threads: &[u32], max_parts: usize) -> Vec<ThreadPart> {
    let mut groups: BTreeMap<PartGroup, Vec<u32>> = BTreeMap::new();
    let mut left = threads.len();
    for &thread in threads {
        let Thread { run, .. } = profile.threads[thread as usize];
        groups.entry((run, group_name(profile, thread))).or_default().push(thread);
    }
    let mut groups: Vec<(PartGroup, Vec<u32>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, threads)| std::cmp::Reverse(threads.len()));
    let mut parts = Vec::new();
    for ((run, name), threads) in groups {
        if parts.len() + left > max_parts && threads.len() > 1 {
            left -= threads.len();
            let name = format!("{name} ({} threads)", threads.len());
            parts.push(part(run, name, threads));
        } else {
            left -= threads.len();
            parts.extend(threads.into_iter().map(|thread| single(profile, thread)));
        }
    }
    parts
}

/// Puts the parts that waited least into one, so that `max_parts` are left.
fn with_others(
    profile: &Profile,
    rows: &Rows<'_>,
    mut parts: Vec<ThreadPart>,
    max_parts: usize,
) -> Vec<ThreadPart> {
    // Of those that waited as long, those that held locks longest count more;
    // then those that were seen longest.
    let columns = [RowColumn::WaitNs, RowColumn::HoldNs, RowColumn::WallNs];
    let cost_ns = |part: &ThreadPart| {
        let rows = part.rows.iter().flat_map(RowSpans::iter).map(|at| rows.row(at));
        rows.fold([0u64; 3], |sums, row| {
            std::array::from_fn(|nth| sums[nth].saturating_add(row.value(columns[nth])))
        })
    };
    parts.sort_by_cached_key(|part| {
        (std::cmp::Reverse(cost_ns(part)), part.threads.first().copied())
    });
    let mut members: Vec<(u32, RowSpans)> = parts
        .split_off(max_parts - 1)
        .into_iter()
        .flat_map(|part| part.threads.into_iter().zip(part.rows))
        .collect();
    members.sort_unstable_by_key(|&(thread, _)| thread);
    let run = members.first().map_or(0, |&(thread, _)| profile.threads[thread as usize].run);
    let (threads, rows): (Vec<u32>, Vec<RowSpans>) = members.into_iter().unzip();
    let mut others = part(run, format!("others ({} threads)", threads.len()), threads);
    others.rows = rows;
    parts.push(others);
    parts
}

/// The name of a thread with `*` for what numbers it. Virtual threads have no name by default and are one group.
fn group_name(profile: &Profile, thread: u32) -> String {
    let described = &profile.threads[thread as usize];
    if described.name.is_empty() && described.is_virtual {
        return "unnamed virtual".to_owned();
    }
    replace_numbers(&profile.thread_name(thread), "*")
}

/// Numbers the parts of each run.
fn number(parts: &mut [ThreadPart]) {
    for run in parts.chunk_by_mut(|a, b| a.run == b.run) {
        for (number, part) in (1..).zip(run) {
            part.number = number;
        }
    }
}

/// How the names of the parts' files go on after that of the profile:
/// `.<pid>-<number>`, or `.<pid>.<run>-<number>` where there are several runs.
pub(super) fn suffixes(profile: &Profile, parts: &[ThreadPart]) -> Vec<String> {
    let mut largest: HashMap<u32, u32> = HashMap::new();
    for part in parts {
        let largest = largest.entry(part.run).or_default();
        *largest = part.number.max(*largest);
    }
    let suffix = |part: &ThreadPart| {
        let pid = profile.runs.get(part.run as usize).map_or(0, |run| run.pid);
        let run = match profile.runs.len() {
            0 | 1 => String::new(),
            _ => format!(".{}", part.run + 1),
        };
        // Equally long numbers: lists of files are in their order.
        let digits = largest.get(&part.run).map_or(0, |largest| largest.ilog10() as usize + 1);
        format!(".{pid}{run}-{:0width$}", part.number, width = digits.max(2))
    };
    parts.iter().map(suffix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::OutputOptions;
    use tyrion_model::profile::{Lock, NO_OWNER, Run, Stack, WaitRow};
    use tyrion_wire::WaitKind;

    /// A profile of threads with these names in each run, of which the n-th waits
    /// n times 10 ns.
    fn profile(runs: u32, names: &[&str]) -> Profile {
        let mut profile = Profile {
            runs: (0..runs).map(|pid| Run { pid, ..Run::default() }).collect(),
            stacks: vec![Stack::default()],
            locks: vec![Lock::default()],
            ..Profile::default()
        };
        for run in 0..runs {
            for (at, name) in names.iter().enumerate() {
                let thread = profile.threads.len() as u32;
                profile.threads.push(Thread {
                    run,
                    java_id: at as u64,
                    name: (*name).to_owned(),
                    is_virtual: name.is_empty(),
                    ..Thread::default()
                });
                let (kind, wait_ns) = (WaitKind::Monitor, 10 * (at as u64 + 1));
                profile.waits.push(WaitRow {
                    thread,
                    stack: 0,
                    lock: 0,
                    kind,
                    owner: NO_OWNER,
                    count: 1,
                    wait_ns,
                    max_ns: wait_ns,
                });
            }
        }
        profile.check().unwrap();
        profile
    }

    fn planned(profile: &Profile, max_parts: usize) -> Vec<ThreadPart> {
        plan(profile, &Rows::all(profile, &OutputOptions::default()), max_parts)
    }

    fn names(profile: &Profile, max_parts: usize) -> Vec<String> {
        let parts = planned(profile, max_parts);
        let threads: usize = parts.iter().map(|part| part.threads.len()).sum();
        assert_eq!(threads, profile.threads.len(), "every thread is in one part");
        assert!(parts.len() <= max_parts.max(1));
        parts.into_iter().map(|part| part.name).collect()
    }

    const NAMES: [&str; 8] = ["main", "w-1", "w-2", "w-3", "", "", "io:0.1", "io:0.2"];

    #[test]
    fn the_largest_groups_share_parts_first() {
        let profile = profile(1, &NAMES);
        let all = ["main", "w-1", "w-2", "w-3", "virtual-4", "virtual-5", "io:0.1", "io:0.2"];
        assert_eq!(names(&profile, 8), all);
        let workers = ["main", "w-* (3 threads)", "virtual-4", "virtual-5", "io:0.1", "io:0.2"];
        assert_eq!(names(&profile, 7), workers);
        assert_eq!(names(&profile, 6), workers);
        let groups = ["main", "w-* (3 threads)", "unnamed virtual (2 threads)", "io* (2 threads)"];
        assert_eq!(names(&profile, 4), groups);
    }

    #[test]
    fn then_those_that_waited_least_share_one() {
        let profile = profile(1, &NAMES);
        assert_eq!(
            names(&profile, 3),
            ["others (4 threads)", "unnamed virtual (2 threads)", "io* (2 threads)"]
        );
        assert_eq!(names(&profile, 1), ["others (8 threads)"]);
        assert_eq!(names(&profile, 0), ["others (8 threads)"]);
    }

    #[test]
    fn runs_are_kept_apart() {
        let profile = profile(2, &["a-1", "a-2", "b"]);
        assert_eq!(names(&profile, 4), ["a-* (2 threads)", "b", "a-* (2 threads)", "b"]);
        let parts = planned(&profile, 6);
        let numbers: Vec<_> = parts.iter().map(|part| (part.run, part.number)).collect();
        assert_eq!(numbers, [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]);
        let suffixes = suffixes(&profile, &parts);
        assert_eq!(suffixes[2..4], [".0.1-03", ".1.2-01"]);
    }

    #[test]
    fn numbers_of_files_are_equally_long() {
        let profile = profile(1, &["x"; 100]);
        let suffixes = suffixes(&profile, &planned(&profile, 256));
        assert_eq!((&*suffixes[0], &*suffixes[99]), (".0-001", ".0-100"));
    }

    #[test]
    fn no_waits_are_a_part() {
        let mut profile = profile(1, &["x"]);
        profile.waits.clear();
        let parts = planned(&profile, 256);
        assert_eq!(parts.len(), 1);
        assert_eq!((&*parts[0].name, parts[0].number), ("no waits", 1));
    }

    #[test]
    fn numbers_in_names_are_starred() {
        for (name, group) in [
            ("http-nio-8080-exec-3", "http-nio-*-exec-*"),
            ("conn 0123456789abcdef0 of 10.0.0.1:80", "conn * of *"),
            ("deadbeef", "deadbeef"),
            ("żółw 7", "żółw *"),
            ("", ""),
        ] {
            let profile = profile(1, &[name]);
            let group = if name.is_empty() { "unnamed virtual" } else { group };
            assert_eq!(group_name(&profile, 0), group);
        }
    }
}
