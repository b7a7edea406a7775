//! Text that must fit.

use crate::render::names::{without_classes, without_packages, without_places};
use unicode_width::UnicodeWidthChar;

/// How much names are shortened, from not at all to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    No,
    Packages,
    Places,
    Classes,
}

impl Short {
    pub(super) const ALL: [Short; 4] = [Short::No, Short::Packages, Short::Places, Short::Classes];

    /// The text with its names shortened so.
    pub(super) fn of(self, text: &str) -> String {
        match self {
            Short::No => text.to_owned(),
            Short::Packages => without_packages(text),
            Short::Places => without_places(&without_packages(text)),
            Short::Classes => without_classes(&without_places(&without_packages(text))),
        }
    }

    /// The texts with their names shortened as little as it takes for them to
    /// fit, all in the same way.
    pub(super) fn to_fit(texts: &[String], width: usize) -> Vec<String> {
        let mut tried = texts.to_vec();
        for short in Short::ALL {
            tried = texts.iter().map(|text| short.of(text)).collect();
            if tried.iter().all(|text| columns(text) <= width) {
                break;
            }
        }
        tried
    }
}

/// The number of terminal columns the text takes: letters of some scripts take
/// two, marks upon others none. Terminals know little of sequences of them, so
/// each counts for itself.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(char: char) -> usize {
    char.width().unwrap_or(0)
}

/// As much of the text as fits into so many columns, from its beginning on.
pub(super) fn clip(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    format!("{}…", begin(text, width - 1))
}

/// As much of a name as fits, up to its end, which tells more than its beginning.
/// What is shown is in one piece, so that it can be searched for.
pub(super) fn clip_name(name: &str, width: usize) -> String {
    if columns(name) <= width {
        return name.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let (mut room, mut last) = (width - 1, name.len());
    for (at, char) in name.char_indices().rev() {
        let Some(left) = room.checked_sub(columns_of(char)) else { break };
        room = left;
        // A mark stays with the letter that it stands upon.
        if columns_of(char) > 0 {
            last = at;
        }
    }
    format!("…{}", &name[last..])
}

/// As much of the beginning as fits.
fn begin(text: &str, width: usize) -> &str {
    let mut room = width;
    for (at, char) in text.char_indices() {
        match room.checked_sub(columns_of(char)) {
            Some(left) => room = left,
            None => return &text[..at],
        }
    }
    text
}

/// The text, and blanks up to the width: in front of it if it is a number.
pub(super) fn pad(text: &str, width: usize, right: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(columns(text)));
    if right { blanks + text } else { text.to_owned() + &blanks }
}

/// What stays with the number before it.
const UNITS: [&str; 6] = ["ns", "µs", "ms", "s", "%", "×"];

/// The words of a text; a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
        let is_number = |word: &String| word.ends_with(|char: char| char.is_ascii_digit());
        match words.last_mut().filter(|last| is_number(last) && UNITS.contains(&unit)) {
            Some(last) => *last = format!("{last} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// The text in lines that fit, broken between words where that can be.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in &words(text) {
        let mut word = word.as_str();
        if !line.is_empty() && columns(&line) + 1 + columns(word) <= width {
            line.push(' ');
            line += word;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while columns(word) > width {
            let part = begin(word, width);
            let part = if part.is_empty() { first_char(word) } else { part };
            lines.push(part.to_owned());
            word = &word[part.len()..];
        }
        line += word;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn first_char(text: &str) -> &str {
    let len = text.chars().next().map_or(0, char::len_utf8);
    &text[..len]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_keep_their_ends_and_texts_their_beginnings() {
        for (width, text, name) in [
            (20, "com.acme.Cache", "com.acme.Cache"),
            (9, "com.acme…", "…me.Cache"),
            (1, "…", "…"),
            (0, "", ""),
        ] {
            assert_eq!(clip("com.acme.Cache", width), text);
            assert_eq!(clip_name("com.acme.Cache", width), name);
        }
        assert_eq!(clip("漢字漢字漢字", 7), "漢字漢…");
        assert_eq!(clip_name("漢字漢字漢字", 7), "…字漢字");
    }

    #[test]
    fn texts_are_shortened_alike() {
        let texts = ["a.b.Cc.run(Cc.java:7)", "d.Eee.run(Eee.java:12345)"].map(str::to_owned);
        let to_fit = |width| Short::to_fit(&texts, width);
        assert_eq!(to_fit(30), texts);
        assert_eq!(to_fit(24), ["Cc.run(Cc.java:7)", "Eee.run(Eee.java:12345)"]);
        assert_eq!(to_fit(22), ["Cc.run", "Eee.run"]);
        assert_eq!(to_fit(1), to_fit(22));
    }

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one  two\nthree", 99), ["one two three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert!(wrap(" ", 3).is_empty());
        assert_eq!(wrap("it took 12.5 ms, then 3 %.", 10), ["it took", "12.5 ms,", "then 3 %."]);
        assert_eq!(wrap("waited 12.5 ms", 9), ["waited", "12.5 ms"]);
    }

    proptest! {
        #[test]
        fn what_is_shortened_fits(text in "\\PC{0,60}", width in 0usize..50) {
            for short in [clip(&text, width), clip_name(&text, width)] {
                prop_assert!(columns(&short) <= width, "{short:?}");
                prop_assert!(text.contains(short.trim_matches('…')), "{short:?}");
            }
            // One sign of Khmer is three columns wide.
            let widest = text.chars().filter_map(UnicodeWidthChar::width).max();
            let width = width.max(widest.unwrap_or(0)).max(1);
            for line in wrap(&text, width) {
                prop_assert!(columns(&line) <= width, "{line:?}");
                prop_assert!(!line.is_empty());
            }
        }
    }
}
