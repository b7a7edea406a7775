//! What sampling adds to a made-up log.

use crate::{FileWriter, GeneratedPlace, LaneThread, LogPlan, PERIOD_NS, Random, Zipf};
use tyrion_formats::{
    wire::sample::{Sample, ThreadState},
    write::LogOptions,
};

/// Says in the header what the agent would say.
pub fn declare(options: &mut LogOptions) {
    for (key, value) in [("mode", "contention+sample"), ("period", &PERIOD_NS.to_string())] {
        options.header.metadata.push((key.to_owned(), value.to_owned()));
    }
}

/// The snapshots of all threads, none folded, in a lane of their own.
pub fn snapshots(
    log: &mut FileWriter,
    plan: &LogPlan,
    threads: &[LaneThread],
    (sites, zipf): (&[GeneratedPlace], &Zipf),
    random: &mut Random,
) -> std::io::Result<()> {
    let Some(first) = threads.first().filter(|_| plan.samples != 0) else { return Ok(()) };
    let lane = log.lane(first.id);
    let mut at_ns = 1_000_000_000;
    for _ in 0..plan.samples {
        let wall_ns = PERIOD_NS * 3 / 4 + random.next() % (PERIOD_NS / 2);
        at_ns += wall_ns;
        for thread in threads {
            let place = sites[(zipf.sample(random) + thread.shift) % sites.len()];
            let state = ThreadState::ALL[random.below(6)];
            let busy = matches!(state, ThreadState::Running | ThreadState::Native);
            let cpu_ns = if busy { wall_ns / 100 * random.below(100) as u64 } else { 0 };
            log.switch(lane, thread.id)?;
            let (state, stack) = (state.code(), place.stack);
            let sample = Sample { wall_ns, cpu_ns, count: 1, state, stack, ..Sample::default() };
            log.note(lane, at_ns, sample)?;
        }
    }
    log.statistic("samples.snapshots", plan.samples)?;
    log.statistic("samples.records", plan.samples * threads.len() as u64)
}
