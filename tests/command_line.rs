//! Help, completions, the manual page, and statuses of wrong usage.

use crate::support::{agent, err, out, run, sample_log, stdout_of, text, tyrion};

/// Every command, as the help lists them: so that none is forgotten.
fn commands() -> Vec<String> {
    let help = stdout_of(tyrion().arg("--help"));
    let (_, list) = help.split_once("\nCommands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    // What does not fit into a line is continued further to the right.
    let lines = list.lines().filter_map(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| !line.starts_with(' '));
    let names = lines.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help");
    let names: Vec<String> = names.map(str::to_owned).collect();
    for known in ["profile", "record", "top", "diff", "man"] {
        assert!(names.iter().any(|name| name == known), "{known}: {help}");
    }
    names
}

#[test]
fn help_has_examples_for_every_command() {
    let overview = stdout_of(tyrion().arg("--help"));
    assert!(overview.contains("Examples:") && overview.contains("Exit status:"), "{overview}");
    let mut without = Vec::new();
    for command in commands() {
        let help = stdout_of(tyrion().args([&command, "--help"]));
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
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
    }
    assert_eq!(run(["completions", "edlin"]).status.code(), Some(2));
}

#[test]
fn the_manual_page_names_every_command() {
    let page = stdout_of(tyrion().arg("man"));
    assert!(page.contains(".TH") && page.contains("tyrion"), "{page}");
    for command in commands() {
        let name = command.replace('-', "\\-");
        assert!(page.contains(&command) || page.contains(&name), "{command}");
    }
}

#[test]
fn the_manual_has_the_exit_statuses() {
    let help = stdout_of(tyrion().arg("--help"));
    let (_, statuses) = help.split_once("Exit status:").unwrap();
    let page = stdout_of(tyrion().arg("man"));
    let documented = include_str!("../docs/exit-status.md");
    for number in ["0", "1", "2", "3", "4", "126", "127", "128"] {
        let has = |text: &str| text.split(|c: char| !c.is_ascii_digit()).any(|it| it == number);
        assert!(has(statuses) && has(&page) && has(documented), "{number}");
    }
}

#[test]
fn a_program_is_not_started_when_its_log_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (file, started) = (folder.path().join("file"), folder.path().join("started"));
    std::fs::write(&file, "no folder").unwrap();
    for (log, said) in [
        (folder.path().join("no/such/a.log"), "there is no folder"),
        (file.join("a.log"), "is not a folder"),
        (folder.path().to_owned(), "is a folder"),
    ] {
        let output = run(["record", "-o", text(&log), "--", "touch", text(&started)]);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{}", err(&output));
        assert!(err(&output).contains(said), "{}", err(&output));
        assert!(!err(&output).contains("os error"), "{}", err(&output));
        assert!(!started.exists(), "{}", log.display());
    }
}

#[test]
fn record_says_that_the_command_follows_dashes() {
    let output = run(["record", "-o", "a.log", "java", "-jar", "app.jar"]);
    assert_eq!(output.status.code(), Some(2));
    let advice = "write: tyrion record -o a.log -- java -jar app.jar";
    assert!(err(&output).contains(advice), "{}", err(&output));
    // What is wrong for another reason is told as ever.
    let other = run(["record", "--no-such-option", "--", "java"]);
    assert!(err(&other).contains("unexpected argument '--no-such-option'"), "{}", err(&other));
}

#[test]
fn the_agent_is_beside_the_binary() {
    let path = stdout_of(tyrion().arg("agent-path"));
    assert_eq!(path.trim_end(), text(&agent().canonicalize().unwrap()));
    let named = stdout_of(tyrion().arg("agent-path").env("TYRION_AGENT", "/elsewhere/agent.so"));
    assert_eq!(named, "/elsewhere/agent.so\n");
}

#[test]
fn help_is_laid_out() {
    let help = stdout_of(tyrion().args(["attach", "--help"]));
    let (_, end) = help.split_once("Records until").unwrap();
    let mut lines = end.lines().filter(|line| !line.is_empty());
    assert!(lines.all(|line| line.split_whitespace().count() > 2), "{end}");
    let help = stdout_of(tyrion().args(["record", "--help"]));
    let command = help.find("<COMMAND>...  The command").unwrap();
    assert!(command < help.find("\nOptions:").unwrap(), "{help}");
}

#[test]
fn jvms_are_named_by_what_they_run() {
    for command in ["profile", "attach", "sample", "stop", "status"] {
        for (wrong, said) in [
            ("0", "neither a process id nor a name"),
            ("no-jvm-is-called-so", "no JVM matches 'no-jvm-is-called-so'"),
            ("4711x\u{1b}[31m", "no JVM matches '4711x_[31m'"),
        ] {
            let output = run([command, wrong]);
            assert_eq!(output.status.code(), Some(2));
            assert!(err(&output).contains(said), "{}", err(&output));
        }
    }
}

#[test]
fn every_command_has_the_options_of_messages() {
    for command in commands() {
        let help = stdout_of(tyrion().args([&command, "--help"]));
        for option in ["-q, --quiet", "-v, --verbose", "--color <WHEN>"] {
            assert!(help.contains(option), "{command}: {option}");
        }
    }
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let lib = folder.path().join("lib");
    let jar = lib.join("tyrion-api.jar");
    let output = run(["api-jar", "-o", text(&jar)]);
    assert_eq!(output.status.code(), Some(1));
    let advice = format!("make it with mkdir -p {}", text(&lib));
    assert!(err(&output).contains(&advice), "{}", err(&output));
}

#[test]
fn waits_and_samples_are_both_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/logs/v1-sample.log");
    let output = run(["convert", "--to", "all", "-o", text(folder.path()), log]);
    assert!(output.status.success(), "{}", err(&output));
    for file in ["waits.svg", "waits.collapsed", "wall.svg", "wall.collapsed"] {
        assert!(folder.path().join(file).exists(), "{file}: {}", err(&output));
    }
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
