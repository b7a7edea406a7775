//! What commands say beside their output: `--quiet`, `--verbose`, `--color`.

use crate::support::{err, out, output, root, run, sample_log, stdout_of, text, tyrion};
use std::process::Output;

/// A report for browsers, in a folder of its own.
fn page(options: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut report = tyrion();
    report.args(["report", "--html"]).args(options).arg(sample_log()).current_dir(&folder);
    let output = output(&mut report);
    assert!(output.status.success(), "{options:?}: {}", err(&output));
    assert!(folder.path().join("report.html").exists(), "{options:?}");
    output
}

#[test]
fn quiet_keeps_to_what_is_wrong() {
    assert!(err(&page(&[])).contains("tyrion: wrote report.html"));
    for options in [&["-q"][..], &["--quiet"]] {
        assert_eq!(err(&page(options)), "", "{options:?}");
    }
    let missing = run(["-q", "info", "no-such.log"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(err(&missing).contains("no-such.log"), "{}", err(&missing));
    let bytes = std::fs::read(sample_log()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("cut.log");
    std::fs::write(&log, &bytes[..bytes.len() - 100]).unwrap();
    let damaged = run(["report", "-q", text(&log)]);
    assert_eq!(damaged.status.code(), Some(3), "{}", err(&damaged));
    assert!(err(&damaged).contains("warning: "), "{}", err(&damaged));
    let held = run(["report", "-q", "--fail-if", "contentions > 0", text(&sample_log())]);
    assert_eq!(held.status.code(), Some(4), "{}", err(&held));
    assert!(err(&held).contains("condition holds"), "{}", err(&held));
}

#[test]
fn verbose_tells_what_is_done() {
    let told = err(&page(&["-v"]));
    let log = text(&sample_log()).to_owned();
    for part in [&format!("tyrion: reading {log}, "), "tyrion: took ", "tyrion: wrote "] {
        assert!(told.contains(part), "no {part:?}: {told}");
    }
    assert!(!err(&page(&[])).contains("took ") && !told.contains("pass 1"));
    let told = err(&page(&["-vv"]));
    for part in ["tyrion: pass 1 by thread over ", "tyrion: pass 2 by thread over "] {
        assert!(told.contains(part), "no {part:?}: {told}");
    }
    assert!(!told.contains("pass 3"), "{told}");
    assert_eq!(run(["-q", "-v", "info", &log]).status.code(), Some(2));
}

#[test]
fn colours_are_as_asked_for() {
    let coloured = |options: &[&str]| {
        let mut report = tyrion();
        report.arg("report").args(options).arg(sample_log()).env("TERM", "xterm");
        report.env("NO_COLOR", "1");
        stdout_of(&mut report).contains('\u{1b}')
    };
    assert!(coloured(&["--color=always"]) && coloured(&["--color", "always"]));
    for options in [&[][..], &["--color=auto"], &["--color=never"]] {
        assert!(!coloured(options), "{options:?}");
    }
    assert_eq!(run(["report", "--color=pink", text(&sample_log())]).status.code(), Some(2));
    // Of help and of what is wrong with a command line, too.
    let help = |color: &str| out(&run(["--color", color, "--help"])).contains('\u{1b}');
    assert!(help("always") && !help("never"));
    let wrong = |color: &str| err(&run(["report", color])).contains('\u{1b}');
    assert!(wrong("--color=always") && !wrong("--color=never"));
}

/// What a recorded program is given is not for us.
#[test]
fn words_of_the_program_are_its_own() {
    let output = run(["record", "--", "echo", "-q", "--color=always", "-v"]);
    assert_eq!(out(&output), "-q --color=always -v\n", "{}", err(&output));
    assert!(err(&output).contains("no JVM was recorded"), "{}", err(&output));
}

#[test]
fn no_colour_is_documented() {
    let documented = std::fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    for word in ["--quiet", "--verbose", "--color", "NO_COLOR"] {
        assert!(documented.contains(word), "{word}");
    }
}
