//! What the JVM tells of a method's code.

use super::{
    Java, Local, Object, Ti,
    ti::{Result, call},
};
use jvmti_bindings::sys::{
    jni::{jclass, jint, jmethodID},
    jvmti::jvmtiError,
};
use std::{
    ffi::{c_char, c_uchar},
    ptr,
};
use tyrion_bytecode::{
    ConstantPool, calls_static,
    naming::{Body, Variable},
    opcode,
};

const ACC_STATIC: jint = 0x0008;
const ACC_SYNCHRONIZED: jint = 0x0020;

/// A method's code, as a class file has it.
#[derive(Default)]
pub struct MethodCode {
    /// The instructions.
    pub code: Vec<u8>,
    /// The internal name of its class.
    pub class: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
    /// Its descriptor.
    pub descriptor: Vec<u8>,
    /// Whether there is no `this`.
    pub is_static: bool,
    /// Whether it is synchronized.
    pub is_synchronized: bool,
    /// The constants, as a class file has them.
    pub pool: Vec<u8>,
    /// One more than the number of their indices.
    pub pool_count: u16,
    /// Its local variables, if their names are known.
    pub variables: Vec<LocalVariable>,
}

/// The name of a local variable while it lives in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    /// Where the variable starts to have a value.
    pub start: u16,
    /// For how many bytes of code it lives.
    pub length: u16,
    /// Its slot.
    pub slot: u16,
    /// Its name, an index into the constants.
    pub name: u16,
}

impl MethodCode {
    /// Runs `look` with what is needed to understand the code; `None` when
    /// this JVM's constants cannot be read.
    pub fn with_body<T>(&self, look: impl FnOnce(&Body<'_>) -> Option<T>) -> Option<T> {
        let pool = ConstantPool::from_entries(self.pool_count, &self.pool).ok()?;
        let name = |variable: &LocalVariable| {
            let LocalVariable { start, length, slot, name } = *variable;
            Some(Variable { start, length, slot, name: pool.text(name)?.as_bytes() })
        };
        // Where one has no name, this is no table of variables.
        let variables: Option<Vec<_>> = self.variables.iter().map(name).collect();
        look(&Body {
            pool: &pool,
            code: &self.code,
            descriptor: &self.descriptor,
            is_static: self.is_static,
            variables: variables.unwrap_or_default(),
        })
    }
}

/// The offset of the bytecode that a frame is really at, for a frame that
/// waits for a monitor: HotSpot's interpreter has already stepped past a
/// `monitorenter`, often to the next source line.
pub fn at_monitor_enter(code: &[u8], location: i64) -> i64 {
    let enters = |at: i64| code.get(at as usize) == Some(&opcode::MONITORENTER);
    if location >= 1 && !enters(location) && enters(location - 1) { location - 1 } else { location }
}

/// All of these want a method that is on the current thread's stack, so that
/// its class is not unloaded meanwhile.
impl Ti {
    /// A method's code and what it refers to.
    pub fn code(&self, java: Java, method: jmethodID) -> Result<MethodCode> {
        let code = self.bytecodes(method)?;
        let (name, descriptor) = self.method_name(method)?;
        let mut modifiers: jint = 0;
        call!(self, GetMethodModifiers, method, &mut modifiers)?;
        let holder = self.declaring_class(java, method)?;
        let (class, pool) = (self.class_signature(holder.get()), self.constant_pool(holder.get()));
        java.drop_local(holder);
        let ((pool_count, pool), class) = (pool?, class?);
        let class = class.strip_prefix(b"L").and_then(|class| class.strip_suffix(b";"));
        Ok(MethodCode {
            code,
            class: class.unwrap_or_default().to_vec(),
            name,
            descriptor,
            is_static: modifiers & ACC_STATIC != 0,
            is_synchronized: modifiers & ACC_SYNCHRONIZED != 0,
            pool,
            pool_count,
            variables: Vec::new(),
        })
    }

    /// Whether any method of a class calls a static one of another, given by its
    /// internal name. A reference to this class keeps it from being
    /// unloaded meanwhile.
    pub fn calls_static(&self, class: Object<'_>, callee: &str) -> Result<bool> {
        let (count, pool) = self.constant_pool(class)?;
        let pool = ConstantPool::from_entries(count, &pool).map_err(|_| jvmtiError::INTERNAL)?;
        let methods = self.methods_of(class)?;
        // Native and abstract methods have no code.
        let codes = methods.into_iter().filter_map(|method| self.bytecodes(method).ok());
        Ok(codes.into_iter().any(|code| calls_static(&pool, &code, callee)))
    }

