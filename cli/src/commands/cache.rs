//! Names in words, kept in bounded memory.

use std::{collections::HashMap, hash::Hash, rc::Rc};

/// How many bytes of text are kept of names, at most.
const NAMES: usize = 8 << 20;
/// How many bytes an entry takes besides its text, at most.
const ENTRY: usize = 128;

/// What was rendered, as long as there is room: most names are needed again and
/// again.
pub struct Cache<K, V> {
    known: HashMap<K, Rc<V>>,
    bytes: usize,
    most: usize,
}

impl<K: Copy + Eq + Hash, V> Cache<K, V> {
    /// For names.
    pub fn new() -> Cache<K, V> {
        Cache::of(NAMES)
    }

    /// For `most` bytes of text.
    pub fn of(most: usize) -> Cache<K, V> {
        Cache { known: HashMap::new(), bytes: 0, most }
    }

    /// What `make` has made of the key, now or before, and how many bytes of
    /// text that is.
    pub fn get(&mut self, key: K, make: impl FnOnce() -> (V, usize)) -> Rc<V> {
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let (made, len) = make();
        if self.bytes.saturating_add(len) > self.most {
            self.known.clear();
            self.bytes = 0;
        }
        self.bytes = self.bytes.saturating_add(len + ENTRY);
        let made = Rc::new(made);
        self.known.insert(key, Rc::clone(&made));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut cache: Cache<usize, ()> = Cache::new();
        let mut made = 0;
        let mut get = |key: usize| {
            cache.get(key, || {
                made += 1;
                ((), NAMES / 4)
            });
            assert!(cache.bytes <= NAMES + ENTRY, "{} bytes are kept", cache.bytes);
            (made, cache.known.len())
        };
        assert_eq!([0, 1, 2, 1, 0].map(&mut get).last(), Some(&(3, 3)));
        assert_eq!(get(3), (4, 1), "three and what they take besides are nearly four");
        assert_eq!(get(0), (5, 2));
    }
}
