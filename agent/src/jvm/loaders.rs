//! Numbers for class loaders.

use super::{
    Java, Local, Object, Ti, Vm,
    ti::{Result, call},
};
use jvmti_bindings::sys::{jni::jobject, jvmti::jvmtiError};
use std::{
    ptr,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

/// Numbers for class loaders, each of which is given once. They are tags of a JVMTI
/// environment of their own: in the agent's, a tag is the number of a lock.
pub struct Loaders {
    ti: Ti,
    last: AtomicI64,
}

impl Loaders {
    /// `None` where the JVM has no room for another environment.
    pub fn new(vm: Vm) -> Option<Loaders> {
        let ti = vm.another_jvmti()?;
        ti.add_capabilities(&[|c| c.set_can_tag_objects(true)]).ok()?;
        Some(Loaders { ti, last: AtomicI64::new(0) })
    }

    /// The number of a class's loader, 0 for the JVM's own.
    ///
    /// # Errors
    /// JVMTI's code, when the loader has no number and gets none.
    pub fn number(&self, java: Java, class: Object<'_>) -> Result<i64> {
        let mut loader: jobject = ptr::null_mut();
        call!(self.ti, GetClassLoader, class.raw(), &mut loader)?;
        if loader.is_null() {
            return Ok(0);
        }
        // SAFETY: JVMTI's answer is a local reference of the current native frame, and
        // it is ours.
        let loader = unsafe { Local::new(loader) };
        let number = self.number_of(loader.get());
        java.drop_local(loader);
        number
    }

    /// The number of a class loader that is not the JVM's own.
    ///
    /// # Errors
    /// JVMTI's code, when it has no number and gets none.
    pub fn number_of(&self, loader: Object<'_>) -> Result<i64> {
        match self.ti.tag(loader) {
            0 => {
                let number = self.last.fetch_add(1, Relaxed) + 1;
                self.ti.set_tag(loader, number).map(|()| number)
            }
            number => Ok(number),
        }
    }
}
