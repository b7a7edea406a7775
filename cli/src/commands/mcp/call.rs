//! One call of a tool: the command is run, and what it prints is the answer.

use super::{
    folder::LogFolder,
    parameters,
    results::Output,
    tools::{TOP, Tool},
};
use crate::shell;
use serde_json::{Map, Value, json};
use std::{
    process::{Output as Printed, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{process::Command, sync::Semaphore, time::timeout};

/// An answer has at most so many bytes as JSON: an assistant has to read it all.
const MOST_BYTES: usize = 60_000;
/// Notes have at most so many.
const MOST_NOTES: usize = 2_000;
/// A command ends within this time, or is ended.
const PATIENCE: Duration = Duration::from_secs(600);
/// So many commands run at a time; others wait.
static AT_A_TIME: Semaphore = Semaphore::const_new(2);
/// What makes a command print JSON, which a person would leave out.
const FOR_MACHINES: [&str; 2] = ["--json", "--no-open"];
/// The exit status of a command whose input was damaged.
const PARTLY: i32 = 3;

/// Calls a tool.
///
/// # Errors
/// Why there is no answer, in words for the assistant.
pub async fn call(
    tool: &Tool,
    arguments: &Map<String, Value>,
    folder: &LogFolder,
) -> Result<Value, String> {
    let mut words: Vec<String> = tool.command.iter().map(|word| (*word).to_owned()).collect();
    if let Output::Profile = tool.output {
        words.extend(files(folder));
    }
    words.extend(parameters::words(tool.parameters, arguments, folder)?);
    let mut notes = String::new();
    loop {
        let printed = run(&words).await?;
        notes.push_str(&told(&printed));
        let result = tool.output.result(&printed.stdout, MOST_BYTES)?;
        let answer = json!({"command": command(&words), "notes": notes.trim(), "result": result});
        if answer.to_string().len() <= MOST_BYTES + MOST_NOTES {
            return Ok(answer);
        }
        let rows = fewer(&mut words).ok_or(
            "the answer is too long for an assistant: ask for less, by lock, thread, since or until",
        )?;
        notes = format!("the answer was too long: {rows} rows of each table at most\n");
    }
}

/// Where what is recorded goes.
fn files(folder: &LogFolder) -> [String; 2] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let file = |end| folder.path().join(format!("tyrion-%p-{now}.{end}")).display().to_string();
    [format!("--log={}", file("log")), format!("--output={}", file("html").replace("-%p", ""))]
}

/// Runs this program.
async fn run(words: &[String]) -> Result<Printed, String> {
    let _turn = AT_A_TIME.acquire().await.map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| format!("tyrion: {error}"))?;
    let mut command = Command::new(program);
    command.args(words).env_remove("RUST_BACKTRACE").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let printed = timeout(PATIENCE, command.output()).await;
    let printed = printed.map_err(|_| format!("it took longer than {} s", PATIENCE.as_secs()))?;
    let printed = printed.map_err(|error| format!("tyrion: {error}"))?;
    match printed.status.code() {
        Some(0 | PARTLY) => Ok(printed),
        _ => Err(format!("{}\ncommand: {}", told(&printed).trim(), self::command(words))),
    }
}

/// What a command has said on stderr.
fn told(printed: &Printed) -> String {
    let said = String::from_utf8_lossy(&printed.stderr);
    said.chars().take(MOST_NOTES).collect()
}

/// The command that shows a person the same.
fn command(words: &[String]) -> String {
    let words = words.iter().filter(|word| !FOR_MACHINES.contains(&&***word));
    let words: Vec<String> = words.map(|word| shell::word(word)).collect();
    format!("tyrion {}", words.join(" "))
}

/// Halves the rows of tables: how many they are now, or `None` if they cannot be fewer.
fn fewer(words: &mut [String]) -> Option<u64> {
    for word in words {
        if let Some(rows) = word.strip_prefix(TOP).and_then(|it| it.strip_prefix('=')) {
            let rows = rows.parse::<u64>().ok().filter(|rows| *rows > 1)? / 2;
            *word = format!("{TOP}={rows}");
            return Some(rows);
        }
    }
    None
}
