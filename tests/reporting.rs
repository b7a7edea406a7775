//! Where `tyrion report` writes, and in which forms; what it says is looked at
//! in `report`.

use crate::support::{err, out, root, run, sample_log, stdout_of, text, tyrion};
use serde_json::Value;
use std::{fs, process::Stdio};

fn trace_log() -> std::path::PathBuf {
    root().join("testdata/logs/v1-trace.log")
}

/// What `report` prints with these arguments, of the log of trace mode.
fn report(arguments: &[&str]) -> String {
    stdout_of(tyrion().arg("report").args(arguments).arg(trace_log()))
}

#[test]
fn text_fits_and_has_all_sections() {
    let printed = report(&[]);
    for line in printed.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert!(!line.contains(char::is_control), "{line}");
    }
    let json: Value = serde_json::from_str(&report(&["--json"])).unwrap();
    let sections = json["sections"].as_object().unwrap();
    assert_eq!(sections.len(), 14);
    assert!(sections.values().all(|section| section["lacking"].is_string()));
    assert_eq!((&json["schema"], &json["logs"][0]["mode"]), (&1.into(), &"trace".into()));
}

#[test]
fn sections_are_picked() {
    let json = report(&["--json", "--section", "timeline,contended", "--section", "contended"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&String> = json["sections"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["contended", "timeline"]);
    let printed = report(&["--section", "timeline,contended"]);
    assert!(printed.starts_with("Contended locks\n"), "in the order of the report: {printed}");
    assert!(printed.contains("\nTimeline\n") && !printed.contains("\nOverview\n"), "{printed}");
    let page = report(&["--html", "-o", "-", "--section", "contended"]);
    assert!(page.contains("id=\"contended\"") && !page.contains("class=\"graph\""), "{page}");
}

#[test]
fn a_report_is_the_same_wherever_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    for form in [&[][..], &["--json"], &["--html", "-o", "-"]] {
        let printed = report(form);
        for jobs in ["1", "7"] {
            assert_eq!(report(&[form, &["--jobs", jobs]].concat()), printed, "{form:?}");
        }
        let file = folder.path().join("report");
        let form: Vec<&str> =
            form.iter().copied().filter(|word| !["-o", "-"].contains(word)).collect();
        report(&[&form[..], &["-o", text(&file)]].concat());
        assert_eq!(fs::read_to_string(&file).unwrap(), printed, "{form:?}");
    }
    // Without -o, a page is a file of its own in the folder where one is.
    let mut html = tyrion();
    let written = html.args(["report", "--html"]).arg(trace_log()).current_dir(&folder);
    assert_eq!(stdout_of(written), "");
    assert_eq!(
        fs::read_to_string(folder.path().join("report.html")).unwrap(),
        report(&["--html", "-o", "-"])
    );
}

#[test]
fn a_log_comes_from_stdin() {
    let log = fs::File::open(trace_log()).unwrap();
    let mut piped = tyrion();
    let piped = piped.args(["report", "--json", "-"]).stdin(Stdio::from(log));
    let piped: Value = serde_json::from_str(&stdout_of(piped)).unwrap();
    let named: Value = serde_json::from_str(&report(&["--json"])).unwrap();
    assert_eq!(piped["logs"][0]["log"], "stdin");
    for name in ["contended", "blockers", "critical-sections", "timeline"] {
        let (piped, named) = (&piped["sections"][name], &named["sections"][name]);
        let named = named.to_string().replace(text(&trace_log()), "stdin");
        assert_eq!(piped.to_string(), named);
    }
}

#[test]
fn logs_are_spared_and_wrong_usage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a.log");
    fs::copy(sample_log(), &log).unwrap();
    for arguments in [
        &["-o", text(&log)][..],
        &["--html", "-o", text(&log)],
        &["--json", "--html"],
        &["--section", "nonsense"],
        &["--phase", "0s"],
        &["--top", "-1"],
        &["--near", "soon"],
    ] {
        let output = run([&["report"], arguments, &[text(&log)]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", err(&output));
        assert!(out(&output).is_empty(), "{arguments:?}");
    }
    assert_eq!(fs::read(&log).unwrap(), fs::read(sample_log()).unwrap());
}

#[test]
fn damage_is_told_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("cut.log");
    let bytes = fs::read(trace_log()).unwrap();
    fs::write(&log, &bytes[..bytes.len() * 3 / 4]).unwrap();
    for form in [&[][..], &["--json"], &["--html", "-o", "-"]] {
        let output = run([&["report"], form, &[text(&log)]].concat());
        assert_eq!(output.status.code(), Some(3), "{form:?}: {}", err(&output));
        assert!(err(&output).contains("warning: "), "{form:?}: {}", err(&output));
        match form {
            [] => {}
            ["--json"] => {
                let json: Value = serde_json::from_str(&out(&output)).unwrap();
                assert_ne!(json["damage"], serde_json::json!([]));
                assert_eq!(json["logs"][0]["complete"], false);
            }
            _ => assert!(out(&output).contains("<p class=\"damage\">")),
        }
    }
}

/// Each condition is a test, which fails if it holds.
#[test]
fn conditions_are_tests_of_junit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locks.xml");
    let junit = |arguments: &[&str]| {
        let output = run([&["report", "--junit", text(&file)], arguments].concat());
        let xml = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(&file);
        (output.status.code(), xml)
    };
    let log = trace_log();
    let log = text(&log);
    let held = ["--fail-if", "contentions > 0", "--fail-if", "dropped > 5", log];
    let (status, xml) = junit(&held);
    assert_eq!(status, Some(4), "{xml}");
    for part in [
        "tests=\"2\" failures=\"1\" errors=\"0\"",
        "name=\"dropped &gt; 5\"/>",
        "<failure type=\"condition\" message=\"contentions &gt; 0: ",
        &format!("<testsuite name=\"{log}\""),
    ] {
        assert!(xml.contains(part), "no {part}: {xml}");
    }
    let (status, xml) = junit(&["--fail-if", "dropped > 5", log]);
    assert!(status == Some(0) && xml.contains("failures=\"0\""), "{xml}");
    // What the log does not tell is no success, and what it tells is there all the same.
    let unknown = ["--fail-if", "lock_waiters > 1", "--fail-if", "contentions > 0", log];
    let (status, xml) = junit(&unknown);
    assert_eq!(status, Some(1), "{xml}");
    assert!(xml.contains("failures=\"1\" errors=\"1\"") && xml.contains("needs thread dumps"));
    assert_eq!(junit(&[log]), (Some(2), String::new()), "there is nothing to check");
    let kept = folder.path().join("kept.log");
    fs::copy(sample_log(), &kept).unwrap();
    let over = run(["report", "--fail-if", "dropped > 5", "--junit", text(&kept), log]);
    assert_eq!(over.status.code(), Some(2), "{}", err(&over));
    assert_eq!(fs::read(&kept).unwrap(), fs::read(sample_log()).unwrap());
}
