//! What is kept of each run, so that a session goes on where another one stopped.
//!
//! A recording holds as long as the program, the JDK and the agent are the same; what a report
//! says of it, as long as `tyrion` is. An answer that changes is judged anew, and nothing else.

use crate::{
    case::Program,
    place,
    run::{has_run, tyrion},
    words::Way,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

/// A larger recording is not kept.
const LARGEST: u64 = 128 << 20;

/// A recording of a program, and where what is known of it is kept.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub program: &'a Program,
    pub way: Way,
    pub jdk: u32,
    pub busy: usize,
}

/// What is kept of it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Kept {
    /// What it was recorded of, and with.
    recorded: u64,
    /// What it was read with.
    read: u64,
    /// The report's section.
    pub verdict: Value,
    /// The locks that were traced for a while.
    #[serde(default)]
    pub aimed: Vec<String>,
    /// What the program said by its own clock.
    pub proof: Vec<String>,
}

/// The binaries under test, by their bytes.
#[derive(Clone, Copy)]
pub struct Binaries {
    tyrion: u64,
    agent: u64,
}

impl Binaries {
    /// Those of this build.
    pub fn of_build() -> Result<Binaries, String> {
        let agent = place::agent();
        if !agent.is_file() {
            return Err(format!("no {}: build the workspace first", agent.display()));
        }
        Ok(Binaries { tyrion: place::hash_of(&[place::tyrion()]), agent: place::hash_of(&[agent]) })
    }
}

impl Place<'_> {
    fn path(&self, folder: &str, extension: &str) -> PathBuf {
        let busy = if self.busy == 0 { String::new() } else { format!("-busy{}", self.busy) };
        let name = format!("{}-jdk{}{busy}.{extension}", self.way.word(), self.jdk);
        place::work().join(folder).join(&self.program.name).join(name)
    }

    /// Where the recording is.
    pub fn recording(&self) -> PathBuf {
        let extension = match self.way {
            Way::Jfr => "jfr",
            Way::Dumps => "txt",
            _ => "log",
        };
        self.path("recordings", extension)
    }

    /// What is kept, whatever it was recorded with.
    pub fn any(&self) -> Option<Kept> {
        let text = std::fs::read(self.path("results", "json")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// What is kept and holds; a recording that holds is read again if need be.
    pub fn current(&self, binaries: Binaries) -> Option<Kept> {
        let seconds = self.program.case.program.seconds;
        let holds = |kept: &Kept| {
            kept.recorded == self.recorded_with(binaries) && has_run(&kept.proof, seconds)
        };
        let kept = self.any().filter(holds)?;
        if kept.read == binaries.tyrion {
            return Some(kept);
        }
        self.recording().is_file().then(|| self.read(binaries, kept.proof).ok())?
    }

    /// Reads the recording, and keeps what the verdict is.
    pub fn read(&self, binaries: Binaries, proof: Vec<String>) -> Result<Kept, String> {
        let recording = self.recording();
        let json = json_of(&["report", "--json", "--section", "verdict"], &recording)?;
        let aimed = match self.way {
            Way::Auto => aimed_in(&json_of(&["info", "--json"], &recording)?),
            _ => Vec::new(),
        };
        let kept = Kept {
            recorded: self.recorded_with(binaries),
            read: binaries.tyrion,
            verdict: json["sections"]["verdict"].clone(),
            aimed,
            proof,
        };
        self.keep(&kept).map_err(|error| error.to_string())?;
        if std::fs::metadata(&recording).is_ok_and(|file| file.len() > LARGEST) {
            let _ = std::fs::remove_file(recording);
        }
        Ok(kept)
    }

    fn keep(&self, kept: &Kept) -> std::io::Result<()> {
        let path = self.path("results", "json");
        std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
        let draft = path.with_extension("draft");
        std::fs::write(&draft, serde_json::to_vec_pretty(kept)?)?;
        std::fs::rename(draft, path)
    }

    /// What the recording depends on. Flight Recorder and dumps are the JDK's: they need no agent.
    fn recorded_with(&self, binaries: Binaries) -> u64 {
        let case = &self.program.case;
        let mut files = case.files();
        let java = place::java(self.jdk).and_then(|java| std::fs::canonicalize(java).ok());
        files.extend(java.iter().filter_map(|java| Some(java.parent()?.parent()?.join("release"))));
        let has_agent = !matches!(self.way, Way::Jfr | Way::Dumps);
        let agent = has_agent.then_some(binaries.agent);
        let mut hasher = DefaultHasher::new();
        (place::hash_of(&files), agent, format!("{:?}", case.program)).hash(&mut hasher);
        (&self.program.arguments, self.jdk, self.busy).hash(&mut hasher);
        hasher.finish()
    }
}

/// What a command of `tyrion` says of a recording.
fn json_of(command: &[&str], recording: &Path) -> Result<Value, String> {
    let mut tyrion = tyrion();
    let told = tyrion.args(command).arg(recording).output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&told.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&told.stderr);
        format!("tyrion {}: {}", command.join(" "), said.trim())
    })
}

/// The locks that were traced for a while.
fn aimed_in(info: &Value) -> Vec<String> {
    let changes = info["option_changes"].as_array().into_iter().flatten();
    let of_aim = changes.filter(|change| change["option"] == "aimed");
    let names = of_aim.filter_map(|change| change["value"].as_str());
    names.filter(|names| !names.is_empty()).map(str::to_owned).collect()
}
