//! Which methods a compiled frame stands for: HotSpot's debug information (`pcDesc.hpp`,
//! `scopeDesc.cpp`, `compressedStream.cpp`).

use super::{
    frames::Unsure,
    layout::{Layout, ScopesLayout},
    memory::read,
};

/// A `PcDesc`: four numbers, of which the first two are the place in the code and that of
/// its scope.
const PC_DESC: usize = 16;
/// More methods are not inlined into each other.
const MOST_INLINED: usize = 1024;
/// The bytes of a compressed number.
const MOST_BYTES: u32 = 5;
const ACC_NATIVE: u16 = 0x0100;
/// In front of the first bytecode, where a synchronized method takes its monitor.
const SYNCHRONIZATION_ENTRY: i64 = -1;
/// `GetStackTrace`'s place in a native method.
pub const NATIVE_LOCATION: i64 = -1;

/// A frame as JVMTI sees it, but for the method's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The `Method`.
    pub method: usize,
    /// The bytecode's index.
    pub location: i64,
}

impl Layout {
    /// Where a frame of compiled code really goes on: if it will be deoptimized, it
    /// keeps that for itself.
    ///
    /// # Safety
    /// The frame is one of the current thread.
    pub unsafe fn real_pc(&self, nmethod: usize, pc: usize, sp: usize) -> Result<usize, Unsure> {
        let blob = &self.blob;
        // SAFETY: the code of the frame stays, and so does what its frame keeps.
        unsafe {
            if !blob.deopt.iter().flatten().any(|handler| handler.of(nmethod) == pc) {
                return Ok(pc);
            }
            let offset = usize::try_from(blob.orig_pc.number(nmethod)).map_err(|_| Unsure)?;
            let size = usize::try_from(read::<i32>(nmethod + blob.frame_size)).unwrap_or(0);
            let is_within = offset < size * size_of::<usize>();
            if is_within { Ok(read(sp + offset)) } else { Err(Unsure) }
        }
    }

    /// Has `each` look at the methods of a compiled frame, innermost first, until it
    /// returns `false`.
    ///
    /// # Safety
    /// The frame is one of the current thread, and goes on at this address.
    pub unsafe fn scopes(
        &self,
        nmethod: usize,
        pc: usize,
        mut each: impl FnMut(Scope) -> bool,
    ) -> Result<(), Unsure> {
        // SAFETY: the code of the frame stays, with all that belongs to it.
        unsafe {
            let method = read::<usize>(nmethod + self.blob.method);
            if method == 0 {
                return Err(Unsure);
            }
            if self.is_native(method) {
                each(Scope { method, location: NATIVE_LOCATION });
                return Ok(());
            }
            let code = self.blob.code.of(nmethod);
            let offset = i32::try_from(pc.wrapping_sub(code)).map_err(|_| Unsure)?;
            let mut at = self.scopes.scope_at(nmethod, offset).ok_or(Unsure)?;
            let (data, metadata) = (self.scopes.data.of(nmethod), self.scopes.metadata.of(nmethod));
            for _ in 0..MOST_INLINED {
                let mut stream = Stream { at: data + at, excluded: self.scopes.excluded };
                let (sender, method) = (stream.number(), stream.number());
                // From -1 on.
                let location = i64::from(stream.number()) - 1;
                let method = method.checked_sub(1).ok_or(Unsure)?;
                let method = read(metadata + size_of::<usize>() * method as usize);
                let location = if location == SYNCHRONIZATION_ENTRY { 0 } else { location };
                if !each(Scope { method, location }) || sender == 0 {
                    return Ok(());
                }
                at = sender as usize;
            }
        }
        Err(Unsure)
    }

    /// The place in an interpreted method, by the address of the bytecode.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    pub unsafe fn location(&self, method: usize, bytecode: usize) -> Result<i64, Unsure> {
        let layout = &self.method;
        // SAFETY: the method of a frame stays.
        unsafe {
            if self.is_native(method) {
                return Ok(NATIVE_LOCATION);
            }
            let constant = read::<usize>(method + layout.const_method);
            let index = bytecode.wrapping_sub(constant + layout.bytecodes);
            let len = read::<u16>(constant + layout.bytecodes_len);
            if index < usize::from(len) { Ok(index as i64) } else { Err(Unsure) }
        }
    }

    /// # Safety
    /// There is such a method, and it stays.
    pub unsafe fn is_native(&self, method: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { read::<u16>(method + self.method.access) & ACC_NATIVE != 0 }
    }
}

impl ScopesLayout {
    /// Where the scope begins of the place in the code at an offset.
    ///
    /// # Safety
    /// There is such an `nmethod`, and it stays.
    unsafe fn scope_at(&self, nmethod: usize, offset: i32) -> Option<usize> {
        // SAFETY: the caller's promise; descriptions are in the order of their places.
        unsafe {
            let (begin, end) = (self.pcs.of(nmethod), self.pcs_end.of(nmethod));
            let nth = |nth: usize| begin + nth * PC_DESC;
            let (mut low, mut high) = (0, end.checked_sub(begin)? / PC_DESC);
            while low < high {
                let middle = low + (high - low) / 2;
                match read::<i32>(nth(middle)).cmp(&offset) {
                    std::cmp::Ordering::Less => low = middle + 1,
                    std::cmp::Ordering::Greater => high = middle,
                    std::cmp::Ordering::Equal => {
                        let scope = read::<i32>(nth(middle) + 4);
                        return usize::try_from(scope).ok().filter(|&scope| scope != 0);
                    }
                }
            }
            None
        }
    }
}

/// Compressed numbers, `UNSIGNED5`: digits of base 64, the lowest first; all but the
/// last one are made larger by what a last one is less than.
struct Stream {
    at: usize,
    excluded: u32,
}

impl Stream {
    /// # Safety
    /// The stream has another number.
    unsafe fn number(&mut self) -> u32 {
        // 192, less what is not used.
        let last_below = 256 - 64 - self.excluded;
        let mut sum = 0u32;
        for nth in 0..MOST_BYTES {
            // SAFETY: the caller's promise.
            let byte = u32::from(unsafe { read::<u8>(self.at) });
            self.at += 1;
            let digit = byte.wrapping_sub(self.excluded);
            sum = sum.wrapping_add(digit.wrapping_shl(6 * nth));
            if digit < last_below {
                break;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8], excluded: u32, count: usize) -> Vec<u32> {
        let mut stream = Stream { at: bytes.as_ptr().expose_provenance(), excluded };
        // SAFETY: the tests' bytes have so many numbers.
        (0..count).map(|_| unsafe { stream.number() }).collect()
    }

    #[test]
    fn compressed_numbers() {
        // The examples of HotSpot's unsigned5.hpp, before and since JDK 20.
        assert_eq!(numbers(&[0, 1, 191, 192, 0, 255, 0], 0, 5), [0, 1, 191, 192, 255]);
        assert_eq!(numbers(&[1, 2, 191, 192, 1, 255, 1], 1, 5), [0, 1, 190, 191, 254]);
        assert_eq!(numbers(&[192, 1, 255, 255, 255, 255, 255], 0, 1), [256]);
    }
}
