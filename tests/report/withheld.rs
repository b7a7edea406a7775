//! Waits that are for no lock: of a program that knows which of them keep threads
//! from work, and of a database.

use crate::support::{
    Jdk, Program, Recording, Report, Sum, callgrind_parts, callgrind_sums, collapsed_sum,
    flamegraph_root, list, needs, number, on_jdks, pprof_sum, share, stdout_of, subject_jar,
    text_of, tyrion,
};
use serde_json::Value;
use std::path::Path;

on_jdks!(places: two, everywhere all);
on_jdks!(notifiers: one, everywhere two);
on_jdks!(derby: one, everywhere two);

/// What a place in the program's class does, what its waits are, and why.
const PLACES: [(&str, &str, &str); 8] = [
    ("$MonitorPool.borrow(", "withheld", "one-another"),
    ("$ConditionPool.borrow(", "withheld", "one-another"),
    ("$Transaction.awaitEnd(", "withheld", "other-objects"),
    ("$Filler.run(", "withheld", "hands-over"),
    ("$Reader.run(", "idle", "brought"),
    ("$Inbox.next(", "idle", "loop"),
    ("$Ticker.run(", "idle", "timed-out"),
    ("Withheld.awaitEnd(", "idle", "once"),
];

fn places(jdk: &Jdk) {
    let recording = Program::truth(jdk, "withheld").record();
    let report = Report::of(&recording.log);
    let withheld = report.section("withheld");
    for (name, verdict, why) in PLACES {
        let place = place(withheld, name);
        let told = (text_of(place, "verdict"), text_of(place, "why"));
        assert_eq!(told, (verdict, why), "{name}: {place:#}");
    }
    // Object.wait is counted call by call.
    for (name, key, threads) in [
        ("$MonitorPool.borrow(", "borrow", 8),
        ("$Transaction.awaitEnd(", "row", 4),
        ("$Inbox.next(", "fetch", 1),
        ("$Ticker.run(", "tick", 1),
    ] {
        let place = place(withheld, name);
        let counted = recording.number(&format!("{key}_waits"));
        assert!(counted > 1, "{name}: {}", recording.said);
        assert_eq!(number(place, "waits"), counted, "{name}: {place:#}");
        let most_ns = recording.number(&format!("{key}_wait_ns"));
        let wait_ns = number(place, "wait_ns");
        assert!((1..=most_ns).contains(&wait_ns), "{name}: {wait_ns} of {most_ns}");
        assert_eq!(number(place, "threads"), threads, "{name}: {place:#}");
    }
    // A thread that is signalled before it parks does not wait. One that has got the lock
    // just as it was unparked for it returns from its next park at once, which nobody
    // signals, and parks again.
    let lend = place(withheld, "$ConditionPool.borrow(");
    let signalled = number(lend, "waits") - number(&lend["evidence"], "timed_out");
    let counted = recording.number("lend_waits");
    assert!(signalled <= counted, "{counted}: {lend:#}");
    assert_eq!(number(lend, "threads"), 8, "{lend:#}");
    check_wakers(lend, "lender-*", "$ConditionPool.giveBack(");
    check_wakers(place(withheld, "$Filler.run("), "main", "Withheld.fill(");
    for name in ["$MonitorPool.borrow(", "$Transaction.awaitEnd("] {
        assert_eq!(number(place(withheld, name), "woken"), 0, "nothing tells of notify");
    }
    check_totals(&recording.log);
    check_jobs(&recording.log);
}

/// Whoever ended these waits is one of them, and was there; most of the waits are some
/// milliseconds long.
fn check_wakers(place: &Value, threads: &str, at: &str) {
    let wakers = list(place, "wakers");
    let sum = |key: &str| wakers.iter().map(|by| number(by, key)).sum::<u64>();
    assert_eq!((sum("waits"), sum("wait_ns")), (number(place, "woken"), number(place, "woken_ns")));
    assert!(number(place, "woken") <= number(place, "waits"), "{place:#}");
    assert!(number(place, "woken_ns") > number(place, "wait_ns") / 2, "{place:#}");
    for by in wakers {
        assert_eq!(text_of(by, "threads"), threads, "{by:#}");
        let is_there = |place: &str| place.contains(at);
        assert!(by["at"].as_str().is_none_or(is_there), "{by:#}");
    }
    assert!(wakers[0]["at"].is_string(), "{place:#}");
}

/// Who ends `Object.wait` is known in trace mode.
fn notifiers(jdk: &Jdk) {
    let recording = Program::truth(jdk, "withheld").traced().record();
    let report = Report::of(&recording.log);
    let withheld = report.section("withheld");
    check_wakers(place(withheld, "$MonitorPool.borrow("), "borrower-*", "$MonitorPool.giveBack(");
    check_wakers(place(withheld, "$Transaction.awaitEnd("), "client-*", "$Transaction.end(");
    let chains = &report.section("wait-chains")["withheld"];
    let all_ns = number(chains, "wait_ns") + number(chains, "unwoken_ns");
    assert_eq!(all_ns, number(withheld, "wait_ns"), "{chains:#}");
}

