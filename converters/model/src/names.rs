//! What classes, methods and locks are called in outputs.
//!
//! Java methods have two names, because two families of readers take them
//! apart: KCacheGrind groups by what stands before the last `::` ahead of `(`
//! ([`callgrind`]), while pprof shortens only `com.acme.Foo.bar` ([`dotted`]).

use crate::{
    harmless,
    profile::{Function, Profile, State},
};
use std::borrow::Cow;
pub use tyrion_stacks::is_jdk;
use tyrion_wire::WaitKind;

/// `com.acme.Foo::bar(int, java.lang.String)`.
pub fn callgrind(function: &Function) -> String {
    if function.class.is_empty() {
        return harmless::name(&function.method).into_owned();
    }
    let class = readable_class(&function.class);
    let name = match parameters(&function.descriptor) {
        Some(parameters) => format!("{class}::{}({parameters})", function.method),
        None => format!("{class}::{}", function.method),
    };
    harmless::name(&name).into_owned()
}

/// `com.acme.Foo.bar`.
pub fn dotted(function: &Function) -> String {
    if function.class.is_empty() {
        return harmless::name(&function.method).into_owned();
    }
    harmless::name(&dotted_whole(function)).into_owned()
}

fn dotted_whole(function: &Function) -> String {
    format!("{}.{}", readable_class(&function.class), function.method)
}

/// `com.acme.Foo.bar(ILjava/lang/String;)V`: what tells overloads apart.
pub fn with_descriptor(function: &Function) -> String {
    let name = match function.class.as_str() {
        "" => function.method.clone(),
        _ => dotted_whole(function),
    };
    harmless::name(&(name + &function.descriptor)).into_owned()
}

/// The frame that stands for a lock at the end of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFrame {
    /// The lock's class; empty when it is not known.
    pub class: String,
    /// What the program calls the lock; empty when that is not known.
    pub name: String,
    /// What tells the lock from others of its class, `#7`; empty when all locks
    /// of a class share the frame.
    pub identity: String,
    /// How it was waited for, or taken.
    pub kind: WaitKind,
}

impl LockFrame {
    /// `com.acme.Foo::[monitor Cache.lock #7]`: KCacheGrind's grouping by class
    /// then sums what concerns the locks of each class.
    pub fn callgrind(&self) -> String {
        let words = [self.kind.name(), &self.name, &self.identity];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let words = words.join(" ");
        let name = match self.class.as_str() {
            "" => format!("[{words}]"),
            class => format!("{class}::[{words}]"),
        };
        harmless::name(&name).into_owned()
    }

    /// `[monitor] Cache.lock (com.acme.Foo#7)`, or `[monitor] com.acme.Foo#7`:
    /// no method looks like this. For text, which has room for all of it.
    pub fn dotted(&self) -> String {
        let kind = self.kind.name();
        let space = if self.class.is_empty() && self.name.is_empty() { "" } else { " " };
        let lock = lock_called(&self.name, &self.class, &self.identity);
        harmless::name(&format!("[{kind}]{space}{lock}")).into_owned()
    }

    /// `Cache.lock#7 [monitor]`, or `com.acme.Foo#7 [monitor]` where the program has
    /// no name for the lock. For pictures, which cut names: what the lock is called
    /// comes first, and nothing in it makes `go tool pprof` cut it, as `/` and `(` do.
    pub fn brief(&self) -> String {
        let called = called(&self.name, &self.class);
        let words = format!("{called}{} [{}]", self.identity, self.kind.name());
        harmless::name(words.trim_start()).into_owned()
    }

    /// What [`LockFrame::brief`] leaves out: the class of a lock that has a name.
    pub fn class_beside_name(&self) -> &str {
        if self.name.is_empty() { "" } else { &self.class }
    }
}

/// What a lock is called if one word has to do: its name, or else its class.
pub fn called<'n>(name: &'n str, class: &'n str) -> &'n str {
    if name.is_empty() { class } else { name }
}

/// `Cache.lock (com.acme.Foo#7)`, as far as it is known.
pub fn lock_called(name: &str, class: &str, identity: &str) -> String {
    match (name, class) {
        ("", _) => format!("{class}{identity}"),
        (_, "") => format!("{name}{identity}"),
        _ => format!("{name} ({class}{identity})"),
    }
}

