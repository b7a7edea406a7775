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
use tyrion_bytecode::{ConstantPool, calls_static, naming::Body, opcode};

const ACC_STATIC: jint = 0x0008;

/// A method's code, as a class file has it.
pub struct MethodCode {
    /// The instructions.
    pub code: Vec<u8>,
    descriptor: Vec<u8>,
    is_static: bool,
    pool: Vec<u8>,
    pool_count: u16,
}

impl MethodCode {
    /// Runs `look` with what is needed to understand the code; `None` when
    /// this JVM's constants cannot be read. Names of local variables are not
    /// there: HotSpot tells them only if it also keeps the variables longer
    /// than compiled code needs them.
    pub fn with_body<T>(&self, look: impl FnOnce(&Body<'_>) -> Option<T>) -> Option<T> {
        let pool = ConstantPool::from_entries(self.pool_count, &self.pool).ok()?;
        look(&Body {
            pool: &pool,
            code: &self.code,
            descriptor: &self.descriptor,
            is_static: self.is_static,
            variables: Vec::new(),
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
        let (_, descriptor) = self.method_name(method)?;
        let mut modifiers: jint = 0;
        call!(self, GetMethodModifiers, method, &mut modifiers)?;
        let class = self.declaring_class(java, method)?;
        let pool = self.constant_pool(class.get());
        java.drop_local(class);
        let (pool_count, pool) = pool?;
        let is_static = modifiers & ACC_STATIC != 0;
        Ok(MethodCode { code, descriptor, is_static, pool, pool_count })
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
    pub(super) fn declaring_class<'j>(&self, _: Java<'j>, method: jmethodID) -> Result<Local<'j>> {
        let mut class: jclass = ptr::null_mut();
        call!(self, GetMethodDeclaringClass, method, &mut class)?;
        // SAFETY: the answer is a local reference of the current native frame, and
        // it is ours.
        Ok(unsafe { Local::new(class) })
    }

    /// As a class file has it: `constant_pool_count` and the entries.
    pub(super) fn constant_pool(&self, class: Object<'_>) -> Result<(u16, Vec<u8>)> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
