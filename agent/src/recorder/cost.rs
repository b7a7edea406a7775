//! What recording costs the program: the agent's share of the CPU time of the
//! process, while recording is on.

use super::Recorder;
use crate::{clock, log::Generation, own_cpu, spawn, sync::lock};
use std::sync::{Mutex, OnceLock};
use tyrion_wire::cost;

/// What was noted last is at most so old while the program is busy, ns; later
/// notes are rarer, as the sums grow: each is an eighth more than the one before.
const NOTED_NS: u64 = 1_000_000_000;
const GROWTH: u64 = 8;

/// CPU times, in ns, and counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Of the process.
    pub process_ns: u64,
    /// Of the agent's code on threads of the program; estimated.
    pub callbacks_ns: u64,
    /// How often the JVM has called that, and it the JVM; estimated.
    pub callbacks: u64,
    pub jvm_calls: u64,
    /// Of the agent's own threads.
    pub threads_ns: u64,
    /// Of the Java half of trace mode's probes; estimated. `None` where there are
    /// none.
    pub probes_ns: Option<u64>,
    /// How long the machine's processors were in use, and that with how long they
    /// were idle. `None` where the system does not tell.
    pub machine_ns: Option<(u64, u64)>,
}

impl Cost {
    /// By the names that they have in the log.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let probes = self.probes_ns.map(|ns| (cost::PROBES, ns));
        let known = [
            (cost::PROCESS, self.process_ns),
            (cost::CALLBACKS, self.callbacks_ns),
            (cost::CALLBACK_COUNT, self.callbacks),
            (cost::JVM_CALLS, self.jvm_calls),
            (cost::THREADS, self.threads_ns),
        ];
        let machine = self
            .machine_ns
            .map(|(busy_ns, all_ns)| [(cost::MACHINE_BUSY, busy_ns), (cost::MACHINE_ALL, all_ns)]);
        known.into_iter().chain(probes).chain(machine.into_iter().flatten())
    }

    /// This and what was added between two readings.
    fn plus(self, from: Cost, to: Cost) -> Cost {
        let add = |sum: u64, from: u64, to: u64| sum.saturating_add(to.saturating_sub(from));
        let probes_ns = to
            .probes_ns
            .map(|to_ns| add(self.probes_ns.unwrap_or(0), from.probes_ns.unwrap_or(0), to_ns));
        let machine_ns = to.machine_ns.map(|to| {
            let (sum, from) = (self.machine_ns.unwrap_or((0, 0)), from.machine_ns.unwrap_or(to));
            (add(sum.0, from.0, to.0), add(sum.1, from.1, to.1))
        });
        Cost {
            process_ns: add(self.process_ns, from.process_ns, to.process_ns),
            callbacks_ns: add(self.callbacks_ns, from.callbacks_ns, to.callbacks_ns),
            callbacks: add(self.callbacks, from.callbacks, to.callbacks),
            jvm_calls: add(self.jvm_calls, from.jvm_calls, to.jvm_calls),
            threads_ns: add(self.threads_ns, from.threads_ns, to.threads_ns),
            probes_ns: probes_ns.or(self.probes_ns),
            machine_ns: machine_ns.or(self.machine_ns),
        }
    }
}

/// Adds it up.
#[derive(Default)]
pub(super) struct CostMeter {
    state: Mutex<Metered>,
    /// What the Java half of trace mode's probes took since the JVM started.
    probes_ns: OnceLock<fn() -> u64>,
}

#[derive(Default)]
struct Metered {
    /// What was added up before recording was switched on last.
    before: Cost,
    /// What the clocks showed then; `None` while it is off.
    since: Option<Cost>,
    /// When the log was told last, monotonic ns, and the CPU time of the process
    /// that it was told.
    noted_ns: u64,
    noted_process_ns: u64,
    /// The number of the generation that was told.
    noted_in: u32,
}

impl Metered {
    /// All there is by now, when the clocks show this.
    fn at(&self, clocks: Cost) -> Cost {
        self.since.map_or(self.before, |since| self.before.plus(since, clocks))
    }
}

impl CostMeter {
    /// What the clocks show now.
    fn clocks(&self) -> Cost {
        Cost {
            callbacks_ns: own_cpu::taken_ns(),
            callbacks: own_cpu::calls(),
            jvm_calls: own_cpu::jvm_calls(),
            threads_ns: spawn::cpu_ns(),
            probes_ns: self.probes_ns.get().map(|read| read()),
            machine_ns: clock::machine_cpu_ns(),
            // Last: of all of this it has to be the larger part.
            process_ns: clock::process_cpu_ns(),
        }
    }
}

