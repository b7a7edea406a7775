use super::*;
use crate::{
    render::text,
    testing::{Recording, found},
};
use tyrion_converters::filter::{Filter, States};
use tyrion_formats::Log;
use tyrion_wire::sample::ThreadState::{Native, Parked, Running, Sleeping, Waiting};

const MS: u64 = 1_000_000;

/// Two workers of a pool, main, and one that waits for work.
fn log() -> Log {
    let mut log = Recording::sampled(1_000 * MS);
    let run = "java.lang.Thread.run:1583";
    let work = "com.acme.Work.step:10";
    let sample = |log: &mut Recording, thread: &str, frames: &[&str], state, at: u64, wall: u64| {
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
    let wait_for_work = |log: &mut Recording| {
        log.sample(("idle-7", &queue), Parked, (1_000 * MS, 100), (1_000 * MS, 0));
    };
    wait_for_work(&mut log);
    log.finish("a.log")
}

fn trees(log: Log, filter: &Filter, options: &Options) -> (Trees, String) {
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
fn check(group: &Group, options: &Options) {
    let roots = group.nodes.iter().filter(|node| node.depth == 0);
    assert_eq!(roots.map(|node| node.cumulative_ns).sum::<u64>(), group.wall_ns);
    assert_eq!(group.nodes.iter().map(|node| node.method_ns).sum::<u64>(), group.wall_ns);
    assert_eq!(group.states.sum_ns(), group.wall_ns);
    for (at, node) in group.nodes.iter().enumerate() {
        let below = group.nodes[at + 1..].iter().take_while(|below| below.depth > node.depth);
        let children: Vec<&Node> = below.filter(|below| below.depth == node.depth + 1).collect();
        let inside: u64 = children.iter().map(|child| child.cumulative_ns).sum();
        assert_eq!(inside + node.method_ns, node.cumulative_ns, "{}", node.frame);
        assert_eq!(node.states.sum_ns(), node.cumulative_ns);
        let only = children.len() == 1 && inside == node.cumulative_ns;
        assert!(options.zero || !(node.method_ns == 0 && only), "{} says nothing", node.frame);
    }
}

#[test]
fn the_report_is_that_of_perf_sampler() {
    let (trees, text) = trees(log(), &Filter::default(), &Options::default());
    assert_eq!((trees.samples, trees.wall_ns), (141, 1_410 * MS));
    assert_eq!(trees.idle_hidden_ns, 1_000 * MS);
    let expected = "\
Threads that waited for work are not shown: 1 s of real time; --state all shows it.

Report interval: from 2023-11-14 22:13:20 UTC till 2023-11-14 22:13:21 UTC

Aggregated thread: main. Max depth: 2. Distinct threads: 1 [main]
java.lang.Object.wait(Object.java:1)  Cumulative time(ms): 900, Method time(ms): 900  wait 100%
[no Java frame]                       Cumulative time(ms): 10, Method time(ms): 10  nat 100%

Aggregated thread: pool--thread-. Max depth: 5. Distinct threads: 2 [pool-1-thread-1, pool-1-thread-2]
com.acme.Work.step(Work.java:10)            Cumulative time(ms): 500, Method time(ms): 0  run 88% sleep 12%
  com.acme.Work.cpu(Work.java:20)           Cumulative time(ms): 440, Method time(ms): 40  run 100%
    java.util.HashMap.hash(HashMap.java:6)  Cumulative time(ms): 400, Method time(ms): 400  run 100%
  java.lang.Thread.sleep(Thread.java:7)     Cumulative time(ms): 60, Method time(ms): 60  sleep 100%
";
    assert_eq!(text, expected);
}

#[test]
fn packages_keep_the_first_callee_beyond() {
    let options = Options { packages: vec!["com.acme".to_owned()], ..Options::default() };
    let (trees, _) = trees(log(), &Filter::default(), &options);
    let [main, pool] = &trees.intervals[0].groups[..] else { panic!("{trees:?}") };
    assert_eq!(pool.max_depth, 5, "of whole stacks");
    let frames = |group: &Group| -> Vec<(usize, String, u64)> {
        let node = |node: &Node| (node.depth, node.frame.clone(), node.method_ns / MS);
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
    let options = Options { packages: vec!["com.acm".to_owned()], ..Options::default() };
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
    let (with_idle, text) = trees(log(), &all, &Options::default());
    assert_eq!((with_idle.idle_hidden_ns, with_idle.wall_ns), (0, 2_410 * MS));
    assert!(!text.contains("not shown") && text.contains("Aggregated thread: idle-."), "{text}");
    assert!(text.contains("Method time(ms): 1000  idle 100%"), "{text}");

    let zero = Options { zero: true, ..Options::default() };
    let (with_zero, text) = trees(log(), &Filter::default(), &zero);
    let idle = with_zero.intervals[0].groups.last().unwrap();
    assert_eq!(
        (idle.group.as_str(), idle.wall_ns, &idle.threads[..]),
        ("idle-", 0, &["idle-7".to_owned()][..])
    );
    assert_eq!(with_zero.idle_hidden_ns, 1_000 * MS);
    assert!(text.contains("java.lang.Thread.run(Thread.java:1583)"), "nothing is left out: {text}");
    assert!(text.contains("        java.util.HashMap.hash(HashMap.java:6)  "), "{text}");
}

#[test]
fn each_interval_has_a_tree_of_its_own() {
    let options = Options { interval_ns: 250 * MS, ..Options::default() };
    let (trees, text) = trees(log(), &Filter::default(), &options);
    let walls: Vec<u64> = trees.intervals.iter().map(|interval| interval.wall_ns / MS).collect();
    // The snapshot at 250 ms is of the second one, and so on.
    assert_eq!(walls.iter().sum::<u64>(), 1_410);
    assert_eq!(walls, [240 + 240 + 200, 60 + 250, 250, 170]);
    assert_eq!(trees.idle_hidden_ns, 1_000 * MS);
    assert_eq!(text.matches("Report interval: from ").count(), 4);
    assert!(
        text.contains("from 2023-11-14 22:13:20.25 UTC till 2023-11-14 22:13:20.5 UTC"),
        "{text}"
    );
    assert_eq!(trees.intervals[2].groups.len(), 1, "what took no time is not shown");
}

#[test]
fn what_the_program_says_is_a_group_of_its_own() {
    let mut log = Recording::sampled(100 * MS);
    let frames = ["[GET /orders/2]", "com.acme.A.run:1", "com.acme.A.get:2"];
    for (thread, at) in [("http-1", 10), ("http-2", 20)] {
        log.sample((thread, &frames), Running, (at * MS, 1), (10 * MS, 0));
    }
    log.sample(("http-1", &frames[1..]), Running, (30 * MS, 1), (20 * MS, 0));
    log.sample(("http-1", &frames[..1]), Native, (31 * MS, 1), (MS, MS));
    let (found, text) = trees(log.finish("a.log"), &Filter::default(), &Options::default());
    let [given, by_name] = &found.intervals[0].groups[..] else { panic!("{text}") };
    assert_eq!(
        (given.group.as_str(), given.given, given.wall_ns),
        ("GET /orders/2", true, 21 * MS)
    );
    assert_eq!((given.thread_count, given.max_depth), (2, 2));
    assert_eq!((by_name.group.as_str(), by_name.given), ("http-", false));
    assert!(text.contains("[no Java frame]"), "{text}");
    let options = Options { packages: vec!["org.none".to_owned()], ..Options::default() };
    let (cut, _) = trees(log_of_group(), &Filter::default(), &options);
    assert_eq!(cut.intervals[0].groups[0].nodes[0].frame, "com.acme.A.run(A.java:1)");
}

fn log_of_group() -> Log {
    let mut log = Recording::sampled(100 * MS);
    let frames = ["[x]", "com.acme.A.run:1", "com.acme.A.get:2"];
    log.sample(("http-1", &frames), Running, (10 * MS, 1), (10 * MS, 0));
    log.finish("a.log")
}

#[test]
fn groups_can_be_cut_and_told_by_other_rules() {
    let names = |rule: &str, groups: usize| {
        let options = Options { group_by: rule.to_owned(), groups, ..Options::default() };
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
    let logs = [Recording::new(100).finish("a.log")];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    let answer = answer(&found, &Options::default());
    assert!(answer.lacking.contains("tyrion sample PID"), "{}", answer.lacking);
    assert!(answer.view.parts.is_empty() && !answer.advises);
}
