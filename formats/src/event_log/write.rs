//! Writes logs: for tests, benchmarks, documents and what imports other formats,
//! not for the agent, which writes into mapped memory with the same codecs.
//!
//! ```
//! use tyrion_formats::{Recording, wire::WaitKind, write::{LogOptions, LogWriter, Wait}};
//!
//! let mut log = LogWriter::new(std::io::Cursor::new(Vec::new()), LogOptions::default())?;
//! let class = log.class("com/acme/Bank", "Bank.java")?;
//! let method = log.method(class, "transfer", "(I)V", 20)?;
//! let stack = log.stack(0, method, 23)?;
//! let lock = log.lock(class)?;
//! let site = log.site(WaitKind::Monitor, stack, lock)?;
//! let main = log.thread(1, "main", "main", 0)?;
//! let lane = log.lane(main);
//! log.wait(lane, Wait { end_ns: 5_000, wait_ns: 2_000, site, ..Wait::default() })?;
//! let bytes = log.finish()?.into_inner();
//! let read = Recording::from_bytes("doc.log", bytes)?;
//! let mut events = read.events(&read.event_chunks()[0]).map_err(|damage| damage.to_string())?;
//! assert_eq!(events.next().map(|event| event.start_ns), Some(3_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunk;
mod sample;
mod trace;

use chunk::Pieces;
use std::{
    collections::HashMap,
    io::{self, Seek, SeekFrom, Write},
};
use tyrion_wire::{
    Outcome, WaitKind,
    cell::Cell,
    chunk::ChunkKind,
    def::{Definition, id},
    event::{self, MAX_WAIT_LEN, WaitRecord},
    header::{Header, RecordingState, VERSION},
    slot::{Counters, Pending},
};

/// How a log is written.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The header, but for the lengths.
    pub header: Header,
    /// Length of each chunk in bytes, a multiple of 4096.
    pub chunk_len: u32,
    /// Whether chunks get their checksum.
    pub seal: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            header: Header {
                version: VERSION,
                header_len: 0,
                wall_ns: 1_700_000_000_000_000_000,
                mono_ns: 0,
                end_ns: 0,
                used_len: 0,
                state: RecordingState::Closed,
                pid: 1,
                threshold_ns: 0,
                depth: 128,
                dropped_contention: 0,
                dropped_other: 0,
                continued: false,
                metadata: Vec::new(),
            },
            chunk_len: 1 << 16,
            seal: true,
        }
    }
}

/// A lane of a log, as [`LogWriter::lane`] hands it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneId(usize);

/// A wait to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// End of the wait, monotonic ns. Ends never go back within a lane.
    pub end_ns: u64,
    /// How long the thread waited, in ns.
    pub wait_ns: u64,
    /// The site's id.
    pub site: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Thread id of the lock's owner, 0 when unknown.
    pub owner: u32,
    /// How often the thread parked.
    pub parks: u64,
}

impl Default for Wait {
    fn default() -> Self {
        Wait { end_ns: 0, wait_ns: 0, site: 0, outcome: Outcome::Granted, owner: 0, parks: 0 }
    }
}

struct LaneState {
    thread: u32,
    now_ns: u64,
    events: Pieces,
    cells: Pieces,
    acquisitions: Pieces,
    in_bursts: Pieces,
}

/// Writes a log. Definitions are interned: what was defined before keeps its
/// id.
pub struct LogWriter<W> {
    out: W,
    options: LogOptions,
    used_len: u64,
    definitions: Pieces,
    slots: Pieces,
    counters: Pieces,
    lanes: Vec<LaneState>,
    strings: HashMap<String, u32>,
    interned: HashMap<(u8, u32, u32, u32, u32), u32>,
    last: HashMap<u8, u32>,
    scratch: Vec<u8>,
}

impl<W: Write + Seek> LogWriter<W> {
    /// Starts a log at the front of `out`.
    ///
    /// # Errors
    /// As writing to `out`.
    pub fn new(mut out: W, options: LogOptions) -> io::Result<Self> {
        let block = options.header.encode(crc32fast::hash);
        out.write_all(&block)?;
        let pieces = |kind| Pieces::new(kind, 0, options.chunk_len);
        Ok(LogWriter {
            used_len: block.len() as u64,
            definitions: pieces(ChunkKind::Definitions),
            slots: pieces(ChunkKind::Slots),
            counters: pieces(ChunkKind::Counters),
            lanes: Vec::new(),
            strings: HashMap::new(),
            interned: HashMap::new(),
            last: HashMap::new(),
            scratch: Vec::new(),
            out,
            options,
        })
    }

    /// Writes a definition as it is.
    ///
    /// # Errors
    /// As writing to the output.
    pub fn define(&mut self, definition: &Definition<'_>) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        definition.encode(&mut bytes);
        let seal = self.options.seal;
        let len = self.definitions.append(&bytes, (0, 0), seal, &mut self.out)?;
        self.used_len += len;
        self.scratch = bytes;
        Ok(())
    }

