//! What is looked up and defined in the JVM once, through the `jni` crate.

use super::{Java, JvmError, Local, Object};
use jni::{
    EnvUnowned, JValue, jni_sig, jni_str,
    objects::{JClass, JClassLoader, JFieldID, JObject, JStaticMethodID},
    signature::{
        FieldSignature, JavaType, Primitive, RuntimeFieldSignature, RuntimeMethodSignature,
    },
    strings::JNIString,
};
use jvmti_bindings::sys::jni::{JNIEnv, jfieldID, jmethodID};
use std::{
    borrow::Cow,
    mem::ManuallyDrop,
    time::{Duration, Instant},
};
use tyrion_bytecode::{Member, renamed};
use tyrion_plan::{JdkClass, probe};

/// The bytes of the class whose native methods the probes of contention mode
/// call; `tests/setup/probe-class.sh` makes them, so that building needs no JDK,
/// and `make test` says whether they are those of its source.
const PROBE_CLASS: &[u8] = include_bytes!("../../probe/java/lang/TyrionProbe.class");

/// What the agent's classes use, by its name now and by that of JDK 8.
const UNSAFE: (&str, &str) = ("jdk/internal/misc/Unsafe", "sun/misc/Unsafe");
const ANNOTATIONS: (&str, &str) = ("jdk/internal/vm/annotation/", "java/lang/invoke/");
/// The version of class files of JDK 8.
const VERSION_OF_8: u16 = 52;

/// Fields and classes that waits are described with.
#[derive(Clone, Copy)]
pub struct Fields {
    /// `Thread.tid`, the thread's id.
    pub thread_id: jfieldID,
    /// `Thread.name`; null if this JVM has it elsewhere.
    pub thread_name: jfieldID,
    /// `Thread.holder`, which has the status; null before JDK 19.
    pub thread_holder: jfieldID,
    /// `threadStatus` of a thread or of its holder, its state for JVMTI; null if
    /// this JVM has it elsewhere.
    pub thread_status: jfieldID,
    /// `Thread.parkBlocker`, what it parks for.
    pub park_blocker: jfieldID,
    /// `AbstractOwnableSynchronizer.exclusiveOwnerThread`.
    pub exclusive_owner: jfieldID,
    /// `AbstractQueuedSynchronizer` and its long twin.
    pub synchronizers: [Synchronizer; 2],
    /// `InterruptedException`, a global reference.
    pub interrupted: Object<'static>,
    /// `BaseVirtualThread`, a global reference; null before JDK 19.
    pub virtual_thread: Object<'static>,
    /// `CarrierThread`, which runs virtual threads, a global reference; null
    /// before JDK 20.
    pub carrier: Object<'static>,
    /// `Continuation.enterSpecial`, through which a carrier enters a virtual thread;
    /// null before JDK 19.
    pub continuation_enter: jmethodID,
    /// `Thread.eetop`, the JVM's own address of a thread; null if it is elsewhere.
    pub thread_address: jfieldID,
}

/// One of the two queued synchronizers.
#[derive(Clone, Copy)]
pub struct Synchronizer {
    /// The class, a global reference.
    pub class: Object<'static>,
    /// Its `Node`, a global reference.
    pub node: Object<'static>,
    /// The field of `Node` that names the waiting thread.
    pub waiter: jfieldID,
    /// Its `ConditionObject`, a global reference.
    pub condition: Object<'static>,
    /// The field of `ConditionObject` that names the synchronizer.
    pub outer: jfieldID,
    /// Its `state`, 0 while nobody has a lock, and whether that is a `long`.
    state: jfieldID,
    is_long: bool,
}

impl Synchronizer {
    /// Whether nobody has what an instance stands for, if it is a lock.
    pub fn is_free(&self, java: Java<'_>, instance: Object<'_>) -> bool {
        match self.is_long {
            true => java.long_field(instance, self.state) == 0,
            false => java.int_field(instance, self.state) == 0,
        }
    }

