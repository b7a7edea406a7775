#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{commands::Cli, usage::CommandLine};
use clap::{CommandFactory, Parser};
use tyrion_options::{Form, Reach, TABLE};

fn parse(line: &str) -> Result<AgentOptions, clap::Error> {
    let words = std::iter::once("x").chain(line.split_whitespace());
    CommandLine::<AgentOptions>::try_parse_from(words).map(|line| line.args)
}

/// The words of a command around one of the agent's options.
fn command_line(command: &str, option: &str) -> Vec<String> {
    let words = match command {
        "record" => vec!["tyrion", "record", option, "--", "java"],
        _ => vec!["tyrion", command, option, "4711"],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// The commands that have this option.
fn commands_of(entry: &tyrion_options::Entry) -> Vec<&'static str> {
    let samples = entry.counts == Counts::Sampling || entry.name == "depth";
    match entry.reach {
        Reach::LongOption if samples => vec!["record", "attach", "sample"],
        Reach::LongOption => vec!["record", "attach"],
        _ => vec![],
    }
}

#[test]
fn commands_take_and_refuse_what_the_agent_does() {
    for entry in TABLE {
        let about = entry.about();
        for command in commands_of(entry) {
            let parse = |value: &str| {
                Cli::try_parse_from(command_line(command, &format!("--{}={value}", entry.name)))
            };
            for value in &about.accepted {
                assert!(parse(value).is_ok(), "{command} --{}={value}", entry.name);
            }
            if entry.is_switch() {
                let alone = command_line(command, &format!("--{}", entry.name));
                // With attach, the process id would be its value: it comes first there.
                let alone = if command == "attach" { first(alone) } else { alone };
                assert!(Cli::try_parse_from(&alone).is_ok(), "{alone:?}");
            }
            for value in &about.refused {
                let error = parse(value).unwrap_err().to_string();
                let words = Options::parse(join_escaped([(entry.name, value.as_bytes())]))
                    .unwrap_err()
                    .message;
                // An empty value is refused by clap where only some words are values.
                assert!(error.contains(&words), "{command}: {error}\n{words}");
            }
        }
    }
}

fn first(mut words: Vec<String>) -> Vec<String> {
    let option = words.remove(2);
    words.push(option);
    words
}

#[test]
fn help_is_that_of_the_table() {
    let mut cli = Cli::command();
    cli.build();
    for entry in TABLE {
        for name in ["record", "attach", "sample"] {
            let command = cli.find_subcommand(name).unwrap();
            let argument =
                command.get_arguments().find(|argument| argument.get_long() == Some(entry.name));
            let is_there = commands_of(entry).contains(&name);
            // `sample --once` is the command's own.
            if entry.reach == Reach::Internal {
                continue;
            }
            assert_eq!(argument.is_some(), is_there, "{name} --{}", entry.name);
            let Some(argument) = argument else { continue };
            let help = argument.get_help().unwrap().to_string();
            assert!(help.starts_with(&entry.help()), "{help}");
            for part in [entry.default().map(|it| format!("default: {it}")), entry.about().limits] {
                assert!(part.is_none_or(|part| help.contains(&part)), "{name}: {help}");
            }
            if let Form::Choice(words) = entry.about().form {
                let values = argument.get_possible_values();
                let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
                assert_eq!(values, words);
            }
        }
    }
    let output = cli.find_subcommand("record").unwrap();
    let output = output.get_arguments().find(|argument| argument.get_short() == Some('o')).unwrap();
    let default = find("file").unwrap().default().unwrap();
    assert_eq!(output.get_default_values(), [default.as_str()]);
}

#[test]
fn options_are_escaped_and_in_order() {
    let options = parse("--exclude-threads a,b;c\\d --threshold 0").unwrap();
    assert_eq!(
        options.for_agent(Some(Path::new("/tmp/a,b.log")), &[("overwrite", "false")]),
        r"file=/tmp/a\,b.log,threshold=0,exclude-threads=a\,b;c\\d,overwrite=false"
    );
}

#[test]
fn paths_of_any_bytes_are_passed_on() {
    let path = Path::new(std::ffi::OsStr::from_bytes(b"/tmp/a\xff,\\.log"));
    let options = AgentOptions::default();
    assert_eq!(options.for_java(path, &[]).as_bytes(), b"file=/tmp/a\xff\\,\\\\.log");
    let plain = Path::new("/tmp/a,b.log");
    let more = [("overwrite", "false")];
    assert_eq!(
        options.for_java(plain, &more).to_str(),
        Some(&*options.for_agent(Some(plain), &more))
    );
    assert!(check_file(path).is_ok() && check_sent_file(plain).is_ok());
    assert!(check_sent_file(path).unwrap_err().to_string().contains("only names in UTF-8"));
    for bad in ["a\nb", "\u{1b}[31m", "\u{9b}"] {
        assert!(check_file(Path::new(bad)).is_err(), "{bad:?}");
    }
}

#[test]
fn options_of_trace_mode_are_passed_on() {
    let line = "--mode trace --hold 1/16 --events all --identity false --precise \
                --include com.acme.* --include org.x.A;org.x.B --exclude *Test \
                --filesize 100M --filecount 4";
    let options = parse(line).unwrap();
    assert!(options.check().is_ok());
    assert_eq!(
        options.for_agent(None, &[]),
        "mode=trace,filesize=100M,filecount=4,hold=1/16,events=all,identity=false,precise=true,\
         include=com.acme.*;org.x.A;org.x.B,exclude=*Test"
    );
    for bad in [
        "--hold 64",
        "--hold 1/0",
        "--events some",
        "--mode tarce",
        "--filesize M",
        "--filesize 1MM",
        "--filesize 1000g",
        "--filesize 99999999999999g",
        "--filecount 0",
        "--filecount 10001",
        "--threshold 3601s",
        "--depth 0",
        "--depth 2049",
        "--identity perhaps",
        "--mode sample+sample",
        "--mode sample --period 999us",
        "--mode sample --period often",
        "--mode sample --threads (",
        // The agent's own expressions know no classes of Unicode.
        r"--mode sample --threads \p{L}+",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn options_of_trace_mode_change_it_without_a_mode() {
    for line in ["--hold all", "--include a.* --threshold 0", "--identity false"] {
        let options = parse(line).unwrap();
        assert!(options.check().is_err() && options.check_for_change().is_ok(), "{line}");
        assert!(options.changes_trace(), "{line}");
    }
    for line in ["--mode sample --hold all", "--mode contention --include a", "--period 9ms"] {
        let options = parse(line).unwrap();
        assert!(options.check_for_change().is_err() && !options.changes_trace(), "{line}");
    }
    let options = parse("--mode trace --hold all").unwrap();
    assert!(options.check_for_change().is_ok() && !options.changes_trace());
}

#[test]
fn options_of_sampling_are_passed_on() {
    let line = "--mode contention+sample --period 25ms --threads ^http-[0-9]{1,3} --skip-daemon";
    let options = parse(line).unwrap();
    assert!(options.check().is_ok() && !options.asks_for_trace());
    assert_eq!(
        options.for_agent(None, &[]),
        r"mode=contention+sample,period=25ms,threads=^http-[0-9]{1\,3},skip-daemon=true"
    );
    let alone = AgentOptions::for_sampling(&SamplingOptions::default());
    let all = "mode=sample,period=50ms,threads=,skip-daemon=false";
    assert_eq!(alone.for_agent(None, &[]), all);
    let once = alone.once().lasting(Duration::from_secs(15));
    assert_eq!(once.for_agent(None, &[]), format!("{all},once=true,for=15000000000ns"));
    assert!(once.check().is_ok(), "the agent knows all of them");
}

/// In a JVM that runs already nobody would read the agent's own complaint.
#[test]
fn sizes_that_the_agent_refuses_are_refused_with_its_words() {
    for bad in ["--filesize 63k", "--filesize 65535", "--filesize 0"] {
        let error = parse(bad).unwrap_err().to_string();
        let value = bad.split_once(' ').unwrap().1;
        let words = format!("filesize={value} is too small; use 64k at least");
        assert!(error.contains(&words), "{error}");
    }
    for good in ["64k", "65536", "1M", "128g"] {
        assert!(parse(&format!("--filesize {good}")).is_ok(), "{good}");
    }
}

#[test]
fn options_without_effect_are_refused() {
    for line in [
        "--hold all",
        "--mode contention --include a",
        "--mode sample --hold all",
        "--filecount 3",
        "--period 5ms",
        "--mode trace --threads a",
        "--skip-daemon",
    ] {
        assert!(parse(line).unwrap().check().is_err(), "{line}");
    }
    for line in [
        "",
        "--mode trace",
        "--mode trace --hold none",
        "--filesize 1g",
        "--mode trace+sample --hold none --period 1ms",
        "--mode sample --skip-daemon=false",
    ] {
        assert!(parse(line).unwrap().check().is_ok(), "{line}");
    }
}
