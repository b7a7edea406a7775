//! Java names within a text.

/// A text cut into pieces, of which some are packages with their last point:
/// `java.util.` in `monitor java.util.Vector#7`.
pub(super) fn pieces(text: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let len = rest.find(|char| !in_name(char)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(len);
        let (package, name) = word.split_at(package(word));
        let gap = after.find(in_name).unwrap_or(after.len());
        pieces.extend([(package, true), (name, false), (&after[..gap], false)]);
        rest = &after[gap..];
    }
    pieces.retain(|(piece, _)| !piece.is_empty());
    pieces
}

fn in_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '.' | '$' | '_')
}

/// How much of a name is its package: what stands in front of the first part
/// that begins with a capital, if all of that begins with small letters.
fn package(name: &str) -> usize {
    let mut len = 0;
    for part in name.split_inclusive('.') {
        let first = part.chars().next();
        if first.is_some_and(char::is_uppercase) {
            return len;
        }
        if !first.is_some_and(char::is_lowercase) || part.len() < 2 {
            return 0;
        }
        len += part.len();
    }
    0
}

/// The text without packages: `Vector` for `java.util.Vector`. What is left of a name
/// is a piece of it, which can be searched for.
pub(super) fn without_packages(text: &str) -> String {
    let pieces = pieces(text).into_iter().filter(|(_, is_package)| !is_package);
    pieces.map(|(piece, _)| piece).collect()
}

/// The text without places: `run(Main.java:12)` becomes `run`.
pub(super) fn without_places(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let (before, inside) = rest.split_at(open);
        short += before;
        let after = inside.split_once(')').and_then(|(place, after)| {
            let (file, line) = place[1..].rsplit_once(':')?;
            let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
            let is_file = file.contains('.') && !file.contains([' ', '(']);
            let behind_method = before.ends_with(|char: char| in_name(char) || char == '>');
            (is_line && is_file && behind_method).then_some(after)
        });
        if let Some(after) = after {
            rest = after;
        } else {
            short.push('(');
            rest = &inside[1..];
        }
    }
    short + rest
}

/// The text with locks by what the program calls them alone:
/// `Cache.lock (java.lang.Object#7)` becomes `Cache.lock`.
pub(super) fn without_classes(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(" (") {
        let (before, inside) = rest.split_at(open);
        short += before;
        let class = inside[2..].split_once(')').and_then(|(class, after)| {
            let (class, id) = class.split_at(class.find('#').unwrap_or(class.len()));
            let is_id = id.bytes().skip(1).all(|byte| byte.is_ascii_digit());
            let is_class = starts_big(class) && class.chars().all(in_class);
            (is_class && is_id && before.ends_with(|char| in_name(char) || char == ')'))
                .then_some(after)
        });
        if let Some(after) = class {
            rest = after;
        } else {
            short += &inside[..2];
            rest = &inside[2..];
        }
    }
    short + rest
}

/// Whether a class has a package, or is what is left without one.
fn starts_big(class: &str) -> bool {
    package(class) > 0 || class.starts_with(char::is_uppercase)
}

fn in_class(char: char) -> bool {
    in_name(char) || matches!(char, '[' | ']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found() {
        let found = |text| -> Vec<&str> {
            let packages = pieces(text).into_iter().filter(|(_, is_package)| *is_package);
            packages.map(|(piece, _)| piece).collect()
        };
        assert_eq!(found("[monitor] com.acme.Foo$Bar.run(Foo.java:1)"), ["com.acme."]);
        assert_eq!(found("Cache.lock (java.lang.Object#7)"), ["java.lang."]);
        assert_eq!(found("a.B c.D"), ["a.", "c."]);
        for text in ["", "teller-1", "12.5 ms", "a.b.c", "It is. So. End.", "9a.B", ".x.Y", "é"] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        for text in ["(a.B) c.D!", "ünï.Ä", "...", "漢.字"] {
            let all: String = pieces(text).into_iter().map(|(piece, _)| piece).collect();
            assert_eq!(all, text);
        }
    }

    #[test]
    fn names_become_short() {
        for (long, short) in [
            ("com.acme.Foo.run(Foo.java:12)", "Foo.run(Foo.java:12)"),
            ("lock (java.util.concurrent.Semaphore#7)", "lock (Semaphore#7)"),
            ("teller-1: 12.5 ms", "teller-1: 12.5 ms"),
        ] {
            assert_eq!(without_packages(long), short);
        }
        for (long, short) in [
            ("Foo.run(Foo.java:12)", "Foo.run"),
            ("Foo.<init>(Foo.kt:1), then Foo.x(Foo.java)", "Foo.<init>, then Foo.x(Foo.java)"),
            ("lock (a.B:7)", "lock (a.B:7)"),
            ("f((x.y:1)", "f((x.y:1)"),
            ("f(x.y:1", "f(x.y:1"),
            ("(a.b:1)(", "(a.b:1)("),
        ] {
            assert_eq!(without_places(long), short);
        }
        for (long, short) in [
            ("[lock] Cache.lock (a.b.Sync$Fair#7): 5 s", "[lock] Cache.lock: 5 s"),
            ("Cache.lock (Sync#7)", "Cache.lock"),
            ("getLock() (java.lang.Object)", "getLock()"),
            ("a.b.Sync#7", "a.b.Sync#7"),
            ("run (twice)", "run (twice)"),
            ("x (a.B", "x (a.B"),
            ("x (a.B c)", "x (a.B c)"),
        ] {
            assert_eq!(without_classes(long), short);
        }
    }
}
