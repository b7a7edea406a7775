//! Two convoys behind a slow holder each: the overview, what is contended, who
//! blocks whom, critical sections, delays, and the timeline.

use crate::support::{
    Jdk, Program, Recording, Report, Wait, assert_between, assert_close, assert_near, list, ms,
    number, on_jdks, share, text_of,
};
use serde_json::Value;

on_jdks!(convoys: one, everywhere two);

const THRESHOLD_NS: u64 = ms(5);

/// One of the two convoys.
struct Convoy {
    /// The class of the lock, and how the program calls it.
    lock: (&'static str, &'static str),
    kind: &'static str,
    /// The class with its three critical sections.
    lane: &'static str,
    holder: &'static str,
    fetchers: &'static str,
    storers: &'static str,
}

impl Convoy {
    /// The class of its lock in the log; reports name the lock that the program knows.
    fn recorded_class(&self) -> &'static str {
        match self.kind {
            "lock" => "java.util.concurrent.locks.ReentrantLock$NonfairSync",
            _ => self.lock.0,
        }
    }
}

const CONVOYS: [Convoy; 2] = [
    Convoy {
        lock: ("tyrion.truth.Convoy$Ledger", "Convoy$MonitorLane.ledger"),
        kind: "monitor",
        lane: "tyrion.truth.Convoy$MonitorLane",
        holder: "keeper-",
        fetchers: "web-",
        storers: "batch-",
    },
    Convoy {
        lock: ("java.util.concurrent.locks.ReentrantLock", "Convoy$LockLane.queue"),
        kind: "lock",
        lane: "tyrion.truth.Convoy$LockLane",
        holder: "clerk-",
        fetchers: "api-",
        storers: "cron-",
    },
];

/// What the program measured.
struct ConvoyTruth<'a>(&'a Recording);

impl ConvoyTruth<'_> {
    fn rounds(&self) -> u64 {
        self.0.number("rounds")
    }

    fn thread(&self, name: &str) -> &Value {
        self.threads("").find(|thread| thread["thread"] == name).unwrap()
    }

    /// Those whose names begin so.
    fn threads(&self, group: &str) -> impl Iterator<Item = &Value> {
        let threads = list(&self.0.said, "threads").iter();
        threads.filter(move |thread| text_of(thread, "thread").starts_with(group))
    }

    fn sum(&self, groups: &[&str], key: &str) -> u64 {
        groups.iter().flat_map(|group| self.threads(group)).map(|it| number(it, key)).sum()
    }

    fn max(&self, groups: &[&str], key: &str) -> u64 {
        let threads = groups.iter().flat_map(|group| self.threads(group));
        threads.map(|it| number(it, key)).max().unwrap()
    }

    /// Asserts that groups waited as long as is said. What they are blamed for is
    /// at least the time until the holder was about to leave.
    #[track_caller]
    fn check_wait(&self, groups: &[&str], said_ns: u64) {
        let (least, most) = (self.sum(groups, "least_wait_ns"), self.sum(groups, "wait_ns"));
        assert_between(&groups.concat(), said_ns, least, most);
    }

    /// Asserts that a share of what all waiters waited is that of some of them.
    #[track_caller]
    fn check_share(&self, groups: &[&str], of: &[&str], said: f64) {
        let least = self.sum(groups, "least_wait_ns") as f64 / self.sum(of, "wait_ns") as f64;
        let most = self.sum(groups, "wait_ns") as f64 / self.sum(of, "least_wait_ns") as f64;
        assert!((least..=most).contains(&said), "{said} is not in {least}..={most}");
    }
}

fn convoys(jdk: &Jdk) {
    let program = Program::truth(jdk, "convoy").traced().option("--hold=all");
    let program = program.option(&format!("--threshold={}ms", THRESHOLD_NS / ms(1)));
    let recording = program.record();
    let report = Report::of(&recording.log);
    check_overview(&report, &recording);
    let measured = ConvoyTruth(&recording);
    for convoy in &CONVOYS {
        check_contended(&report, convoy, &measured);
        check_blockers(&report, convoy, &measured);
        check_sections(&report, convoy, &measured);
        check_delays(&report, convoy, &measured);
        check_timeline(&report, convoy);
    }
    super::agreement::check(&recording.log);
}

