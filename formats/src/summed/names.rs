//! What profiles call methods, locks and threads, taken apart.

use tyrion_wire::WaitKind;

/// A function's name in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FunctionName<'n> {
    /// Its class as in class files, `java/util/HashMap`; empty for what is no Java
    /// method.
    pub(crate) class: String,
    /// The method, or all of the name.
    pub(crate) method: &'n str,
    /// Its descriptor; may be empty.
    pub(crate) descriptor: &'n str,
    /// The line that stands behind the name, 0 if none does.
    pub(crate) line: u32,
}

impl<'n> FunctionName<'n> {
    /// Of `java/util/HashMap.get`, `java.util.HashMap.get`, either with a line behind a
    /// colon or with a descriptor; of anything else, as it is.
    pub(crate) fn of(name: &'n str) -> FunctionName<'n> {
        let (rest, line) = match name.rsplit_once(':') {
            Some((rest, line)) if is_number(line) => (rest, line.parse().unwrap_or(0)),
            _ => (name, 0),
        };
        let (head, descriptor) = match rest.find('(') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let java = parts(head).filter(|(class, method)| is_java(class, method));
        match java {
            Some((class, method)) => {
                FunctionName { class: class_name(class), method, descriptor, line }
            }
            None => FunctionName { method: name, ..FunctionName::default() },
        }
    }

    /// A class as class files have it, of one as source code has it.
    pub(crate) fn class(name: &str) -> String {
        class_name(name)
    }

    /// Of a name that is no Java method, whatever it looks like.
    pub(crate) fn plain(name: &'n str) -> FunctionName<'n> {
        FunctionName { method: name, ..FunctionName::default() }
    }
}

/// A class and a method: `java.lang.Thread.run`, or `java/lang/Thread::run` as maps for
/// `perf` have it.
fn parts(name: &str) -> Option<(&str, &str)> {
    let (class, method) = match name.rsplit_once("::") {
        Some((class, method)) => (class.trim_end_matches(':'), method),
        None => return name.rsplit_once('.'),
    };
    // Without a package it may be a function of C++.
    class.contains(['.', '/']).then_some((class, method))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether this may be a Java class, as source code or class files have it, and a method
/// of it.
fn is_java(class: &str, method: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$');
    let is_of_method = |char: char| is_part(char) || matches!(char, '<' | '>' | '-');
    // A hidden class has a number behind `.`, `/` or `+`.
    let is_of_class = |char: char| is_part(char) || matches!(char, '/' | '.' | '+' | '-');
    let shown = class.split_once("$$Lambda").map_or(class, |(shown, _)| shown);
    let is_mixed = shown.contains('/') && shown.contains('.');
    let is_empty = class.is_empty() || method.is_empty();
    !is_empty && !is_mixed && class.chars().all(is_of_class) && method.chars().all(is_of_method)
}

/// A class as class files have it, of one as source code has it.
fn class_name(class: &str) -> String {
    match class.strip_suffix(".class") {
        Some(class) => class.replace('.', "/") + ".class",
        None => class.replace('.', "/"),
    }
}

/// A lock's name in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LockName {
    /// Its class as in class files, or a class object; may be empty.
    pub(crate) class: String,
    /// What the program calls it; may be empty.
    pub(crate) name: String,
    /// What tells it from others of its class: `7`; may be empty.
    identity: String,
}

impl LockName {
    /// Of a class.
    pub(crate) fn of_class(class: &str) -> LockName {
        LockName { class: class_name(class), ..LockName::default() }
    }

    /// Of `Cache.lock (com.acme.Foo#7)`, as outputs call locks.
    pub(crate) fn of(text: &str) -> LockName {
        let (name, lock) = match text.strip_suffix(')').and_then(|it| it.rsplit_once(" (")) {
            Some((name, lock)) => (name, lock),
            None => ("", text),
        };
        let (class, identity) = match lock.rsplit_once('#') {
            Some((class, identity)) if is_number(identity) => (class, identity),
            _ => (lock, ""),
        };
        let class = if class == crate::UNKNOWN { "" } else { class };
        LockName { class: class_name(class), name: name.to_owned(), identity: identity.to_owned() }
    }

    /// Of what outputs call a lock in one word, and its class: `Cache.lock#7` and
    /// `com.acme.Foo`.
    pub(crate) fn with_class(text: &str, class: &str) -> LockName {
        let lock = LockName::of(text);
        let class = class_name(class);
        if !lock.name.is_empty() || lock.class == class {
            return lock;
        }
        let name = match text.rsplit_once('#') {
            Some((name, identity)) if is_number(identity) => name,
            _ => text,
        };
        LockName { class, name: name.to_owned(), identity: lock.identity }
    }

    /// What tells it from others of its class; may be empty.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether nothing is known of it.
    pub(crate) fn is_unknown(&self) -> bool {
        self.class.is_empty() && self.name.is_empty()
    }
}

/// The kind and the lock of a frame that Tyrion's outputs put at the end of stacks:
/// `[monitor] com.acme.Foo`, or `com.acme.Foo#7 [monitor]` where they are for pictures.
pub(crate) fn lock_frame(frame: &str) -> Option<(WaitKind, LockName)> {
    kind_first(frame).or_else(|| kind_last(frame))
}

fn kind_last(frame: &str) -> Option<(WaitKind, LockName)> {
    let (lock, kind) = frame.strip_suffix(']')?.rsplit_once(" [")?;
    Some((WaitKind::from_name(kind)?, LockName::of(lock)))
}

fn kind_first(frame: &str) -> Option<(WaitKind, LockName)> {
    let (kind, lock) = frame.strip_prefix('[')?.split_once(']')?;
    let lock = match lock {
        "" => "",
        lock => lock.strip_prefix(' ')?,
    };
    Some((WaitKind::from_name(kind)?, LockName::of(lock)))
}

/// The class of a lock, of a frame that async-profiler puts at the end of stacks:
/// `java.util.HashMap`, without a method, where methods are called
/// `java/util/HashMap.get`.
pub(crate) fn class_frame(frame: &str) -> Option<&str> {
    let class = frame.trim_end_matches("[]");
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$' | '.');
    let last = class.rsplit('.').next().unwrap_or_default();
    // Methods begin with small letters, and packages do.
    let names_class = last.chars().next().is_some_and(char::is_uppercase);
    let is_array = class.len() < frame.len();
    (!class.is_empty() && class.chars().all(is_part) && (names_class || is_array)).then_some(frame)
}

/// The thread of a frame at which all stacks of a thread begin: `[main tid=77]` as
/// async-profiler has it; `[main]`, as Tyrion does, if the stack is one of its own.
pub(crate) fn thread_frame(frame: &str, is_own: bool) -> Option<&str> {
    let name = frame.strip_prefix('[')?.strip_suffix(']')?;
    let is_tid = |text: &str| text.strip_prefix("tid=").is_some_and(is_number);
    match name.rsplit_once(' ') {
        Some((name, tid)) if is_tid(tid) => Some(name),
        _ if is_tid(name) => Some(name),
        // Those are no threads.
        _ if matches!(frame, crate::UNKNOWN | "[cut]") => None,
        _ => is_own.then_some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_taken_apart() {
        for (name, class, method, line) in [
            ("java/util/HashMap.get", "java/util/HashMap", "get", 0),
            ("java.util.HashMap.get:12", "java/util/HashMap", "get", 12),
            ("Main.<init>", "Main", "<init>", 0),
            ("com/acme/Foo$$Lambda.0x0000f.run", "com/acme/Foo$$Lambda/0x0000f", "run", 0),
            ("com.acme.Foo.lambda$main$0", "com/acme/Foo", "lambda$main$0", 0),
            ("ObjectMonitor::enter", "", "ObjectMonitor::enter", 0),
            ("java/lang/Thread::run", "java/lang/Thread", "run", 0),
            ("java.lang.Thread:::run", "java/lang/Thread", "run", 0),
            ("github.com/acme/foo.Bar", "", "github.com/acme/foo.Bar", 0),
            ("sync.(*Mutex).Lock", "", "sync.(*Mutex).Lock", 0),
            ("main", "", "main", 0),
            (".x", "", ".x", 0),
            ("x.", "", "x.", 0),
            ("", "", "", 0),
            ("żółw.Łoś.idź", "żółw/Łoś", "idź", 0),
        ] {
            let found = FunctionName::of(name);
            assert_eq!((&*found.class, found.method, found.line), (class, method, line), "{name}");
        }
        let found = FunctionName::of("com.acme.Foo.bar(ILjava/lang/String;)V");
        assert_eq!((found.method, found.descriptor), ("bar", "(ILjava/lang/String;)V"));
    }

    #[test]
    fn locks_are_taken_apart() {
        let of = |class: &str, name: &str, identity: &str| LockName {
            class: class.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
        };
        for (text, lock) in [
            ("com.acme.Foo", of("com/acme/Foo", "", "")),
            ("com.acme.Foo#7", of("com/acme/Foo", "", "7")),
            ("Cache.lock (java.lang.Object#7)", of("java/lang/Object", "Cache.lock", "7")),
            ("int[]", of("int[]", "", "")),
            ("com.acme.Foo.class", of("com/acme/Foo.class", "", "")),
            ("[unknown]", of("", "", "")),
            ("", of("", "", "")),
            ("#x", of("#x", "", "")),
        ] {
            assert_eq!(LockName::of(text), lock, "{text}");
        }
        let told = LockName::with_class("Cache.map#7", "java.lang.Object");
        assert_eq!(told, of("java/lang/Object", "Cache.map", "7"));
        assert_eq!(LockName::with_class("a.B#7", "a.B"), of("a/B", "", "7"));
        let frame = lock_frame("[lock-read] com.acme.Foo");
        assert_eq!(frame, Some((WaitKind::LockRead, of("com/acme/Foo", "", ""))));
        assert_eq!(lock_frame("[park]").map(|it| it.0), Some(WaitKind::Park));
        let frame = lock_frame("com.acme.Foo#7 [lock-read]");
        assert_eq!(frame, Some((WaitKind::LockRead, of("com/acme/Foo", "", "7"))));
        for other in ["[main]", "[monitor]x", "monitor", "x[monitor]", "x [y]", "[", ""] {
            assert_eq!(lock_frame(other), None, "{other}");
        }
    }

    #[test]
    fn frames_of_async_profiler_are_known() {
        for class in ["java.util.HashMap", "Foo", "int[]", "com.acme.Foo$Bar", "a.B[][]"] {
            assert_eq!(class_frame(class), Some(class));
        }
        for other in ["java/util/HashMap", "java/util/HashMap.get", "com.acme.Foo.bar", "", "[]"] {
            assert_eq!(class_frame(other), None, "{other}");
        }
        assert_eq!(thread_frame("[main tid=77]", false), Some("main"));
        assert_eq!(thread_frame("[tid=77]", false), Some("tid=77"));
        assert_eq!(thread_frame("[pool-1 x]", true), Some("pool-1 x"));
        for other in ["[unknown_Java]", "[deoptimization]", "main"] {
            assert_eq!(thread_frame(other, false), None, "{other}");
        }
        assert_eq!((thread_frame("[cut]", true), thread_frame("[unknown]", true)), (None, None));
    }
}
