//! Help, completions, the manual page, and statuses of wrong usage.

use crate::support::{agent, err, out, run, sample_log, stdout_of, text, tyrion};

const COMMANDS: [&str; 12] = [
    "record",
    "convert",
    "report",
    "info",
    "dump",
    "attach",
    "sample",
    "stop",
    "status",
    "agent-path",
    "api-jar",
    "completions",
];

#[test]
fn help_has_examples_for_every_command() {
    let overview = stdout_of(tyrion().arg("--help"));
    assert!(overview.contains("Examples:") && overview.contains("Exit status:"), "{overview}");
    let mut without = Vec::new();
    for command in COMMANDS {
        assert!(overview.contains(command), "{command}");
        let help = stdout_of(tyrion().args([command, "--help"]));
        if !help.contains(&format!("Examples:\n  tyrion {command}")) {
            without.push(command);
        }
    }
    assert_eq!(without, [""; 0], "commands without examples");
}

#[test]
fn completions_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout_of(tyrion().args(["completions", shell]));
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(run(["completions", "edlin"]).status.code(), Some(2));
}

#[test]
fn the_manual_page_names_every_command() {
    let page = stdout_of(tyrion().arg("man"));
    assert!(page.contains(".TH") && page.contains("tyrion"), "{page}");
    for command in COMMANDS {
        let name = command.replace('-', "\\-");
        assert!(page.contains(command) || page.contains(&name), "{command}");
    }
}

#[test]
fn the_agent_is_beside_the_binary() {
    let path = stdout_of(tyrion().arg("agent-path"));
    assert_eq!(path.trim_end(), text(&agent().canonicalize().unwrap()));
    let named = stdout_of(tyrion().arg("agent-path").env("TYRION_AGENT", "/elsewhere/agent.so"));
    assert_eq!(named, "/elsewhere/agent.so\n");
}

#[test]
fn wrong_usage_is_status_2() {
    let log = sample_log();
    let log = text(&log);
    for command in [
        &[][..],
        &["nonsense"],
        &["info"],
        &["record", "-o", "x.log"],
        &["convert", log],
        &["convert", "--to", "nonsense", log],
        &["convert", "--to", "callgrind", "--max-parts", "0", log],
        &["convert", "--to", "pprof", "--jobs", "0", log],
        &["info", "--kind", "nonsense", log],
        &["info", "--thread", "(", log],
        &["info", "--since", "yesterday", log],
        &["dump", "--min-wait", "5", log],
        &["attach", "nonsense"],
        &["top", "--once", "-"],
        &["top", "--once", "--window", "2s", log],
    ] {
        let output = run(command);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", err(&output));
        assert!(!output.stderr.is_empty(), "{command:?}");
        assert!(out(&output).is_empty(), "{command:?}");
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("no/such/folder/x");
    let output = run(["convert", "--to", "collapsed", "-o", text(&target), text(&sample_log())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains(text(&target)), "{}", err(&output));
    let full = run(["convert", "--to", "pprof", "-o", "/dev/full", text(&sample_log())]);
    assert_eq!(full.status.code(), Some(1));
    assert!(err(&full).contains("No space left"), "{}", err(&full));
}
