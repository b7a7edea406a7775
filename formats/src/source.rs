//! The bytes of a log, mapped or in memory.

use crate::map::Map;

/// The bytes of a log.
#[derive(Debug)]
pub(crate) enum Source {
    /// A mapped file, which may still be written to.
    Map(Map),
    /// Bytes that were read.
    Memory(Vec<u8>),
}

impl Source {
    /// Number of bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Source::Map(map) => map.len(),
            Source::Memory(bytes) => bytes.len(),
        }
    }

    /// Bytes that no longer change; `None` when they are not all there.
    pub(crate) fn settled(&self, at: usize, len: usize) -> Option<&[u8]> {
        match self {
            Source::Map(map) => map.settled(at, len),
            Source::Memory(bytes) => bytes.get(at..at.checked_add(len)?),
        }
    }

    /// Copies bytes that may change at any moment, each word in one piece and
    /// the words in ascending order. `at` and the length are multiples of
    /// eight. `None` when they are not all there.
    pub(crate) fn copy(&self, at: usize, to: &mut [u8]) -> Option<()> {
        match self {
            Source::Map(map) => {
                for (nth, word) in to.chunks_exact_mut(8).enumerate() {
                    word.copy_from_slice(&map.word(at.checked_add(8 * nth)?)?);
                }
            }
            Source::Memory(bytes) => {
                to.copy_from_slice(bytes.get(at..at.checked_add(to.len())?)?);
            }
        }
        Some(())
    }

    /// Asks for a range to be present in memory, before it is read.
    pub(crate) fn populate(&self, at: usize, len: usize) {
        if let Source::Map(map) = self {
            map.populate(at, len);
        }
    }

    /// Whether some more bytes may be searched: of a file, a multiple of what it
    /// takes on the disk.
    pub(crate) fn may_search(&self, bytes: usize) -> bool {
        match self {
            Source::Map(map) => map.may_search(bytes as u64),
            Source::Memory(_) => true,
        }
    }

    /// Whether the bytes may change while they are read.
    pub(crate) fn is_map(&self) -> bool {
        matches!(self, Source::Map(_))
    }
}
