use super::*;
use crate::{
    render::text,
    testing::{Crafted, found},
};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, States, moment};
use tyrion_wire::{
    WaitKind,
    sample::ThreadState::{Native, Parked, Running, Sleeping, Waiting},
};

const MS: u64 = 1_000_000;

/// Two workers of a pool, main, and one that waits for work.
fn log() -> Recording {
    let mut log = Crafted::sampled(1_000 * MS);
    let run = "java.lang.Thread.run:1583";
    let work = "com.acme.Work.step:10";
    let sample = |log: &mut Crafted, thread: &str, frames: &[&str], state, at: u64, wall: u64| {
        log.sample((thread, frames), state, (at * MS, wall / 10), (wall * MS, wall * MS / 2));
    };
    let one =
        [run, work, "com.acme.Work.cpu:20", "java.util.HashMap.get:5", "java.util.HashMap.hash:6"];
    let two = [run, work, "com.acme.Work.nap:30", "java.lang.Thread.sleep:7"];
    sample(&mut log, "pool-1-thread-1", &one, Running, 100, 100);
    sample(&mut log, "pool-1-thread-1", &two, Sleeping, 160, 60);
    sample(&mut log, "pool-1-thread-1", &one[..3], Running, 200, 40);
    sample(&mut log, "pool-1-thread-2", &one, Running, 300, 300);
    sample(
        &mut log,
        "main",
        &["com.acme.Main.main:3", "java.lang.Object.wait:1"],
        Waiting,
        900,
        900,
    );
    sample(&mut log, "main", &[], Native, 910, 10);
    let queue = [
        run,
        "java.util.concurrent.ThreadPoolExecutor.getTask:1069",
        "java.util.concurrent.locks.LockSupport.park:211",
        "jdk.internal.misc.Unsafe.park:0",
    ];
    let wait_for_work = |log: &mut Crafted| {
        log.sample(("idle-7", &queue), Parked, (1_000 * MS, 100), (1_000 * MS, 0));
    };
    wait_for_work(&mut log);
    log.finish("a.log")
}

fn trees(log: Recording, filter: &Filter, options: &ReportOptions) -> (Trees, String) {
    let logs = [log];
    let found = crate::find(&logs, filter, options, &|_| {});
    let trees = Trees::of(&found, options);
    let text = text::view(&show::view(&trees), &text::Style::default());
    let shown: u64 = found.profile().samples.iter().map(|sample| sample.wall_ns).sum();
    assert_eq!(trees.wall_ns, shown, "every ns is in a tree");
    for interval in &trees.intervals {
        let sum: u64 = interval.groups.iter().map(|group| group.wall_ns).sum();
        assert!(sum == interval.wall_ns || interval.left_out > 0);
        for group in &interval.groups {
            check(group, options);
        }
    }
    (trees, text)
}

/// What is in a tree adds up.
fn check(group: &TreeGroup, options: &ReportOptions) {
    let roots = group.nodes.iter().filter(|node| node.depth == 0);
    assert_eq!(roots.map(|node| node.cumulative_ns).sum::<u64>(), group.wall_ns);
    assert_eq!(group.nodes.iter().map(|node| node.method_ns).sum::<u64>(), group.wall_ns);
    assert_eq!(group.states.sum_ns(), group.wall_ns);
    for (at, node) in group.nodes.iter().enumerate() {
        let below = group.nodes[at + 1..].iter().take_while(|below| below.depth > node.depth);
        let children: Vec<&TreeNode> =
            below.filter(|below| below.depth == node.depth + 1).collect();
        let inside: u64 = children.iter().map(|child| child.cumulative_ns).sum();
        assert_eq!(inside + node.method_ns, node.cumulative_ns, "{}", node.frame);
        assert_eq!(node.states.sum_ns(), node.cumulative_ns);
        let only = children.len() == 1 && inside == node.cumulative_ns;
        let says_nothing = node.method_ns == 0 && only && !options.zero;
        assert!(!says_nothing || tells(group, at, children[0]), "{} says nothing", node.frame);
        let mut names: Vec<&str> = children.iter().map(|child| child.frame.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?} look the same");
    }
}

