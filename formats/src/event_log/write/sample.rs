//! Writes what sampling records, and the program's groups.

use super::{LaneId, LogWriter};
use std::io::{self, Seek, Write};
use tyrion_wire::{
    def::{Definition, id},
    sample::Sample,
};

impl<W: Write + Seek> LogWriter<W> {
    /// The stack id of a group: the outermost parent of the stacks that a
    /// thread has while the program says that it does this.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn group(&mut self, name: &str) -> io::Result<u32> {
        let name = self.string(name)?;
        let key = (b'g', name, 0, 0, 0);
        if let Some(&stack) = self.interned.get(&key) {
            return Ok(stack);
        }
        // Groups share the ids of stacks.
        let stack = self.next_id(b'k', id::CUT_STACK + 1);
        self.interned.insert(key, stack);
        self.define(&Definition::Group { stack, name })?;
        Ok(stack)
    }

    /// Records what the lane's thread was seen doing, up to a snapshot at
    /// `at_ns`, monotonic; the sample's `delta_ns` is the writer's to find.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn sample(&mut self, lane: LaneId, at_ns: u64, sample: Sample) -> io::Result<()> {
        let delta_ns = self.delta(lane, at_ns);
        self.record(lane, delta_ns, |out| Sample { delta_ns, ..sample }.encode(out))
    }
}
