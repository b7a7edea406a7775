//! `tyrion-api.jar`: programs that say what they do, with an agent and without.

use crate::support::{
    Jdk, Program, Recording, RunningCommand, Wait, assert_between, classes, dump, err, info, ms,
    on_jdks, ours, out, output, root, run, stdout_of, text, tyrion, waits,
};
use serde_json::{Value, json};
use std::{path::PathBuf, process::Command, time::Duration};

on_jdks!(nothing_happens_without_an_agent: ends);
on_jdks!(groups_are_the_roots_of_stacks: ends);
on_jdks!(groups_of_virtual_threads: newest);
on_jdks!(groups_in_trace_mode: ends);
on_jdks!(switched_and_asked: ends);
on_jdks!(a_block_is_sampled: ends);
on_jdks!(many_blocks_are_sampled: two);
on_jdks!(blocks_that_are_never_closed: one);
on_jdks!(blocks_without_a_log: one);
on_jdks!(an_agent_that_comes_later: ends, everywhere three);

fn jar() -> PathBuf {
    root().join("agent/java/tyrion-api.jar")
}

/// A scenario that knows of the API.
fn program(jdk: &Jdk, scenario: &str) -> Program {
    Program::truth(jdk, scenario).jar(&jar())
}

/// A scenario without Tyrion: what it says, which must be all.
fn alone(jdk: &Jdk, scenario: &str) -> Value {
    let line = program(jdk, scenario).command_line();
    let output = output(Command::new(&line[0]).args(&line[1..]));
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""), "{scenario}");
    serde_json::from_str(&out(&output)).unwrap()
}

fn nothing_happens_without_an_agent(jdk: &Jdk) {
    assert_eq!(alone(jdk, "groups")["present"], false);
    assert_eq!(alone(jdk, "sampled-block 50")["present"], false);
    let said = alone(jdk, "managed");
    for key in ["enabled", "present", "resumed"] {
        assert_eq!(said[key], false, "{key}");
    }
    for key in ["threshold", "contentions", "wait_ns", "samples", "dropped"] {
        assert_eq!(said[key], 0, "{key}");
    }
    assert_eq!((&said["mode"], &said["log"]), (&json!(""), &json!("")));
    assert_eq!((&said["registered"], &said["attributes"]), (&json!(true), &json!(8)));
}

/// The group that a stack begins with, or "".
fn group_of(stack: &[String]) -> &str {
    let outermost = stack.last().map_or("", String::as_str);
    outermost.strip_prefix("[group ").and_then(|name| name.strip_suffix(']')).unwrap_or("")
}

/// The clerk's waits are in the groups that it was in.
fn check_clerk(recording: &Recording) {
    assert_eq!(recording.said["present"], true);
    let list = |key: &str| recording.said[key].as_array().unwrap().clone();
    // JSON has names as they are, the control character of one of them, too.
    let expected = list("groups");
    let said: Vec<_> = expected.iter().zip(list("waits_ns")).collect();
    assert!(said.len() > 10);
    let waits: Vec<Wait> = recording.long_contentions();
    let waits: Vec<_> = waits.iter().filter(|wait| wait.thread == "clerk").collect();
    let groups: Vec<_> = waits.iter().map(|wait| group_of(&wait.stack)).collect();
    assert_eq!(json!(groups), json!(expected));
    for (wait, (group, wait_ns)) in waits.iter().zip(&said) {
        assert!(wait.wait_ns <= wait_ns.as_u64().unwrap(), "{group}: {wait:?}, measured {wait_ns}");
        let inner = wait.stack.iter().rev().skip(1);
        assert!(inner.clone().all(|frame| !frame.starts_with("[group")), "{wait:?}");
        let in_bean = wait.stack.iter().any(|frame| frame.contains("Groups$OrderService."));
        let group = group.as_str().unwrap();
        let is_bean = group.starts_with("Orders.") || group == "load customer";
        assert_eq!(in_bean, is_bean, "{wait:?}");
    }
}

fn groups_are_the_roots_of_stacks(jdk: &Jdk) {
    check_clerk(&program(jdk, "groups").record());
}

fn groups_of_virtual_threads(jdk: &Jdk) {
    let recording = program(jdk, "groups virtual").record();
    check_clerk(&recording);
    // In trace mode their records are one thread's, their groups are not.
    let recording = program(jdk, "groups virtual").traced().record();
    check_clerk(&recording);
    let holds = records(&recording, "hold", "virtual threads");
    assert!(holds.iter().any(|group| group == "Orders.place"), "{holds:?}");
}

