//! Looking through the classes that are loaded already.

use super::{
    Java, Local, Object,
    ti::{Result, Ti, call},
};
use jvmti_bindings::sys::{
    jni::{jboolean, jclass, jint, jmethodID},
    jvmti::{self, jvmtiError},
};
use std::{ffi::c_uchar, ptr};
use tyrion_wire::lock_flavor::LOCK_CLASSES;

const SYNCHRONIZED: jint = 0x20;
const MONITORENTER: u8 = 0xc2;
/// Status of a class that has been linked, and of an array or a primitive type.
const PREPARED: jint = jvmti::JVMTI_CLASS_STATUS_PREPARED as jint;
const NO_CLASS: jint =
    (jvmti::JVMTI_CLASS_STATUS_ARRAY | jvmti::JVMTI_CLASS_STATUS_PRIMITIVE) as jint;

impl Ti {
    /// All loaded classes, as local references.
    pub fn loaded_classes<'j>(&self, java: Java<'j>) -> Result<Vec<Local<'j>>> {
        let mut count: jint = 0;
        let mut classes: *mut jclass = ptr::null_mut();
        call!(self, GetLoadedClasses, &mut count, &mut classes)?;
        // So many references were not announced to JNI.
        java.expect_locals(count);
        let classes = self.take_array(classes, count).into_iter();
        // SAFETY: JVMTI's answer is local references of the current native frame,
        // and they are ours.
        Ok(classes.map(|class| unsafe { Local::new(class) }).collect())
    }

    /// The methods of a class that has been linked.
    pub fn methods_of(&self, class: Object<'_>) -> Result<Vec<jmethodID>> {
        let mut count: jint = 0;
        let mut methods: *mut jmethodID = ptr::null_mut();
        call!(self, GetClassMethods, class.raw(), &mut count, &mut methods)?;
        Ok(self.take_array(methods, count))
    }

    /// The methods on the current thread's stack, innermost first, however deep.
    pub fn methods_on_stack(&self, java: Java) -> Vec<jmethodID> {
        let frame = jvmti::jvmtiFrameInfo { method: ptr::null_mut(), location: 0 };
        let mut frames = vec![frame; 1024];
        let mut count = self.stack(java, &mut frames);
        while count == frames.len() {
            frames.resize(2 * count, frame);
            count = self.stack(java, &mut frames);
        }
        frames[..count].iter().map(|frame| frame.method).collect()
    }

    /// Whether a class can be changed, and perhaps takes locks: cheaper than
    /// having it read again, and when in doubt it does.
    pub fn may_take_locks(&self, class: Object<'_>) -> bool {
        let mut modifiable: jboolean = 0;
        if call!(self, IsModifiableClass, class.raw(), &mut modifiable).is_err() || modifiable == 0
        {
            return false;
        }
        let mut status: jint = 0;
        if call!(self, GetClassStatus, class.raw(), &mut status).is_err() || status & NO_CLASS != 0
        {
            return false;
        }
        if status & PREPARED == 0 {
            return true;
        }
        let Ok(methods) = self.methods_of(class) else { return true };
        methods.into_iter().any(|method| self.is_synchronized(method))
            || self.mentions_lock_classes(class)
    }

    fn is_synchronized(&self, method: jmethodID) -> bool {
        let mut modifiers: jint = 0;
        if call!(self, GetMethodModifiers, method, &mut modifiers).is_ok()
            && modifiers & SYNCHRONIZED != 0
        {
            return true;
        }
        let mut len: jint = 0;
        let mut code: *mut c_uchar = ptr::null_mut();
        // Native and abstract methods have none.
        if call!(self, GetBytecodes, method, &mut len, &mut code).is_err() {
            return false;
        }
        // Any byte of this value: operands, too, but that is rare enough.
        self.take_array(code, len).contains(&MONITORENTER)
    }

    fn mentions_lock_classes(&self, class: Object<'_>) -> bool {
        self.constants_mention(class, &LOCK_CLASSES.map(str::as_bytes)).unwrap_or(true)
    }

    /// Whether one of these texts stands in a class's constants, as they are now;
    /// `None` when the JVM does not tell.
    pub fn constants_mention(&self, class: Object<'_>, texts: &[&[u8]]) -> Option<bool> {
        let pool = self.constants(class)?;
        let mentions = |text: &[u8]| pool.windows(text.len()).any(|window| window == text);
        Some(texts.iter().any(|text| mentions(text)))
    }

    /// A class's constants, as a class file has them; `None` when the JVM does not
    /// tell, as before the class is linked.
    pub fn constants(&self, class: Object<'_>) -> Option<Vec<u8>> {
        self.constant_pool(class).ok().map(|(_, pool)| pool)
    }

    /// Copies an array that the JVM allocated for us, and frees it.
    pub(super) fn take_array<T: Copy>(&self, array: *mut T, count: jint) -> Vec<T> {
        if array.is_null() {
            return Vec::new();
        }
        // SAFETY: JVMTI says that there are so many elements.
        let copy = unsafe { std::slice::from_raw_parts(array, count.max(0) as usize) }.to_vec();
        self.free(array.cast());
        copy
    }
}
