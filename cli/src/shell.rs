//! Words as shells read them.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

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

/// A file name for a command that is suggested, in quotes only if it needs them:
/// whoever chose it must not have chosen what the command does.
pub fn suggested(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if name.bytes().all(is_plain) && !name.is_empty() && !name.starts_with('-') {
        return name.to_owned();
    }
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    quoted(OsStr::new(&name)).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold() {
        assert_eq!(quoted(OsStr::new("a'b c")), r"'a'\''b c'");
        assert_eq!(quoted(OsStr::from_bytes(b"\xff")).as_bytes(), b"'\xff'");
    }

    #[test]
    fn what_is_suggested_is_one_word() {
        for (name, word) in [
            ("logs/a-1.log", "logs/a-1.log"),
            ("", "''"),
            ("a;reboot", "'a;reboot'"),
            ("it's $(x).log", r"'it'\''s $(x).log'"),
            ("-o", "'./-o'"),
            ("~/a", "'~/a'"),
        ] {
            assert_eq!(suggested(name), word);
        }
    }
}
