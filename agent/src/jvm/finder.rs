//! Whether the program's classes find one of the agent's own, which is among the JDK's.
//!
//! The JVM asks a class loader of the program's, in Java code, when code that it has loaded
//! first names the class. That takes room in the heap, may take locks, and may fail. So it is
//! asked before such code runs: the JVM then knows the answer for as long as the loader lives.

use super::{Java, Local, Object, Ti, library::Library, setup};
use crate::sync::lock;
use jvmti_bindings::sys::jni::{JNIEnv, jboolean, jclass};
use std::{
    cell::RefCell,
    collections::HashSet,
    ffi::{CString, c_char},
    sync::Mutex,
};

/// `JVM_FindClassFromClass`: the class that another one names, as if its code did.
type FindFromClass =
    unsafe extern "system" fn(*mut JNIEnv, *const c_char, jboolean, jclass) -> jclass;

/// Looks for one class.
pub struct Finder {
    name: CString,
    from_class: Option<FindFromClass>,
    /// The numbers of the loaders that find it.
    loaders: Mutex<HashSet<i64>>,
}

thread_local! {
    /// The loaders that this thread is asking; 0 for one without a number.
    static ASKED: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) };
}

impl Finder {
    /// Of a class, by its internal name.
    pub fn of(ti: Ti, name: &str) -> Option<Finder> {
        let code = ti.any_function().and_then(Library::of)?.symbol("JVM_FindClassFromClass");
        // SAFETY: the JVM's function of this name has had this type since JDK 1.2.
        let from_class = code.map(|code| unsafe {
            std::mem::transmute::<*const u8, FindFromClass>(std::ptr::with_exposed_provenance(code))
        });
        Some(Finder { name: CString::new(name).ok()?, from_class, loaders: Mutex::default() })
    }

    /// Whether [`Finder::is_found_by`] can tell.
    pub fn knows_classes(&self) -> bool {
        self.from_class.is_some()
    }

    /// Whether a class finds it.
    pub fn is_found_by(&self, java: Java, class: Object<'_>) -> bool {
        let Some(find) = self.from_class else { return false };
        // Up to JDK 11 the references of whoever has classes changed count as this call's.
        java.expect_locals(1);
        // SAFETY: the JVM's function, with the current thread's environment, a text that ends
        // with a zero byte, and a valid reference.
        let found = unsafe { find(java.raw(), self.name.as_ptr(), 0, class.raw()) };
        java.clear_exception();
        let is_found = !found.is_null();
        // SAFETY: the JVM's answer is a local reference of the current native frame, and ours.
        java.drop_local(unsafe { Local::new(found) });
        is_found
    }

    /// Whether the classes find it that a loader has loaded, or will load. Where the loader
    /// loads classes to find that out, those do not.
    pub fn is_found_by_loader(&self, java: Java, loader: Object<'_>, number: Option<i64>) -> bool {
        if number.is_some_and(|number| lock(&self.loaders).contains(&number)) {
            return true;
        }
        let key = number.unwrap_or(0);
        if ASKED.with_borrow(|asked| asked.contains(&key)) {
            return false;
        }
        ASKED.with_borrow_mut(|asked| asked.push(key));
        let is_found = setup::is_found_by(java, loader, &self.name.to_string_lossy());
        ASKED.with_borrow_mut(|asked| asked.pop());
        if is_found && let Some(number) = number {
            lock(&self.loaders).insert(number);
        }
        is_found
    }
}
