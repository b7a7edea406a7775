//! Predicts the effect of a change from logs, by the best method available.

use crate::{
    answer::{Method, Prediction, ThreadGain, rounded},
    assumptions::{self, Basis},
    change::Change,
    coarse::{self, Asked, NO_READERS},
    locks::{GroupOf, Sharing},
    numbers::Numbers,
    prepare,
    question::Question,
    reads,
    replay::{Estimate, Recorded},
    script::What,
    sums::Sums,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::Range,
};
use tyrion_formats::Recording;

/// What logs show about their locks.
#[derive(Debug)]
pub struct Evidence<'a> {
    logs: &'a [Recording],
    numbers: Numbers,
    sums: Sums,
    /// From the start of the first log to the end of the last, monotonic ns.
    time: Range<u64>,
    recorded: Result<Recorded, String>,
}

/// With fewer acquisitions there is no prediction.
const LEAST_TAKEN: u64 = 10;
/// A replay of the recording that is off by this factor is not used.
const MOST_OFF: f64 = 2.0;
/// The number of thread names in the answer.
const MOST_THREADS: usize = 10;
/// One in this many acquisitions may be one that cannot be replayed.
const MOST_VIRTUAL: u64 = 50;

impl<'a> Evidence<'a> {
    /// Reads logs, on all workers of the current rayon pool. `group_of` gives the group
    /// of a lock, by class and name.
    ///
    /// # Errors
    /// If the logs are not of one recording, with a message of one line.
    pub fn read(logs: &'a [Recording], group_of: GroupOf<'_>) -> Result<Evidence<'a>, String> {
        let recording = |log: &'a Recording| log.facts().metadata("recording");
        let first = logs.first().ok_or("there is no log")?;
        let others = logs
            .iter()
            .skip(1)
            .any(|log| recording(log).is_none() || recording(log) != recording(first));
        if others {
            return Err("the logs are of several recordings: a prediction needs one".to_owned());
        }
        let numbers = Numbers::new(logs);
        let sums = Sums::read(logs, &numbers, group_of);
        let recorded = prepare::recorded(logs, &numbers, &sums, group_of);
        let starts = logs.iter().map(Recording::start_ns);
        let ends = logs.iter().map(Recording::end_ns);
        let time = starts.min().unwrap_or(0)..ends.max().unwrap_or(0);
        Ok(Evidence { logs, numbers, sums, time, recorded })
    }

    /// The number of processors on which the program ran, if the log says so.
    pub fn processors(&self) -> Option<u32> {
        self.sums.processors
    }

    /// Predicts the effect of a change.
    ///
    /// # Errors
    /// The reason why there is no prediction, as a clause.
    pub fn predict(&self, question: &Question) -> Result<Prediction, String> {
        let not_replayed = match self.replayed(question) {
            Ok(prediction) => return Ok(prediction),
            Err(Unable::Never(why)) => return Err(why),
            Err(Unable::Replay(why)) => why,
        };
        let reads = |place: u32| reads::is_reading(self.logs, place, question.reads.as_ref());
        let asked = Asked {
            group: question.group,
            lock: question.lock,
            change: question.change,
            processors: question.processors,
            reads: &reads,
        };
        let coarse = coarse::estimate(&self.sums, &self.numbers, &self.time, &asked)?;
        let mut prediction = Prediction {
            change: question.change.to_string(),
            method: Method::Queueing,
            processors: question.processors.or(self.sums.processors),
            assumptions: assumptions::of_coarse(&coarse, (self.logs, &self.sums), question),
            not_replayed,
            ..Prediction::default()
        };
        if question.change == Change::ReadWrite {
            let places = self.sums.groups.get(&question.group);
            let places = places.into_iter().flat_map(|of| of.taken.keys().map(|key| key.1));
            let places: BTreeSet<u32> = places.filter(|&place| reads(place)).collect();
            prediction.reads = reads::named(self.logs, places);
        }
        prediction.set_ratio(coarse.ratio, coarse.low, coarse.high);
        Ok(prediction)
    }

    fn replayed(&self, question: &Question) -> Result<Prediction, Unable> {
        let replay = |why: &str| Unable::Replay(why.to_owned());
        let recorded = self.recorded.as_ref().map_err(|why| replay(why))?;
        let locks = wanted(recorded, question);
        if !locks.contains(&true) {
            return Err(replay("it was not used by several threads in the replayed time"));
        }
        check_change(recorded, &locks, question.change)?;
        let places = places(recorded, &locks);
        let read: HashSet<u32> = match question.change {
            Change::ReadWrite => places
                .into_iter()
                .filter(|&place| reads::is_reading(self.logs, place, question.reads.as_ref()))
                .collect(),
            _ => HashSet::new(),
        };
        if question.change == Change::ReadWrite && read.is_empty() {
            return Err(Unable::Never(NO_READERS.to_owned()));
        }
        let estimate = recorded.estimate(question.change, &locks, &read, question.processors);
        let estimate = estimate.ok_or_else(|| replay("it was not taken in the replay"))?;
        let off = estimate.replayed_rate / estimate.recorded_rate;
        if !(1.0 / MOST_OFF..=MOST_OFF).contains(&off) {
            return Err(Unable::Replay(format!(
                "a replay of the recording takes it {off:.1} times as often as the program did"
            )));
        }
        Ok(self.prediction(question, recorded, &estimate, &read))
    }

    fn prediction(
        &self,
        question: &Question,
        recorded: &Recorded,
        estimate: &Estimate,
        read: &HashSet<u32>,
    ) -> Prediction {
        let basis = Basis { logs: self.logs, recorded, whole: &self.time, estimate };
        let mut prediction = Prediction {
            change: question.change.to_string(),
            method: Method::Replay,
            threads: self.threads(recorded, &estimate.threads),
            others_share: estimate.others.map(|ratio| rounded(ratio - 1.0)),
            recorded_per_second: Some(rounded(estimate.recorded_rate)),
            replayed_per_second: Some(rounded(estimate.replayed_rate)),
            processors: question.processors.or(recorded.processors),
            reads: reads::named(self.logs, read.iter().copied().collect()),
            assumptions: assumptions::of_replay(&basis, question),
            ..Prediction::default()
        };
        prediction.set_ratio(estimate.ratio, estimate.low, estimate.high);
        prediction
    }
}

