//! The extension for OpenTelemetry, with its real SDK and a server whose answers are known.

use crate::{
    agent_jar::made_jar,
    jmh::library,
    support::{Jdk, agent, dump, err, on_jdks, out, output, root, run, text},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

on_jdks!(two_operations_and_one_lock: all);
on_jdks!(spans_of_virtual_threads: newest);
on_jdks!(holds_have_their_spans: ends);
on_jdks!(names_are_few_short_and_harmless: one);
on_jdks!(nothing_happens_without_an_agent: ends);
on_jdks!(outputs_have_the_ids: one);

/// OpenTelemetry's SDK, the extension, and the server, as a class path; `None` after a message.
fn class_path(folder: &Path) -> Option<String> {
    let mut all = Vec::new();
    for part in ["api", "context", "sdk", "sdk-common", "sdk-trace"] {
        let name = format!("io.opentelemetry-opentelemetry-{part}-1.51.0.jar");
        all.push(text(&library(&name)?).to_owned());
    }
    let name = "io.opentelemetry-opentelemetry-sdk-extension-autoconfigure-spi-1.51.0.jar";
    all.push(text(&library(name)?).to_owned());
    all.push(text(&made_jar(folder, "tyrion-otel.jar", "otel")?).to_owned());
    let classes = folder.join("classes");
    fs::create_dir(&classes).unwrap();
    let mut compile = Command::new(root().join("target/jdks/javac"));
    compile.args(["--release", "8", "-nowarn", "-cp", &all.join(":"), "-d", text(&classes)]);
    compile.arg(root().join("packaging/otel-check/src/main/java/check/Prices.java"));
    let compiled = output(&mut compile);
    assert!(compiled.status.success(), "{}", err(&compiled));
    all.push(text(&classes).to_owned());
    Some(all.join(":"))
}

/// A run of the server: what it says, and the log.
struct Served {
    said: Value,
    log: PathBuf,
    _folder: TempDir,
}

fn serve(jdk: &Jdk, options: &str, arguments: &[&str]) -> Option<Served> {
    let folder = tempfile::tempdir().unwrap();
    let class_path = class_path(folder.path())?;
    let log = folder.path().join("a.log");
    let mut java = Command::new(jdk.java());
    java.arg(format!("-agentpath:{}=file={}{options}", text(&agent()), text(&log)));
    java.args(["-cp", &class_path, "check.Prices"]).args(arguments);
    let ran = output(&mut java);
    assert!(ran.status.success(), "{}", err(&ran));
    assert_eq!(err(&ran), "");
    let said = serde_json::from_str(&out(&ran)).unwrap();
    Some(Served { said, log, _folder: folder })
}

/// The ids of the spans behind these records, in their order, and what owners were doing.
fn spans(records: &[Value], of: &str, is_it: impl Fn(&Value) -> bool) -> Vec<(Value, Value)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < records.len() {
        let record = &records[at];
        at += 1;
        if record["record"] != of || !is_it(record) {
            continue;
        }
        let behind = records[at..].iter().take_while(|it| {
            ["span", "operation", "wake"].iter().any(|name| it["record"] == *name)
        });
        let (mut ids, mut owner) = (Value::Null, Value::Null);
        for it in behind {
            match it["record"].as_str() {
                // Behind the last wait of a thread are those of holds, which may be left out.
                Some("span") if ids.is_null() => {
                    ids = json!({ "trace": it["trace_id"], "span": it["span_id"] })
                }
                Some("operation") => owner = it["owner_group"].clone(),
                _ => {}
            }
        }
        found.push((ids, owner));
    }
    found
}

/// The ids that the server says, of those waits or holds.
fn said(served: &Served, what: &str) -> Vec<Value> {
    let all = served.said[what].as_array().unwrap().iter();
    all.map(|it| json!({ "trace": it["trace"], "span": it["span"] })).collect()
}

fn check_waits(served: &Served, kind: &str) {
    let records = dump(&served.log, &["wait", "span", "operation", "wake"]);
    let is_ours = |it: &Value| it["kind"] == kind && it["group"] == "GET /price";
    let found = spans(&records, "wait", is_ours);
    let ids: Vec<Value> = found.iter().map(|(ids, _)| ids.clone()).collect();
    assert_eq!(ids, said(served, "waits"), "{records:?}");
    // Who has a monitor that nobody has waited for before is not known from JDK 23 on.
    let is_import = |owner: &Value| owner == "POST /import";
    let known = found.iter().skip(usize::from(kind == "monitor"));
    assert!(known.clone().all(|(_, owner)| is_import(owner)), "{found:?}");
    assert!(found[0].1.is_null() || is_import(&found[0].1), "{found:?}");
    check_report(served, kind);
}

