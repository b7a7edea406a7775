use super::{
    folder::LogFolder,
    parameters,
    results::Output,
    stacks,
    tools::{ALL, TOP},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path};

fn folder() -> (tempfile::TempDir, LogFolder) {
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("logs");
    fs::create_dir_all(inner.join("old")).unwrap();
    fs::write(outer.path().join("secret.log"), "").unwrap();
    for name in ["a.log", "b.log", "-x.log", "old/c.log"] {
        fs::write(inner.join(name), "").unwrap();
    }
    let folder = LogFolder::open(&inner).unwrap();
    (outer, folder)
}

fn link(outer: &Path, to: &str, name: &str) {
    symlink(to, outer.join("logs").join(name)).unwrap();
}

#[test]
fn only_what_is_in_the_folder_is_read() {
    let (outer, folder) = folder();
    let inside = |name: &str| folder.inside(name).map(|path| path.display().to_string());
    let here = folder.path().display().to_string();
    assert_eq!(inside("a.log"), Ok(format!("{here}/a.log")));
    assert_eq!(inside("old/../a.log"), Ok(format!("{here}/a.log")));
    assert_eq!(inside(&format!("{here}/old/c.log")), Ok(format!("{here}/old/c.log")));
    assert_eq!(inside("old"), Ok(format!("{here}/old")));
    // No name becomes an option.
    assert_eq!(inside("-x.log"), Ok(format!("{here}/-x.log")));
    for name in ["../secret.log", "/etc/passwd", "..", "/", "old/../../secret.log"] {
        let refused = inside(name).unwrap_err();
        assert!(refused.contains("only what is in"), "{refused}");
    }
    assert!(inside("-").unwrap_err().contains("No such file"));
    // Neither by a link, nor by one that would be read with it.
    link(outer.path(), "../secret.log", "link.log");
    assert!(inside("link.log").unwrap_err().contains("only what is in"));
    assert!(inside(".").unwrap_err().contains("link.log leads out of"));
    link(outer.path(), "/etc/passwd", "b.log.0");
    assert!(inside("b.log").unwrap_err().contains("b.log.0 leads out of"));
    link(outer.path(), "a.log", "b.log.1");
    fs::remove_file(outer.path().join("logs/b.log.0")).unwrap();
    assert!(inside("b.log").is_ok());
    assert!(LogFolder::open(&outer.path().join("secret.log")).is_err());
}

/// The words for a tool's arguments.
fn words(tool: &str, arguments: Value) -> Result<Vec<String>, String> {
    let (_outer, folder) = folder();
    let tool = ALL.iter().find(|it| it.name == tool).unwrap();
    let arguments = arguments.as_object().unwrap();
    let here = format!("{}/", folder.path().display());
    let words = parameters::words(tool.parameters, arguments, &folder)?;
    Ok(words.into_iter().map(|word| word.replace(&here, "")).collect())
}

#[test]
fn arguments_become_words() {
    assert_eq!(words("list_jvms", json!({})), Ok(Vec::new()));
    let locks = json!({"logs": ["a.log", "b.log"], "lock": "--help", "top": 3, "since": null});
    assert_eq!(words("locks", locks).unwrap(), ["--top=3", "--lock=--help", "a.log", "b.log"]);
    let change = json!({"logs": ["a.log"], "lock": "x y", "free": true, "stripes": 4});
    let changed = words("what_if", change).unwrap();
    assert_eq!(changed, ["--lock=x y", "--free", "--stripes=4", "a.log"]);
    let kept = words("what_if", json!({"logs": ["a.log"], "free": false})).unwrap();
    assert_eq!(kept, ["a.log"]);
    let profile = words("profile", json!({"pid": 7, "seconds": 5})).unwrap();
    assert_eq!(profile, ["--duration=5s", "--mode=contention", "7"]);
    assert_eq!(words("profile", json!({"pid": 7})).unwrap()[0], "--duration=10s");
}

