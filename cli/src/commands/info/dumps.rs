//! What thread dumps tell, and what their format does not.

use tyrion_formats::{DumpedThread, HolderSource, Recording};
use tyrion_model::units;
use tyrion_wire::{WaitKind, sample::ThreadState};

/// Thread dumps of a file.
pub(super) struct DumpFacts<'a>(&'a Recording);

impl<'a> DumpFacts<'a> {
    /// Of a file that has some.
    pub(super) fn of(log: &'a Recording) -> Option<DumpFacts<'a>> {
        (!log.dumps().is_empty()).then_some(DumpFacts(log))
    }

    fn threads(&self) -> impl Iterator<Item = &'a DumpedThread> {
        self.0.dumps().iter().flat_map(|dump| &dump.threads)
    }

    /// How long after each other they were taken; nothing of a single one.
    pub(super) fn intervals(&self) -> Option<String> {
        let pairs = self.0.dumps().windows(2);
        let between = |pair: &[tyrion_formats::ThreadDump]| match pair {
            [one, next] => Some(next.wall_ns?.saturating_sub(one.wall_ns?)),
            _ => None,
        };
        let known: Vec<u64> = pairs.clone().filter_map(between).collect();
        if pairs.len() == 0 {
            return None;
        }
        Some(match (known.iter().min(), known.iter().max()) {
            (Some(least), Some(most)) if least == most => units::duration(*least),
            (Some(least), Some(most)) => {
                format!("{} to {}", units::duration(*least), units::duration(*most))
            }
            _ => "not known".to_owned(),
        })
    }

    /// How many threads there are in all.
    pub(super) fn size(&self) -> String {
        let threads = units::counted(self.threads().count() as u64, "thread");
        format!("{threads} in {}", units::counted(self.0.dumps().len() as u64, "dump"))
    }

    /// What a reader might look for, and does not find.
    pub(super) fn not_told(&self) -> String {
        let count = |is_it: &dyn Fn(&&DumpedThread) -> bool| self.threads().filter(is_it).count();
        let is_lock = |kind: WaitKind| kind.is_contention() && kind != WaitKind::Monitor;
        let ownerless = count(&|it| {
            it.owner_source == HolderSource::Unknown && it.kind.is_some_and(WaitKind::is_contention)
        });
        let synchronizers = count(&|it| it.kind.is_some_and(is_lock) && it.told_owner() == 0);
        let stateless = count(&|it| it.state == ThreadState::Other);
        let all = self.threads().count();
        let mut parts = vec!["how long and how often threads waited".to_owned()];
        if self.0.dumps().len() > 1 {
            parts.push("what happened between the dumps".to_owned());
        }
        if self.0.dumps().iter().any(|dump| dump.wall_ns.is_none()) {
            parts.push("when they were taken".to_owned());
        }
        if stateless * 4 > all {
            parts.push(format!("whether {stateless} of {all} threads ran or waited for a monitor"));
        }
        if ownerless != 0 {
            parts.push(format!("who has what {ownerless} of them wait for"));
        }
        if synchronizers != 0 {
            parts.push("owners of java.util.concurrent, as dumps with -l do".to_owned());
        }
        if self.threads().all(|it| it.cpu_ns.is_none()) {
            parts.push("CPU time".to_owned());
        }
        parts.join("; ")
    }
}
