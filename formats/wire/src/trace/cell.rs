//! Acquisition cells: locks taken, summed per thread, place and class.

use crate::{cell::BUCKETS, le};

/// Length of an acquisition cell, in bytes.
pub const CELL_LEN: usize = 256;
/// Length of one that counts in bursts: behind the cell stands [`Bursts`].
pub const BURSTS_CELL_LEN: usize = CELL_LEN + 64;

/// Offsets in an acquisition cell. All but the first three are changed while
/// the agent records, each in one piece, by one writer.
pub mod field {
    /// `u32`: the thread's id.
    pub const THREAD: usize = 0;
    /// `u32`: the place's id.
    pub const PLACE: usize = 4;
    /// `u32`: the class of the lock object.
    pub const CLASS: usize = 8;
    /// `u32`: which holds are measured, see [`one_in_of`](super::one_in_of). The low
    /// [`OWN_BITS`](super::OWN_BITS) are the writer's own.
    pub const MEASURED: usize = 12;
    /// `u64`: acquisitions. Stored before anything that counts them in part.
    pub const ACQUISITIONS: usize = 16;
    /// `u64`: the writer's own: number of the acquisition whose hold is
    /// measured next. Readers ignore it.
    pub const NEXT: usize = 24;
    /// `u64`: acquisitions by a thread that had the lock already.
    pub const REENTRANT: usize = 32;
    /// `u64`: attempts that failed or timed out.
    pub const FAILED: usize = 40;
    /// `u64`: number of holds among the first few, each of them measured.
    pub const FIRST_COUNT: usize = 48;
    /// `u64`: their durations added up, in ns.
    pub const FIRST_NS: usize = 56;
    /// `u64`: number of measured holds after the first few.
    pub const SAMPLED_COUNT: usize = 64;
    /// `u64`: their durations added up, in ns.
    pub const SAMPLED_NS: usize = 72;
    /// `u64`: the longest measured hold, in ns.
    pub const MAX_NS: usize = 80;
    /// `u64`: acquisitions of instances that the agent's table had no room for.
    pub const UNIDENTIFIED: usize = 88;
    /// [`BUCKETS`](crate::cell::BUCKETS) times `u32`: measured holds by
    /// [`bucket`](crate::cell::bucket).
    pub const HISTOGRAM: usize = 96;
    /// `u64`: acquisitions that were not counted, as estimated.
    pub const UNCOUNTED: usize = 256;
    /// `u64`: the standard error of that.
    pub const UNCOUNTED_ERROR: usize = 264;
    /// `u64`: reentrant acquisitions that were not counted, as estimated.
    pub const UNCOUNTED_REENTRANT: usize = 272;
    /// `u64`: the standard error of that.
    pub const REENTRANT_ERROR: usize = 280;
    /// `u64`: how many bursts these are estimated from.
    pub const BURSTS: usize = 288;
}

/// What is estimated where acquisitions are counted in bursts (the option
/// `count=adaptive`). How often locks are taken at a place outside of bursts is known for
/// each thread; this is the cell's share of that, as bursts tell it. The standard error
/// comes from the differences between one burst and the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    /// Acquisitions that were not counted, as estimated.
    pub uncounted: u64,
    /// The standard error of that, in acquisitions.
    pub uncounted_error: u64,
    /// Reentrant acquisitions that were not counted, as estimated.
    pub uncounted_reentrant: u64,
    /// The standard error of that, in acquisitions.
    pub reentrant_error: u64,
    /// How many bursts these are estimated from; 0 where all were counted.
    pub count: u64,
}

/// How many of the low bits of [`field::MEASURED`] readers ignore.
pub const OWN_BITS: u32 = 8;

/// Encodes that one hold in this many is measured: 1 for all, 0 for none.
/// There is room for shares up to 1 in 16 777 214.
pub const fn measured(one_in: u32) -> u32 {
    const MOST: u32 = (u32::MAX >> OWN_BITS) - 1;
    let one_in = if one_in < MOST { one_in } else { MOST };
    (one_in + 1) << OWN_BITS
}

/// One hold in how many is measured; `None` if this does not say.
pub const fn one_in_of(measured: u32) -> Option<u32> {
    (measured >> OWN_BITS).checked_sub(1)
}

/// An acquisition cell's content. Several cells may have the same thread,
/// place and class; they add up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcquisitionCell {
    /// Thread id.
    pub thread: u32,
    /// Place id.
    pub place: u32,
    /// Class id of the lock object.
    pub class: u32,
    /// One hold in this many is measured: 1 for all, 0 for none. `None` if the cell does not
    /// say; then it is as the log says.
    pub one_in: Option<u32>,
    /// Acquisitions, without reentrant and failed ones.
    pub acquisitions: u64,
    /// The writer's own, see [`field::NEXT`].
    pub next: u64,
    /// Acquisitions by a thread that had the lock already.
    pub reentrant: u64,
    /// Attempts (`tryLock` and its like) that failed or timed out.
    pub failed: u64,
    /// Number of holds among the first few, each of them measured.
    pub first_count: u64,
    /// Their durations added up, in ns.
    pub first_ns: u64,
    /// Number of measured holds after the first few.
    pub sampled_count: u64,
    /// Their durations added up, in ns.
    pub sampled_ns: u64,
    /// The longest measured hold, in ns.
    pub max_ns: u64,
    /// Acquisitions of instances that the agent's table had no room for.
    pub unidentified: u64,
    /// How many measured holds had a duration of each
    /// [`bucket`](crate::cell::bucket).
    pub histogram: [u32; BUCKETS],
    /// What is estimated beside what was counted; `None` in a cell that counts all.
    pub bursts: Option<Bursts>,
}

