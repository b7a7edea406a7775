//! The tables in `docs/formats.md` are made from the registries. `BLESS=1` writes them.

use crate::golden_files;
use std::{collections::BTreeSet, fmt::Write, fs, path::Path};
use tyrion_converters::outputs::{FORMATS, Format};
use tyrion_formats::{Fact, INPUTS, Input};

const BEGIN: &str = "<!-- From here on made by `BLESS=1 cargo test -p tyrion-converters`. -->\n";
const END: &str = "<!-- To here. -->\n";

/// What is lost from an input to an output, in the order of the facts.
fn lost(input: &Input, format: &Format) -> Vec<&'static str> {
    let is_lost = |fact: &&Fact| input.tells.contains(fact) && format.loses.contains(fact);
    Fact::ALL.iter().filter(is_lost).map(|fact| fact.name()).collect()
}

fn row(input: &Input, format: &Format) -> String {
    let metrics = if format.shows_one_metric() { "one metric" } else { "all metrics" };
    format!(
        "| `{}` | `{}` | {metrics} | {} | {} |\n",
        format.name,
        format.default_file,
        lost(input, format).join(", "),
        format.looked_at.unwrap_or("")
    )
}

fn table(input: &Input) -> String {
    let mut text = String::new();
    let lacks: Vec<&str> =
        Fact::ALL.iter().filter(|fact| !input.tells.contains(fact)).map(|it| it.name()).collect();
    let lacks = match lacks[..] {
        [] => String::new(),
        _ => format!("It does not tell: {}.\n\n", lacks.join(", ")),
    };
    let _ = write!(text, "\n## From `{}`: {}\n\n{lacks}", input.name, input.what);
    text.push_str("| output | file | shows | loses | looked at in |\n|---|---|---|---|---|\n");
    text.extend(FORMATS.iter().map(|format| row(input, format)));
    text
}

#[test]
fn the_document_has_every_input_and_output() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"));
    let text = fs::read_to_string(folder.join("formats.md")).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect(BEGIN);
    let (_, after) = rest.split_once(END).expect(END);
    let tables: String = INPUTS.iter().map(table).collect();
    golden_files::compare(folder, "formats.md", &format!("{before}{BEGIN}{tables}\n{END}{after}"));
}

#[test]
fn registries_name_each_fact_once() {
    let lists = INPUTS.iter().map(|input| input.tells);
    for list in lists.chain(FORMATS.iter().map(|format| format.loses)) {
        assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len(), "{list:?}");
    }
    for format in FORMATS {
        assert!(!format.loses.contains(&Fact::Waits), "{} shows nothing", format.name);
    }
}
