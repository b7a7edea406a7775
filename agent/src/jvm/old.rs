//! What must not be asked of JDK 8's JVMTI about another thread, by other ways.
//!
//! Since JDK 10 the JVM keeps a thread's structure while somebody looks at it. Before that, the
//! thread may end at any moment, and JVMTI goes on with memory that was given back: it even takes
//! locks there. What it does in a safepoint is right.

use super::{Java, Object, peek, setup::Fields, ti::Result, walk::Exports};
use jvmti_bindings::sys::{
    jni::{JNIEnv, JavaVM, jfieldID, jint},
    jvmti::jvmtiError,
};
use std::{ptr, sync::OnceLock};

/// A thread's CPU clock by the number that the kernel has for the thread
/// (`CPUCLOCK_PERTHREAD_MASK` and `CPUCLOCK_SCHED` in Linux's `posix-timers.h`).
const CLOCK_OF_THREAD: i32 = 0b110;
const CLOCK_SHIFT: u32 = 3;

const JNI_VERSION: jint = 0x0001_0008;

/// How other threads are looked at on JDK 8.
pub struct OldJvm {
    vm: *mut JavaVM,
    /// `Thread.threadStatus` and `Thread.eetop`.
    status: jfieldID,
    address: jfieldID,
    /// From a `JavaThread` to its `OSThread`, and from there to the kernel's number.
    os_thread: usize,
    number: usize,
}

// SAFETY: field ids and the invocation interface are valid on every thread.
unsafe impl Send for OldJvm {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for OldJvm {}

static OLD: OnceLock<OldJvm> = OnceLock::new();

/// Has other threads looked at in this way from now on. To be called on JDK 8.
pub fn prepare(env: *mut JNIEnv, exports: &Exports, fields: &Fields) {
    let of_thread = exports.offset("Thread", "_osthread");
    let os_thread = of_thread.or_else(|| exports.offset("JavaThread", "_osthread"));
    let Some((os_thread, number)) = os_thread.zip(exports.offset("OSThread", "_thread_id")) else {
        return;
    };
    let (status, address) = (fields.thread_status, fields.thread_address);
    let mut vm: *mut JavaVM = ptr::null_mut();
    // SAFETY: the environment is the current thread's and leads to its function table; `vm` is
    // a valid place for the answer.
    let told = unsafe { ((**env).GetJavaVM)(env, &mut vm) } == 0 && !vm.is_null();
    if told && !status.is_null() && !address.is_null() {
        let _ = OLD.set(OldJvm { vm, status, address, os_thread, number });
    }
}

/// The JVM, if it is JDK 8's.
pub fn jvm() -> Option<&'static OldJvm> {
    OLD.get()
}

impl OldJvm {
    /// Those bits of a thread's state that the JVM notes with the thread.
    pub fn state_bits(&self, thread: Object<'_>) -> Result<jint> {
        Ok(self.java()?.int_field(thread, self.status))
    }

    /// The CPU time that a thread has used, ns.
    pub fn cpu_ns(&self, thread: Object<'_>) -> Result<u64> {
        let java = self.java()?;
        let address = java.long_field(thread, self.address) as usize;
        let number = self.number_of(address).ok_or(jvmtiError::THREAD_NOT_ALIVE)?;
        let clock = !number.cast_signed() << CLOCK_SHIFT | CLOCK_OF_THREAD;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel looks itself whether there is such a clock, and writes the time.
        let told = unsafe { libc::clock_gettime(clock, &mut time) };
        // Else it may have been another thread's.
        let is_same = java.long_field(thread, self.address) as usize == address;
        match told == 0 && is_same {
            true => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
            false => Err(jvmtiError::THREAD_NOT_ALIVE),
        }
    }

    /// The kernel's number of the thread whose `JavaThread` may be here.
    fn number_of(&self, address: usize) -> Option<u32> {
        let os_thread = peek::word(address.checked_add(self.os_thread).filter(|_| address != 0)?)?;
        peek::number(os_thread.checked_add(self.number)?)
    }

    /// The environment of the current thread, which is in a native frame.
    fn java(&self) -> Result<Java<'_>> {
        let mut env = ptr::null_mut();
        // SAFETY: the JVM's pointer leads to its function table; `env` is a valid place for
        // the answer.
        let told = unsafe { ((**self.vm).GetEnv)(self.vm, &mut env, JNI_VERSION) };
        match told == 0 && !env.is_null() {
            // SAFETY: it is the current thread's.
            true => Ok(unsafe { Java::new(env.cast::<JNIEnv>()) }),
            false => Err(jvmtiError::UNATTACHED_THREAD),
        }
    }
}
