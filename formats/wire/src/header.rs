//! The header block at the front of a log.

use crate::{le, varint};

/// The first eight bytes of every log. The high bit of the first byte and the
/// line feed at the end give away a transfer in text mode.
pub const MAGIC: [u8; 8] = *b"\x89TYRION\n";
/// The format version that this code writes. Readers accept it and all older.
pub const VERSION: u16 = 1;
/// The header block and every chunk are a multiple of this many bytes long.
pub const BLOCK: usize = 4096;
/// Where the metadata stand in the header block.
pub const METADATA_AT: usize = 256;

/// Offsets of the fields that the agent changes, or looks at, while it records.
pub mod field {
    /// `u64`: Unix time of the start, ns.
    pub const WALL_NS: usize = 16;
    /// `u64`: monotonic time of the start, ns.
    pub const MONO_NS: usize = 24;
    /// `u64`: monotonic time of the orderly end, 0 before it.
    pub const END_NS: usize = 32;
    /// `u64`: length of the file that chunks were carved from so far, in bytes.
    pub const USED_LEN: usize = 40;
    /// `u32`: a [`RecordingState`](super::RecordingState).
    pub const STATE: usize = 48;
    /// `u64`: waits shorter than this, in ns, are folded.
    pub const THRESHOLD_NS: usize = 56;
    /// `u64`: contended waits lost because there was no room in the log.
    pub const DROPPED_CONTENTION: usize = 80;
    /// `u64`: other waits lost because there was no room in the log.
    pub const DROPPED_OTHER: usize = 88;
    /// `u32`: not 0 once the recording has gone on in another file.
    pub const CONTINUED: usize = 96;
}

crate::named_enum! {
    /// What the agent is doing with the log.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u32)]
    pub enum RecordingState {
        /// Waits are recorded. After the end of the process it means that the
        /// process was killed.
        Recording = 0 => "recording",
        /// Switched off by `enabled=false` or `tyrion stop`.
        Paused = 1 => "paused",
        /// Ended in an orderly way: the JVM has, or the recording goes on in another
        /// file ([`Header::continued`]).
        Closed = 2 => "closed",
        /// The log could not be written on: disk full, file deleted or truncated.
        Broken = 3 => "broken",
    }
}

impl RecordingState {
    /// The state of this code; unknown ones count as broken.
    pub fn from_code(code: u32) -> RecordingState {
        Self::ALL.get(code as usize).copied().unwrap_or(RecordingState::Broken)
    }
}

/// The fixed part of the header block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Format version, see [`VERSION`].
    pub version: u16,
    /// Length of the header block in bytes; the first chunk stands there.
    pub header_len: u32,
    /// Unix time of the anchor, in ns.
    pub wall_ns: u64,
    /// Monotonic time of the anchor, in ns. All other times in the log are on
    /// this clock.
    pub mono_ns: u64,
    /// Monotonic time of the orderly end, 0 before it.
    pub end_ns: u64,
    /// Bytes that chunks were carved from so far.
    pub used_len: u64,
    /// What the agent is doing.
    pub state: RecordingState,
    /// The process that was recorded.
    pub pid: u32,
    /// Waits shorter than this, in ns, are folded.
    pub threshold_ns: u64,
    /// The most frames a stack has.
    pub depth: u32,
    /// Contended waits lost because there was no room in the log.
    pub dropped_contention: u64,
    /// Other waits lost because there was no room in the log.
    pub dropped_other: u64,
    /// Whether the recording has gone on in another file.
    pub continued: bool,
    /// Keys and values about the JVM and the recording, in order.
    pub metadata: Vec<(String, String)>,
}

/// Why a header block cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// Too few bytes; so many are needed at least.
    Short(usize),
    /// The first eight bytes are not [`MAGIC`].
    NotALog,
    /// The log was written by a newer Tyrion, with this format version.
    Newer(u16),
    /// A length in the header is impossible; the offset of that field.
    Length(usize),
    /// The metadata at this offset are not well-formed keys and values.
    Metadata(usize),
}

impl Header {
    /// The header block, `header_len` bytes long whatever the field says.
    /// `checksum` is CRC-32 (IEEE) of the metadata.
    pub fn encode(&self, checksum: impl Fn(&[u8]) -> u32) -> Vec<u8> {
        let mut metadata = Vec::new();
        for text in self.metadata.iter().flat_map(|(key, value)| [key, value]) {
            varint::put(&mut metadata, text.len() as u64);
            metadata.extend_from_slice(text.as_bytes());
        }
        let len = (METADATA_AT + metadata.len()).next_multiple_of(BLOCK);
        let mut block = vec![0; len];
        le::put(&mut block, 0, &MAGIC);
        le::put(&mut block, 8, &self.version.to_le_bytes());
        le::put(&mut block, 12, &(len as u32).to_le_bytes());
        le::put(&mut block, field::WALL_NS, &self.wall_ns.to_le_bytes());
        le::put(&mut block, field::MONO_NS, &self.mono_ns.to_le_bytes());
        le::put(&mut block, field::END_NS, &self.end_ns.to_le_bytes());
        le::put(&mut block, field::USED_LEN, &self.used_len.to_le_bytes());
        le::put(&mut block, field::STATE, &(self.state as u32).to_le_bytes());
        le::put(&mut block, 52, &self.pid.to_le_bytes());
        le::put(&mut block, field::THRESHOLD_NS, &self.threshold_ns.to_le_bytes());
        le::put(&mut block, 64, &self.depth.to_le_bytes());
        le::put(&mut block, 68, &(metadata.len() as u32).to_le_bytes());
        le::put(&mut block, 72, &checksum(&metadata).to_le_bytes());
        le::put(&mut block, field::DROPPED_CONTENTION, &self.dropped_contention.to_le_bytes());
        le::put(&mut block, field::DROPPED_OTHER, &self.dropped_other.to_le_bytes());
        le::put(&mut block, field::CONTINUED, &u32::from(self.continued).to_le_bytes());
        le::put(&mut block, METADATA_AT, &metadata);
        block
    }