impl Default for AcquisitionCell {
    /// A cell as it is initialised: all zeros.
    fn default() -> Self {
        AcquisitionCell {
            thread: 0,
            place: 0,
            class: 0,
            one_in: None,
            acquisitions: 0,
            next: 0,
            reentrant: 0,
            failed: 0,
            first_count: 0,
            first_ns: 0,
            sampled_count: 0,
            sampled_ns: 0,
            max_ns: 0,
            unidentified: 0,
            histogram: [0; BUCKETS],
            bursts: None,
        }
    }
}

/// The `u64` fields, in their order from [`field::ACQUISITIONS`] on.
const NUMBERS: usize = 10;

impl AcquisitionCell {
    /// The cell's bytes, without its estimates.
    pub fn encode(&self) -> [u8; CELL_LEN] {
        let mut bytes = [0; CELL_LEN];
        for (at, word) in [
            (field::THREAD, self.thread),
            (field::PLACE, self.place),
            (field::CLASS, self.class),
            (field::MEASURED, self.one_in.map_or(0, measured)),
        ] {
            le::put(&mut bytes, at, &word.to_le_bytes());
        }
        let numbers: [u64; NUMBERS] = [
            self.acquisitions,
            self.next,
            self.reentrant,
            self.failed,
            self.first_count,
            self.first_ns,
            self.sampled_count,
            self.sampled_ns,
            self.max_ns,
            self.unidentified,
        ];
        for (nth, number) in numbers.iter().enumerate() {
            le::put(&mut bytes, field::ACQUISITIONS + 8 * nth, &number.to_le_bytes());
        }
        for (nth, count) in self.histogram.iter().enumerate() {
            le::put(&mut bytes, field::HISTOGRAM + 4 * nth, &count.to_le_bytes());
        }
        bytes
    }

    /// Reads a cell, or `None` when there are fewer than [`CELL_LEN`] bytes.
    pub fn decode(bytes: &[u8]) -> Option<AcquisitionCell> {
        let mut histogram = [0; BUCKETS];
        for (nth, count) in histogram.iter_mut().enumerate() {
            *count = le::u32_at(bytes, field::HISTOGRAM + 4 * nth)?;
        }
        Some(AcquisitionCell {
            thread: le::u32_at(bytes, field::THREAD)?,
            place: le::u32_at(bytes, field::PLACE)?,
            class: le::u32_at(bytes, field::CLASS)?,
            one_in: one_in_of(le::u32_at(bytes, field::MEASURED)?),
            acquisitions: le::u64_at(bytes, field::ACQUISITIONS)?,
            next: le::u64_at(bytes, field::NEXT)?,
            reentrant: le::u64_at(bytes, field::REENTRANT)?,
            failed: le::u64_at(bytes, field::FAILED)?,
            first_count: le::u64_at(bytes, field::FIRST_COUNT)?,
            first_ns: le::u64_at(bytes, field::FIRST_NS)?,
            sampled_count: le::u64_at(bytes, field::SAMPLED_COUNT)?,
            sampled_ns: le::u64_at(bytes, field::SAMPLED_NS)?,
            max_ns: le::u64_at(bytes, field::MAX_NS)?,
            unidentified: le::u64_at(bytes, field::UNIDENTIFIED)?,
            histogram,
            bursts: None,
        })
    }

    /// The bytes of a cell that counts in bursts.
    pub fn encode_with_bursts(&self) -> [u8; BURSTS_CELL_LEN] {
        let mut bytes = [0; BURSTS_CELL_LEN];
        le::put(&mut bytes, 0, &self.encode());
        let bursts = self.bursts.unwrap_or_default();
        for (at, number) in [
            (field::UNCOUNTED, bursts.uncounted),
            (field::UNCOUNTED_ERROR, bursts.uncounted_error),
            (field::UNCOUNTED_REENTRANT, bursts.uncounted_reentrant),
            (field::REENTRANT_ERROR, bursts.reentrant_error),
            (field::BURSTS, bursts.count),
        ] {
            le::put(&mut bytes, at, &number.to_le_bytes());
        }
        bytes
    }

    /// Reads a cell that counts in bursts, or `None` when there are fewer than
    /// [`BURSTS_CELL_LEN`] bytes.
    pub fn decode_with_bursts(bytes: &[u8]) -> Option<AcquisitionCell> {
        let bursts = Bursts {
            uncounted: le::u64_at(bytes, field::UNCOUNTED)?,
            uncounted_error: le::u64_at(bytes, field::UNCOUNTED_ERROR)?,
            uncounted_reentrant: le::u64_at(bytes, field::UNCOUNTED_REENTRANT)?,
            reentrant_error: le::u64_at(bytes, field::REENTRANT_ERROR)?,
            count: le::u64_at(bytes, field::BURSTS)?,
        };
        let cell = AcquisitionCell::decode(bytes.get(..BURSTS_CELL_LEN)?)?;
        Some(AcquisitionCell { bursts: Some(bursts), ..cell })
    }

