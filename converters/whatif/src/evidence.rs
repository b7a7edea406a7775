//! Predicts the effect of a change from logs, by the best method available.

use crate::{
    answer::{Method, ObjectGain, Prediction, ThreadGain, rounded},
    assumptions::{self, Basis},
    candidates,
    change::Change,
    coarse::{self, Coarse, CoarseQuestion, NO_READERS},
    engine::LockChange,
    locks::{GroupOf, Lock, Sharing},
    numbers::Numbers,
    prepare,
    question::Question,
    reads,
    replay::{LEAST_LOOKS, ReplayInput},
    script::What,
    survey::{LogSurvey, Survey},
    totals::RecordingTotals,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashSet},
};
use tyrion_formats::Recording;
use tyrion_model::{
    pass::{self, Reading},
    units,
};

/// What logs show about their locks.
#[derive(Debug)]
pub struct Evidence<'a> {
    logs: &'a [Recording],
    numbers: Numbers,
    totals: RecordingTotals,
    recorded: Result<ReplayInput, String>,
}

/// With fewer acquisitions there is no prediction.
const LEAST_TAKEN: u64 = 10;
/// A replay of the recording that is off by this factor is not used.
const MOST_OFF: f64 = 2.0;
/// The number of lock objects in the answer.
const MOST_OBJECTS: usize = 4;
/// The number of thread names in the answer.
const MOST_THREADS: usize = 10;
/// One in this many acquisitions may be one that cannot be replayed.
const MOST_VIRTUAL: u64 = 50;

impl<'a> Evidence<'a> {
    /// Whether these are logs of one recording.
    ///
    /// # Errors
    /// If they are not, with a message of one line.
    pub fn check_logs(logs: &[Recording]) -> Result<(), String> {
        let first = logs.first().ok_or("there is no log")?;
        let is_other = |log: &Recording| {
            let recording = log.facts().metadata("recording");
            recording.is_none() || recording != first.facts().metadata("recording")
        };
        match logs.iter().skip(1).any(is_other) {
            true => Err("the logs are of several recordings: a prediction needs one".to_owned()),
            false => Ok(()),
        }
    }

