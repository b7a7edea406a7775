//! The current thread's stack, several times faster than `GetStackTrace`.
//!
//! `GetStackTrace` also finds out where each frame keeps its object references,
//! which nobody asked for: 0.3 to 0.7 µs a frame in programs whose code does
//! not fit the caches. `AsyncGetCallTrace` does not. It is no documented
//! interface, but one that HotSpot has exported and tested since JDK 5, with
//! the structures of its `forte.cpp`. It was made for signal handlers; here it
//! is called where a thread has left Java in an orderly way, and for stacks
//! only whose innermost frame is a native method. What it tells is used where
//! it is known to be whole; otherwise the caller asks `GetStackTrace`.
//!
//! It does not wait for safepoints. Before JDK 21 it goes through the list of
//! the metaspace's regions while class unloading may delete one of them, which
//! could crash the JVM: there it is used only where the user says so.

use super::{Java, Ti};
use jvmti_bindings::sys::{
    jni::{jint, jmethodID},
    jvmti::jvmtiFrameInfo,
};
use std::{
    ffi::{CStr, c_void},
    mem::transmute,
    ptr,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// How many innermost frames can be skipped at most: buffers need room for them, too.
pub const MOST_SKIPPED: usize = 3;

/// The first walks are compared with what `GetStackTrace` tells.
const FIRST_COMPARED: u32 = 64;
/// Later one walk in this many is compared.
const COMPARED_ONE_IN: u32 = 4096;
/// The number of walks that may differ: a class may be redefined between the two.
const DIFFERENCES: u32 = 3;

/// `AsyncGetCallTrace`'s place in a native method.
const NATIVE: jint = -3;
/// Its place where a synchronized method takes its monitor, in compiled code.
const SYNCHRONIZATION_ENTRY: jint = -1;
/// `GetStackTrace`'s place in a native method.
const NATIVE_LOCATION: i64 = -1;

/// A frame as `AsyncGetCallTrace` writes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct CallFrame {
    /// The index of the bytecode, or a number below zero.
    place: jint,
    /// Null when the method has no id yet.
    method: jmethodID,
}

/// What `AsyncGetCallTrace` reads and fills.
#[repr(C)]
struct CallTrace {
    env: *mut c_void,
    /// How many frames there are; below zero the reason why there are none.
    count: jint,
    frames: *mut CallFrame,
}

// Frames are written where they are wanted, and changed there.
const _: () = assert!(size_of::<CallFrame>() == size_of::<jvmtiFrameInfo>());
const _: () = assert!(align_of::<CallFrame>() == align_of::<jvmtiFrameInfo>());

type AsyncGetCallTrace = unsafe extern "C" fn(*mut CallTrace, jint, *mut c_void);

/// Walks stacks of the current thread.
pub struct Walker {
    call: AsyncGetCallTrace,
    /// The method of a carrier that runs a virtual thread: what is called in it
    /// is another thread's. Null before JDK 19.
    boundary: jmethodID,
    /// Whether all walks are compared, and differences counted.
    compares: bool,
    walks: AtomicU32,
    differences: AtomicU32,
    /// What to do when it is not asked any more, since its answers differed.
    given_up: fn(),
}

// SAFETY: method ids are valid on every thread.
unsafe impl Send for Walker {}
// SAFETY: as above; what changes is atomic.
unsafe impl Sync for Walker {}

impl Walker {
    /// A walker, where this JVM has the function; it also wants the event
    /// `ClassLoad` to be on. `boundary` is `Continuation.run`, or null;
    /// `given_up` is called once, should the function tell other stacks.
    pub fn find(ti: Ti, boundary: jmethodID, compares: bool, given_up: fn()) -> Option<Walker> {
        let symbol = beside(ti.any_function()?, c"AsyncGetCallTrace")?;
        // SAFETY: the JVM's function of this name has this signature on all
        // versions (`forte.cpp`).
        let call = unsafe { transmute::<*mut c_void, AsyncGetCallTrace>(symbol) };
        let (walks, differences) = (AtomicU32::new(0), AtomicU32::new(0));
        Some(Walker { call, boundary, compares, walks, differences, given_up })
    }

    /// What became of the walks, if all were compared.
    pub fn account(&self) -> Option<String> {
        let [walks, differences] = [&self.walks, &self.differences].map(|n| n.load(Relaxed));
        self.compares.then(|| format!("{walks} stacks compared, {differences} differ"))
    }

