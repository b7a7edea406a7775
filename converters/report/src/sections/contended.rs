//! Locks that threads waited for.

mod rows;

use super::shared::{HotStack, count, cut, mean, nobody_waited, ns, share, share_of, within};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::{Delay, LockRef},
    section::schema_of,
    view::{Column, Detail, Part, Row, Table, TableCell, View},
};
use rows::Sides;
use schemars::JsonSchema;
use serde::Serialize;
use tyrion_model::{packages, units};
use tyrion_wire::WaitKind;

/// Less of a wait in pauses of the garbage collector is not worth a line.
const COLLECTED_SHARE: f64 = 0.1;

/// The section.
pub const SECTION: Section = Section {
    name: "contended",
    title: "Contended locks",
    means: "Locks that threads waited for, most wait first.",
    advice: "Where holds are long, do less under the lock; where they are short and many, take it \
             less often, or split it. Where waits are much longer than holds, the owner was not \
             running: neither would help.",
    about: About::Locks,
    in_brief: InBrief::InDetail,
    schema: schema_of::<Contended>,
    answer,
};

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Contended {
    /// All locks together.
    pub totals: ContendedTotals,
    /// By lock and kind of wait, most wait first. (In text and HTML, the sides of a lock for
    /// readers and writers are one row.)
    pub locks: Vec<ContendedLock>,
    /// How many more there are.
    pub left_out: usize,
    /// The same for eyes: the sides of a lock for readers and writers are one row.
    #[serde(skip)]
    shown: Vec<ContendedLock>,
    /// How many more of those there are.
    #[serde(skip)]
    shown_left_out: usize,
}

/// All locks together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ContendedTotals {
    /// How many different locks threads waited for, by class, name and kind.
    pub locks: u64,
    /// How often a thread waited.
    pub contended: u64,
    /// How often locks were taken, contended or not. `null` when it was not counted.
    pub acquisitions: Option<u64>,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: Option<u64>,
    /// How long threads waited in all.
    pub wait_ns: u64,
    /// Half of the waits were not longer; off by 3 % at most, like all percentiles, by more if
    /// waits were folded.
    pub p50_wait_ns: Option<u64>,
    /// 99 % of the waits were not longer; the longest if there are fewer than 100.
    pub p99_wait_ns: Option<u64>,
    /// The longest wait.
    pub max_wait_ns: u64,
}

/// Locks of one class and name, waited for in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ContendedLock {
    /// The lock.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// How often they were taken, without reentrant acquisitions. `null` when it was not
    /// counted, as when code without probes takes them.
    pub acquisitions: Option<u64>,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: Option<u64>,
    /// How often a thread waited.
    pub contended: u64,
    /// `contended` as a share of `acquisitions`.
    pub miss_share: Option<f64>,
    /// How long threads waited in all.
    pub wait_ns: u64,
    /// How long on average.
    pub mean_wait_ns: u64,
    /// Half of the waits were not longer.
    pub p50_wait_ns: Option<u64>,
    /// 99 % of the waits were not longer; the longest if there are fewer than 100.
    pub p99_wait_ns: Option<u64>,
    /// The longest wait.
    pub max_wait_ns: u64,
    /// How long they were held in all, measured or estimated. `null` when it
    /// was not measured.
    pub hold_ns: Option<u64>,
    /// How far that may be off, for 95 % of such estimates; 0 where all holds were measured and
    /// counted. Where acquisitions were counted in bursts, it includes the probes' time in each
    /// of those that were estimated, but it is no more than `hold_ns`.
    pub hold_error_ns: Option<u64>,
    /// How long on average.
    pub mean_hold_ns: Option<u64>,
    /// The longest hold that was measured.
    pub max_hold_ns: Option<u64>,
    /// `hold_ns` as a share of the recording's duration: above 1 where several
    /// were held at the same time.
    pub utilisation_share: Option<f64>,
    /// How much of `wait_ns` lies in pauses of the garbage collector; text shows it if it is a
    /// tenth or more. Waits below the threshold are not counted. `null` if no log has these
    /// pauses.
    pub in_collections_ns: Option<u64>,
    /// How many threads waited.
    pub waiting_threads: u64,
    /// How many threads took them. `null` when it is not known.
    pub holding_threads: Option<u64>,
    /// Where threads waited longest, or most often if it is not known how long; stacks are cut
    /// down to `packages` first.
    pub hottest_waiter: Option<HotStack>,
    /// Where the threads to which most wait is charged released the lock, or otherwise where
    /// they took it: stacks are taken only at some releases. `null` if waits were not charged.
    pub hottest_holder: Option<HotStack>,
    /// The locks one by one, most wait first.
    pub instances: Vec<ContendedInstance>,
    /// The waits of readers and of writers, where this is both of them.
    #[serde(skip)]
    sides: Vec<(WaitKind, Delay)>,
}

