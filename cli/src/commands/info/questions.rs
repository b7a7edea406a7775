//! How often the agent looked at the owners of locks.

use schemars::JsonSchema;
use serde::Serialize;
use tyrion_formats::Recording;
use tyrion_model::units;
use tyrion_wire::holder;

/// Questions about the owners of locks.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Questions {
    /// How many owners the agent asked for their stacks.
    asked: u64,
    /// How many of these had released the lock meanwhile.
    gone: u64,
    /// The CPU time that this took.
    cpu_ns: u64,
}

impl Questions {
    /// What the log says; `None` where it did not look.
    pub fn of(log: &Recording) -> Option<Questions> {
        let statistics = log.statistics();
        let value = |key| statistics.get(key).copied();
        Some(Questions {
            asked: value(holder::ASKED)?,
            gone: value(holder::GONE)?,
            cpu_ns: value(holder::CPU_NS)?,
        })
    }

    /// `123 asked, of which 4 had released the lock meanwhile; 5.6 ms of CPU time`.
    pub fn text(&self) -> String {
        let [asked, gone] = [self.asked, self.gone].map(units::thousands);
        let cpu = units::duration(self.cpu_ns);
        format!("{asked} asked, of which {gone} had released the lock meanwhile; {cpu} of CPU time")
    }
}
