//! How inputs other than the event log make a recording: they write its
//! definitions and records as a log in memory, which is then read like any
//! other.

use crate::{
    bytes::Bytes,
    damage::{DamageList, Fault},
    error::Error,
    event_log, file,
    input::Input,
    limits::MAX_IN_MEMORY,
    recording::{Facts, Lacks, Owners, Recording, ShortWaits},
};
use event_log::write::{LogOptions, LogWriter};
use std::{
    fs::File,
    io::{self, BufWriter, Cursor, Seek, SeekFrom, Write},
    sync::Arc,
};
use tyrion_wire::header::Header;

/// The last chunk of each lane is padded, and there may be a lane for each
/// thread.
const CHUNK_LEN: u32 = 1 << 14;

/// Where an imported log is written.
pub struct ImportStore(StorePlace);

enum StorePlace {
    Memory(Cursor<Vec<u8>>),
    File(BufWriter<File>),
}

impl ImportStore {
    pub(crate) fn new() -> ImportStore {
        ImportStore(StorePlace::Memory(Cursor::new(Vec::new())))
    }

    pub(crate) fn into_bytes(self) -> io::Result<Bytes> {
        match self.0 {
            StorePlace::Memory(bytes) => Ok(bytes.into_inner().into()),
            StorePlace::File(file) => {
                let file = file.into_inner()?;
                let len = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
                Bytes::map(&file, len)
            }
        }
    }

    /// Goes on in a file.
    fn spill(&mut self) -> io::Result<()> {
        if let StorePlace::Memory(bytes) = &mut self.0 {
            let at = bytes.position();
            let mut file = BufWriter::with_capacity(1 << 20, file::without_name()?);
            file.write_all(bytes.get_ref())?;
            file.seek(SeekFrom::Start(at))?;
            self.0 = StorePlace::File(file);
        }
        Ok(())
    }
}

impl Write for ImportStore {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let StorePlace::Memory(memory) = &self.0
            && memory.get_ref().len().saturating_add(bytes.len()) > MAX_IN_MEMORY
        {
            self.spill()?;
        }
        match &mut self.0 {
            StorePlace::Memory(memory) => memory.write(bytes),
            StorePlace::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            StorePlace::Memory(memory) => memory.flush(),
            StorePlace::File(file) => file.flush(),
        }
    }
}

impl Seek for ImportStore {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            StorePlace::Memory(memory) => memory.seek(to),
            StorePlace::File(file) => file.seek(to),
        }
    }
}

/// Makes a recording of what an input reads.
pub struct Importer {
    /// Takes definitions and records. Times are monotonic ns, from the header's
    /// `mono_ns` on.
    pub log: LogWriter<ImportStore>,
    /// What becomes known of the recording while it is read, put into its facts in
    /// the end: all but version, lengths and the anchor of its clock.
    pub header: Header,
    input: Input,
    name: Arc<str>,
    short_waits: ShortWaits,
    owners: Owners,
    lacks: Lacks,
    damage: DamageList,
}

impl Importer {
    /// For a file of this name, which `input` reads. `header` says what is known
    /// of the recording; version and lengths are the writer's to fill in.
    ///
    /// # Errors
    /// As writing to memory, or to a temporary file.
    pub fn new(input: Input, name: &str, header: Header) -> io::Result<Importer> {
        let options = LogOptions { header: header.clone(), chunk_len: CHUNK_LEN, seal: false };
        let name: Arc<str> = name.into();
        Ok(Importer {
            log: LogWriter::new(ImportStore::new(), options)?,
            header,
            input,
            short_waits: ShortWaits::Counted,
            owners: Owners::AtStart,
            lacks: Lacks::default(),
            damage: DamageList::new(name.clone()),
            name,
        })
    }

    /// Says what is known of waits below the header's threshold.
    pub fn set_short_waits(&mut self, known: ShortWaits) {
        self.short_waits = known;
    }

    /// Says who the owners are that waits name.
    pub fn set_owners(&mut self, owners: Owners) {
        self.owners = owners;
    }

    /// Says what else the format does not tell.
    pub fn set_lacks(&mut self, lacks: Lacks) {
        self.lacks = lacks;
    }

    /// Tells of a damaged place of the file: `what` is wrong at an offset, and
    /// how many bytes are left out.
    pub fn add_damage(&mut self, offset: u64, what: &'static str, skipped: u64) {
        self.damage.add(offset, Fault::Other(what), skipped);
    }

    /// Tells that the file was cut where it ends, and how many bytes are missing.
    pub fn add_cut(&mut self, end: u64, missing: u64) {
        self.damage.add(end, Fault::Cut, missing);
    }

    /// Whether anything was told of damage so far.
    pub fn is_damaged(&self) -> bool {
        !self.damage.is_empty()
    }

    /// The recording.
    ///
    /// # Errors
    /// When definitions take more than [`limits`](crate::limits) allow.
    pub fn finish(self) -> Result<Recording, Error> {
        let io = |source| Error::Io { log: self.name.to_string(), source };
        let bytes = self.log.finish().and_then(ImportStore::into_bytes).map_err(io)?;
        let mut recording = event_log::read(&self.name, bytes)?;
        let header = self.header;
        recording.facts = Facts {
            format: self.input.name,
            version: 0,
            end_ns: header.end_ns,
            state: header.state,
            pid: header.pid,
            threshold_ns: header.threshold_ns,
            short_waits: self.short_waits,
            owners: self.owners,
            lacks: self.lacks,
            depth: header.depth,
            metadata: header.metadata,
            ..recording.facts
        };
        recording.damage.extend(self.damage.into_vec());
        Ok(recording)
    }
}
