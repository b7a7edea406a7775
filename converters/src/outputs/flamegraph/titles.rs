//! Frame titles in the units that people read, with what the names leave out.

use crate::outputs::lines::Lines;
use std::collections::{BTreeSet, HashMap};
use tyrion_model::units;

/// The name of the unit that is rewritten.
pub(super) const NANOSECONDS: &str = "ns";

/// So many classes are told of the locks with one name.
const MOST_CLASSES: usize = 3;

/// The classes of locks whose names do not tell them, by the names as they stand in
/// titles; both as XML.
#[derive(Default)]
pub(super) struct TitleClasses(HashMap<String, String>);

impl TitleClasses {
    /// Those of all these lines.
    pub(super) fn of(lines: &[&Lines<'_>]) -> TitleClasses {
        let mut classes: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for (name, of_name) in lines.iter().flat_map(|lines| lines.classes()) {
            classes.entry(name).or_default().extend(of_name.iter().map(String::as_str));
        }
        TitleClasses(
            classes.iter().map(|(name, classes)| (escaped(name), listed(classes))).collect(),
        )
    }
}

/// The first of some classes, as XML.
fn listed(classes: &BTreeSet<&str>) -> String {
    let shown: Vec<&str> = classes.iter().copied().take(MOST_CLASSES).collect();
    let more = if classes.len() > MOST_CLASSES { ", …" } else { "" };
    escaped(&(shown.join(", ") + more).replace('(', "_"))
}

/// The title from `Cache.map [monitor] (12,345,678 ns, 1.23%)` to
/// `Cache.map [monitor] (12.3 ms, 1.23%; java.lang.Object)`; `None` if it stays as it is.
///
/// The SVG's scripts cut the last `(…)` off a title to get at the name, so there is no
/// `(` in it.
pub(super) fn rewritten(title: &str, classes: &TitleClasses) -> Option<String> {
    let open = title.rfind('(')?;
    let (name, inside) = (title[..open].trim_end(), title[open + 1..].strip_suffix(')')?);
    let time = readable(inside);
    let class = classes.0.get(name);
    if time.is_none() && class.is_none() {
        return None;
    }
    let inside = time.as_deref().unwrap_or(inside);
    let class = class.map(|class| format!("; {class}")).unwrap_or_default();
    Some(format!("{}{inside}{class})", &title[..=open]))
}

/// `12.3 ms, 1.23%` for `12,345,678 ns, 1.23%`. The widths of frames stand in other
/// attributes and stay in ns.
fn readable(inside: &str) -> Option<String> {
    let (number, rest) = inside.split_once(' ')?;
    let rest = rest.strip_prefix(NANOSECONDS)?;
    if !rest.starts_with(", ") {
        return None;
    }
    let wait_ns = number.replace(',', "").parse().ok()?;
    Some(units::duration(wait_ns) + rest)
}

/// The text as XML, as inferno writes it.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\'' => escaped.push_str("&apos;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(char),
        }
    }
    escaped
}

/// XML as text.
pub(super) fn unescaped(xml: &str) -> String {
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&quot;", "\""), ("&amp;", "&")];
    // The last one is what the others may have been made of.
    entities.iter().fold(xml.to_owned(), |text, (entity, char)| text.replace(entity, char))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes() -> TitleClasses {
        let of = |(name, class): (&str, &str)| (name.to_owned(), class.to_owned());
        TitleClasses([("a.b [monitor]", "java.lang.Object"), ("x&lt;y", "C")].map(of).into())
    }

    #[test]
    fn xml_is_text_again() {
        for text in ["", "a.b", "<&lt;>\"'&amp;amp;", "&"] {
            assert_eq!(unescaped(&escaped(text)), text);
        }
    }

    #[test]
    fn nanoseconds_become_readable() {
        for (title, expected) in [
            ("all (12,345,678 ns, 100%)", "all (12.3 ms, 100%)"),
            ("a(1 ns, 2) (5 ns, 0.10%)", "a(1 ns, 2) (5 ns, 0.10%)"),
            ("a (5,000 ns, 0.10%; +1.00%)", "a (5 µs, 0.10%; +1.00%)"),
        ] {
            let made = rewritten(title, &classes());
            assert_eq!(made.as_deref(), Some(expected));
        }
    }

    #[test]
    fn classes_come_last() {
        for (title, expected) in [
            ("a.b [monitor] (5,000 ns, 0.10%)", "a.b [monitor] (5 µs, 0.10%; java.lang.Object)"),
            ("a.b [monitor] (3 waits, 1%)", "a.b [monitor] (3 waits, 1%; java.lang.Object)"),
            ("x&lt;y (3 waits, 1%; +2%)", "x&lt;y (3 waits, 1%; +2%; C)"),
        ] {
            assert_eq!(rewritten(title, &classes()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn many_classes_are_cut() {
        let listed = |classes: &[&'static str]| listed(&classes.iter().copied().collect());
        assert_eq!(listed(&["b(1)<", "a"]), "a, b_1)&lt;");
        assert_eq!(listed(&["a", "b", "c", "d"]), "a, b, c, …");
    }

    #[test]
    fn other_titles_stay() {
        for title in [
            "",
            "x",
            "a (1 waits, 2%)",
            "a (b ns, 2%)",
            "a (1 ns)",
            "(",
            "(1 nsx, 2%)",
            "a.b [monitor]",
            "a.b [monitor] (1 ns, 2%",
        ] {
            assert_eq!(rewritten(title, &classes()), None, "{title}");
        }
    }
}
