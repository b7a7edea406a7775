//! The records of sampling.

use super::{Dump, add_name, seconds};
use crate::commands::places::{in_a_line, lock_name, shown_lock};
use serde_json::json;
use std::io::{self, Write};
use tyrion_converters::{harmless, outputs::units};
use tyrion_formats::Sampled;
use tyrion_wire::{WaitKind, def::id};

/// The lock that a thread waited for when it was sampled.
struct Lock {
    text: String,
    /// What the program calls it; may be empty.
    name: String,
    class: String,
}

impl Dump<'_> {
    /// What a thread was seen doing.
    pub(super) fn sample(&mut self, out: &mut dyn Write, sampled: &Sampled) -> io::Result<()> {
        if !self.wants_sample(sampled) {
            return Ok(());
        }
        let (sample, state) = (&sampled.sample, sampled.state().name());
        let shown_as = self.doing.reader.state(sampled).name();
        let thread = self.thread(sampled.thread).0.clone();
        let owner = (sample.owner != id::UNKNOWN).then(|| self.thread(sample.owner).0.clone());
        let at_ns = self.since_start(sampled.at_ns);
        let kind = sampled.kind().map(WaitKind::name);
        let lock = (sample.lock != id::UNKNOWN).then(|| Lock {
            text: self.names.lock(sample.lock),
            name: lock_name(self.log, sample.lock),
            class: self.names.lock_class(sample.lock),
        });
        let names = self.names;
        let stack =
            self.stacks.entry(sample.stack).or_insert_with(|| names.stack(sample.stack).into());
        if self.json {
            let record = json!({
                "record": "sample", "at_ns": at_ns, "thread": thread, "thread_id": sampled.thread,
                "state": state, "shown_as": shown_as, "wall_ns": sample.wall_ns, "cpu_ns": sample.cpu_ns,
                "count": sample.count, "kind": kind,
                "lock": lock.as_ref().map(|lock| &lock.text),
                "lock_class": lock.as_ref().map(|lock| &lock.class),
                "owner": owner, "stack": stack.as_ref(), "group": names.group(sample.stack),
            });
            let name = lock.as_ref().map_or("", |lock| &lock.name);
            return writeln!(out, "{}", add_name(record, name));
        }
        write!(
            out,
            "sample  +{} {} {state}{} {:?} cpu={} count={}",
            seconds(at_ns),
            units::duration(sample.wall_ns),
            if shown_as == state { String::new() } else { format!(" ({shown_as})") },
            harmless::name(&thread),
            units::duration(sample.cpu_ns),
            sample.count,
        )?;
        if let Some(kind) = kind {
            write!(out, " {kind}")?;
        }
        if let Some(lock) = lock {
            write!(out, " {}", shown_lock(&lock.name, &lock.text))?;
        }
        if let Some(owner) = owner {
            write!(out, " owner={:?}", harmless::name(&owner))?;
        }
        if !stack.is_empty() {
            write!(out, " {}", in_a_line(stack))?;
        }
        writeln!(out)
    }

    fn wants_sample(&mut self, sampled: &Sampled) -> bool {
        self.window.holds(sampled.at_ns)
            && self.thread(sampled.thread).1
            && self.doing.is_wanted(sampled)
    }
}
