//! A session: records what is not kept, as many programs at a time as do not disturb each other.

use crate::{
    arguments::Arguments,
    case::Program,
    kept::{Binaries, Kept, Place},
    outcome::Outcome,
    place,
    run::{RUNS, Run},
    words::{Kind, Way},
};
use std::{
    collections::VecDeque,
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A program that uses less of one processor may run beside another one.
const QUIET: f64 = 0.3;
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
    ways: &'static [Way],
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
        let (quiet, loud): (Vec<Job<'_>>, Vec<Job<'_>>) =
            jobs.into_iter().partition(|job| self.is_quiet(*job));
        side_by_side(quiet, |job| self.do_one(job));
        loud.into_iter().for_each(|job| self.do_one(job));
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
        side_by_side(jobs, |job| {
            if !self.is_kept(job) {
                locked(&lacking).push(job);
            }
        });
        let mut lacking = lacking.into_inner().unwrap_or_else(PoisonError::into_inner);
        lacking.sort_by_key(|job| (&job.program.name, job.jdk, job.ways));
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
                let wanted =
                    RUNS.iter().filter(|ways| ways.iter().any(|way| self.arguments.has(*way)));
                jobs.extend(wanted.map(|ways| Job { program, jdk, ways }));
            }
        }
        jobs
    }

    /// Whether it may run beside another one: by the processor time that it was seen to use,
    /// else by what it is.
    fn is_quiet(&self, job: Job<'_>) -> bool {
        let seen = Way::ALL.iter().filter_map(|way| {
            let cpu_ns = self.place(job, *way).any()?.verdict["cpu_ns"].as_u64()?;
            Some(cpu_ns as f64 / (job.program.case.program.seconds as f64 * 1e9))
        });
        match seen.reduce(f64::max) {
            Some(used) => used < QUIET,
            None => QUIET_KINDS.contains(&job.program.answer.kind),
        }
    }

    fn place<'p>(&self, job: Job<'p>, way: Way) -> Place<'p> {
        Place { program: job.program, way, jdk: job.jdk, busy: self.arguments.busy }
    }

    /// Whether all that is wanted of a run is kept, which is then told.
    fn is_kept(&self, job: Job<'_>) -> bool {
        let wanted = job.ways.iter().filter(|way| self.arguments.has(**way));
        let kept: Option<Vec<(Way, Kept)>> =
            wanted.map(|way| Some((*way, self.place(job, *way).current(self.binaries)?))).collect();
        let Some(kept) = kept else { return false };
        kept.iter().for_each(|(way, kept)| self.judge(job, *way, kept));
        true
    }

    fn do_one(&self, job: Job<'_>) {
        let recording = |way| self.place(job, way).recording();
        let run = Run { program: job.program, ways: job.ways, jdk: job.jdk, recording: &recording };
        let done = match run.record() {
            Ok(done) => done,
            Err(error) => return self.fail(job, job.ways[0], &error),
        };
        for way in job.ways {
            match self.place(job, *way).read(self.binaries, done.proof.clone()) {
                Ok(kept) if self.arguments.has(*way) => self.judge(job, *way, &kept),
                Ok(_) => {}
                Err(error) => self.fail(job, *way, &error),
            }
        }
    }

    fn judge(&self, job: Job<'_>, way: Way, kept: &Kept) {
        let outcome = Outcome::of(job.program, way, job.jdk, &kept.verdict);
        self.say(&outcome.to_string());
        self.ended().outcomes.push(outcome);
    }

    fn fail(&self, job: Job<'_>, way: Way, error: &str) {
        let failure =
            format!("failed  {} {} jdk{}: {error}", job.program.name, way.word(), job.jdk);
        self.say(&failure);
        self.ended().failures.push(failure);
    }

    fn ended(&self) -> MutexGuard<'_, Ended> {
        locked(&self.ended)
    }

    /// Prints a line. Nobody may be there to read it.
    fn say(&self, line: &str) {
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

/// Does so many jobs at a time as there are processors.
fn side_by_side<'p>(jobs: Vec<Job<'p>>, job: impl Fn(Job<'p>) + Sync) {
    let queue = Mutex::new(VecDeque::from(jobs));
    let next = || locked(&queue).pop_front();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while let Some(next) = next() {
                    job(next);
                }
            });
        }
    });
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
