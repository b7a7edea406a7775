//! What trace mode is asked for changes while the JVM runs: which holds are measured,
//! whether each becomes a record, and which classes get probes.

use crate::{
    attaching::unrecorded,
    mode_changes::{REDEFINED, attach, in_steps, redefined, take_step},
    rotation::files,
    support::{
        AcquisitionSum, Jdk, Program, RunningCommand, TraceLog, err, info, list, number, on_jdks,
        out, output, stdout_of, text, tyrion,
    },
};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::path::Path;
use tyrion_formats::Recording;

on_jdks!(each_step_is_measured_as_asked: one, everywhere since(11));
on_jdks!(classes_get_and_lose_their_probes: one, everywhere since(11));
on_jdks!(nothing_is_lost_while_options_change: one, everywhere since(11));
on_jdks!(later_files_begin_with_what_changed: one);
on_jdks!(what_was_asked_for_before_trace_mode_counts: one);

/// How often the program `changing` takes each lock in a step.
const TIMES: u64 = 20_480;
/// So many holds of a cell are measured however few are asked for.
const FIRST: u64 = 10_240;
const CLASSES: [&str; 3] = ["Block", "Method", "Lock"];

fn class(name: &str) -> String {
    format!("tyrion.truth.Changing${name}")
}

/// The program `changing`, whose JVM tells which classes are redefined.
fn changing(jdk: &Jdk, steps: usize, racers: usize) -> RunningCommand {
    let program = |folder: &Path| {
        let told = text(&folder.join(REDEFINED)).to_owned();
        Program::truth(jdk, &format!("changing {} {steps} {racers}", text(folder)))
            .flag(format!("-Xlog:redefine+class+load=info:file={told}"))
    };
    in_steps(program, "ready")
}

/// Has a step taken, to its end: what is held then is held until the next one begins.
fn step(running: &RunningCommand, nth: usize) {
    take_step(running, &nth.to_string());
    running.await_line(&nth.to_string());
}

/// Ends the program, which has taken so many steps: what it says of itself.
fn end(running: &mut RunningCommand, steps: usize) -> Value {
    take_step(running, &(steps + 1).to_string());
    let ended = running.finish();
    assert!(ended.status.success(), "{}", err(&ended));
    serde_json::from_str(out(&ended).lines().last().unwrap()).unwrap()
}

/// The cells of what a method of a class takes, in the order in which they began.
fn cells<'a>(traced: &'a TraceLog, name: &str, method: &str) -> Vec<&'a Value> {
    let mut cells = traced.at_class("acquisitions", &class(name));
    let start = format!("{}.{method}(", class(name));
    cells.retain(|cell| cell["at"].as_str().unwrap().starts_with(&start));
    cells
}

fn numbers(cells: &[&Value], key: &str) -> Vec<u64> {
    cells.iter().map(|cell| number(cell, key)).collect()
}

/// The options that changed: name and value, and when.
fn changes(log: &Path) -> Vec<(String, String, u64)> {
    let text = |change: &Value, key: &str| change[key].as_str().unwrap().to_owned();
    let info = info(log);
    list(&info, "option_changes")
        .iter()
        .map(|change| (text(change, "option"), text(change, "value"), number(change, "start_ns")))
        .collect()
}

/// Locks are held over each change. What was taken before it counts as it was measured
/// then, and taken once more behind it, it is still known to be held.
fn each_step_is_measured_as_asked(jdk: &Jdk) {
    // The options, and how many of a step's holds are measured then.
    const NONE: RangeInclusive<u64> = 0..=0;
    const ALL: RangeInclusive<u64> = TIMES..=TIMES;
    // An eighth of the rest is 1 280; which ones is left to chance, burst by burst.
    const AN_EIGHTH: RangeInclusive<u64> = FIRST + 640..=FIRST + 2560;
    const STEPS: [(&str, RangeInclusive<u64>); 7] = [
        ("--hold=none", NONE),
        ("--hold=all", ALL),
        ("--hold=1/8", AN_EIGHTH),
        ("--events=all", ALL),
        // What was asked for before counts again.
        ("--events=folded", AN_EIGHTH),
        ("--hold=none", NONE),
        ("--hold=all", ALL),
    ];
    let mut running = changing(jdk, STEPS.len(), 0);
    attach(&running, &["--threshold=0", "--mode=contention"]);
    for (nth, (options, _)) in STEPS.iter().enumerate() {
        match nth {
            0 => attach(&running, &["--mode=trace", options]),
            _ => attach(&running, &[options]),
        };
        step(&running, nth + 1);
    }
    end(&mut running, STEPS.len());

    let log = &running.log;
    let traced = TraceLog::of(log);
    let measured = STEPS.map(|(_, measured)| measured);
    for name in CLASSES {
        let once = cells(&traced, name, "once");
        assert_eq!(numbers(&once, "acquisitions"), [TIMES; STEPS.len()], "{name}: {once:?}");
        let once = numbers(&once, "measured");
        let is_as_asked = once.iter().zip(&measured).all(|(own, asked)| asked.contains(own));
        assert!(is_as_asked && once.len() == STEPS.len(), "{name}: {once:?}");
        // Each is one of the first of its cell.
        let kept = cells(&traced, name, "keep");
        assert_eq!(numbers(&kept, "acquisitions"), [1; STEPS.len()], "{name}: {kept:?}");
        let one = measured.clone().map(|many| many.start().min(&1).to_owned());
        assert_eq!(numbers(&kept, "measured"), one, "{name}");
        let again = cells(&traced, name, "again");
        assert_eq!(numbers(&again, "acquisitions").iter().sum::<u64>(), 0, "{name}: {again:?}");
        assert_eq!(numbers(&again, "reentrant").iter().sum::<u64>(), STEPS.len() as u64, "{name}");
    }
    check_told(log);
    check_events(log);
}

