//! The overview for eyes.

use super::{Overview, PhaseRow};
use crate::{
    ReportOptions,
    cells::percent,
    findings::LogFacts,
    sections::shared::{count, cut, ns, share, share_of},
    view::{Column, Part, Row, Table, TableCell, View},
};
use tyrion_model::{harmless, units};

/// Without what is about locks where nothing is known of them.
pub(super) fn view(overview: &Overview, options: &ReportOptions, knows_locks: bool) -> View {
    let mut parts = vec![Part::Facts(facts(overview, knows_locks))];
    if overview.logs.len() > 1 {
        parts.push(Part::Table(logs(overview)));
    }
    if !knows_locks {
        return View { parts };
    }
    parts.push(Part::Table(kinds(overview)));
    if overview.contended != 0 && overview.phases.len() > 1 {
        parts.push(Part::Table(phases(overview, options)));
    }
    View { parts }
}

/// What is said of what the formats of the logs do not tell.
const NOT_KNOWN: &str = "not known";

/// Whether threads waited, and none is known to have lived.
fn is_untimed(overview: &Overview) -> bool {
    overview.threads.lived_ns == 0 && overview.contended != 0
}

fn facts(overview: &Overview, knows_locks: bool) -> Vec<(String, TableCell)> {
    let mut facts: Vec<(&str, TableCell)> = Vec::new();
    if let [log] = &overview.logs[..] {
        facts.push(("program", program(log)));
        facts.push(("JVM", TableCell::name(&log.jvm)));
        facts.push(("mode", TableCell::Text(mode(log))));
        if knows_locks {
            facts.push(("threshold", threshold(log)));
        }
    }
    facts.push(("start", TableCell::Text(units::start(overview.start_wall_ns))));
    let recorded_ns = overview.recorded_ns;
    if overview.logs.len() == 1 && recorded_ns < overview.duration_ns {
        let of = units::duration(overview.duration_ns);
        let text = format!("{of}, of which {} were recorded", units::duration(recorded_ns));
        facts.push(("duration", TableCell::Text(text)));
    } else {
        let is_summed = overview.logs.iter().all(|log| log.is_summed);
        let duration = match (overview.start_wall_ns, overview.duration_ns) {
            (start, 0) if start == 0 || is_summed => TableCell::Text(NOT_KNOWN.to_owned()),
            (_, ns) => TableCell::Ns(ns),
        };
        facts.push(("duration", duration));
    }
    let threads = &overview.threads;
    let count = format!(
        "{} ({} virtual), {} together",
        units::thousands(threads.count),
        units::thousands(threads.is_virtual),
        units::duration(threads.lived_ns),
    );
    let count = if is_untimed(overview) { NOT_KNOWN.to_owned() } else { count };
    facts.push(("threads", TableCell::Text(count)));
    if knows_locks {
        facts.extend(contention(overview));
    }
    if let Some(collections) = &overview.collections {
        let waits = match overview.in_collections_ns {
            Some(ns) if ns != 0 => {
                let share = 100.0 * share(ns, overview.wait_ns);
                format!("; {} of the lock waits, {share:.1} %, fell into them", units::duration(ns))
            }
            _ => String::new(),
        };
        let text = format!("{}{waits}", collections.text());
        facts.push(("garbage collections", TableCell::Text(text)));
    }
    facts.push(("recording cost", TableCell::Text(cost(overview))));
    facts.into_iter().map(|(name, cell)| (name.to_owned(), cell)).collect()
}

fn program(log: &LogFacts) -> TableCell {
    match (log.program.as_str(), log.pid) {
        ("", None) => TableCell::Text(NOT_KNOWN.to_owned()),
        (program, None) => TableCell::name(program),
        (program, Some(pid)) => TableCell::name(&format!("{program} (pid {pid})")),
    }
}

fn threshold(log: &LogFacts) -> TableCell {
    match log.threshold_ns {
        _ if log.is_summed => TableCell::Text("none: there are only sums of waits".to_owned()),
        None => TableCell::Text(NOT_KNOWN.to_owned()),
        Some(ns) => TableCell::Ns(ns),
    }
}

fn contention(overview: &Overview) -> Vec<(&'static str, TableCell)> {
    if overview.lacks_waits {
        return vec![("contention", TableCell::Text(NOT_KNOWN.to_owned()))];
    }
    let contended = units::counted(overview.contended, "contended acquisition");
    let mut contention = match overview.lacks_durations {
        true => format!("{contended}; how long they waited is not known"),
        false => format!("{contended} waited {}", units::duration(overview.wait_ns)),
    };
    if overview.pending != 0 {
        contention += &format!(
            "; {} had not ended, after {}",
            units::thousands(overview.pending),
            units::duration(overview.pending_ns),
        );
    }
    let lost = match is_untimed(overview) {
        true => TableCell::Text(NOT_KNOWN.to_owned()),
        false => TableCell::Share(overview.lost_share),
    };
    let mut facts = vec![("contention", TableCell::Text(contention)), ("lost to lock waits", lost)];
    if overview.withheld.waits != 0 {
        facts.push(("lost to other waits", TableCell::Text(withheld(overview))));
    }
    facts.push(("critical section pressure", share_of(overview.pressure_share)));
    facts.push(("dropped waits", TableCell::Count(overview.dropped)));
    facts
}

