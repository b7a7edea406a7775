//! Machine code: which piece of it an address is in.

use super::{
    layout::Layout,
    memory::{is_text, read},
};
use std::{
    ffi::CStr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// What kind of code a piece is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A method, or what calls a native one.
    Method,
    /// Something of the JVM's.
    Stub,
}

/// Knows pieces by their names: by the addresses of these, which do not change, once it
/// has seen them.
#[derive(Default)]
pub struct Kinds {
    methods: [AtomicUsize; METHODS.len()],
    /// The last ones of other names, by some bits of the address.
    stubs: [AtomicUsize; 8],
}

/// What HotSpot calls a compiled method, and what calls a native one.
const METHODS: [&CStr; 2] = [c"nmethod", c"native nmethod"];

impl Kinds {
    /// # Safety
    /// There is such a blob, which stays while this is read.
    #[inline]
    pub unsafe fn of(&self, layout: &Layout, blob: usize) -> Kind {
        // SAFETY: the caller's promise.
        let name = unsafe { read::<usize>(blob + layout.blob.name) };
        if self.methods.iter().any(|known| known.load(Relaxed) == name) && name != 0 {
            return Kind::Method;
        }
        let stub = &self.stubs[name >> 4 & (self.stubs.len() - 1)];
        if stub.load(Relaxed) == name {
            return Kind::Stub;
        }
        // SAFETY: a blob's name is a text, if it has one.
        match METHODS.iter().position(|known| unsafe { is_text(name, known) }) {
            Some(nth) => {
                self.methods[nth].store(name, Relaxed);
                Kind::Method
            }
            None => {
                stub.store(name, Relaxed);
                Kind::Stub
            }
        }
    }
}

impl Layout {
    /// The blob that an address is in.
    ///
    /// # Safety
    /// If there is code, it is that of a frame of the current thread, so that it stays.
    #[inline]
    pub unsafe fn blob(&self, pc: usize) -> Option<usize> {
        let heap = self.heaps.iter().find(|heap| heap.contains(pc))?;
        // SAFETY: the caller's promise.
        unsafe { heap.block(pc) }.map(|block| block + self.blob.header)
    }
}
