//! Writing what owners of locks did.

use super::{LaneId, LogWriter};
use std::io::{self, Seek, Write};
use tyrion_wire::holder::Holder;

impl<W: Write + Seek> LogWriter<W> {
    /// Writes what the owner of a lock did at a moment, in monotonic ns, at which the lane's
    /// thread waited.
    ///
    /// # Errors
    /// Those of the file.
    pub fn holder(&mut self, lane: LaneId, at_ns: u64, holder: Holder) -> io::Result<()> {
        let delta_ns = self.delta(lane, at_ns);
        self.record(lane, delta_ns, |out| Holder { delta_ns, ..holder }.encode(out))
    }
}