    fn next_id(&mut self, kind: u8, first: u32) -> u32 {
        let last = self.last.entry(kind).or_insert(first - 1);
        *last += 1;
        *last
    }

    /// Interns a definition: `make` gets the new id.
    fn intern(
        &mut self,
        key: (u8, u32, u32, u32, u32),
        first: u32,
        make: impl FnOnce(u32) -> Definition<'static>,
    ) -> io::Result<u32> {
        if let Some(&id) = self.interned.get(&key) {
            return Ok(id);
        }
        let id = self.next_id(key.0, first);
        self.interned.insert(key, id);
        self.define(&make(id))?;
        Ok(id)
    }

    /// The id of a text.
    ///
    /// # Errors
    /// As writing to the output; so are all that follow.
    pub fn string(&mut self, text: &str) -> io::Result<u32> {
        if text.is_empty() {
            return Ok(id::NO_STRING);
        }
        if let Some(&id) = self.strings.get(text) {
            return Ok(id);
        }
        let id = self.next_id(b's', 1);
        self.strings.insert(text.to_owned(), id);
        self.define(&Definition::String { id, text: text.as_bytes() })?;
        Ok(id)
    }

    /// The id of a class, named as in class files.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn class(&mut self, name: &str, source: &str) -> io::Result<u32> {
        let (name, source) = (self.string(name)?, self.string(source)?);
        self.intern((b'c', name, source, 0, 0), 1, |id| Definition::Class { id, name, source })
    }

    /// The id of a method.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn method(
        &mut self,
        class: u32,
        name: &str,
        descriptor: &str,
        first_line: u32,
    ) -> io::Result<u32> {
        let (name, descriptor) = (self.string(name)?, self.string(descriptor)?);
        self.intern((b'm', class, name, descriptor, first_line), 1, |id| Definition::Method {
            id,
            class,
            name,
            descriptor,
            first_line,
        })
    }

    /// The id of a stack: a frame on top of `parent`.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn stack(&mut self, parent: u32, method: u32, line: u32) -> io::Result<u32> {
        let first = id::CUT_STACK + 1;
        self.intern((b'k', parent, method, line, 0), first, |id| Definition::Stack {
            id,
            parent,
            method,
            line,
        })
    }

    /// The id of a new lock.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn lock(&mut self, class: u32) -> io::Result<u32> {
        let id = self.next_id(b'l', 1);
        self.define(&Definition::Lock { id, class })?;
        Ok(id)
    }

    /// The id of a site.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn site(&mut self, kind: WaitKind, stack: u32, lock: u32) -> io::Result<u32> {
        self.site_at(kind, stack, lock, id::UNKNOWN)
    }

    /// The id of a site whose place is known.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn site_at(
        &mut self,
        kind: WaitKind,
        stack: u32,
        lock: u32,
        place: u32,
    ) -> io::Result<u32> {
        let kind = kind.code();
        self.intern((b'w', u32::from(kind), stack, lock, place), 1, |id| Definition::Site {
            id,
            kind,
            stack,
            lock,
            place,
        })
    }

    /// The id of a new thread. `flags` are those of
    /// [`thread_flag`](tyrion_wire::def::thread_flag).
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn thread(&mut self, java_id: u64, name: &str, group: &str, flags: u64) -> io::Result<u32> {
        let (name, group) = (self.string(name)?, self.string(group)?);
        let id = self.next_id(b't', 1);
        self.define(&Definition::Thread { id, java_id, flags, name, group })?;
        Ok(id)
    }

    /// Says that a thread has taken another name.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn rename(&mut self, thread: u32, name: &str, at_ns: u64) -> io::Result<()> {
        let name = self.string(name)?;
        self.define(&Definition::ThreadName { id: thread, name, at_ns })
    }

    /// Says from when to when a thread lived; `ended_ns` is 0 while it does.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn span(&mut self, thread: u32, started_ns: u64, ended_ns: u64) -> io::Result<()> {
        self.define(&Definition::ThreadSpan { id: thread, started_ns, ended_ns })
    }

    /// Says that nothing was recorded for a while; `to_ns` is 0 while that lasts.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn pause(&mut self, from_ns: u64, to_ns: u64) -> io::Result<()> {
        self.define(&Definition::Pause { from_ns, to_ns })
    }

    /// Says that something else is recorded from a moment on, in bits of
    /// [`tyrion_wire::def::mode`].
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn mode(&mut self, from_ns: u64, recorded: u64) -> io::Result<()> {
        self.define(&Definition::Mode { from_ns, recorded })
    }

    /// Says that an option has another value from a moment on; `key` and `value` are as
    /// in the metadata.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn option(&mut self, from_ns: u64, key: &str, value: &str) -> io::Result<()> {
        let (key, value) = (self.string(key)?, self.string(value)?);
        self.define(&Definition::Option { from_ns, key, value })
    }

    /// Says from when to when the garbage collector had all threads stopped.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn collection(&mut self, start_ns: u64, end_ns: u64) -> io::Result<()> {
        self.define(&Definition::Collection { start_ns, end_ns })
    }

    /// A new lane, whose waits are those of `thread` at first.
    pub fn lane(&mut self, thread: u32) -> LaneId {
        let lane = self.lanes.len() as u32 + 1;
        let pieces = |kind| Pieces::new(kind, lane, self.options.chunk_len);
        self.lanes.push(LaneState {
            thread,
            now_ns: self.options.header.mono_ns,
            events: pieces(ChunkKind::Events),
            cells: pieces(ChunkKind::Cells),
            acquisitions: pieces(ChunkKind::Acquisitions),
            in_bursts: pieces(ChunkKind::AcquisitionsInBursts),
        });
        LaneId(lane as usize - 1)
    }

    /// The moment of the lane's last record, monotonic.
    pub(crate) fn now_ns(&self, lane: LaneId) -> u64 {
        self.lanes.get(lane.0).map_or(0, |lane| lane.now_ns)
    }

    /// Says that the lane's records are those of `thread` from a moment on, monotonic,
    /// which may lie before its last record: then it begins a new chunk.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn resume(&mut self, lane: LaneId, thread: u32, at_ns: u64) -> io::Result<()> {
        let of = &mut self.lanes[lane.0];
        if at_ns < of.now_ns {
            self.used_len += of.events.flush_short(self.options.seal, &mut self.out)?;
            (of.thread, of.now_ns) = (thread, at_ns);
        } else if of.thread != thread {
            self.switch(lane, thread)?;
        }
        Ok(())
    }

    /// Records a wait.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    #[inline]
    pub fn wait(&mut self, lane: LaneId, wait: Wait) -> io::Result<()> {
        let lane = &mut self.lanes[lane.0];
        // The chunk's first record counts from its header's time.
        let first = (lane.thread, lane.now_ns);
        let record = WaitRecord {
            delta_ns: wait.end_ns.saturating_sub(lane.now_ns),
            wait_ns: wait.wait_ns,
            site: wait.site,
            outcome: wait.outcome,
            owner: wait.owner,
            parks: wait.parks,
        };
        lane.now_ns += record.delta_ns;
        let seal = self.options.seal;
        self.used_len += lane.events.append_wait(&record, first, seal, &mut self.out)?;
        Ok(())
    }

    /// Says that the lane's waits are those of another thread from now on.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn switch(&mut self, lane: LaneId, thread: u32) -> io::Result<()> {
        let lane = &mut self.lanes[lane.0];
        let first = (lane.thread, lane.now_ns);
        let mut bytes = [0; MAX_WAIT_LEN];
        let len = event::encode_thread(thread, &mut bytes);
        lane.thread = thread;
        let seal = self.options.seal;
        self.used_len += lane.events.append(&bytes[..len], first, seal, &mut self.out)?;
        Ok(())
    }

    /// Writes a fold cell.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn cell(&mut self, lane: LaneId, cell: &Cell) -> io::Result<()> {
        let lane = &mut self.lanes[lane.0];
        let first = (lane.thread, lane.now_ns);
        self.used_len += lane.cells.append(&cell.encode(), first, false, &mut self.out)?;
        Ok(())
    }

    /// Writes a wait that has not ended.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn pending(&mut self, pending: &Pending) -> io::Result<()> {
        self.used_len += self.slots.append(&pending.encode(), (0, 0), false, &mut self.out)?;
        Ok(())
    }

    /// Writes the counters of a lane.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn counters(&mut self, counters: &Counters) -> io::Result<()> {
        self.used_len += self.counters.append(&counters.encode(), (0, 0), false, &mut self.out)?;
        Ok(())
    }

    /// Writes what is still in memory and the header once more, and returns
    /// the output, at its end.
    ///
    /// # Errors
    /// As [`LogWriter::string`].
    pub fn finish(mut self) -> io::Result<W> {
        let shared = [&mut self.definitions, &mut self.slots, &mut self.counters];
        let of_lanes = self.lanes.iter_mut();
        let of_lanes = of_lanes.flat_map(|lane| {
            [&mut lane.events, &mut lane.cells, &mut lane.acquisitions, &mut lane.in_bursts]
        });
        for pieces in shared.into_iter().chain(of_lanes) {
            self.used_len += pieces.flush(self.options.seal, &mut self.out)?;
        }
        let header = Header { used_len: self.used_len, ..self.options.header };
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header.encode(crc32fast::hash))?;
        self.out.seek(SeekFrom::Start(self.used_len))?;
        self.out.flush()?;
        Ok(self.out)
    }
}
