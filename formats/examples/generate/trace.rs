//! What trace mode adds to a made-up log.

use crate::{FileWriter, LaneThread, LogPlan, Random};
use tyrion_formats::{
    wire::{
        WaitKind,
        cell::{self, BUCKETS},
        trace::{AcquisitionCell, Blame, Hold, Instance, hold_flag},
    },
    write::LogOptions,
};

/// Places, and what else the records name.
pub struct TracePlaces {
    places: Vec<u32>,
    class: u32,
    /// How many records there are for each wait.
    records: u64,
}

impl TracePlaces {
    /// Whether the plan asks for anything of trace mode.
    pub fn wanted(plan: &LogPlan) -> bool {
        plan.records != 0 || plan.acquisitions != 0
    }

    /// Says in the header what the agent would say.
    pub fn declare(options: &mut LogOptions) {
        for (key, value) in [("mode", "trace"), ("hold", "1/64"), ("events", "folded")] {
            options.header.metadata.push((key.to_owned(), value.to_owned()));
        }
    }

    pub fn new(log: &mut FileWriter, plan: &LogPlan) -> std::io::Result<TracePlaces> {
        let class = log.class("com/acme/cache/Segment", "")?;
        let method = log.method(class, "get", "(I)I", 10)?;
        let mut places = Vec::new();
        for nth in 0..plan.places.max(1) {
            let (line, name) = (20 + nth as u32, format!("Segment.lock{nth}"));
            places.push(log.place(method, line, WaitKind::Monitor, 0, &name)?);
        }
        Ok(TracePlaces { places, class, records: plan.records })
    }

    /// The records of one thread between two waits: most of them holds.
    pub fn records(
        &self,
        log: &mut FileWriter,
        thread: &mut LaneThread,
        random: &mut Random,
    ) -> std::io::Result<()> {
        for _ in 0..self.records {
            let bits = random.next();
            let place = self.places[random.below(self.places.len())];
            let (hash, class) = (1 + bits as u32 % 0xffff, self.class);
            thread.now_ns += 200 + (bits >> 40) % 1_000;
            match bits >> 32 & 63 {
                0 => log.note(thread.lane, 0, Instance { hash, class, place, shared: true })?,
                1 => {
                    let (charged_ns, waiter) = (5_000 + (bits >> 50), thread.id);
                    let blame =
                        Blame { charged_ns, site: 1, waiter, stack: 2, place, ..Blame::default() };
                    log.note(thread.lane, thread.now_ns, blame)?;
                }
                _ => {
                    let hold_ns = 50 + (bits >> 52);
                    let flags = if bits & 1 == 0 { hold_flag::FIRST } else { 0 };
                    let hold = Hold { hold_ns, place, class, hash, flags, ..Hold::default() };
                    log.note(thread.lane, thread.now_ns, hold)?;
                }
            }
        }
        Ok(())
    }

    /// Acquisition cells of each thread.
    pub fn cells(
        &self,
        log: &mut FileWriter,
        plan: &LogPlan,
        threads: &[LaneThread],
        random: &mut Random,
    ) -> std::io::Result<()> {
        for thread in threads {
            for nth in 0..plan.acquisitions {
                let mut histogram = [0; BUCKETS];
                histogram[cell::bucket(120)] = 24;
                let cell = AcquisitionCell {
                    thread: thread.id,
                    place: self.places[nth % self.places.len()],
                    class: self.class,
                    acquisitions: 1_000 + random.below(1 << 20) as u64,
                    first_count: 8,
                    first_ns: 1_000,
                    sampled_count: 16,
                    sampled_ns: 1_900,
                    max_ns: 200,
                    histogram,
                    ..AcquisitionCell::default()
                };
                log.acquisitions(thread.lane, &cell)?;
            }
        }
        Ok(())
    }
}
