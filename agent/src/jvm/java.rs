//! The few JNI calls on the application's path, straight through the function
//! table: the safe wrappers of the `jni` crate check for pending exceptions,
//! which these calls neither raise nor mind.

use jvmti_bindings::sys::jni::{
    JNIEnv, JNINativeMethod, jfieldID, jint, jmethodID, jobject, jvalue,
};
use std::{ffi::CStr, marker::PhantomData, ptr};

/// The number of local references in addition to those that are counted.
const SPARE_LOCALS: jint = 64;

/// A reference to an object that is valid for `'a`, or null: lent by whoever
/// keeps it, a native method's caller, a [`Local`] or a [`Global`].
///
/// It looks as in C, so that native methods can be declared with it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Object<'a>(jobject, PhantomData<&'a ()>);

impl Object<'_> {
    /// No object.
    pub const NULL: Object<'static> = Object(ptr::null_mut(), PhantomData);

    /// Wraps a reference.
    ///
    /// # Safety
    /// The reference is null, or valid on the current thread for the lifetime
    /// that the caller chooses.
    pub unsafe fn new<'a>(reference: jobject) -> Object<'a> {
        Object(reference, PhantomData)
    }

    /// Whether it is none.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The reference itself.
    #[inline]
    pub fn raw(self) -> jobject {
        self.0
    }
}

/// A local reference that is ours, or null. It is valid until it is given back
/// with [`Java::drop_local`], at most as long as the native frame `'j`, whose end
/// gives back what is left.
#[derive(Debug)]
#[repr(transparent)]
pub struct Local<'j>(Object<'j>);

impl Local<'_> {
    /// No reference.
    pub const NULL: Local<'static> = Local(Object::NULL);

    /// Takes a reference over.
    ///
    /// # Safety
    /// The reference is null, or a local one of the current thread's that nobody
    /// else gives back, valid for the lifetime that the caller chooses.
    pub unsafe fn new<'j>(reference: jobject) -> Local<'j> {
        // SAFETY: the caller's promise says more.
        Local(unsafe { Object::new(reference) })
    }

    /// The object, to be used while this is kept.
    #[inline]
    pub fn get(&self) -> Object<'_> {
        self.0
    }

    /// Whether it is none.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// A global reference. It is never given back by itself: that takes an
/// environment.
#[derive(Debug)]
pub struct Global(jobject);

// SAFETY: a global reference is valid on every thread.
unsafe impl Send for Global {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Global {}

impl Global {
    /// The object, to be used while this is kept.
    pub fn get(&self) -> Object<'_> {
        Object(self.0, PhantomData)
    }

    /// The object, for those who cannot borrow this.
    ///
    /// # Safety
    /// What is returned is not used any more when this has been given back.
    pub unsafe fn get_kept(&self) -> Object<'static> {
        Object(self.0, PhantomData)
    }
}

/// A reference that does not keep its object. It has to be given back with
/// [`Java::drop_weak`], else it stays for ever.
#[derive(Debug)]
pub struct Weak(jobject);

// SAFETY: a weak global reference is valid on every thread.
unsafe impl Send for Weak {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Weak {}

/// The JNI environment of the current thread, in a native frame that lasts for
/// `'j`.
#[derive(Clone, Copy)]
pub struct Java<'j>(*mut JNIEnv, PhantomData<&'j ()>);

/// Calls a function of the table.
macro_rules! call {
    ($java:expr, $function:ident $(, $argument:expr)*) => {{
        crate::own_cpu::note_jvm_call();
        // SAFETY: the environment is the current thread's, references are valid
        // as their types say, and these functions may be called with an exception
        // pending or cannot meet one.
        unsafe { ((**$java.0).$function)($java.0 $(, $argument)*) }
    }};
}

