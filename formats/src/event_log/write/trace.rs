//! Writes what trace mode records.

use super::{LaneId, LogWriter};
use std::io::{self, Seek, Write};
use tyrion_wire::{
    WaitKind,
    def::Definition,
    event::Note,
    trace::{AcquisitionCell, HoldBatch},
};

impl<W: Write + Seek> LogWriter<W> {
    /// The id of a place. `flags` are those of
    /// [`place_flag`](tyrion_wire::def::place_flag), `name` is what the
    /// program calls the lock.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn place(
        &mut self,
        method: u32,
        line: u32,
        kind: WaitKind,
        flags: u64,
        name: &str,
    ) -> io::Result<u32> {
        let name = self.string(name)?;
        let kind = kind.code();
        let sort = u32::from(kind) | (flags as u32) << 8;
        self.intern((b'p', method, line, sort, name), 1, |id| Definition::Place {
            id,
            method,
            line,
            kind,
            flags,
            name,
            bytecode: 0,
        })
    }

    /// The id of a new place, at this offset of its method's bytecode.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn place_at(
        &mut self,
        (method, line, bytecode): (u32, u32, u32),
        kind: WaitKind,
        flags: u64,
        name: &str,
    ) -> io::Result<u32> {
        let (id, name, kind) = (self.next_id(b'p', 1), self.string(name)?, kind.code());
        let bytecode = bytecode.saturating_add(1);
        self.define(&Definition::Place { id, method, line, kind, flags, name, bytecode })?;
        Ok(id)
    }

    /// Says which instance was taken at a place; 0 if there were several.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn place_instance(&mut self, place: u32, hash: u32) -> io::Result<()> {
        self.define(&Definition::PlaceInstance { place, hash })
    }

    /// Says that a lock is the instance with this hash.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn lock_instance(&mut self, lock: u32, hash: u32) -> io::Result<()> {
        self.define(&Definition::LockInstance { lock, hash })
    }

    /// Says what the program calls a lock.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn lock_name(&mut self, lock: u32, name: &str) -> io::Result<()> {
        let name = self.string(name)?;
        self.define(&Definition::LockName { lock, name })
    }

    /// Writes a number about the recording.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn statistic(&mut self, key: &str, value: u64) -> io::Result<()> {
        let key = self.string(key)?;
        self.define(&Definition::Statistic { key, value })
    }

    /// Writes an acquisition cell.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn acquisitions(&mut self, lane: LaneId, cell: &AcquisitionCell) -> io::Result<()> {
        let lane = &mut self.lanes[lane.0];
        let first = (lane.thread, lane.now_ns);
        let out = &mut self.out;
        self.used_len += if cell.bursts.is_some() {
            lane.in_bursts.append(&cell.encode_with_bursts(), first, false, out)?
        } else {
            lane.acquisitions.append(&cell.encode(), first, false, out)?
        };
        Ok(())
    }

    /// Records something of the lane's thread at `at_ns`, monotonic, if it has a time of its
    /// own; its `delta_ns` is the writer's to find.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn note<'n>(
        &mut self,
        lane: LaneId,
        at_ns: u64,
        note: impl Into<Note<'n>>,
    ) -> io::Result<()> {
        let note = note.into();
        let now_ns = self.lanes[lane.0].now_ns;
        let delta_ns = if note.is_timed() { at_ns.saturating_sub(now_ns) } else { 0 };
        self.record(lane, delta_ns, |out| note.after(delta_ns).encode(out))
    }

    /// Records holds of the lane's thread, one after another, in one record,
    /// which must fit a chunk.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn holds(&mut self, lane: LaneId, holds: &mut HoldBatch) -> io::Result<()> {
        let since_ns = self.lanes[lane.0].now_ns;
        let mut bytes = Vec::new();
        let now_ns = holds.encode(since_ns, &mut bytes);
        self.record(lane, now_ns - since_ns, |out| out.extend(bytes))
    }

    pub(super) fn record(
        &mut self,
        lane: LaneId,
        delta_ns: u64,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        encode(&mut bytes);
        let lane = &mut self.lanes[lane.0];
        // The chunk's first record counts from its header's time.
        let first = (lane.thread, lane.now_ns);
        lane.now_ns += delta_ns;
        let seal = self.options.seal;
        let written = lane.events.append(&bytes, first, seal, &mut self.out);
        self.scratch = bytes;
        self.used_len += written?;
        Ok(())
    }
}
