//! Reading what the JVM has in memory.

use crate::jvm::peek;
use std::{
    ffi::{CStr, c_char},
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Whether what is read may not be there, since the JVM is one that was never seen: then the
/// kernel is asked, and what is missing is zero.
static IS_CAREFUL: AtomicBool = AtomicBool::new(false);

/// From now on, what is read may not be there; or may not any more.
pub fn be_careful(careful: bool) {
    IS_CAREFUL.store(careful, Relaxed);
}

/// What is at an address.
///
/// # Safety
/// There is such a thing, which stays while it is read. Another thread may change it
/// meanwhile, as one word.
#[inline]
pub unsafe fn read<T: Number>(at: usize) -> T {
    if IS_CAREFUL.load(Relaxed) {
        return carefully(at);
    }
    // SAFETY: the caller's promise; volatile, since what others change must be
    // read once, and just here.
    unsafe { ptr::with_exposed_provenance::<T>(at).read_volatile() }
}

/// What has no other bytes than its value's, of which any do.
///
/// # Safety
/// It is a plain number.
pub unsafe trait Number: Copy {}

macro_rules! numbers {
    ($($type:ty)*) => {
        // SAFETY: plain numbers.
        $(unsafe impl Number for $type {})*
    };
}
numbers!(u8 i8 u16 u32 i32 u64 usize);

#[cold]
fn carefully<T: Number>(at: usize) -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: so many bytes are its own, and all of them have a value.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), size_of::<T>()) };
    if !peek::fill(at, bytes) {
        bytes.fill(0);
    }
    // SAFETY: any bytes are a number.
    unsafe { value.assume_init() }
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
    let other = other.to_bytes_with_nul();
    // SAFETY: the caller's promise: up to the first byte that differs, the text goes on.
    at != 0 && (at..).zip(other).all(|(at, byte)| unsafe { read::<u8>(at) } == *byte)
}

/// # Safety
/// At an address that is not null there is a text that ends with a zero byte, and stays.
unsafe fn bytes<'a>(at: usize) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    (at != 0).then(|| unsafe { CStr::from_ptr(ptr::with_exposed_provenance::<c_char>(at)) })
}