    fn find(env: &mut jni::Env<'_>, class: JdkClass) -> jni::errors::Result<Synchronizer> {
        let name = class.name();
        let condition_name = format!("{name}$ConditionObject");
        let mut node_name = format!("{name}$Node");
        if env.find_class(JNIString::from(node_name.as_str())).is_err() {
            // On JDK 11 the long twin has the other one's nodes.
            env.exception_clear();
            node_name = format!("{}$Node", JdkClass::Synchronizer.name());
        }
        let thread = || jni_sig!("Ljava/lang/Thread;");
        let node = JNIString::from(node_name.as_str());
        let waiter = match env.get_field_id(&*node, jni_str!("waiter"), thread()) {
            Ok(waiter) => waiter,
            Err(_) => {
                // JDK 11 has it under another name.
                env.exception_clear();
                env.get_field_id(&*node, jni_str!("thread"), thread())?
            }
        };
        let condition = JNIString::from(condition_name.as_str());
        let outer_type = RuntimeFieldSignature::from_str(format!("L{name};"))?;
        let outer_type = FieldSignature::from(&outer_type);
        let outer = env.get_field_id(&*condition, jni_str!("this$0"), outer_type)?;
        let is_long = class == JdkClass::LongSynchronizer;
        let of_state = if is_long { jni_sig!("J") } else { jni_sig!("I") };
        let state = env.get_field_id(JNIString::from(name), jni_str!("state"), of_state)?;
        Ok(Synchronizer {
            class: global_class(env, name)?,
            node: global_class(env, &node_name)?,
            waiter: waiter.into_raw().cast(),
            condition: global_class(env, &condition_name)?,
            outer: outer.into_raw().cast(),
            state: state.into_raw().cast(),
            is_long,
        })
    }
}