    /// Reads the header block at the front of `bytes`.
    ///
    /// # Errors
    /// See [`HeaderError`]. Wrong metadata are not an error while their
    /// lengths are right: the caller compares the checksum if it cares.
    pub fn decode(bytes: &[u8]) -> Result<Header, HeaderError> {
        let known = &bytes[..bytes.len().min(MAGIC.len())];
        if known != &MAGIC[..known.len()] || bytes.is_empty() {
            return Err(HeaderError::NotALog);
        }
        let short = HeaderError::Short(METADATA_AT);
        let u32_at = |at| le::u32_at(bytes, at).ok_or(short);
        let u64_at = |at| le::u64_at(bytes, at).ok_or(short);
        let version = le::u16_at(bytes, 8).ok_or(short)?;
        if version > VERSION {
            return Err(HeaderError::Newer(version));
        }
        let header_len = u32_at(12)?;
        let metadata_len = u32_at(68)? as usize;
        let block = header_len as usize;
        if block < BLOCK || !block.is_multiple_of(BLOCK) {
            return Err(HeaderError::Length(12));
        }
        if metadata_len > block - METADATA_AT {
            return Err(HeaderError::Length(68));
        }
        let metadata =
            bytes.get(METADATA_AT..METADATA_AT + metadata_len).ok_or(HeaderError::Short(block))?;
        Ok(Header {
            version,
            header_len,
            wall_ns: u64_at(field::WALL_NS)?,
            mono_ns: u64_at(field::MONO_NS)?,
            end_ns: u64_at(field::END_NS)?,
            used_len: u64_at(field::USED_LEN)?,
            state: RecordingState::from_code(u32_at(field::STATE)?),
            pid: u32_at(52)?,
            threshold_ns: u64_at(field::THRESHOLD_NS)?,
            depth: u32_at(64)?,
            dropped_contention: u64_at(field::DROPPED_CONTENTION)?,
            dropped_other: u64_at(field::DROPPED_OTHER)?,
            continued: u32_at(field::CONTINUED)? != 0,
            metadata: decode_metadata(metadata)?,
        })
    }

    /// The value of a metadata key.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let found = self.metadata.iter().find(|(name, _)| name == key)?;
        Some(&found.1)
    }
}

fn decode_metadata(bytes: &[u8]) -> Result<Vec<(String, String)>, HeaderError> {
    let mut at = 0;
    let mut text = || -> Option<String> {
        let (len, read) = varint::read(bytes.get(at..)?)?;
        let start = at + read;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        at = end;
        Some(String::from_utf8_lossy(bytes.get(start..end)?).into_owned())
    };
    let mut pairs = Vec::new();
    // One more call than there are texts: it finds the end.
    while let Some(key) = text() {
        let Some(value) = text() else {
            return Err(HeaderError::Metadata(METADATA_AT));
        };
        pairs.push((key, value));
    }
    if at != bytes.len() {
        return Err(HeaderError::Metadata(METADATA_AT));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            version: VERSION,
            header_len: BLOCK as u32,
            wall_ns: 1_700_000_000_000_000_000,
            mono_ns: 5,
            end_ns: 6,
            used_len: 8192,
            state: RecordingState::Closed,
            pid: 77,
            threshold_ns: 10_000,
            depth: 128,
            dropped_contention: 3,
            dropped_other: 4,
            continued: true,
            metadata: vec![("jvm".into(), "HotSpot".into()), ("main".into(), String::new())],
        }
    }

    #[test]
    fn round_trips() {
        let block = header().encode(|_| 0);
        assert_eq!(block.len(), BLOCK);
        assert_eq!(Header::decode(&block), Ok(header()));
        assert_eq!(header().metadata("jvm"), Some("HotSpot"));
    }

    #[test]
    fn long_metadata_lengthen_the_block() {
        let mut long = header();
        long.metadata.push(("flags".into(), "x".repeat(5000)));
        let block = long.encode(|_| 0);
        assert_eq!(block.len(), 2 * BLOCK);
        assert_eq!(Header::decode(&block).map(|h| h.metadata.len()), Ok(3));
    }

    #[test]
    fn rejects_what_is_no_header() {
        let block = header().encode(|_| 0);
        assert_eq!(Header::decode(b""), Err(HeaderError::NotALog));
        assert_eq!(Header::decode(b"# callgrind format"), Err(HeaderError::NotALog));
        for cut in 1..METADATA_AT {
            assert!(matches!(Header::decode(&block[..cut]), Err(HeaderError::Short(_))));
        }
        let mut newer = block.clone();
        newer[8] = VERSION as u8 + 1;
        assert_eq!(Header::decode(&newer), Err(HeaderError::Newer(VERSION + 1)));
        let mut odd = block.clone();
        odd[12] = 1;
        assert_eq!(Header::decode(&odd), Err(HeaderError::Length(12)));
        let mut torn = block;
        torn[METADATA_AT] = 200;
        assert_eq!(Header::decode(&torn), Err(HeaderError::Metadata(METADATA_AT)));
    }
}