/// Whether a node without time of its own that called one other tells it from
/// another one, or says where a lock was waited for.
fn tells(group: &TreeGroup, at: usize, called: &TreeNode) -> bool {
    let look_the_same = group.nodes.iter().filter(|node| node.frame == called.frame).count();
    let mut inner =
        group.nodes[at + 1..].iter().take_while(|node| node.depth > group.nodes[at].depth);
    look_the_same > 1 || inner.any(|node| node.frame.starts_with('['))
}

#[test]
fn the_report_is_that_of_perf_sampler() {
    let (trees, text) = trees(log(), &Filter::default(), &ReportOptions::default());
    assert_eq!((trees.samples, trees.wall_ns), (141, 1_410 * MS));
    assert_eq!(trees.idle_hidden_ns, 1_000 * MS);
    let expected = "\
Threads that waited for work are not shown: 1 s of real time; --state all shows it.

Report interval: from 2023-11-14 22:13:20.000 UTC till 2023-11-14 22:13:21.000 UTC

Aggregated thread: main. Max depth: 2. Distinct threads: 1 [main]
total ms  own ms  states     frame
     900     900  wait 100%  java.lang.Object.wait(Object.java:1)
      10      10  nat 100%   [no Java frame]

Aggregated thread: pool--thread-. Max depth: 5. Distinct threads: 2 [pool-1-thread-1,
pool-1-thread-2]
total ms  own ms  states             frame
     500       0  run 88% sleep 12%  com.acme.Work.step(Work.java:10)
     440      40  run 100%             com.acme.Work.cpu(Work.java:20)
     400     400  run 100%               java.util.HashMap.hash(HashMap.java:6)
      60      60  sleep 100%           java.lang.Thread.sleep(Thread.java:7)
";
    assert_eq!(text, expected);
}

#[test]
fn packages_keep_the_first_callee_beyond() {
    let options =
        ReportOptions { packages: vec!["com.acme".to_owned()], ..ReportOptions::default() };
    let (trees, _) = trees(log(), &Filter::default(), &options);
    let [main, pool] = &trees.intervals[0].groups[..] else { panic!("{trees:?}") };
    assert_eq!(pool.max_depth, 5, "of whole stacks");
    let frames = |group: &TreeGroup| -> Vec<(usize, String, u64)> {
        let node = |node: &TreeNode| (node.depth, node.frame.clone(), node.method_ns / MS);
        group.nodes.iter().map(node).collect()
    };
    assert_eq!(
        frames(pool),
        [
            (0, "com.acme.Work.step(Work.java:10)".to_owned(), 0),
            (1, "com.acme.Work.cpu(Work.java:20)".to_owned(), 40),
            (2, "java.util.HashMap.get(HashMap.java:5)".to_owned(), 400),
            (1, "java.lang.Thread.sleep(Thread.java:7)".to_owned(), 60),
        ]
    );
    assert_eq!(frames(main)[0], (0, "java.lang.Object.wait(Object.java:1)".to_owned(), 900));
}

#[test]
fn without_a_match_the_outermost_frame_stays() {
    let options =
        ReportOptions { packages: vec!["com.acm".to_owned()], ..ReportOptions::default() };
    let (trees, _) = trees(log(), &Filter::default(), &options);
    let pool = &trees.intervals[0].groups[1];
    let [only] = &pool.nodes[..] else { panic!("{pool:?}") };
    assert_eq!(
        (only.frame.as_str(), only.method_ns),
        ("java.lang.Thread.run(Thread.java:1583)", 500 * MS)
    );
}

#[test]
fn idle_threads_and_all_frames_are_there_for_who_asks() {
    let all = Filter { states: States::all(), ..Filter::default() };
    let (with_idle, text) = trees(log(), &all, &ReportOptions::default());
    assert_eq!((with_idle.idle_hidden_ns, with_idle.wall_ns), (0, 2_410 * MS));
    assert!(!text.contains("not shown") && text.contains("Aggregated thread: idle-."), "{text}");
    assert!(text.contains("    1000    1000  idle 100%  "), "{text}");

    let zero = ReportOptions { zero: true, ..ReportOptions::default() };
    let (with_zero, text) = trees(log(), &Filter::default(), &zero);
    let idle = with_zero.intervals[0].groups.last().unwrap();
    assert_eq!(
        (idle.group.as_str(), idle.wall_ns, &idle.threads[..]),
        ("idle-", 0, &["idle-7".to_owned()][..])
    );
    assert_eq!(with_zero.idle_hidden_ns, 1_000 * MS);
    assert!(text.contains("java.lang.Thread.run(Thread.java:1583)"), "nothing is left out: {text}");
    assert!(text.contains("          java.util.HashMap.hash(HashMap.java:6)\n"), "{text}");
}

