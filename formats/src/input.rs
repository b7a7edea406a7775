//! Opens what a log may be read from, and reads what cannot be mapped.
//!
//! A path may name anything: a FIFO that nobody writes to, a device without
//! end, a terminal. What is no log is refused by its first bytes, and nothing
//! is read for ever.

use crate::{error::Error, load, source::Source};
use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, IsTerminal, Read},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};
use tyrion_wire::header::METADATA_AT;

/// Opens a regular file for reading, and nothing else: a FIFO would have the
/// caller wait until somebody writes to it.
///
/// # Errors
/// As `open(2)`, or when the path names something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let regular = |metadata: Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("not a regular file; name a log's file")),
    };
    // Opening alone may do something to a device.
    regular(path.metadata()?)?;
    // Another file may have taken the name since: what counts is what was opened.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// Opens what a log is to be read from: a file, or a pipe that has a name.
///
/// # Errors
/// As `open(2)`, or when it is a socket, which cannot be opened.
pub fn open_input(path: &Path) -> Result<File, Error> {
    let name = || path.display().to_string();
    File::open(path).map_err(|source| {
        let is_socket = path.metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
        match is_socket {
            true => Error::NoInput { log: name(), what: "a socket; name a log" },
            false => Error::Io { log: name(), source },
        }
    })
}

/// Refuses what is open but can hold no log.
pub(crate) fn check(name: &str, file: &File, metadata: &Metadata) -> Result<(), Error> {
    let what = if metadata.is_dir() {
        "a directory; name a log in it"
    } else if file.is_terminal() {
        "a terminal; name a log, or pipe one in"
    } else {
        return Ok(());
    };
    Err(Error::NoInput { log: name.to_owned(), what })
}

/// Reads to the end, but no more than `limit` bytes. What begins like no log
/// is refused before more of it is read.
pub(crate) fn read(name: &str, mut from: impl Read, limit: u64) -> Result<Vec<u8>, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let mut bytes = Vec::new();
    from.by_ref().take(METADATA_AT as u64).read_to_end(&mut bytes).map_err(io)?;
    let start = Source::Memory(bytes);
    load::check_start(&start, name)?;
    let Source::Memory(mut bytes) = start else { return Ok(Vec::new()) };
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
        Log,
        write::{LogWriter, Options},
    };
    use std::io::Cursor;

    fn log() -> Vec<u8> {
        let log = LogWriter::new(Cursor::new(Vec::new()), Options::default()).unwrap();
        log.finish().unwrap().into_inner()
    }

    /// Counts what is read of it.
    struct Counted<R>(R, u64);

    impl<R: Read> Read for Counted<R> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let len = self.0.read(bytes)?;
            self.1 += len as u64;
            Ok(len)
        }
    }

    #[test]
    fn what_is_no_log_is_refused_by_its_first_bytes() {
        for (byte, said) in [(0, "only zeros"), (b'y', "text"), (0xff, "no format")] {
            let mut endless = Counted(io::repeat(byte), 0);
            let error = read("it", &mut endless, u64::MAX).unwrap_err();
            assert!(matches!(error, Error::NotALog { .. }), "{error}");
            assert!(error.to_string().contains(said), "{error}");
            assert!(endless.1 <= METADATA_AT as u64, "{} bytes were read", endless.1);
        }
        assert!(matches!(read("it", io::empty(), 9), Err(Error::Empty { .. })));
        let mut newer = log();
        newer[8] = 2;
        let error = read("it", newer.chain(io::repeat(0)), u64::MAX).unwrap_err();
        assert!(matches!(error, Error::Newer { .. }), "{error}");
    }

    #[test]
    fn a_log_without_end_is_read_up_to_a_limit() {
        let (log, limit) = (log(), 1 << 20);
        let mut endless = Counted(log.chain(io::repeat(0)), 0);
        let error = read("it", &mut endless, limit).unwrap_err();
        assert!(matches!(error, Error::Endless { .. }), "{error}");
        assert!(error.to_string().contains("write it to a file"), "{error}");
        assert_eq!(endless.1, limit + 1);
    }

    #[test]
    fn a_log_as_long_as_the_limit_is_read_whole() {
        let log = log();
        let bytes = read("it", &log[..], log.len() as u64).unwrap();
        assert_eq!(bytes, log);
        assert!(Log::from_reader("it", &log[..]).is_ok());
        // What is damaged of it is told when all of it is there.
        assert_eq!(read("it", &log[..300], 300).unwrap(), log[..300]);
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
        assert!(Log::open(&socket).unwrap_err().to_string().contains("is a socket"));
        assert!(Log::open(folder.path()).unwrap_err().to_string().contains("is a directory"));
    }
}
