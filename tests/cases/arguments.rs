//! What the command line asks for.

use crate::{case::Program, words::Way};

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Names, kinds, areas or sets; all programs if there is none.
    pub words: Vec<String>,
    /// The ways in; all if there is none.
    pub ways: Vec<Way>,
    pub jdk: Jdks,
    /// How many loops keep processors busy beside the programs.
    pub busy: usize,
    /// How long programs run, if not as long as their cases say.
    pub seconds: Option<u64>,
    /// Whether programs run side by side whatever they use: what is said of them should not
    /// depend on it.
    pub crowded: bool,
    /// Whether all is recorded anew.
    pub again: bool,
    /// Whether the table is written into the document.
    pub write: bool,
}

/// On which JDKs programs run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jdks {
    /// The first one that the case names.
    #[default]
    First,
    /// All that it names.
    All,
    /// This one, if it names it.
    Only(u32),
}

impl Arguments {
    /// Reads them.
    pub fn of(mut all: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments::default();
        while let Some(word) = all.next() {
            let (option, own) = match word.split_once('=') {
                Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
                None => (word.clone(), None),
            };
            let mut value =
                || own.clone().or_else(|| all.next()).ok_or(format!("{option} lacks its value"));
            match option.as_str() {
                "--again" => arguments.again = true,
                "--write" => arguments.write = true,
                "--way" => arguments.ways.push(way(&value()?)?),
                "--jdk" => arguments.jdk = jdks(&value()?)?,
                "--seconds" => arguments.seconds = Some(number(&value()?)?),
                "--busy" => arguments.busy = number(&value()?)?,
                option if option.starts_with('-') => return Err(format!("no option {option}")),
                _ => arguments.words.push(word),
            }
        }
        Ok(arguments)
    }

    /// The programs that are meant; or which word means none.
    pub fn select(&self, programs: Vec<Program>) -> Result<Vec<Program>, String> {
        let is_unknown = |word: &&String| !programs.iter().any(|program| program.is_called(word));
        if let Some(word) = self.words.iter().find(is_unknown) {
            return Err(format!("no case, kind, area or set is called {word}"));
        }
        let is_meant = |program: &Program| {
            self.words.is_empty() || self.words.iter().any(|word| program.is_called(word))
        };
        Ok(programs.into_iter().filter(is_meant).collect())
    }

    /// Whether a way in is asked for.
    pub fn has(&self, way: Way) -> bool {
        self.ways.is_empty() || self.ways.contains(&way)
    }

    /// The JDKs that a program runs on.
    pub fn jdks_of(&self, program: &Program) -> Vec<u32> {
        let all = &program.case.program.jdk;
        match self.jdk {
            Jdks::First => all.first().copied().into_iter().collect(),
            Jdks::All => all.clone(),
            Jdks::Only(jdk) => all.iter().copied().filter(|it| *it == jdk).collect(),
        }
    }
}

fn way(word: &str) -> Result<Way, String> {
    let found = Way::ALL.iter().find(|way| way.word() == word);
    found.copied().ok_or_else(|| format!("no way in is called {word}"))
}

fn jdks(word: &str) -> Result<Jdks, String> {
    match word {
        "all" => Ok(Jdks::All),
        word => Ok(Jdks::Only(number(word)?)),
    }
}

fn number<N: std::str::FromStr>(word: &str) -> Result<N, String> {
    word.parse().map_err(|_| format!("{word} is no number"))
}
