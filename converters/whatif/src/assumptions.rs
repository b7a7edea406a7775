//! What has to be assumed because logs do not say it, as sentences.

use crate::{
    coarse::Coarse,
    question::Question,
    replay::{Estimate, ReplayInput},
    totals::RecordingTotals,
};
use tyrion_formats::Recording;
use tyrion_model::units;

/// What a replay is made from.
#[derive(Clone, Copy)]
pub(crate) struct Basis<'a> {
    pub(crate) logs: &'a [Recording],
    pub(crate) recorded: &'a ReplayInput,
    /// How long the recording was on and the program worked, in ns.
    pub(crate) whole_ns: u64,
    pub(crate) estimate: &'a Estimate,
}

/// If less than this part of a recording is replayed, that is mentioned.
const NEARLY_ALL: f64 = 0.9;

/// What a replay assumes.
pub(crate) fn of_replay(basis: &Basis<'_>, question: &Question) -> Vec<String> {
    let recorded = basis.recorded;
    let mut all = vec![processors(recorded.processors, recorded.cpu_ns, question)];
    all.push(rest(recorded));
    let (part_ns, whole_ns) = (recorded.time.end - recorded.time.start, basis.whole_ns);
    if (part_ns as f64) < whole_ns as f64 * NEARLY_ALL {
        all.push(format!(
            "{} of the {} that were recorded are replayed; the rest is assumed to be similar.",
            units::duration(part_ns),
            units::duration(whole_ns)
        ));
    }
    let threshold_ns = basis.logs.iter().map(|log| log.facts().threshold_ns).max().unwrap_or(0);
    let is_precise = basis.logs.iter().all(|log| log.option("precise").as_deref() == Some("true"));
    if threshold_ns != 0 || !is_precise {
        all.push(
            "Short waits, and those in which the JVM spins, are known as sums at best: --precise \
             --threshold 0 records each."
                .to_owned(),
        );
    }
    if basis.estimate.forced != 0 {
        all.push(format!(
            "In the replay threads continued without a lock {}, since they would have blocked \
             each other for ever.",
            units::counted(basis.estimate.forced, "time")
        ));
    }
    all.extend(load(recorded.others));
    all.extend(in_bursts(basis.logs));
    all.push(
        "Threads repeat what they did, step by step, and resources that they share besides \
         locks (memory, caches, disks) are as fast for many threads as for few."
            .to_owned(),
    );
    all
}

fn processors(recorded: Option<u32>, cpu_ns: Option<f64>, question: &Question) -> String {
    let counted = |count: u32| units::counted(count.into(), "processor");
    match (recorded, question.processors) {
        (Some(recorded), Some(asked)) if recorded != asked => format!(
            "On {} instead of the {recorded} of the recording, before and after.",
            counted(asked)
        ),
        (Some(count), _) => format!("On {}, as the log says.", counted(count)),
        (None, Some(asked)) => format!("It ran on {}, as given by --processors.", counted(asked)),
        (None, None) if cpu_ns.is_some() => {
            "The log does not say on how many processors it ran: on as many as there are threads, \
             or, for the other end of the interval, on as few as possible; set it with \
             --processors."
                .to_owned()
        }
        (None, None) => "The log does not say on how many processors it ran: on as many as there \
                         are threads; set it with --processors."
            .to_owned(),
    }
}

/// Where threads rest.
fn rest(recorded: &ReplayInput) -> String {
    if recorded.places.is_some() && recorded.looks.iter().any(|of| of.computes().is_some()) {
        return "How much of the time threads computed while they held locks is known from looks at \
                owners; the rest of the program's CPU time was used outside, by all threads alike."
            .to_owned();
    }
    if recorded.is_sampled() {
        return "How much of their time threads computed, while holding locks and outside, is \
                known from samples."
            .to_owned();
    }
    match recorded.cpu_ns {
        Some(_) => {
            "The CPU time of the whole program is known, not that of each thread: each computed \
                    for the same share of the time in which it did not wait; for the interval, \
                    mostly while holding locks, or mostly outside. --mode trace+sample shows it."
                .to_owned()
        }
        None => "Threads that did not wait computed: CPU times are not in the log.".to_owned(),
    }
}

/// Other programs that ran, too.
fn load(others: Option<f64>) -> Option<String> {
    let others = others.filter(|&others| others >= MUCH)?;
    Some(format!(
        "Other programs had {:.0} % of the machine's processors, so it is not known how long things \
         take by themselves: a recording without them has a narrower interval.",
        100.0 * others
    ))
}

/// Less is no disturbance.
const MUCH: f64 = 0.1;

/// How far the number of acquisitions may be off, if some were counted in bursts.
fn in_bursts(logs: &[Recording]) -> Option<String> {
    let (mut taken, mut error) = (0u64, 0u64);
    for log in logs {
        for cell in log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk)) {
            taken = taken.saturating_add(cell.acquisitions);
            error = error.saturating_add(cell.bursts.map_or(0, |bursts| bursts.uncounted_error));
        }
    }
    (error != 0).then(|| {
        format!(
            "Acquisitions were counted in bursts (count=adaptive): their number is an estimate, \
             with a standard error of {} in all.",
            units::share(error, taken)
        )
    })
}

/// What a coarse estimate assumes.
pub(crate) fn of_coarse(
    coarse: &Coarse,
    (logs, totals): (&[Recording], &RecordingTotals),
    question: &Question,
) -> Vec<String> {
    let mut all = vec![format!(
        "{:.1} equal threads repeat at random intervals: compute, take the lock, hold it.",
        coarse.threads
    )];
    if !coarse.holds_known {
        all.push(
            "How long it is held is not known, but derived from how long threads wait for it."
                .to_owned(),
        );
    }
    let processors = question.processors.or(totals.processors);
    all.push(match (processors, totals.cpu_ns) {
        (Some(count), Some(_)) if coarse.is_bound => {
            format!("The {} cannot do more.", units::counted(count.into(), "processor"))
        }
        (Some(count), Some(_)) => {
            format!("On {}, which are not the limit.", units::counted(count.into(), "processor"))
        }
        _ => "There are always enough processors: the log does not say how many.".to_owned(),
    });
    all.extend(load(totals.others));
    all.extend(in_bursts(logs));
    all.push("Nothing else becomes the limit: other locks, disks, networks.".to_owned());
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
    use super::*;
    use std::io::Cursor;
    use tyrion_formats::write::{LogOptions, LogWriter};
    use tyrion_wire::trace::{AcquisitionCell, Bursts};

    fn log(bursts: Option<Bursts>) -> Recording {
        let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
        let thread = log.thread(1, "main", "main", 0).unwrap();
        let lane = log.lane(thread);
        let cell = AcquisitionCell { thread, acquisitions: 100, bursts, ..Default::default() };
        log.acquisitions(lane, &cell).unwrap();
        Recording::from_bytes("a.log", log.finish().unwrap().into_inner()).unwrap()
    }

    #[test]
    fn other_programs_are_told() {
        assert!(load(Some(0.42)).is_some_and(|said| said.contains("42 % of the machine")));
        assert_eq!((load(Some(0.02)), load(None)), (None, None));
    }

    #[test]
    fn estimated_numbers_of_acquisitions_are_told() {
        let bursts = Bursts { uncounted: 300, uncounted_error: 8, count: 9, ..Bursts::default() };
        let told = in_bursts(&[log(Some(bursts)), log(None)]).unwrap();
        assert!(told.ends_with("with a standard error of 1.6 % in all."), "{told}");
        assert_eq!(in_bursts(&[log(None), log(Some(Bursts::default()))]), None);
    }
}