impl Recorder {
    /// What recording has cost so far.
    pub fn cost(&self) -> Cost {
        let clocks = self.cost.clocks();
        lock(&self.cost.state).at(clocks)
    }

    /// How it is known what the Java half of trace mode's probes took since the JVM
    /// started, in ns. To be called once.
    pub fn cost_of_probes(&self, read: fn() -> u64) {
        let _ = self.cost.probes_ns.set(read);
    }

    /// Recording is on from now on.
    pub(super) fn cost_begins(&self) {
        let clocks = self.cost.clocks();
        lock(&self.cost.state).since.get_or_insert(clocks);
    }

    /// Recording is off from now on: tells the log what it has cost.
    pub fn cost_ends(&self) {
        let clocks = self.cost.clocks();
        let mut state = lock(&self.cost.state);
        if state.since.is_some() {
            state.before = state.at(clocks);
            state.since = None;
            self.tell(&self.log.current(), state.before);
        }
    }

    /// Tells a log that is written to what recording costs, where that has grown
    /// much.
    pub(super) fn note_cost(&self, generation: &Generation) {
        let now_ns = clock::now_ns();
        {
            let state = lock(&self.cost.state);
            if state.since.is_none() || now_ns.saturating_sub(state.noted_ns) < NOTED_NS {
                return;
            }
        }
        let clocks = self.cost.clocks();
        let mut state = lock(&self.cost.state);
        let cost = state.at(clocks);
        let grown_ns = cost.process_ns.saturating_sub(state.noted_process_ns);
        if grown_ns > state.noted_process_ns / GROWTH {
            self.tell(generation, cost);
            (state.noted_ns, state.noted_process_ns) = (now_ns, cost.process_ns);
        }
    }

    /// The log goes on in another file: tells both, since each shall be readable
    /// alone.
    pub(super) fn repeat_cost(&self, from: &Generation, to: &Generation) {
        let clocks = self.cost.clocks();
        let mut state = lock(&self.cost.state);
        if state.noted_in != to.number {
            state.noted_in = to.number;
            let cost = state.at(clocks);
            self.tell(from, cost);
            self.tell(to, cost);
        }
    }

    fn tell(&self, generation: &Generation, cost: Cost) {
        for (key, value) in cost.values().chain(self.walks()) {
            let _ = generation.dictionary.statistic(&generation.log, key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(n: u64, probes_ns: Option<u64>) -> Cost {
        let machine_ns = Some((2000 * n, 4000 * n));
        Cost {
            process_ns: 1000 * n,
            callbacks_ns: 10 * n,
            callbacks: 5 * n,
            jvm_calls: 7 * n,
            threads_ns: n,
            probes_ns,
            machine_ns,
        }
    }

    #[test]
    fn pauses_do_not_count() {
        let mut state = Metered { since: Some(clocks(5, None)), ..Metered::default() };
        assert_eq!(state.at(clocks(7, None)), clocks(2, None));
        state.before = state.at(clocks(7, None));
        state.since = None;
        assert_eq!(state.at(clocks(90, None)), clocks(2, None), "a pause");
        state.since = Some(clocks(100, None));
        assert_eq!(state.at(clocks(101, None)), clocks(3, None));
        // Trace mode begins meanwhile.
        assert_eq!(state.at(clocks(101, Some(40))), clocks(3, Some(40)));
        state.before = state.at(clocks(101, Some(40)));
        state.since = Some(clocks(200, Some(60)));
        assert_eq!(state.at(clocks(201, Some(63))), clocks(4, Some(43)));
    }

    #[test]
    fn what_is_told_has_the_names_of_the_log() {
        let told: Vec<_> = clocks(1, Some(3)).values().collect();
        let names = [
            "cpu.process_ns",
            "cpu.callbacks_ns",
            "callbacks.count",
            "callbacks.jvm_calls",
            "cpu.threads_ns",
            "cpu.probes_ns",
            "machine.busy_ns",
            "machine.all_ns",
        ];
        assert_eq!(told.iter().map(|told| told.0).collect::<Vec<_>>(), names);
        assert_eq!(
            told.iter().map(|told| told.1).collect::<Vec<_>>(),
            [1000, 10, 5, 7, 1, 3, 2000, 4000]
        );
        let cost = Cost { machine_ns: None, ..clocks(1, None) };
        assert_eq!(cost.values().count(), 5, "no zero that nobody has measured");
    }
}
