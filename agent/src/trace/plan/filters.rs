//! Which classes get probes.

/// Which classes get probes.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl Filters {
    /// Patterns of class names as in `com.example.*`, where `*` stands for any characters and `?`
    /// for one. No pattern to include means all classes; what is excluded stays out.
    pub fn new<S: AsRef<str>>(
        include: impl IntoIterator<Item = S>,
        exclude: impl IntoIterator<Item = S>,
    ) -> Self {
        let include = include.into_iter().map(|text| Pattern::new(text.as_ref())).collect();
        let exclude = exclude.into_iter().map(|text| Pattern::new(text.as_ref())).collect();
        Self { include, exclude }
    }

    /// Whether the class with this internal name (modified UTF-8) is to get probes.
    pub fn wants(&self, class: &[u8]) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(class));
        !is_untouchable(class)
            && (self.include.is_empty() || any(&self.include))
            && !any(&self.exclude)
    }
}

/// A pattern of class names.
#[derive(Clone, Debug)]
struct Pattern(Vec<u8>);

impl Pattern {
    fn new(text: &str) -> Self {
        Self(text.trim().replace('.', "/").into_bytes())
    }

    fn matches(&self, name: &[u8]) -> bool {
        let (mut pattern, mut rest) = (self.0.as_slice(), name);
        // Behind the last star, and where its text ends so far: to try one character more.
        let mut retry: Option<(&[u8], &[u8])> = None;
        loop {
            match (pattern, rest) {
                ([], []) => return true,
                ([b'*', behind @ ..], _) => {
                    retry = Some((behind, rest));
                    pattern = behind;
                }
                ([wanted, p @ ..], [found, r @ ..]) if *wanted == b'?' || wanted == found => {
                    (pattern, rest) = (p, r);
                }
                _ => {
                    let Some((behind, [_, longer @ ..])) = retry else { return false };
                    retry = Some((behind, longer));
                    (pattern, rest) = (behind, longer);
                }
            }
        }
    }
}

/// Classes that never get probes around monitors, whatever the user says. A name that ends in `$`
/// or `/` stands for all names that start with it.
const UNTOUCHABLE: &[&str] = &[
    // What the probes call must not call itself.
    "java/lang/TyrionProbe",
    "java/lang/TyrionTrace",
    "java/lang/TyrionTrace$",
    // It has no monitors, and the JVM replaces most of its methods.
    "jdk/internal/misc/Unsafe",
    "sun/misc/Unsafe",
    // These two threads run for ever, also when there is no memory left. Should a probe fail
    // there, for lack of memory or of stack, the thread would end and no reference would ever be
    // cleared again.
    "java/lang/ref/Reference",
    "java/lang/ref/Reference$",
    "java/lang/ref/ReferenceQueue",
    "java/lang/ref/ReferenceQueue$",
    "java/lang/ref/NativeReferenceQueue",
    "java/lang/ref/NativeReferenceQueue$",
    "java/lang/ref/Finalizer",
    "java/lang/ref/Finalizer$",
    // They run while a virtual thread is half on its carrier: `Thread.currentThread()`, which
    // tells the probes whose counters to use, is not what JVMTI takes for the current thread.
    "java/lang/VirtualThread",
    "java/lang/VirtualThread$",
    "java/lang/BaseVirtualThread",
    "jdk/internal/vm/",
];

fn is_untouchable(class: &[u8]) -> bool {
    UNTOUCHABLE.iter().any(|name| match name.as_bytes() {
        prefix @ [.., b'$' | b'/'] => class.starts_with(prefix),
        name => class == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_with_dots() {
        let matches = |pattern: &str, name: &str| Pattern::new(pattern).matches(name.as_bytes());
        assert!(matches("com.example.*", "com/example/a/B$C"));
        assert!(!matches("com.example.*", "com/examples/A"));
        assert!(matches("*", "A") && matches("*.Cache", "a/b/Cache") && !matches("", "A"));
        assert!(matches("a.?", "a/B") && !matches("a.?", "a/BC"));
        assert!(matches("*a*b*c", "xxaxxbxbxxc") && !matches("*a*b*c", "xxaxxbxbxx"));
        assert!(matches("**", "") && matches("a*", "a"));
    }

    #[test]
    fn exclusion_wins_and_some_classes_are_never_touched() {
        let filters = Filters::new(["com.example.*"], ["*$Inner"]);
        assert!(filters.wants(b"com/example/Cache"));
        assert!(!filters.wants(b"com/example/Cache$Inner"));
        assert!(!filters.wants(b"org/example/Cache"));
        let all = Filters::default();
        assert!(all.wants(b"java/lang/Thread") && all.wants(b"java/lang/ref/Cleaner"));
        for never in ["java/lang/TyrionTrace", "java/lang/ref/Reference$1", "jdk/internal/vm/X"] {
            assert!(!all.wants(never.as_bytes()), "{never}");
            assert!(!Filters::new(["*"], []).wants(never.as_bytes()), "{never}");
        }
    }
}