/// The groups of the records of a kind and thread whose stack has frames of ours.
fn records(recording: &Recording, kind: &str, thread: &str) -> Vec<String> {
    let records = dump(&recording.log, &[kind]).into_iter().filter_map(|record| {
        let stack: Vec<String> = serde_json::from_value(record["stack"].clone()).ok()?;
        let is_ours = stack.iter().any(|frame| frame.contains("Delay."));
        (is_ours && record["thread"] == thread).then(|| group_of(&stack).to_owned())
    });
    records.collect()
}

fn groups_in_trace_mode(jdk: &Jdk) {
    let recording = program(jdk, "groups").traced().record();
    check_clerk(&recording);
    let blames = records(&recording, "blame", "holder");
    assert_eq!(blames.len(), recording.said["groups"].as_array().unwrap().len());
    assert!(blames.iter().all(|group| group == "holding"), "{blames:?}");
    let mut holds = records(&recording, "hold", "holder");
    holds.retain(|group| !group.is_empty());
    assert!(!holds.is_empty() && holds.iter().all(|group| group == "holding"), "{holds:?}");
}

fn switched_and_asked(jdk: &Jdk) {
    let recording = program(jdk, "managed").record();
    let said = &recording.said;
    for key in ["enabled", "present", "registered", "paused", "resumed"] {
        assert_eq!(said[key], true, "{key}: {said}");
    }
    assert_eq!(said["mode"], "contention");
    assert_eq!(said["log"], text(&recording.log.canonicalize().unwrap()));
    assert_eq!((recording.number("attributes"), recording.number("threshold")), (8, 123_456));
    assert_eq!((recording.number("samples"), recording.number("dropped")), (0, 0));
    assert_eq!(recording.number("paused_contentions"), 0);
    let contentions = recording.long_contentions();
    let own: Vec<&Wait> = contentions.iter().filter(|wait| wait.thread == "main").collect();
    let [first, last] = own[..] else { panic!("not while paused: {contentions:?}") };
    for (wait, key) in [(first, "first_ns"), (last, "third_ns")] {
        assert!(wait.wait_ns <= recording.number(key), "{wait:?}: {said}");
    }
    // The JVM may have had waits of its own, also after the program asked.
    let waits = recording.waits();
    let all = || waits.iter().filter(|wait| wait.is_contention());
    let count: u64 = all().map(|wait| wait.count).sum();
    let sum_ns: u64 = all().map(|wait| wait.wait_ns).sum();
    let totals = &info(&recording.log)["totals"];
    assert_eq!((&totals["contentions"], &totals["wait_ns"]), (&json!(count), &json!(sum_ns)));
    let of_others = (count - 2, sum_ns - first.wait_ns - last.wait_ns);
    for (name, [least, least_ns]) in
        [("first_", [1, first.wait_ns]), ("", [2, first.wait_ns + last.wait_ns])]
    {
        let told = |key: &str| recording.number(&format!("{name}{key}"));
        assert_between(name, told("contentions"), least, least + of_others.0);
        assert_between(name, told("wait_ns"), least_ns, least_ns + of_others.1);
    }
}

/// How long the program was seen doing what, in ns, and how many snapshots
/// that took.
#[derive(Debug, Default)]
struct SampledTimes {
    outside_ns: u64,
    running_ns: u64,
    sleeping_ns: u64,
    snapshots: u64,
}

impl SampledTimes {
    fn of(recording: &Recording) -> SampledTimes {
        let mut sampled = SampledTimes::default();
        for sample in dump(&recording.log, &["sample"]) {
            assert_eq!(sample["thread"], "main");
            let stack: Vec<String> = serde_json::from_value(sample["stack"].clone()).unwrap();
            // On a loaded machine the first snapshot may come before the call that
            // begins the block has returned, and the last one in the call that ends it.
            if stack[0].starts_with("tyrion.api.Tyrion.sampl") {
                continue;
            }
            let is_within = group_of(&stack) == "import";
            let (sum_ns, place) = match sample["state"].as_str().unwrap() {
                _ if !is_within => (&mut sampled.outside_ns, "SampledBlock."),
                "sleeping" => (&mut sampled.sleeping_ns, "Threads.sleepMillis"),
                _ => (&mut sampled.running_ns, "SampledBlock."),
            };
            *sum_ns += sample["wall_ns"].as_u64().unwrap();
            sampled.snapshots += sample["count"].as_u64().unwrap();
            assert!(stack.iter().any(|frame| frame.contains(place)), "{stack:?}");
            assert!(!stack.iter().any(|frame| frame.contains("tyrion.api.")), "{stack:?}");
        }
        sampled
    }