    /// Reads logs, on all workers of the current rayon pool, in a pass of its own. `group_of`
    /// gives the group of a lock, by class and name.
    ///
    /// # Errors
    /// If the logs are not of one recording, with a message of one line.
    pub fn read(logs: &'a [Recording], group_of: GroupOf<'_>) -> Result<Evidence<'a>, String> {
        Evidence::check_logs(logs)?;
        let of_log = |log: &Recording| {
            let survey = Survey::new(log);
            // Damage is reported by the code that reads the log first.
            pass::run(log, &survey, Reading::new(&|_| {}));
            survey.finish()
        };
        let surveys: Vec<LogSurvey> = logs.iter().map(of_log).collect();
        Evidence::of(logs, &surveys, group_of)
    }

    /// From what a pass has found in each log. Of the time that is replayed, the chunks are
    /// decoded once more: those with the last 400 000 holds and waits.
    ///
    /// # Errors
    /// As [`Evidence::read`].
    pub fn of(
        logs: &'a [Recording],
        surveys: &[LogSurvey],
        group_of: GroupOf<'_>,
    ) -> Result<Evidence<'a>, String> {
        Evidence::check_logs(logs)?;
        let numbers = Numbers::new(logs);
        let totals = RecordingTotals::of(logs, surveys, &numbers, group_of);
        let recorded = prepare::recorded((logs, surveys), &numbers, &totals, group_of);
        Ok(Evidence { logs, numbers, totals, recorded })
    }

    /// The number of processors on which the program ran, if the log says so.
    pub fn processors(&self) -> Option<u32> {
        self.totals.processors
    }

    /// Whether something could be gained at the locks of a group at all.
    ///
    /// # Errors
    /// The reason why it is not worth asking, as a clause.
    pub fn check_candidate(&self, group: u32) -> Result<(), String> {
        candidates::check(&self.totals, &self.numbers, group).map_err(str::to_owned)
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
        let coarse = self.coarse(question, question.lock, &reads)?;
        let mut read = BTreeSet::new();
        if question.change == Change::ReadWrite {
            let places = self.totals.groups.get(&question.group);
            let places = places.into_iter().flat_map(|of| of.taken.keys().map(|key| key.1));
            read = places.filter(|&place| reads(place)).collect();
        }
        let alone = |id: u32| Some(self.coarse(question, Some(id), &reads).ok()?.ratio);
        let mut prediction = Prediction {
            method: Method::Queueing,
            reads: reads::named(self.logs, read),
            assumptions: assumptions::of_coarse(&coarse, (self.logs, &self.totals), question),
            not_replayed,
            ..self.prediction(question, &alone)
        };
        prediction.set_ratio(coarse.ratio, coarse.interval);
        Ok(prediction)
    }

    fn coarse(
        &self,
        question: &Question,
        lock: Option<u32>,
        reads: &dyn Fn(u32) -> bool,
    ) -> Result<Coarse, String> {
        let Question { group, change, processors, .. } = *question;
        let asked = CoarseQuestion { group, lock, change, processors, reads };
        coarse::estimate(&self.totals, &self.numbers, &asked)
    }

    fn replayed(&self, question: &Question) -> Result<Prediction, Unable> {
        let replay = |why: &str| Unable::Replay(why.to_owned());
        let recorded = self.recorded.as_ref().map_err(|why| replay(why))?;
        let locks = wanted(recorded, question.group, question.lock);
        if !locks.contains(&true) {
            return Err(replay("it was not used by several threads in the replayed time"));
        }
        check_change(recorded, &locks, question.change)?;
        let read: HashSet<u32> = match question.change {
            Change::ReadWrite => places(recorded, &locks)
                .into_iter()
                .filter(|&place| self.is_reading(recorded, place, question))
                .collect(),
            _ => HashSet::new(),
        };
        if question.change == Change::ReadWrite && read.is_empty() {
            return Err(Unable::Never(NO_READERS.to_owned()));
        }
        let processors = question.processors;
        let estimate = recorded.estimate(question.change, &locks, &read, processors);
        let estimate = estimate.ok_or_else(|| replay("it was not taken in the replay"))?;
        let off = estimate.replayed_rate / estimate.recorded_rate;
        if !(1.0 / MOST_OFF..=MOST_OFF).contains(&off) {
            return Err(Unable::Replay(format!(
                "a replay of the recording takes it {off:.1} times as often as the program did"
            )));
        }
        let alone = |id: u32| {
            let one = wanted(recorded, question.group, Some(id));
            let changed = LockChange { change: question.change, locks: &one, reads: &read };
            one.contains(&true).then(|| recorded.usual_gain(changed, &locks, processors))?
        };
        let basis = Basis {
            logs: self.logs,
            recorded,
            whole_ns: self.totals.recorded_ns,
            estimate: &estimate,
        };
        let mut prediction = Prediction {
            method: if recorded.places.is_some() { Method::Sampled } else { Method::Replay },
            threads: self.threads(recorded, &estimate.threads),
            others_share: estimate.others.map(|ratio| rounded(ratio - 1.0)),
            recorded_per_second: Some(rounded(estimate.recorded_rate)),
            replayed_per_second: Some(rounded(estimate.replayed_rate)),
            reads: self.named(recorded, read.iter().copied().collect()),
            assumptions: assumptions::of_replay(&basis, question),
            ..self.prediction(question, &alone)
        };
        prediction.set_ratio(estimate.ratio, estimate.interval);
        Ok(prediction)
    }

    /// What is said whatever the method. `alone` gives the ratio if one lock object is changed.
    fn prediction(&self, question: &Question, alone: &dyn Fn(u32) -> Option<f64>) -> Prediction {
        let group = self.totals.groups.get(&question.group);
        let mut waited: Vec<(u32, u64)> = group
            .into_iter()
            .flat_map(|of| of.locks.iter().map(|(&id, &wait_ns)| (id, wait_ns)))
            .filter(|&(id, wait_ns)| wait_ns != 0 && question.lock.is_none_or(|of| of == id))
            .collect();
        waited.sort_by_key(|&(id, wait_ns)| (Reverse(wait_ns), id));
        let lock_objects = waited.len() as u64;
        waited.truncate(if lock_objects > 1 && question.one_by_one { MOST_OBJECTS } else { 0 });
        let of_one = |(id, wait_ns)| {
            let throughput_ratio = rounded(alone(id)?);
            Some(ObjectGain { id, wait_ns, throughput_ratio })
        };
        Prediction {
            change: question.change.to_string(),
            processors: question.processors.or(self.totals.processors),
            lock_objects,
            objects: waited.into_iter().filter_map(of_one).collect(),
            ..Prediction::default()
        }
    }

    fn is_reading(&self, recorded: &ReplayInput, place: u32, question: &Question) -> bool {
        let pattern = question.reads.as_ref();
        match &recorded.places {
            Some(names) => {
                names.get(place as usize).is_some_and(|name| reads::is_reading_frame(name, pattern))
            }
            None => reads::is_reading(self.logs, place, pattern),
        }
    }

    /// Places as text, in their order.
    fn named(&self, recorded: &ReplayInput, places: BTreeSet<u32>) -> Vec<String> {
        match &recorded.places {
            Some(names) => {
                let named = places.iter().filter_map(|&place| names.get(place as usize));
                named.cloned().collect::<BTreeSet<String>>().into_iter().collect()
            }
            None => reads::named(self.logs, places),
        }
    }
}

