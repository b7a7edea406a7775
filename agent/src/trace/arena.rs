//! Where blocks lie: so few and so long pieces of memory that a number from
//! Java is known to be the address of a block after a comparison or two.

use super::memory::{BLOCK_HEAD, Block, Recent, zeroed};
use crate::sync::lock;
use std::sync::{
    Mutex,
    atomic::{
        AtomicPtr, AtomicUsize,
        Ordering::{Acquire, Release},
    },
};

/// Blocks in the first piece; every further one has twice as many as the one
/// before.
const FIRST: usize = 32;
/// Room for two million threads at once.
const PIECES: usize = 16;

/// Blocks that remember the same number of what was met last.
pub struct Arena<const RECENT: usize> {
    pieces: [AtomicPtr<u8>; PIECES],
    /// How many blocks were handed out.
    used: AtomicUsize,
    growing: Mutex<()>,
}

impl<const RECENT: usize> Default for Arena<RECENT> {
    fn default() -> Self {
        Arena {
            pieces: [const { AtomicPtr::new(std::ptr::null_mut()) }; PIECES],
            used: AtomicUsize::new(0),
            growing: Mutex::new(()),
        }
    }
}

impl<const RECENT: usize> Arena<RECENT> {
    const LEN: usize = BLOCK_HEAD + RECENT * size_of::<Recent>();

    /// A block of zeros that nobody has; it is never given back.
    pub fn allocate(&self) -> Option<&'static Block> {
        let _growing = lock(&self.growing);
        let used = self.used.load(Acquire);
        let piece = (used / FIRST + 1).ilog2() as usize;
        let slot = self.pieces.get(piece)?;
        if slot.load(Acquire).is_null() {
            slot.store(zeroed((FIRST << piece) * Self::LEN)?, Release);
        }
        self.used.store(used + 1, Release);
        Some(self.block(slot.load(Acquire), used - Self::before(piece)))
    }

    /// The block at an address that Java has; `None` when there is none.
    #[inline]
    pub fn at(&self, address: u64) -> Option<&'static Block> {
        for (piece, slot) in self.pieces.iter().enumerate() {
            let base = slot.load(Acquire);
            if base.is_null() {
                return None;
            }
            let offset = (address as usize).wrapping_sub(base.addr());
            let nth = offset / Self::LEN;
            if nth < FIRST << piece {
                let is_used = Self::before(piece) + nth < self.used.load(Acquire);
                let is_block = offset.is_multiple_of(Self::LEN) && is_used;
                return is_block.then(|| self.block(base, nth));
            }
        }
        None
    }

    /// How many blocks there are in front of a piece.
    const fn before(piece: usize) -> usize {
        FIRST * ((1 << piece) - 1)
    }

    fn block(&self, piece: *mut u8, nth: usize) -> &'static Block {
        let memory = piece.wrapping_add(nth * Self::LEN);
        let block = std::ptr::slice_from_raw_parts(memory.cast::<Recent>(), RECENT);
        // SAFETY: a piece has room for this block, aligned to a cache line; it is
        // never given back, and any bytes are a block.
        unsafe { &*(block as *const Block) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::memory::Entry;
    use std::{collections::HashSet, sync::atomic::Ordering::Relaxed};

    #[test]
    fn only_addresses_of_blocks_lead_to_blocks() {
        let arena = Arena::<16>::default();
        assert!(arena.at(0).is_none() && arena.at(u64::MAX).is_none());
        let blocks: Vec<&Block> = (0..200).map(|_| arena.allocate().unwrap()).collect();
        let addresses: HashSet<u64> = blocks.iter().map(|block| block.address()).collect();
        assert_eq!(addresses.len(), 200);
        for (nth, &block) in blocks.iter().enumerate() {
            assert_eq!(block.recent.len(), 16);
            block.recent[15].nesting.store(nth as u64, Relaxed);
            block.held[0].key.store(!0, Relaxed);
        }
        for (nth, block) in blocks.iter().enumerate() {
            let address = block.address();
            assert_eq!(arena.at(address).unwrap().recent[15].nesting.load(Relaxed), nth as u64);
            for wrong in [1, 8, 64, 128] {
                assert!(arena.at(address + wrong).is_none());
            }
        }
        // Those that nobody was given yet.
        let behind = blocks[199].address() + Arena::<16>::LEN as u64;
        assert!(arena.at(behind).is_none());
        assert_eq!(arena.allocate().unwrap().address(), behind);
        assert!(arena.at(behind).is_some());
    }

    #[test]
    fn only_addresses_of_entries_lead_to_entries() {
        let block = Arena::<512>::default().allocate().unwrap();
        let first = block.address() + 128;
        let nth_of = |address: u64| {
            let found = block.entry_at(address)?;
            let all = block.held.iter().chain(&block.held_locks);
            all.enumerate().find(|(_, entry)| std::ptr::eq(*entry, found)).map(|(nth, _)| nth)
        };
        for nth in 0..48 {
            let address = first + 64 * nth;
            assert_eq!(nth_of(address), Some(nth as usize));
            let entry: &Entry = block.entry_at(address).unwrap();
            assert_eq!(block.is_lock(entry), nth >= 32);
            assert!(block.entry_at(address + 8).is_none());
        }
        for wrong in [0, first - 64, first + 64 * 48, u64::MAX, block.address()] {
            assert!(block.entry_at(wrong).is_none());
        }
    }
}