    /// Snapshots came when they were due.
    fn is_undisturbed(&self, block_ns: u64) -> bool {
        let tenth_ns = block_ns / 10;
        (4 * tenth_ns..6 * tenth_ns).contains(&self.running_ns) && self.snapshots > 40
    }
}

fn a_block_is_sampled(jdk: &Jdk) {
    let recording = program(jdk, "sampled-block").record_undisturbed(|recording| {
        SampledTimes::of(recording).is_undisturbed(recording.number("block_ns"))
    });
    assert_eq!(recording.said["present"], true);
    let (sampled, block_ns) = (SampledTimes::of(&recording), recording.number("block_ns"));
    let within_ns = sampled.running_ns + sampled.sleeping_ns;
    // The program does not count its calls of the API.
    let about_ns = block_ns - ms(5)..block_ns + ms(50);
    assert!(about_ns.contains(&within_ns), "{sampled:?} of {block_ns}");
    assert!(sampled.outside_ns < ms(20), "{sampled:?}");
    // 80, but for chance.
    assert!(sampled.snapshots < 120, "{sampled:?}");
}

/// Each block needs a thread that looks at it, but not one of its own; and a
/// period that is too long is no mistake.
fn many_blocks_are_sampled(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.Blocks 5000").jar(&jar());
    let recording = program.record();
    // The agent's other threads are known to the JVM while they look at its threads.
    let (started, begun) = (recording.number("started"), recording.number("blocks"));
    assert!(begun > 200 && started * 20 < begun, "{}", recording.said);
    let blocks = dump(&recording.log, &["sample"]);
    assert!(blocks.len() > 200, "{} samples", blocks.len());
}

fn blocks_that_are_never_closed(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.Blocks 1500 5000").jar(&jar());
    let folder = tempfile::tempdir().unwrap();
    let output = output(&mut program.record_command(&folder.path().join("test.log")));
    assert!(output.status.success(), "{}", err(&output));
    let (said, expected) = (err(&output), "4096 blocks are being sampled");
    let told = ours(&said);
    assert!(told.len() == 1 && told[0].contains(expected), "{said}");
}

/// When the log has died there is nothing to look for.
fn blocks_without_a_log(jdk: &Jdk) {
    let mut running = Program::class(jdk, "tyrion.sampling.Blocks 5000").jar(&jar()).start();
    running.await_line("acting");
    std::fs::remove_file(&running.log).unwrap();
    let output = running.finish();
    let said: Value = serde_json::from_str(out(&output).lines().last().unwrap()).unwrap();
    assert_eq!(said["started_late"], 0, "{said}");
    let (said, expected) = (err(&output), "recording stops");
    let told = ours(&said);
    assert!(told.len() == 1 && told[0].contains(expected), "{said}");
}

fn an_agent_that_comes_later(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("later.log");
    let line = program(jdk, "groups-later").command_line();
    let mut running =
        RunningCommand::of(Command::new(&line[0]).args(&line[1..]), folder, log.clone());
    running.await_line("ready");
    std::thread::sleep(Duration::from_millis(300));
    let attach = ["attach", "-o", text(&log), &running.id().to_string()];
    stdout_of(tyrion().args(attach));
    let output = running.finish();
    let said: Value = serde_json::from_str(out(&output).lines().last().unwrap()).unwrap();
    assert_eq!((&said["present_before"], &said["present"]), (&json!(false), &json!(true)));
    assert!(said["loaders"].as_u64().unwrap() > 300, "{said}");
    assert_eq!(said["ignorant"], 0, "{said}");
    let waits = waits(&log);
    let groups: Vec<_> = waits
        .iter()
        .filter(|wait| wait.thread == "main" && wait.is_contention() && wait.wait_ns > ms(10))
        .map(|wait| group_of(&wait.stack))
        .collect();
    assert_eq!(groups, ["here", "there"]);
}

#[test]
fn the_library_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lib.jar");
    let output = run(["api-jar", "-o", text(&path)]);
    assert_eq!(err(&output), format!("tyrion: wrote {}\n", path.display()));
    let written = std::fs::read(&path).unwrap();
    assert!(written == std::fs::read(jar()).unwrap());
    assert!(run(["api-jar", "-o", "-"]).stdout == written);
    // What the scenarios were compiled with.
    assert!(classes().join("tyrion/truth/Groups.class").is_file());
}
