//! Profiles are compressed with gzip, mostly.

use crate::limits::MAX_UNPACKED;
use flate2::bufread::MultiGzDecoder;
use std::{
    borrow::Cow,
    io::{ErrorKind, Read},
};

const GZIP: &[u8] = b"\x1f\x8b";
const BUFFER: usize = 1 << 16;

/// What was in a file.
pub(super) struct Unpacked<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// Where it could not be unpacked any further, in bytes of the file, and why.
    pub(super) damage: Option<(u64, &'static str)>,
}

/// Unpacks a file that is compressed; another one stays as it is.
pub(super) fn unpack(file: &[u8]) -> Unpacked<'_> {
    if !is_packed(file) {
        return Unpacked { bytes: Cow::Borrowed(file), damage: None };
    }
    let (bytes, damage) = unpack_up_to(file, MAX_UNPACKED);
    Unpacked { bytes: Cow::Owned(bytes), damage }
}

/// Whether a file is compressed.
pub(super) fn is_packed(file: &[u8]) -> bool {
    file.starts_with(GZIP)
}

/// The first bytes, some `most` of them, of what a file holds that begins so.
pub(super) fn start(file: &[u8], most: usize) -> Cow<'_, [u8]> {
    match is_packed(file) {
        true => Cow::Owned(unpack_up_to(file, most).0),
        false => Cow::Borrowed(file),
    }
}

fn unpack_up_to(file: &[u8], most: usize) -> (Vec<u8>, Option<(u64, &'static str)>) {
    let mut decoder = MultiGzDecoder::new(file);
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; BUFFER.min(most + 1)]);
    loop {
        let at = |decoder: &MultiGzDecoder<&[u8]>| (file.len() - decoder.get_ref().len()) as u64;
        match decoder.read(&mut buffer) {
            Ok(0) => return (bytes, None),
            Ok(len) => bytes.extend_from_slice(buffer.get(..len).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                let what = match error.kind() {
                    ErrorKind::UnexpectedEof => "the file was cut here; what comes before was read",
                    _ => "it cannot be unpacked any further; what comes before was read",
                };
                return (bytes, Some((at(&decoder), what)));
            }
        }
        if bytes.len() > most {
            bytes.truncate(most);
            let what = "it is too long when it is unpacked; what comes before was read";
            return (bytes, Some((at(&decoder), what)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let whole: Vec<u8> = (0..20_000u32).map(|n| (n / 7) as u8).collect();
        let file = packed(&whole);
        assert_eq!(unpack_up_to(&file, 1 << 20), (whole.clone(), None));
        let (bytes, damage) = unpack_up_to(&file, 100);
        assert!(bytes == whole[..100] && damage.unwrap().1.contains("too long"));
        assert_eq!(start(&whole, 10), &whole[..]);
        for cut in 2..file.len() {
            let (bytes, damage) = unpack_up_to(&file[..cut], 1 << 20);
            assert!(whole.starts_with(&bytes), "cut at {cut}");
            assert_eq!(damage.unwrap().0, cut as u64);
        }
    }
}
