//! Words as shells read them.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};
pub use tyrion_report::shell::{suggested, word};

/// In single quotes, as POSIX shells read them.
pub fn quoted(text: &OsStr) -> OsString {
    let mut quoted = b"'".to_vec();
    for &byte in text.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold() {
        assert_eq!(quoted(OsStr::new("a'b c")), r"'a'\''b c'");
        assert_eq!(quoted(OsStr::from_bytes(b"\xff")).as_bytes(), b"'\xff'");
    }
}
