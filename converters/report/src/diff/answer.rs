//! What changed, in types: the schema of `tyrion diff --json`.

use super::{Measure, Per, is_endless, rates::Denominators};
use crate::{Findings, conditions::Figures, findings::LockRef, sections::sampled::NO_LOCKS};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use tyrion_formats::Recording;

/// The number of the schema of [`Document`]; it grows when a field goes or
/// changes its meaning.
pub const SCHEMA: u32 = 1;

/// What `tyrion diff --json` prints. `docs/diff.md` tells what every field means.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Document<'d> {
    /// The version that compared.
    pub tyrion: &'static str,
    /// The version of what this document describes: 1.
    pub schema: u32,
    /// What changed.
    #[serde(flatten)]
    pub diff: &'d Diff,
}

/// What changed from some recordings to others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Diff {
    /// What fields with `rate` in their names are per.
    pub per: Per,
    /// What is compared.
    pub measure: Measure,
    /// The recordings before.
    pub before: Side,
    /// The recordings after.
    pub after: Side,
    /// All locks together.
    pub total: Change<Amount>,
    /// All waits together that are for no lock and keep threads from work, before or after, as
    /// `withheld` of a report counts them. `rate` is per second or acquisition, as in `total`.
    pub withheld: Change<Amount>,
    /// How many locks threads waited for after, but not before.
    pub appeared: u64,
    /// How many locks threads waited for before, but not after.
    pub vanished: u64,
    /// The lock whose wait decreased most. `null` if none did.
    pub most_improved: Option<LockChange>,
    /// The lock whose wait increased most. `null` if none did.
    pub most_worsened: Option<LockChange>,
    /// By place, those of `withheld`, the greatest change first.
    pub places: Vec<PlaceChange>,
    /// How many more there are.
    pub places_left_out: usize,
    /// By lock and kind of wait, the greatest change first, whatever its sign; those whose
    /// change is not known come last.
    pub locks: Vec<LockChange>,
    /// How many more there are.
    pub locks_left_out: usize,
    /// By stack, lock and kind of wait, in the same order.
    pub stacks: Vec<StackChange>,
    /// How many more there are.
    pub stacks_left_out: usize,
}

/// One side of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// The logs, as the user named them.
    pub logs: Vec<String>,
    /// The recorded time, all logs added up, within `--since` and `--until`. `null` if it is
    /// not known.
    pub recorded_ns: Option<u64>,
    /// How often locks were taken. `null` if that was not counted.
    pub acquisitions: Option<u64>,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: Option<u64>,
    /// The number by which waits are divided in `total`: seconds, or acquisitions.
    pub divisor: f64,
    /// What the logs lack for an answer, and how to record it; empty when nothing is missing.
    /// Otherwise the numbers mean nothing.
    pub lacking: &'static str,
    /// What a reader should know about how the figures came about.
    pub notes: Vec<String>,
    /// What was damaged in the logs. If there is any, the exit status is 3, or 4 if a condition
    /// of `--fail-if` holds.
    pub damage: Vec<String>,
}

/// How something changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Change<T> {
    /// Whether it is there on both sides.
    pub state: Presence,
    /// The amounts before. `null` if there were none.
    pub before: Option<T>,
    /// The amounts after. `null` if there are none.
    pub after: Option<T>,
    /// By how many ns the wait per second, or acquisition, changed: whole ns from 1 µs on, and
    /// below that with a fraction. `null` if the acquisitions of the lock are not known, or if
    /// `contentions` are compared.
    #[serde(serialize_with = "rounded")]
    #[schemars(with = "Option<f64>")]
    pub change_rate_ns: Option<f64>,
    /// By how much the number of waits per second, or acquisition, changed. `null` if the
    /// acquisitions of the lock are not known.
    pub change_rate_waits: Option<f64>,
    /// The change of what is compared as a share of the value before: -1 if it is gone. `null`
    /// if there was none.
    pub change_share: Option<f64>,
}

/// Whether something is there on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It is.
    #[default]
    Both,
    /// After only.
    Appeared,
    /// Before only.
    Vanished,
}

/// Waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Amount {
    /// How many waits.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
    /// The longest of them.
    pub max_wait_ns: u64,
    /// How many per second, or acquisition. `null` if the acquisitions of the lock are not
    /// known.
    pub rate_waits: Option<f64>,
    /// How long per second, or acquisition; with a fraction below 1 µs. `null` also if
    /// `contentions` are compared, and so are percentiles.
    #[serde(serialize_with = "rounded")]
    #[schemars(with = "Option<f64>")]
    pub rate_ns: Option<f64>,
}

/// What is known of a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LockAmount {
    /// Its waits.
    #[serde(flatten)]
    pub amount: Amount,
    /// Half of the waits were not longer; percentiles are off by 3 % at most, by more if waits
    /// were folded.
    pub p50_wait_ns: Option<u64>,
    /// 99 % of the waits were not longer.
    pub p99_wait_ns: Option<u64>,
    /// How often it was taken; trace mode.
    pub acquisitions: Option<u64>,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: Option<u64>,
    /// How long it was held on average; trace mode. With `count=adaptive`, short holds seem
    /// longer by up to what the probes take.
    pub mean_hold_ns: Option<u64>,
}

/// How the waits for the locks of a class and name changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LockChange {
    /// The lock. Its `id` is always 0: identities mean nothing in another recording.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// Its change.
    #[serde(flatten)]
    pub change: Change<LockAmount>,
}

/// How the waits at a place that are for no lock changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PlaceChange {
    /// The method that waits: the innermost one of the program.
    pub place: String,
    /// Its change.
    #[serde(flatten)]
    pub change: Change<Amount>,
}

/// How the waits in a stack changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StackChange {
    /// The innermost frame of the program.
    pub place: String,
    /// The lock.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// Its change.
    #[serde(flatten)]
    pub change: Change<Amount>,
    /// The stack from that frame outwards, with the line numbers of the logs after where the
    /// stack is in them; of several that are alike, the one with the most wait.
    pub stack: Vec<String>,
}

/// A duration that was divided: in whole ns, below 1 µs to a thousandth.
fn rounded<S: Serializer>(ns: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match ns {
        Some(ns) if ns.abs() < 1e3 && ns.fract() != 0.0 => {
            to.serialize_some(&((ns * 1e3).round() / 1e3))
        }
        Some(ns) => to.serialize_some(&(ns.round() as i64)),
        None => to.serialize_none(),
    }
}

impl<T> Change<T> {
    /// By how much what is compared changed for each second, or acquisition: by how
    /// many ns, or waits.
    pub fn by(&self) -> f64 {
        self.known_by().unwrap_or(0.0)
    }

    /// The same; `None` if it is not known.
    pub(super) fn known_by(&self) -> Option<f64> {
        self.change_rate_ns.or(self.change_rate_waits)
    }
}

impl Diff {
    /// Whether waits for no lock are more than those for locks, before or after.
    pub fn is_about_other_waits(&self) -> bool {
        let most = |change: &Change<Amount>| {
            let sides = [&change.before, &change.after].into_iter().flatten();
            sides.filter_map(|it| it.rate_ns.or(it.rate_waits)).fold(0.0, f64::max)
        };
        most(&self.withheld) > most(&self.total)
    }
}

impl Side {
    pub(super) fn of(findings: &Findings<'_>, figures: &Figures, rate: &Denominators) -> Side {
        let mut notes = findings.aggregate.notes.clone();
        notes.forget_samples();
        Side {
            logs: findings.logs.iter().map(|log| Recording::name(log).to_owned()).collect(),
            recorded_ns: (!findings.logs.iter().any(is_endless)).then_some(figures.recorded_ns),
            acquisitions: figures.acquisitions,
            acquisitions_error: figures.acquisitions_error,
            divisor: rate.total(),
            lacking: if findings.profile().lacks_waits { NO_LOCKS } else { "" },
            notes: notes.lines(),
            damage: findings.aggregate.damage.iter().map(ToString::to_string).collect(),
        }
    }
}