/// A single lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ContendedInstance {
    /// Its identity within its log.
    pub id: u32,
    /// Its log.
    pub log: String,
    /// How often a thread waited.
    pub contended: u64,
    /// How long threads waited in all.
    pub wait_ns: u64,
    /// The longest wait.
    pub max_wait_ns: u64,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let contended = Contended::of(findings, options);
    let json = serde_json::to_value(&contended).unwrap_or_default();
    let advises = contended.totals.contended != 0;
    Answer { json, view: view(&contended, findings), lacking: lacking(findings), advises }
}

impl Contended {
    /// From what was found.
    pub fn of(findings: &Findings<'_>, options: &ReportOptions) -> Contended {
        let mut rows = rows::all(findings, Sides::Apart);
        let distribution = findings.distributions.all();
        let mut totals = ContendedTotals {
            locks: rows.len() as u64,
            acquisitions: rows::sum(findings, |row| row.acquisitions),
            acquisitions_error: rows::sum(findings, |row| row.acquisitions_error),
            ..ContendedTotals::default()
        };
        for (_, sums) in &rows {
            totals.contended = totals.contended.saturating_add(sums.contended);
            totals.wait_ns = totals.wait_ns.saturating_add(sums.wait_ns);
            totals.max_wait_ns = totals.max_wait_ns.max(sums.max_wait_ns);
        }
        let quantile = |q| distribution.quantile_up_to(q, totals.max_wait_ns);
        (totals.p50_wait_ns, totals.p99_wait_ns) = (quantile(0.5), quantile(0.99));
        let left_out = cut(&mut rows, options);
        let mut shown = rows::all(findings, Sides::Together);
        let shown_left_out = cut(&mut shown, options);
        let kept = packages::kept(findings.profile(), &options.packages);
        let lock = |(key, sums)| rows::lock(findings, options, &kept, key, sums);
        Contended {
            totals,
            locks: rows.into_iter().map(lock).collect(),
            left_out,
            shown: shown.into_iter().map(lock).collect(),
            shown_left_out,
        }
    }
}

fn lacking(findings: &Findings<'_>) -> String {
    let profile = findings.profile();
    if findings.is_aimed() {
        "acquisitions and holds are those of locks that were traced for a while; --mode trace has \
         all, and who held what others waited for"
            .to_owned()
    } else if !findings.is_trace() {
        "--mode trace adds acquisitions, holds, and who held what others waited for".to_owned()
    } else if !profile.has_acquisitions {
        "acquisitions have no times: without --since, --until and --min-wait they are here, too"
            .to_owned()
    } else if findings.aggregate.notes.hold_unmeasured {
        "hold times were not measured: record without --hold none".to_owned()
    } else {
        String::new()
    }
}

const COLUMNS: [Column; 16] = [
    Column::new(
        "lock",
        "what the program calls the lock, its class, and its identity if it is one",
        0,
    ),
    Column::new("kind", "how threads waited", 3),
    Column::new("taken", "acquisitions, without reentrant ones", 2),
    TAKEN_ERROR,
    Column::new("contended", "how often a thread waited", 0),
    Column::new("miss", "contended acquisitions as a share of all", 1),
    Column::new("wait", "how long threads waited in all", 0),
    Column::new("mean", "the average wait", 4),
    Column::new("p50", "half of the waits were not longer", 8),
    Column::new("p99", "99 % of the waits were not longer", 0),
    Column::new("max", "the longest wait", 5),
    Column::new("hold", "the average hold", 2),
    Column::new("max hold", "the longest measured hold", 9),
    Column::new("in use", "hold time as a share of the recording's duration", 6),
    Column::new("waiters", "how many threads waited", 7),
    Column::new("holders", "how many threads took it", 10),
];

