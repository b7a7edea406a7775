//! Names of frames that have no room for all of them. `page.js` does the same where
//! scripts run.

use std::borrow::Cow;

/// Fewer characters say nothing.
const LEAST: usize = 3;

/// A name in so many characters at most. A lock goes without its kind before it goes
/// without its package; then the beginning of a lock or a thread stays, and the end of
/// a method.
pub(super) fn fitted(name: &str, room: usize) -> Cow<'_, str> {
    if fits(name, room) {
        return Cow::Borrowed(name);
    }
    if room < LEAST {
        return Cow::Borrowed("");
    }
    let bare = without_kind(name);
    let forms = [bare.unwrap_or(name), without_package(bare.unwrap_or(name))];
    if let Some(form) = forms.into_iter().find(|form| fits(form, room)) {
        return Cow::Borrowed(form);
    }
    let [_, simple] = forms;
    Cow::Owned(match bare.is_some() || simple.starts_with('[') {
        true => simple.chars().take(room - 2).chain("..".chars()).collect(),
        false => {
            let skipped = simple.chars().count() - (room - 2);
            "..".chars().chain(simple.chars().skip(skipped)).collect()
        }
    })
}

fn fits(name: &str, room: usize) -> bool {
    name.len() <= room || name.chars().count() <= room
}

/// `Cache.lock` of `Cache.lock [lock-read]`; `None` if it is no lock.
fn without_kind(name: &str) -> Option<&str> {
    let (bare, kind) = name.strip_suffix(']')?.rsplit_once(" [")?;
    let is_kind = |char: char| char.is_ascii_lowercase() || char == '-';
    (!kind.is_empty() && kind.chars().all(is_kind)).then_some(bare)
}

/// `Foo.bar` of `com.acme.Foo.bar`.
fn without_package(name: &str) -> &str {
    let mut rest = name;
    while let Some((package, after)) = rest.split_once('.') {
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '$';
        let is_package = package
            .starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
            && package.chars().all(is_part);
        if !is_package {
            break;
        }
        rest = after;
    }
    if rest.starts_with(|first: char| first.is_ascii_uppercase()) { rest } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_most_stays() {
        for (name, room, text) in [
            ("com.acme.Cache.map [monitor]", 28, "com.acme.Cache.map [monitor]"),
            ("com.acme.Cache.map [monitor]", 27, "com.acme.Cache.map"),
            ("com.acme.Cache.map [monitor]", 17, "Cache.map"),
            ("com.acme.Cache.map [monitor]", 8, "Cache..."),
            ("java.lang.Object#7 [lock-read]", 8, "Object#7"),
            ("com.acme.Bank.transfer", 22, "com.acme.Bank.transfer"),
            ("com.acme.Bank.transfer", 21, "Bank.transfer"),
            ("com.acme.Bank.transfer", 8, "..ansfer"),
            ("com.acme.Bank.transfer", 2, ""),
            ("com.acme.run", 8, "..me.run"),
            ("Bank.transfer", 8, "..ansfer"),
            ("[pool-1-thread-2]", 8, "[pool-.."),
            ("[blocked]", 9, "[blocked]"),
            ("żółwie", 6, "żółwie"),
            ("żółwie", 4, "..ie"),
            ("all", 3, "all"),
            ("all", 2, ""),
            ("", 0, ""),
        ] {
            let fitted = fitted(name, room);
            assert!(fitted.chars().count() <= room, "{name} {room}");
            assert_eq!(fitted, text, "{name} {room}");
        }
    }
}
