//! `tyrion list`.

use super::printed::{Jvm, ListJson};
use crate::{
    jvm::{
        names::{RunningJvm, running_jvms},
        process::glance::{Glance, glance},
    },
    outcome::{CommandResult, Failure, print, tell},
};
use clap::Args;
use std::collections::HashMap;
use tyrion_model::harmless;

/// Where the names of users stand (`passwd(5)`).
const USERS: &str = "/etc/passwd";
/// What stands for what is not known.
const UNKNOWN: &str = "?";
const HEAD: [&str; 6] = ["PID", "USER", "JDK", "WHERE", "RECORDED", "PROGRAM"];

/// Whether JSON is wanted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion list
  tyrion list --json

Lists the JVMs (HotSpot) that are seen from here, with what tyrion attach, profile, sample
and top can be given: a process id, or a part of the program's name. RECORDED is the log
that is open, as the JVM calls it, also between stop and attach; or no. Of JVMs of other
users only root knows.")]
pub struct ListArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Lists the JVMs that run.
pub fn run(args: ListArgs) -> CommandResult {
    let jvms = jvms();
    if args.json {
        let jvms = jvms.iter().map(|(jvm, seen)| as_json(jvm, seen)).collect();
        let all = ListJson { jvms, schema: 1, tyrion: env!("CARGO_PKG_VERSION") };
        let all = serde_json::to_string_pretty(&all);
        return print(all.map_err(|error| Failure::new(error.to_string()))? + "\n");
    }
    if jvms.is_empty() {
        tell("no JVM is running, as far as can be seen from here");
    }
    print(shown(&jvms))
}

/// The same in lines, for who has not said which JVM is meant; none if there is none.
pub(super) fn lines() -> Vec<String> {
    shown(&jvms()).lines().map(str::to_owned).collect()
}

fn jvms() -> Vec<(RunningJvm, Glance)> {
    running_jvms().into_iter().map(|jvm| (jvm.clone(), glance(jvm.pid))).collect()
}

fn shown(jvms: &[(RunningJvm, Glance)]) -> String {
    let users = users(&std::fs::read_to_string(USERS).unwrap_or_default());
    let rows: Vec<[String; 6]> = jvms.iter().map(|(jvm, seen)| row(jvm, seen, &users)).collect();
    if rows.is_empty() { String::new() } else { table(&rows) }
}

fn as_json(jvm: &RunningJvm, seen: &Glance) -> Jvm {
    let log = seen.log.as_ref();
    Jvm {
        has_agent: seen.has_agent,
        in_container: seen.in_container,
        jdk: seen.jdk.clone(),
        log: log.map(|log| harmless::name(&log.to_string_lossy()).into_owned()),
        pid: jvm.pid,
        program: harmless::name(&jvm.program).into_owned(),
        user_id: seen.uid,
    }
}

fn row(jvm: &RunningJvm, seen: &Glance, users: &HashMap<u32, String>) -> [String; 6] {
    let unknown = || UNKNOWN.to_owned();
    let user = seen.uid.map(|uid| users.get(&uid).cloned().unwrap_or_else(|| uid.to_string()));
    let recorded = match (seen.has_agent, &seen.log) {
        (None, _) => unknown(),
        (Some(false), _) => "no".to_owned(),
        (Some(true), None) => "loaded".to_owned(),
        (Some(true), Some(log)) => harmless::name(&log.to_string_lossy()).into_owned(),
    };
    [
        jvm.pid.to_string(),
        user.unwrap_or_else(unknown),
        seen.jdk.clone().unwrap_or_else(unknown),
        if seen.in_container { "container" } else { "here" }.to_owned(),
        recorded,
        jvm.text.clone(),
    ]
}

/// The names of users by their ids, from the text of a file as `passwd(5)` says.
fn users(text: &str) -> HashMap<u32, String> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        let name = harmless::name(fields.next()?).into_owned();
        Some((fields.nth(1)?.parse().ok()?, name))
    };
    text.lines().filter_map(user).collect()
}

/// Columns as wide as what is in them; the last one has no end.
fn table(rows: &[[String; 6]]) -> String {
    let head = HEAD.map(str::to_owned);
    let all = || std::iter::once(&head).chain(rows);
    let widths: [usize; 6] = std::array::from_fn(|column| {
        all().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    all().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_row_says_what_is_known() {
        let users = users("root:x:0:0:root:/root:/bin/sh\nbroken\nshop:x:1001:\n");
        let jvm = RunningJvm {
            pid: 4711,
            program: "com.acme.Shop".to_owned(),
            text: "com.acme.Shop --port 80".to_owned(),
        };
        let seen = Glance {
            uid: Some(1001),
            in_container: true,
            jdk: Some("21.0.8".to_owned()),
            has_agent: Some(true),
            log: Some(PathBuf::from("/tmp/shop.log")),
        };
        let text = table(&[row(&jvm, &seen, &users), row(&jvm, &Glance::default(), &users)]);
        let expected = "\
PID   USER  JDK     WHERE      RECORDED       PROGRAM
4711  shop  21.0.8  container  /tmp/shop.log  com.acme.Shop --port 80
4711  ?     ?       here       ?              com.acme.Shop --port 80
";
        assert_eq!(text, expected);
        let known = as_json(&jvm, &seen);
        assert_eq!((known.pid, known.log.as_deref()), (4711, Some("/tmp/shop.log")));
        assert_eq!(as_json(&jvm, &Glance::default()).has_agent, None);
    }
}