#[test]
fn wrong_arguments_are_told() {
    let wrong = [
        ("locks", json!({}), "logs: is needed"),
        ("locks", json!({"logs": []}), "logs: a list of 1 to 64 paths is needed"),
        ("locks", json!({"logs": "a.log"}), "logs: a list of 1 to 64 paths is needed"),
        ("locks", json!({"logs": [7]}), "logs: a list of paths is needed"),
        ("locks", json!({"logs": ["a.log"], "top": 0}), "top: a whole number from 1 to 100"),
        ("locks", json!({"logs": ["a.log"], "top": "5"}), "top: a whole number from 1 to 100"),
        ("locks", json!({"logs": ["a.log"], "output": "/x"}), "no such argument: output (of logs"),
        ("stacks", json!({"logs": ["a.log"], "by": "state"}), "by: one of waiter, holder, waker"),
        ("what_if", json!({"logs": ["a.log"], "free": 1}), "free: true or false is needed"),
        ("profile", json!({"pid": -1}), "pid: a whole number"),
        ("profile", json!({"pid": 1, "seconds": 121}), "seconds: a whole number from 1 to 120"),
        ("diff", json!({"before": "a.log"}), "after: is needed"),
    ];
    for (tool, arguments, told) in wrong {
        let error = words(tool, arguments.clone()).unwrap_err();
        assert!(error.starts_with(told), "{arguments}: {error}");
    }
}

#[test]
fn tools_say_what_they_take_and_answer() {
    for tool in &ALL {
        let described = tool.described();
        let input: Value = described.schema_as_json_value();
        assert_eq!(jsonschema::meta::validate(&input).map_err(|it| it.to_string()), Ok(()));
        let output = Value::Object(tool.output.schema());
        assert_eq!(jsonschema::meta::validate(&output).map_err(|it| it.to_string()), Ok(()));
        // What it refers to is there.
        let judge = jsonschema::validator_for(&output).unwrap();
        assert!(!judge.is_valid(&json!({})), "{}", tool.name);
        let is_known = described.annotations.unwrap().read_only_hint;
        assert_eq!(is_known, Some(!tool.attaches), "{}", tool.name);
        // What takes numbers of rows does so by the option that is made less.
        let rows = tool.parameters.iter().find(|it| it.name == "top");
        assert!(rows.is_none_or(|it| it.option == Some(TOP)));
    }
    let tools: Vec<_> = ALL.iter().map(|tool| tool.described()).collect();
    let bytes = serde_json::to_string(&tools).unwrap().len();
    assert!(bytes < 64_000, "an assistant has to read {bytes} bytes before it begins");
}

#[test]
fn a_report_is_told_in_part() {
    let report = json!({
        "tyrion": "1", "schema": 1, "notes": [], "damage": [], "logs": [7], "options": {},
        "sections": {"verdict": {"kind": "lock"}, "contended": {}},
    });
    let told = Output::Profile.result(report.to_string().as_bytes(), 0).unwrap();
    assert_eq!(told["sections"], json!({"verdict": {"kind": "lock"}}));
    assert_eq!(told.get("logs"), None);
    let whole = Output::Whole("diff").result(report.to_string().as_bytes(), 0).unwrap();
    assert_eq!(whole, report);
    assert!(Output::Profile.result(b"no JSON", 0).is_err());
}

#[test]
fn stacks_are_taken_apart() {
    let printed = b"worker-*;A.run;A.get;[lock] A.lock (java.lang.Object) 70\n\
        main;B.main;[monitor] B 900\nnot one\n;[x] 5\n";
    let told = serde_json::to_value(stacks::read(printed, 1_000)).unwrap();
    let first = json!({
        "time_ns": 900, "thread": "main", "lock": "[monitor] B", "frames": ["B.main"],
    });
    assert_eq!(told["stacks"][0], first);
    assert_eq!(told["stacks"][1]["frames"], json!(["A.get", "A.run"]));
    assert_eq!((&told["more"], &told["more_ns"]), (&json!(0), &json!(0)));
    let few = serde_json::to_value(stacks::read(printed, 100)).unwrap();
    assert_eq!(few["stacks"].as_array().map(Vec::len), Some(1));
    assert_eq!((&few["more"], &few["more_ns"]), (&json!(2), &json!(75)));
    let none = serde_json::to_value(stacks::read(b"", 100)).unwrap();
    assert_eq!(none["stacks"], json!([]));
}
