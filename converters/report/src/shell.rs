//! Commands that are suggested, as shells read them.

/// A file name for a command that is suggested, in quotes only if it needs them:
/// whoever chose it must not have chosen what the command does.
pub fn suggested(name: &str) -> String {
    match name.starts_with('-') {
        true => format!("'{}'", format!("./{name}").replace('\'', r"'\''")),
        false => word(name),
    }
}

/// A word of a command, an option maybe, in quotes only if it needs them.
pub fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    match text.bytes().all(is_plain) && !text.is_empty() {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
