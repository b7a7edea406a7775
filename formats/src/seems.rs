//! What a file that is no log seems to be instead.

use std::fmt;

/// A format that people mistake for an event log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seems {
    /// A log that was changed on its way by a transfer in text mode.
    Mangled,
    /// A recording of Java Flight Recorder.
    Jfr,
    /// Something compressed with gzip, such as a pprof profile.
    Gzip,
    /// Something compressed with zstd.
    Zstd,
    /// A Java heap dump.
    HeapDump,
    /// A callgrind profile, such as `tyrion convert` writes.
    Callgrind,
    /// An SVG picture, such as `tyrion convert` writes.
    Svg,
    /// Some other text.
    Text,
    /// Nothing but zeros.
    Zeros,
    /// None of the others.
    Other,
}

impl Seems {
    /// Looks at the first bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Seems {
        let start = &bytes[..bytes.len().min(256)];
        let begins = |magic: &[u8]| start.starts_with(magic);
        if begins(b"\x89TYRION") || begins(b"\x09TYRION") || begins(b"\xc2\x89TYRION") {
            Seems::Mangled
        } else if begins(b"FLR\0") {
            Seems::Jfr
        } else if begins(b"\x1f\x8b") {
            Seems::Gzip
        } else if begins(b"\x28\xb5\x2f\xfd") {
            Seems::Zstd
        } else if begins(b"JAVA PROFILE ") {
            Seems::HeapDump
        } else if begins(b"# callgrind") || begins(b"version: 1") {
            Seems::Callgrind
        } else if begins(b"<?xml") || begins(b"<svg") {
            Seems::Svg
        } else if start.iter().all(|&byte| byte == 0) {
            Seems::Zeros
        } else if start.iter().all(|&byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
            Seems::Text
        } else {
            Seems::Other
        }
    }
}

impl fmt::Display for Seems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Seems::Mangled => {
                "it seems to be one that was changed by a transfer in text mode; \
                 copy it again in binary mode"
            }
            Seems::Jfr => {
                "it seems to be a JFR recording; read it with `jfr` or JDK Mission Control"
            }
            Seems::Gzip => "it seems to be compressed with gzip; `zcat` it into `tyrion convert -`",
            Seems::Zstd => {
                "it seems to be compressed with zstd; `zstdcat` it into `tyrion convert -`"
            }
            Seems::HeapDump => "it seems to be a Java heap dump",
            Seems::Callgrind => "it seems to be a callgrind profile; open it with KCacheGrind",
            Seems::Svg => "it seems to be an XML or SVG file; open it with a browser",
            Seems::Text => "it seems to be text",
            Seems::Zeros => "there are only zeros where its header should be",
            Seems::Other => "its first bytes are of no format that Tyrion knows",
        })
    }
}
