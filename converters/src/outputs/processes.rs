//! What tells the processes of several logs apart.

use tyrion_model::timeline::Timeline;

/// What tells the processes of logs apart: threads of one process are shown together.
/// Several recordings may be of processes with the same id, in containers or one after
/// the other.
pub(super) fn pids(timeline: &Timeline<'_>) -> Vec<String> {
    let (axis, runs) = (timeline.axis(), &timeline.profile().runs);
    let is_first = |run: u32| axis.recording(run) == run;
    let mut pids: Vec<String> = Vec::with_capacity(runs.len());
    for (nth, run) in (0u32..).zip(runs) {
        let known = pids.get(axis.recording(nth) as usize).cloned();
        let before = || {
            let before = (0..nth).zip(runs);
            before.filter(|(other, of)| is_first(*other) && of.pid == run.pid).count()
        };
        pids.push(known.unwrap_or_else(|| match before() {
            0 => run.pid.to_string(),
            before => format!("{}.{before}", run.pid),
        }));
    }
    pids
}
