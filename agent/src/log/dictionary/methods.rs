//! What is known of the methods of a stack.

use super::{MethodKey, Role};
use crate::jvm::{Java, Ti, ti::MethodInfo, versions::MethodVersions};
use jvmti_bindings::sys::jvmti::jvmtiFrameInfo;

/// What identifies the method of a frame.
pub(super) fn key_of(versions: &MethodVersions, frame: &jvmtiFrameInfo) -> MethodKey {
    (frame.method as usize, versions.of(frame.method))
}

/// What the JVM tells of a version of a method. Should it become another one meanwhile, its
/// lines are not known.
pub(super) fn describe(
    ti: Ti,
    java: Java,
    versions: &MethodVersions,
    (method, version): MethodKey,
) -> Option<MethodInfo> {
    let method = std::ptr::with_exposed_provenance_mut(method);
    let mut info = ti.method(java, method).ok()?;
    if versions.of(method) != version {
        info.lines.clear();
    }
    Some(info)
}

pub(super) fn role_of(class: &[u8]) -> Role {
    const LOCKS: &[u8] = b"Ljava/util/concurrent/locks/";
    let Some(name) = class.strip_prefix(LOCKS) else { return Role::Caller };
    match name {
        b"AbstractQueuedSynchronizer$ConditionObject;"
        | b"AbstractQueuedLongSynchronizer$ConditionObject;" => Role::Condition,
        b"LockSupport;" | b"AbstractQueuedSynchronizer;" | b"AbstractQueuedLongSynchronizer;" => {
            Role::Machinery
        }
        _ => Role::Caller,
    }
}
