//! By what a thread's span is known.

use crate::jvm::{Global, Weak};
use jvmti_bindings::sys::jni::jfieldID;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU32},
};

/// A field of a class.
#[derive(Clone, Copy)]
pub struct Field(pub jfieldID);

// SAFETY: a field's id is valid on every thread, as long as its class is loaded.
unsafe impl Send for Field {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Field {}

/// Where slots of one class have what they tell.
pub struct SlotFields {
    /// The class.
    pub class: Weak,
    /// What the slot refers to while there is a span.
    pub active: Field,
    /// The span itself, if it is of a class whose names can be read.
    pub span: Field,
    /// Its name, if not.
    pub name: Field,
    /// The id of its trace.
    pub trace: Field,
    /// Its own.
    pub id: Field,
}

/// A thread's slot.
#[derive(Default)]
pub struct SpanSlot {
    pub is_known: AtomicBool,
    pub slot: Mutex<Option<(Global, Arc<SlotFields>)>>,
    /// The number of the group that its span was when that was asked last.
    pub last: AtomicU32,
}
