//! Lines and names are those of the version of the class that ran.

use super::{
    Account, IdentityProgram, LogExpectation, ProgramLog, RecordingWay, WAYS, assert_none,
    labelled, places, setup,
};
use crate::{
    mode_changes::attach_to,
    support::{Jdk, RunningCommand, instruments, needs, on_jdks, root, stdout_of, text, tyrion},
};
use std::{fs::File, path::Path, process::Command};

on_jdks!(after_a_change_of_mode: ends, everywhere all);
on_jdks!(after_a_change_of_include: ends, everywhere all);
on_jdks!(of_the_version_on_the_stack: newest, everywhere all);
on_jdks!(in_outputs: newest, everywhere all);

const FIELDS: [(u32, &str); 4] = [
    (1, "tyrion/identity/Lines.A"),
    (2, "tyrion/identity/Lines.B"),
    (3, "tyrion/identity/Lines.C"),
    (4, "tyrion/identity/Lines.D"),
];

/// Records `Lines`, which goes on after each of these changes; and what differs from its
/// account, with acquisitions in the rounds `traced`.
fn check_steps(jdk: &Jdk, mode: &str, first: &[&str], steps: &[(&str, &[&str])], traced: &[&str]) {
    let names: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
    let way = RecordingWay {
        mode: if mode == "trace" { "trace" } else { "contention" },
        attached: false,
    };
    let main = format!("Lines {}", names.join(" "));
    let folder = tempfile::tempdir().unwrap();
    let flag = format!("-Didentity.steps={}", text(folder.path()));
    let program = way.program(jdk, &main, &jdk.classes()).flag(flag);
    let program = first.iter().fold(program, |program, option| program.option(option));
    let running: RunningCommand = program.start();
    for (step, options) in steps {
        running.await_line(step);
        attach_to(&running, running.jvm(), options);
        File::create(folder.path().join(step)).unwrap();
    }
    let recording = running.into_recording();
    let (logged, account) = (ProgramLog::open(&recording.log), Account::of(&recording.said));
    let places = places::places(&jdk.classes(), "tyrion/identity/Lines");
    let prefix = "tyrion/identity/Lines";
    let checked =
        |account| LogExpectation { logged: &logged, account, places: &places, prefix, moved: &[] };
    let mut wrong = checked(&account).waits();
    wrong.extend(checked(&account).fields(&FIELDS));
    wrong.extend(checked(&account.only(traced)).acquisitions());
    assert_none(&wrong);
}

fn after_a_change_of_mode(jdk: &Jdk) {
    let traced: &[&str] = &["--mode=trace", "--hold=all"];
    let contention: &[&str] = &["--mode=contention"];
    let steps = [("second", traced), ("third", contention), ("fourth", traced)];
    check_steps(jdk, "contention", &[], &steps, &["second", "fourth"]);
}

fn after_a_change_of_include(jdk: &Jdk) {
    let others: &[&str] = &["--include=tyrion.truth.*"];
    let ours: &[&str] = &["--include=tyrion.identity.*"];
    let steps = [("second", ours), ("third", others)];
    check_steps(jdk, "trace", others, &steps, &["second"]);
}

/// The class gets other lines and other code while the method is on stacks, in which threads
/// then wait for other locks, too.
fn of_the_version_on_the_stack(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let (sources, variant) = (folder.path().join("source"), folder.path().join("variant"));
    std::fs::create_dir_all(&sources).unwrap();
    let source = root().join("testdata/java/tyrion/identity/Changed.java");
    let mut changed = std::fs::read_to_string(source).unwrap();
    changed = changed.replace("// MORE", "\n\n\n\n\n        long now = System.nanoTime();\n");
    for place in 1..=4 {
        changed = changed.replace(&format!(", {place})"), &format!(", 1{place})"));
    }
    std::fs::write(sources.join("Changed.java"), changed).unwrap();
    setup::javac(&["-g"], &[], &[sources.join("Changed.java")], &variant);
    let class = variant.join("tyrion/identity/Changed.class");
    let agent = instruments(folder.path());
    let mut wrong = Vec::new();
    for way in WAYS {
        let main = format!("Changing {}", text(&class));
        let program = way.program(jdk, &main, &jdk.classes());
        let recording = program.flag(format!("-javaagent:{}", text(&agent))).record();
        let (logged, account) = (ProgramLog::open(&recording.log), Account::of(&recording.said));
        let prefix = "tyrion/identity/Changed";
        let mut all = places::places(&jdk.classes(), prefix);
        all.extend(places::places(&variant, prefix));
        let waits: Vec<usize> =
            [1, 2, 3, 4, 11, 12, 13, 14].map(|place| account.waits_at(place)).to_vec();
        assert_eq!(waits, [1, 1, 2, 2, 2, 2, 2, 2], "{account:?}");
        let subject = IdentityProgram {
            recording,
            logged,
            account,
            places: all,
            prefix: prefix.to_owned(),
            way,
        };
        wrong.extend(subject.differences(&[]));
        for (place, name) in (1..).zip(["A", "B", "C", "D"]) {
            let field = format!("tyrion/identity/Changed.{name}");
            wrong.extend(subject.checked(&[]).fields(&[(place, &field), (10 + place, &field)]));
            let label = format!("Changed.{name}");
            wrong.extend(subject.wrong_rows(&[labelled(&[place, 10 + place], &[&label])]));
        }
    }
    assert_none(&wrong);
}

/// Two locks on one line are two leaves in every output that shows locks.
fn in_outputs(jdk: &Jdk) {
    if !needs(&["go"]) {
        return;
    }
    let mut wrong = Vec::new();
    for classes in [jdk.classes(), setup::stripped()] {
        for way in WAYS.into_iter().filter(|way| !way.attached) {
            let subject = IdentityProgram::record(jdk, way, "OneLine", &classes);
            let folder = tempfile::tempdir().unwrap();
            for format in ["collapsed", "callgrind", "pprof"] {
                let text = shown(format, &subject.recording.log, folder.path());
                for name in ["A", "B", "C", "D", "K", "L"] {
                    let name = format!("OneLine.{name}");
                    let is_name = |at: usize| {
                        let next = text[at + name.len()..].chars().next();
                        !next.is_some_and(|next| next.is_alphanumeric())
                    };
                    if !text.match_indices(&name).any(|(at, _)| is_name(at)) {
                        wrong.push(format!("{way:?}, {format}: no {name}"));
                    }
                }
            }
        }
    }
    assert_none(&wrong);
}

/// An output as text.
fn shown(format: &str, log: &Path, folder: &Path) -> String {
    let to = folder.join(format);
    let mut convert = tyrion();
    convert.args(["convert", "--to", format, "-o", text(&to), text(log)]);
    stdout_of(&mut convert);
    match format {
        "pprof" => stdout_of(Command::new("go").args(["tool", "pprof", "-raw"]).arg(&to)),
        "callgrind" => crate::support::callgrind_parts(&to)
            .iter()
            .chain(to.is_file().then_some(&to))
            .map(|part| std::fs::read_to_string(part).unwrap())
            .collect(),
        _ => std::fs::read_to_string(&to).unwrap(),
    }
}
