//! Comparisons of known logs.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::testing::{Crafted, found};
use tyrion_converters::outputs::{
    self,
    flamegraph::{Difference, Widths},
};
use tyrion_formats::{Hints, Recording, Unit};
use tyrion_model::{filter::Filter, profile::Profile};
use tyrion_wire::WaitKind;

type LockSpec = (WaitKind, (&'static str, &'static str));
const MAP: LockSpec = (WaitKind::Monitor, ("java.lang.Object", "Cache.map"));
const OLD: LockSpec = (WaitKind::Monitor, ("a.Old", ""));
const NEW: LockSpec = (WaitKind::Monitor, ("a.New", ""));
const TURN: LockSpec = (WaitKind::Lock, ("java.util.concurrent.locks.ReentrantLock", "Cache.turn"));

const GET: [&str; 3] = ["java.lang.Thread.run:840", "a.Main.run:5", "a.Cache.get:12"];
/// The same in a newer JDK, and after a line was put in above.
const GET_LATER: [&str; 4] = [
    "java.lang.Thread.run:1474",
    "java.lang.Thread.runWith:1487",
    "a.Main.run:5",
    "a.Cache.get:13",
];
const PUT: [&str; 3] =
    ["a.Main.run:6", "a.Cache.put:30", "java.util.concurrent.locks.ReentrantLock.lock:322"];
const PUT_LATER: [&str; 4] = [
    "a.Main.run:6",
    "a.Cache.put:30",
    "java.util.concurrent.locks.ReentrantLock.lock:322",
    "java.util.concurrent.locks.ReentrantLock$Sync.lock:152",
];
const SECOND: u64 = 1_000_000_000;

/// Two seconds, in which MAP is hot.
fn before() -> Recording {
    let mut log = Crafted::traced(2 * SECOND);
    log.wait("http-1", &GET, MAP, 900_000, "");
    log.wait("http-2", &GET, MAP, 100_000, "");
    log.wait("http-1", &PUT, TURN, 40_000, "");
    log.wait("http-1", &GET, OLD, 20_000, "");
    log.take("http-1", "a.Cache.get:12", MAP, &[10; 100]);
    log.take("http-1", "a.Cache.put:30", TURN, &[10; 10]);
    log.finish("before.log")
}

/// One second, in which it is not.
fn after() -> Recording {
    let mut log = Crafted::traced(SECOND);
    log.wait("http-1", &GET_LATER, MAP, 10_000, "");
    log.wait("http-1", &PUT_LATER, TURN, 30_000, "");
    log.wait("http-1", &GET_LATER, NEW, 5_000, "");
    log.take("http-1", "a.Cache.get:13", MAP, &[20; 50]);
    log.take("http-1", "a.Cache.put:30", TURN, &[10; 10]);
    log.finish("after.log")
}

fn compare<T>(filter: &Filter, take: impl FnOnce(&Pair<'_>) -> T) -> T {
    let (before, after) = ([before()], [after()]);
    let (before, after) = (found(&before, filter), found(&after, filter));
    take(&Pair { before: &before, after: &after })
}

fn diff(terms: &Terms) -> Diff {
    compare(&Filter::default(), |pair| pair.diff(terms, &ReportOptions::default()).unwrap())
}

fn acquisition() -> Terms {
    Terms { per: Per::Acquisition, ..Terms::default() }
}

/// Name, state, rates before and after, change and share.
type LockRow<'d> = (&'d str, Presence, Option<f64>, Option<f64>, f64, Option<f64>);

fn rows(diff: &Diff) -> Vec<LockRow<'_>> {
    let rate = |side: &Option<LockAmount>| side.as_ref().and_then(|lock| lock.amount.rate_ns);
    let row = |lock: &'_ LockChange| {
        let change = &lock.change;
        (change.state, rate(&change.before), rate(&change.after), change.by(), change.change_share)
    };
    let name = |lock: &'_ LockChange| if lock.lock.name.is_empty() { 0 } else { 1 };
    diff.locks
        .iter()
        .map(|lock| {
            let (state, was, is, by, share) = row(lock);
            let label = if name(lock) == 1 { &lock.lock.name } else { &lock.lock.class };
            (label.as_str(), state, was, is, by, share)
        })
        .collect()
}

