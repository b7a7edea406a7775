//! JVMTI, through the function table of `jvmti-bindings`.

use super::{Java, Local, Object};
use jvmti_bindings::mutf8;
use jvmti_bindings::sys::{
    jni::{jint, jmethodID, jobject, jthread},
    jvmti::{self, jvmtiEnv, jvmtiError, jvmtiFrameInfo},
};
use std::{
    ffi::{CStr, CString, c_char, c_uchar, c_void},
    ptr,
};

/// The agent's JVMTI environment.
#[derive(Clone, Copy)]
pub struct Ti(pub(super) *mut jvmtiEnv);

// SAFETY: JVMTI functions may be called from any thread that the JVM knows.
unsafe impl Send for Ti {}
// SAFETY: as above.
unsafe impl Sync for Ti {}

/// Calls a function of the table: `Err` with JVMTI's error code, or with
/// `NOT_AVAILABLE` when this JVM's table lacks it.
macro_rules! call {
    ($ti:expr, $function:ident $(, $argument:expr)*) => {{
        crate::own_cpu::note_jvm_call();
        // SAFETY: the environment is valid as long as the JVM lives, and its
        // first word points to its function table.
        let function = unsafe { (*(*$ti.0).functions).$function };
        match function {
            Some(function) => {
                // SAFETY: the arguments are of the types that the function's
                // signature asks for, and point to memory of the caller's that
                // outlives the call.
                let error = unsafe { function($ti.0 $(, $argument)*) };
                if error == jvmtiError::NONE { Ok(()) } else { Err(error) }
            }
            None => Err(jvmtiError::NOT_AVAILABLE),
        }
    }};
}

pub(super) use call;

/// The result of a JVMTI function.
pub type Result<T> = std::result::Result<T, jvmtiError>;

/// What is to know about a method, once.
pub struct MethodInfo {
    /// The signature of its class, `Lcom/acme/Foo;`.
    pub class: Vec<u8>,
    /// Its source file, or empty.
    pub source: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
    /// Its descriptor.
    pub descriptor: Vec<u8>,
    /// Where lines start: (offset of the bytecode, line), in ascending order.
    pub lines: Vec<(i64, u32)>,
}

impl MethodInfo {
    /// The line of a bytecode offset; 0 when unknown, as in native methods.
    pub fn line_at(&self, location: i64) -> u32 {
        line_at(&self.lines, location)
    }
}

/// The line of a bytecode offset, by where lines start; 0 when unknown.
pub fn line_at(lines: &[(i64, u32)], location: i64) -> u32 {
    let after = lines.partition_point(|&(start, _)| start <= location);
    if location < 0 || after == 0 { 0 } else { lines[after - 1].1 }
}

/// The release of Java in the version of a specification: up to 8, that is as `1.8`.
fn release_in(version: &str) -> Option<u32> {
    version.strip_prefix("1.").unwrap_or(version).parse().ok()
}

/// What is to know about a thread.
pub struct ThreadInfo {
    /// Its name.
    pub name: Vec<u8>,
    /// The name of its group, or empty.
    pub group: Vec<u8>,
    /// A daemon.
    pub daemon: bool,
}

impl Ti {
    /// Wraps an environment.
    ///
    /// # Safety
    /// `env` is a JVMTI environment that is never disposed of.
    pub unsafe fn new(env: *mut jvmtiEnv) -> Ti {
        Ti(env)
    }

    /// Adds those of the wanted capabilities that this JVM can still give.
    pub fn add_capabilities(&self, wanted: &[fn(&mut jvmti::jvmtiCapabilities)]) -> Result<()> {
        let mut potential = jvmti::jvmtiCapabilities::default();
        call!(self, GetPotentialCapabilities, &mut potential)?;
        // AddCapabilities is all or nothing: one at a time, and lacking one is
        // no mistake.
        for want in wanted {
            let mut one = jvmti::jvmtiCapabilities::default();
            want(&mut one);
            let _ = call!(self, AddCapabilities, &one);
        }
        Ok(())
    }

    /// What the environment can do now.
    pub fn capabilities(&self) -> jvmti::jvmtiCapabilities {
        let mut held = jvmti::jvmtiCapabilities::default();
        let _ = call!(self, GetCapabilities, &mut held);
        held
    }

    /// Sets the callbacks.
    pub fn set_callbacks(&self, callbacks: &jvmti::jvmtiEventCallbacks) -> Result<()> {
        let len = size_of_val(callbacks) as jint;
        call!(self, SetEventCallbacks, callbacks, len)
    }

    /// Switches an event on or off for all threads.
    pub fn set_event(&self, event: jvmti::jvmtiEvent, on: bool) -> Result<()> {
        let mode = if on { jvmti::JVMTI_ENABLE } else { jvmti::JVMTI_DISABLE };
        call!(self, SetEventNotificationMode, mode, event, ptr::null_mut())
    }

