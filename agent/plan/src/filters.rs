//! Which classes get probes.

use crate::{Aim, Place};
use std::sync::Arc;
use tyrion_wire::pattern::Pattern;

/// Which classes get probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    /// The locks that are traced alone, if not all are.
    aim: Option<Arc<Aim>>,
}

impl Filters {
    /// Patterns of class names as in `com.example.*`. No pattern to include means all classes; what
    /// is excluded stays out.
    pub fn new(include: &[Pattern], exclude: &[Pattern]) -> Self {
        let internal = |pattern: &Pattern| Pattern::new(&pattern.as_str().replace('.', "/"));
        Self {
            include: include.iter().map(internal).collect(),
            exclude: exclude.iter().map(internal).collect(),
            aim: None,
        }
    }

    /// Of the classes that take one of these locks alone, if any are given, and these locks.
    #[must_use]
    pub fn aimed_at(self, aim: Option<&Arc<Aim>>) -> Self {
        Self { aim: aim.cloned(), ..self }
    }

    /// Whether acquisitions at a place are counted.
    pub fn wants_place(&self, place: &Place) -> bool {
        self.aim.as_ref().is_none_or(|aim| aim.has(place))
    }

    /// Whether the locks of `java.util.concurrent` get probes.
    pub fn wants_locks(&self) -> bool {
        self.aim.as_ref().is_none_or(|aim| aim.has_locks())
    }

    /// Whether all locks of the classes are traced.
    pub fn wants_all_locks(&self) -> bool {
        self.aim.is_none()
    }

    /// Whether the class with this internal name (modified UTF-8) is to get probes.
    pub fn wants(&self, class: &[u8]) -> bool {
        let name = String::from_utf8_lossy(class);
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(&name));
        !is_untouchable(class)
            && (self.include.is_empty() || any(&self.include))
            && self.aim.as_ref().is_none_or(|aim| aim.has_class(&name))
            && !any(&self.exclude)
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

    fn patterns<const N: usize>(texts: [&str; N]) -> Vec<Pattern> {
        texts.map(Pattern::new).to_vec()
    }

    #[test]
    fn exclusion_wins_and_some_classes_are_never_touched() {
        let filters = Filters::new(&patterns(["com.example.*", "a.?"]), &patterns(["*$Inner"]));
        assert!(filters.wants(b"com/example/Cache"));
        assert!(!filters.wants(b"com/example/Cache$Inner"));
        assert!(!filters.wants(b"org/example/Cache") && !filters.wants(b"com/examples/A"));
        assert!(filters.wants(b"a/B") && !filters.wants(b"a/BC"));
        // One character, however many bytes it takes.
        assert!(filters.wants("a/Ä".as_bytes()) && !filters.wants(b"a/\xed\xa0\x80"));
        let all = Filters::default();
        assert!(all.wants(b"java/lang/Thread") && all.wants(b"java/lang/ref/Cleaner"));
        for never in ["java/lang/TyrionTrace", "java/lang/ref/Reference$1", "jdk/internal/vm/X"] {
            assert!(!all.wants(never.as_bytes()), "{never}");
            assert!(!Filters::new(&patterns(["*"]), &[]).wants(never.as_bytes()), "{never}");
        }
    }
}
