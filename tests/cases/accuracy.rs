//! How many verdicts are right, by kind and way in.

use crate::{
    judge::Grade,
    outcome::Outcome,
    words::{Kind, Way},
};

/// How many outcomes there are of each grade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [usize; Grade::ALL.len()],
    /// Of what cannot be known, how many verdicts say that they do not know.
    excused: usize,
    /// How many are right by what is only in the sentences.
    in_words: usize,
}

impl Tally {
    /// Of these.
    pub fn of<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Tally {
        let mut tally = Tally::default();
        for outcome in outcomes {
            let grade = outcome.judgement.grade;
            if outcome.is_excused() {
                tally.excused += 1;
            } else {
                tally.counts[grade as usize] += 1;
            }
            let is_in_words = grade == Grade::Right && !outcome.judgement.in_words.is_empty();
            tally.in_words += usize::from(is_in_words);
        }
        tally
    }

    /// How many there are of a grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.counts[grade as usize]
    }

    /// How many count.
    pub fn all(&self) -> usize {
        self.counts.iter().sum()
    }

    /// `7 of 9`, or nothing if there are none.
    pub fn brief(&self) -> String {
        match self.all() {
            0 => String::new(),
            all => format!("{} of {all}", self.count(Grade::Right)),
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let grades = Grade::ALL.map(|grade| format!("{} {}", self.count(grade), grade.word()));
        f.write_str(&grades.join(", "))?;
        if self.excused != 0 {
            write!(f, ", {} not to be known", self.excused)?;
        }
        match self.in_words {
            0 => Ok(()),
            count => write!(f, "; {count} right only in words"),
        }
    }
}

/// A row for each kind that there is and one for all: its name, all of it, and each way in.
pub fn rows(outcomes: &[Outcome]) -> Vec<Vec<String>> {
    let row = |name: &str, kind: Option<Kind>| {
        let of = |way: Option<Way>| {
            let is_of = |it: &&Outcome| {
                kind.is_none_or(|k| k == it.kind) && way.is_none_or(|w| w == it.way)
            };
            Tally::of(outcomes.iter().filter(is_of)).brief()
        };
        let ways = Way::ALL.iter().map(|way| of(Some(*way)));
        [name.to_owned(), of(None)].into_iter().chain(ways).collect::<Vec<_>>()
    };
    let kinds = Kind::ALL.iter().map(|kind| row(kind.word(), Some(*kind)));
    let mut rows: Vec<_> = kinds.filter(|row| !row[1].is_empty()).collect();
    rows.push(row("all", None));
    rows
}

/// What the columns of these rows are.
pub fn head() -> Vec<String> {
    let ways = Way::ALL.iter().map(|way| way.word().to_owned());
    ["kind".to_owned(), "right".to_owned()].into_iter().chain(ways).collect()
}

/// What is printed at the end.
pub fn printed(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for row in std::iter::once(head()).chain(rows(outcomes)) {
        let cells: Vec<String> = row.iter().skip(1).map(|cell| format!("{cell:>11}")).collect();
        text += &format!("{:16}{}\n", row[0], cells.join(" "));
    }
    for way in Way::ALL {
        let of_way = Tally::of(outcomes.iter().filter(|it| it.way == *way));
        if of_way != Tally::default() {
            text += &format!("{}: {of_way}\n", way.word());
        }
    }
    text + &format!("all: {}\n", Tally::of(outcomes.iter()))
}
