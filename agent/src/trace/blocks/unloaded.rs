//! Where blocks have cells of a class that is gone, and whose number another one has.

use super::{Inner, Owned};
use crate::{
    sync::lock,
    trace::{Trace, memory::Table, numbers::is_of},
};
use std::{
    sync::atomic::{
        Ordering::{Relaxed, SeqCst},
        fence,
    },
    time::Instant,
};

impl Trace {
    /// Forgets the cells of a class by its number, in all blocks. There must not be any
    /// object of the class that has the number now.
    pub fn forget_class(&self, number: u32) {
        lock(&self.blocks.inner).forget_class(number);
    }
}

impl Inner {
    fn forget_class(&mut self, number: u32) {
        let Inner { used, free, free_virtual, .. } = self;
        for owned in used.values_mut().chain(free).chain(free_virtual) {
            owned.forget_class(number);
        }
    }
}

impl Owned {
    fn forget_class(&mut self, number: u32) {
        while let Some(old) = self.block.cells.get() {
            if !old.pairs.iter().any(|pair| is_of(pair.key.load(Relaxed), number)) {
                break;
            }
            let Some(fresh) = self.fresh_table(old) else {
                super::clear(old);
                break;
            };
            copy_others(old, fresh, number);
            // Its thread may just have put in a cell, or gone over to a longer table. A
            // cell that is lost so is found by nobody: the next one counts beside it.
            if self.block.cells.replace(old, fresh) {
                self.spares.push_back((old, Instant::now()));
            }
        }
        // As where a log goes on in another file: either the thread sees that its table
        // is another one, or what it has remembered of the old one is seen here.
        fence(SeqCst);
        for recent in &self.block.recent {
            let key = recent.key.load(Relaxed);
            if is_of(key, number) {
                // Unless its thread has just met something else there.
                let _ = recent.key.compare_exchange(key, 0, SeqCst, Relaxed);
            }
        }
    }
}

/// Puts into an empty table what another one has, but for a class.
fn copy_others(from: &Table, to: &Table, number: u32) {
    let mut used = 0;
    for pair in &from.pairs {
        let key = pair.key.load(Relaxed);
        if key != 0 && !is_of(key, number) {
            to.put(key, pair.cell.load(Relaxed));
            used += 1;
        }
    }
    to.used.store(used, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::blocks::Blocks;

    #[test]
    fn only_what_is_of_the_class_is_forgotten() {
        let (blocks, mut inner) = (Blocks::default(), Inner::default());
        let owned = inner.take(false, &blocks).unwrap();
        let block = owned.block;
        inner.used.insert(7, owned);
        let (gone, other) = (0x1234, 0x1235);
        let key = |number: u32, kind: u32, place: u32| {
            u64::from(number ^ kind << 28) << 32 | u64::from(place)
        };
        let keys = [key(gone, 0, 5), key(other, 0, 5), key(gone, 3, 37), key(other, 2, 69)];
        let table = block.cells.get().unwrap();
        for (nth, &key) in keys.iter().enumerate() {
            // All of them look for the same pair first.
            table.put(key, key + 1);
            block.recent[nth].key.store(key, Relaxed);
        }
        inner.forget_class(gone);
        let left: Vec<u64> =
            block.recent[..4].iter().map(|recent| recent.key.load(Relaxed)).collect();
        assert_eq!(left, [0, keys[1], 0, keys[3]]);
        let cells = block.cells.get().unwrap();
        assert!(!std::ptr::eq(cells, table));
        let pairs =
            cells.pairs.iter().map(|pair| (pair.key.load(Relaxed), pair.cell.load(Relaxed)));
        let pairs: Vec<(u64, u64)> = pairs.filter(|&(key, _)| key != 0).collect();
        assert_eq!(pairs, [(keys[1], keys[1] + 1), (keys[3], keys[3] + 1)]);
        assert_eq!(cells.used.load(Relaxed), 2);
        inner.forget_class(0x77);
        assert!(std::ptr::eq(block.cells.get().unwrap(), cells), "nothing is of that one");
    }
}