    /// The current thread's stack, innermost frame first, into `frames`: how many there
    /// are.
    #[inline]
    pub fn stack(&self, java: Java, frames: &mut [jvmtiFrameInfo]) -> usize {
        // Named, not null: for null, JDK 21 waits until no virtual thread is just being
        // mounted or unmounted (`JvmtiVTMSTransitionDisabler`). One that is may wait for
        // a lock that the current thread holds, as the JDK's own where it interrupts
        // blocking NIO.
        let current = self.current_thread(java);
        let thread = current.get().raw();
        let mut count: jint = 0;
        let room = frames.len() as jint;
        let told = call!(self, GetStackTrace, thread, 0, room, frames.as_mut_ptr(), &mut count);
        java.drop_local(current);
        told.map_or(0, |()| (count.max(0) as usize).min(frames.len()))
    }

    /// The address of one of the JVM's functions.
    pub fn any_function(&self) -> Option<*const c_void> {
        // SAFETY: as for all calls, the environment leads to its function table.
        let function = unsafe { (*(*self.0).functions).GetStackTrace };
        function.map(|function| function as *const c_void)
    }

    /// An object's tag, 0 when it has none.
    #[inline]
    pub fn tag(&self, object: Object<'_>) -> i64 {
        let mut tag = 0;
        match call!(self, GetTag, object.raw(), &mut tag) {
            Ok(()) => tag,
            Err(_) => 0,
        }
    }

    /// Sets an object's tag.
    pub fn set_tag(&self, object: Object<'_>, tag: i64) -> Result<()> {
        call!(self, SetTag, object.raw(), tag)
    }