/// The log says which options were in force when.
fn check_told(log: &Path) {
    let changes = changes(log);
    let told: Vec<(&str, &str)> =
        changes.iter().map(|(option, value, _)| (option.as_str(), value.as_str())).collect();
    let expected = [
        // Trace mode began later than the log.
        ("hold", "none"),
        ("events", "folded"),
        ("count", "full"),
        ("identity", "true"),
        ("precise", "false"),
        ("hold", "all"),
        ("hold", "1/8"),
        // A record says how long, so all are measured.
        ("hold", "all"),
        ("events", "all"),
        ("events", "folded"),
        ("hold", "1/8"),
        ("hold", "none"),
        ("hold", "all"),
    ];
    assert_eq!(told, expected);
    let info = info(log);
    assert_eq!(
        (&info["trace"]["hold"], &info["metadata"]["hold"]),
        (&"sampled".into(), &Value::Null)
    );
    let report = stdout_of(tyrion().args(["report", "--json", text(log)]));
    assert!(report.contains("none, then all, then 1/8, then all, then 1/8"), "{report}");
}

/// As long as each hold was to be a record, it is one.
fn check_events(log: &Path) {
    let changes = changes(log);
    let at = |value: &str, nth: usize| {
        let of_events = changes.iter().filter(|(option, ..)| option == "events");
        of_events.filter(|(_, to, _)| to == value).nth(nth).unwrap().2
    };
    let window = at("all", 0)..at("folded", 1);
    let traced = TraceLog::of_kinds(log, &["hold"]);
    for name in CLASSES {
        let start = format!("{}.once(", class(name));
        let records = traced.records("hold");
        let (inside, outside): (Vec<_>, Vec<_>) = records
            .filter(|hold| hold["at"].as_str().unwrap().starts_with(&start))
            .partition(|hold| window.contains(&number(hold, "released_ns")));
        assert_eq!(inside.len() as u64, TIMES, "{name}");
        // Some have their stack taken.
        assert!(outside.len() < 100, "{name}: {}", outside.len());
    }
}

/// Probes are there from the change on, or are not, whoever is inside of a block then:
/// what was entered with probes is left with them.
fn classes_get_and_lose_their_probes(jdk: &Jdk) {
    let include = |name: &str| format!("--include={}", class(name));
    let only_block = include("Block");
    let steps: [&[&[&str]]; 6] = [
        &[&["--threshold=0", "--mode=trace", "--hold=all", &only_block]],
        &[&["--include=tyrion.truth.Changing*"]],
        &[&["--exclude=*$Method;*$Lock"]],
        // While trace mode is off, too.
        &[&["--mode=contention"], &["--include=*Changing$Method", "--exclude="], &["--mode=trace"]],
        &[&["--include="]],
        &[&["--exclude=tyrion.*"]],
    ];
    let mut running = changing(jdk, steps.len(), 0);
    for (nth, attachments) in steps.iter().enumerate() {
        attachments.iter().for_each(|options| drop(attach(&running, options)));
        step(&running, nth + 1);
        if nth == 2 {
            // Those alone change whose filters do.
            let redefined = redefined(&running);
            let times = CLASSES.map(|name| redefined[&class(name)]);
            assert_eq!(times, [1, 2, 2], "{redefined:?}");
        }
    }
    end(&mut running, steps.len());

    let traced = TraceLog::of(&running.log);
    let sum = |name: &str, method: &str| {
        let cells = cells(&traced, name, method);
        let sum = |key: &str| numbers(&cells, key).into_iter().sum::<u64>();
        [sum("acquisitions"), sum("reentrant"), sum("measured")]
    };
    // In steps 1, 2, 3 and 5; 2, 4 and 5; 2 and 5.
    for (name, steps) in [("Block", 4), ("Method", 3), ("Lock", 2)] {
        assert_eq!(sum(name, "once"), [steps * TIMES, 0, steps * TIMES], "{name}");
    }
    // That of step 3 was held when trace mode was off.
    assert_eq!(sum("Block", "keep"), [4, 0, 3]);
    assert_eq!(sum("Method", "keep"), [3, 0, 3]);
    assert_eq!(sum("Lock", "keep"), [2, 0, 2]);
    // Held since the step before, it is taken once more where it was seen to be taken:
    // locks of java.util.concurrent always are.
    assert_eq!(sum("Block", "again"), [1, 2, 1]);
    assert_eq!(sum("Method", "again"), [2, 1, 2]);
    assert_eq!(sum("Lock", "again"), [0, 2, 0]);
}

