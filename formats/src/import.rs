//! How inputs other than the event log make a recording: they write its
//! definitions and records as a log in memory, which is then read like any
//! other.

use crate::{
    damage::{DamageList, Fault},
    error::Error,
    event_log,
    input::Input,
    recording::{Recording, ShortWaits},
};
use event_log::write::{LogOptions, LogWriter};
use std::{
    io::{self, Cursor},
    sync::Arc,
};
use tyrion_wire::header::Header;

/// The last chunk of each lane is padded, and there may be a lane for each
/// thread.
const CHUNK_LEN: u32 = 1 << 14;

/// Makes a recording of what an input reads.
pub struct Importer {
    /// Takes definitions and records. Times are monotonic ns, from the header's
    /// `mono_ns` on. Nothing fails while it writes to memory.
    pub log: LogWriter<Cursor<Vec<u8>>>,
    input: Input,
    name: Arc<str>,
    short_waits: ShortWaits,
    damage: DamageList,
}

impl Importer {
    /// For a file of this name, which `input` reads. `header` says what is known
    /// of the recording; version and lengths are the writer's to fill in.
    ///
    /// # Errors
    /// Writing to memory does not fail.
    pub fn new(input: Input, name: &str, header: Header) -> io::Result<Importer> {
        let options = LogOptions { header, chunk_len: CHUNK_LEN, seal: false };
        let name: Arc<str> = name.into();
        Ok(Importer {
            log: LogWriter::new(Cursor::new(Vec::new()), options)?,
            input,
            short_waits: ShortWaits::Counted,
            damage: DamageList::new(name.clone()),
            name,
        })
    }

    /// Says what is known of waits below the header's threshold.
    pub fn set_short_waits(&mut self, known: ShortWaits) {
        self.short_waits = known;
    }

    /// Tells of a damaged place of the file: `what` is wrong at an offset, and
    /// how many bytes are left out.
    pub fn add_damage(&mut self, offset: u64, what: &'static str, skipped: u64) {
        self.damage.add(offset, Fault::Other(what), skipped);
    }

    /// The recording.
    ///
    /// # Errors
    /// When definitions take more than [`limits`](crate::limits) allow.
    pub fn finish(self) -> Result<Recording, Error> {
        let io = |source| Error::Io { log: self.name.to_string(), source };
        let bytes = self.log.finish().map_err(io)?.into_inner();
        let mut recording = event_log::read(&self.name, bytes.into())?;
        recording.facts.format = self.input.name;
        recording.facts.version = 0;
        recording.facts.short_waits = self.short_waits;
        recording.damage.extend(self.damage.into_vec());
        Ok(recording)
    }
}