#[test]
fn each_interval_has_a_tree_of_its_own() {
    let options = ReportOptions { interval_ns: 250 * MS, ..ReportOptions::default() };
    let (trees, text) = trees(log(), &Filter::default(), &options);
    let walls: Vec<u64> = trees.intervals.iter().map(|interval| interval.wall_ns / MS).collect();
    // Each has what passed in it.
    assert_eq!(walls.iter().sum::<u64>(), 1_410);
    assert_eq!(walls, [200 + 250 + 250, 50 + 250, 250, 150 + 10]);
    assert_eq!(trees.idle_hidden_ns, 1_000 * MS);
    assert_eq!(text.matches("Report interval: from ").count(), 4);
    assert!(
        text.contains("from 2023-11-14 22:13:20.250 UTC till 2023-11-14 22:13:20.500 UTC"),
        "{text}"
    );
    assert_eq!(trees.intervals[2].groups.len(), 1, "what took no time is not shown");
}

#[test]
fn what_the_program_says_is_a_group_of_its_own() {
    let mut log = Crafted::sampled(100 * MS);
    let frames = ["[GET /orders/2]", "com.acme.A.run:1", "com.acme.A.get:2"];
    for (thread, at) in [("http-1", 10), ("http-2", 20)] {
        log.sample((thread, &frames), Running, (at * MS, 1), (10 * MS, 0));
    }
    log.sample(("http-1", &frames[1..]), Running, (30 * MS, 1), (20 * MS, 0));
    log.sample(("http-1", &frames[..1]), Native, (31 * MS, 1), (MS, MS));
    let (found, text) = trees(log.finish("a.log"), &Filter::default(), &ReportOptions::default());
    let [given, by_name] = &found.intervals[0].groups[..] else { panic!("{text}") };
    assert_eq!(
        (given.group.as_str(), given.given, given.wall_ns),
        ("GET /orders/2", true, 21 * MS)
    );
    assert_eq!((given.thread_count, given.max_depth), (2, 2));
    assert_eq!((by_name.group.as_str(), by_name.given), ("http-", false));
    assert!(text.contains("[no Java frame]"), "{text}");
    let options =
        ReportOptions { packages: vec!["org.none".to_owned()], ..ReportOptions::default() };
    let (cut, _) = trees(log_of_group(), &Filter::default(), &options);
    assert_eq!(cut.intervals[0].groups[0].nodes[0].frame, "com.acme.A.run(A.java:1)");
}

fn log_of_group() -> Recording {
    let mut log = Crafted::sampled(100 * MS);
    let frames = ["[x]", "com.acme.A.run:1", "com.acme.A.get:2"];
    log.sample(("http-1", &frames), Running, (10 * MS, 1), (10 * MS, 0));
    log.finish("a.log")
}

#[test]
fn groups_can_be_cut_and_told_by_other_rules() {
    let names = |rule: &str, groups: usize| {
        let options =
            ReportOptions { group_by: rule.to_owned(), groups, ..ReportOptions::default() };
        let (trees, text) = trees(log(), &Filter::default(), &options);
        let interval = &trees.intervals[0];
        let names: Vec<String> = interval.groups.iter().map(|group| group.group.clone()).collect();
        (names, interval.left_out, text.contains("… and 1 more group;"))
    };
    let of = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    assert_eq!(names("digits", 1), (of(&["main"]), 1, true));
    assert_eq!(names("pool", 0).0, of(&["main", "pool-1-thread"]));
    assert_eq!(names("name", 0).0, of(&["main", "pool-1-thread-2", "pool-1-thread-1"]));
    assert_eq!(names("s/-.*$//", 0).0, of(&["main", "pool"]));
    assert_eq!(names("none", 0).0.len(), 3);
}

