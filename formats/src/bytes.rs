//! The bytes of a file, mapped or in memory.

use crate::{hints::Hints, map::Map};
use std::{fs::File, io};

/// The bytes of a file that is read, mapped or in memory, and what is known of them
/// besides.
#[derive(Debug)]
pub struct Bytes {
    store: ByteStore,
    hints: Hints,
}

#[derive(Debug)]
enum ByteStore {
    /// A mapped file, which may still be written to.
    Map(Map),
    /// Bytes that were read.
    Memory(Vec<u8>),
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes { store: ByteStore::Memory(bytes), hints: Hints::default() }
    }
}

impl Bytes {
    /// Maps the first `len` bytes of a file, at least one. A file that is cut
    /// short while it is mapped ends the process with a SIGBUS.
    pub(crate) fn map(file: &File, len: usize) -> io::Result<Bytes> {
        Ok(Bytes { store: ByteStore::Map(Map::new(file, len)?), hints: Hints::default() })
    }

    /// The same bytes, with what the user says of them.
    #[must_use]
    pub fn with_hints(self, hints: Hints) -> Bytes {
        Bytes { hints, ..self }
    }

    /// What the user says of them.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        match &self.store {
            ByteStore::Map(map) => map.len(),
            ByteStore::Memory(bytes) => bytes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that no longer change; `None` when they are not all there. Of a
    /// file that another process writes to, these are the bytes that the
    /// format promises to leave as they are.
    pub fn settled(&self, at: usize, len: usize) -> Option<&[u8]> {
        match &self.store {
            ByteStore::Map(map) => map.settled(at, len),
            ByteStore::Memory(bytes) => bytes.get(at..at.checked_add(len)?),
        }
    }

    /// A copy of the first bytes, at most `len` of them, a multiple of eight.
    pub(crate) fn start(&self, len: usize) -> Vec<u8> {
        let mut start = vec![0; len];
        match self.copy(0, &mut start) {
            Some(()) => start,
            // Shorter: nothing that anybody still writes to.
            None => self.settled(0, self.len().min(len)).unwrap_or_default().to_vec(),
        }
    }

    /// Copies bytes that may change at any moment, each word in one piece and
    /// the words in ascending order. `at` and the length are multiples of
    /// eight. `None` when they are not all there.
    pub(crate) fn copy(&self, at: usize, to: &mut [u8]) -> Option<()> {
        match &self.store {
            ByteStore::Map(map) => {
                for (nth, word) in to.chunks_exact_mut(8).enumerate() {
                    word.copy_from_slice(&map.word(at.checked_add(8 * nth)?)?);
                }
            }
            ByteStore::Memory(bytes) => {
                to.copy_from_slice(bytes.get(at..at.checked_add(to.len())?)?);
            }
        }
        Some(())
    }

    /// Asks for a range to be present in memory, before it is read.
    pub(crate) fn populate(&self, at: usize, len: usize) {
        if let ByteStore::Map(map) = &self.store {
            map.populate(at, len);
        }
    }

    /// Notes that a range is read now; what was read long before need not stay in memory.
    pub(crate) fn read_now(&self, at: usize, len: usize) {
        if let ByteStore::Map(map) = &self.store {
            map.read_now(at, len);
        }
    }

    /// Whether some more bytes may be searched: of a file, a multiple of what it
    /// takes on the disk.
    pub(crate) fn may_search(&self, bytes: usize) -> bool {
        match &self.store {
            ByteStore::Map(map) => map.may_search(bytes as u64),
            ByteStore::Memory(_) => true,
        }
    }

    /// Whether the bytes may change while they are read.
    pub(crate) fn is_map(&self) -> bool {
        matches!(self.store, ByteStore::Map(_))
    }
}