fn check_overview(report: &Report, recording: &Recording) {
    let (overview, info) = (report.section("overview"), recording.info());
    let [log] = list(overview, "logs") else { panic!("{overview}") };
    assert_eq!(log["program"], "tyrion.truth.Truth");
    for (key, same) in [("pid", &info["pid"]), ("jvm", &info["metadata"]["jvm"])] {
        assert_eq!(log[key], *same, "{key}");
    }
    for key in ["duration_ns", "start_wall_ns"] {
        assert_eq!((&log[key], &overview[key]), (&info[key], &info[key]), "{key}");
    }
    assert_eq!((&log["mode"], &log["hold"]), (&"trace".into(), &"all".into()));
    assert_eq!((number(log, "threshold_ns"), &log["complete"]), (THRESHOLD_NS, &true.into()));
    assert_eq!((number(overview, "dropped"), text_of(overview, "lacking")), (0, ""));
    // All threads of the scenario, and main.
    let threads = &overview["threads"];
    assert!(number(threads, "count") >= 13, "{threads}");
    assert_eq!((number(threads, "virtual"), number(threads, "assumed")), (0, 0), "{threads}");
    let phases = list(overview, "phases").iter();
    let waited_ns: u64 = phases.map(|phase| number(phase, "contended_ns")).sum();
    let lost = waited_ns as f64 / number(threads, "lived_ns") as f64;
    assert_near("lost", share(overview, "lost_share"), lost, 1e-9);
    // The JVM's own threads may wait, too, which is no loss of the program's.
    let is_own = |wait: &Wait| {
        wait.thread == "main"
            || wait.thread.rsplit_once('-').is_some_and(|(_, end)| end != "Cleaner")
    };
    let others = recording.waits().into_iter().filter(|it| it.is_contention() && !is_own(it));
    let others_ns: u64 = others.map(|wait| wait.wait_ns).sum();
    let wait_ns = number(overview, "wait_ns");
    assert_between("waited", waited_ns, wait_ns - others_ns, wait_ns);
    let kinds = list(overview, "kinds").iter().map(|it| text_of(it, "kind"));
    assert!(kinds.clone().eq(["monitor", "lock", "lock-read", "lock-write", "semaphore"]));
}

/// The entry of a convoy's lock in a list.
fn of_lock<'v>(entries: &'v [Value], convoy: &Convoy) -> &'v Value {
    let is_it = |lock: &Value| (text_of(lock, "class"), text_of(lock, "name")) == convoy.lock;
    let found = entries.iter().find(|entry| is_it(&entry["lock"]));
    found.unwrap_or_else(|| panic!("no {:?}: {entries:?}", convoy.lock))
}

fn has_frame(stack: &Value, method: &str) -> bool {
    let call = format!("{method}(Convoy.java:");
    stack.as_array().unwrap().iter().any(|frame| frame.as_str().unwrap().starts_with(&call))
}

fn check_contended(report: &Report, convoy: &Convoy, measured: &ConvoyTruth<'_>) {
    let contended = report.section("contended");
    assert_eq!(text_of(contended, "lacking"), "");
    let lock = of_lock(list(contended, "locks"), convoy);
    let (what, rounds) = (convoy.kind, measured.rounds());
    let waiters = [convoy.fetchers, convoy.storers];
    assert_eq!(lock["kind"], convoy.kind);
    assert_ne!(number(&lock["lock"], "id"), 0, "{lock}");
    assert_eq!(number(lock, "acquisitions"), 6 * rounds, "{lock}");
    assert_eq!(number(lock, "contended"), 5 * rounds, "{lock}");
    assert_near(what, share(lock, "miss_share"), 5.0 / 6.0, 1e-9);
    let wait_ns = number(lock, "wait_ns");
    measured.check_wait(&waiters, wait_ns);
    assert_eq!(number(lock, "mean_wait_ns"), wait_ns / (5 * rounds), "{lock}");
    let max_ns = number(lock, "max_wait_ns");
    let longest = ["longest_least_wait_ns", "longest_wait_ns"].map(|it| measured.max(&waiters, it));
    assert_between(what, max_ns, longest[0], longest[1]);
    for quantile in ["p50_wait_ns", "p99_wait_ns"] {
        assert!((THRESHOLD_NS..=max_ns).contains(&number(lock, quantile)), "{quantile}: {lock}");
    }
    let all = [convoy.holder, convoy.fetchers, convoy.storers];
    let held = (measured.sum(&[convoy.holder], "hold_ns"), measured.sum(&all, "most_hold_ns"));
    assert_between(what, number(lock, "hold_ns"), held.0, held.1);
    assert_eq!(number(lock, "mean_hold_ns"), number(lock, "hold_ns") / (6 * rounds), "{lock}");
    let longest = (
        measured.max(&[convoy.holder], "longest_hold_ns"),
        measured.max(&all, "longest_most_hold_ns"),
    );
    assert_between(what, number(lock, "max_hold_ns"), longest.0, longest.1);
    let overview = report.section("overview");
    let used = number(lock, "hold_ns") as f64 / number(overview, "duration_ns") as f64;
    assert_near(what, share(lock, "utilisation_share"), used, 0.001);
    assert_eq!(number(lock, "waiting_threads"), 5, "{lock}");
    assert_eq!(number(lock, "holding_threads"), 6, "{lock}");
    let [instance] = list(lock, "instances") else { panic!("{lock}") };
    assert_eq!(instance["id"], lock["lock"]["id"]);
    for key in ["contended", "wait_ns", "max_wait_ns"] {
        assert_eq!(instance[key], lock[key], "{key}");
    }
    let (waiter, holder) = (&lock["hottest_waiter"], &lock["hottest_holder"]);
    assert!(has_frame(&waiter["stack"], &format!("{}.fetch", convoy.lane)), "{waiter}");
    measured.check_share(&[convoy.fetchers], &waiters, share(waiter, "wait_share"));
    assert!(has_frame(&holder["stack"], "tyrion.truth.Convoy$Run.keepTurns"), "{holder}");
    measured.check_share(&waiters, &waiters, share(holder, "wait_share"));
}

