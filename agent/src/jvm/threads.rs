//! What the JVM tells of threads other than the current one.

use super::{
    Java, Local, Object, Ti,
    java::Global,
    old,
    ti::{Result, call},
};
use crate::sync::lock;
use jvmti_bindings::sys::{
    jni::{jint, jlong, jthread},
    jvmti::{
        self, jvmtiEnv, jvmtiError, jvmtiExtensionFunction, jvmtiExtensionFunctionInfo,
        jvmtiFrameInfo, jvmtiStackInfo,
    },
};
use std::{
    ffi::CStr,
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use tyrion_wire::sample::ThreadState;

/// Until this release another thread's stack is walked in a safepoint; since
/// then in a handshake, for which nobody else stops.
const LAST_WITH_SAFEPOINTS: jint = 15;
/// From this release on there are virtual threads.
const FIRST_WITH_VIRTUAL_THREADS: jint = 21;
/// HotSpot's function that says which virtual thread a carrier runs.
const GET_VIRTUAL_THREAD: &CStr = c"com.sun.hotspot.functions.GetVirtualThread";

/// What a thread is doing, from the bits of `GetThreadState`; `None` for one
/// that has ended.
pub fn state_of(bits: jint) -> Option<ThreadState> {
    use jvmti::{
        JVMTI_THREAD_STATE_ALIVE as ALIVE, JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER as BLOCKED,
        JVMTI_THREAD_STATE_IN_NATIVE as IN_NATIVE,
        JVMTI_THREAD_STATE_IN_OBJECT_WAIT as IN_OBJECT_WAIT, JVMTI_THREAD_STATE_PARKED as PARKED,
        JVMTI_THREAD_STATE_RUNNABLE as RUNNABLE, JVMTI_THREAD_STATE_SLEEPING as SLEEPING,
        JVMTI_THREAD_STATE_SUSPENDED as SUSPENDED,
    };
    let is = |bit: jint| bits & bit != 0;
    match () {
        () if !is(ALIVE) => None,
        () if is(SUSPENDED) => Some(ThreadState::Other),
        () if is(BLOCKED) => Some(ThreadState::Blocked),
        () if is(IN_OBJECT_WAIT) => Some(ThreadState::Waiting),
        () if is(PARKED) => Some(ThreadState::Parked),
        () if is(SLEEPING) => Some(ThreadState::Sleeping),
        () if is(RUNNABLE) && is(IN_NATIVE) => Some(ThreadState::Native),
        () if is(RUNNABLE) => Some(ThreadState::Running),
        () => Some(ThreadState::Other),
    }
}

/// The bits of a state that the JVM notes with the thread; the others it finds
/// out when it is asked.
pub fn lasting(bits: jint) -> jint {
    bits & !(jvmti::JVMTI_THREAD_STATE_IN_NATIVE
        | jvmti::JVMTI_THREAD_STATE_SUSPENDED
        | jvmti::JVMTI_THREAD_STATE_INTERRUPTED)
}

/// A function of HotSpot's own.
#[derive(Clone, Copy)]
pub struct Extension(jvmtiExtensionFunction);

impl Ti {
    /// The release of Java that the JVM's JVMTI is of; 0 for a thread that the JVM does not know.
    fn release(&self) -> jint {
        let mut version: jint = 0;
        let _ = call!(self, GetVersionNumber, &mut version);
        (version >> 16) & 0xfff
    }

    /// Whether virtual threads are neither mounted nor unmounted while the JVM is asked about
    /// a platform thread, which may be one that runs them.
    pub fn stacks_hold_up_virtual_threads(&self) -> bool {
        self.release() >= FIRST_WITH_VIRTUAL_THREADS
    }

    /// Whether all threads stop when another one's stack is asked for, so that
    /// it is better to ask for many stacks at once.
    pub fn stacks_take_safepoints(&self) -> bool {
        self.release() <= LAST_WITH_SAFEPOINTS
    }

    /// All platform threads, as local references.
    pub fn all_threads<'j>(&self, java: Java<'j>) -> Result<Vec<Local<'j>>> {
        let mut count: jint = 0;
        let mut threads: *mut jthread = ptr::null_mut();
        call!(self, GetAllThreads, &mut count, &mut threads)?;
        // So many references were not announced to JNI.
        java.expect_locals(count);
        let threads = self.take_array(threads, count).into_iter();
        // SAFETY: JVMTI's answer is local references of the current native frame,
        // and they are ours.
        Ok(threads.map(|thread| unsafe { Local::new(thread) }).collect())
    }

    /// The bits of a thread's state, which [`state_of`] reads.
    pub fn state_bits(&self, thread: Object<'_>) -> Result<jint> {
        match old::jvm() {
            Some(old) => old.state_bits(thread),
            None => self.current_state_bits(thread),
        }
    }

    /// The same of the current thread, which does not end meanwhile.
    pub fn current_state_bits(&self, thread: Object<'_>) -> Result<jint> {
        let mut bits: jint = 0;
        call!(self, GetThreadState, thread.raw(), &mut bits)?;
        Ok(bits)
    }

    /// The CPU time that a thread has used, ns.
    pub fn cpu_ns(&self, thread: Object<'_>) -> Result<u64> {
        if let Some(old) = old::jvm() {
            return old.cpu_ns(thread);
        }
        let mut ns: jlong = 0;
        call!(self, GetThreadCpuTime, thread.raw(), &mut ns)?;
        // HotSpot says -1 when the system does not tell, and no error.
        u64::try_from(ns).map_err(|_| jvmtiError::NOT_AVAILABLE)
    }

    /// A thread's stack, innermost frame first, into `frames`: how many there
    /// are. Null is the current thread.
    pub fn stack_of(
        &self,
        thread: Object<'_>,
        skip: usize,
        frames: &mut [jvmtiFrameInfo],
    ) -> Result<usize> {
        if old::jvm().is_some() && !thread.is_null() {
            return self.stack_in_safepoint(thread, skip, frames);
        }
        let mut count: jint = 0;
        let room = frames.len() as jint;
        call!(
            self,
            GetStackTrace,
            thread.raw(),
            skip as jint,
            room,
            frames.as_mut_ptr(),
            &mut count
        )?;
        Ok((count.max(0) as usize).min(frames.len()))
    }

    /// The same on JDK 8, which finds out in a safepoint whether the thread is still there.
    fn stack_in_safepoint(
        &self,
        thread: Object<'_>,
        skip: usize,
        frames: &mut [jvmtiFrameInfo],
    ) -> Result<usize> {
        let mut count = 0;
        self.stacks_of(&[thread], skip + frames.len(), |_, _, found| {
            let found = found.get(skip..).unwrap_or_default();
            count = found.len().min(frames.len());
            frames[..count].copy_from_slice(&found[..count]);
        })?;
        Ok(count)
    }

    /// The states and stacks of threads, in one safepoint: `each` gets the
    /// number of the thread in the list, the bits of its state and its frames.
    pub fn stacks_of(
        &self,
        threads: &[Object<'_>],
        depth: usize,
        mut each: impl FnMut(usize, jint, &[jvmtiFrameInfo]),
    ) -> Result<()> {
        let (count, room) = (threads.len() as jint, depth as jint);
        // A reference looks as in C.
        let list: *const jthread = threads.as_ptr().cast();
        let mut infos: *mut jvmtiStackInfo = ptr::null_mut();
        call!(self, GetThreadListStackTraces, count, list, room, &mut infos)?;
        if infos.is_null() {
            return Ok(());
        }
        // SAFETY: on success there is one for each thread of the list.
        let of_threads = unsafe { std::slice::from_raw_parts(infos, threads.len()) };
        for (nth, info) in of_threads.iter().enumerate() {
            let frames = match info.frame_buffer.is_null() {
                true => &[][..],
                // SAFETY: JVMTI says that there are so many frames.
                false => unsafe {
                    std::slice::from_raw_parts(info.frame_buffer, info.frame_count.max(0) as usize)
                },
            };
            each(nth, info.state, frames);
        }
        // The frames are in the same piece of memory.
        self.free(infos.cast());
        Ok(())
    }

    /// HotSpot's function that says which virtual thread a carrier runs;
    /// `None` where there is none.
    pub fn virtual_thread_function(&self) -> Option<Extension> {
        let mut count: jint = 0;
        let mut infos: *mut jvmtiExtensionFunctionInfo = ptr::null_mut();
        call!(self, GetExtensionFunctions, &mut count, &mut infos).ok()?;
        let mut found = None;
        for info in self.take_array(infos, count) {
            if !info.id.is_null() {
                // SAFETY: JVMTI's texts end with a zero byte.
                let is_wanted = unsafe { CStr::from_ptr(info.id) } == GET_VIRTUAL_THREAD;
                found = found.or(info.func.filter(|_| is_wanted));
            }
            for parameter in self.take_array(info.params, info.param_count) {
                self.free(parameter.name.cast());
            }
            self.free(info.id.cast());
            self.free(info.short_description.cast());
            self.free(info.errors.cast());
        }
        found.map(Extension)
    }

    /// The virtual thread that a carrier runs, as a local reference; null for
    /// none.
    pub fn virtual_thread<'j>(
        &self,
        _: Java<'j>,
        function: Extension,
        carrier: Object<'_>,
    ) -> Local<'j> {
        let mut thread: jthread = ptr::null_mut();
        let env: *mut jvmtiEnv = self.0;
        let place: *mut jthread = &mut thread;
        // SAFETY: HotSpot's function takes a thread and a place for the answer.
        let error = unsafe { (function.0)(env, carrier.raw(), place) };
        if error != jvmtiError::NONE {
            return Local::NULL;
        }
        // SAFETY: the answer is a local reference of the current native frame, and
        // it is ours.
        unsafe { Local::new(thread) }
    }
}