/// A lock's class for people.
pub fn lock_class(profile: &Profile, lock: u32) -> String {
    let class = profile.locks.get(lock as usize).map_or("", |lock| lock.class.as_str());
    harmless::name(&readable_class(class)).into_owned()
}

/// What the program calls a lock, for people; empty when that is not known.
pub fn lock_own_name(profile: &Profile, lock: u32) -> String {
    let name = profile.locks.get(lock as usize).map_or("", |lock| lock.name.as_str());
    harmless::name(name).into_owned()
}

/// A lock in a word, `Cache.lock#7`, or `java.lang.Object#7` where the program has no
/// name for it; empty if neither is known, nor which one it is.
pub fn lock(profile: &Profile, lock: u32) -> String {
    let (name, class) = (lock_own_name(profile, lock), lock_class(profile, lock));
    let identity = profile.lock_identity(lock);
    harmless::name(&format!("{}{identity}", called(&name, &class))).into_owned()
}

/// The frame at which all stacks of a thread, or of a group of threads, begin.
pub fn thread_frame(name: &str) -> String {
    harmless::name(&format!("[{name}]")).into_owned()
}

/// The frame that stands for what a thread was doing.
pub fn state_frame(state: State) -> String {
    format!("[{}]", state.name())
}

/// Whether a class is one through which every wait for a lock of `java.util.concurrent`
/// goes, so that it does not tell where the lock was taken.
pub fn is_machinery(class: &str) -> bool {
    class.starts_with("java.util.concurrent.") || class == "jdk.internal.misc.Unsafe"
}

/// A class as its source names it: arrays as `int[]`, and without the number
/// that the JVM gives to hidden classes and that differs from run to run.
pub fn readable_class(class: &str) -> Cow<'_, str> {
    if class.starts_with('[') {
        let mut rest = class;
        if let (Some(name), "") = (take_type(&mut rest), rest) {
            return Cow::Owned(name);
        }
    }
    Cow::Borrowed(stable_class(class))
}

/// `Foo$$Lambda$14/0x0000000800066840` → `Foo$$Lambda`, and so for other hidden
/// classes and for the accessors that reflection generates.
fn stable_class(class: &str) -> &str {
    let class = without_address(class);
    for generated in ["$$Lambda$", "MethodAccessor", "ConstructorAccessor"] {
        if let Some(at) = class.rfind(generated) {
            let end = at + generated.len();
            let numbered = class[end..].bytes().all(|byte| byte.is_ascii_digit());
            if numbered && end < class.len() {
                return class[..end].trim_end_matches('$');
            }
        }
    }
    class
}

/// Hidden classes end in `/0x…` or, in signatures and symbols, `.0x…` and
/// `+0x…`; the anonymous ones of JDK 11 in `/` and a decimal number.
fn without_address(class: &str) -> &str {
    let Some(at) = class.rfind(['/', '.', '+']) else { return class };
    let (name, number) = (&class[..at], &class[at + 1..]);
    let is_address = match number.strip_prefix("0x") {
        Some(hex) => !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => {
            class[at..].starts_with('/')
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        }
    };
    if is_address { name } else { class }
}

/// The package of a class, if it is in one.
pub fn package(class: &str) -> Option<&str> {
    without_address(class).rsplit_once('.').map(|(package, _)| package)
}

/// A method and a place in it as Android's runtime writes them in the names of slices:
/// `void com.acme.Foo.bar(int)(Foo.java:12)`. Perfetto takes such names apart at blanks
/// and parentheses, so those within names are replaced; what is unknown is `[unknown]`,
/// and line -1.
pub fn art(function: &Function, line: u32) -> String {
    let plain = |text: &str| harmless::name(text).replace('(', "[").replace(')', "]");
    let word = |text: &str| plain(text).replace(' ', "_");
    let returned = returned(&function.descriptor).unwrap_or_else(|| "[unknown]".to_owned());
    let method = match function.class.as_str() {
        "" => word(&function.method),
        class => format!("{}.{}", word(&readable_class(class)), word(&function.method)),
    };
    let parameters = parameters(&function.descriptor).unwrap_or_default();
    let file = function.source.rsplit('/').next().unwrap_or_default();
    let line = if line == 0 { "-1".to_owned() } else { line.to_string() };
    let (returned, parameters, file) = (word(&returned), plain(&parameters), plain(file));
    format!("{returned} {method}({parameters})({file}:{line})")
}

