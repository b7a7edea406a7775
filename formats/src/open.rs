//! Opens recordings: files are mapped, and what cannot be mapped is read.
//!
//! What no input reads is refused by its first bytes, and nothing is read for
//! ever.

use crate::{
    bytes::Bytes,
    error::Error,
    file, gzip,
    hints::Hints,
    input::Input,
    inputs::{self, INPUTS, read_with},
    limits,
    recording::Recording,
};
use std::{
    fs::File,
    io::{Cursor, Read},
    path::Path,
};

impl Recording {
    /// Maps a file and reads what it says of itself and its definitions. What is
    /// no regular file (a pipe) is read as by [`Recording::from_reader`].
    ///
    /// A regular file stays mapped as long as the recording lives. If another
    /// process cuts it short meanwhile, or its disk fails, reading it ends this
    /// process with a SIGBUS, as with every mapped file. The agent never does
    /// that to a log; a program that has to survive whoever does can catch the
    /// signal, or copy the file and use [`Recording::from_bytes`].
    ///
    /// # Errors
    /// When the file cannot be read, or is of no format that is; see [`Error`].
    /// Damage is no error, see [`Recording::damage`].
    pub fn open(path: &Path) -> Result<Recording, Error> {
        Recording::from_file(&path.display().to_string(), &file::open_input(path)?)
    }

    /// As [`Recording::open`], of a file that is open already: its name may have
    /// passed to another one meanwhile, as logs that rotate do. `name` stands
    /// in messages.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_file(name: &str, file: &File) -> Result<Recording, Error> {
        Recording::from_file_as(name, file, &Hints::default())
    }

    /// As [`Recording::from_file`], with what the user says of the file.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_file_as(name: &str, file: &File, hints: &Hints) -> Result<Recording, Error> {
        let io = |source| Error::Io { log: name.to_owned(), source };
        let Some(len) = file::regular_len(name, file)? else {
            return Recording::from_reader_as(name, file, hints);
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len == 0 {
            return Err(Error::Empty { log: name.to_owned() });
        }
        let bytes = Bytes::map(file, len).map_err(io)?;
        read(name, bytes.with_hints(hints.clone()))
    }

    /// Reads to the end, but no more than [`limits::MAX_STREAM`] bytes. What no
    /// input reads is refused by its first bytes. What is compressed with gzip is
    /// unpacked, as it is of files.
    ///
    /// # Errors
    /// As [`Recording::open`], or when it has no end.
    pub fn from_reader(name: &str, from: impl Read) -> Result<Recording, Error> {
        Recording::from_reader_as(name, from, &Hints::default())
    }

    /// As [`Recording::from_reader`], with what the user says of the bytes.
    ///
    /// # Errors
    /// As [`Recording::from_reader`].
    pub fn from_reader_as(
        name: &str,
        mut from: impl Read,
        hints: &Hints,
    ) -> Result<Recording, Error> {
        let io = |source| Error::Io { log: name.to_owned(), source };
        let mut start = Vec::new();
        from.by_ref().take(2).read_to_end(&mut start).map_err(io)?;
        if gzip::is_it(&start) {
            from.by_ref().take(gzip::STEP).read_to_end(&mut start).map_err(io)?;
        }
        let is_packed = gzip::holds_recording(&start);
        let from = Cursor::new(start).chain(from);
        if is_packed {
            return gzip::read(name, from, hints);
        }
        let bytes = Bytes::from(read_stream(name, from, limits::MAX_STREAM)?);
        read_with(INPUTS, name, bytes.with_hints(hints.clone()))
    }

    /// Reads from memory; `name` stands in messages.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Recording, Error> {
        read(name, bytes.into())
    }
}

/// The input that reads a file, by its first bytes; none for what no input reads, and
/// for what is compressed.
pub fn recognise(file: &File) -> Option<&'static Input> {
    let mut start = vec![0; inputs::start_len(INPUTS)];
    let len = file::read_start(file, &mut start).ok()?;
    inputs::find(INPUTS, "", start.get(..len)?).ok()
}