/// The agent's own threads, which look like all others.
struct Own {
    threads: Mutex<Vec<Arc<Global>>>,
    /// Those that have left the JVM, but that somebody may be comparing with.
    gone: Mutex<Vec<Arc<Global>>>,
    /// How many are just coming or going, so that they may not be in the list.
    moving: AtomicUsize,
}

static OWN: Own = Own {
    threads: Mutex::new(Vec::new()),
    gone: Mutex::new(Vec::new()),
    moving: AtomicUsize::new(0),
};

impl Own {
    /// The one that is `thread`. Threads may be stopped while the JVM compares,
    /// so nobody is kept from the list meanwhile.
    fn find(&self, java: Java, thread: Object<'_>) -> Option<Arc<Global>> {
        let own = lock(&self.threads).clone();
        own.into_iter().find(|own| java.is_same(own.get(), thread))
    }

    /// Gives the references back that nobody compares with any more.
    fn drop_gone(&self, java: Java) {
        let unused: Vec<_> = {
            let mut gone = lock(&self.gone);
            // Nobody finds them any more, so nobody begins to use them.
            gone.extract_if(.., |thread| Arc::strong_count(thread) == 1).collect()
        };
        for thread in unused.into_iter().filter_map(Arc::into_inner) {
            java.drop_global(thread);
        }
    }
}

