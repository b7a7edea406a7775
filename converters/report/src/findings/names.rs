//! Frames and stacks of the profile in words.

use tyrion_formats::Recording;
use tyrion_model::{
    describe::{Names, in_bounds},
    names::is_jdk,
    profile::{Frame, Function, Profile},
};

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

/// A function of the profile: `com.acme.Foo.bar`.
pub fn function(profile: &Profile, function: u32) -> String {
    match profile.functions.get(function as usize) {
        Some(function) if function.class.is_empty() => function.method.clone(),
        Some(function) => format!("{}.{}", function.class, function.method),
        None => tyrion_formats::UNKNOWN.to_owned(),
    }
}

/// A stack of the profile, innermost first, [`in_bounds`].
pub fn stack(profile: &Profile, stack: u32) -> Vec<String> {
    in_bounds(profile.frames_of(stack).map(|at| frame(profile, at)))
}

/// What threads park and wait in, whatever for: beginnings of frames.
const MACHINERY: [&str; 8] = [
    "java.util.concurrent.",
    "java.lang.Object.wait",
    "jdk.internal.misc.Unsafe.park",
    "sun.misc.Unsafe.park",
    // Go's.
    "sync.(*",
    "internal/sync.(*",
    "runtime.chan",
    "runtime.selectgo",
];

/// Whether a frame, `java.lang.Object.wait0(Object.java)`, is of what locks and
/// queues are made of, and says nothing of the program.
pub fn is_machinery(frame: &str) -> bool {
    MACHINERY.iter().any(|start| frame.starts_with(start))
}

/// The same of a function of the profile.
pub fn is_machinery_function(function: &Function) -> bool {
    let (class, method) = (function.class.as_str(), function.method.as_str());
    if class.is_empty() {
        return is_machinery(method);
    }
    MACHINERY.iter().any(|start| match start.strip_prefix(class) {
        Some(rest) => rest.strip_prefix('.').is_some_and(|start| method.starts_with(start)),
        None => class.starts_with(start),
    })
}

/// Whether a stack is of who released a lock: Go's profiles of mutexes have no others.
pub fn is_release(profile: &Profile, stack: u32) -> bool {
    let Some(innermost) = profile.frames_of(stack).next().map(|at| frame(profile, at)) else {
        return false;
    };
    let own = innermost.strip_prefix("internal/").unwrap_or(&innermost);
    let method = own.strip_prefix("sync.(*").and_then(|own| own.split_once(")."));
    method.is_some_and(|(_, method)| {
        ["Unlock", "RUnlock", "unlockSlow", "rUnlockSlow"].contains(&method)
    })
}

/// Where the program is in a stack: its innermost frame outside of what locks
/// are made of. Empty for the empty stack.
pub fn place(profile: &Profile, stack: u32) -> String {
    let outside = |at: &Frame| {
        let function = profile.functions.get(at.function as usize);
        function.is_some_and(|function| !is_machinery_function(function))
    };
    let found = profile.frames_of(stack).find(outside);
    let found = found.or_else(|| profile.frames_of(stack).next());
    found.map_or_else(String::new, |at| frame(profile, at))
}

/// Where the program has a lock: the frame that has taken it, if that is known, or else the
/// innermost one; where looks have found the owner at whatever it did, the innermost one of
/// the program. `above` says how many frames it has called.
pub fn holder_place(profile: &Profile, stack: u32, above: u32) -> String {
    let taker = profile.frames_of(stack).nth(above as usize).filter(|_| above != 0);
    let own = || own_frame(profile, stack).filter(|_| profile.is_blame_sampled);
    let known = taker.or_else(own);
    known.map_or_else(|| place(profile, stack), |at| frame(profile, at))
}

/// The innermost frame of a stack that is the program's, not the JDK's.
pub fn own_frame(profile: &Profile, stack: u32) -> Option<Frame> {
    let function = |at: &Frame| profile.functions.get(at.function as usize);
    let is_own = |it: &Function| !it.class.is_empty() && !is_jdk(&it.class);
    profile.frames_of(stack).find(|at| function(at).is_some_and(is_own))
}

/// The same as [`place`], of a stack of a log.
pub fn place_in(log: &Recording, stack: u32) -> String {
    let names = Names(log);
    let mut frames = names.frames(stack).map(|frame| names.stack_frame(frame));
    let Some(innermost) = frames.next() else { return String::new() };
    match is_machinery(&innermost) {
        true => frames.find(|frame| !is_machinery(frame)).unwrap_or(innermost),
        false => innermost,
    }
}

/// Where all threads begin, whatever they do.
const BEGINNINGS: [&str; 2] = ["java.lang.Thread.run", "java.lang.VirtualThread.run"];

/// Where the program was when it ended a wait: the innermost frame outside of what locks are
/// made of. Empty if the stack has none: a pool's thread that has done its task shows nothing
/// of it.
pub fn waker_place<'f>(stack: impl IntoIterator<Item = &'f String>) -> String {
    let tells = |frame: &&String| {
        !is_machinery(frame) && !BEGINNINGS.iter().any(|start| frame.starts_with(start))
    };
    stack.into_iter().find(tells).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_parks_threads_is_told_from_the_program() {
        for (class, method, expected) in [
            ("java.util.concurrent.locks.ReentrantLock", "lock", true),
            ("java.lang.Object", "wait0", true),
            ("jdk.internal.misc.Unsafe", "park", true),
            ("jdk.internal.misc.Unsafe", "getInt", false),
            ("java.lang.Object", "hashCode", false),
            ("java.lang.ObjectX", "wait", false),
            ("java.util.Vector", "add", false),
            ("", "sync.(*Mutex).Lock", true),
            ("", "runtime.chanrecv1", true),
            ("", "main.(*Ledger).Transfer", false),
            ("", "", false),
        ] {
            let function = Function {
                class: class.to_owned(),
                method: method.to_owned(),
                ..Function::default()
            };
            assert_eq!(is_machinery_function(&function), expected, "{class}.{method}");
            let shown = match class {
                "" => method.to_owned(),
                class => format!("{class}.{method}(X.java:1)"),
            };
            assert_eq!(is_machinery(&shown), expected);
        }
    }
}