/// The place whose frame has a part of this name.
fn place<'v>(withheld: &'v Value, name: &str) -> &'v Value {
    let all = || list(withheld, "places").iter().chain(list(withheld, "others"));
    let found = all().find(|place| text_of(place, "place").contains(name));
    found.unwrap_or_else(|| panic!("no {name}: {withheld:#}"))
}

/// What the report counts is what all outputs have.
fn check_totals(log: &Path) -> Sum {
    let report = Report::of(log);
    let section = report.section("withheld");
    let expected = Sum { wait_ns: number(section, "wait_ns"), count: number(section, "waits") };
    let places = list(section, "places").iter();
    let mut sum = Sum::default();
    for place in places.inspect(|place| assert_eq!(text_of(place, "verdict"), "withheld")) {
        sum += Sum { wait_ns: number(place, "wait_ns"), count: number(place, "waits") };
    }
    assert_eq!(sum, expected);
    let overview = report.section("overview");
    let told = &overview["withheld"];
    assert_eq!(
        (number(told, "wait_ns"), number(told, "waits")),
        (expected.wait_ns, expected.count)
    );
    assert_eq!(share(overview, "withheld_share"), share(section, "lost_share"));
    let them = Report::with(&[log], &["--kind=withheld", "--top=0"]);
    let totals = &them.section("contended")["totals"];
    assert_eq!(
        (number(totals, "wait_ns"), number(totals, "contended")),
        (expected.wait_ns, expected.count),
        "as locks"
    );
    let info = stdout_of(tyrion().args(["info", "--json", "--kind=withheld"]).arg(log));
    let info: Value = serde_json::from_str(&info).unwrap();
    let kinds = info["kinds"].as_object().unwrap().values();
    let of = |key: &str| kinds.clone().map(|kind| number(kind, key)).sum::<u64>();
    assert_eq!((of("wait_ns"), of("count")), (expected.wait_ns, expected.count), "info");
    check_outputs(log, expected);
    expected
}

fn check_outputs(log: &Path, expected: Sum) {
    if expected.count == 0 || !needs(&["go"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let convert = ["convert", "--kind=withheld", "--to=all", "-o"];
    stdout_of(tyrion().args(convert).arg(folder.path()).arg(log));
    let file = |name: &str| folder.path().join(name);
    assert_eq!(pprof_sum(&file("locks.pb.gz")), expected, "pprof");
    let collapsed = std::fs::read_to_string(file("waits.collapsed")).unwrap();
    assert_eq!(collapsed_sum(&collapsed), expected.wait_ns, "collapsed");
    assert_eq!(flamegraph_root(&file("waits.svg")), expected.wait_ns, "flame graph");
    let mut parts = Sum::default();
    for part in callgrind_parts(&file("out.callgrind")) {
        let sums = callgrind_sums(&part);
        parts += Sum { wait_ns: sums["Wait_ns"], count: sums["Waits"] };
    }
    assert_eq!(parts, expected, "callgrind");
    let dump = stdout_of(tyrion().args(["dump", "--json", "--kind=withheld"]).arg(log));
    let waits = dump.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut dumped = Sum::default();
    for wait in waits.filter(|it| matches!(text_of(it, "record"), "wait" | "fold")) {
        let count = wait["count"].as_u64().unwrap_or(1);
        dumped += Sum { wait_ns: number(&wait, "wait_ns"), count };
    }
    assert_eq!(dumped, expected, "dump");
}

/// The same bytes, however many workers there are.
fn check_jobs(log: &Path) {
    let with = |jobs: &str| {
        let convert = ["convert", "--kind=withheld", "--to=collapsed", "-o", "-", "--jobs", jobs];
        let report = ["report", "--json", "--section=withheld", "--jobs", jobs];
        [&convert[..], &report].map(|args| stdout_of(tyrion().args(args).arg(log)))
    };
    assert_eq!(with("1"), with("4"));
}

/// Derby locks rows and pages, in `Object.wait` and for conditions.
fn derby(jdk: &Jdk) {
    let Some(jar) = subject_jar("derby.jar") else { return };
    let bank = "tyrion.subjects.JdbcBank jdbc:derby:memory:bank;create=true 8 3 1";
    let recording = Program::class(jdk, bank).jar(&jar).record();
    check_database(&recording, "org.apache.derby.");
}

/// Nearly all that is withheld is in the database, and its clients wait most.
fn check_database(recording: &Recording, package: &str) {
    let all = check_totals(&recording.log);
    let report = Report::of(&recording.log);
    let section = report.section("withheld");
    let first = &list(section, "places").first().unwrap_or_else(|| panic!("{section:#}"));
    eprintln!("{} of {} waits: {first:#}", text_of(first, "place"), all.count);
    assert!(text_of(first, "place").starts_with(package), "{section:#}");
    assert!(number(first, "threads") > 1, "{section:#}");
    assert!(share(section, "lost_share") > 0.01, "{section:#}");
}