/// One of the agent's own threads, which is just coming or going.
pub(super) struct Moving(());

impl Moving {
    pub(super) fn begin() -> Moving {
        OWN.moving.fetch_add(1, SeqCst);
        Moving(())
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        OWN.moving.fetch_sub(1, SeqCst);
    }
}

/// Says that the current thread is one of the agent's own.
pub(super) fn mark_own(ti: Ti, java: Java, _: &Moving) {
    let current = ti.current_thread(java);
    if let Some(thread) = java.global(current.get()) {
        lock(&OWN.threads).push(Arc::new(thread));
    }
    java.drop_local(current);
}

/// The current thread is about to leave the JVM.
pub(super) fn unmark_own(ti: Ti, java: Java, _: &Moving) {
    let current = ti.current_thread(java);
    if let Some(own) = OWN.find(java, current.get()) {
        lock(&OWN.threads).retain(|thread| !Arc::ptr_eq(thread, &own));
        lock(&OWN.gone).push(own);
    }
    java.drop_local(current);
    OWN.drop_gone(java);
}

/// Whether the bits of a thread's state say that it waits to enter a monitor.
pub fn is_blocked(bits: jint) -> bool {
    bits & jvmti::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER != 0
}

/// Whether the bits of a thread's state say that it has started and not ended.
pub fn is_alive(bits: jint) -> bool {
    bits & jvmti::JVMTI_THREAD_STATE_ALIVE as jint != 0
}

/// Whether the bits of a thread's state say that it is parked.
pub fn is_parked(bits: jint) -> bool {
    bits & jvmti::JVMTI_THREAD_STATE_PARKED != 0
}

/// Whether a thread is one of the agent's own.
pub fn is_own(java: Java, thread: Object<'_>) -> bool {
    OWN.find(java, thread).is_some()
}

/// Whether there may be threads of the agent's own that do not look so.
pub fn any_unmarked() -> bool {
    OWN.moving.load(SeqCst) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_follow_the_bits() {
        for (bits, state) in [
            (0, None),
            (0x2, None),
            (0x5, Some(ThreadState::Running)),
            (0x400005, Some(ThreadState::Native)),
            (0x401, Some(ThreadState::Blocked)),
            (0x191, Some(ThreadState::Waiting)),
            (0x291, Some(ThreadState::Parked)),
            (0x400291, Some(ThreadState::Parked)),
            (0xe1, Some(ThreadState::Sleeping)),
            (0x100005, Some(ThreadState::Other)),
            (0x1, Some(ThreadState::Other)),
        ] {
            assert_eq!(state_of(bits), state, "{bits:x}");
        }
    }
}
