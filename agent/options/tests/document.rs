//! `docs/agent-options.md` is made from the table. `BLESS=1` writes it.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::{fmt::Write, path::Path};
use tyrion_options::{Counts, Entry, Form, Later, Reach, TABLE};

const HEAD: &str = "\
<!-- Made from agent/options/src/table.rs by `BLESS=1 cargo test --release -p tyrion-options`. -->

# Options of the agent

`tyrion record` and `tyrion attach` have these options as long options: `depth=64` is `--depth 64`
or `--depth=64` there. `tyrion sample` has those of sampling, and `depth`. With `-agentpath`, give
them to the agent separated by commas:

    java -agentpath:$(tyrion agent-path)=file=report-%p.log,threshold=auto -jar app.jar

A comma or a backslash within a value is written with a backslash before it: `\\,`, `\\\\`. A switch
without a value means `true`: `strict` is `strict=true`. A duration is a number and a unit, `ns`,
`us`, `ms`, `s`, `m`, `h` or `d`, or several of these: `1m30s`. A size is a number of bytes, or has a unit,
`k`, `m` or `g`: `64m`. In a pattern, `*` stands for any text and `?` for one character.

If an option or a value is wrong, the agent says so in one line on stderr and the program runs
unprofiled; with `strict` the JVM does not start. `record` and `attach` report the same error before
anything is started, and also refuse options that do not apply to the chosen `mode`.

The last column of the tables says whether `tyrion attach` can change the option while the agent is
recording.
";

fn heading(counts: Counts) -> &'static str {
    match counts {
        Counts::Always => "In every mode",
        Counts::Trace => "Trace mode",
        Counts::Auto => "Auto",
        Counts::Sampling => "Sampling",
    }
}

/// When they count, and what is to be said of them all.
fn introduction(counts: Counts) -> &'static str {
    match counts {
        Counts::Always => "`file` is `-o` of `record` and `attach`.",
        Counts::Trace => {
            "These apply if `mode` has `trace`, or `auto`. Those that can change, `tyrion attach` changes also without\n`--mode`; the others can be given until trace mode has been on in that JVM.\n[trace-mode.md](trace-mode.md#while-the-jvm-runs) says what a change does."
        }
        Counts::Auto => "These apply if `mode` has `auto` ([trace-mode.md](trace-mode.md#auto)).",
        Counts::Sampling => {
            "These apply if `mode` has `sample`. On the command line, a switch among them is `--skip-daemon` or\n`--skip-daemon=false`, with the `=`."
        }
    }
}

fn values(entry: &Entry) -> String {
    let about = entry.about();
    let examples = |count: usize| {
        let examples: Vec<&str> = about.accepted.iter().take(count).map(String::as_str).collect();
        format!("`{}`", examples.join("`, `"))
    };
    match (&about.form, &about.limits) {
        (Form::Choice(words), _) => format!("`{}`", words.join("`, `")),
        (Form::Switch, _) => "`true`, `false`".to_owned(),
        (Form::List, _) => "patterns".to_owned(),
        (_, Some(limits)) => limits.clone(),
        _ => format!("such as {}", examples(1)),
    }
}

fn row(entry: &Entry) -> String {
    let name = match entry.reach {
        Reach::AgentOnly => format!("`{}` (only `-agentpath`)", entry.name),
        _ => format!("`{}`", entry.name),
    };
    let default = entry.default().map(|text| format!("`{text}`")).unwrap_or_default();
    let later = match entry.later {
        Later::Changes => "yes",
        Later::Fixed => "no",
        Later::Moot => "",
    };
    let needs = entry.needs.map(|needed| format!("; needs `{needed}`")).unwrap_or_default();
    // In a table, a bar ends a cell, and stars are emphasis.
    let help = entry.help().replace('|', "\\|").replace('*', "\\*");
    format!("| {name} | {help}{needs} | {} | {default} | {later} |", values(entry))
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    for counts in [Counts::Always, Counts::Trace, Counts::Auto, Counts::Sampling] {
        let (heading, introduction) = (heading(counts), introduction(counts));
        writeln!(text, "\n## {heading}\n\n{introduction}\n").unwrap();
        text.push_str(
            "| option | meaning | values | default | can change |\n|---|---|---|---|---|\n",
        );
        let entries = TABLE.iter().filter(|entry| entry.counts == counts);
        for entry in entries.filter(|entry| entry.reach != Reach::Internal) {
            writeln!(text, "{}", row(entry)).unwrap();
        }
    }
    text
}

#[test]
fn the_document_is_made_from_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent-options.md");
    let text = document();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == text, "{} is stale; BLESS=1 writes it", file.display());
    for entry in TABLE {
        let is_named = text.contains(&format!("\n| `{}`", entry.name));
        assert_eq!(is_named, entry.reach != Reach::Internal, "{}", entry.name);
    }
}
