//! Every option of the agent's table in a JVM: given to the agent itself, to
//! `tyrion record` and to `tyrion attach`. What the log then says was in force
//! is compared with what was asked for.

use crate::{
    attaching::unrecorded,
    support::{
        Jdk, Program, agent, alone, classes, err, info, on_jdks, output, stdout_of, text, tyrion,
    },
};
use serde_json::Value;
use std::{os::unix::ffi::OsStringExt, path::Path, process::Command};
use tyrion_options::{Entry, Mode, Options, Reach, TABLE, join_escaped};

on_jdks!(the_agent_takes_every_option: one);
on_jdks!(record_takes_every_option: one);
on_jdks!(attach_takes_every_option: one);

type Pairs = Vec<(&'static str, String)>;

/// Each option counts in one of these at least.
const MODES: [&str; 2] = ["trace+sample", "auto+sample"];

/// Each of these options that counts in a mode, with a value that it takes.
fn all(mode: &str, is_wanted: impl Fn(&Entry) -> bool) -> Pairs {
    let value = |entry: &Entry| match entry.name {
        "mode" => mode.to_owned(),
        _ => entry.about().accepted.swap_remove(0),
    };
    let counts = |entry: &Entry, mode| entry.counts.applies_to(Mode::parse(mode).unwrap());
    let in_none = |entry: &&Entry| !MODES.iter().any(|mode| counts(entry, mode));
    assert_eq!(TABLE.iter().find(in_none).map(|entry| entry.name), None);
    let wanted = TABLE.iter().filter(|entry| counts(entry, mode) && is_wanted(entry));
    wanted.map(|entry| (entry.name, value(entry))).collect()
}

fn for_agent(pairs: &Pairs) -> Vec<u8> {
    join_escaped(pairs.iter().map(|(name, value)| (*name, value.as_bytes())))
}

/// The same as long options of a command.
fn long_options(pairs: &Pairs) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

fn all_long_options(mode: &str) -> Pairs {
    let pairs = all(mode, |entry| entry.reach == Reach::LongOption);
    assert!(pairs.len() > 15, "{pairs:?}");
    pairs
}

/// The log says that all of them are in force.
fn check_log(log: &Path, asked: &Pairs) {
    let info = info(log);
    let metadata = &info["metadata"];
    let options = Options::parse(for_agent(asked)).unwrap();
    let expected = options.in_force();
    for (name, _) in asked {
        let key = tyrion_options::find(name).unwrap().log_key();
        assert!(key.is_none_or(|key| expected.iter().any(|(known, _)| *known == key)), "{name}");
    }
    for (key, value) in expected {
        let value = match (key, value.as_str()) {
            ("threshold", _) => "as asked for",
            // The log has what it comes to: trace mode needs probes.
            ("parks", "auto") if options.mode().name() == MODES[0] => "probes",
            ("parks", "auto") => {
                let parks = metadata[key].as_str().unwrap();
                assert!(["natives", "natives+probes"].contains(&parks), "{metadata}");
                continue;
            }
            (_, value) => value,
        };
        assert_eq!(metadata[key], value, "{key}: {metadata}");
    }
    assert_eq!(info["depth"], options.depth);
    assert!(!metadata["args"].is_null(), "{metadata}");
}

fn the_agent_takes_every_option(jdk: &Jdk) {
    MODES.iter().for_each(|mode| check_agent(jdk, mode));
}

fn check_agent(jdk: &Jdk, mode: &str) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    let mut pairs = all(mode, |entry| entry.reach != Reach::Internal);
    for (name, value) in &mut pairs {
        if *name == "file" {
            *value = text(&log).to_owned();
        }
    }
    let mut option = format!("-agentpath:{}=", text(&agent())).into_bytes();
    option.extend(for_agent(&pairs));
    let mut java = Command::new(jdk.java());
    java.arg(std::ffi::OsString::from_vec(option)).arg("-cp").arg(classes());
    java.args(["tyrion.truth.Truth", "exit", "0", "secret"]);
    let guard = alone();
    let output = output(&mut java);
    drop(guard);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(err(&output), "");
    check_log(&log, &pairs);
}

fn record_takes_every_option(jdk: &Jdk) {
    for mode in MODES {
        let pairs = all_long_options(mode);
        let program = Program::truth(jdk, "exit 0 secret");
        let program =
            long_options(&pairs).iter().fold(program, |program, option| program.option(option));
        check_log(&program.record().log, &pairs);
    }
}

fn attach_takes_every_option(jdk: &Jdk) {
    MODES.iter().for_each(|mode| check_attach(jdk, mode));
}

fn check_attach(jdk: &Jdk, mode: &str) {
    let running = unrecorded(jdk);
    let attach = |options: &[String]| -> Value {
        let mut attach = tyrion();
        attach.args(["attach", "--json", "-o", text(&running.log)]).args(options);
        let answer = stdout_of(attach.arg(running.id().to_string()));
        serde_json::from_str(&answer).unwrap()
    };
    let pairs = all_long_options(mode);
    let answer = attach(&long_options(&pairs));
    assert_eq!((&answer["state"], &answer["note"]), (&"recording".into(), &Value::Null));
    check_log(&running.log, &pairs);

    // What can change does, and what cannot is named.
    let changing = ["--mode=sample", "--period=30ms", "--threshold=2ms"].map(str::to_owned);
    let answer = attach(&changing);
    assert_eq!((&answer["period_ns"], &answer["note"]), (&30_000_000.into(), &Value::Null));
    assert_eq!(answer["threshold_ns"], 2_000_000);
    let mut refused = tyrion();
    refused.args(["attach", "--depth=7", "--walk=jvmti", "--threshold=3ms"]);
    let refused = crate::support::output(refused.arg(running.id().to_string()));
    assert_eq!(refused.status.code(), Some(1));
    let reason = err(&refused);
    assert!(reason.starts_with("tyrion: depth and walk cannot change"), "{reason}");
    // All of it is refused, or none.
    assert_eq!(attach(&[])["threshold_ns"], 2_000_000);
}