    /// The objects that have one of these tags, as local references, each with its tag.
    pub fn objects_with_tags<'j>(&self, java: Java<'j>, tags: &[i64]) -> Vec<(Local<'j>, i64)> {
        let mut count: jint = 0;
        let mut objects: *mut jobject = ptr::null_mut();
        let mut found: *mut i64 = ptr::null_mut();
        let asked = tags.len() as jint;
        let (places, of) = (&raw mut objects, &raw mut found);
        let told = call!(self, GetObjectsWithTags, asked, tags.as_ptr(), &mut count, places, of);
        if told.is_err() {
            return Vec::new();
        }
        // So many references were not announced to JNI.
        java.expect_locals(count);
        let found = self.take_array(found, count);
        // SAFETY: JVMTI's answer is local references of the current native frame, and they
        // are ours.
        let local = |object| unsafe { Local::new(object) };
        self.take_array(objects, count).into_iter().map(local).zip(found).collect()
    }

    /// The signature of a class, `Ljava/lang/Object;`.
    pub fn class_signature(&self, class: Object<'_>) -> Result<Vec<u8>> {
        let mut signature: *mut c_char = ptr::null_mut();
        call!(self, GetClassSignature, class.raw(), &mut signature, ptr::null_mut())?;
        Ok(self.take_text(signature))
    }

    fn source_file(&self, class: Object<'_>) -> Vec<u8> {
        let mut name: *mut c_char = ptr::null_mut();
        match call!(self, GetSourceFileName, class.raw(), &mut name) {
            Ok(()) => self.take_text(name),
            Err(_) => Vec::new(),
        }
    }

    /// The signature and source file of a class.
    pub fn class(&self, class: Object<'_>) -> Result<(Vec<u8>, Vec<u8>)> {
        Ok((self.class_signature(class)?, self.source_file(class)))
    }

    /// A method's names and lines. The method must be, or just have been, on a
    /// thread's stack. Should its class be unloaded meanwhile, the JVM says so.
    pub fn method(&self, java: Java, method: jmethodID) -> Result<MethodInfo> {
        let holder = self.declaring_class(java, method)?;
        let described = self.describe(holder.get(), method);
        // A deep stack would otherwise leave more references than JNI allows.
        java.drop_local(holder);
        described
    }

    fn describe(&self, holder: Object<'_>, method: jmethodID) -> Result<MethodInfo> {
        let (class, source) = self.class(holder)?;
        let (name, descriptor) = self.method_name(method)?;
        Ok(MethodInfo { class, source, name, descriptor, lines: self.lines(method) })
    }

    fn lines(&self, method: jmethodID) -> Vec<(i64, u32)> {
        let mut count: jint = 0;
        let mut table: *mut jvmti::jvmtiLineNumberEntry = ptr::null_mut();
        if call!(self, GetLineNumberTable, method, &mut count, &mut table).is_err() {
            return Vec::new();
        }
        let entries = self.take_array(table, count);
        let mut lines: Vec<_> =
            entries.iter().map(|e| (e.start_location, e.line_number.max(0) as u32)).collect();
        lines.sort_unstable();
        lines
    }

    /// A thread's name, group and kind.
    pub fn thread(&self, java: Java, thread: Object<'_>) -> Result<ThreadInfo> {
        // SAFETY: all-zero is a valid value of this plain struct.
        let mut info: jvmti::jvmtiThreadInfo = unsafe { std::mem::zeroed() };
        call!(self, GetThreadInfo, thread.raw(), &mut info)?;
        // SAFETY: all that JVMTI tells are local references of the current native
        // frame, and they are ours.
        let ours = |reference| unsafe { Local::new(reference) };
        let name = self.take_text(info.name);
        let mut group = Vec::new();
        if !info.thread_group.is_null() {
            // SAFETY: all-zero is a valid value of this plain struct.
            let mut about: jvmti::jvmtiThreadGroupInfo = unsafe { std::mem::zeroed() };
            if call!(self, GetThreadGroupInfo, info.thread_group, &mut about).is_ok() {
                group = self.take_text(about.name);
                java.drop_local(ours(about.parent));
            }
        }
        java.drop_local(ours(info.thread_group));
        java.drop_local(ours(info.context_class_loader));
        Ok(ThreadInfo { name, group, daemon: info.is_daemon != 0 })
    }

    /// Whether a thread has started and not ended.
    pub fn is_alive(&self, thread: Object<'_>) -> bool {
        let alive = jvmti::JVMTI_THREAD_STATE_ALIVE as jint;
        self.state_bits(thread).is_ok_and(|bits| bits & alive != 0)
    }

    /// The current thread, as a local reference: the virtual one, if it is one.
    /// Null when the JVM does not say.
    pub fn current_thread<'j>(&self, _: Java<'j>) -> Local<'j> {
        let mut thread: jthread = ptr::null_mut();
        let _ = call!(self, GetCurrentThread, &mut thread);
        // SAFETY: the answer is a local reference of the current native frame, and
        // it is ours.
        unsafe { Local::new(thread) }
    }

    /// The monitor that a thread waits to enter, as a local reference; null
    /// for none.
    pub fn contended_monitor<'j>(&self, _: Java<'j>, thread: Object<'_>) -> Local<'j> {
        let mut monitor: jobject = ptr::null_mut();
        match call!(self, GetCurrentContendedMonitor, thread.raw(), &mut monitor) {
            // SAFETY: as for the current thread.
            Ok(()) => unsafe { Local::new(monitor) },
            Err(_) => Local::NULL,
        }
    }

    /// A system property, or empty.
    pub fn property(&self, name: &str) -> String {
        let Ok(name) = CString::new(name) else { return String::new() };
        let mut value: *mut c_char = ptr::null_mut();
        match call!(self, GetSystemProperty, name.as_ptr(), &mut value) {
            Ok(()) => String::from_utf8_lossy(&self.take_text(value)).into_owned(),
            Err(_) => String::new(),
        }
    }

    /// The release of Java that the JVM runs, as 17; `None` when it does not say.
    pub fn java_release(&self) -> Option<u32> {
        release_in(&self.property("java.vm.specification.version"))
    }

    /// How many processors the JVM counts on, in a container too; `None` when it does
    /// not tell.
    pub fn processors(&self) -> Option<u32> {
        let mut count: jint = 0;
        call!(self, GetAvailableProcessors, &mut count).ok()?;
        u32::try_from(count).ok().filter(|&count| count != 0)
    }

    /// Has a class's bytes pass through the class file load hook again.
    pub fn retransform(&self, class: Object<'_>) -> Result<()> {
        self.retransform_all(&[class])
    }

    /// Has the bytes of classes pass through the class file load hook again:
    /// all or none are changed.
    pub fn retransform_all(&self, classes: &[Object<'_>]) -> Result<()> {
        call!(self, RetransformClasses, classes.len() as jint, classes.as_ptr().cast())
    }

    /// An object's identity hash.
    pub fn hash(&self, object: Object<'_>) -> i32 {
        let mut hash: jint = 0;
        match call!(self, GetObjectHashCode, object.raw(), &mut hash) {
            Ok(()) => hash,
            Err(_) => 0,
        }
    }

    /// Memory from the JVM for a class's new bytes.
    pub fn allocate_copy(&self, bytes: &[u8]) -> Result<*mut c_uchar> {
        let mut memory: *mut c_uchar = ptr::null_mut();
        call!(self, Allocate, bytes.len() as i64, &mut memory)?;
        // SAFETY: on success `memory` has room for so many bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok(memory)
    }

    /// Copies a text that the JVM allocated for us, and frees it. The JVM writes
    /// modified UTF-8, the log is UTF-8.
    pub(super) fn take_text(&self, text: *mut c_char) -> Vec<u8> {
        if text.is_null() {
            return Vec::new();
        }
        // SAFETY: JVMTI's texts end with a zero byte.
        let utf8 = mutf8::decode_lossy(unsafe { CStr::from_ptr(text) }.to_bytes());
        self.free(text.cast());
        utf8.into_bytes()
    }

    pub(super) fn free(&self, memory: *mut c_void) {
        let _ = call!(self, Deallocate, memory.cast());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_at_or_before() {
        let lines = [(0, 10), (4, 11), (9, 12)];
        for (location, line) in [(-1, 0), (0, 10), (3, 10), (4, 11), (100, 12)] {
            assert_eq!(line_at(&lines, location), line);
        }
        assert_eq!(line_at(&[], 3), 0);
    }

    #[test]
    fn releases_have_one_number() {
        for (version, release) in [("1.8", Some(8)), ("9", Some(9)), ("27", Some(27)), ("", None)] {
            assert_eq!(release_in(version), release, "{version}");
        }
    }
}
