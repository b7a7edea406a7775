//! What would be gained if hot locks were free, held for less time, or split.

use super::shared::{cut, mean};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::{LockGroups, LockRef},
    section::schema_of,
    view::{Column, Detail, Part, Row, Table, TableCell, View},
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_model::{profile::Profile, units};
use tyrion_whatif::{Change, Evidence, Method, Prediction, Question};

/// The section.
pub const SECTION: Section = Section {
    name: "whatif",
    title: "What if",
    means: "How much more the program would do in the same time if a hot lock were free, held for \
            half the time, or split in four: predicted, with the interval for a free lock.",
    advice: "Begin with the first one; where a free lock gains nothing, leave it alone.",
    about: About::Locks,
    in_brief: InBrief::Never,
    schema: schema_of::<WhatIf>,
    answer,
};

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WhatIf {
    /// The number of processors on which the program ran; `null` if the log does not say.
    pub processors: Option<u32>,
    /// The hot locks, those with the largest and surest gain first; eight at most. Locks for
    /// which only one thread waited, or only the JVM's own, or whose owner waits for work
    /// itself, are left out.
    pub locks: Vec<WhatIfLock>,
    /// How many more locks threads waited for.
    pub left_out: usize,
}

/// Locks of one class and name. Filters only select the locks; the figures cover everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WhatIfLock {
    /// The locks.
    pub lock: LockRef,
    /// How long threads waited for them in all.
    pub wait_ns: u64,
    /// How long on average.
    pub mean_wait_ns: u64,
    /// How many lock objects that are.
    pub lock_objects: u64,
    /// How it was predicted.
    pub method: Method,
    /// The predicted effects of changes.
    pub changes: Vec<Gain>,
    /// Why there is no prediction; empty if there is one.
    pub refused: String,
    /// How often per second the locks were taken; `null` if there was no replay.
    pub recorded_per_second: Option<f64>,
    /// The same in a replay of what was recorded, without a change.
    pub replayed_per_second: Option<f64>,
}

/// A change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Gain {
    /// `free`, `hold /2` or `stripes 4`.
    pub change: String,
    /// Throughput afterwards as a multiple of that before.
    pub throughput_ratio: f64,
    /// The lower end of the interval.
    pub low_ratio: f64,
    /// Its upper end.
    pub high_ratio: f64,
    /// The share by which the time for the same work changes: -0.5 for half the time.
    pub time_share: f64,
}

/// A prediction takes a second or so of a large log.
const MOST_LOCKS: usize = 8;
/// The changes, in the order of the columns.
const CHANGES: [Change; 3] =
    [Change::Free, Change::Hold { divisor: 2.0 }, Change::Stripes { count: 4 }];

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let (whatif, lacking) = whatif(findings, options);
    Answer {
        json: serde_json::to_value(&whatif).unwrap_or_default(),
        view: view(&whatif),
        lacking,
        advises: whatif.locks.iter().any(WhatIfLock::gains),
    }
}

/// Predictions for the hot locks, and what the logs lack for better ones.
fn whatif(findings: &Findings<'_>, options: &ReportOptions) -> (WhatIf, String) {
    let hot = hot(findings.profile(), &findings.groups);
    if hot.is_empty() {
        return (WhatIf::default(), String::new());
    }
    let group_of = |class: &str, name: &str| findings.groups.find(class, name);
    let evidence = match &findings.surveys {
        Some(surveys) => Evidence::of(findings.logs, surveys, &group_of),
        None => Evidence::read(findings.logs, &group_of),
    };
    let evidence = match evidence {
        Ok(evidence) => evidence,
        Err(why) => return (WhatIf { left_out: hot.len(), ..WhatIf::default() }, why),
    };
    let mut chosen = hot.clone();
    chosen.retain(|&(group, ..)| evidence.check_candidate(group).is_ok());
    chosen.truncate(MOST_LOCKS);
    let of_hot = |&(group, waits, wait_ns): &(u32, u64, u64)| {
        let lock = findings.groups.lock_ref(group);
        let mean_wait_ns = mean(wait_ns, waits);
        let known = WhatIfLock { lock, wait_ns, mean_wait_ns, ..WhatIfLock::default() };
        known.predicted(&evidence, group)
    };
    let mut locks: Vec<WhatIfLock> = chosen.par_iter().map(of_hot).collect();
    // Of equal gains the one with more wait stays in front.
    locks.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
    let is_coarse = |lock: &WhatIfLock| lock.method == Method::Queueing && lock.refused.is_empty();
    let lacking = match locks.iter().any(is_coarse) {
        true => LACKING.to_owned(),
        false => String::new(),
    };
    cut(&mut locks, options);
    let left_out = hot.len() - locks.len();
    (WhatIf { processors: evidence.processors(), locks, left_out }, lacking)
}