#[test]
fn waits_compare_by_second_recorded() {
    let diff = diff(&Terms::default());
    assert_eq!(
        rows(&diff),
        [
            ("Cache.map", Presence::Both, Some(500_000.0), Some(10_000.0), -490_000.0, Some(-0.98)),
            ("a.Old", Presence::Vanished, Some(10_000.0), None, -10_000.0, Some(-1.0)),
            ("Cache.turn", Presence::Both, Some(20_000.0), Some(30_000.0), 10_000.0, Some(0.5)),
            ("a.New", Presence::Appeared, None, Some(5_000.0), 5_000.0, None),
        ]
    );
    assert_eq!((diff.appeared, diff.vanished), (1, 1));
    let total = &diff.total;
    assert_eq!(total.before.as_ref().unwrap().rate_ns, Some(530_000.0));
    assert_eq!((total.by(), total.after.as_ref().unwrap().wait_ns), (-485_000.0, 45_000));
    let name = |lock: &Option<LockChange>| lock.as_ref().unwrap().lock.label();
    assert_eq!(name(&diff.most_improved), "Cache.map (java.lang.Object)");
    assert!(name(&diff.most_worsened).starts_with("Cache.turn"));
    let map = diff.locks[0].change.before.as_ref().unwrap();
    assert_eq!((map.amount.waits, map.acquisitions, map.mean_hold_ns), (2, Some(100), Some(10)));
    assert_eq!((diff.before.recorded_ns, diff.after.recorded_ns), (Some(2 * SECOND), Some(SECOND)));
}

#[test]
fn waits_compare_by_acquisition() {
    let diff = diff(&acquisition());
    let rows = rows(&diff);
    assert_eq!(
        rows[..2],
        [
            ("Cache.map", Presence::Both, Some(10_000.0), Some(200.0), -9_800.0, Some(-0.98)),
            ("Cache.turn", Presence::Both, Some(4_000.0), Some(3_000.0), -1_000.0, Some(-0.25)),
        ]
    );
    // Nobody counted those: they come last.
    assert_eq!(rows[2].2.or(rows[2].3), None);
    assert_eq!(rows.len(), 4);
    assert_eq!((diff.before.divisor, diff.after.divisor), (110.0, 60.0));
}

#[test]
fn stacks_are_found_again_by_their_methods() {
    let diff = diff(&Terms::default());
    let row = |stack: &StackChange| (stack.place.clone(), stack.change.state, stack.change.by());
    let rows: Vec<_> = diff.stacks.iter().map(row).collect();
    let get = || "a.Cache.get(Cache.java:13)".to_owned();
    assert_eq!(
        rows,
        [
            (get(), Presence::Both, -490_000.0),
            ("a.Cache.get(Cache.java:12)".to_owned(), Presence::Vanished, -10_000.0),
            ("a.Cache.put(Cache.java:30)".to_owned(), Presence::Both, 10_000.0),
            (get(), Presence::Appeared, 5_000.0),
        ]
    );
    // From the program's innermost frame outwards, with the lines after.
    assert_eq!(diff.stacks[2].stack, ["a.Cache.put(Cache.java:30)", "a.Main.run(Main.java:6)"]);
    assert_eq!(diff.stacks[0].stack.len(), 4);
    assert_eq!(diff.stacks[0].change.before.as_ref().unwrap().waits, 2);
}

#[test]
fn lines_tell_stacks_apart_if_asked_to() {
    let diff = diff(&Terms { matching: Matching::Lines, ..Terms::default() });
    let states: Vec<_> = diff.stacks.iter().map(|stack| stack.change.state).collect();
    let (vanished, appeared) = (Presence::Vanished, Presence::Appeared);
    assert_eq!(states, [vanished, vanished, appeared, Presence::Both, appeared]);
}

#[test]
fn the_same_log_did_not_change() {
    let filter = Filter::default();
    let logs = [before()];
    let found = found(&logs, &filter);
    let pair = Pair { before: &found, after: &found };
    for terms in [Terms::default(), acquisition()] {
        let diff = pair.diff(&terms, &ReportOptions::default()).unwrap();
        assert_eq!((diff.most_improved, diff.most_worsened), (None, None));
        assert!(diff.locks.iter().all(|lock| lock.change.by() == 0.0), "{:?}", diff.locks);
        assert!(diff.stacks.iter().all(|stack| stack.change.state == Presence::Both));
        assert_eq!((diff.total.by(), diff.total.change_share), (0.0, Some(0.0)));
    }
}

