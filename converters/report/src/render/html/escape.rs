//! Text that a log says, made harmless.

use crate::{cells::plain, render::names::pieces};

/// The text as it may stand in an element or in an attribute between quotes.
pub(in super::super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in plain(text).chars() {
        push(&mut escaped, char);
    }
    escaped
}

fn push(escaped: &mut String, char: char) {
    match char {
        '&' => escaped.push_str("&amp;"),
        '<' => escaped.push_str("&lt;"),
        '>' => escaped.push_str("&gt;"),
        '"' => escaped.push_str("&quot;"),
        '\'' => escaped.push_str("&#39;"),
        _ => escaped.push(char),
    }
}

/// The same for an element, with places where a long name may go on in the next
/// line: behind packages and outer classes.
pub(super) fn breakable(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let text = plain(text);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        push(&mut escaped, char);
        let inside = chars.peek().is_some_and(|next| next.is_alphabetic());
        if matches!(char, '.' | '$' | '/') && inside {
            escaped.push_str("<wbr>");
        }
    }
    escaped
}

/// The same, with packages and places fainter than the names that they belong
/// to.
pub(super) fn names(text: &str) -> String {
    let text = plain(text);
    // A frame ends with its place.
    let (name, place) = match text.rfind('(') {
        Some(at) if is_place(&text[at..]) => text.split_at(at),
        _ => (&*text, ""),
    };
    let faint = |piece: &str| format!("<span class=k>{piece}</span>");
    let mut escaped = String::new();
    for (piece, is_package) in pieces(name) {
        let piece = breakable(piece);
        escaped += &if is_package { faint(&piece) + "<wbr>" } else { piece };
    }
    if !place.is_empty() {
        escaped += "<wbr>";
        escaped += &faint(&escape(place));
    }
    escaped
}

fn is_place(text: &str) -> bool {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let line = inside.and_then(|place| place.rsplit_once(':'));
    line.is_some_and(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out() {
        assert_eq!(escape("a<b>&\"c'\u{0}"), "a&lt;b&gt;&amp;&quot;c&#39;_");
        assert_eq!(escape("</script><!--"), "&lt;/script&gt;&lt;!--");
        assert_eq!(breakable("a.b$C.<init>"), "a.<wbr>b$<wbr>C.&lt;init&gt;");
        assert_eq!(breakable("12.5 ms. End"), "12.5 ms. End");
    }

    #[test]
    fn packages_and_places_are_faint() {
        assert_eq!(
            names("com.acme.Foo.bar(Foo.java:12)"),
            "<span class=k>com.<wbr>acme.</span><wbr>Foo.<wbr>bar<wbr><span class=k>(Foo.java:12)</span>"
        );
        assert_eq!(names("lock (a.B#7)"), "lock (<span class=k>a.</span><wbr>B#7)");
        assert_eq!(names("a <b> c.d.e"), "a &lt;b&gt; c.<wbr>d.<wbr>e");
        assert_eq!(names("x(\"y:1)"), "x<wbr><span class=k>(&quot;y:1)</span>");
        assert_eq!(names(""), "");
    }
}