const LACKING: &str = "coarse estimates; --mode trace+sample --events all --precise --threshold 0 \
                       records what can be replayed";

/// Lock groups that threads waited for, most wait first: group, waits, and their
/// durations added up, in ns.
pub fn hot(profile: &Profile, groups: &LockGroups) -> Vec<(u32, u64, u64)> {
    let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for wait in profile.waits.iter().filter(|wait| wait.kind.is_contention()) {
        let sum = sums.entry(groups.of(wait.lock)).or_default();
        *sum = (sum.0.saturating_add(wait.count), sum.1.saturating_add(wait.wait_ns));
    }
    let mut hot: Vec<_> = sums.into_iter().map(|(group, (count, ns))| (group, count, ns)).collect();
    hot.sort_by_key(|&(group, _, wait_ns)| (Reverse(wait_ns), group));
    hot
}

impl WhatIfLock {
    fn predicted(mut self, evidence: &Evidence<'_>, group: u32) -> WhatIfLock {
        for change in CHANGES {
            let question = Question::about(group, change);
            match evidence.predict(&question) {
                Ok(prediction) => self.add(&prediction),
                Err(why) if change == Change::Free => {
                    self.refused = why;
                    break;
                }
                // Those that need more than is known of a lock that can be freed.
                Err(_) => {}
            }
        }
        self
    }

    fn add(&mut self, prediction: &Prediction) {
        if self.changes.is_empty() {
            self.method = prediction.method;
            self.lock_objects = prediction.lock_objects;
            self.recorded_per_second = prediction.recorded_per_second;
            self.replayed_per_second = prediction.replayed_per_second;
        }
        self.changes.push(Gain {
            change: prediction.change.clone(),
            throughput_ratio: prediction.throughput_ratio,
            low_ratio: prediction.low_ratio,
            high_ratio: prediction.high_ratio,
            time_share: prediction.time_share,
        });
    }

    /// That of the lock if it were free; 0 where nothing can be said.
    fn rank(&self) -> f64 {
        self.changes.first().map_or(0.0, |free| free.throughput_ratio * free.low_ratio)
    }

    /// Whether it is worth looking at.
    fn gains(&self) -> bool {
        self.changes.first().is_some_and(|free| free.throughput_ratio > 1.02)
    }
}

/// How predictions are made.
pub const BY: &str = "a replay of what was recorded; one in which holds are estimated from waits and from looks at \
                      owners (sampled); or queueing theory: coarse";

const COLUMNS: [Column; 8] = [
    Column::new("lock", "what the program calls the lock, and its class", 0),
    Column::new("wait", "how long threads waited in all", 1),
    Column::new("free", "by how much throughput changes if nobody waits for it any more", 0),
    Column::new("from", "the lower end of the interval for a free lock", 0),
    Column::new("to", "the upper end of the interval for a free lock", 0),
    Column::new("hold /2", "by how much if it is held for half the time", 2),
    Column::new("stripes 4", "by how much if four locks take its place, evenly", 3),
    Column::new("by", BY, 0),
];

