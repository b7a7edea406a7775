//! State that is overwritten in place: what threads wait for now, and the
//! counters of the lanes. This is what a log tells about waits that had not
//! ended when the process was killed.

use crate::{kind::WaitKind, le};

/// Length of a wait slot, in bytes.
pub const WAIT_LEN: usize = 64;
/// Length of a counters slot, in bytes.
pub const COUNTERS_LEN: usize = 128;

/// Offsets in a wait slot.
pub mod field {
    /// `u32`: odd while the writer is at it.
    pub const SEQUENCE: usize = 0;
    /// `u32`: the thread's id, 0 when the slot is free.
    pub const THREAD: usize = 4;
    /// `u32`: code of the kind, 0 when the thread does not wait.
    pub const KIND: usize = 8;
    /// `u32`: the waiter's stack.
    pub const STACK: usize = 12;
    /// `u32`: the lock.
    pub const LOCK: usize = 16;
    /// `u32`: thread id of the owner, 0 when unknown.
    pub const OWNER: usize = 20;
    /// `u64`: start of the wait, monotonic ns.
    pub const START_NS: usize = 24;
    /// `u64`: when the owner was looked for, monotonic ns; 0 when the wait began.
    pub const SEEN_NS: usize = 32;
    /// `u32`: [`flag`](super::flag)s.
    pub const FLAGS: usize = 40;
}

/// What a wait slot says beside.
pub mod flag {
    /// The thread was notified, and it enters the monitor again, which the owner has.
    pub const REENTERS: u32 = 1;
}

/// A wait that had not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The waiting thread's id.
    pub thread: u32,
    /// What it waits for.
    pub kind: WaitKind,
    /// Its stack.
    pub stack: u32,
    /// The lock.
    pub lock: u32,
    /// Thread id of the lock's owner when it was looked for, 0 when unknown.
    pub owner: u32,
    /// Start of the wait, monotonic ns.
    pub start_ns: u64,
    /// When the owner was looked for, monotonic ns; 0 when the wait began.
    pub seen_ns: u64,
    /// [`flag`]s; those that are not known are 0.
    pub flags: u32,
}

impl Pending {
    /// The slot's bytes.
    pub fn encode(&self) -> [u8; WAIT_LEN] {
        let mut bytes = [0; WAIT_LEN];
        let kind = u32::from(self.kind.code());
        let fields = [self.thread, kind, self.stack, self.lock, self.owner];
        for (nth, value) in fields.iter().enumerate() {
            le::put(&mut bytes, field::THREAD + 4 * nth, &value.to_le_bytes());
        }
        le::put(&mut bytes, field::START_NS, &self.start_ns.to_le_bytes());
        le::put(&mut bytes, field::SEEN_NS, &self.seen_ns.to_le_bytes());
        le::put(&mut bytes, field::FLAGS, &self.flags.to_le_bytes());
        bytes
    }

    /// Reads a slot: `None` when it is free, its thread does not wait, or the
    /// writer was at it.
    pub fn decode(bytes: &[u8]) -> Option<Pending> {
        if le::u32_at(bytes, field::SEQUENCE)? % 2 == 1 {
            return None;
        }
        let pending = Pending {
            thread: le::u32_at(bytes, field::THREAD)?,
            kind: WaitKind::from_code(u8::try_from(le::u32_at(bytes, field::KIND)?).ok()?)?,
            stack: le::u32_at(bytes, field::STACK)?,
            lock: le::u32_at(bytes, field::LOCK)?,
            owner: le::u32_at(bytes, field::OWNER)?,
            start_ns: le::u64_at(bytes, field::START_NS)?,
            seen_ns: le::u64_at(bytes, field::SEEN_NS)?,
            flags: le::u32_at(bytes, field::FLAGS)? & flag::REENTERS,
        };
        (pending.thread != 0).then_some(pending)
    }
}

/// What became of the waits that ended on a lane, or on all of them.
/// `ended = recorded + folded + dropped` but for the one a lane is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ends of waits that the JVM reported.
    pub ended: u64,
    /// Waits with a record of their own.
    pub recorded: u64,
    /// Waits summed in cells.
    pub folded: u64,
    /// Waits lost because there was no room.
    pub dropped: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.ended = self.ended.wrapping_add(other.ended);
        self.recorded = self.recorded.wrapping_add(other.recorded);
        self.folded = self.folded.wrapping_add(other.folded);
        self.dropped = self.dropped.wrapping_add(other.dropped);
    }
}

/// The counters of one lane: 128 bytes, `u32` lane, and from byte 8 on the
/// eight `u64` of the two tallies, lock contention first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The lane.
    pub lane: u32,
    /// Lock contention.
    pub contention: Tally,
    /// All other kinds.
    pub other: Tally,
}

impl Counters {
    /// Offset of the tallies: contention first, four `u64` each.
    pub const TALLIES: usize = 8;

    /// The slot's bytes.
    pub fn encode(&self) -> [u8; COUNTERS_LEN] {
        let mut bytes = [0; COUNTERS_LEN];
        le::put(&mut bytes, 0, &self.lane.to_le_bytes());
        let tallies = [self.contention, self.other];
        let values = tallies.iter().flat_map(|t| [t.ended, t.recorded, t.folded, t.dropped]);
        for (nth, value) in values.enumerate() {
            le::put(&mut bytes, Self::TALLIES + 8 * nth, &value.to_le_bytes());
        }
        bytes
    }

    /// Reads a slot, or `None` when bytes are missing.
    pub fn decode(bytes: &[u8]) -> Option<Counters> {
        let tally = |at: usize| {
            Some(Tally {
                ended: le::u64_at(bytes, at)?,
                recorded: le::u64_at(bytes, at + 8)?,
                folded: le::u64_at(bytes, at + 16)?,
                dropped: le::u64_at(bytes, at + 24)?,
            })
        };
        Some(Counters {
            lane: le::u32_at(bytes, 0)?,
            contention: tally(Self::TALLIES)?,
            other: tally(Self::TALLIES + 32)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_round_trips() {
        let pending = Pending {
            thread: 7,
            kind: WaitKind::Lock,
            stack: 9,
            lock: 3,
            owner: 8,
            start_ns: 1 << 40,
            seen_ns: 1 << 41,
            flags: flag::REENTERS,
        };
        let mut bytes = pending.encode();
        assert_eq!(Pending::decode(&bytes), Some(pending));
        bytes[field::SEQUENCE] = 1;
        assert_eq!(Pending::decode(&bytes), None, "torn");
        assert_eq!(Pending::decode(&[0; WAIT_LEN]), None, "free");
        assert_eq!(Pending::decode(&bytes[..43]), None, "short");
    }

    #[test]
    fn counters_round_trip() {
        let tally = Tally { ended: 10, recorded: 6, folded: 3, dropped: 1 };
        let mut sum = tally;
        sum += tally;
        let counters = Counters { lane: 4, contention: tally, other: sum };
        assert_eq!(Counters::decode(&counters.encode()), Some(counters));
        assert_eq!(sum.ended, 20);
    }
}