#[test]
fn sets_add_up_and_filters_choose() {
    let filter = Filter::default();
    let (one, two) = ([before()], [before(), before()]);
    let (one, two) = (found(&one, &filter), found(&two, &filter));
    let diff =
        Pair { before: &one, after: &two }.diff(&Terms::default(), &ReportOptions::default());
    let diff = diff.unwrap();
    assert_eq!((diff.after.recorded_ns, diff.total.by()), (Some(4 * SECOND), 0.0));
    assert_eq!(diff.total.after.unwrap().wait_ns, 2 * diff.total.before.unwrap().wait_ns);

    let turn = Filter { lock: Some(regex::Regex::new("turn").unwrap()), ..Filter::default() };
    let diff =
        compare(&turn, |pair| pair.diff(&Terms::default(), &ReportOptions::default()).unwrap());
    assert_eq!((diff.locks.len(), diff.stacks.len(), diff.total.by()), (1, 1, 10_000.0));
}

#[test]
fn sums_are_whole_whoever_works() {
    let results = [1, 2, 7].map(|workers| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        pool.install(|| diff(&Terms::default()))
    });
    let diff = &results[0];
    assert!(results.iter().all(|other| other == diff));
    let total = |side: fn(&Change<Amount>) -> &Option<Amount>| {
        let of_stacks = diff.stacks.iter().filter_map(|stack| side(&stack.change).as_ref());
        let sum = of_stacks.fold((0, 0), |sum, side| (sum.0 + side.waits, sum.1 + side.wait_ns));
        let total = side(&diff.total).as_ref().unwrap();
        assert_eq!(sum, (total.waits, total.wait_ns));
        sum.1
    };
    let sums = [total(|change| &change.before), total(|change| &change.after)];
    let of_locks = [
        diff.locks.iter().filter_map(|lock| lock.change.before.as_ref()).collect::<Vec<_>>(),
        diff.locks.iter().filter_map(|lock| lock.change.after.as_ref()).collect(),
    ];
    assert_eq!(
        of_locks.map(|locks| locks.iter().map(|lock| lock.amount.wait_ns).sum::<u64>()),
        sums
    );
}

#[test]
fn what_cannot_be_divided_is_an_error() {
    let filter = Filter::default();
    let mut log = Crafted::new(SECOND);
    log.wait("main", &GET, MAP, 5, "");
    let (logs, traced) = ([log.finish("c.log")], [before()]);
    let (contention, traced) = (found(&logs, &filter), found(&traced, &filter));
    let pair = Pair { before: &traced, after: &contention };
    let error = pair.diff(&acquisition(), &ReportOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("c.log: the acquisitions that"), "{error}");
    let empty = [Crafted::new(0).finish("empty.log")];
    let empty = found(&empty, &filter);
    let pair = Pair { before: &empty, after: &traced };
    let error = pair.diff(&Terms::default(), &ReportOptions::default()).unwrap_err();
    assert_eq!(error, DiffError::NoTime("empty.log".to_owned()));
}

#[test]
fn counts_compare_where_durations_are_not_known() {
    let as_of = |unit, name: &str, lines: &str| {
        let hints = Hints { unit: Some(unit), ..Hints::default() };
        [Recording::from_reader_as(name, lines.as_bytes(), &hints).unwrap()]
    };
    let counts = |name: &str, lines: &str| as_of(Unit::Samples, name, lines);
    let all = Filter { kinds: tyrion_model::filter::Kinds::all(), ..Filter::default() };
    let few = counts(
        "few.folded",
        "a.Main.run;a.Get.it;[monitor] a.L 10\na.Main.run;a.Put.it;[monitor] a.L 4\n",
    );
    let many = counts(
        "many.folded",
        "a.Main.run;a.Get.it;[monitor] a.L 15\na.Main.run;a.Put.it;[monitor] a.L 1\n",
    );
    let (few, many) = (found(&few, &all), found(&many, &all));
    let pair = Pair { before: &few, after: &many };
    let terms = Terms { per: pair.usual_per(), ..Terms::default() };
    let diff = pair.diff(&terms, &ReportOptions::default()).unwrap();
    assert_eq!((diff.measure, diff.before.recorded_ns), (Measure::Contentions, None));
    assert_eq!((diff.total.by(), diff.total.change_rate_ns), (2.0, None));
    let stacks: Vec<_> =
        diff.stacks.iter().map(|it| (it.change.by(), it.change.change_share)).collect();
    assert_eq!(stacks, [(5.0, Some(0.5)), (-3.0, Some(-0.75))]);
    let style = crate::render::text::Style::default();
    let text = crate::render::text::view(&view(&diff), &style);
    for line in ["many.folded: duration not known", "14 → 16 (+14.3 %)", "waits in each recording"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains(" ns"), "{text}");
    let times = as_of(Unit::Ns, "times.folded", "a.Main.run;a.Get.it;[monitor] a.L 15\n");
    let times = found(&times, &all);
    let error = Pair { before: &few, after: &times }.diff(&terms, &ReportOptions::default());
    let expected = DiffError::NothingAlike("few.folded".to_owned(), "times.folded".to_owned());
    assert_eq!(error.unwrap_err(), expected);
}