/// The type that a method with this descriptor returns.
fn returned(descriptor: &str) -> Option<String> {
    let (_, mut rest) = descriptor.rsplit_once(')')?;
    if rest == "V" { Some("void".to_owned()) } else { take_type(&mut rest) }
}

/// The parameter types of a method descriptor: `int, java.lang.String[]`.
/// None when it is not a descriptor.
fn parameters(descriptor: &str) -> Option<String> {
    let mut rest = descriptor.strip_prefix('(')?;
    let mut list = String::new();
    while !rest.starts_with(')') {
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push_str(&take_type(&mut rest)?);
    }
    Some(list)
}

/// Takes one type off the front of a descriptor.
fn take_type(rest: &mut &str) -> Option<String> {
    let element = rest.trim_start_matches('[');
    let dimensions = rest.len() - element.len();
    let first = element.chars().next()?;
    let mut after = &element[first.len_utf8()..];
    let mut name = match first {
        'B' => "byte".to_owned(),
        'C' => "char".to_owned(),
        'D' => "double".to_owned(),
        'F' => "float".to_owned(),
        'I' => "int".to_owned(),
        'J' => "long".to_owned(),
        'S' => "short".to_owned(),
        'Z' => "boolean".to_owned(),
        'L' => {
            let (class, tail) = after.split_once(';')?;
            after = tail;
            class.replace('/', ".")
        }
        _ => return None,
    };
    *rest = after;
    name.push_str(&"[]".repeat(dimensions));
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(class: &str, method: &str, descriptor: &str) -> Function {
        Function {
            class: class.to_owned(),
            method: method.to_owned(),
            descriptor: descriptor.to_owned(),
            ..Function::default()
        }
    }

    #[test]
    fn methods_have_two_names() {
        let f = function("com.acme.Foo$Bar", "get", "(I[[Ljava/lang/String;ZJ)V");
        assert_eq!(
            callgrind(&f),
            "com.acme.Foo$Bar::get(int, java.lang.String[][], boolean, long)"
        );
        assert_eq!(dotted(&f), "com.acme.Foo$Bar.get");
        assert_eq!(with_descriptor(&f), "com.acme.Foo$Bar.get(I[[Ljava/lang/String;ZJ)V");
        assert_eq!(callgrind(&function("A", "<init>", "()V")), "A::<init>()");
        assert_eq!(callgrind(&function("", "[cut]", "")), "[cut]");
        assert_eq!(dotted(&function("", "[cut]", "")), "[cut]");
    }

    #[test]
    fn methods_are_named_as_androids_runtime_does() {
        let of = |class, method, descriptor, line| {
            let source = "com/acme/Foo.java".to_owned();
            art(&Function { source, ..function(class, method, descriptor) }, line)
        };
        assert_eq!(
            of("com.acme.Foo", "get", "(I[Ljava/lang/String;)Ljava/lang/Object;", 12),
            "java.lang.Object com.acme.Foo.get(int, java.lang.String[])(Foo.java:12)"
        );
        assert_eq!(of("a.Foo", "<init>", "()V", 0), "void a.Foo.<init>()(Foo.java:-1)");
        let broken = of("a.F (x)", "say hello", "(broken", 3);
        assert_eq!(broken, "[unknown] a.F_[x].say_hello()(Foo.java:3)");
        let unknown = Function { method: "[unknown]".to_owned(), ..Function::default() };
        assert_eq!(art(&unknown, 0), "[unknown] [unknown]()(:-1)");
    }

    #[test]
    fn broken_descriptors_leave_the_bare_name() {
        for descriptor in ["", "(", "(I", "(Lx", "(Q)V", "I", "([)V", "(é)V"] {
            assert_eq!(callgrind(&function("A", "b", descriptor)), "A::b", "{descriptor}");
        }
    }

    #[test]
    fn classes_are_the_same_in_every_run() {
        for (class, stable) in [
            ("a.Foo", "a.Foo"),
            ("a.Foo$$Lambda$14/0x0000000800066840", "a.Foo$$Lambda"),
            ("a.Foo$$Lambda/0x00007f1234567890", "a.Foo$$Lambda"),
            ("a.Foo$$Lambda$14.0x0000000800066840", "a.Foo$$Lambda"),
            ("a.Foo$$Lambda+0x00007f1234567890", "a.Foo$$Lambda"),
            ("a.Foo$$Lambda$14/1234567", "a.Foo$$Lambda"),
            ("a.LambdaForm$MH/0x0000000800c03000", "a.LambdaForm$MH"),
            (
                "jdk.internal.reflect.GeneratedMethodAccessor12",
                "jdk.internal.reflect.GeneratedMethodAccessor",
            ),
            ("a.MethodAccessor", "a.MethodAccessor"),
            ("a.0x", "a.0x"),
            ("a.b.Sha256", "a.b.Sha256"),
            ("[B", "byte[]"),
            ("[[Ljava.lang.Object;", "java.lang.Object[][]"),
            ("[", "["),
            ("", ""),
        ] {
            assert_eq!(readable_class(class), stable);
            assert_eq!(readable_class(&readable_class(class)), stable, "twice is once");
        }
    }

    #[test]
    fn packages() {
        assert_eq!(package("com.acme.Foo"), Some("com.acme"));
        assert_eq!(package("com.acme.Foo$$Lambda.0x0000000800066840"), Some("com.acme"));
        assert_eq!(package("Foo"), None);
    }

    #[test]
    fn locks_have_three_names() {
        let mut lock = LockFrame {
            class: "a.Foo".to_owned(),
            name: String::new(),
            identity: "#7".to_owned(),
            kind: WaitKind::LockRead,
        };
        assert_eq!(lock.callgrind(), "a.Foo::[lock-read #7]");
        assert_eq!(lock.dotted(), "[lock-read] a.Foo#7");
        assert_eq!(lock.brief(), "a.Foo#7 [lock-read]");
        lock.name = "Cache.lock".to_owned();
        assert_eq!(lock.callgrind(), "a.Foo::[lock-read Cache.lock #7]");
        assert_eq!(lock.dotted(), "[lock-read] Cache.lock (a.Foo#7)");
        assert_eq!(lock.brief(), "Cache.lock#7 [lock-read]");
        lock.class.clear();
        assert_eq!(lock.callgrind(), "[lock-read Cache.lock #7]");
        assert_eq!(lock.dotted(), "[lock-read] Cache.lock#7");
        lock.class = "a.Foo".to_owned();
        lock.name.clear();
        lock.identity.clear();
        assert_eq!(lock.callgrind(), "a.Foo::[lock-read]");
        lock.class.clear();
        assert_eq!(lock.callgrind(), "[lock-read]");
        assert_eq!(lock.dotted(), "[lock-read]");
        assert_eq!(lock.brief(), "[lock-read]");
        lock.identity = "#7".to_owned();
        assert_eq!(lock.dotted(), "[lock-read]#7");
        assert_eq!(lock.brief(), "#7 [lock-read]");
    }

    #[test]
    fn names_are_harmless_and_of_bounded_length() {
        assert_eq!(thread_frame("x\ny\u{202e}"), "[x_y_]");
        let long = |middle: &str| format!("{0}{middle}{0}", "x".repeat(2_000));
        let of = |middle: &str| {
            let f = function(&long(middle), "run\u{202e}", "()V");
            let lock = LockFrame {
                class: harmless::name(&long(middle)).into_owned(),
                name: harmless::name(&long(middle)).into_owned(),
                identity: "#7".to_owned(),
                kind: WaitKind::Monitor,
            };
            let thread = thread_frame(&long(middle));
            [
                callgrind(&f),
                dotted(&f),
                with_descriptor(&f),
                lock.callgrind(),
                lock.dotted(),
                lock.brief(),
                thread,
            ]
        };
        for (a, b) in of("a").into_iter().zip(of("b")) {
            assert_ne!(a, b, "what readers tell apart by name stays apart");
            assert!(a.chars().count() <= harmless::LONGEST && !a.contains(harmless::is_harmful));
        }
        assert!(callgrind(&function(&long("a"), "run", "()V")).ends_with("::run()"));
    }
}
