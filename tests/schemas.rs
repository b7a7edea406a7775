//! The JSON Schemas that Tyrion prints.

use crate::support::{out, root, run, stdout_of, text, tyrion};
use serde_json::Value;
use std::{fs, path::PathBuf};

fn schemas() -> Vec<(String, String)> {
    let listed = stdout_of(tyrion().arg("schema"));
    let named = listed.lines().map(|line| line.split_once(char::is_whitespace).unwrap());
    named.map(|(name, of)| (name.to_owned(), of.trim().to_owned())).collect()
}

#[test]
fn each_listed_schema_is_a_schema() {
    let named = schemas();
    assert!(named.len() >= 9, "{named:?}");
    for (name, of) in &named {
        let schema: Value =
            serde_json::from_str(&stdout_of(tyrion().args(["schema", name]))).unwrap();
        assert_eq!(schema["title"], of.as_str());
        assert_eq!(jsonschema::meta::validate(&schema).map_err(|error| error.to_string()), Ok(()));
        // No schema says that anything goes.
        let judge = jsonschema::validator_for(&schema).unwrap();
        for wrong in ["{}", "[]", "7", "{\"schema\": \"1\", \"tyrion\": 1}"] {
            let wrong: Value = serde_json::from_str(wrong).unwrap();
            assert!(!judge.is_valid(&wrong), "{name} takes {wrong}");
        }
    }
    assert_eq!(run(["schema", "none"]).status.code(), Some(2));
}

#[test]
fn each_option_for_json_has_a_schema() {
    let help = stdout_of(tyrion().arg("--help"));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.split_whitespace().next());
    let named = schemas();
    let (mut missing, mut found) = (Vec::new(), 0);
    for name in names.filter(|name| *name != "help") {
        if !stdout_of(tyrion().args([name, "--help"])).contains(" --json ") {
            continue;
        }
        found += 1;
        let is_named = |(_, of): &(String, String)| of.split([' ', ',']).any(|word| word == name);
        if !named.iter().any(is_named) {
            missing.push(name.to_owned());
        }
    }
    assert!(found >= 10, "{found}");
    assert_eq!(missing, [""; 0]);
}

/// Files of all sorts: what is printed of them is judged where commands are run.
fn files() -> Vec<PathBuf> {
    let of = |folder: &str| fs::read_dir(root().join("testdata").join(folder)).unwrap();
    let all = ["logs", "inputs", "inputs/dumps", "jfr"].into_iter().flat_map(of);
    let mut files: Vec<PathBuf> =
        all.map(|file| file.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

#[test]
fn what_is_printed_is_as_its_schema_says() {
    let mut printed = 0;
    for file in files() {
        let file = text(&file);
        for command in [
            &["report", "--json", "--top=0", "--kind=all", file][..],
            &["report", "--json", "--section=tree,lines", "--interval=1ms", "--zero", file],
            &["info", "--json", file],
            &["dump", "--json", file],
            &["diff", "--json", file, file],
            &["whatif", "--json", file],
            &["top", "--once", "--json", file],
        ] {
            // Some are no input, or not for every command.
            let output = run(command);
            printed += usize::from(output.status.success() && !out(&output).is_empty());
        }
    }
    assert!(printed > 200, "{printed}");
}
