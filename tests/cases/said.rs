//! What a verdict says, in the words of the cases.

use serde_json::Value;

/// The kind of a verdict that says that what was seen does not decide.
pub const UNCLEAR: &str = "unclear";

/// What is compared with the right answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    pub kind: String,
    pub name: Vec<String>,
    pub holder: Vec<String>,
    pub waiter: Vec<String>,
    pub advice: Vec<String>,
    pub certainty: String,
    /// The share that it counts as lost to waits that are for no lock.
    pub withheld_share: f64,
    pub lines: Vec<String>,
}

impl Said {
    /// Of the section `verdict` of a report.
    pub fn of(verdict: &Value) -> Said {
        Said {
            withheld_share: verdict["withheld"]["lost_share"].as_f64().unwrap_or(0.0),
            lines: texts(&verdict["lines"]),
            ..of_codes(verdict)
        }
    }
}

fn of_codes(verdict: &Value) -> Said {
    let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
    Said {
        kind: text("kind"),
        name: texts(&verdict["name"]),
        holder: [texts(&verdict["holder"]), texts(&verdict["holder_own"])].concat(),
        waiter: [texts(&verdict["waiter"]), texts(&verdict["waiter_own"])].concat(),
        advice: texts(&verdict["advice"]),
        certainty: text("certainty"),
        ..Said::default()
    }
}

/// A text, or several, without the empty ones.
pub fn texts(value: &Value) -> Vec<String> {
    let all = match value {
        Value::Array(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    let texts = all.iter().filter_map(Value::as_str).filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        for (what, named) in
            [(": ", &self.name), (", held by ", &self.holder), (", waited for in ", &self.waiter)]
        {
            if let Some(first) = named.first() {
                write!(f, "{what}{first}")?;
            }
        }
        match self.advice.is_empty() {
            true => Ok(()),
            false => write!(f, "; {}", self.advice.join(" or ")),
        }
    }
}