    /// The current thread's stack below its `skip` innermost frames, innermost
    /// first, into `frames`, as [`Ti::stack`] tells it: how many there are.
    /// `outermost` is the method that the thread's last stack ended with: where
    /// `AsyncGetCallTrace` is not sure of a frame it just stops, and only a
    /// stack that ends with the same one is known to be whole. `None` when the
    /// JVM must be asked in the other way; what is in `frames` has no meaning
    /// then.
    pub fn walk(
        &self,
        (ti, java): (Ti, Java),
        skip: usize,
        frames: &mut [jvmtiFrameInfo],
        outermost: jmethodID,
    ) -> Option<usize> {
        if self.differences.load(Relaxed) >= DIFFERENCES && !self.compares {
            return None;
        }
        let count = self.call(java, frames)?;
        if count < frames.len() && frames[count - 1].method != outermost {
            return None;
        }
        frames.copy_within(skip.min(count)..count, 0);
        let count = count.saturating_sub(skip);
        let nth = self.walks.fetch_add(1, Relaxed);
        let compared = self.compares || nth < FIRST_COMPARED || nth.is_multiple_of(COMPARED_ONE_IN);
        (!compared || self.agrees((ti, java), skip, &frames[..count], frames.len() - skip))
            .then_some(count)
    }

    fn call(&self, java: Java, frames: &mut [jvmtiFrameInfo]) -> Option<usize> {
        let room = frames.len() as jint;
        let mut trace =
            CallTrace { env: java.raw().cast(), count: 0, frames: frames.as_mut_ptr().cast() };
        // SAFETY: the environment is the current thread's; there is room for so
        // many frames, which are of the same size. Without a signal there is no
        // context: the JVM begins at the frame that left Java last.
        unsafe { (self.call)(&mut trace, room, ptr::null_mut()) };
        let count = usize::try_from(trace.count).ok()?.min(frames.len());
        for (nth, frame) in frames[..count].iter_mut().enumerate() {
            // SAFETY: the frame was written as the other type just now; both
            // are plain words.
            let CallFrame { place, method } = unsafe { *ptr::from_mut(frame).cast() };
            if method.is_null() || method == self.boundary || nth == 0 && place != NATIVE {
                return None;
            }
            *frame = jvmtiFrameInfo { method, location: location(place) };
        }
        (count > 0).then_some(count)
    }

    /// Whether `GetStackTrace` tells the same; when it does not, it is right.
    #[cold]
    fn agrees(
        &self,
        (ti, java): (Ti, Java),
        skip: usize,
        frames: &[jvmtiFrameInfo],
        room: usize,
    ) -> bool {
        let nothing = jvmtiFrameInfo { method: ptr::null_mut(), location: 0 };
        let mut other = vec![nothing; room];
        let count = ti.stack(java, skip, &mut other);
        let is_same = |(a, b): (&jvmtiFrameInfo, &jvmtiFrameInfo)| {
            a.method == b.method && a.location == b.location
        };
        if count == frames.len() && other.iter().zip(frames).all(is_same) {
            return true;
        }
        let differences = self.differences.fetch_add(1, Relaxed) + 1;
        if differences == DIFFERENCES && !self.compares {
            (self.given_up)();
        }
        false
    }
}

/// A place as `GetStackTrace` has it.
fn location(place: jint) -> i64 {
    match place {
        NATIVE => NATIVE_LOCATION,
        SYNCHRONIZATION_ENTRY => 0,
        index => i64::from(index),
    }
}

/// A symbol of the library that a function is in.
fn beside(function: *const c_void, symbol: &CStr) -> Option<*mut c_void> {
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
    if library.is_null() {
        return None;
    }
    // SAFETY: the library is open, the name ends with a zero.
    let found = unsafe { libc::dlsym(library, symbol.as_ptr()) };
    (!found.is_null()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_get_stack_trace() {
        assert_eq!([17, 0, -1, -3].map(location), [17, 0, 0, -1]);
    }

    #[test]
    fn symbols_are_found_in_the_library_of_a_function() {
        let malloc = libc::malloc as *const c_void;
        assert_eq!(beside(malloc, c"free"), Some(libc::free as *mut c_void));
        assert_eq!(beside(malloc, c"no_such_function"), None);
        assert_eq!(beside(ptr::null(), c"free"), None);
    }
}
