//! The few JNI calls on the application's path, straight through the function
//! table: the safe wrappers of the `jni` crate check for pending exceptions,
//! which these calls neither raise nor mind.

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jfieldID, jint, jobject};

/// The number of local references in addition to those that are counted.
const SPARE_LOCALS: jint = 64;

/// A global reference. It is never given back by itself: that takes an
/// environment.
#[derive(Debug)]
pub struct Global(jobject);

// SAFETY: a global reference is valid on every thread.
unsafe impl Send for Global {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Global {}

impl Global {
    /// The reference, to be used while this is kept.
    pub fn get(&self) -> jobject {
        self.0
    }
}

/// The JNI environment of the current thread.
#[derive(Clone, Copy)]
pub struct Java(*mut JNIEnv);

/// Calls a function of the table.
macro_rules! call {
    ($java:expr, $function:ident $(, $argument:expr)*) => {
        // SAFETY: the environment is the current thread's, references are
        // valid (the callers' contract), and these functions may be called
        // with an exception pending or cannot meet one.
        unsafe { ((**$java.0).$function)($java.0 $(, $argument)*) }
    };
}

impl Java {
    /// Wraps an environment.
    ///
    /// # Safety
    /// `env` is the JNI environment of the current thread, and the references
    /// given to the other functions are valid.
    pub unsafe fn new(env: *mut JNIEnv) -> Java {
        Java(env)
    }

    /// The environment itself.
    pub(super) fn raw(&self) -> *mut JNIEnv {
        self.0
    }

    /// A field of type `long`.
    #[inline]
    pub fn long_field(&self, object: jobject, field: jfieldID) -> i64 {
        call!(self, GetLongField, object, field)
    }

    /// A field of type `int`.
    pub fn int_field(&self, object: jobject, field: jfieldID) -> jint {
        call!(self, GetIntField, object, field)
    }

    /// A field that refers to an object; a local reference, or null.
    pub fn object_field(&self, object: jobject, field: jfieldID) -> jobject {
        call!(self, GetObjectField, object, field)
    }

    /// An object's class; a local reference.
    pub fn class_of(&self, object: jobject) -> jclass {
        call!(self, GetObjectClass, object)
    }

    /// Whether an object is of a class. Null references are of none.
    pub fn is_instance(&self, object: jobject, class: jclass) -> bool {
        !object.is_null() && !class.is_null() && call!(self, IsInstanceOf, object, class) != 0
    }

    /// Says that so many more local references are about to be in use: without
    /// it `-Xcheck:jni` warns.
    pub fn expect_locals(&self, more: jint) {
        // It can only fail for lack of memory, and then nothing is lost yet.
        let _ = call!(self, EnsureLocalCapacity, more + SPARE_LOCALS);
        self.clear_exception();
    }

    /// Runs `body` and gives all local references back that it has left.
    pub fn with_locals<T>(&self, body: impl FnOnce() -> T) -> T {
        let pushed = call!(self, PushLocalFrame, SPARE_LOCALS) == 0;
        self.clear_exception();
        let result = body();
        if pushed {
            call!(self, PopLocalFrame, std::ptr::null_mut());
        }
        result
    }

    fn clear_exception(&self) {
        if call!(self, ExceptionCheck) != 0 {
            call!(self, ExceptionClear);
        }
    }

    /// Whether two references are to the same object.
    pub fn is_same(&self, one: jobject, other: jobject) -> bool {
        call!(self, IsSameObject, one, other) != 0
    }

    /// A global reference to an object; `None` when there is no memory.
    pub fn global(&self, object: jobject) -> Option<Global> {
        let global = call!(self, NewGlobalRef, object);
        (!global.is_null()).then_some(Global(global))
    }

    /// Gives a global reference back.
    pub fn drop_global(&self, global: Global) {
        call!(self, DeleteGlobalRef, global.0);
    }

    /// Gives a local reference back.
    pub fn drop_local(&self, reference: jobject) {
        if !reference.is_null() {
            call!(self, DeleteLocalRef, reference);
        }
    }
}
