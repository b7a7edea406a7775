//! Libraries of the process, by what is in them.

use std::ffi::{CString, c_void};

/// A library that is loaded, and stays.
pub struct Library(*mut c_void);

impl Library {
    /// The one that a function is in.
    pub fn of(function: *const c_void) -> Option<Library> {
        // SAFETY: all-zero is a valid value, which the call fills; the address need
        // not even be a function's.
        let library = unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(function, &mut info) == 0 || info.dli_fname.is_null() {
                return None;
            }
            // It is there already, and stays.
            libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
        };
        (!library.is_null()).then_some(Library(library))
    }

    /// Where it has a function or variable.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        // SAFETY: the library is open, the name ends with a zero.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_in_the_library_of_a_function() {
        let library = Library::of(libc::malloc as *const c_void).unwrap();
        assert_eq!(library.symbol("free"), Some(libc::free as *const () as usize));
        assert_eq!(library.symbol("no_such_function"), None);
        assert!(Library::of(std::ptr::null()).is_none());
    }
}
