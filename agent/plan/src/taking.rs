//! What the program takes at an instruction: told alike by the probes of trace mode,
//! which find it in class files, and by waits, which find it in the JVM.

use crate::{JdkClass, locks};
use tyrion_bytecode::naming::{Half, LockName, class_name};
use tyrion_wire::{WaitKind, def::place_flag};

/// What is taken at a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taken {
    /// What a wait there would be, as far as the code tells.
    pub kind: WaitKind,
    /// Bits of [`place_flag`].
    pub flags: u64,
    /// What the program calls the lock; empty unknown.
    pub name: String,
}

/// The monitor of an object that has this name.
pub fn monitor(name: Option<LockName>) -> Taken {
    let (name, is_field) = parts(name);
    Taken { kind: WaitKind::Monitor, flags: flag_of(is_field), name }
}

/// The lock on which a method of the class `owner` is called, in this method of this
/// class, with its descriptor; classes by their internal names. `None` in a lock's own method that calls itself, as `lock()` that calls
/// `super.lock()`: whoever calls that one takes the lock.
pub fn lock(
    kind: WaitKind,
    (owner, name): (&[u8], Option<LockName>),
    (class, method, descriptor): (&[u8], &[u8], &[u8]),
) -> Option<Taken> {
    let kind = match (kind, name.as_ref().and_then(|name| name.half)) {
        (WaitKind::Lock, Some(Half::Read)) => WaitKind::LockRead,
        (WaitKind::Lock, Some(Half::Write)) => WaitKind::LockWrite,
        _ => kind,
    };
    let (name, is_field) = parts(name);
    let (name, is_field) = match (name.as_str(), is_field) {
        ("this", _) if takes_locks(method, descriptor) => return None,
        // A class that is a lock: which one it is says what it is for.
        ("this", _) => (class_name(class), true),
        (_, false) if !is_jdks(owner) => (class_name(owner), true),
        _ => (name, is_field),
    };
    Some(Taken { kind, flags: place_flag::JUC | flag_of(is_field), name })
}

/// Whether a call of such a method takes a lock, whatever its class: then the probe in front
/// of the call tells where.
fn takes_locks(method: &[u8], descriptor: &[u8]) -> bool {
    locks::taken(JdkClass::ReentrantLock, method, descriptor).is_some()
}

/// Whether a class, by its internal name, is the JDK's: it does not tell which lock is
/// meant.
fn is_jdks(class: &[u8]) -> bool {
    class.starts_with(b"java/") || class.starts_with(b"jdk/") || class.starts_with(b"sun/")
}

fn parts(name: Option<LockName>) -> (String, bool) {
    name.map_or_else(Default::default, |name| (name.text, name.is_field))
}

fn flag_of(is_field: bool) -> u64 {
    if is_field { place_flag::FIELD } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REENTRANT: &str = "java/util/concurrent/locks/ReentrantLock";

    fn taken(owner: &str, name: Option<(&str, bool)>, method: &str) -> Option<(String, bool)> {
        let name =
            name.map(|(text, is_field)| LockName { text: text.to_owned(), half: None, is_field });
        let (method, descriptor) = method.split_once('(').unwrap_or((method, ""));
        let descriptor = format!("({descriptor}");
        let of = (&b"a/Segment"[..], method.as_bytes(), descriptor.as_bytes());
        let taken = lock(WaitKind::Lock, (owner.as_bytes(), name), of)?;
        assert_eq!(taken.flags & place_flag::JUC, place_flag::JUC);
        Some((taken.name, taken.flags & place_flag::FIELD != 0))
    }

    #[test]
    fn a_class_that_is_a_lock_tells_where_no_field_does() {
        let named = |name: &str, is_field| Some((name.to_owned(), is_field));
        let field = Some(("a/Map.lock", true));
        assert_eq!(taken(REENTRANT, field, "put"), named("a/Map.lock", true));
        assert_eq!(taken("a/Segment", field, "put"), named("a/Map.lock", true));
        assert_eq!(taken("a/Segment", Some(("this", false)), "put"), named("a/Segment", true));
        assert_eq!(taken("b/Lease", Some(("lease", false)), "put"), named("b/Lease", true));
        assert_eq!(taken("b/Lease", None, "put"), named("b/Lease", true));
        assert_eq!(taken(REENTRANT, Some(("lock", false)), "put"), named("lock", false));
        assert_eq!(taken(REENTRANT, None, "put"), named("", false));
    }

    #[test]
    fn a_lock_that_takes_itself_is_taken_by_its_caller() {
        assert_eq!(taken(REENTRANT, Some(("this", false)), "lock()V"), None);
        assert_eq!(taken(REENTRANT, Some(("this", false)), "tryLock()Z"), None);
        // Of calls of these nothing is told.
        for method in ["lock(Ljava/lang/String;)V", "acquire()V"] {
            let own = taken(REENTRANT, Some(("this", false)), method);
            assert_eq!(own, Some(("a/Segment".to_owned(), true)), "{method}");
        }
        assert!(taken(REENTRANT, Some(("a/Gate.inner", true)), "lock()V").is_some());
    }
}
