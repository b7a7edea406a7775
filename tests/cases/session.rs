//! A session: records what is not kept, as many programs at a time as do not disturb each other.

use crate::{
    arguments::Arguments,
    case::Program,
    kept::{Binaries, Kept, Place},
    outcome::Outcome,
    place,
    run::Run,
    words::{Kind, Way},
};
use std::{
    collections::VecDeque,
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A program that uses less of one processor may run beside others.
const QUIET: f64 = 0.3;
/// The way in that a program is tried by first.
const FIRST: Way = Way::Contention;
/// What such programs mostly are.
const QUIET_KINDS: [Kind; 4] = [Kind::Deadlock, Kind::NobodyAnswers, Kind::Idle, Kind::Outside];

/// What comes of a session.
#[derive(Default)]
pub struct Ended {
    pub outcomes: Vec<Outcome>,
    /// What could not be recorded or read.
    pub failures: Vec<String>,
}

/// A run that may have to be made.
#[derive(Clone, Copy)]
struct Job<'a> {
    program: &'a Program,
    jdk: u32,
    way: Way,
}

/// What all jobs need.
pub struct Session<'a> {
    pub arguments: &'a Arguments,
    pub binaries: Binaries,
    ended: Mutex<Ended>,
}

impl<'a> Session<'a> {
    /// With what is asked for.
    pub fn new(arguments: &'a Arguments, binaries: Binaries) -> Session<'a> {
        Session { arguments, binaries, ended: Mutex::default() }
    }

    /// Gives the outcomes of all these programs.
    pub fn run(self, programs: &[Program]) -> Ended {
        let jobs = self.lacking(self.jobs(programs));
        let at_a_time = if self.arguments.crowded { processors() } else { 1 };
        // The first run of a program shows how much it uses.
        let is_known = |job: &Job<'_>| job.way != FIRST || self.is_quiet(*job).is_some();
        let (jobs, unknown): (Vec<Job<'_>>, Vec<Job<'_>>) = jobs.into_iter().partition(is_known);
        side_by_side(unknown, at_a_time, |job| self.do_one(job));
        let (quiet, loud): (Vec<Job<'_>>, Vec<Job<'_>>) =
            jobs.into_iter().partition(|job| self.is_quiet(*job) == Some(true));
        side_by_side(quiet, processors() * 3 / 2, |job| self.do_one(job));
        side_by_side(loud, at_a_time, |job| self.do_one(job));
        let mut ended = self.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        ended.outcomes.sort_by_key(|it| (it.program.clone(), it.way, it.jdk));
        ended
    }

    /// The jobs that have to be done. What is kept is told; it may have to be read once more.
    fn lacking<'p>(&self, jobs: Vec<Job<'p>>) -> Vec<Job<'p>> {
        if self.arguments.again {
            return jobs;
        }
        let lacking = Mutex::new(Vec::new());
        side_by_side(jobs, processors(), |job| {
            match self.place(job, job.way).current(self.binaries) {
                Some(kept) => self.judge(job, &kept),
                None => locked(&lacking).push(job),
            }
        });
        let mut lacking = lacking.into_inner().unwrap_or_else(PoisonError::into_inner);
        lacking.sort_by_key(|job| (&job.program.name, job.jdk, job.way));
        lacking
    }

    fn jobs<'p>(&self, programs: &'p [Program]) -> Vec<Job<'p>> {
        let mut jobs = Vec::new();
        for program in programs {
            for jdk in self.arguments.jdks_of(program) {
                if place::java(jdk).is_none() {
                    self.say(&format!("skipped {}: no Java {jdk}", program.name));
                    continue;
                }
                let wanted = Way::ALL.iter().filter(|way| self.arguments.has(**way));
                jobs.extend(wanted.map(|way| Job { program, jdk, way: *way }));
            }
        }
        jobs
    }

    /// Whether it may run beside others, by the processor time that it was seen to use, else by
    /// what it is; nothing if neither tells.
    fn is_quiet(&self, job: Job<'_>) -> Option<bool> {
        let seen = Way::ALL.iter().filter_map(|way| {
            let cpu_ns = self.place(job, *way).any()?.verdict["cpu_ns"].as_u64()?;
            Some(cpu_ns as f64 / (job.program.case.program.seconds as f64 * 1e9))
        });
        let is_of_quiet_kind = QUIET_KINDS.contains(&job.program.answer.kind);
        let seen = seen.reduce(f64::max).map(|used| used < QUIET);
        seen.or_else(|| is_of_quiet_kind.then_some(true))
    }

    fn place<'p>(&self, job: Job<'p>, way: Way) -> Place<'p> {
        Place { program: job.program, way, jdk: job.jdk, busy: self.arguments.busy }
    }

    fn do_one(&self, job: Job<'_>) {
        let place = self.place(job, job.way);
        let Job { program, jdk, way } = job;
        let run = Run { program, jdk, way, recording: place.recording() };
        match run.record().and_then(|done| place.read(self.binaries, done.proof)) {
            Ok(kept) => self.judge(job, &kept),
            Err(error) => {
                let failure = format!("failed  {} {} jdk{jdk}: {error}", program.name, way.word());
                self.say(&failure);
                self.ended().failures.push(failure);
            }
        }
    }

    fn judge(&self, job: Job<'_>, kept: &Kept) {
        let outcome = Outcome::of(job.program, job.way, job.jdk, &kept.verdict);
        let aimed = match kept.aimed.as_slice() {
            [] => String::new(),
            aimed => format!(" | aimed at {}", aimed.join(" and ")),
        };
        self.say(&format!("{outcome}{aimed}"));
        let mut ended = self.ended();
        // Where no lock is to blame, none is worth probes.
        if !aimed.is_empty() && job.program.answer.kind != Kind::Lock {
            ended.failures.push(format!("{}{aimed}", outcome.program));
        }
        ended.outcomes.push(outcome);
    }

    fn ended(&self) -> MutexGuard<'_, Ended> {
        locked(&self.ended)
    }

    /// Prints a line. Nobody may be there to read it.
    fn say(&self, line: &str) {
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

/// Does so many jobs at a time.
fn side_by_side<'p>(jobs: Vec<Job<'p>>, at_a_time: usize, job: impl Fn(Job<'p>) + Sync) {
    let queue = Mutex::new(VecDeque::from(jobs));
    let next = || locked(&queue).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.max(1) {
            scope.spawn(|| {
                while let Some(next) = next() {
                    job(next);
                }
            });
        }
    });
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
