//! What a file that no input reads seems to be.

use std::fmt;

/// What a file that cannot be read as a recording seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A log that was changed on its way by a transfer in text mode.
    Mangled,
    /// Something compressed with gzip that no input reads.
    Gzip,
    /// Something compressed with zstd.
    Zstd,
    /// Something compressed with xz.
    Xz,
    /// Something compressed with bzip2.
    Bzip2,
    /// An archive of files.
    Zip,
    /// Text in UTF-16.
    Utf16,
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

impl FileKind {
    /// Looks at the first bytes of a file.
    pub fn sniff(bytes: &[u8]) -> FileKind {
        let start = &bytes[..bytes.len().min(256)];
        let begins = |magic: &[u8]| start.starts_with(magic);
        if begins(b"\x89TYRION") || begins(b"\x09TYRION") || begins(b"\xc2\x89TYRION") {
            FileKind::Mangled
        } else if begins(b"\x1f\x8b") {
            FileKind::Gzip
        } else if begins(b"\x28\xb5\x2f\xfd") {
            FileKind::Zstd
        } else if begins(b"\xfd7zXZ\0") {
            FileKind::Xz
        } else if begins(b"BZh") {
            FileKind::Bzip2
        } else if begins(b"PK\x03\x04") {
            FileKind::Zip
        } else if begins(b"\xff\xfe") || begins(b"\xfe\xff") {
            FileKind::Utf16
        } else if begins(b"JAVA PROFILE ") {
            FileKind::HeapDump
        } else if begins(b"# callgrind") || begins(b"version: 1") {
            FileKind::Callgrind
        } else if begins(b"<?xml") || begins(b"<svg") {
            FileKind::Svg
        } else if start.iter().all(|&byte| byte == 0) {
            FileKind::Zeros
        } else if start.iter().all(|&byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
            FileKind::Text
        } else {
            FileKind::Other
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Mangled => {
                "it seems to be one that was changed by a transfer in text mode; \
                 copy it again in binary mode"
            }
            FileKind::Gzip => "it is compressed with gzip, and what is in it is not one, either",
            FileKind::Zstd => {
                "it seems to be compressed with zstd; `zstdcat` it into `tyrion convert -`"
            }
            FileKind::Xz => "it seems to be compressed with xz; `xzcat` it into `tyrion convert -`",
            FileKind::Bzip2 => {
                "it seems to be compressed with bzip2; `bzcat` it into `tyrion convert -`"
            }
            FileKind::Zip => "it seems to be a zip archive; unpack it, and name the file in it",
            FileKind::Utf16 => {
                "it seems to be text in UTF-16; `iconv -f UTF-16 -t UTF-8` makes it UTF-8"
            }
            FileKind::HeapDump => "it seems to be a Java heap dump",
            FileKind::Callgrind => "it seems to be a callgrind profile; open it with KCacheGrind",
            FileKind::Svg => "it seems to be an XML or SVG file; open it with a browser",
            FileKind::Text => "it seems to be text",
            FileKind::Zeros => "there are only zeros where its header should be",
            FileKind::Other => "its first bytes are not those of a format that Tyrion knows",
        })
    }
}