#[test]
fn logs_without_samples_say_what_they_lack() {
    let logs = [Crafted::new(100).finish("a.log")];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    let answer = answer(&found, &ReportOptions::default());
    assert!(answer.lacking.contains("tyrion sample PID"), "{}", answer.lacking);
    assert!(answer.view.parts.is_empty() && !answer.advises);
}

const PARK: [&str; 3] = [
    "java.util.concurrent.locks.ReentrantLock.lock:5",
    "java.util.concurrent.locks.LockSupport.park:6",
    "jdk.internal.misc.Unsafe.park:0",
];

#[test]
fn the_lock_stands_below_the_place_where_it_is_waited_for() {
    let mut log = Crafted::sampled(1_000 * MS);
    let bank = ("java.util.concurrent.locks.ReentrantLock", "Bank.lock");
    for (at, pay) in [(100, "com.acme.Bank.pay:7"), (200, "com.acme.Bank.pay:9")] {
        let mut frames = vec!["java.lang.Thread.run:1", pay];
        frames.extend(PARK);
        log.blocked(("teller-1", &frames), (WaitKind::Lock, bank), (at * MS, 100 * MS));
    }
    let frames = ["java.lang.Thread.run:1", "com.acme.Bank.close:20"];
    log.blocked(
        ("teller-1", &frames),
        (WaitKind::Monitor, ("com.acme.Bank", "")),
        (250 * MS, 50 * MS),
    );
    let (_, text) = trees(log.finish("a.log"), &Filter::default(), &ReportOptions::default());
    let expected = "
total ms  own ms  states    frame
     250       0  blk 100%  java.lang.Thread.run(Thread.java:1)
     100       0  blk 100%    com.acme.Bank.pay(Bank.java:7)
     100     100  blk 100%      [lock] Bank.lock (java.util.concurrent.locks.ReentrantLock)
     100       0  blk 100%    com.acme.Bank.pay(Bank.java:9)
     100     100  blk 100%      [lock] Bank.lock (java.util.concurrent.locks.ReentrantLock)
      50       0  blk 100%    com.acme.Bank.close(Bank.java:20)
      50      50  blk 100%      [monitor] com.acme.Bank
";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn what_tells_frames_of_one_name_apart_is_shown() {
    let mut log = Crafted::sampled(1_000 * MS);
    for (at, line) in [(100, 225), (200, 227)] {
        let call = format!("com.acme.Bank.transfer:{line}");
        let frames = ["com.acme.Bank.run:1", &call, "org.sql.Statement.update:8"];
        log.sample(("main", &frames), Running, (at * MS, 1), (100 * MS, 0));
    }
    let options =
        ReportOptions { packages: vec!["com.acme".to_owned()], ..ReportOptions::default() };
    let (found, _) = trees(log.finish("a.log"), &Filter::default(), &options);
    let nodes = found.intervals[0].groups[0].nodes.iter();
    let nodes: Vec<(usize, &str)> =
        nodes.map(|node| (node.depth, node.frame.split('(').next().unwrap())).collect();
    let update = (2, "org.sql.Statement.update");
    let transfer = (1, "com.acme.Bank.transfer");
    assert_eq!(nodes, [(0, "com.acme.Bank.run"), transfer, update, transfer, update]);
}

#[test]
fn a_span_has_what_passed_in_it_however_it_is_asked_for() {
    let parts = [("0", "250ms"), ("250ms", "500ms"), ("500ms", "750ms"), ("750ms", "2s")];
    let spans = parts.map(|(since, until)| {
        let (since, until) = (moment(since).ok(), moment(until).ok());
        let filter = Filter { since, until, ..Filter::default() };
        trees(log(), &filter, &ReportOptions::default()).0.wall_ns
    });
    let options = ReportOptions { interval_ns: 250 * MS, ..ReportOptions::default() };
    let whole = trees(log(), &Filter::default(), &options).0;
    let intervals: Vec<u64> = whole.intervals.iter().map(|interval| interval.wall_ns).collect();
    assert_eq!(intervals, spans);
}
