//! A heap of machine code, and where the blocks in it begin (`heap.cpp`).

use super::memory::read;

/// In the map of a heap's segments: nothing is there.
const FREE: u8 = 0xff;

/// A part of the code cache. It is reserved in one piece, and stays where it is. So much
/// of it is there as was once needed.
pub struct Heap {
    pub begin: usize,
    /// Where the JVM keeps how far it can be read.
    pub high: usize,
    /// The map of its segments: for each a byte that says how many segments back its
    /// block begins, at most so many at a time.
    pub segments: usize,
    /// The logarithm of a segment's size in bytes.
    pub shift: u32,
}

impl Heap {
    #[inline]
    pub fn contains(&self, pc: usize) -> bool {
        // SAFETY: the JVM's description of a heap stays.
        pc >= self.begin && pc < unsafe { read::<usize>(self.high) }
    }

    /// The block that an address of the heap is in, where something is there.
    ///
    /// # Safety
    /// The address is in a frame of the current thread: code is there, and stays.
    #[inline]
    pub unsafe fn block(&self, pc: usize) -> Option<usize> {
        let mut segment = (pc - self.begin) >> self.shift;
        loop {
            // SAFETY: there is a byte for each segment that was ever used.
            match unsafe { read::<u8>(self.segments + segment) } {
                0 => return Some(self.begin + (segment << self.shift)),
                FREE => return None,
                back => segment = segment.checked_sub(back.into())?,
            }
        }
    }
}
