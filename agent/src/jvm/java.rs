//! The few JNI calls on the application's path, straight through the function
//! table: the safe wrappers of the `jni` crate check for pending exceptions,
//! which these calls neither raise nor mind.

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jfieldID, jobject};

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

    /// A field of type `long`.
    #[inline]
    pub fn long_field(&self, object: jobject, field: jfieldID) -> i64 {
        call!(self, GetLongField, object, field)
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

    /// Gives a local reference back.
    pub fn drop_local(&self, reference: jobject) {
        if !reference.is_null() {
            call!(self, DeleteLocalRef, reference);
        }
    }
}
