//! Names and messages that are safe to show.
//!
//! Threads, classes, files and what else a log or a command line names may hold
//! anything: escape sequences that a terminal obeys, line breaks that end a
//! record, marks that turn the direction of reading, a hundred kilobytes of
//! text. Whatever is shown goes through this crate, so that all outputs call a
//! thing the same. Only JSON has the name as it is, escaped.
#![forbid(unsafe_code)]

use std::{borrow::Cow, fmt::Write};

/// The longest name that is shown whole, in characters. Names of methods with
/// packages and parameters seldom have more than 250.
pub const LONGEST: usize = 500;

/// What stands for a character that is not shown.
const INSTEAD: &str = "_";

/// How many characters say in a shortened name that it is one: `…~`, 16 digits
/// and `…`.
const MARK: usize = 19;

/// A name as it may be shown: without harmful characters, and shortened in the
/// middle if it has more than [`LONGEST`] characters.
pub fn name(name: &str) -> Cow<'_, str> {
    within(name, LONGEST)
}

/// As [`name`], but at most so many characters long; 40 or more of them.
///
/// A shortened name keeps its beginning and its end, and has a hash of the
/// whole between them. So different names stay different where a reader adds up
/// what has the same name.
pub fn within(name: &str, longest: usize) -> Cow<'_, str> {
    let longest = longest.max(40);
    // No name has more characters than bytes.
    if name.len() <= longest {
        return text(name);
    }
    let chars = name.chars().count();
    if chars <= longest {
        return text(name);
    }
    let kept = longest - MARK;
    // The end tells more than the beginning, which is the package of a class.
    let first = kept * 2 / 5;
    let skipped = chars - (kept - first);
    let byte_of = |nth| name.char_indices().nth(nth).map_or(name.len(), |(at, _)| at);
    let mut short = text(&name[..byte_of(first)]).into_owned();
    // Writing into a string cannot fail.
    let _ = write!(short, "…~{:016x}…", hash(name));
    short.push_str(&text(&name[byte_of(skipped)..]));
    Cow::Owned(short)
}

/// A line of text, such as a message, without harmful characters. Line breaks
/// are such characters, too.
pub fn text(text: &str) -> Cow<'_, str> {
    if is_plain(text.as_bytes()) || !text.contains(is_harmful) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.replace(is_harmful, INSTEAD))
    }
}

/// Whether this is ASCII that may be shown, line breaks left out: most text is,
/// and need not be looked at character by character.
///
/// All of a block is looked at, since a loop that may end at every byte is not
/// made into vector instructions, and takes ten times as long.
#[inline]
pub fn is_plain(text: &[u8]) -> bool {
    let is_shown = |&byte: &u8| byte.wrapping_sub(b' ') <= b'~' - b' ';
    text.chunks(64).all(|block| block.iter().fold(true, |all, byte| all & is_shown(byte)))
}

/// Whether a character must not be shown.
///
/// * Control characters: terminals obey them, a line break ends a record, a NUL
///   hangs KCacheGrind, and XML has none of them.
/// * What separates lines and paragraphs.
/// * Marks that turn the direction of reading: a name could have the text around
///   it read backwards.
/// * Whatever is not seen by itself (Unicode's Default_Ignorable_Code_Point):
///   two names that look the same would be two things. Some scripts and emoji
///   need joiners and variation selectors from among these; their names are
///   shown with gaps, since being mistaken for another name is worse.
/// * Annotations between lines, and what is no character.
///
/// Unpaired surrogates cannot stand in a `str`: what reads Java's strings makes
/// each of them a U+FFFD, which is shown.
pub fn is_harmful(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{2028}' | '\u{2029}'
            | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
            | '\u{fdd0}'..='\u{fdef}')
        || u32::from(char) & 0xfffe == 0xfffe
}

