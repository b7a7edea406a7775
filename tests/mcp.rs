//! `tyrion mcp`, asked by the protocol's own client.

use crate::{
    attaching::start_unrecorded,
    support::{Jdk, Program, on_jdks, root, skip, stdout_of, text, tyrion},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

on_jdks!(jvms_are_recorded_if_that_is_allowed: newest, everywhere three);

/// What the server says of these calls; `None` after a message without the client.
fn asked(folder: &Path, options: &[&str], calls: &Value) -> Option<Value> {
    asked_of(Path::new(tyrion().get_program()), folder, options, calls)
}

/// The same of the server that this program is.
pub fn asked_of(program: &Path, folder: &Path, options: &[&str], calls: &Value) -> Option<Value> {
    let client = root().join("target/mcp");
    if !client.join("mcp").is_dir() {
        skip("the protocol's client: run tests/setup/wheels.sh");
        return None;
    }
    let mut python = Command::new("python3");
    python.arg("-B").arg(root().join("tests/mcp/client.py")).arg(program);
    python.arg("--folder").arg(folder).args(options).env("PYTHONPATH", client);
    let mut python = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(calls.to_string().as_bytes()).unwrap();
    let answered = python.wait_with_output().unwrap();
    assert!(answered.status.success());
    Some(serde_json::from_slice(&answered.stdout).unwrap())
}

fn results(answered: &Value) -> &[Value] {
    answered["results"].as_array().unwrap()
}

fn names(answered: &Value) -> Vec<&str> {
    let tools = answered["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// What a command prints that is shown to a person, with `--json`.
fn printed(command: &str) -> Value {
    let words = command.strip_prefix("tyrion ").unwrap();
    let program = tyrion();
    let script = format!("{} {words} --json", text(Path::new(program.get_program())));
    serde_json::from_str(&stdout_of(Command::new("sh").args(["-c", &script]))).unwrap()
}

#[test]
fn answers_are_what_the_commands_print() {
    let folder = root().join("testdata/logs");
    let log = "v1-trace.log";
    let calls = json!([
        ["verdict", {"logs": [log]}],
        ["locks", {"logs": [log, "v1-wakers.log"], "top": 2}],
        ["who_blocks_whom", {"logs": [log]}],
        ["stuck", {"logs": ["v1-killed.log"]}],
        ["withheld", {"logs": [log]}],
        ["overview", {"log": log}],
        ["what_if", {"logs": [log]}],
        ["diff", {"before": log, "after": "v1-wakers.log"}],
        ["list_jvms", {}],
    ]);
    let Some(answered) = asked(&folder, &[], &calls) else { return };
    assert_eq!(answered["server"]["serverInfo"]["name"], "tyrion");
    assert!(!names(&answered).contains(&"profile"), "{:?}", names(&answered));
    for (call, result) in calls.as_array().unwrap().iter().zip(results(&answered)) {
        assert_eq!(result["isError"], false, "{call}: {result}");
        let told = &result["structuredContent"];
        // What is left to clients that read only text is the same.
        let again: Value = serde_json::from_str(result["text"].as_str().unwrap()).unwrap();
        assert_eq!(&again, told);
        let command = told["command"].as_str().unwrap();
        if call[0] == "list_jvms" {
            // Others start and end meanwhile.
            assert_eq!((command, &told["result"]["schema"]), ("tyrion list", &json!(1)));
            continue;
        }
        let whole = printed(command);
        for (field, told) in told["result"].as_object().unwrap() {
            assert_eq!(told, &whole[field], "{call}: {field}");
        }
    }
    let Some(first) = results(&answered)[0]["structuredContent"]["result"]["sections"].as_object()
    else {
        panic!("{answered}")
    };
    assert_eq!(first.keys().collect::<Vec<_>>(), ["verdict"]);
}

#[test]
fn stacks_have_all_the_time_of_a_lock() {
    let folder = root().join("testdata/logs");
    let calls = json!([
        ["stacks", {"logs": ["v1-trace.log"]}],
        ["stacks", {"logs": ["v1-trace.log"], "by": "holder"}],
        ["locks", {"logs": ["v1-trace.log"], "top": 100}],
    ]);
    let Some(answered) = asked(&folder, &[], &calls) else { return };
    let result = |at: usize| &results(&answered)[at]["structuredContent"]["result"];
    let sum = |list: &Value, field: &str| -> u64 {
        list.as_array().unwrap().iter().map(|it| it[field].as_u64().unwrap()).sum()
    };
    let of_stacks = sum(&result(0)["stacks"], "time_ns");
    assert_eq!(of_stacks, sum(&result(2)["sections"]["contended"]["locks"], "wait_ns"));
    assert!(of_stacks > 0 && result(0)["more"] == 0);
    assert!(sum(&result(1)["stacks"], "time_ns") > 0, "{}", result(1));
    for stack in result(0)["stacks"].as_array().unwrap() {
        assert!(!stack["lock"].as_str().unwrap().is_empty(), "{stack}");
        assert!(!stack["thread"].as_str().unwrap().is_empty(), "{stack}");
        assert!(!stack["frames"].as_array().unwrap().is_empty(), "{stack}");
    }
}

#[test]
fn what_may_not_be_is_refused_in_words() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("logs");
    fs::create_dir(&folder).unwrap();
    fs::copy(root().join("testdata/logs/v1-tiny.log"), outer.path().join("b.log")).unwrap();
    std::os::unix::fs::symlink("../b.log", folder.join("link.log")).unwrap();
    fs::write(folder.join("none.log"), "no log\n").unwrap();
    let calls = json!([
        ["verdict", {"logs": ["../b.log"]}],
        ["verdict", {"logs": ["link.log"]}],
        ["overview", {"log": "/etc/passwd"}],
        ["overview", {"log": "none.log"}],
        ["verdict", {"logs": ["."], "output": "/tmp/x"}],
        ["profile", {"pid": 1}],
        ["diff", {"before": "none.log", "after": "--help"}],
    ]);
    let Some(answered) = asked(&folder, &[], &calls) else { return };
    let expected = [
        "only what is in",
        "only what is in",
        "only what is in",
        "none.log",
        "no such argument: output",
        "no such tool: profile",
        "--help: No such file",
    ];
    for (result, expected) in results(&answered).iter().zip(expected) {
        let told = result["text"].as_str().or(result["refused"].as_str()).unwrap();
        assert!(told.contains(expected), "{told}");
        assert!(result.get("refused").is_some() || result["isError"] == true, "{result}");
        assert!(!told.contains("root:"), "{told}");
    }
}

/// An assistant has to read all of an answer: where tables are too long, there are fewer rows.
#[test]
fn answers_are_short() {
    let folder = tempfile::tempdir().unwrap();
    let line = |n: usize| format!("worker;Main.{};[monitor] Lock{n} {n}\n", "x".repeat(2_000));
    let lines: String = (1..200).map(line).collect();
    fs::write(folder.path().join("long.collapsed"), lines).unwrap();
    let calls = json!([
        ["locks", {"logs": ["long.collapsed"], "top": 100}],
        ["stacks", {"logs": ["long.collapsed"]}],
    ]);
    let Some(answered) = asked(folder.path(), &[], &calls) else { return };
    for result in results(&answered) {
        assert_eq!(result["isError"], false, "{result}");
        let bytes = result["text"].as_str().unwrap().len();
        assert!((10_000..=62_000).contains(&bytes), "{bytes}");
    }
    let told = &results(&answered)[0]["structuredContent"];
    let notes = told["notes"].as_str().unwrap();
    assert!(notes.contains("rows of each table at most"), "{notes}");
    let rows = told["result"]["sections"]["contended"]["locks"].as_array().unwrap().len();
    assert!(told["command"].as_str().unwrap().contains(&format!("--top={rows}")), "{told}");
    let stacks = &results(&answered)[1]["structuredContent"]["result"];
    let shown = stacks["stacks"].as_array().unwrap().len();
    assert_eq!(stacks["more"].as_u64().unwrap() as usize + shown, 199);
    assert_eq!(stacks["stacks"][0]["time_ns"], 199);
}

fn jvms_are_recorded_if_that_is_allowed(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::truth(jdk, "storm 600 lock for-an-assistant");
    let running = start_unrecorded(&program, tempfile::tempdir().unwrap());
    running.await_line("raging");
    let calls = json!([["profile", {"pid": running.id(), "seconds": 2}], ["list_jvms", {}]]);
    let Some(answered) = asked(folder.path(), &["--allow-attach"], &calls) else { return };
    let told = &results(&answered)[0]["structuredContent"];
    assert_eq!(told["result"]["sections"]["verdict"]["kind"], "lock", "{answered}");
    let jvms = results(&answered)[1]["structuredContent"]["result"]["jvms"].as_array().unwrap();
    assert!(jvms.iter().any(|jvm| jvm["pid"] == running.id()), "{jvms:?}");
    // The log stays for the other tools.
    let files = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path());
    let logs: Vec<_> = files.filter(|path| text(path).ends_with(".log")).collect();
    let [log] = &logs[..] else { panic!("{logs:?}") };
    let calls = json!([["locks", {"logs": [text(log)]}]]);
    let again = asked(folder.path(), &[], &calls).unwrap();
    let locks = &results(&again)[0]["structuredContent"]["result"]["sections"]["contended"];
    assert!(!locks["locks"].as_array().unwrap().is_empty(), "{again}");
}
