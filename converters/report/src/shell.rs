//! Commands that are suggested, as shells read them.

/// A file name for a command that is suggested, in quotes only if it needs them:
/// whoever chose it must not have chosen what the command does.
pub fn suggested(name: &str) -> String {
    match name.starts_with('-') {
        true => QUOTED(&format!("./{name}")),
        false => word(name),
    }
}

/// In quotes, as the shells of this system read them.
const QUOTED: fn(&str) -> String = if cfg!(windows) { in_windows } else { in_posix };

/// A word of a command, an option maybe, in quotes only if it needs them.
pub fn word(text: &str) -> String {
    let others = if cfg!(windows) { r"_@+=:,./\-" } else { "_@%+=:,./-" };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || others.bytes().any(|it| it == byte);
    match text.bytes().all(is_plain) && !text.is_empty() {
        true => text.to_owned(),
        false => QUOTED(text),
    }
}

fn in_posix(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// As PowerShell and the older shell both read it; with what means something between double
/// quotes to one of them, as PowerShell does.
fn in_windows(text: &str) -> String {
    match text.contains(['$', '`', '%', '!', '"', '“', '”', '„']) {
        true => format!("'{}'", text.replace(['\'', '‘', '’', '‚', '‛'], "''")),
        false => format!("\"{text}\""),
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

    #[test]
    fn so_it_is_on_windows() {
        for (name, word) in [
            ("two words.log", "\"two words.log\""),
            ("a&calc.log", "\"a&calc.log\""),
            ("it's.log", "\"it's.log\""),
            ("$(calc)'s.log", "'$(calc)''s.log'"),
        ] {
            assert_eq!(in_windows(name), word);
        }
    }
}
