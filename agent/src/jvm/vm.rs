//! The JVM itself: its threads come and go through it.

use super::{
    Java, Ti,
    threads::{Moving, mark_own, unmark_own},
};
use jvmti_bindings::sys::{
    jni::{JNIEnv, JavaVM, JavaVMAttachArgs, jint},
    jvmti::{JVMTI_VERSION_1_2, JVMTI_VERSION_11, jvmtiEnv},
};
use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::OnceLock,
};

/// The one JVMTI environment, whichever way and however often the library is
/// loaded.
static TI: OnceLock<Ti> = OnceLock::new();

/// The versions of JVMTI that do: that of JDK 11 and later, and that of JDK 8. What the
/// agent uses is the same in both.
const VERSIONS: [jint; 2] = [JVMTI_VERSION_11, JVMTI_VERSION_1_2];
/// The oldest release of Java that the agent knows.
const OLDEST: u32 = 8;

const JNI_OK: jint = 0;
const JNI_VERSION: jint = 0x0001_0008;

/// The JVM that the agent is loaded into.
#[derive(Clone, Copy)]
pub struct Vm(*mut JavaVM);

// SAFETY: the invocation interface may be used from any thread.
unsafe impl Send for Vm {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Vm {}

impl Vm {
    /// Wraps the JVM.
    ///
    /// # Safety
    /// `vm` is the JVM's own pointer.
    pub unsafe fn new(vm: *mut JavaVM) -> Vm {
        Vm(vm)
    }

    /// The JVM of a thread's environment.
    pub fn of(env: *mut JNIEnv) -> Option<Vm> {
        let mut vm: *mut JavaVM = ptr::null_mut();
        // SAFETY: the environment is the current thread's and leads to its
        // function table; `vm` is a valid place for the answer.
        let result = unsafe { ((**env).GetJavaVM)(env, &mut vm) };
        (result == JNI_OK && !vm.is_null()).then_some(Vm(vm))
    }

    /// An environment of the current thread: JNI's or JVMTI's, by version.
    fn environment(self, version: jint) -> Option<*mut c_void> {
        let mut env = ptr::null_mut();
        // SAFETY: the JVM's pointer leads to its function table; `env` is a
        // valid place for the answer.
        let result = unsafe { ((**self.0).GetEnv)(self.0, &mut env, version) };
        (result == JNI_OK && !env.is_null()).then_some(env)
    }

    /// The agent's JVMTI environment; `None` where the JVM is older than JDK 8.
    pub fn jvmti(self) -> Option<Ti> {
        if let Some(&ti) = TI.get() {
            return Some(ti);
        }
        let ti = self.another_jvmti()?;
        Some(*TI.get_or_init(|| ti))
    }

    /// One more JVMTI environment, whose tags are its own; it is never disposed of.
    pub(super) fn another_jvmti(self) -> Option<Ti> {
        let env = VERSIONS.into_iter().find_map(|version| self.environment(version))?;
        // SAFETY: GetEnv gave this JVMTI environment, and nobody disposes of it.
        let ti = unsafe { Ti::new(env.cast::<jvmtiEnv>()) };
        // JDK 7 has the older one, too.
        ti.java_release().is_some_and(|release| release >= OLDEST).then_some(ti)
    }

    /// Makes the current thread one of the JVM's, a daemon, while `body` runs;
    /// `None` when the JVM does not want it, or when `body` panics.
    pub fn with_thread<T>(self, body: impl FnOnce(*mut JNIEnv) -> T) -> Option<T> {
        let ti = TI.get().copied();
        let coming = Moving::begin();
        let env = self.attach()?;
        // SAFETY: the environment is this thread's, as long as it is attached.
        let java = unsafe { Java::new(env) };
        if let Some(ti) = ti {
            mark_own(ti, java, &coming);
        }
        drop(coming);
        // The JVM must not be left with a thread that is gone.
        let result = catch_unwind(AssertUnwindSafe(|| body(env)));
        let going = Moving::begin();
        if let Some(ti) = ti {
            unmark_own(ti, java, &going);
        }
        // SAFETY: this thread was attached above and has no Java frames.
        unsafe { ((**self.0).DetachCurrentThread)(self.0) };
        result.ok()
    }

    fn attach(self) -> Option<*mut JNIEnv> {
        let mut env: *mut c_void = ptr::null_mut();
        // Without a name the JVM takes one from the program's own numbers.
        let mut arguments = JavaVMAttachArgs {
            version: JNI_VERSION,
            name: c"tyrion".as_ptr().cast_mut(),
            group: ptr::null_mut(),
        };
        let arguments = (&raw mut arguments).cast();
        // SAFETY: as in `environment`; the arguments and the name in them
        // outlive the call.
        let attached =
            unsafe { ((**self.0).AttachCurrentThreadAsDaemon)(self.0, &mut env, arguments) };
        (attached == JNI_OK && !env.is_null()).then_some(env.cast())
    }
}