// SAFETY: field ids and global references are valid on every thread.
unsafe impl Send for Fields {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Fields {}

/// Runs `body` with the safe JNI environment of the current thread. A pending
/// exception is cleared: it is ours.
pub(super) fn with_env<T>(
    env: *mut JNIEnv,
    body: impl FnOnce(&mut jni::Env<'_>) -> jni::errors::Result<T>,
) -> Result<T, JvmError> {
    // SAFETY: the JVM gave us the environment of the current thread; both
    // crates describe the same C structure.
    let mut unowned = unsafe { EnvUnowned::from_raw(env.cast()) };
    let outcome = unowned.with_env(|env| {
        let result = body(env);
        if result.is_err() {
            env.exception_clear();
        }
        result
    });
    match outcome.into_outcome() {
        jni::Outcome::Ok(value) => Ok(value),
        jni::Outcome::Err(error) => Err(JvmError::Jni(error.to_string())),
        jni::Outcome::Panic(_) => Err(JvmError::Panic),
    }
}

/// A class as a global reference that is kept for ever.
pub(super) fn global_class(
    env: &mut jni::Env<'_>,
    name: &str,
) -> jni::errors::Result<Object<'static>> {
    let class = env.find_class(JNIString::from(name))?;
    let lasting = env.new_global_ref(class)?.into_raw();
    // SAFETY: nobody gives this global reference back.
    Ok(unsafe { Object::new(lasting.cast()) })
}

/// The same; null when there is no such class.
fn class_if_any(env: &mut jni::Env<'_>, name: &str) -> Object<'static> {
    global_class(env, name).unwrap_or_else(|_| {
        env.exception_clear();
        Object::NULL
    })
}

/// A field or method; null when there is none of its name and type.
fn id_if_any<Id, Raw>(
    env: &mut jni::Env<'_>,
    found: jni::errors::Result<Id>,
    raw: fn(Id) -> *mut Raw,
) -> *mut Raw {
    found.map_or_else(
        |_| {
            env.exception_clear();
            std::ptr::null_mut()
        },
        raw,
    )
}

/// A field by its class, name and type; null when there is none.
pub(super) fn field_if_any(env: *mut JNIEnv, class: &str, name: &str, of: &str) -> jfieldID {
    let found = with_env(env, |env| {
        let of = RuntimeFieldSignature::from_str(of)?;
        let of = FieldSignature::from(&of);
        env.get_field_id(JNIString::from(class), &*JNIString::from(name), of)
    });
    found.map_or(std::ptr::null_mut(), raw_field)
}

fn raw_field(field: JFieldID) -> jfieldID {
    field.into_raw().cast()
}

fn raw_static_method(method: JStaticMethodID) -> jmethodID {
    method.into_raw().cast()
}

impl Fields {
    /// Looks everything up.
    ///
    /// # Errors
    /// What this JVM lacks.
    pub fn find(env: *mut JNIEnv) -> Result<Fields, JvmError> {
        with_env(env, |env| {
            let thread = jni_str!("java/lang/Thread");
            let thread_id = env.get_field_id(thread, jni_str!("tid"), jni_sig!("J"))?;
            let name = env.get_field_id(thread, jni_str!("name"), jni_sig!("Ljava/lang/String;"));
            let thread_name = id_if_any(env, name, raw_field);
            let holder_type = jni_sig!("Ljava/lang/Thread$FieldHolder;");
            let holder = env.get_field_id(thread, jni_str!("holder"), holder_type);
            let thread_holder = id_if_any(env, holder, raw_field);
            let of_status = match thread_holder.is_null() {
                true => thread,
                false => jni_str!("java/lang/Thread$FieldHolder"),
            };
            let status = env.get_field_id(of_status, jni_str!("threadStatus"), jni_sig!("I"));
            let thread_status = id_if_any(env, status, raw_field);
            let park_blocker =
                env.get_field_id(thread, jni_str!("parkBlocker"), jni_sig!("Ljava/lang/Object;"))?;
            let exclusive_owner = env.get_field_id(
                jni_str!("java/util/concurrent/locks/AbstractOwnableSynchronizer"),
                jni_str!("exclusiveOwnerThread"),
                jni_sig!("Ljava/lang/Thread;"),
            )?;
            let synchronizers = [
                Synchronizer::find(env, JdkClass::Synchronizer)?,
                Synchronizer::find(env, JdkClass::LongSynchronizer)?,
            ];
            let interrupted = global_class(env, "java/lang/InterruptedException")?;
            let virtual_thread = class_if_any(env, "java/lang/BaseVirtualThread");
            let carrier = class_if_any(env, "jdk/internal/misc/CarrierThread");
            let continuation = jni_str!("jdk/internal/vm/Continuation");
            let enter = jni_sig!("(Ljdk/internal/vm/Continuation;ZZ)V");
            let enter = env.get_static_method_id(continuation, jni_str!("enterSpecial"), enter);
            let continuation_enter = id_if_any(env, enter, raw_static_method);
            let address = env.get_field_id(thread, jni_str!("eetop"), jni_sig!("J"));
            let thread_address = id_if_any(env, address, raw_field);
            Ok(Fields {
                thread_id: thread_id.into_raw().cast(),
                thread_name,
                thread_holder,
                thread_status,
                park_blocker: park_blocker.into_raw().cast(),
                exclusive_owner: exclusive_owner.into_raw().cast(),
                synchronizers,
                interrupted,
                virtual_thread,
                carrier,
                continuation_enter,
                thread_address,
            })
        })
    }
}

/// The probe class, which is defined among the JDK's own the first time, where every
/// class sees it: a local reference.
///
/// # Errors
/// What the JVM did not want.
pub fn probe_class(java: Java<'_>) -> Result<Local<'_>, JvmError> {
    find_class(java, probe::wait::CLASS)
        .or_else(|_| define_class(java, probe::wait::CLASS, PROBE_CLASS))
}

/// Defines a class among the JDK's own: a local reference.
///
/// # Errors
/// What the JVM did not want.
pub fn define_class<'j>(java: Java<'j>, name: &str, bytes: &[u8]) -> Result<Local<'j>, JvmError> {
    let bytes = for_this_jdk(java, bytes);
    with_env(java.raw(), |env| {
        let name = JNIString::from(name);
        let class = env.define_class(Some(&name), JClassLoader::null(), &bytes)?;
        // SAFETY: a local reference of the current native frame, and ours.
        Ok(unsafe { Local::new(class.into_raw().cast()) })
    })
}

/// The bytes of one of the agent's classes as this JDK can have them: JDK 8 has all that they
/// use, under other names.
fn for_this_jdk<'b>(java: Java<'_>, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    if !is_jdk_8(java) {
        return Cow::Borrowed(bytes);
    }
    let renamed = renamed(bytes, VERSION_OF_8, &[UNSAFE, ANNOTATIONS]);
    renamed.map_or(Cow::Borrowed(bytes), Cow::Owned)
}

