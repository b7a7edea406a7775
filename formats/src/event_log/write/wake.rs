//! Writes who ended waits.

use super::{LaneId, LogWriter};
use std::io::{self, Seek, Write};
use tyrion_wire::wake::Wake;

impl<W: Write + Seek> LogWriter<W> {
    /// Records who ended the wait of the lane's thread that was recorded last.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn wake(&mut self, lane: LaneId, wake: Wake) -> io::Result<()> {
        self.record(lane, 0, |out| wake.encode(out))
    }
}