fn check_blockers(report: &Report, convoy: &Convoy, measured: &ConvoyTruth<'_>) {
    let blockers = report.section("blockers");
    assert_eq!((text_of(blockers, "lacking"), &blockers["source"]), ("", &"charged".into()));
    assert_eq!(blockers["wait_ns"], report.section("overview")["wait_ns"]);
    let known_ns = number(blockers, "known_ns");
    let waiters = CONVOYS.each_ref().map(|convoy| [convoy.fetchers, convoy.storers]).concat();
    let least_ns = measured.sum(&waiters, "least_wait_ns");
    assert_between("charged", known_ns, least_ns, number(blockers, "wait_ns"));
    let holders = format!("{}*", convoy.holder);
    for waiters in [convoy.fetchers, convoy.storers] {
        let is_pair =
            |pair: &&Value| pair["waiters"] == format!("{waiters}*") && pair["holders"] == holders;
        let pair = list(blockers, "threads").iter().find(is_pair).expect(waiters);
        let part = number(pair, "wait_ns") as f64 / known_ns as f64;
        assert_near(waiters, share(pair, "wait_share"), part, 1e-9);
        let locks = list(pair, "locks");
        let lock = of_lock(locks, convoy);
        assert_eq!(lock["kind"], convoy.kind);
        measured.check_wait(&[waiters], number(lock, "wait_ns"));
        let all_ns: u64 = locks.iter().map(|lock| number(lock, "wait_ns")).sum();
        assert_eq!(all_ns, number(pair, "wait_ns"), "{pair}");
    }
    for (method, waiters) in [("fetch", convoy.fetchers), ("store", convoy.storers)] {
        let at = |place: &Value, method: &str| {
            let place = place.as_str().unwrap_or_default();
            place.starts_with(&format!("{}.{method}(Convoy.java:", convoy.lane))
        };
        let is_pair = |pair: &&Value| at(&pair["waiter"], method) && at(&pair["holder"], "keep");
        let pair = list(blockers, "code").iter().find(is_pair).expect(method);
        measured.check_wait(&[waiters], number(pair, "wait_ns"));
        assert!(has_frame(&pair["waiter_stack"], &format!("{}.{method}", convoy.lane)), "{pair}");
        assert!(has_frame(&pair["holder_stack"], "tyrion.truth.Convoy$Run.keepTurns"), "{pair}");
    }
}

/// The entry of a list of critical sections that is of a method of the convoy.
fn at_method<'v>(sections: &'v [Value], convoy: &Convoy, method: &str) -> &'v Value {
    let call = format!("{}.{method}(Convoy.java:", convoy.lane);
    let mut found = sections.iter().filter(|it| text_of(it, "place").starts_with(&call));
    let section = found.next().unwrap_or_else(|| panic!("no {call}: {sections:?}"));
    assert!(found.next().is_none(), "several of {call}");
    section
}