/// FNV-1a of 64 bits: the same on every machine and in every version.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn harmful_characters_are_replaced() {
        for (raw, shown) in [
            ("a\0b\r\nc\u{1b}[31md\u{7f}", "a_b__c_[31md_"),
            ("c1 \u{85}\u{9b}2J", "c1 __2J"),
            ("line\u{2028}paragraph\u{2029}", "line_paragraph_"),
            ("\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}", "_______"),
            ("a\u{200b}b\u{200c}c\u{200d}d\u{2060}e\u{feff}", "a_b_c_d_e_"),
            ("soft\u{ad}hyphen \u{3164}", "soft_hyphen _"),
            ("tag\u{e0041}\u{e007f}\u{e0100}", "tag___"),
            ("\u{fff9}\u{fffb}\u{206a}\u{206f}", "____"),
            ("\u{fdd0}\u{ffff}\u{1fffe}\u{10ffff}", "____"),
        ] {
            assert_eq!(text(raw), shown, "{raw:?}");
            assert_eq!(name(raw), shown, "{raw:?}");
        }
    }

    #[test]
    fn what_is_seen_stays() {
        for seen in ["", "ünï; 7 ~", "日本語", "😀 pool", "a\u{fffd}b", "ω\u{301}", "שלום", "…"]
        {
            assert!(matches!(name(seen), Cow::Borrowed(same) if same == seen), "{seen:?}");
        }
    }

    #[test]
    fn plain_text_is_ascii_that_is_seen() {
        let plain: Vec<u8> = (b' '..=b'~').cycle().take(300).collect();
        assert!(is_plain(&plain) && is_plain(b""));
        for byte in (0..b' ').chain(0x7f..=0xff) {
            for at in [0, 1, 63, 64, 65, 200, 299] {
                let mut text = plain.clone();
                text[at] = byte;
                assert!(!is_plain(&text), "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn long_names_keep_both_ends() {
        let long = format!("com.acme.{}.Last", "x".repeat(4_000));
        let short = name(&long);
        assert_eq!(short.chars().count(), LONGEST);
        assert!(short.starts_with("com.acme.xx") && short.ends_with("xx.Last"), "{short}");
        // It must never change: profiles of different versions are compared.
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
        let whole = "x".repeat(LONGEST);
        assert!(matches!(name(&whole), Cow::Borrowed(_)));
        let wide = "é".repeat(LONGEST);
        assert!(matches!(name(&wide), Cow::Borrowed(_)), "characters count, not bytes");
    }

    #[test]
    fn names_that_differ_in_the_middle_stay_different() {
        let of = |middle: &str| format!("{}{middle}{}", "x".repeat(2_000), "y".repeat(2_000));
        assert_ne!(name(&of("a")), name(&of("b")));
        // What is replaced counts, too.
        assert_ne!(name(&of("\u{1}")), name(&of("\u{2}")));
    }

    fn any_text() -> impl Strategy<Value = String> {
        let harmful = prop::sample::select(vec![
            '\0',
            '\n',
            '\u{1b}',
            '\u{9b}',
            '\u{202e}',
            '\u{2066}',
            '\u{200d}',
            '\u{e0041}',
        ]);
        let char = prop_oneof![4 => any::<char>(), 1 => harmful, 2 => Just('x')];
        prop::collection::vec(char, 0..700).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn every_name_is_made_harmless(raw in any_text(), longest in 0usize..700) {
            let shown = within(&raw, longest);
            prop_assert!(!shown.contains(is_harmful));
            prop_assert!(shown.chars().count() <= longest.max(40));
            prop_assert_eq!(&within(&shown, longest), &shown);
            prop_assert_eq!(&text(&shown), &shown);
            prop_assert!(!text(&raw).contains(is_harmful));
        }

        #[test]
        fn long_names_stay_different(
            start in "[a-z]{300}", a in any_text(), b in any_text(), end in "[a-z]{300}"
        ) {
            let (a, b) = (format!("{start}{a}{end}"), format!("{start}{b}{end}"));
            prop_assert_eq!(name(&a) == name(&b), a == b);
        }
    }
}