    /// The cell with what was not counted among its acquisitions, as estimated; those of
    /// unknown instances grow in proportion. [`AcquisitionCell::bursts`] still has the
    /// errors.
    pub fn with_uncounted(self) -> AcquisitionCell {
        let Some(bursts) = self.bursts else { return self };
        let acquisitions = self.acquisitions.saturating_add(bursts.uncounted);
        let unidentified = match self.acquisitions {
            0 => self.unidentified,
            counted => {
                let all = u128::from(self.unidentified) * u128::from(acquisitions);
                u64::try_from(all / u128::from(counted)).unwrap_or(u64::MAX)
            }
        };
        let reentrant = self.reentrant.saturating_add(bursts.uncounted_reentrant);
        AcquisitionCell { acquisitions, reentrant, unidentified, ..self }
    }

    /// Whether the cell says nothing: it was initialised and never used.
    pub fn is_empty(&self) -> bool {
        (self.acquisitions, self.reentrant, self.failed) == (0, 0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            ids: [u32; 3],
            one_in in proptest::option::of(0..0xff_fffe_u32),
            numbers: [u64; NUMBERS],
            bucket in 0..BUCKETS,
            count: u32,
        ) {
            let mut histogram = [0; BUCKETS];
            histogram[bucket] = count;
            let cell = AcquisitionCell {
                thread: ids[0],
                place: ids[1],
                class: ids[2],
                one_in,
                acquisitions: numbers[0],
                next: numbers[1],
                reentrant: numbers[2],
                failed: numbers[3],
                first_count: numbers[4],
                first_ns: numbers[5],
                sampled_count: numbers[6],
                sampled_ns: numbers[7],
                max_ns: numbers[8],
                unidentified: numbers[9],
                histogram,
                bursts: None,
            };
            let bytes = cell.encode();
            prop_assert_eq!(AcquisitionCell::decode(&bytes[..CELL_LEN - 1]), None);
            prop_assert_eq!(AcquisitionCell::decode(&bytes), Some(cell.clone()));
            let bursts = Bursts {
                uncounted: numbers[5],
                uncounted_error: numbers[6],
                uncounted_reentrant: numbers[7],
                reentrant_error: numbers[8],
                count: numbers[9],
            };
            let cell = AcquisitionCell { bursts: Some(bursts), ..cell };
            let bytes = cell.encode_with_bursts();
            let short = &bytes[..BURSTS_CELL_LEN - 1];
            prop_assert_eq!(AcquisitionCell::decode_with_bursts(short), None);
            prop_assert_eq!(AcquisitionCell::decode_with_bursts(&bytes), Some(cell.clone()));
            let all = cell.clone().with_uncounted();
            prop_assert_eq!(all.acquisitions, numbers[0].saturating_add(numbers[5]));
            prop_assert!(all.unidentified >= cell.unidentified || numbers[0] == 0);
        }
    }

    #[test]
    fn what_was_not_counted_is_added() {
        let bursts = Bursts { uncounted: 300, uncounted_reentrant: 7, ..Bursts::default() };
        let counted = AcquisitionCell {
            acquisitions: 100,
            reentrant: 1,
            unidentified: 10,
            ..AcquisitionCell::default()
        };
        assert_eq!(counted.clone().with_uncounted(), counted);
        let all = AcquisitionCell { bursts: Some(bursts), ..counted }.with_uncounted();
        assert_eq!((all.acquisitions, all.reentrant, all.unidentified), (400, 8, 40));
    }

    #[test]
    fn fields_stand_where_the_format_says() {
        let cell = AcquisitionCell {
            thread: 1,
            place: 2,
            class: 3,
            one_in: Some(64),
            acquisitions: 16,
            unidentified: 88,
            max_ns: 80,
            ..AcquisitionCell::default()
        };
        let bytes = cell.encode();
        assert_eq!(bytes[..16], [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 65, 0, 0]);
        for at in [field::ACQUISITIONS, field::MAX_NS, field::UNIDENTIFIED] {
            assert_eq!(le::u64_at(&bytes, at), Some(at as u64));
        }
        assert_eq!(field::HISTOGRAM + 4 * BUCKETS, CELL_LEN);
        assert!(!cell.is_empty() && AcquisitionCell::default().is_empty());
    }

    #[test]
    fn a_cell_need_not_say_which_holds_are_measured() {
        assert_eq!(one_in_of(0), None);
        // The writer's own bits say nothing of it.
        assert_eq!(one_in_of(0xff), None);
        for one_in in [0, 1, 2, 64, 1_048_575] {
            assert_eq!(one_in_of(measured(one_in) | 0xff), Some(one_in));
        }
        assert_eq!(one_in_of(measured(u32::MAX)), Some(0xff_fffe));
    }
}