fn check_sections(report: &Report, convoy: &Convoy, measured: &ConvoyTruth<'_>) {
    let critical = report.section("critical-sections");
    assert_eq!(text_of(critical, "lacking"), "");
    let rounds = measured.rounds();
    for (method, group, threads) in
        [("keep", convoy.holder, 1), ("fetch", convoy.fetchers, 3), ("store", convoy.storers, 2)]
    {
        let site = at_method(list(critical, "sites"), convoy, method);
        let counts = ["acquisitions", "reentrant", "failed", "measured", "threads"];
        let counts = counts.map(|key| number(site, key));
        assert_eq!(counts, [threads * rounds, 0, 0, threads * rounds, threads], "{site}");
        assert_eq!(site["kind"], convoy.kind);
        for index in 1..=threads {
            let name = format!("{group}{index}");
            let is_it = |thread: &&Value| thread["thread"] == name;
            let thread = list(critical, "threads").iter().find(is_it).expect(&name);
            let own = at_method(list(thread, "sections"), convoy, method);
            assert_eq!(number(own, "acquisitions"), rounds, "{own}");
        }
    }
    let keep = at_method(list(critical, "sites"), convoy, "keep");
    let keeper = measured.thread(&format!("{}1", convoy.holder));
    let hold_ns = number(keep, "hold_ns");
    assert_between("hold", hold_ns, number(keeper, "hold_ns"), number(keeper, "most_hold_ns"));
    assert_eq!(number(keep, "mean_hold_ns"), hold_ns / rounds, "{keep}");
    let longest = ["longest_hold_ns", "longest_most_hold_ns"].map(|it| number(keeper, it));
    assert_between("longest", number(keep, "longest_hold_ns"), longest[0], longest[1]);
    let part = hold_ns as f64 / number(keeper, "ran_ns") as f64;
    assert_near("share", share(keep, "thread_share"), part, 0.05);
}

fn check_delays(report: &Report, convoy: &Convoy, measured: &ConvoyTruth<'_>) {
    let delays = report.section("delays");
    assert_eq!(number(delays, "threshold_ns"), THRESHOLD_NS);
    let overview = report.section("overview");
    let count = number(delays, "delays") + number(delays, "shorter");
    assert_eq!(count, number(overview, "contended"));
    let rounds = measured.rounds();
    for (method, group, threads) in [("fetch", convoy.fetchers, 3), ("store", convoy.storers, 2)] {
        let name = format!("{}.{method}", convoy.lane);
        let functions = list(delays, "functions").iter();
        let function = functions.clone().find(|it| it["function"] == name).expect(&name);
        assert_eq!(number(function, "inclusive_delays"), threads * rounds, "{function}");
        measured.check_wait(&[group], number(function, "inclusive_wait_ns"));
        // A monitor is waited for in the method itself, a lock in the JDK.
        let exclusive = if convoy.kind == "monitor" { threads * rounds } else { 0 };
        assert_eq!(number(function, "exclusive_delays"), exclusive, "{function}");
        for index in 1..=threads {
            let name = format!("{group}{index}");
            let mut all = list(delays, "threads").iter();
            let thread = all.find(|it| it["thread"] == name).expect(&name);
            // On a busy machine it may have waited long in the JDK, too, as when two
            // threads load one class.
            let is_other = |wait: &&Wait| {
                let is_delay = wait.is_contention() && wait.wait_ns >= THRESHOLD_NS;
                is_delay && wait.thread == name && wait.lock_class != convoy.recorded_class()
            };
            let waits = measured.0.waits();
            let others = || waits.iter().filter(is_other);
            let count: u64 = others().map(|wait| wait.count).sum();
            let others_ns: u64 = others().map(|wait| wait.wait_ns).sum();
            assert_eq!(number(thread, "delays"), rounds + count, "{thread}");
            let bounds = ["least_wait_ns", "wait_ns"];
            let [least, most] = bounds.map(|key| number(measured.thread(&name), key));
            assert_between(&name, number(thread, "wait_ns"), least + others_ns, most + others_ns);
        }
    }
}

fn sum_of(boxes: &Value) -> u64 {
    boxes.as_array().unwrap().iter().map(|ns| ns.as_u64().unwrap()).sum()
}

/// What stands in the boxes of the timeline is what stands elsewhere.
fn check_timeline(report: &Report, convoy: &Convoy) {
    let timeline = report.section("timeline");
    assert_eq!(timeline["duration_ns"], report.section("overview")["duration_ns"]);
    let boxes = list(timeline, "all_ns").len() as u64;
    let (duration_ns, box_ns) = (number(timeline, "duration_ns"), number(timeline, "box_ns"));
    assert_eq!(boxes, duration_ns.div_ceil(box_ns));
    let lock = of_lock(list(report.section("contended"), "locks"), convoy);
    let line = of_lock(list(timeline, "locks"), convoy);
    assert_close("boxes", sum_of(&line["wait_ns"]), number(lock, "wait_ns"), boxes);
    for thread in list(timeline, "threads") {
        let mut all = list(report.section("delays"), "threads").iter();
        let Some(delays) = all.find(|it| it["java_id"] == thread["java_id"]) else { continue };
        let (sum, delayed) = (sum_of(&thread["wait_ns"]), number(delays, "wait_ns"));
        // Besides the delays there are the waits below the threshold.
        assert!((delayed..delayed + ms(5)).contains(&(sum + boxes)), "{thread}: {delays}");
    }
}
