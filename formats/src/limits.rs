//! Hard caps on what a file's bytes can make a reader do.
//!
//! Together they bound the memory that reading a file takes, whatever its bytes:
//! [`memory`] says how much, and files that are made to take much are held to it by
//! `formats/tests/memory`. Where a cap leaves something out, the recording's damage says
//! so, unless its documentation here says what else tells it.
//!
//! Of an event log the memory is for the list of chunks 48 bytes a chunk, of 4 KiB at
//! least; for the tables 24 bytes a row, be it defined (in 3 bytes at least) or missing
//! ([`MAX_MISSING_IDS`]); three times that while a table grows; for a lock, its
//! name or its instance 21 bytes (defined in 4 at least) and for a place 48
//! (defined in 8), whatever their ids, and half as much again while their table
//! grows; for a collection 16 (defined in 4 at least), three times that while the
//! list grows, and twice while it is put in order; for the texts of options that changed
//! 8 KiB a change ([`MAX_OPTION_CHANGES`]); for slots and counters as much as they take
//! in the file; and less than 2 MiB besides.
//!
//! The other inputs write a log, which is in memory up to [`MAX_IN_MEMORY`] bytes and in a
//! temporary file beyond, and is then read like any other. What they write it from, they
//! remember by its parts: each text, method, frame below another one, lock and thread once,
//! some hundred bytes each. A part takes a byte or two in the file, so their number is
//! bounded by the file's length, except where one place of the file may stand for many
//! parts: then a cap that grows with the length bounds what is made of all places
//! ([`stack_frames`], [`jfr::asked_for`], [`original::charges`]). Each lane that is written
//! has a buffer ([`MAX_LANES`]). Besides:
//!
//! - Of Flight Recorder's recordings several chunks are read at once ([`jfr::AT_ONCE`],
//!   [`jfr::MAX_AT_ONCE`]), and those before them are in memory meanwhile: of each its
//!   metadata ([`jfr::MAX_FIELDS`]), where its constants stand ([`jfr::constants`]), and
//!   its events, 24 bytes each.
//! - Of a log of the original Tyrion all acquisitions are in memory.
//! - A profile of pprof is in memory as a list of where its parts stand.
//! - Of thread dumps one is in memory at a time, and of all of them some hundred bytes a
//!   thread.
//! - Of collapsed stacks a line is in memory at a time ([`MAX_LINE`]).
//!
//! What is compressed with gzip is unpacked first, into a temporary file beyond
//! [`MAX_IN_MEMORY`] bytes, and the bounds are those of a file as long as what is unpacked
//! ([`MAX_STREAM`]).

/// How many bytes are read of what is no regular file and cannot be mapped, such
/// as a pipe: all of them are in memory. As many are unpacked of what is compressed.
pub const MAX_STREAM: u64 = if IN_PAGE { 1 << 30 } else { 4 << 30 };

/// Beyond so many bytes, what is unpacked or made of another input goes to a file
/// without a name, which is mapped like any other.
pub const MAX_IN_MEMORY: usize = if IN_PAGE { 1 << 30 } else { 64 << 20 };

/// A page in a browser has no files, and less memory.
const IN_PAGE: bool = cfg!(target_family = "wasm");

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

/// How many bytes of a name tell what it is compared with apart. The names that are
/// looked for are shorter.
pub(crate) const MAX_TOLD_APART: usize = 256;

/// How many keys statistics may have; others are left out.
pub const MAX_STATISTICS: usize = 4096;

/// How many pauses of a recording are known; others count as recorded.
pub const MAX_PAUSES: usize = 65_536;

/// How many changes of options are known; later ones are left out.
pub const MAX_OPTION_CHANGES: usize = 1000;

/// How many damaged places are told one by one; the others are counted.
pub const MAX_DAMAGE: usize = 1000;

/// How many frames a stack has at most; deeper ones are cut, and end in a frame that says
/// so.
pub const MAX_DEPTH: u32 = 1 << 14;

/// How often a cell or slot is read again while its writer changes it.
pub const MAX_RETRIES: usize = 1000;

/// How many frames the stacks of a profile of pprof or of a chunk of Flight Recorder of
/// this many bytes can have, all added up; those of later ones are cut. A location takes a
/// byte in a sample and may stand for many functions, and a stack takes a byte in an event
/// and is looked up with each class, but in files of programs a frame takes more than a
/// byte.
pub fn stack_frames(len: usize) -> usize {
    len.saturating_mul(2).saturating_add(1 << 18)
}

/// How many threads get a lane of their own in the log that is made of another input: each
/// has a buffer of 16 KiB. The others share one, which takes longer to write and read but
/// leaves nothing out.
pub(crate) const MAX_LANES: usize = 1 << 10;

/// How many sums by thread and site of a profile are added up before they are written;
/// then sums of the same are written again, and added up by whoever reads them.
pub(crate) const MAX_SUMS: usize = 1 << 16;

/// The longest profile of pprof that is read, unpacked, in bytes.
pub const MAX_PROFILE: usize = 512 << 20;

/// How many types of values the samples of a profile have at most; others are left out,
/// and cannot be named.
pub const MAX_SAMPLE_TYPES: usize = 256;

/// How many comments of a profile are read; they only tell who made it.
pub const MAX_COMMENTS: usize = 256;

/// The longest line of collapsed stacks that is read, in bytes.
pub const MAX_LINE: usize = 1 << 24;

