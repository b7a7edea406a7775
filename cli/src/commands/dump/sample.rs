//! The records of sampling.

use super::{
    Dump,
    fields::{self, Record, Who},
    known, seconds,
};
use std::io::{self, Write};
use tyrion_formats::Noted;
use tyrion_model::{harmless, units};
use tyrion_wire::{WaitKind, def::id, sample::Sample};

/// Who asked for what was seen.
#[derive(Clone, Copy)]
pub(super) enum Called {
    /// Nobody.
    Sample,
    /// The program.
    Snapshot,
}

impl Called {
    fn name(self) -> &'static str {
        match self {
            Called::Sample => "sample",
            Called::Snapshot => "snapshot",
        }
    }
}

impl Dump<'_> {
    /// What a thread was seen doing.
    pub(super) fn sample(
        &mut self,
        out: &mut dyn Write,
        called: Called,
        sampled: &Noted<Sample>,
    ) -> io::Result<()> {
        if !self.wants_sample(sampled) {
            return Ok(());
        }
        let (sample, state) = (&sampled.record, sampled.state().name());
        let shown_as = self.sample_filter.reader.state(sampled).name();
        let thread = self.thread(sampled.thread);
        let owner = (sample.owner != id::UNKNOWN).then(|| self.thread(sample.owner));
        let at_ns = self.since_start(sampled.at_ns);
        let kind = sampled.kind().map(WaitKind::name);
        let lock = (sample.lock != id::UNKNOWN).then(|| self.lock(sample.lock));
        if self.json {
            let group = self.names.group(sample.stack);
            let fields = fields::SampleRecord {
                at_ns,
                who: Who { thread: &thread.0, thread_id: sampled.thread },
                state,
                shown_as,
                wall_ns: sample.wall_ns,
                cpu_ns: sample.cpu_ns,
                count: sample.count,
                kind,
                lock: lock.as_ref().map(|lock| &*lock.id),
                lock_class: lock.as_ref().map(|lock| &*lock.class),
                lock_name: lock.as_ref().and_then(|lock| known(&lock.name)),
                owner: owner.as_ref().map(|owner| &*owner.0),
                stack: (),
                group: group.as_deref(),
            };
            let record = match called {
                Called::Sample => Record::Sample(fields),
                Called::Snapshot => Record::Snapshot(fields),
            };
            return self.write_with_stack(out, &record, sample.stack);
        }
        write!(
            out,
            "{:<7} +{} {} {state}{} {:?} cpu={} count={}",
            called.name(),
            seconds(at_ns),
            units::duration(sample.wall_ns),
            if shown_as == state { String::new() } else { format!(" ({shown_as})") },
            harmless::name(&thread.0),
            units::duration(sample.cpu_ns),
            sample.count,
        )?;
        if let Some(kind) = kind {
            write!(out, " {kind}")?;
        }
        if let Some(lock) = lock {
            write!(out, " {}", lock.text())?;
        }
        if let Some(owner) = owner {
            write!(out, " owner={:?}", harmless::name(&owner.0))?;
        }
        if sample.stack != id::EMPTY_STACK {
            out.write_all(b" ")?;
        }
        self.end_with_stack(out, sample.stack)
    }

    fn wants_sample(&mut self, sampled: &Noted<Sample>) -> bool {
        self.window.holds(sampled.at_ns)
            && self.thread(sampled.thread).1
            && self.sample_filter.is_wanted(sampled)
    }
}
