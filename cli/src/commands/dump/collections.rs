//! Pauses of the garbage collector as `dump` prints them.

use super::{
    Dump,
    fields::{Collection, Record},
    record::JsonRecord,
    seconds,
};
use std::io::{self, Write};
use tyrion_model::units;

impl Dump<'_> {
    /// Of no thread and lock: filters on time select them, and no others.
    pub(super) fn collections(&self, out: &mut dyn Write) -> io::Result<()> {
        for collection in self.log.collections() {
            let pause_ns = collection.end_ns - collection.start_ns;
            if !self.window.holds(collection.end_ns) || pause_ns < self.window.min_wait_ns {
                continue;
            }
            let start_ns = self.since_start(collection.start_ns);
            if self.json {
                let record = Record::Collection(Collection { start_ns, pause_ns });
                JsonRecord::short(&record).write(out)?;
            } else {
                writeln!(out, "gc      +{} {}", seconds(start_ns), units::duration(pause_ns))?;
            }
        }
        Ok(())
    }
}
