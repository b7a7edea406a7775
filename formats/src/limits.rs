//! Hard caps on what a log's bytes can make a reader do.
//!
//! Together they bound the memory that reading a log takes, whatever its
//! bytes: for the list of chunks 48 bytes a chunk, of 4 KiB at least; for the
//! tables 24 bytes a row, be it defined (in 3 bytes at least) or missing
//! ([`MAX_MISSING_IDS`]); three times that while a table grows; for a lock, its
//! name or its instance 21 bytes (defined in 4 at least) and for a place 48
//! (defined in 8), whatever their ids, and half as much again while their table
//! grows; for a collection 16 (defined in 4 at least), three times that while the
//! list grows, and twice while it is put in order; for the texts of options that changed
//! 8 KiB a change ([`MAX_OPTION_CHANGES`]); for slots and counters as much as they take
//! in the file; and less than 2 MiB besides.

/// How many bytes are read of what is no regular file and cannot be mapped, such
/// as a pipe: all of them are in memory. As many are unpacked of what is compressed.
pub const MAX_STREAM: u64 = 4 << 30;

/// The longest header block that is read, in bytes.
pub const MAX_HEADER_LEN: usize = 1 << 20;

/// How many ids of a log may be skipped by its definitions, all types added
/// up but locks and places, which are sparse. The others are dense, so only a
/// lost definitions chunk leaves any out.
pub const MAX_MISSING_IDS: usize = 1 << 20;

/// How many ids a file of this many bytes can have lost: each was defined in
/// three bytes at least.
pub(crate) fn missing_ids(file_len: usize) -> usize {
    (file_len / 3).min(MAX_MISSING_IDS)
}

/// The longest text that is read, in bytes; longer ones are cut.
pub const MAX_TEXT: usize = tyrion_wire::def::MAX_TEXT;

/// How many keys statistics may have; others are left out.
pub const MAX_STATISTICS: usize = 4096;

/// How many pauses of a recording are known; others count as recorded.
pub const MAX_PAUSES: usize = 65_536;

/// How many changes of options are known; later ones are left out.
pub const MAX_OPTION_CHANGES: usize = 1000;

/// How many damaged places are told one by one; the others are counted.
pub const MAX_DAMAGE: usize = 1000;

/// How many frames a stack has at most; deeper ones are cut.
pub const MAX_DEPTH: u32 = 1 << 14;

/// How often a cell or slot is read again while its writer changes it.
pub const MAX_RETRIES: usize = 1000;

/// The longest profile of pprof that is read, unpacked, in bytes. Reading a profile takes
/// some ten times as much memory; one that is made up to take more is held to some eighty
/// times as much by [`profile_frames`].
pub const MAX_PROFILE: usize = 512 << 20;

/// How many frames the stacks of a profile of this many bytes can have, all added up;
/// those of later samples are cut. A location takes a byte in a sample and may stand for
/// many functions, but in profiles of programs a frame takes more than a byte.
pub(crate) fn profile_frames(len: usize) -> usize {
    len.saturating_mul(2).saturating_add(1 << 20)
}

/// How many types of values the samples of a profile have at most; others are left out.
pub const MAX_SAMPLE_TYPES: usize = 256;

/// The longest line of collapsed stacks that is read, in bytes.
pub const MAX_LINE: usize = 1 << 24;