impl Evidence<'_> {
    /// The effect on threads that take locks, by name.
    fn threads(&self, recorded: &Recorded, ratios: &[Option<f64>]) -> Vec<ThreadGain> {
        let mut groups: BTreeMap<&str, (u64, u64, f64)> = BTreeMap::new();
        for (script, ratio) in recorded.scripts.iter().zip(ratios) {
            let thread =
                script.threads.first().and_then(|&at| self.numbers.threads.get(at as usize));
            let (Some(thread), Some(ratio)) = (thread, *ratio) else { continue };
            if !script.steps.iter().any(|step| step.what == What::Acquire) {
                continue;
            }
            let gaps = script.steps.iter().filter(|step| step.what == What::Gap);
            let done_ns: u64 = gaps.map(|step| step.amount).fold(0, u64::saturating_add);
            let sums = groups.entry(&thread.group).or_default();
            *sums = (sums.0 + 1, sums.1.saturating_add(done_ns), sums.2 + ratio);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(name, (_, done_ns, _))| (Reverse(*done_ns), *name));
        groups.truncate(MOST_THREADS);
        let gain = |(name, (count, _, sum)): (&str, (u64, u64, f64))| ThreadGain {
            threads: name.to_owned(),
            count,
            throughput_ratio: rounded(sum / count as f64),
        };
        groups.into_iter().map(gain).collect()
    }
}

/// Why there is no replay.
enum Unable {
    /// There may be an estimate.
    Replay(String),
    /// There is no prediction at all.
    Never(String),
}

/// By lock: whether the question is about it.
fn wanted(recorded: &Recorded, question: &Question) -> Vec<bool> {
    let is_wanted = |lock: &crate::locks::Lock| {
        lock.group == Some(question.group) && question.lock.is_none_or(|id| lock.id == id)
    };
    recorded.locks.list.iter().map(is_wanted).collect()
}

/// Whether these locks can be changed in this way, and there are enough acquisitions.
fn check_change(recorded: &Recorded, locks: &[bool], change: Change) -> Result<(), Unable> {
    let of = |counts: &[u64]| -> u64 {
        counts.iter().zip(locks).filter(|it| *it.1).map(|it| *it.0).sum()
    };
    let (taken, virtually) = (of(&recorded.taken), of(&recorded.taken_virtually));
    if virtually > (taken + virtually) / MOST_VIRTUAL {
        return Err(Unable::Replay(
            "virtual threads took it, whose holds the log does not tell apart".to_owned(),
        ));
    }
    if taken < LEAST_TAKEN {
        return Err(Unable::Replay("it was taken too seldom in the replayed time".to_owned()));
    }
    let sharings = recorded.locks.list.iter().zip(locks).filter(|it| *it.1).map(|it| it.0.sharing);
    for sharing in sharings {
        match (change, sharing) {
            (Change::Free, _) => {}
            (_, Sharing::Untraced) => {
                return Err(Unable::Replay(
                    "only waits for it are known, not who held it".to_owned(),
                ));
            }
            (Change::ReadWrite, Sharing::ReadWrite) => {
                return Err(Unable::Never("it is a read-write lock already".to_owned()));
            }
            (Change::ReadWrite, Sharing::Permits(_)) => {
                return Err(Unable::Never("a semaphore has no readers".to_owned()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The places where these locks are taken.
fn places(recorded: &Recorded, locks: &[bool]) -> BTreeSet<u32> {
    let steps = recorded.scripts.iter().flat_map(|script| &script.steps);
    let taken = steps
        .filter(|step| step.what == What::Acquire && locks.get(step.lock as usize) == Some(&true));
    taken.filter_map(|step| u32::try_from(step.amount).ok()).collect()
}
