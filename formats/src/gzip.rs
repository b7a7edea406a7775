//! Files that are compressed with gzip, as many are kept: they are unpacked, and read
//! like others.

use crate::{
    bytes::Bytes,
    damage::{Damage, Fault},
    error::Error,
    hints::Hints,
    import::ImportStore,
    inputs::{self, INPUTS},
    limits,
    recording::Recording,
};
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, ErrorKind, Read, Write};

/// So many bytes are unpacked at once. As many compressed ones tell what is in them.
pub(crate) const STEP: u64 = 1 << 16;

/// Whether this is the beginning of something compressed with gzip.
pub(crate) fn is_it(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

/// Whether this is the beginning of a recording that is compressed with gzip.
pub(crate) fn holds_recording(start: &[u8]) -> bool {
    if !is_it(start) {
        return false;
    }
    let mut unpacked = Vec::new();
    let wanted = inputs::start_len(INPUTS);
    fill(&mut MultiGzDecoder::new(start), wanted, &mut unpacked).is_ok()
        && !inputs::find(INPUTS, "", &unpacked).is_err_and(|error| is_no_recording(&error))
}

/// Unpacks a recording and reads it. Offsets in messages are those of what was
/// unpacked. Of data that are cut or damaged, what comes before is read.
///
/// # Errors
/// When it cannot be read, or is too long.
pub(crate) fn read(name: &str, packed: impl Read, hints: &Hints) -> Result<Recording, Error> {
    let unpacked = unpack(name, packed, limits::MAX_STREAM)?;
    let len = unpacked.bytes.len() as u64;
    let bytes = unpacked.bytes.with_hints(hints.clone());
    let mut recording = inputs::read_with(INPUTS, name, bytes)?;
    if unpacked.is_torn {
        let what = "the compressed data are cut or damaged here (the offset is that of what was \
                    unpacked); what comes before was read";
        let log = recording.name.clone();
        recording.damage.push(Damage { log, offset: len, fault: Fault::Other(what), skipped: 0 });
    }
    Ok(recording)
}

struct InflatedBytes {
    bytes: Bytes,
    /// Whether the data end before they should, or are damaged.
    is_torn: bool,
}

/// Unpacks no more than `limit` bytes.
fn unpack(name: &str, packed: impl Read, limit: u64) -> Result<InflatedBytes, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let mut decoder = MultiGzDecoder::new(BufReader::with_capacity(STEP as usize, packed));
    let (mut store, mut step) = (ImportStore::new(), Vec::new());
    let mut len = 0;
    loop {
        let is_torn = fill(&mut decoder, STEP as usize, &mut step).map_err(io)?;
        len += step.len() as u64;
        if len > limit {
            return Err(Error::Unpacked { log: name.to_owned(), limit });
        }
        store.write_all(&step).map_err(io)?;
        if is_torn || step.is_empty() {
            return Ok(InflatedBytes { bytes: store.into_bytes().map_err(io)?, is_torn });
        }
    }
}

/// Takes so many bytes, or all that there are: whether the data were found cut or
/// damaged.
fn fill(from: &mut impl Read, wanted: usize, to: &mut Vec<u8>) -> io::Result<bool> {
    let mut filled = 0;
    to.resize(wanted, 0);
    let mut is_torn = false;
    while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if is_of_data(&error) => {
                is_torn = true;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    to.truncate(filled);
    Ok(is_torn)
}

/// Whether the data are to blame, not the file that they are in.
fn is_of_data(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData
    )
}

/// Whether no input reads what begins so; others say better what is wrong.
fn is_no_recording(error: &Error) -> bool {
    matches!(error, Error::NotALog { .. } | Error::Empty { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        hints::Unit,
        sniff::FileKind,
        summed::testing::total,
        write::{LogOptions, LogWriter},
    };
    use flate2::{Compression, write::GzEncoder};
    use std::io::Cursor;

    fn pack(bytes: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    fn log() -> Vec<u8> {
        let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
        log.thread(1, "main", "main", 0).unwrap();
        log.finish().unwrap().into_inner()
    }

    #[test]
    fn what_is_packed_is_read_from_files_and_streams() {
        let packed = pack(&log());
        let is_main = |log: &Recording| log.definitions().threads().iter().count() == 1;
        let read = Recording::from_reader("log.gz", &packed[..]).unwrap();
        assert!(is_main(&read) && read.damage().is_empty());
        assert_eq!(read.file_len(), log().len() as u64);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &packed).unwrap();
        assert!(is_main(&Recording::open(file.path()).unwrap()));
        // Two files one after another are one.
        let (first, second) = (&log()[..100], &log()[100..]);
        let both = [pack(first), pack(second)].concat();
        assert!(is_main(&Recording::from_bytes("log.gz", both).unwrap()));
    }

    #[test]
    fn what_comes_before_a_cut_is_read() {
        let packed = pack(&log());
        for len in 0..packed.len() {
            match Recording::from_reader("log.gz", &packed[..len]) {
                Ok(log) => {
                    let damage: Vec<String> =
                        log.damage().iter().map(ToString::to_string).collect();
                    assert!(damage.iter().any(|it| it.contains("compressed")), "{damage:?}");
                }
                Err(error) => {
                    assert!(error.to_string().starts_with("log.gz: offset 0x"), "{error}")
                }
            }
        }
        let trailed = [&packed[..], b"trailing"].concat();
        assert_eq!(Recording::from_bytes("log.gz", trailed).unwrap().damage().len(), 1);
    }

    #[test]
    fn what_is_no_recording_is_refused_by_its_first_bytes() {
        let nothing = Recording::from_bytes("it", pack(b"")).unwrap_err();
        let text = Recording::from_bytes("it", pack(&[b'x'; 100_000])).unwrap_err();
        let twice = Recording::from_bytes("it", pack(&pack(&log()))).unwrap_err();
        for error in [nothing, text, twice] {
            assert!(matches!(error, Error::NotALog { seems: FileKind::Gzip, .. }), "{error}");
        }
        let mut newer = log();
        newer[8] = 2;
        let error = Recording::from_bytes("it", pack(&newer)).unwrap_err();
        assert!(matches!(error, Error::Newer { .. }), "{error}");
    }

    #[test]
    fn what_the_user_says_of_a_packed_file_counts() {
        let hints = Hints { unit: Some(Unit::Us), ..Hints::default() };
        let packed = pack(b"main;a.B.c 7\n");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &packed).unwrap();
        for read in [
            Recording::from_reader_as("it", &packed[..], &hints),
            Recording::from_file_as("it", file.as_file(), &hints),
        ] {
            assert_eq!(total(&read.unwrap()), (1, 7_000));
        }
    }

    #[test]
    fn no_more_than_the_limit_is_unpacked() {
        let log = [log(), vec![0; 1 << 20]].concat();
        let packed = pack(&log);
        let whole = unpack("it", &packed[..], log.len() as u64).unwrap();
        assert_eq!((whole.bytes.len(), whole.is_torn), (log.len(), false));
        let error = unpack("it", &packed[..], log.len() as u64 - 1).map(drop).unwrap_err();
        assert!(matches!(error, Error::Unpacked { .. }), "{error}");
        assert!(error.to_string().contains("gunzip"), "{error}");
    }
}