impl<'j> Java<'j> {
    /// Wraps an environment.
    ///
    /// # Safety
    /// `env` is the JNI environment of the current thread, which does not return
    /// from its native frame during the lifetime that the caller chooses.
    pub unsafe fn new(env: *mut JNIEnv) -> Java<'j> {
        Java(env, PhantomData)
    }

    /// The environment itself.
    pub fn raw(&self) -> *mut JNIEnv {
        self.0
    }

    /// A field of type `long`.
    #[inline]
    pub fn long_field(&self, object: Object<'_>, field: jfieldID) -> i64 {
        call!(self, GetLongField, object.raw(), field)
    }

    /// A field of type `int`.
    pub fn int_field(&self, object: Object<'_>, field: jfieldID) -> jint {
        call!(self, GetIntField, object.raw(), field)
    }

    /// A field that refers to an object; a local reference, or null.
    pub fn object_field(&self, object: Object<'_>, field: jfieldID) -> Local<'j> {
        Local(Object(call!(self, GetObjectField, object.raw(), field), PhantomData))
    }

    /// Has a field refer to an object.
    pub fn set_object_field(&self, object: Object<'_>, field: jfieldID, value: Object<'_>) {
        call!(self, SetObjectField, object.raw(), field, value.raw());
    }

    /// How many elements an array has.
    pub fn array_length(&self, array: Object<'_>) -> usize {
        usize::try_from(call!(self, GetArrayLength, array.raw())).unwrap_or(0)
    }

    /// An object's class; a local reference.
    pub fn class_of(&self, object: Object<'_>) -> Local<'j> {
        Local(Object(call!(self, GetObjectClass, object.raw()), PhantomData))
    }

    /// Whether an object is of a class. Null references are of none.
    pub fn is_instance(&self, object: Object<'_>, class: Object<'_>) -> bool {
        !object.is_null()
            && !class.is_null()
            && call!(self, IsInstanceOf, object.raw(), class.raw()) != 0
    }

    /// Whether a class is another one, or a subclass of it.
    pub fn is_subclass(&self, class: Object<'_>, of: Object<'_>) -> bool {
        !class.is_null()
            && !of.is_null()
            && call!(self, IsAssignableFrom, class.raw(), of.raw()) != 0
    }

    /// Says that so many more local references are about to be in use: without
    /// it `-Xcheck:jni` warns.
    pub fn expect_locals(&self, more: jint) {
        // It can only fail for lack of memory, and then nothing is lost yet.
        let _ = call!(self, EnsureLocalCapacity, more + SPARE_LOCALS);
        self.clear_exception();
    }

    /// Runs `body` and gives all local references back that it has left.
    ///
    /// # Safety
    /// `body` leaves no [`Local`] of its own to anybody who uses it later.
    pub unsafe fn with_locals(&self, body: impl FnOnce()) {
        let pushed = call!(self, PushLocalFrame, SPARE_LOCALS) == 0;
        self.clear_exception();
        body();
        if pushed {
            call!(self, PopLocalFrame, ptr::null_mut());
        }
    }

    pub(super) fn clear_exception(&self) {
        if call!(self, ExceptionCheck) != 0 {
            call!(self, ExceptionClear);
        }
    }

    /// Whether two references are to the same object.
    pub fn is_same(&self, one: Object<'_>, other: Object<'_>) -> bool {
        call!(self, IsSameObject, one.raw(), other.raw()) != 0
    }

    /// A global reference to an object; `None` when there is no memory.
    pub fn global(&self, object: Object<'_>) -> Option<Global> {
        let global = call!(self, NewGlobalRef, object.raw());
        (!global.is_null()).then_some(Global(global))
    }

    /// Gives a global reference back.
    pub fn drop_global(&self, global: Global) {
        call!(self, DeleteGlobalRef, global.0);
    }

    /// A reference to an object that does not keep it; `None` when there is no
    /// memory.
    pub fn weak(&self, object: Object<'_>) -> Option<Weak> {
        let weak = call!(self, NewWeakGlobalRef, object.raw());
        self.clear_exception();
        (!weak.is_null()).then_some(Weak(weak))
    }

    /// The object that a weak reference is to, as a local reference; null when it is
    /// gone.
    pub fn kept_by(&self, weak: &Weak) -> Local<'j> {
        Local(Object(call!(self, NewLocalRef, weak.0), PhantomData))
    }

    /// Whether a weak reference is to an object.
    pub fn is_kept(&self, weak: &Weak, object: Object<'_>) -> bool {
        !object.is_null() && call!(self, IsSameObject, weak.0, object.raw()) != 0
    }

    /// A field of a class by its name and type; `None` if there is none.
    pub fn field(&self, class: Object<'_>, name: &CStr, of_type: &CStr) -> Option<jfieldID> {
        let field = call!(self, GetFieldID, class.raw(), name.as_ptr(), of_type.as_ptr());
        self.clear_exception();
        (!field.is_null()).then_some(field)
    }

    /// Has `units` begin with a string's, as far as they fit: how many the string has.
    pub fn string_units(&self, string: Object<'_>, units: &mut [u16]) -> usize {
        let len = call!(self, GetStringLength, string.raw());
        let fits = len.min(jint::try_from(units.len()).unwrap_or(jint::MAX));
        call!(self, GetStringRegion, string.raw(), 0, fits, units.as_mut_ptr());
        usize::try_from(len).unwrap_or(0)
    }

    /// Whether the object that a weak reference is to is gone.
    pub fn is_gone(&self, weak: &Weak) -> bool {
        call!(self, IsSameObject, weak.0, ptr::null_mut()) != 0
    }

    /// What a static method says of an object, one that returns an `int`; `None` when it
    /// throws, as where there is no room left on the stack.
    ///
    /// # Safety
    /// It is a method of this class, and an object is its only argument.
    pub unsafe fn static_int_of(
        &self,
        class: Object<'_>,
        method: jmethodID,
        object: Object<'_>,
    ) -> Option<jint> {
        let arguments = [jvalue { l: object.raw() }];
        let answer = call!(self, CallStaticIntMethodA, class.raw(), method, arguments.as_ptr());
        let threw = call!(self, ExceptionCheck) != 0;
        self.clear_exception();
        (!threw).then_some(answer)
    }

    /// Gives a weak reference back.
    pub fn drop_weak(&self, weak: Weak) {
        call!(self, DeleteWeakGlobalRef, weak.0);
    }

    /// An object of no class of the program's, to be locked; a local reference. `None` when
    /// there is no memory.
    pub fn new_object_to_lock(&self) -> Option<Local<'j>> {
        let array = call!(self, NewByteArray, 0);
        self.clear_exception();
        (!array.is_null()).then_some(Local(Object(array.cast(), PhantomData)))
    }

    /// Takes an object's monitor, which may wait: whether it has.
    pub fn enter_monitor(&self, object: Object<'_>) -> bool {
        let entered = call!(self, MonitorEnter, object.raw()) == 0;
        self.clear_exception();
        entered
    }

    /// Gives an object's monitor back, which the current thread has taken.
    pub fn exit_monitor(&self, object: Object<'_>) {
        let _ = call!(self, MonitorExit, object.raw());
        self.clear_exception();
    }

    /// A field of type `boolean`.
    pub fn boolean_field(&self, object: Object<'_>, field: jfieldID) -> bool {
        call!(self, GetBooleanField, object.raw(), field) != 0
    }

    /// Gives a native method of a class its code: whether the JVM has taken it.
    pub(super) fn register(&self, class: Object<'_>, method: &JNINativeMethod) -> bool {
        let registered = call!(self, RegisterNatives, class.raw(), method, 1) == 0;
        self.clear_exception();
        registered
    }

    /// Gives a local reference back.
    pub fn drop_local(&self, reference: Local<'_>) {
        if !reference.is_null() {
            call!(self, DeleteLocalRef, reference.0.raw());
        }
    }
}
