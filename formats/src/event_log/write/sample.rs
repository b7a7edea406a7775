//! Writes the program's groups.

use super::LogWriter;
use std::io::{self, Seek, Write};
use tyrion_wire::def::{Definition, id};

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
}