fn withheld(overview: &Overview) -> String {
    let withheld = &overview.withheld;
    let share = percent(overview.withheld_share);
    let waits = units::counted(withheld.waits, "wait");
    let wait = units::duration(withheld.wait_ns);
    let most_in = harmless::name(&withheld.most_in);
    format!("{share}: {waits}, not for locks, took {wait}, most in {most_in}")
}

fn mode(log: &LogFacts) -> String {
    if log.is_summed {
        return "sums of waits".to_owned();
    }
    let mode = match &log.mode_spans[..] {
        [] | [_] => log.mode.clone(),
        [first, later @ ..] => later.iter().fold(first.mode.clone(), |text, part| {
            format!("{text}, {} from {} on", part.mode, units::duration(part.start_ns))
        }),
    };
    let mode = match log.hold.as_str() {
        "" => mode,
        hold => format!("{mode}, holds measured: {hold}"),
    };
    match log.parks.as_str() {
        "natives" => format!(
            "{mode}; no probes in java.util.concurrent, so waits for a lock after a signal count \
             as condition"
        ),
        _ => mode,
    }
}

fn cost(overview: &Overview) -> String {
    let cost = &overview.cost;
    if let Some(own) = &cost.own_cpu {
        return own.text();
    }
    // Agents that did not know better.
    let mut known = Vec::new();
    if let Some(ns) = cost.waits_ns {
        known.push(format!("about {} for waits", units::duration(ns)));
    }
    known.extend(cost.own_ns.iter().map(|(what, ns)| format!("{what} {}", units::duration(*ns))));
    if known.is_empty() {
        return "not measured".to_owned();
    }
    let known = known.join(", ");
    match cost.share {
        Some(share) => format!("{known}: {:.2} % of all threads' time", 100.0 * share),
        None => known,
    }
}

fn logs(overview: &Overview) -> Table {
    let row = |log: &LogFacts| Row {
        cells: vec![
            TableCell::name(&log.log),
            TableCell::name(&log.program),
            count(log.pid.map(u64::from)),
            TableCell::Text(mode(log)),
            TableCell::Text(units::start(log.start_wall_ns.unwrap_or(0))),
            ns(log.duration_ns),
            ns(log.threshold_ns),
        ],
        details: Vec::new(),
    };
    Table {
        title: "Logs".to_owned(),
        columns: vec![
            Column::new("log", "the file", 0),
            Column::new("program", "main class or jar", 1),
            Column::new("pid", "the process", 2),
            Column::new("mode", "how it was recorded", 3),
            Column::new("start", "when it begins", 4),
            Column::new("duration", "from its first moment to its last", 0),
            Column::new("threshold", "shorter waits are no records of their own", 5),
        ],
        rows: overview.logs.iter().map(row).collect(),
        left_out: 0,
    }
}

fn kinds(overview: &Overview) -> Table {
    let rows = overview.kinds.iter().filter(|kind| kind.count != 0).map(|kind| Row {
        cells: vec![
            TableCell::Text(kind.kind.to_owned()),
            TableCell::Count(kind.count),
            TableCell::Count(kind.folded),
            if overview.lacks_durations { TableCell::Unknown } else { TableCell::Ns(kind.wait_ns) },
        ],
        details: Vec::new(),
    });
    Table {
        title: "Waits by kind".to_owned(),
        columns: vec![
            Column::new("kind", "how threads waited", 0),
            Column::new("waits", "how often", 0),
            Column::new("folded", "waits below the threshold, of which only sums are known", 1),
            Column::new("wait", "how long in all", 0),
        ],
        rows: rows.collect(),
        left_out: 0,
    }
}

/// The phases with the highest pressure.
fn phases(overview: &Overview, options: &ReportOptions) -> Table {
    let known = |row: &&PhaseRow| row.contended_ns != 0;
    let mut phases: Vec<&PhaseRow> = overview.phases.iter().filter(known).collect();
    phases.sort_by(|a, b| {
        let pressure = |row: &PhaseRow| row.pressure_share.unwrap_or(0.0);
        pressure(b).total_cmp(&pressure(a)).then(a.start_ns.cmp(&b.start_ns))
    });
    let left_out = cut(&mut phases, options);
    let row = |phase: &&PhaseRow| Row {
        cells: vec![
            TableCell::After(phase.start_ns),
            share_of(phase.pressure_share),
            TableCell::Ns(phase.contended_ns),
            TableCell::Ns(phase.thread_ns),
            TableCell::Ns(phase.idle_ns),
        ],
        details: Vec::new(),
    };
    let length = units::duration(overview.phase_ns);
    Table {
        title: format!("Critical section pressure by phase of {length}, highest first"),
        columns: vec![
            Column::new("after", "from the start to the phase", 0),
            Column::new(
                "pressure",
                "lock waits as a share of the time that threads were not idle",
                0,
            ),
            Column::new("lock waits", "how long threads waited for locks", 0),
            Column::new("threads", "how long threads lived in it", 1),
            Column::new("idle", "how long they waited for something to happen", 2),
        ],
        rows: phases.iter().map(row).collect(),
        left_out,
    }
}
