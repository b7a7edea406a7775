//! Who waits for whom, of a program that knows.

use crate::support::{
    Jdk, Program, Report, list, number, on_jdks, share, stdout_of, text_of, tyrion,
};
use serde_json::Value;
use std::{path::Path, time::Duration};

on_jdks!(three_in_a_row: two, everywhere all);
on_jdks!(room_in_a_queue: two, everywhere all);
on_jdks!(deadlocked: one, everywhere two);

/// "first" waits for what "second" has, which waits for what "third" has.
fn three_in_a_row(jdk: &Jdk) {
    let recording = Program::truth(jdk, "wait-chain").record();
    let log = &recording.log;
    let report = Report::with(&[log], &["--top=0", "--thread=^(first|second|third)$"]);
    let section = report.section("wait-chains");
    check_sums(section);
    let overview = report.section("overview");
    let ended_ns = number(section, "wait_ns") - number(section, "pending_ns");
    let all_ns = ended_ns + number(section, "unowned_ns");
    assert_eq!(all_ns, number(overview, "wait_ns"), "the overview's");
    let chained = chain(section, &["first", "second"], "third");
    let alone = chain(section, &["first"], "second");
    let behind = chain(section, &["second"], "third");
    let rounds = recording.number("rounds");
    assert_eq!(number(behind, "waits"), rounds, "{section:#}");
    assert_eq!(number(chained, "waits"), rounds, "{section:#}");
    // Seen from outside, all three were there at the same time.
    for (chain, key) in [(chained, "chained"), (behind, "second")] {
        let wait_ns = number(chain, "wait_ns");
        let least_ns = recording.number(&format!("least_{key}_ns"));
        let most_ns = recording.number(&format!("{key}_ns"));
        assert!((least_ns..=most_ns).contains(&wait_ns), "{wait_ns}: {}", recording.said);
    }
    let first_ns = number(chained, "wait_ns") + number(alone, "wait_ns");
    assert!(first_ns <= recording.number("first_ns"), "{section:#}");
    for (step, (lock, kind)) in list(chained, "steps")
        .iter()
        .zip([("WaitChain.outer", "lock"), ("WaitChain.inner", "lock")])
    {
        assert_eq!((text_of(&step["lock"], "name"), text_of(step, "kind")), (lock, kind));
    }
    let ends = list(section, "ends");
    assert_eq!(text_of(&ends[0], "threads"), "third", "{section:#}");
    assert_eq!(number(&ends[0], "through_ns"), number(chained, "wait_ns"));
    check_jobs(log);
}

/// The same answer with any number of workers.
fn check_jobs(log: &Path) {
    for jobs in ["1", "4"] {
        let mut again = tyrion();
        again.args(["report", "--json", "--section=wait-chains", "--top=0", "--jobs", jobs]);
        let again: Value = serde_json::from_str(&stdout_of(again.arg(log))).unwrap();
        let all = Report::of(log);
        assert_eq!(again["sections"]["wait-chains"], *all.section("wait-chains"), "{jobs}");
    }
}

/// "first" waits for room in a queue, no lock: "second" makes it, who waits for what
/// "third" has.
fn room_in_a_queue(jdk: &Jdk) {
    let recording = Program::truth(jdk, "room-chain").record();
    let log = &recording.log;
    let report = Report::with(&[log], &["--top=0", "--thread=^(first|second|third)$"]);
    let section = report.section("wait-chains");
    check_sums(section);
    let (withheld, places) = (&section["withheld"], report.section("withheld"));
    let wait_ns = number(withheld, "wait_ns");
    let chains = list(withheld, "chains").iter();
    assert_eq!(chains.map(|chain| number(chain, "wait_ns")).sum::<u64>(), wait_ns);
    let all_ns = wait_ns + number(withheld, "unwoken_ns");
    assert_eq!(all_ns, number(places, "wait_ns"), "as the other section says");
    let rounds = recording.number("rounds");
    assert_eq!((number(withheld, "waits"), number(places, "waits")), (rounds, rounds));
    assert!(wait_ns <= recording.number("first_ns"), "{withheld:#}");
    let chained = chain(withheld, &["first", "second"], "third");
    assert_eq!(number(chained, "waits"), rounds, "{withheld:#}");
    let (least_ns, most_ns) =
        (recording.number("least_chained_ns"), recording.number("chained_ns"));
    let chained_ns = number(chained, "wait_ns");
    assert!((least_ns..=most_ns).contains(&chained_ns), "{chained_ns}: {}", recording.said);
    let kinds = list(chained, "steps").iter().map(|step| text_of(step, "kind"));
    assert_eq!(kinds.collect::<Vec<_>>(), ["condition", "lock"]);
    let place = &list(places, "places")[0];
    assert_eq!((text_of(place, "why"), number(place, "woken")), ("hands-over", rounds));
    let by = &list(place, "wakers")[0];
    assert_eq!((text_of(by, "threads"), number(by, "waits")), ("second", rounds), "{by:#}");
    assert!(text_of(by, "at").contains("RoomChain$Round.makeRoom("), "{by:#}");
    check_jobs(log);
}

/// The chain of these threads, one by one, to this one, which runs.
#[track_caller]
fn chain<'v>(section: &'v Value, steps: &[&str], end: &str) -> &'v Value {
    let is_it = |chain: &&Value| {
        let waiting = list(chain, "steps").iter().map(|step| text_of(step, "waiting"));
        waiting.eq(steps.iter().copied())
            && text_of(chain, "end") == end
            && text_of(chain, "end_state") == "runs"
    };
    let found = list(section, "chains").iter().find(is_it);
    found.unwrap_or_else(|| panic!("no {steps:?} to {end}: {section:#}"))
}

/// What is charged is what was waited for somebody known.
fn check_sums(section: &Value) {
    let wait_ns = number(section, "wait_ns");
    let by = |key: &str| list(section, key).iter().map(|it| number(it, "wait_ns")).sum::<u64>();
    assert_eq!([by("chains"), by("phases")], [wait_ns; 2], "{section:#}");
    assert_eq!(by("ends") + number(section, "ring_ns"), wait_ns, "{section:#}");
    let chains = list(section, "chains").iter();
    let shares: f64 = chains.map(|it| share(it, "wait_share")).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
}

/// Threads in a deadlock are told as such, and nobody is charged.
fn deadlocked(jdk: &Jdk) {
    let mut running = Program::truth(jdk, "deadlock lock").start();
    running.await_line("deadlocked");
    // The log of a program that runs lasts until it is read.
    std::thread::sleep(Duration::from_millis(200));
    let report = Report::of(&running.log);
    running.kill_jvm();
    let section = report.section("wait-chains");
    assert_eq!(number(section, "pending"), 2, "{section:#}");
    let rings = list(section, "chains").iter().filter(|it| text_of(it, "end_state") == "ring");
    let mut rings: Vec<Vec<&str>> = rings
        .map(|ring| list(ring, "steps").iter().map(|step| text_of(step, "waiting")).collect())
        .collect();
    rings.sort_unstable();
    assert_eq!(rings, [["left", "right"], ["right", "left"]], "{section:#}");
    assert!(number(section, "ring_ns") >= 2 * 200_000_000, "{section:#}");
}