fn view(whatif: &WhatIf) -> View {
    if whatif.locks.is_empty() {
        let nothing = match whatif.left_out {
            0 => "No thread waited for a lock.",
            _ => "Nothing is predicted.",
        };
        return View { parts: vec![Part::Text(nothing.to_owned())] };
    }
    let table = Table {
        title: String::new(),
        columns: COLUMNS.to_vec(),
        rows: whatif.locks.iter().map(row).collect(),
        left_out: whatif.left_out,
    };
    let processors = match whatif.processors {
        Some(count) => format!("on {}, as recorded", units::counted(count.into(), "processor")),
        None => "on as many processors as it takes, since the log does not say how many there were"
            .to_owned(),
    };
    let text = format!(
        "Throughput is how often the program takes the lock in the same time, {processors}; \
         `tyrion whatif` tells what else is assumed."
    );
    View { parts: vec![Part::Text(text), Part::Table(table)] }
}

fn row(lock: &WhatIfLock) -> Row {
    let gain = |change: Change| {
        let name = change.to_string();
        lock.changes.iter().find(|gain| gain.change == name)
    };
    let cell = |ratio: Option<f64>| {
        ratio.map_or(TableCell::Unknown, |ratio| TableCell::Change(ratio - 1.0))
    };
    let ratio = |change| cell(gain(change).map(|gain| gain.throughput_ratio));
    let [free, half, stripes] = CHANGES;
    let by = match lock.method {
        method if lock.refused.is_empty() => TableCell::Text(method.name().to_owned()),
        _ => TableCell::Unknown,
    };
    let detail = |title: &str, line: String| Detail { title: title.to_owned(), lines: vec![line] };
    let details = match lock.refused.as_str() {
        "" if lock.lock_objects > 1 => {
            vec![detail("lock objects", format!("{}, all changed", lock.lock_objects))]
        }
        "" => Vec::new(),
        why => vec![detail("why not", why.to_owned())],
    };
    let cells = vec![
        TableCell::Text(lock.lock.label()),
        TableCell::Ns(lock.wait_ns),
        ratio(free),
        cell(gain(free).map(|gain| gain.low_ratio)),
        cell(gain(free).map(|gain| gain.high_ratio)),
        ratio(half),
        ratio(stripes),
        by,
    ];
    Row { cells, details }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Crafted, found};
    use tyrion_model::filter::Filter;
    use tyrion_wire::WaitKind;

    const CACHE: (&str, &str) = ("com.acme.Cache", "Shop.cache");
    const LOG: (&str, &str) = ("com.acme.Log", "Shop.log");

    fn contended() -> Crafted {
        let mut log = Crafted::new(1_000_000_000);
        for thread in ["http-1", "http-2"] {
            let frames = ["com.acme.Shop.serve:10"];
            log.wait(thread, &frames, (WaitKind::Monitor, CACHE), 400_000_000, "");
            log.wait(thread, &frames, (WaitKind::Monitor, LOG), 100_000_000, "");
        }
        log
    }

    #[test]
    fn hot_locks_are_ranked_by_what_they_would_gain() {
        let logs = [contended().finish("shop.log")];
        let filter = Filter::default();
        let (whatif, lacking) = whatif(&found(&logs, &filter), &ReportOptions::default());
        let names: Vec<&str> = whatif.locks.iter().map(|lock| lock.lock.name.as_str()).collect();
        assert_eq!(names, ["Shop.cache", "Shop.log"]);
        assert!(lacking.contains("--events all"), "{lacking}");
        // Until the last wait ended, 0.8 s of 1.2 s of threads: 1 / (1 - 2 / 3).
        let free = &whatif.locks[0].changes[0];
        assert_eq!((free.change.as_str(), whatif.left_out), ("free", 0));
        assert!((free.throughput_ratio - 3.0).abs() < 0.01, "{free:?}");
        assert!(whatif.locks.iter().all(|lock| lock.changes.len() == 3), "{whatif:?}");
    }

    #[test]
    fn several_recordings_are_not_mixed() {
        let logs = [contended().finish("one.log"), contended().finish("two.log")];
        let filter = Filter::default();
        let findings = found(&logs, &filter);
        let answer = answer(&findings, &ReportOptions::default());
        assert!(answer.lacking.contains("several recordings") && !answer.advises);
        let nobody = [Crafted::new(1_000_000).finish("none.log")];
        let (nobody, lacking) = whatif(&found(&nobody, &filter), &ReportOptions::default());
        assert_eq!((nobody, lacking.as_str()), (WhatIf::default(), ""));
    }
}
