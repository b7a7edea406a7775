//! Reading what the JVM has in memory.

use std::{
    ffi::{CStr, c_char},
    ptr,
};

/// What is at an address.
///
/// # Safety
/// There is such a thing, which stays while it is read. Another thread may change it
/// meanwhile, as one word.
#[inline]
pub unsafe fn read<T: Copy>(at: usize) -> T {
    // SAFETY: the caller's promise; volatile, since what others change must be
    // read once, and just here.
    unsafe { ptr::with_exposed_provenance::<T>(at).read_volatile() }
}

/// A text that ends with a zero byte; empty if there is none.
///
/// # Safety
/// At an address that is not null there is such a text.
pub unsafe fn text(at: usize) -> String {
    // SAFETY: the caller's promise.
    unsafe { bytes(at) }.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a text that ends with a zero byte is the same as another.
///
/// # Safety
/// At an address that is not null there is such a text.
pub unsafe fn is_text(at: usize, other: &CStr) -> bool {
    // SAFETY: the caller's promise.
    let text = unsafe { bytes(at) };
    text == Some(other)
}

/// # Safety
/// At an address that is not null there is a text that ends with a zero byte, and stays.
unsafe fn bytes<'a>(at: usize) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    (at != 0).then(|| unsafe { CStr::from_ptr(ptr::with_exposed_provenance::<c_char>(at)) })
}