/// Reads with the input that knows it what may be compressed.
fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let packed = bytes.settled(0, bytes.len()).unwrap_or_default();
    match gzip::holds_recording(packed) {
        true => gzip::read(name, packed, bytes.hints()),
        false => read_with(INPUTS, name, bytes),
    }
}

/// Reads to the end, but no more than `limit` bytes. What begins like nothing
/// that is read is refused before more of it is read.
fn read_stream(name: &str, mut from: impl Read, limit: u64) -> Result<Vec<u8>, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let mut bytes = Vec::new();
    let start_len = inputs::start_len(INPUTS) as u64;
    from.by_ref().take(start_len).read_to_end(&mut bytes).map_err(io)?;
    inputs::find(INPUTS, name, &bytes)?;
    let rest = limit.saturating_sub(bytes.len() as u64);
    // One more, which tells whether that was all.
    from.take(rest.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
    match bytes.len() as u64 > limit {
        true => Err(Error::Endless { log: name.to_owned(), limit }),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        open_regular,
        write::{LogOptions, LogWriter},
    };
    use std::io;

    fn log() -> Vec<u8> {
        let log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
        log.finish().unwrap().into_inner()
    }

    /// Counts what is read of it.
    struct ByteCounter<R>(R, u64);

    impl<R: Read> Read for ByteCounter<R> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let len = self.0.read(bytes)?;
            self.1 += len as u64;
            Ok(len)
        }
    }

    #[test]
    fn what_is_no_log_is_refused_by_its_first_bytes() {
        for (byte, said) in [(0, "only zeros"), (b'y', "text"), (0xff, "not those of a format")] {
            let mut endless = ByteCounter(io::repeat(byte), 0);
            let error = read_stream("it", &mut endless, u64::MAX).unwrap_err();
            assert!(matches!(error, Error::NotALog { .. }), "{error}");
            assert!(error.to_string().contains(said), "{error}");
            assert!(endless.1 <= inputs::start_len(INPUTS) as u64, "{} bytes were read", endless.1);
        }
        assert!(matches!(read_stream("it", io::empty(), 9), Err(Error::Empty { .. })));
        let mut newer = log();
        newer[8] = 2;
        let error = read_stream("it", newer.chain(io::repeat(0)), u64::MAX).unwrap_err();
        assert!(matches!(error, Error::Newer { .. }), "{error}");
    }

    #[test]
    fn a_log_without_end_is_read_up_to_a_limit() {
        let (log, limit) = (log(), 1 << 20);
        let mut endless = ByteCounter(log.chain(io::repeat(0)), 0);
        let error = read_stream("it", &mut endless, limit).unwrap_err();
        assert!(matches!(error, Error::Endless { .. }), "{error}");
        assert!(error.to_string().contains("write it to a file"), "{error}");
        assert_eq!(endless.1, limit + 1);
    }

    #[test]
    fn a_log_as_long_as_the_limit_is_read_whole() {
        let log = log();
        let bytes = read_stream("it", &log[..], log.len() as u64).unwrap();
        assert_eq!(bytes, log);
        assert!(Recording::from_reader("it", &log[..]).is_ok());
        // What is damaged of it is told when all of it is there.
        assert_eq!(read_stream("it", &log[..300], 300).unwrap(), log[..300]);
    }

    #[test]
    fn files_are_recognised_by_their_first_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (bytes, expected) in [
            (&log()[..], Some("event-log")),
            (b"FLR\0\0\x02", Some("jfr")),
            (b"\x1f\x8b\x08", None),
            (b"", None),
        ] {
            std::fs::write(file.path(), bytes).unwrap();
            let input = recognise(file.as_file());
            assert_eq!(input.map(|input| input.name), expected);
        }
    }

    #[test]
    fn only_regular_files_are_regular() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, log()).unwrap();
        assert!(open_regular(&file).is_ok());
        for other in [folder.path(), Path::new("/dev/zero")] {
            assert!(open_regular(other).unwrap_err().to_string().contains("not a regular file"));
        }
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert!(open_regular(&fifo).is_err(), "and nobody writes to it");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(Recording::open(&socket).unwrap_err().to_string().contains("is a socket"));
        assert!(Recording::open(folder.path()).unwrap_err().to_string().contains("is a directory"));
    }
}
