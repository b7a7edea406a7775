//! The tables in `docs/formats.md` are made from the registries. `BLESS=1` writes them.

use crate::golden_files;
use std::{collections::BTreeSet, fmt::Write, fs, path::Path};
use tyrion_converters::outputs::{FORMATS, Format, Metrics};
use tyrion_formats::{Fact, INPUTS, Input};

const BEGIN: &str = "<!-- From here on made by `BLESS=1 cargo test -p tyrion-converters`. -->\n";
const END: &str = "<!-- To here. -->\n";

/// What is lost from an input to an output, in the order of the facts.
fn lost(input: &Input, format: &Format) -> Vec<&'static str> {
    let is_lost = |fact: &&Fact| input.tells.contains(fact) && format.loses.contains(fact);
    Fact::ALL.iter().filter(is_lost).map(|fact| fact.name()).collect()
}

/// The names of some facts, or what stands for none.
fn listed(names: &[&str], none: &str) -> String {
    if names.is_empty() { none.to_owned() } else { names.join(", ") }
}

fn outputs() -> String {
    let mut text = "\n## Outputs\n\n\
                    | `--to` | file | shows | open with | looked at in |\n|---|---|---|---|---|\n"
        .to_owned();
    for format in FORMATS {
        let shows = match format.metrics {
            Metrics::All => "sums of every metric",
            Metrics::OneOf(_) => "sums of one metric",
            Metrics::Times => "single waits",
        };
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {shows} | {} | {} |",
            format.name,
            format.default_file,
            format.open_with.replace("{}", "FILE"),
            format.looked_at.unwrap_or("decoded, not viewed")
        );
    }
    text
}

fn inputs() -> String {
    let mut text =
        "\n## Inputs\n\n| input | what it is | what it does not tell |\n|---|---|---|\n".to_owned();
    for input in INPUTS {
        let lacks = Fact::ALL.iter().filter(|fact| !input.tells.contains(fact));
        let lacks: Vec<&str> = lacks.map(|fact| fact.name()).collect();
        let lacks = listed(&lacks, "nothing");
        let _ = writeln!(text, "| `{}` | {} | {lacks} |", input.name, input.what);
    }
    text
}

/// What is lost of one input in each output.
fn table(input: &Input) -> String {
    let mut text = String::new();
    let _ = write!(text, "\n### From `{}`\n\n| to | loses |\n|---|---|\n", input.name);
    for format in FORMATS {
        let lost = listed(&lost(input, format), "nothing");
        let _ = writeln!(text, "| `{}` | {lost} |", format.name);
    }
    text
}

#[test]
fn the_document_has_every_input_and_output() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"));
    let text = fs::read_to_string(folder.join("formats.md")).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect(BEGIN);
    let (_, after) = rest.split_once(END).expect(END);
    let tables: String = INPUTS.iter().map(table).collect();
    let made = format!(
        "{}{}\n## What is lost\n\nOf what an input tells, an output does not show:\n{tables}",
        outputs(),
        inputs()
    );
    golden_files::compare(folder, "formats.md", &format!("{before}{BEGIN}{made}\n{END}{after}"));
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