#[test]
fn top_cuts_lists_and_no_totals() {
    let options = ReportOptions { top: 1, ..ReportOptions::default() };
    let diff = compare(&Filter::default(), |pair| pair.diff(&Terms::default(), &options).unwrap());
    assert_eq!((diff.locks.len(), diff.locks_left_out), (1, 3));
    assert_eq!((diff.stacks.len(), diff.stacks_left_out), (1, 3));
    assert_eq!((diff.total.by(), diff.appeared), (-485_000.0, 1));
    assert!(diff.most_worsened.is_some(), "the worst one, wherever it stands");
}

#[test]
fn json_is_what_the_document_says() {
    let json = serde_json::to_value(diff(&Terms::default())).unwrap();
    assert_eq!(json["per"], "second");
    let map = &json["locks"][0];
    assert_eq!(map["lock"]["name"], "Cache.map");
    assert_eq!(
        (&map["lock"]["id"], &map["kind"], &map["state"]),
        (&0.into(), &"monitor".into(), &"both".into())
    );
    assert_eq!(map["change_rate_ns"], -490_000);
    assert_eq!(map["before"]["rate_ns"], 500_000);
    assert_eq!(map["before"]["wait_ns"], 1_000_000);
    assert!(json["locks"][3]["before"].is_null() && json["locks"][3]["change_share"].is_null());
    assert_eq!(json["stacks"][1]["state"], "vanished");
}

#[test]
fn what_is_short_keeps_its_fraction() {
    let log = |waited_ns: u64| {
        let mut log = Crafted::traced(SECOND);
        log.wait("http-1", &GET, MAP, waited_ns, "");
        log.take("http-1", "a.Cache.get:12", MAP, &[10; 1_000]);
        [log.finish("short.log")]
    };
    let (before, after) = (log(2_500), log(3_100));
    let filter = Filter::default();
    let pair = Pair { before: &found(&before, &filter), after: &found(&after, &filter) };
    let diff = pair.diff(&acquisition(), &ReportOptions::default()).unwrap();
    let json = serde_json::to_value(&diff).unwrap();
    let map = &json["locks"][0];
    assert_eq!((&map["before"]["rate_ns"], &map["change_rate_ns"]), (&2.5.into(), &0.6.into()));
    assert!(diff.most_worsened.is_some());
    let style = crate::render::text::Style::default();
    let text = crate::render::text::view(&view(&diff), &style);
    for shown in ["2.5 ns", "3.1 ns", "+0.6 ns", "0.0010"] {
        assert!(text.contains(shown), "{shown} is not in: {text}");
    }
}

#[test]
fn columns_of_before_and_after_go_together() {
    let diff = diff(&Terms::default());
    let style = crate::render::text::Style { width: 80, ..Default::default() };
    let text = crate::render::text::view(&view(&diff), &style);
    for column in ["waits", "p99"] {
        let [before, after] = ["before", "after"].map(|side| format!("{column} {side}"));
        assert_eq!(text.contains(&before), text.contains(&after), "{text}");
    }
    assert!(!text.contains("waits after") && text.contains("p99 after"), "{text}");
}

#[test]
fn text_fits() {
    for terms in [Terms::default(), acquisition()] {
        let style = crate::render::text::Style::default();
        let text = crate::render::text::view(&view(&diff(&terms)), &style);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let first = text.find("Cache.map").unwrap();
        assert!(text.find("Cache.turn").unwrap() > first, "{text}");
        assert!(text.contains("most improved"), "{text}");
    }
}

