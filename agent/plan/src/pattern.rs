//! Patterns of names.

/// A pattern of a thread's or a class's name: `*` stands for any text, `?` for
/// one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// As the user wrote it.
    pub fn new(text: &str) -> Pattern {
        Pattern(text.to_owned())
    }

    /// As the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let text: Vec<char> = text.chars().collect();
        let (mut p, mut t) = (0, 0);
        // Where the last star stands and what it has swallowed so far.
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some('*') => {
                    star = Some((p, t));
                    p += 1;
                }
                Some(&c) if c == '?' || c == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((at, swallowed)) => {
                        star = Some((at, swallowed + 1));
                        p = at + 1;
                        t = swallowed + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|&c| c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, expected) in [
            ("GC*", "GC Thread#0", true),
            ("GC*", "my GC", false),
            ("*-worker-?", "pool-worker-7", true),
            ("*-worker-?", "pool-worker-17", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "ab ab", true),
            ("*a*b*c", "xxaxxbxbxx", false),
            ("a?", "aÄ", true),
            ("a*", "a", true),
            ("", "", true),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }
}
