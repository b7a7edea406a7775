//! Frames and stacks of the profile in words.

use tyrion_converters::profile::{Frame, Profile};

/// A frame of the profile: `com.acme.Foo.bar(Foo.java:12)`.
pub fn frame(profile: &Profile, frame: Frame) -> String {
    let Some(function) = profile.functions.get(frame.function as usize) else {
        return tyrion_formats::UNKNOWN.to_owned();
    };
    if function.class.is_empty() {
        return function.method.clone();
    }
    let (class, method) = (&function.class, &function.method);
    let file = function.source.rsplit('/').next().unwrap_or_default();
    match (file, frame.line) {
        ("", _) => format!("{class}.{method}"),
        (file, 0) => format!("{class}.{method}({file})"),
        (file, line) => format!("{class}.{method}({file}:{line})"),
    }
}

/// A stack of the profile, innermost first.
pub fn stack(profile: &Profile, stack: u32) -> Vec<String> {
    profile.frames_of(stack).map(|at| frame(profile, at)).collect()
}

/// Where the program is in a stack: its innermost frame outside of the
/// machinery of `java.util.concurrent`. Empty for the empty stack.
pub fn place(profile: &Profile, stack: u32) -> String {
    let outside = |at: &Frame| {
        let function = profile.functions.get(at.function as usize);
        function.is_some_and(|function| !function.class.starts_with("java.util.concurrent."))
    };
    let found = profile.frames_of(stack).find(outside);
    let found = found.or_else(|| profile.frames_of(stack).next());
    found.map_or_else(String::new, |at| frame(profile, at))
}
