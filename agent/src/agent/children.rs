//! JVMs that this one starts are recorded, too.
//!
//! `tyrion record` starts a JVM quietly, without `JAVA_TOOL_OPTIONS`, of which
//! the JVM would print a line, and says in another variable what that should
//! be for the JVM's children. It ends with that variable's name, so its text
//! is already the text that the children need: one entry of the environment
//! only has to point into it. `setenv` would move and free what other threads
//! may be reading, and in a program that starts a JVM itself there may be some.

use std::{
    ffi::{CStr, c_char},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Release},
    },
};

const WANTED: &[u8] = b"JAVA_TOOL_OPTIONS=";
/// In front of [`WANTED`]: what children shall have.
const PREFIX: &[u8] = b"TYRION_CHILD_";
/// An entry that means nothing and may be replaced.
const SLOT: &[u8] = b"TYRION_SLOT=";

unsafe extern "C" {
    static environ: *const AtomicPtr<c_char>;
}

/// Gives this process's children the `JAVA_TOOL_OPTIONS` that are meant for
/// them.
pub fn record_too() {
    // SAFETY: the C library's list of the environment: entries that end with
    // null. As anybody who reads the environment, we rely on nobody making
    // the list longer just now.
    unsafe { point_to_child_options(environ) }
}

/// # Safety
/// Null, or a list of entries that end with a zero byte, itself ended by null.
/// The texts are neither changed nor freed.
unsafe fn point_to_child_options(list: *const AtomicPtr<c_char>) {
    if list.is_null() {
        return;
    }
    let (mut options, mut own, mut slot) = (None, None, None);
    for nth in 0.. {
        // SAFETY: this is not behind the null that ends the list.
        let entry = unsafe { &*list.add(nth) };
        let text = entry.load(Acquire);
        if text.is_null() {
            break;
        }
        // SAFETY: it ends with a zero byte.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        if bytes.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with(WANTED)) {
            options = Some(text.wrapping_add(PREFIX.len()));
        } else if bytes.starts_with(WANTED) {
            own.get_or_insert(entry);
        } else if bytes.starts_with(SLOT) {
            slot.get_or_insert(entry);
        }
    }
    // One store: others see the text of before, or this one.
    if let (Some(options), Some(entry)) = (options, own.or(slot)) {
        entry.store(options, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    fn after(texts: &[&'static CStr]) -> Vec<String> {
        let of = |text: &&CStr| AtomicPtr::new(text.as_ptr().cast_mut());
        let mut list: Vec<_> = texts.iter().map(of).collect();
        list.push(AtomicPtr::default());
        // SAFETY: a list as it must be, of constants.
        unsafe { point_to_child_options(list.as_ptr()) };
        let texts = list[..texts.len()].iter().map(|entry| {
            // SAFETY: each points to a constant, or into one.
            unsafe { CStr::from_ptr(entry.load(Relaxed)) }.to_str().unwrap().to_owned()
        });
        texts.collect()
    }

    #[test]
    fn children_get_the_options_and_what_says_so() {
        let child = c"TYRION_CHILD_JAVA_TOOL_OPTIONS=-agentpath:x";
        let options = "JAVA_TOOL_OPTIONS=-agentpath:x";
        let told = child.to_str().unwrap();
        assert_eq!(after(&[c"A=b", child, c"TYRION_SLOT="]), ["A=b", told, options]);
        let users = c"JAVA_TOOL_OPTIONS=-Dof.the.user=1";
        assert_eq!(after(&[c"TYRION_SLOT=", users, child]), ["TYRION_SLOT=", options, told]);
        assert_eq!(after(&[users, child]), [options, told]);
        // Nothing is known for children, or there is nowhere to put it.
        for same in [vec![users, c"TYRION_SLOT="], vec![child], vec![c"TYRION_SLOT=1"], vec![]] {
            let before: Vec<&str> = same.iter().map(|text| text.to_str().unwrap()).collect();
            assert_eq!(after(&same), before);
        }
        // SAFETY: null is allowed.
        unsafe { point_to_child_options(std::ptr::null()) };
    }
}