fn check_report(served: &Served, kind: &str) {
    let report = run(["report", "--section", "operations", "--json", text(&served.log)]);
    let report: Value = serde_json::from_str(&out(&report)).unwrap();
    let operations = &report["sections"]["operations"];
    let waiters = operations["waiters"].as_array().unwrap();
    let of = waiters.iter().find(|of| of["operation"] == "GET /price").unwrap();
    let lock = &of["locks"][0];
    assert_eq!((&lock["kind"], &lock["waits"]), (&json!(kind), &json!(5)), "{of}");
    let name = if kind == "monitor" { "lru" } else { "lruLock" };
    assert!(lock["lock"]["name"].as_str().unwrap().ends_with(name), "{lock}");
    assert_eq!(lock["holders"][0]["operation"], "POST /import");
    // One wait in five may have an owner that is not known; and in trace mode nobody has the
    // lock between its release and the moment when the next thread runs.
    let holders = lock["holders"].as_array().unwrap();
    assert!(holders.len() == 1 && holders[0]["wait_share"].as_f64() > Some(0.5), "{lock}");
    let at_most = served.said["waits"].as_array().unwrap().iter();
    let at_most: u64 = at_most.map(|it| it["at_most_ns"].as_u64().unwrap()).sum();
    let wait_ns = lock["wait_ns"].as_u64().unwrap();
    assert!((5 * 19_000_000..=at_most).contains(&wait_ns), "{wait_ns}, measured {at_most}");
    let shown = out(&run(["report", "--section", "operations", text(&served.log)]));
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("GET /price waited"), "{shown}");
    assert!(shown.contains(" % held by POST /import"), "{shown}");
}

fn two_operations_and_one_lock(jdk: &Jdk) {
    for kind in ["monitor", "lock"] {
        let Some(served) = serve(jdk, "", &[kind]) else { return };
        check_waits(&served, kind);
    }
}

fn spans_of_virtual_threads(jdk: &Jdk) {
    for options in ["", ",mode=trace"] {
        let Some(served) = serve(jdk, options, &["lock", "virtual"]) else { return };
        check_waits(&served, "lock");
    }
}

fn holds_have_their_spans(jdk: &Jdk) {
    for kind in ["monitor", "lock"] {
        let Some(served) = serve(jdk, ",mode=trace", &[kind]) else { return };
        check_waits(&served, kind);
        let records = dump(&served.log, &["hold", "span"]);
        let found = spans(&records, "hold", |it| it["hold_ns"].as_u64() > Some(10_000_000));
        let ids: Vec<Value> = found.into_iter().map(|(ids, _)| ids).collect();
        for id in said(&served, "holds") {
            assert!(ids.contains(&id), "{id} of {ids:?}");
        }
    }
}

/// Whoever sends requests may choose the names of spans.
fn names_are_few_short_and_harmless(jdk: &Jdk) {
    let Some(served) = serve(jdk, "", &["names"]) else { return };
    let records = out(&run(["dump", "--json", "--kind", "all", text(&served.log)]));
    let records: Vec<Value> =
        records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let waits = records.iter().filter(|it| it["record"] == "wait" || it["record"] == "fold");
    let mut names: Vec<&str> = waits.filter_map(|it| it["group"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 1001);
    assert!(names.contains(&"other"), "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 256), "{names:?}");
    for command in ["dump", "report"] {
        let mut line = vec![command, "--kind", "park", text(&served.log)];
        if command == "report" {
            line.extend(["--section", "operations"]);
        }
        let shown = out(&run(&line));
        assert!(shown.contains("[31m") && !shown.contains('\u{1b}'), "{command}");
    }
}

fn nothing_happens_without_an_agent(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let Some(class_path) = class_path(folder.path()) else { return };
    let mut java = Command::new(jdk.java());
    java.args(["-cp", &class_path, "check.Prices", "monitor"]);
    let ran = output(&mut java);
    assert_eq!((ran.status.code(), err(&ran).as_str()), (Some(0), ""));
    let said: Value = serde_json::from_str(&out(&ran)).unwrap();
    assert_eq!(said["waits"].as_array().unwrap().len(), 5);
}

/// The ids of spans are in all outputs that show single waits, and in OTLP as links.
fn outputs_have_the_ids(jdk: &Jdk) {
    let Some(served) = serve(jdk, "", &["lock"]) else { return };
    let ids = said(&served, "waits");
    let (trace, span) = (ids[4]["trace"].as_str().unwrap(), ids[4]["span"].as_str().unwrap());
    let bytes: Vec<u8> = [trace, span]
        .concat()
        .as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect();
    let converted = |to: &str| {
        let file = served.log.with_extension(to);
        let ran = run(["convert", "--to", to, "-o", text(&file), text(&served.log)]);
        assert!(ran.status.success(), "{}", err(&ran));
        fs::read(file).unwrap()
    };
    let has = |all: &[u8], part: &[u8]| all.windows(part.len()).any(|it| it == part);
    let perfetto = converted("perfetto");
    assert!(has(&perfetto, trace.as_bytes()) && has(&perfetto, span.as_bytes()));
    let otlp = converted("otlp");
    assert!(has(&otlp, &bytes[..16]) && has(&otlp, &bytes[16..]));
}
