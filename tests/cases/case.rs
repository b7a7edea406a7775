//! The cases: what their files say.

use crate::{
    place,
    words::{Advice, Area, Kind, Set, Way},
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A `case.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name of its folder.
    #[serde(skip)]
    pub name: String,
    /// Where it lies.
    #[serde(skip)]
    pub folder: PathBuf,
    pub title: String,
    pub source: String,
    pub area: Area,
    pub set: Set,
    pub proof: String,
    /// Whether `cargo test` runs it.
    #[serde(default)]
    pub slice: bool,
    /// The classes that it has in common with others, by their files in the folder `shared`.
    #[serde(default)]
    pub shared: Vec<String>,
    pub program: Settings,
    pub mended: Option<Mended>,
    pub answer: Option<Answer>,
    #[serde(default)]
    pub load: Vec<Load>,
    /// Which evidence a way in lacks.
    #[serde(default)]
    pub unknowable: BTreeMap<Way, String>,
}

/// How the program is run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(default)]
    pub libraries: Vec<String>,
    #[serde(default)]
    pub arguments: Vec<String>,
    #[serde(default)]
    pub jvm: Vec<String>,
    pub jdk: Vec<u32>,
    pub seconds: u64,
}

/// What is other without the fault.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mended {
    pub libraries: Option<Vec<String>>,
    pub arguments: Option<Vec<String>>,
    pub jvm: Option<Vec<String>>,
}

/// A load of a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub name: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    pub answer: Answer,
}

/// The right answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub kind: Kind,
    #[serde(default)]
    pub name: Vec<String>,
    #[serde(default)]
    pub holder: Vec<String>,
    #[serde(default)]
    pub waiter: Vec<String>,
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// The largest share that may count as lost to waits that are for no lock.
    pub withheld_most: Option<f64>,
}

/// What is run and judged: a case, or one load of it.
#[derive(Clone, Debug)]
pub struct Program {
    pub case: Case,
    /// The case's name, or `case/load`.
    pub name: String,
    pub arguments: Vec<String>,
    pub answer: Answer,
}

/// The folder that is no case: classes that several of them use.
const SHARED: &str = "shared";

/// All cases below a folder, by name; or what is wrong with the first that is wrong.
pub fn all(folder: &Path) -> Result<Vec<Case>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| told(folder, error))?;
    let mut folders: Vec<PathBuf> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    folders.retain(|path| path.is_dir() && !path.ends_with(SHARED));
    folders.sort();
    folders.iter().map(|folder| Case::read(folder)).collect()
}

fn told(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

impl Case {
    /// The case in a folder.
    pub fn read(folder: &Path) -> Result<Case, String> {
        let path = folder.join("case.toml");
        let text = std::fs::read_to_string(&path).map_err(|error| told(&path, error))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Case::of(&text, name, folder).map_err(|error| told(&path, error))
    }

    /// The case that a file's text tells of.
    pub fn of(text: &str, name: String, folder: &Path) -> Result<Case, String> {
        let case: Case = toml::from_str(text).map_err(|error| error.to_string())?;
        Ok(Case { name, folder: folder.to_owned(), ..case })
    }

    /// Its files, but for the answer, in the order of their names.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = place::files_below(&self.folder);
        files.retain(|file| !file.ends_with("case.toml"));
        let shared = self.folder.with_file_name(SHARED);
        files.extend(self.shared.iter().map(|name| shared.join(name)));
        files.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
        files
    }

    /// What is run of it.
    pub fn programs(&self) -> Vec<Program> {
        let own = self.answer.iter().map(|answer| Program {
            case: self.clone(),
            name: self.name.clone(),
            arguments: self.program.arguments.clone(),
            answer: answer.clone(),
        });
        let of_loads = self.load.iter().map(|load| Program {
            case: self.clone(),
            name: format!("{}/{}", self.name, load.name),
            arguments: [&self.program.arguments[..], &load.arguments].concat(),
            answer: load.answer.clone(),
        });
        own.chain(of_loads).collect()
    }
}

impl Program {
    /// Whether a word of the command line means it: its name, kind, area or set.
    pub fn is_called(&self, word: &str) -> bool {
        let case = &self.case;
        let (kind, area, set) = (self.answer.kind.word(), case.area.word(), case.set.word());
        [&*self.name, &*case.name, kind, area, set].contains(&word)
    }
}

impl std::fmt::Display for Answer {
    /// On one line, with the first of several names that are right.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.word())?;
        for (what, named) in
            [(": ", &self.name), (", held by ", &self.holder), (", waited for in ", &self.waiter)]
        {
            if let Some(first) = named.first() {
                write!(f, "{what}{first}")?;
            }
        }
        let advice: Vec<&str> = self.advice.iter().map(|advice| advice.word()).collect();
        match advice.is_empty() {
            true => Ok(()),
            false => write!(f, "; {}", advice.join(" or ")),
        }
    }
}
