//! What is counted of a recording besides its locks.

use crate::live::FileNumber;
use std::collections::BTreeMap;
use tyrion_formats::Recording;
use tyrion_report::OwnCpu;

/// The CPU time of the recorded process, and what the agent took of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    pub process_ns: u64,
    pub agent_ns: u64,
}

impl Cpu {
    /// What the agent tells now. It is estimated, which may make it less than `before`;
    /// then that stands.
    pub fn of(now: &OwnCpu, before: Option<Cpu>) -> Cpu {
        let before = before.unwrap_or_default();
        Cpu {
            process_ns: now.process_ns.max(before.process_ns),
            agent_ns: now.own_ns.max(before.agent_ns),
        }
    }

    /// Two recordings together, as far as they tell.
    pub fn sum(one: Option<Cpu>, other: Option<Cpu>) -> Option<Cpu> {
        match (one, other) {
            (Some(one), Some(other)) => Some(Cpu {
                process_ns: one.process_ns.saturating_add(other.process_ns),
                agent_ns: one.agent_ns.saturating_add(other.agent_ns),
            }),
            _ => one.or(other),
        }
    }
}

/// How many waits there was no room for: for locks, and others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostWaits {
    pub contention: u64,
    pub other: u64,
}

impl LostWaits {
    fn plus(self, more: LostWaits) -> LostWaits {
        LostWaits {
            contention: self.contention.saturating_add(more.contention),
            other: self.other.saturating_add(more.other),
        }
    }
}

/// The same of each file: each counts its own.
#[derive(Debug, Default)]
pub struct Losses {
    files: BTreeMap<FileNumber, LostWaits>,
    /// Of files that are not looked at any more.
    earlier: LostWaits,
}

impl Losses {
    /// Takes up what the logs that are looked at say now.
    pub fn look(&mut self, logs: &[(FileNumber, &Recording)]) {
        let Losses { files, earlier } = self;
        files.retain(|number, lost| {
            let is_there = logs.iter().any(|(other, _)| other == number);
            if !is_there {
                *earlier = earlier.plus(*lost);
            }
            is_there
        });
        for (number, log) in logs {
            let (contention, other) = log.tallies();
            let lost = self.files.entry(*number).or_default();
            // Of a log that is damaged while it is read they might shrink.
            lost.contention = lost.contention.max(contention.dropped);
            lost.other = lost.other.max(other.dropped);
        }
    }

    /// Of all files together.
    pub fn all(&self) -> LostWaits {
        self.files.values().fold(self.earlier, |all, lost| all.plus(*lost))
    }
}