    /// The instructions of a method.
    pub fn bytecodes(&self, method: jmethodID) -> Result<Vec<u8>> {
        let mut len: jint = 0;
        let mut code: *mut c_uchar = ptr::null_mut();
        call!(self, GetBytecodes, method, &mut len, &mut code)?;
        Ok(self.take_bytes(code, len))
    }

    /// A method's name and descriptor.
    pub fn method_name(&self, method: jmethodID) -> Result<(Vec<u8>, Vec<u8>)> {
        let (mut name, mut descriptor): (*mut c_char, *mut c_char) =
            (ptr::null_mut(), ptr::null_mut());
        call!(self, GetMethodName, method, &mut name, &mut descriptor, ptr::null_mut())?;
        Ok((self.take_text(name), self.take_text(descriptor)))
    }

    /// The signature of a method's class.
    pub fn class_of_method(&self, java: Java, method: jmethodID) -> Result<Vec<u8>> {
        let class = self.declaring_class(java, method)?;
        let signature = self.class_signature(class.get());
        java.drop_local(class);
        signature
    }

    /// A method's class, a local reference.
    pub fn declaring_class<'j>(&self, _: Java<'j>, method: jmethodID) -> Result<Local<'j>> {
        let mut class: jclass = ptr::null_mut();
        call!(self, GetMethodDeclaringClass, method, &mut class)?;
        // SAFETY: the answer is a local reference of the current native frame, and
        // it is ours.
        Ok(unsafe { Local::new(class) })
    }

    /// As a class file has it: `constant_pool_count` and the entries. Not of anonymous classes,
    /// some of whose constants the JVM has replaced by objects: JDK 8 crashes when it is asked.
    pub(super) fn constant_pool(&self, class: Object<'_>) -> Result<(u16, Vec<u8>)> {
        if is_anonymous(&self.class_signature(class)?) {
            return Err(jvmtiError::NOT_AVAILABLE);
        }
        let (mut count, mut len): (jint, jint) = (0, 0);
        let mut pool: *mut c_uchar = ptr::null_mut();
        call!(self, GetConstantPool, class.raw(), &mut count, &mut len, &mut pool)?;
        let bytes = self.take_bytes(pool, len);
        let count = u16::try_from(count).map_err(|_| jvmtiError::INTERNAL)?;
        Ok((count, bytes))
    }

    /// Copies bytes that the JVM allocated for us, and frees them.
    fn take_bytes(&self, bytes: *mut c_uchar, len: jint) -> Vec<u8> {
        if bytes.is_null() {
            return Vec::new();
        }
        // SAFETY: the JVM's answer points to so many bytes that are ours.
        let copy = unsafe { std::slice::from_raw_parts(bytes, len.max(0) as usize) }.to_vec();
        self.free(bytes.cast());
        copy
    }
}

/// Whether the signature is that of a class which the JVM alone knows by a name: up to JDK 14, these
/// end in a number behind a slash.
pub fn is_anonymous(signature: &[u8]) -> bool {
    let name = signature.strip_suffix(b";").unwrap_or(signature);
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    last.len() < name.len() && !last.is_empty() && last.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_classes_end_in_a_number() {
        assert!(is_anonymous(b"Ljava/lang/invoke/LambdaForm$MH/1234;"));
        for other in ["Ljava/lang/invoke/LambdaForm$MH;", "La/B1;", "L1;", "[I", "La/;", ""] {
            assert!(!is_anonymous(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn only_a_step_past_monitorenter_is_taken_back() {
        const NOP: u8 = 0x00;
        let code = [NOP, opcode::MONITORENTER, NOP, NOP];
        for (location, really) in [(-1, -1), (0, 0), (1, 1), (2, 1), (3, 3), (4, 4), (9, 9)] {
            assert_eq!(at_monitor_enter(&code, location), really);
        }
        assert_eq!(at_monitor_enter(&[opcode::MONITORENTER], 1), 0);
    }
}
