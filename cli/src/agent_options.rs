//! The agent's options, as long options of `record` and `attach`.

use clap::Args;
use std::path::Path;
use tyrion_converters::filter::duration_ns;

/// What the agent shall do. The same names are keys in `-agentpath:…=key=value`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Agent")]
pub struct AgentOptions {
    /// What is recorded; contention is the only mode so far
    #[arg(long, value_name = "MODE", value_parser = ["contention"])]
    mode: Option<String>,
    /// Waits shorter than this are folded into sums: auto (six times what an
    /// undelayed wait costs, at least 10us), 0 for none, or 50us, 1ms, ...
    #[arg(long, value_name = "DURATION", value_parser = threshold)]
    threshold: Option<String>,
    /// Frames kept of a stack [default: 128]
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u16).range(1..=2048))]
    depth: Option<u16>,
    /// Leave out threads whose name matches, patterns with * and ? separated
    /// by semicolons
    #[arg(long, value_name = "PATTERNS")]
    exclude_threads: Option<String>,
    /// Whether to record from the start [default: true]; tyrion attach
    /// switches it on later
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
    /// Put the program's arguments into the log; they may hold secrets
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    args: Option<bool>,
    /// A mistake in the options keeps the JVM from starting
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    strict: Option<bool>,
    /// Reserved for log rotation
    #[arg(long, value_name = "SIZE", hide = true)]
    filesize: Option<String>,
    /// Reserved for log rotation
    #[arg(long, value_name = "COUNT", hide = true)]
    filecount: Option<String>,
}

/// A threshold that the agent will take, as it stands.
fn threshold(text: &str) -> Result<String, String> {
    if text == "auto" || text == "0" {
        return Ok(text.to_owned());
    }
    let ns = duration_ns(text).map_err(|_| "not auto, 0 or a duration like 50us".to_owned())?;
    // The agent reads fewer ways to write a duration.
    Ok(format!("{ns}ns"))
}

/// A value as it stands in the agent's options.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,")
}

impl AgentOptions {
    /// The options as the agent reads them, with the log's path.
    pub fn for_agent(&self, file: Option<&Path>, more: &[(&str, &str)]) -> String {
        let mut pairs = Vec::new();
        if let Some(file) = file {
            pairs.push(format!("file={}", escape(&file.to_string_lossy())));
        }
        let depth = self.depth.map(|depth| depth.to_string());
        let [enabled, args, strict] =
            [self.enabled, self.args, self.strict].map(|flag| flag.map(|on| on.to_string()));
        let given = [
            ("mode", &self.mode),
            ("threshold", &self.threshold),
            ("depth", &depth),
            ("exclude-threads", &self.exclude_threads),
            ("enabled", &enabled),
            ("args", &args),
            ("strict", &strict),
            ("filesize", &self.filesize),
            ("filecount", &self.filecount),
        ];
        let given = given.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
        let pair = |(key, value): (&str, &str)| format!("{key}={}", escape(value));
        pairs.extend(given.chain(more.iter().copied()).map(pair));
        pairs.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_escaped_and_in_order() {
        let options = AgentOptions {
            threshold: Some("0".to_owned()),
            exclude_threads: Some("a,b;c\\d".to_owned()),
            ..AgentOptions::default()
        };
        assert_eq!(
            options.for_agent(Some(Path::new("/tmp/a,b.log")), &[("overwrite", "false")]),
            r"file=/tmp/a\,b.log,threshold=0,exclude-threads=a\,b;c\\d,overwrite=false"
        );
    }
}
