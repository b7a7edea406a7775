//! What tools can be given: each parameter is an option of a command.

use super::folder::LogFolder;
use serde_json::{Map, Value, json};

/// What a parameter is.
#[derive(Clone, Copy)]
pub enum ParameterKind {
    /// A log in the folder.
    File,
    /// Logs in the folder, at least one, or folders of logs.
    Files,
    /// Any text.
    Text,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// The same of seconds, for an option that takes a duration.
    Seconds(u64, u64),
    /// Yes, or not.
    Switch,
}

/// A parameter.
pub struct Parameter {
    /// What it is called.
    pub name: &'static str,
    /// What kind of value it takes.
    pub kind: ParameterKind,
    /// The option it stands for; `None` for what the command is given without one.
    pub option: Option<&'static str>,
    /// The value if none is given; it must be given if that is `None` and it has no option.
    pub default: Option<&'static str>,
    /// What it means.
    pub help: &'static str,
}

impl Parameter {
    /// Whether it has to be given.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && self.option.is_none()
    }

    /// It, as JSON Schema.
    pub fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ParameterKind::File | ParameterKind::Text => json!({"type": "string"}),
            ParameterKind::Files => {
                json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 64})
            }
            ParameterKind::OneOf(values) => json!({"type": "string", "enum": values}),
            ParameterKind::Number(least, most) | ParameterKind::Seconds(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            ParameterKind::Switch => json!({"type": "boolean"}),
        };
        let default = self.default.map(|it| format!(" [default: {it}]")).unwrap_or_default();
        schema["description"] = format!("{}{default}", self.help).into();
        schema
    }

    /// The words that a value becomes on the command line.
    ///
    /// # Errors
    /// What is wrong with the value.
    fn words(&self, value: &Value, folder: &LogFolder) -> Result<Vec<String>, String> {
        let wrong = |wanted: &str| format!("{}: {wanted} is needed, not {value}", self.name);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let path = |name: &str| -> Result<String, String> {
            let found = folder.inside(name)?.into_os_string().into_string();
            found.map_err(|_| format!("{name}: its name is no text"))
        };
        let values = match self.kind {
            ParameterKind::File => vec![path(&text(value).ok_or_else(|| wrong("a path"))?)?],
            ParameterKind::Files => {
                let all = value.as_array().filter(|all| (1..=64).contains(&all.len()));
                let all = all.ok_or_else(|| wrong("a list of 1 to 64 paths"))?;
                let names =
                    all.iter().map(|name| text(name).ok_or_else(|| wrong("a list of paths")));
                names.map(|name| path(&name?)).collect::<Result<_, _>>()?
            }
            ParameterKind::Text => vec![text(value).ok_or_else(|| wrong("text"))?],
            ParameterKind::OneOf(values) => {
                let one = text(value).filter(|it| values.contains(&&**it));
                vec![one.ok_or_else(|| wrong(&format!("one of {}", values.join(", "))))?]
            }
            ParameterKind::Number(least, most) | ParameterKind::Seconds(least, most) => {
                let number = value.as_u64().filter(|it| (least..=most).contains(it));
                let wanted = || wrong(&format!("a whole number from {least} to {most}"));
                let unit = if matches!(self.kind, ParameterKind::Seconds(..)) { "s" } else { "" };
                vec![format!("{}{unit}", number.ok_or_else(wanted)?)]
            }
            ParameterKind::Switch => match value.as_bool().ok_or_else(|| wrong("true or false"))? {
                true => return Ok(self.option.map(str::to_owned).into_iter().collect()),
                false => return Ok(Vec::new()),
            },
        };
        // One word for both: whatever the value is, it is no option of its own.
        Ok(match self.option {
            Some(option) => values.iter().map(|value| format!("{option}={value}")).collect(),
            None => values,
        })
    }
}

/// All parameters of a tool as JSON Schema.
pub fn schema(of: &[&Parameter]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        of.iter().map(|it| (it.name.to_owned(), it.schema())).collect();
    let required: Vec<&str> = of.iter().filter(|it| it.is_required()).map(|it| it.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), required.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// The words of a command line that arguments stand for.
///
/// # Errors
/// What is wrong with the arguments, in words for the assistant.
pub fn words(
    of: &[&Parameter],
    arguments: &Map<String, Value>,
    folder: &LogFolder,
) -> Result<Vec<String>, String> {
    if let Some(name) = arguments.keys().find(|name| of.iter().all(|it| it.name != **name)) {
        let known: Vec<&str> = of.iter().map(|it| it.name).collect();
        return Err(format!("no such argument: {name} (of {})", known.join(", ")));
    }
    let mut options = Vec::new();
    let mut rest = Vec::new();
    for parameter in of {
        let words = match (arguments.get(parameter.name), parameter.default, parameter.option) {
            (Some(value), ..) if !value.is_null() => parameter.words(value, folder)?,
            (_, Some(default), Some(option)) => vec![format!("{option}={default}")],
            (_, Some(default), None) => vec![default.to_owned()],
            (_, None, Some(_)) => Vec::new(),
            (_, None, None) => return Err(format!("{}: is needed", parameter.name)),
        };
        match parameter.option {
            Some(_) => options.extend(words),
            None => rest.extend(words),
        }
    }
    options.extend(rest);
    Ok(options)
}
