//! Native methods of the JDK, replaced by the agent's own.
//!
//! That changes no class, so no compiled code is thrown away, only the stub that
//! calls the method. The JVM does not tell where the native code of a method is,
//! but the JDK's classes register theirs through JNI, and may do so again: with
//! JNI's function for it exchanged for that moment, they tell us instead.

use super::{
    Java, JvmError, Object, Ti,
    library::Library,
    setup::{call_static, find_class},
    ti::call,
};
use jvmti_bindings::sys::{
    jni::{JNIEnv, JNINativeInterface_, JNINativeMethod, jclass, jint},
    jvmti::jvmtiError,
};
use std::{
    cell::RefCell,
    ffi::{CStr, CString, c_void},
    ptr,
    sync::OnceLock,
};
use tyrion_bytecode::{ClassFile, Member, Method};

type RegisterNatives =
    unsafe extern "system" fn(*mut JNIEnv, jclass, *const JNINativeMethod, jint) -> jint;

/// The last release of Java in which the JVM looks for native methods in Java code.
const LAST_THAT_LOOKS_IN_JAVA: u32 = 8;

/// JNI's own function.
static REGISTER: OnceLock<RegisterNatives> = OnceLock::new();

thread_local! {
    /// What a class tells on this thread, while it is asked.
    static TOLD: RefCell<Option<Vec<Told>>> = const { RefCell::new(None) };
}

struct Told {
    name: Vec<u8>,
    descriptor: Vec<u8>,
    code: *mut c_void,
}

/// A native method, and the code that is to run in its place.
pub struct Replacement {
    /// The internal name of its class.
    pub class: &'static str,
    /// Its name.
    pub name: &'static CStr,
    /// Its descriptor.
    pub descriptor: &'static CStr,
    /// The new code: a function as JNI prescribes it.
    pub code: *mut c_void,
    /// Is told of the code that was there, before the new code may run.
    pub keep: fn(*mut c_void),
}

/// JNI's function while classes are asked.
unsafe extern "system" fn register_or_tell(
    env: *mut JNIEnv,
    class: jclass,
    methods: *const JNINativeMethod,
    count: jint,
) -> jint {
    let told = TOLD.try_with(|told| {
        let mut told = told.try_borrow_mut().ok()?;
        let told = told.as_mut()?;
        // SAFETY: whoever registers methods passes an array of so many.
        let methods = unsafe { std::slice::from_raw_parts(methods, count.max(0) as usize) };
        for method in methods {
            // SAFETY: names and descriptors end with a zero byte.
            let text = |text| unsafe { CStr::from_ptr(text) }.to_bytes().to_owned();
            let (name, descriptor) = (text(method.name), text(method.signature));
            told.push(Told { name, descriptor, code: method.fnPtr });
        }
        Some(())
    });
    match (told, REGISTER.get()) {
        (Ok(Some(())), _) | (_, None) => 0,
        // SAFETY: another thread's call, passed on as it came.
        (_, Some(register)) => unsafe { register(env, class, methods, count) },
    }
}

/// Where the code of native methods is that a class of the JDK registers by a
/// method `registerNatives` of its own.
fn ask(ti: Ti, java: Java, class: Object<'_>) -> Result<Vec<Told>, JvmError> {
    let mut table: *mut JNINativeInterface_ = ptr::null_mut();
    call!(ti, GetJNIFunctionTable, &mut table)?;
    // SAFETY: on success it is a table of ours, with room for all functions.
    let functions = unsafe { &mut *table };
    let original = *REGISTER.get_or_init(|| functions.RegisterNatives);
    functions.RegisterNatives = register_or_tell;
    TOLD.with_borrow_mut(|told| *told = Some(Vec::new()));
    let asked = call!(ti, SetJNIFunctionTable, table).map_err(JvmError::from);
    let asked = asked.and_then(|()| call_static(java.raw(), class, "registerNatives"));
    // SAFETY: as above.
    unsafe { (*table).RegisterNatives = original };
    let restored = call!(ti, SetJNIFunctionTable, table);
    let told = TOLD.with_borrow_mut(Option::take).unwrap_or_default();
    ti.free(table.cast());
    asked?;
    restored?;
    Ok(told)
}

/// The native methods of one of the agent's own classes.
pub fn methods(bytes: &[u8]) -> Vec<Member> {
    let Ok(class) = ClassFile::parse(bytes) else { return Vec::new() };
    let member = |method: Method<'_, '_>| Member {
        owner: class.name().to_string().into(),
        name: method.name().to_string().into(),
        descriptor: method.descriptor().to_string().into(),
    };
    class.methods().filter(Method::is_native).map(member).collect()
}

/// Tells the JVM where the native methods of one of the agent's own classes are, so that it need
/// not look for them. On JDK 8 it does so in Java code that takes locks (`findNative`): with a
/// probe there, that would go round in circles. Later JDKs would print a warning instead.
///
/// # Errors
/// What the JVM does not take.
pub fn bind(ti: Ti, java: Java, class: Object<'_>, bytes: &[u8]) -> Result<(), JvmError> {
    if ti.java_release().is_none_or(|release| release > LAST_THAT_LOOKS_IN_JAVA) {
        return Ok(());
    }
    let class_file = ClassFile::parse(bytes).map_err(|_| JvmError::Panic)?;
    let own = Library::of(register_or_tell as *const c_void);
    let owner = class_file.name().to_string();
    for method in class_file.methods().filter(Method::is_native) {
        let (name, descriptor) = (method.name().to_string(), method.descriptor().to_string());
        let not_found = || JvmError::NotBound { class: owner.clone(), name: name.clone() };
        let symbol = format!("Java_{}_{name}", owner.replace('/', "_"));
        let code = own.as_ref().and_then(|own| own.symbol(&symbol)).ok_or_else(not_found)?;
        let texts = CString::new(name.as_str()).ok().zip(CString::new(descriptor).ok());
        let (of_name, of_descriptor) = texts.ok_or_else(not_found)?;
        let native = JNINativeMethod {
            name: of_name.as_ptr(),
            signature: of_descriptor.as_ptr(),
            fnPtr: ptr::with_exposed_provenance_mut(code),
        };
        java.register(class, &native).then_some(()).ok_or_else(not_found)?;
    }
    Ok(())
}

/// Replaces native methods. To be called by a native method that a method of the
/// boot loader's calls: else the JVM prints a warning. What was replaced stays so.
///
/// # Errors
/// What cannot be replaced.
pub fn replace(ti: Ti, java: Java, what: &Replacement) -> Result<(), JvmError> {
    let class = find_class(java, what.class)?;
    let told = ask(ti, java, class.get())?;
    let is_it = |told: &&Told| {
        told.name == what.name.to_bytes() && told.descriptor == what.descriptor.to_bytes()
    };
    let (of, name) = (what.class, || what.name.to_string_lossy().into_owned());
    let original = told.iter().find(is_it);
    let original = original.ok_or_else(|| JvmError::NotRegistered { class: of, name: name() })?;
    (what.keep)(original.code);
    let method = JNINativeMethod {
        name: what.name.as_ptr(),
        signature: what.descriptor.as_ptr(),
        fnPtr: what.code,
    };
    let registered = java.register(class.get(), &method);
    java.drop_local(class);
    registered.then_some(()).ok_or_else(|| JvmError::NotReplaced { class: of, name: name() })
}