/// Caps on recordings of Flight Recorder.
pub mod jfr {
    /// How many chunks are read. Those of Flight Recorder have twelve megabytes.
    pub const MAX_CHUNKS: usize = 1 << 16;

    /// Chunks up to this length are read whole, several at once; longer ones in blocks of
    /// events.
    pub(crate) const WHOLE: usize = 16 << 20;

    /// How many bytes of chunks are read at once. What is made of them takes twice as much
    /// memory where events are as long as those of JVMs.
    pub(crate) const AT_ONCE: usize = 24 << 20;

    /// How many chunks are read at once: each may have metadata of some megabytes.
    pub(crate) const MAX_AT_ONCE: usize = 16;

    /// Elements within elements of metadata, and structures within structures, at most.
    /// Metadata with deeper ones, or with more than any of the following, count as
    /// unreadable.
    pub(crate) const MAX_NESTED: usize = 16;

    /// How many texts metadata have at most; those of a JDK have some two thousand.
    pub const MAX_TEXTS: usize = 1 << 17;

    /// How many types and fields, together, metadata have at most; those of a JDK have some
    /// fifteen hundred.
    pub const MAX_FIELDS: usize = 1 << 16;

    /// Of how many constants of a chunk of this many bytes it is known where they stand,
    /// sixteen bytes each. A usual chunk has some ten thousand, each longer than four bytes;
    /// beyond that they count as unreadable.
    pub fn constants(len: usize) -> usize {
        (len / 4).min(1 << 22)
    }

    /// How many bytes of constants are read when they are asked for, of a chunk of this many
    /// bytes; then names are missing. A usual constant is asked for a few times, by others
    /// and by events, but a long one may be asked for by each of them.
    pub fn asked_for(len: usize) -> usize {
        len.saturating_mul(64).saturating_add(16 << 20)
    }

    /// How many settings and the like are read of a chunk; a usual one has some thirty that
    /// matter.
    pub const MAX_SETTINGS: usize = 1 << 10;

    /// How many waits of pinned threads of a chunk are compared with its other waits.
    pub const MAX_PINNED: usize = 1 << 18;

    /// How many pauses of the collector are read of a recording.
    pub const MAX_COLLECTIONS: usize = 1 << 20;

    /// How many keys of a sort are remembered; then they are looked up anew, and nothing is
    /// left out. In a crafted chunk each event could have others.
    pub(crate) const MAX_REMEMBERED: usize = 1 << 18;

    /// How many locks are told apart; of others only the class is known.
    pub const MAX_LOCKS: usize = 1 << 18;
}

/// Caps on thread dumps.
pub mod thread_dump {
    /// How much of a line is read, in bytes; of a longer one the rest is left out.
    pub const MAX_LINE: usize = 1 << 14;

    /// The longest dump in JSON that is read, in bytes: all of it is in memory.
    pub const MAX_JSON: usize = 512 << 20;

    /// How many threads a lock has at most that is only inferred to have been taken by them.
    pub const MAX_INFERRED: usize = 64;
}

/// Caps on logs of the original Tyrion.
pub mod original {
    /// How many acquisitions are read.
    pub const MAX_ACQUISITIONS: usize = 1 << 24;

    /// How many locks are told apart; events of others are left out.
    pub const MAX_LOCKS: usize = 1 << 22;

    /// The same of threads.
    pub const MAX_THREADS: usize = 1 << 20;

    /// How many new names of threads are read.
    pub const MAX_NAMES: usize = 1 << 20;

    /// How many locks a thread has at once; what it takes besides counts as `unpaired`,
    /// which the metadata tell.
    pub const MAX_OPEN: usize = 1 << 12;

    /// How many ways to take a lock within others are read.
    pub const MAX_NESTINGS: usize = 1 << 18;

    /// Within how many others a lock is taken at most: who has more is told as if these
    /// were all. Nothing says so; no program is known that comes near.
    pub const MAX_OUTER: usize = 64;

    /// Of a wait, how many holds are looked at for whom it was for.
    pub const MAX_HOLDS: usize = 256;

    /// How many parts of waits, each for one holder, are told of a log of this many bytes.
    /// A wait takes three lines of some two hundred bytes each, and has a part for each
    /// thread that was before it.
    pub fn charges(len: usize) -> usize {
        (1 << 18) + len / 16
    }
}

/// How much memory reading a file takes at most: so much, and so much more for each byte
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Of any file.
    pub bytes: u64,
    /// For each byte of it.
    pub per_byte: u64,
}

impl Memory {
    /// For a file of this length.
    pub fn of(self, len: u64) -> u64 {
        len.saturating_mul(self.per_byte).saturating_add(self.bytes)
    }
}

/// How much memory reading a file takes at most, by the name of its input, where it is
/// mapped: without its own bytes. Of what is compressed the length is that of what is
/// unpacked, and it takes up to twice [`MAX_IN_MEMORY`] more.
pub fn memory(input: &str) -> Memory {
    let (mebibytes, per_byte) = match input {
        "event-log" => (2, 24),
        "jfr" => (36, 32),
        "original-tyrion" => (32, 32),
        "collapsed" => (8, 120),
        "thread-dump" => (16, 200),
        "pprof" => (40, 64),
        // They become a profile of pprof first.
        "pprof-text" | "otlp" => (40, 250),
        _ => (0, 0),
    };
    Memory { bytes: mebibytes << 20, per_byte }
}