/// Left out where nothing was counted in bursts.
const TAKEN_ERROR: Column = Column::new(
    "taken ±",
    "how far that may be off where acquisitions were counted in bursts, for 95 % of such \
     estimates: two standard errors",
    2,
);

fn view(contended: &Contended, findings: &Findings<'_>) -> View {
    let totals = &contended.totals;
    if totals.contended == 0 {
        return View { parts: vec![Part::Text(nobody_waited(findings))] };
    }
    let waited = format!(
        "Threads waited {} for {}",
        units::counted(totals.contended, "time"),
        units::counted((contended.shown.len() + contended.shown_left_out) as u64, "lock"),
    );
    let has_durations = !findings.lacks_durations();
    let sum = match has_durations {
        true => format!(
            "{waited}, {} in all; half of the waits took at most {}, 99 % at most {}.",
            units::duration(totals.wait_ns),
            units::duration(totals.p50_wait_ns.unwrap_or(0)),
            units::duration(totals.p99_wait_ns.unwrap_or(0)),
        ),
        false => format!("{waited}; how long is not known."),
    };
    // Columns that nothing is known for are left out.
    let (taken, held) = (findings.profile().has_acquisitions, findings.profile().has_blame);
    let has_threads = findings.logs.iter().any(|log| !log.facts().lacks.threads);
    let known = |column: &Column| match column.name {
        "waiters" => has_threads,
        "wait" | "mean" | "p50" | "p99" | "max" => has_durations,
        "taken" | "taken ±" | "miss" | "hold" | "max hold" | "in use" => taken,
        "holders" => taken || held,
        _ => true,
    };
    let keep: Vec<bool> = COLUMNS.iter().map(known).collect();
    let rows = contended.shown.iter().map(|lock| {
        let mut row = row(lock, has_durations);
        let mut keep = keep.iter();
        row.cells.retain(|_| keep.next() == Some(&true));
        row
    });
    let table = Table {
        title: String::new(),
        columns: COLUMNS.iter().filter(|column| known(column)).cloned().collect(),
        rows: rows.collect(),
        left_out: contended.shown_left_out,
    }
    .without_unknown(&[TAKEN_ERROR.name]);
    View { parts: vec![Part::Text(sum), Part::Table(table)] }
}

fn row(lock: &ContendedLock, has_durations: bool) -> Row {
    let cells = vec![
        TableCell::Text(lock.lock.label()),
        TableCell::Text(lock.kind.to_owned()),
        count(lock.acquisitions),
        within(lock.acquisitions_error.unwrap_or(0)),
        TableCell::Count(lock.contended),
        share_of(lock.miss_share),
        TableCell::Ns(lock.wait_ns),
        TableCell::Ns(lock.mean_wait_ns),
        ns(lock.p50_wait_ns),
        ns(lock.p99_wait_ns),
        TableCell::Ns(lock.max_wait_ns),
        ns(lock.mean_hold_ns),
        ns(lock.max_hold_ns),
        share_of(lock.utilisation_share),
        TableCell::Count(lock.waiting_threads),
        count(lock.holding_threads),
    ];
    let all = if has_durations { "the wait" } else { "the waits" };
    let waiter = lock.hottest_waiter.iter().map(|hot| hot.detail("hottest waiter", all));
    let charged = "the wait that is charged";
    let holder = lock.hottest_holder.iter().map(|hot| hot.detail("hottest holder", charged));
    let line = |title| Detail { title, lines: Vec::new() };
    let sides = sides(lock).map(line);
    let stacks = waiter.chain(holder).filter(tells);
    let details = sides.into_iter().chain(stacks).chain(collected(lock).map(line));
    Row { cells, details: details.collect() }
}

/// Whether a stack says anything.
fn tells(stack: &Detail) -> bool {
    stack.lines.iter().any(|frame| frame != tyrion_formats::SOMEWHERE)
}

/// How the waits are shared by readers and writers, where the row is of both.
fn sides(lock: &ContendedLock) -> Option<String> {
    let side = |(kind, waits): &(WaitKind, Delay)| {
        let who = if kind.is_shared() { "readers" } else { "writers" };
        let (wait, count) = (units::duration(waits.wait_ns), units::counted(waits.count, "wait"));
        format!("{who} waited {wait} in {count}")
    };
    let sides: Vec<String> = lock.sides.iter().map(side).collect();
    (!sides.is_empty()).then(|| sides.join(", "))
}

