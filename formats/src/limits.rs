//! Hard caps on what a log's bytes can make a reader do.
//!
//! Together they bound the memory that reading a log takes, whatever its
//! bytes: 12 bytes for each 1 KiB of the file (chunk list), at most eight
//! times the bytes of its definitions chunks (tables), [`MAX_MISSING_IDS`]
//! rows of 24 bytes (ids that are not defined), and less than 1 MiB besides.

/// The longest header block that is read, in bytes.
pub const MAX_HEADER_LEN: usize = 1 << 20;

/// How many ids of a log may be skipped by its definitions, all types added
/// up. Ids are dense, so only a lost definitions chunk leaves any out.
pub const MAX_MISSING_IDS: usize = 1 << 22;

/// The longest text that is read, in bytes; longer ones are cut.
pub const MAX_TEXT: usize = tyrion_wire::def::MAX_TEXT;

/// How many damaged places are told one by one; the others are counted.
pub const MAX_DAMAGE: usize = 1000;

/// How many frames a stack has at most; deeper ones are cut.
pub const MAX_DEPTH: u32 = 1 << 14;

/// How often a cell or slot is read again while its writer changes it.
pub const MAX_RETRIES: usize = 1000;
