//! Profiles folded to packages and grouped by threads: the same sums, fewer rows.

use crate::support::{build::Build, random};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tyrion_model::{
    grouping::{Grouping, group},
    packages::fold,
    profile::{Function, GROUP, Profile, Run, SampleRow, State, Thread},
};
use tyrion_wire::WaitKind;

/// Everything that has to stay.
fn sums(profile: &Profile) -> [u64; 16] {
    let (count, wait_ns) = profile.totals();
    let (snapshots, wall_ns, cpu_ns) = profile.sample_totals();
    let longest = profile.waits.iter().map(|wait| wait.max_ns).max().unwrap_or(0);
    let of_samples = [snapshots, wall_ns, cpu_ns];
    let mut sums = [0; 16];
    sums[..3].copy_from_slice(&[count, wait_ns, longest]);
    sums[3..6].copy_from_slice(&of_samples);
    for row in &profile.acquisitions {
        sums[6] += row.acquisitions;
        sums[7] += row.reentrant;
        sums[8] += row.hold_ns;
        sums[14] += row.acquisitions_error;
        sums[15] += row.reentrant_error;
    }
    for row in &profile.blames {
        sums[9] += row.count;
        sums[10] += row.blamed_ns;
    }
    for row in &profile.wakes {
        sums[12] += row.count;
        sums[13] += row.blamed_ns;
    }
    let blocked = profile.samples.iter().filter(|sample| sample.state == State::Blocked);
    sums[11] = blocked.map(|sample| sample.wall_ns).sum();
    sums
}

fn packages(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A stack's methods, outermost first.
fn path(profile: &Profile, stack: u32) -> Vec<String> {
    let mut path: Vec<String> = profile
        .frames_of(stack)
        .map(|frame| {
            let function = &profile.functions[frame.function as usize];
            let dot = if function.class.is_empty() { "" } else { "." };
            format!("{}{dot}{}", function.class, function.method)
        })
        .collect();
    path.reverse();
    path
}

/// perf-sampler's rule, written down plainly.
fn folded(path: &[String], package: &str) -> Vec<String> {
    let groups = path.iter().take(1).take_while(|frame| !frame.contains('.')).count();
    let prefix = format!("{package}.");
    match path.iter().rposition(|frame| frame.starts_with(&prefix)) {
        Some(at) => path.iter().take(at + 2).cloned().collect(),
        None => path.iter().take(groups + 1).cloned().collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn folding_keeps_sums(profile in random::sampled()) {
        for names in [&["p.C0"][..], &["p.C1"], &["p"], &["q"], &["p.C0", "p.C1"]] {
            let once = fold(profile.clone(), &packages(names));
            prop_assert_eq!(once.check(), Ok(()));
            prop_assert_eq!(sums(&once), sums(&profile));
            prop_assert_eq!(&fold(once.clone(), &packages(names)), &once, "twice is once");
        }
        prop_assert_eq!(&fold(profile.clone(), &[]), &profile);
    }

    #[test]
    fn folding_follows_perf_samplers_rule(profile in random::sampled()) {
        for package in ["p.C0", "p.C1", "q"] {
            let out = fold(profile.clone(), &packages(&[package]));
            let found: BTreeSet<_> =
                out.samples.iter().map(|sample| path(&out, sample.stack)).collect();
            let samples = profile.samples.iter();
            let expected: BTreeSet<_> =
                samples.map(|sample| folded(&path(&profile, sample.stack), package)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn grouping_keeps_sums(profile in random::sampled()) {
        for rule in ["digits", "name", "pool", "none", "s/-.*//"] {
            let by = Grouping::parse(rule).unwrap();
            let once = group(profile.clone(), &by);
            prop_assert_eq!(once.check(), Ok(()));
            prop_assert_eq!(sums(&once), sums(&profile));
            prop_assert_eq!(&group(once.clone(), &by), &once, "twice is once");
            if rule == "none" {
                prop_assert_eq!(&once, &profile);
                continue;
            }
            let names: BTreeSet<(u32, String)> =
                profile.threads.iter().map(|thread| (thread.run, by.group_name(thread))).collect();
            let found: Vec<_> = once.threads.iter().map(|t| (t.run, t.name.clone())).collect();
            prop_assert_eq!(found.len(), names.len(), "each group is one thread of its run");
            prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), names);
        }
    }
}

#[test]
fn groups_stay_and_do_not_count_as_frames() {
    let mut b = Build::new();
    let run = b.run(Run::default());
    let thread = b.thread(run, 1, "http-1");
    let orders = b.function(Function {
        method: "GET /orders".to_owned(),
        descriptor: GROUP.to_owned(),
        ..Function::default()
    });
    let [jdk, servlet, shop, driver, read] = [
        "java.lang.Thread.run",
        "org.web.Servlet.doGet",
        "com.acme.Shop.order",
        "org.db.Driver.query",
        "org.db.Driver.read",
    ]
    .map(|name| b.method(name));
    let deep = b.stack(&[(orders, 0), (jdk, 1), (servlet, 2), (shop, 3), (driver, 4), (read, 5)]);
    let lost = b.stack(&[(orders, 0), (jdk, 1), (servlet, 2)]);
    let lock = b.lock(run, 1, "com.acme.Shop");
    b.wait(thread, deep, lock, WaitKind::Monitor, 1, 10);
    b.wait(thread, lost, lock, WaitKind::Monitor, 2, 20);
    let out = fold(b.done(), &packages(&["com.acme"]));
    let paths: Vec<_> = out.waits.iter().map(|wait| path(&out, wait.stack).join(" ")).collect();
    assert_eq!(
        paths,
        [
            "GET /orders java.lang.Thread.run",
            "GET /orders java.lang.Thread.run org.web.Servlet.doGet com.acme.Shop.order \
             org.db.Driver.query",
        ]
    );
}

#[test]
fn a_group_is_what_all_its_threads_are() {
    let thread = |java_id, name: &str, group: &str, daemon| Thread {
        java_id,
        name: name.to_owned(),
        group: group.to_owned(),
        daemon,
        ..Thread::default()
    };
    let sample = |thread, count| SampleRow {
        thread,
        stack: 0,
        state: State::Running,
        lock: tyrion_model::profile::NO_LOCK,
        kind: None,
        count,
        wall_ns: 10,
        cpu_ns: 1,
    };
    let profile = Profile {
        runs: vec![Run::default()],
        threads: vec![
            thread(1, "pool-1-thread-1", "main", true),
            thread(2, "main", "main", false),
            thread(3, "pool-1-thread-2", "other", false),
        ],
        stacks: vec![Default::default()],
        has_samples: true,
        samples: vec![sample(0, 1), sample(1, 2), sample(2, 4)],
        ..Profile::default()
    };
    let out = group(profile, &Grouping::Pool);
    assert_eq!(
        out.threads,
        [thread(0, "pool-1-thread", "", false), thread(2, "main", "main", false)]
    );
    let merged = SampleRow { wall_ns: 20, cpu_ns: 2, ..sample(0, 5) };
    assert_eq!(out.samples, [merged, sample(1, 2)]);
}
