//! What is wrong with a log that can be read nevertheless.

use crate::limits;
use std::{fmt, sync::Arc};

/// A damaged place of a log, and what was left out because of it. Its
/// `Display` is one line that names the file and the offset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Damage {
    /// The log's name.
    pub log: Arc<str>,
    /// Where the damage is, in bytes from the file's start.
    pub offset: u64,
    /// What is wrong.
    pub fault: Fault,
    /// How many bytes of the file were left out.
    pub skipped: u64,
}

/// What is wrong with a place of a log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// The checksum of the header's metadata does not hold.
    Metadata,
    /// The file ends here, but its header says that there was more.
    Cut,
    /// No chunk begins where one should.
    NoChunk,
    /// A chunk says that it is longer or shorter than it is.
    ChunkLength,
    /// A sealed chunk's checksum does not hold.
    Checksum {
        /// The name of the chunk's kind.
        kind: &'static str,
    },
    /// Chunks of a lane are missing before this one.
    MissingChunks {
        /// The name of the chunks' kind.
        kind: &'static str,
        /// How many.
        count: u32,
    },
    /// The bytes are no record of a wait; the rest of the chunk was left out.
    Record,
    /// The bytes are no definition; the rest of the chunk was left out.
    Definition,
    /// A definition lacks fields or has values that are not possible.
    DefinitionFields,
    /// A definition's id is too far from the ones before it.
    DefinitionId,
    /// Something else, of a format other than the event log; what, and what was
    /// done about it.
    Other(&'static str),
    /// More places are damaged than are told one by one.
    More {
        /// How many.
        count: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: offset {:#x}: ", self.log, self.offset)?;
        match &self.fault {
            Fault::Metadata => {
                f.write_str("the header's texts are damaged; they may be wrong about the JVM")
            }
            Fault::Cut => write!(
                f,
                "the file was cut here, {} bytes are missing; what comes before was read",
                self.skipped
            ),
            Fault::NoChunk => {
                write!(f, "no chunk begins here; skipped {} bytes to the next one", self.skipped)
            }
            Fault::ChunkLength => {
                f.write_str("a chunk's length is wrong; what it claims to have written was read")
            }
            Fault::Checksum { kind } => write!(
                f,
                "the checksum of a chunk of {kind} does not hold; skipped its {} bytes",
                self.skipped
            ),
            Fault::MissingChunks { kind, count } => {
                write!(f, "{count} chunks of {kind} are missing before this one")
            }
            Fault::Record => write!(
                f,
                "not a record; skipped the {} bytes to the end of its chunk",
                self.skipped
            ),
            Fault::Definition => write!(
                f,
                "not a definition; skipped the {} bytes to the end of its chunk",
                self.skipped
            ),
            Fault::DefinitionFields => {
                write!(f, "a definition is damaged; skipped its {} bytes", self.skipped)
            }
            Fault::DefinitionId => write!(
                f,
                "a definition's id is too large to be right; skipped its {} bytes",
                self.skipped
            ),
            Fault::Other(what) => f.write_str(what),
            Fault::More { count } => write!(f, "{count} more places are damaged after this one"),
        }
    }
}

impl Damage {
    /// Sorts damaged places by their offset, and counts those beyond
    /// [`limits::MAX_DAMAGE`] instead of keeping them.
    pub fn bound(places: &mut Vec<Damage>) {
        places.sort_unstable();
        let beyond = places.split_off(places.len().min(limits::MAX_DAMAGE));
        let count = |damage: &Damage| match damage.fault {
            Fault::More { count } => count,
            _ => 1,
        };
        if let Some(first) = beyond.first() {
            let fault = Fault::More { count: beyond.iter().map(count).sum() };
            let skipped =
                beyond.iter().fold(0, |sum: u64, damage| sum.saturating_add(damage.skipped));
            places.push(Damage { log: first.log.clone(), offset: first.offset, fault, skipped });
        }
    }
}

/// Damaged places, the first [`limits::MAX_DAMAGE`] of them one by one.
#[derive(Clone, Debug)]
pub(crate) struct DamageList {
    log: Arc<str>,
    list: Vec<Damage>,
}

impl DamageList {
    pub(crate) fn new(log: Arc<str>) -> DamageList {
        DamageList { log, list: Vec::new() }
    }

    pub(crate) fn add(&mut self, offset: u64, fault: Fault, skipped: u64) {
        if self.list.len() < limits::MAX_DAMAGE {
            self.list.push(Damage { log: self.log.clone(), offset, fault, skipped });
        } else if let Some(Damage { fault: Fault::More { count }, skipped: sum, .. }) =
            self.list.last_mut()
        {
            *count += 1;
            *sum = sum.saturating_add(skipped);
        } else {
            let fault = Fault::More { count: 1 };
            self.list.push(Damage { log: self.log.clone(), offset, fault, skipped });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn into_vec(self) -> Vec<Damage> {
        self.list
    }
}
