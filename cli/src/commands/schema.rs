//! `tyrion schema`: what JSON outputs are made of, from their types.

use super::{dump, info, printed, top, whatif};
use crate::outcome::{CommandResult, Failure, print};
use clap::{Args, builder::PossibleValuesParser};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use tyrion_report::{diff, render::json as report};

/// An output that has a schema.
struct Described {
    /// What it is called here.
    name: &'static str,
    /// Which commands print it.
    of: &'static str,
    /// Makes it.
    schema: fn() -> Schema,
}

const ALL: [Described; 9] = [
    Described {
        name: "report",
        of: "tyrion report, profile, sample and dump-threads, each with --json",
        schema: of_type::<report::ReportJson<'_>>,
    },
    Described { name: "diff", of: "tyrion diff --json", schema: of_type::<diff::Document<'_>> },
    Described {
        name: "diff-dumps",
        of: "tyrion diff --json of thread dumps",
        schema: of_type::<diff::DumpDocument<'_>>,
    },
    Described { name: "whatif", of: "tyrion whatif --json", schema: of_type::<whatif::Document> },
    Described {
        name: "top",
        of: "tyrion top --once --json",
        schema: of_type::<top::FrameJson<'_>>,
    },
    Described { name: "info", of: "tyrion info --json", schema: of_type::<info::InfoJson<'_>> },
    Described {
        name: "dump",
        of: "each line of tyrion dump --json",
        schema: of_type::<dump::fields::Record<'_>>,
    },
    Described { name: "list", of: "tyrion list --json", schema: of_type::<printed::ListJson> },
    Described {
        name: "status",
        of: "tyrion status, attach and stop, each with --json",
        schema: of_type::<printed::StatusJson<'_>>,
    },
];

/// Which schema.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion schema
  tyrion schema report > report.schema.json
  check-jsonschema --schemafile report.schema.json report.json

The schemas are JSON Schema, draft 2020-12. Fields keep their names and meaning as long as
`schema` in an output is 1; new ones may be added.")]
pub struct SchemaArgs {
    /// Whose schema to print [default: list them]
    #[arg(value_parser = PossibleValuesParser::new(ALL.map(|it| it.name)))]
    name: Option<String>,
}

/// Prints a schema, or which there are.
pub fn run(args: SchemaArgs) -> CommandResult {
    let Some(name) = args.name else {
        return print(ALL.map(|it| format!("{:<10} {}\n", it.name, it.of)).concat());
    };
    let chosen = ALL.iter().filter(|it| it.name == name);
    let texts: Result<Vec<String>, _> = chosen.map(text).collect();
    let texts = texts.map_err(|error| Failure::new(format!("the schema: {error}")))?;
    print(texts.concat())
}

/// The schema of an output, by its name.
pub(super) fn of(name: &str) -> serde_json::Value {
    let chosen = ALL.iter().find(|it| it.name == name);
    chosen.map(|it| (it.schema)().to_value()).unwrap_or_default()
}

fn text(of: &Described) -> serde_json::Result<String> {
    let mut schema = (of.schema)();
    // What it is of says more than what the type is called.
    schema.insert("title".to_owned(), of.of.into());
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// What values of a type are when they are printed.
pub(super) fn of_type<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
