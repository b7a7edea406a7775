//! What `tyrion report` draws on a terminal, and what of that elsewhere.

use crate::support::{needs, root, run, stdout_of, text, tyrion};
use std::process::{Command, Stdio};

const TITLE: &str = "\nThreads over time\n";

fn log() -> std::path::PathBuf {
    root().join("testdata/logs/v1-trace.log")
}

/// What a report with these options prints where nobody looks.
fn piped(options: &[&str]) -> String {
    stdout_of(tyrion().arg("report").args(options).arg(log()))
}

/// What it prints on a terminal, so many columns wide, without its progress.
fn on_terminal(columns: usize, options: &str, variables: &[(&str, &str)]) -> String {
    let report = format!(
        "stty rows 50 cols {columns}; '{}' report {options} '{}' 2>/dev/null",
        env!("CARGO_BIN_EXE_tyrion"),
        log().display()
    );
    let mut script = Command::new("script");
    script.args(["-qefc", &report, "/dev/null"]).env("TERM", "xterm-256color");
    script.env_remove("NO_COLOR").envs(variables.iter().copied()).stdin(Stdio::null());
    stdout_of(&mut script).replace('\r', "")
}

#[test]
fn what_is_piped_has_a_chart_if_it_is_asked_for() {
    let without = piped(&[]);
    assert!(!without.contains(TITLE) && piped(&["--chart", "auto"]) == without);
    let with = piped(&["--chart", "always"]);
    let (verdict, rest) = with.split_once(TITLE).expect("a chart");
    assert!(without.starts_with(verdict), "the verdict comes first: {with}");
    let (_, tables) = rest.split_once("\n\n").expect("what comes after it");
    assert!(without.ends_with(tables), "all else stays: {with}");
    // The worst lock is that of the page.
    let page = piped(&["--html", "-o", "-"]);
    let (_, lock) = page.split_once("<path class=c0 data-lock=\"").expect("a band");
    let (lock, _) = lock.split_once('"').expect("its end");
    let name = lock.split(" (").next().unwrap_or_default();
    let row = rest.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{rest}"));
    assert!(row.contains(|char| ('▁'..='█').contains(&char)) && row.contains(" %"), "{row}");
    // Of one section, too.
    assert!(
        piped(&["--chart", "always", "--section", "contended"]).starts_with(TITLE.trim_start())
    );
    for wrong in [&["--chart", "always", "--json"][..], &["--chart", "never", "--html"]] {
        let output = run([&["report"], wrong, &[text(&log())]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn on_a_terminal_it_follows_the_verdict() {
    if !needs(&["script", "stty"]) {
        return;
    }
    let plain = [("NO_COLOR", "1")];
    for columns in [80, 120, 200] {
        let drawn = on_terminal(columns, "", &plain);
        assert!(drawn.contains(TITLE), "{drawn}");
        assert!(drawn.find(TITLE) < drawn.find("\nOverview\n"), "{drawn}");
        assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
        let longest = drawn.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(longest <= columns, "{longest} of {columns}: {drawn}");
    }
    let coloured = on_terminal(80, "", &[]);
    assert!(coloured.contains("\u{1b}[31m"), "{coloured:?}");
    for options in ["--chart never", "--section contended"] {
        assert!(!on_terminal(80, options, &plain).contains(TITLE), "{options}");
    }
}