/// However threads are caught by a change, each acquisition counts once, and each cell
/// has holds that were measured alike.
fn nothing_is_lost_while_options_change(jdk: &Jdk) {
    let mut running = changing(jdk, 1, 3);
    attach(&running, &["--threshold=0", "--mode=trace"]);
    step(&running, 1);
    let all = [
        "--hold=all",
        "--events=all",
        "--exclude=*$Block",
        "--events=folded",
        "--hold=none",
        "--exclude=",
        "--hold=1/2",
    ];
    for options in all.iter().chain(&all).chain(&all) {
        attach(&running, &[options]);
    }
    let said = end(&mut running, 1);
    let taken = TraceLog::of(&running.log).taken(&class("Raced"));
    let (raced, again) = (number(&said, "raced"), number(&said, "raced_again"));
    let expected = AcquisitionSum { acquisitions: 2 * raced, reentrant: again, failed: 0 };
    assert_eq!(taken, expected, "{said}");

    let log = Recording::open(&running.log).unwrap();
    let mut kinds = [0; 3];
    for cell in log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk)) {
        let thread = log.definitions().threads().get(cell.thread).unwrap();
        if log.text(thread.name) != "racer" {
            continue;
        }
        let measured = cell.first_count + cell.sampled_count;
        match cell.one_in.unwrap() {
            0 => assert_eq!(measured, 0, "{cell:?}"),
            1 => assert_eq!(measured, cell.acquisitions, "{cell:?}"),
            _ => assert!(measured <= cell.acquisitions, "{cell:?}"),
        }
        kinds[cell.one_in.unwrap().min(2) as usize] += cell.acquisitions;
    }
    assert!(kinds.iter().all(|&taken| taken > 0), "{kinds:?}");
}

/// A later file's metadata are those of its beginning.
fn later_files_begin_with_what_changed(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let log = &running.log;
    attach(&running, &["--mode=trace", "--filesize=1g", "--include=tyrion.*"]);
    attach(&running, &["--hold=all", "--include="]);
    attach(&running, &["--filesize=2g"]);
    attach(&running, &["--hold=none"]);
    let all = files(log);
    let [first, second] = &all[..] else { panic!("{all:?}") };
    let options = |log: &Path| -> Vec<(String, String)> {
        changes(log).into_iter().map(|(option, value, _)| (option, value)).collect()
    };
    let pair = |option: &str, value: &str| (option.to_owned(), value.to_owned());
    assert_eq!(info(first)["metadata"]["hold"], "1/64");
    assert_eq!(options(first), [pair("hold", "all"), pair("include", "")]);
    let metadata = &info(second)["metadata"];
    assert_eq!(
        (&metadata["hold"], &metadata["include"]),
        (&"all".into(), &"".into()),
        "{metadata}"
    );
    assert_eq!(options(second), [pair("hold", "none")]);
}

/// Trace mode does not have to be on to be told what to do; without an agent there is
/// nobody to tell.
fn what_was_asked_for_before_trace_mode_counts(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let pid = running.id().to_string();
    let refused = output(tyrion().args(["attach", &pid, "--hold=all"]));
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(err(&refused).contains("--hold is for trace mode; add --mode trace"));
    attach(&running, &["--mode=contention"]);
    let told = output(tyrion().args(["attach", &pid, "--hold=1/8", "--identity=false"]));
    assert_eq!(told.status.code(), Some(0), "{}", err(&told));
    assert!(err(&told).contains("note: trace mode is off"), "{}", err(&told));
    attach(&running, &["--mode=trace", "--exclude=a.*"]);
    let changes = changes(&running.log);
    let told: Vec<(&str, &str)> =
        changes.iter().map(|(option, value, _)| (option.as_str(), value.as_str())).collect();
    let expected = [
        ("hold", "1/8"),
        ("events", "folded"),
        ("count", "full"),
        ("identity", "false"),
        ("precise", "false"),
        ("exclude", "a.*"),
    ];
    assert_eq!(told, expected);
}
