//! What was said of one recording, judged.

use crate::{
    case::Program,
    judge::{Grade, Judgement, judge},
    said::Said,
    words::{Kind, Way},
};

/// A recording of a program, judged.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The program's name.
    pub program: String,
    pub kind: Kind,
    pub way: Way,
    pub jdk: u32,
    /// The right answer, on a line.
    pub expected: String,
    /// The verdict, on a line.
    pub said: String,
    pub judgement: Judgement,
    /// The evidence that this way in lacks, if the case tells of some.
    pub unknowable: Option<String>,
}

impl Outcome {
    /// Of the section `verdict` of a report.
    pub fn of(program: &Program, way: Way, jdk: u32, verdict: &serde_json::Value) -> Outcome {
        let said = Said::of(verdict);
        Outcome {
            program: program.name.clone(),
            kind: program.answer.kind,
            way,
            jdk,
            expected: program.answer.to_string(),
            said: said.to_string(),
            judgement: judge(&program.answer, &said),
            unknowable: program.case.unknowable.get(&way).cloned(),
        }
    }

    /// Whether the verdict says that it does not know what nobody can know.
    pub fn is_excused(&self) -> bool {
        self.unknowable.is_some() && self.judgement.grade == Grade::Unclear
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let grade = self.judgement.grade.word();
        let (program, way, jdk) = (&self.program, self.way.word(), self.jdk);
        write!(f, "{grade:8}{program} {way} jdk{jdk}: expected {}", self.expected)?;
        write!(f, " | said {}", self.said)?;
        if !self.judgement.why.is_empty() {
            write!(f, " | {}", self.judgement.why)?;
        }
        if !self.judgement.in_words.is_empty() {
            write!(f, " | only in words: {}", self.judgement.in_words.join(", "))?;
        }
        match self.unknowable.as_ref().filter(|_| self.is_excused()) {
            Some(lacking) => write!(f, " | cannot be known: {lacking}"),
            None => Ok(()),
        }
    }
}