impl Evidence<'_> {
    /// The effect on threads that take locks, by name.
    fn threads(&self, recorded: &ReplayInput, ratios: &[Option<f64>]) -> Vec<ThreadGain> {
        let mut groups: BTreeMap<&str, (u64, u64, f64)> = BTreeMap::new();
        for (script, ratio) in recorded.scripts.iter().zip(ratios) {
            let thread =
                script.threads.first().and_then(|&at| self.numbers.threads.get(at as usize));
            let (Some(thread), Some(ratio)) = (thread, *ratio) else { continue };
            if thread.is_jvms || !script.takes_locks() {
                continue;
            }
            let gaps = script.steps.iter().filter(|step| step.what == What::Gap);
            let done_ns: u64 = gaps.map(|step| step.amount).fold(0, u64::saturating_add);
            let sum = groups.entry(&thread.group).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(done_ns), sum.2 + ratio);
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

/// By lock: whether it is of a group, or the one of it with an id.
fn wanted(recorded: &ReplayInput, group: u32, id: Option<u32>) -> Vec<bool> {
    let is_wanted = |lock: &Lock| lock.group == Some(group) && id.is_none_or(|id| lock.id == id);
    recorded.locks.list.iter().map(is_wanted).collect()
}

/// Whether these locks can be changed in this way, and there are enough acquisitions.
fn check_change(recorded: &ReplayInput, locks: &[bool], change: Change) -> Result<(), Unable> {
    let of = |counts: &[u64]| -> u64 {
        counts.iter().zip(locks).filter(|it| *it.1).map(|it| *it.0).sum()
    };
    let (taken, virtually) = (of(&recorded.taken), of(&recorded.taken_virtually));
    if virtually > (taken + virtually) / MOST_VIRTUAL {
        return Err(Unable::Replay(
            "virtual threads took it, whose holds the log does not tell apart".to_owned(),
        ));
    }
    let looks: u64 = recorded.looks.iter().zip(locks).filter(|it| *it.1).map(|it| it.0.count).sum();
    if recorded.places.is_some() && looks < LEAST_LOOKS && change != Change::Free {
        let looks = units::counted(looks, "time");
        return Err(Unable::Replay(format!("its owner was looked at only {looks}")));
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
fn places(recorded: &ReplayInput, locks: &[bool]) -> BTreeSet<u32> {
    let steps = recorded.scripts.iter().flat_map(|script| &script.steps);
    let taken = steps
        .filter(|step| step.what == What::Acquire && locks.get(step.lock as usize) == Some(&true));
    taken.filter_map(|step| u32::try_from(step.amount).ok()).collect()
}