/// The lines of collapsed text.
fn collapsed(profile: &Profile) -> String {
    assert_eq!(profile.check(), Ok(()));
    let mut out = Vec::new();
    let options = outputs::OutputOptions::default();
    outputs::collapsed::stream(profile, &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn profiles_are_scaled_to_what_was_recorded_after() {
    let [before, after] = compare(&Filter::default(), |pair| scaled(pair, Per::Second).unwrap());
    assert_eq!(
        collapsed(&before),
        "a.Main.run;a.Cache.get;[monitor] Cache.map (java.lang.Object) 500000\n\
         a.Main.run;a.Cache.get;[monitor] a.Old 10000\n\
         a.Main.run;a.Cache.put;[lock] Cache.turn (java.util.concurrent.locks.ReentrantLock) 20000\n"
    );
    assert!(
        collapsed(&after).contains("a.Cache.get;[monitor] Cache.map (java.lang.Object) 10000\n")
    );
    assert!(!before.has_acquisitions && before.runs[0].log.contains("scaled to 1 s"));
    let [before, _] = compare(&Filter::default(), |pair| scaled(pair, Per::Acquisition).unwrap());
    // MAP was taken half as often, TURN as often; OLD goes by all acquisitions.
    let sums = collapsed(&before);
    for end in ["Object) 500000\n", "ReentrantLock) 40000\n", "a.Old 10909\n"] {
        assert!(sums.contains(end), "{sums}");
    }
}

fn picture(widths: Widths) -> String {
    let [before, after] = compare(&Filter::default(), |pair| scaled(pair, Per::Second).unwrap());
    let mut out = Vec::new();
    let picture = Difference {
        before: &before,
        after: &after,
        metric: outputs::Metric::Wait,
        widths,
        subtitle: "of & for",
    };
    picture.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn pictures_show_differences() {
    let after = picture(Widths::After);
    assert!(after.contains("a.New [monitor] (5 µs, 11.11%; +11.11%)"), "{after}");
    let map = "Cache.map [monitor] (10 µs, 22.22%; -1088.89%; java.lang.Object)";
    assert!(after.contains(map), "{after}");
    assert!(!after.contains("a.Old"), "what has vanished has no width");
    assert_eq!(after, picture(Widths::After), "the same bytes each time");
    let before = picture(Widths::Before);
    assert!(before.contains("a.Old [monitor] (10 µs, 1.89%; -1.89%)"), "{before}");
    let map = "Cache.map [monitor] (500 µs, 94.34%; -92.45%; java.lang.Object)";
    assert!(before.contains(map), "{before}");
    assert!(!before.contains("a.New"));
}

#[test]
fn a_picture_of_nothing_says_so() {
    let [before, _] = compare(&Filter::default(), |pair| scaled(pair, Per::Second).unwrap());
    let nothing = Profile { waits: Vec::new(), ..before.clone() };
    let mut out = Vec::new();
    let widths = Widths::After;
    let picture = Difference {
        before: &before,
        after: &nothing,
        metric: outputs::Metric::Wait,
        widths,
        subtitle: "",
    };
    picture.write(&mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("no waits after"));
}

/// Three workers want what a pool has so many of: each waits so long, one after another.
fn pool(wait_ms: u64) -> Recording {
    const MS: u64 = 1_000_000;
    const POOL: LockSpec = (WaitKind::ObjectWait, ("a.Pool", ""));
    const BORROW: [&str; 3] = ["a.Worker.run:20", "a.Pool.borrow:42", "java.lang.Object.wait:300"];
    let mut log = Crafted::new(2 * SECOND);
    for _ in 0..20 {
        for worker in ["worker-1", "worker-2", "worker-3"] {
            log.wait(worker, &BORROW, POOL, wait_ms * MS, "");
            log.pass(wait_ms * MS);
        }
    }
    log.finish("pool.log")
}

#[test]
fn what_hurts_leads_lock_or_not() {
    let (before, after) = ([pool(20)], [pool(2)]);
    let filter = Filter::default();
    let (before, after) = (found(&before, &filter), found(&after, &filter));
    let pair = Pair { before: &before, after: &after };
    let diff = pair.diff(&Terms::default(), &ReportOptions::default()).unwrap();
    assert!(diff.is_about_other_waits() && diff.locks.is_empty());
    let [place] = &diff.places[..] else { panic!("{:?}", diff.places) };
    assert_eq!(place.place, "a.Pool.borrow");
    assert_eq!(place.change, diff.withheld);
    let rate = |side: &Option<Amount>| side.as_ref().unwrap().rate_ns.unwrap();
    // 60 waits in two seconds.
    assert_eq!((rate(&diff.withheld.before), rate(&diff.withheld.after)), (6e8, 6e7));
    let view = view(&diff);
    let Some(crate::view::Part::Facts(facts)) = view.parts.first() else { panic!("{view:?}") };
    let names: Vec<&str> = facts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[2..4], ["other waits", "wait"], "what hurts comes first");
}
