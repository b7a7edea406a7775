//! A recording that is looked at time after time, and what it has counted.

use super::{
    besides::{Cpu, Losses},
    families,
    text::Family,
    totals::{Delta, MetricTotals},
};
use crate::{
    live::feed::{Feed, Life},
    logs::{LogFiles, now_ns},
    outcome::{Failure, tell},
};
use std::{
    path::{Path, PathBuf},
    rc::Rc,
};
use tyrion_formats::{Begin, Damage, Recording};
use tyrion_model::filter::Kinds;
use tyrion_report::OwnCpu;

/// The name of the command, for messages.
const COMMAND: &str = "metrics";
/// What is written to a file that the recording has left comes within this time.
const LATE_NS: u64 = 10_000_000_000;

/// What of a recording to count.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub kinds: Kinds,
    pub max_locks: usize,
}

/// A recording, and those that had its log's name before.
pub struct FollowedLog {
    files: Rc<dyn LogFiles>,
    path: PathBuf,
    feed: Feed,
    totals: MetricTotals,
    losses: Losses,
    start_wall_ns: Option<u64>,
    /// Of earlier recordings, and the present one.
    earlier_cpu: Option<Cpu>,
    cpu: Option<Cpu>,
}

impl FollowedLog {
    /// Opens a log and reads all of it.
    ///
    /// # Errors
    /// When it is no log, or cannot be read.
    pub fn open(
        files: Rc<dyn LogFiles>,
        path: &Path,
        options: Options,
    ) -> Result<FollowedLog, Failure> {
        let feed = Feed::open(COMMAND, Rc::clone(&files), path, |_| Begin::Start)?;
        let start_wall_ns = feed.log().and_then(Recording::known_start_wall_ns);
        let mut watched = FollowedLog {
            files,
            path: path.to_owned(),
            feed,
            totals: MetricTotals::new(options.kinds, options.max_locks),
            losses: Losses::default(),
            start_wall_ns,
            earlier_cpu: None,
            cpu: None,
        };
        watched.read()?;
        Ok(watched)
    }

    /// Reads what is new. Where a recording has ended and another one has its log's
    /// name, as after a restart of the program, that one is read, too.
    ///
    /// # Errors
    /// When the log cannot be read any more.
    pub fn read(&mut self) -> Result<(), Failure> {
        self.read_on()?;
        if self.life().has_ended() && self.feed.is_replaced() {
            // Its header may not be there yet.
            let begin = |_| Begin::Start;
            let next = Feed::open(COMMAND, Rc::clone(&self.files), &self.path, begin);
            if let Ok(next) = next {
                tell(&format!(
                    "note: another recording has begun in {}; it is added",
                    self.path.display()
                ));
                self.feed = next;
                self.losses.look(&[]);
                self.earlier_cpu = Cpu::sum(self.earlier_cpu, self.cpu.take());
                self.read_on()?;
            }
        }
        Ok(())
    }

    fn read_on(&mut self) -> Result<(), Failure> {
        let now_ns = now_ns();
        let mut delta = Delta::default();
        self.feed.read_on(now_ns, &mut delta)?;
        let logs = self.feed.logs();
        self.totals.add(&delta, &logs, self.feed.life().has_ended());
        self.losses.look(&logs);
        let statistics = self.feed.log().map(Recording::statistics).unwrap_or_default();
        let own = OwnCpu::read(|key| statistics.get(key).copied());
        self.cpu = own.map(|own| Cpu::of(&own, self.cpu)).or(self.cpu);
        self.feed.forget_before(now_ns.saturating_sub(LATE_NS));
        Ok(())
    }

    /// What has become of the recording.
    pub fn life(&self) -> Life {
        self.feed.life()
    }

    /// What was found damaged.
    pub fn damage(&self) -> Vec<Damage> {
        self.feed.damage()
    }

    /// The metrics as of the last look.
    pub fn families(&self) -> Vec<Family> {
        families::of(&families::FamilySource {
            feed: &self.feed,
            totals: &self.totals,
            lost: self.losses.all(),
            start_wall_ns: self.start_wall_ns,
            cpu: Cpu::sum(self.earlier_cpu, self.cpu),
            now_ns: now_ns(),
        })
    }
}