/// What to say of the garbage collector: it has a part in the wait that matters.
fn collected(lock: &ContendedLock) -> Option<String> {
    let share = share(lock.in_collections_ns?, lock.wait_ns);
    (share >= COLLECTED_SHARE).then(|| {
        format!("{:.0} % of the wait fell into pauses of the garbage collector", 100.0 * share)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Crafted, found};
    use tyrion_model::filter::Filter;

    const RW: (&str, &str) = ("java.util.concurrent.locks.ReentrantReadWriteLock", "Shop.rw");
    const LOG: (&str, &str) = ("com.acme.Log", "Shop.log");

    #[test]
    fn both_sides_of_a_lock_are_one_row_for_eyes() {
        let mut log = Crafted::new(10_000_000_000);
        let frames = ["com.acme.Shop.serve:10"];
        for (kind, lock, wait_ns) in [
            (WaitKind::LockRead, RW, 400_000_000),
            (WaitKind::LockWrite, RW, 300_000_000),
            (WaitKind::LockWrite, RW, 100_000_000),
            (WaitKind::Monitor, LOG, 500_000_000),
        ] {
            log.wait("http-1", &frames, (kind, lock), wait_ns, "");
        }
        let logs = [log.finish("shop.log")];
        let filter = Filter::default();
        let findings = found(&logs, &filter);
        let contended = Contended::of(&findings, &ReportOptions::default());
        let rows = |locks: &[ContendedLock]| -> Vec<(String, &str, u64)> {
            locks.iter().map(|it| (it.lock.name.clone(), it.kind, it.wait_ns)).collect()
        };
        let (rw, of_log) = ("Shop.rw".to_owned(), "Shop.log".to_owned());
        let apart = [
            (of_log.clone(), "monitor", 500_000_000),
            (rw.clone(), "lock-read", 400_000_000),
            (rw.clone(), "lock-write", 400_000_000),
        ];
        assert_eq!(rows(&contended.locks), apart);
        let together = [(rw, rows::BOTH, 800_000_000), (of_log, "monitor", 500_000_000)];
        assert_eq!(rows(&contended.shown), together);
        let both = &contended.shown[0];
        assert_eq!((both.contended, both.max_wait_ns, both.waiting_threads), (3, 400_000_000, 1));
        assert_eq!(both.p99_wait_ns, Some(400_000_000));
        let said = "readers waited 400 ms in 1 wait, writers waited 400 ms in 2 waits";
        assert_eq!(row(both, true).details[0].title, said);
        assert_eq!((sides(&contended.shown[1]), contended.totals.locks), (None, 3));
    }

    #[test]
    fn stacks_are_cut_down_to_packages_before_they_are_compared() {
        let mut log = Crafted::new(10_000_000_000);
        let (outer, own) = ("com.acme.Main.run:5", "com.acme.Shop.serve:10");
        for (frames, wait_ns) in [
            (vec![outer, "org.pool.Other.take:1"], 500_000_000),
            (vec![outer, own, "org.pool.Pool.take:3", "org.pool.Deque.poll:7"], 300_000_000),
            (vec![outer, own, "org.pool.Pool.take:3", "org.pool.Deque.peek:9"], 400_000_000),
        ] {
            log.wait("http-1", &frames, (WaitKind::Monitor, LOG), wait_ns, "");
        }
        let logs = [log.finish("shop.log")];
        let filter = Filter::default();
        let findings = found(&logs, &filter);
        let hottest = |packages: &[&str]| {
            let packages = packages.iter().map(|name| (*name).to_owned()).collect();
            let options = ReportOptions { packages, ..ReportOptions::default() };
            let hot = Contended::of(&findings, &options).locks.remove(0).hottest_waiter.unwrap();
            (hot.wait_ns, hot.stack)
        };
        let (wait_ns, stack) = hottest(&[]);
        assert_eq!((wait_ns, stack[0].starts_with("org.pool.Other.take")), (500_000_000, true));
        let (wait_ns, stack) = hottest(&["com.acme"]);
        assert_eq!((wait_ns, stack.len()), (700_000_000, 3), "{stack:?}");
        assert!(stack[0].starts_with("org.pool.Pool.take"), "{stack:?}");
        assert!(stack[1].starts_with("com.acme.Shop.serve"), "{stack:?}");
    }
}