/// Whether this is JDK 8.
pub fn is_jdk_8(java: Java) -> bool {
    unsafe_class(java) == UNSAFE.1
}

/// The internal name of the class by which threads park.
pub fn unsafe_class(java: Java) -> &'static str {
    match find_class(java, UNSAFE.0) {
        Ok(class) => {
            java.drop_local(class);
            UNSAFE.0
        }
        Err(_) => UNSAFE.1,
    }
}

/// `Reference.referent`.
pub struct Referent(jfieldID);

// SAFETY: field ids are valid on every thread.
unsafe impl Send for Referent {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Referent {}

impl Referent {
    /// `None` where there is no such field.
    pub fn find(env: *mut JNIEnv) -> Option<Referent> {
        let field = field_if_any(env, "java/lang/ref/Reference", "referent", "Ljava/lang/Object;");
        (!field.is_null()).then_some(Referent(field))
    }

    /// Has a reference be one to an object.
    pub fn set(&self, java: Java, reference: Object<'_>, object: Object<'_>) {
        java.set_object_field(reference, self.0, object);
    }
}

/// Whether a class loader finds a class, which is not initialized.
pub fn is_found_by(java: Java<'_>, loader: Object<'_>, name: &str) -> bool {
    let found = with_env(java.raw(), |env| {
        let name = env.new_string(name.replace('/', "."))?;
        let (class, method) = (jni_str!("java/lang/Class"), jni_str!("forName"));
        let of = jni_sig!("(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
        // SAFETY: `loader` is a valid reference of the caller's, who keeps it.
        let loader = ManuallyDrop::new(unsafe { JObject::from_raw(env, loader.raw().cast()) });
        let arguments = [JValue::Object(&name), JValue::Bool(false), JValue::Object(&loader)];
        let found = env.call_static_method(class, method, of, &arguments)?.l()?;
        env.delete_local_ref(found);
        env.delete_local_ref(name);
        Ok(())
    });
    found.is_ok()
}

/// Sets a static field of type `boolean`, after initializing the class.
///
/// # Errors
/// When there is no such field, or the class does not initialize.
pub fn set_static_boolean(
    env: *mut JNIEnv,
    class: Object<'_>,
    name: &str,
    value: bool,
) -> Result<(), JvmError> {
    with_env(env, |env| {
        // SAFETY: `class` is a valid reference of the caller's, who keeps it.
        let class = ManuallyDrop::new(unsafe { JClass::from_raw(env, class.raw().cast()) });
        let name = JNIString::from(name);
        let field = env.get_static_field_id(&*class, &*name, jni_sig!("Z"))?;
        // SAFETY: the field is a static one of this class and of this type.
        unsafe { env.set_static_field_unchecked(&*class, field, JValue::Bool(value)) }
    })
}

/// The value of a static field of type `int`.
///
/// # Errors
/// When there is no such field, or the class does not initialize.
pub fn static_int(env: *mut JNIEnv, class: Object<'_>, name: &str) -> Result<i32, JvmError> {
    with_env(env, |env| {
        // SAFETY: `class` is a valid reference of the caller's, who keeps it.
        let class = ManuallyDrop::new(unsafe { JClass::from_raw(env, class.raw().cast()) });
        let name = JNIString::from(name);
        env.get_static_field(&*class, &*name, jni_sig!("I"))?.i()
    })
}

/// Calls a static method without arguments or result.
///
/// # Errors
/// When there is none, or it throws.
pub fn call_static(env: *mut JNIEnv, class: Object<'_>, name: &str) -> Result<(), JvmError> {
    with_env(env, |env| {
        // SAFETY: `class` is a valid reference of the caller's, who keeps it.
        let class = ManuallyDrop::new(unsafe { JClass::from_raw(env, class.raw().cast()) });
        let name = JNIString::from(name);
        env.call_static_method(&*class, &*name, jni_sig!("()V"), &[]).map(drop)
    })
}

/// The result of a static method without arguments that returns an `int`.
///
/// # Errors
/// When there is none, or it throws.
pub fn call_static_int(env: *mut JNIEnv, class: Object<'_>, name: &str) -> Result<i32, JvmError> {
    with_env(env, |env| {
        // SAFETY: `class` is a valid reference of the caller's, who keeps it.
        let class = ManuallyDrop::new(unsafe { JClass::from_raw(env, class.raw().cast()) });
        let name = JNIString::from(name);
        env.call_static_method(&*class, &*name, jni_sig!("()I"), &[])?.i()
    })
}

/// A static method of a class that takes a class and returns an `int`.
///
/// # Errors
/// When there is none.
pub fn static_int_of_class(
    env: *mut JNIEnv,
    class: Object<'_>,
    name: &str,
) -> Result<jmethodID, JvmError> {
    with_env(env, |env| {
        // SAFETY: `class` is a valid reference of the caller's, who keeps it.
        let class = ManuallyDrop::new(unsafe { JClass::from_raw(env, class.raw().cast()) });
        let of_class = jni_sig!("(Ljava/lang/Class;)I");
        env.get_static_method_id(&*class, &*JNIString::from(name), of_class).map(raw_static_method)
    })
}

/// How long the JVM may take to see the agent's library.
const LINK_PATIENCE: Duration = Duration::from_secs(10);

/// Calls native methods of a class once, given by name and descriptor, with
/// arguments that they ignore, so that the JVM has linked all of them before any
/// probe is met: it looks for a method in Java code, which needs room in the program's heap.
///
/// # Errors
/// When one cannot be linked.
pub fn link(env: *mut JNIEnv, class: Object<'_>, natives: &[Member]) -> Result<(), JvmError> {
    let deadline = Instant::now() + LINK_PATIENCE;
    natives.iter().try_for_each(|native| {
        while let Err(reason) = call_with_nothing(env, class, native) {
            if Instant::now() > deadline {
                let (name, reason) = (native.name.to_string(), Box::new(reason));
                return Err(JvmError::NotLinked { name, reason });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    })
}

fn call_with_nothing(env: *mut JNIEnv, class: Object<'_>, native: &Member) -> Result<(), JvmError> {
    with_env(env, |env| {
        let descriptor = RuntimeMethodSignature::from_str(&native.descriptor)?;
        let signature = descriptor.method_signature();
        let nothing = JObject::null();
        let arguments: Vec<JValue<'_>> = signature
            .args()
            .iter()
            .map(|argument| match argument {
                JavaType::Primitive(Primitive::Boolean) => JValue::Bool(false),
                JavaType::Primitive(Primitive::Int) => JValue::Int(0),
                JavaType::Primitive(Primitive::Long) => JValue::Long(0),
                _ => JValue::Object(&nothing),
            })
            .collect();
        // SAFETY: `class` is a valid reference of the caller's, who keeps it.
        let class = ManuallyDrop::new(unsafe { JClass::from_raw(env, class.raw().cast()) });
        let name = JNIString::from(&*native.name);
        env.call_static_method(&*class, &name, descriptor.method_signature(), &arguments).map(drop)
    })
}

/// A class of the boot class path, for JVMTI; a local reference.
///
/// # Errors
/// When there is no such class.
pub fn find_class<'j>(java: Java<'j>, name: &str) -> Result<Local<'j>, JvmError> {
    with_env(java.raw(), |env| {
        let class = env.find_class(JNIString::from(name))?.into_raw();
        // SAFETY: a local reference of the current native frame, and ours.
        Ok(unsafe { Local::new(class.cast()) })
    })
}

/// A class of the boot class path that is loaded, if it was not, but not initialized; a local
/// reference.
///
/// # Errors
/// When there is no such class.
pub fn load_class<'j>(java: Java<'j>, name: &str) -> Result<Local<'j>, JvmError> {
    with_env(java.raw(), |env| {
        let name = env.new_string(name.replace('/', "."))?;
        let (class, method) = (jni_str!("java/lang/Class"), jni_str!("forName"));
        let of = jni_sig!("(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
        let none = JObject::null();
        let arguments = [JValue::Object(&name), JValue::Bool(false), JValue::Object(&none)];
        let loaded = env.call_static_method(class, method, of, &arguments)?.l()?.into_raw();
        // SAFETY: a local reference of the current native frame, and ours.
        Ok(unsafe { Local::new(loaded.cast()) })
    })
}
