//! In which spans of its tracing the program's threads are.
//!
//! The extension for OpenTelemetry (`java/otel`) keeps an object for each thread, the *slot*,
//! and has it refer to what is known of the span: that is all that happens at a change of
//! scope. Here it is read, when something is recorded of the thread. A span's name may still
//! change while it lasts, as that of a request before its route is known. So it is read from
//! the span itself, without its lock.
//!
//! Whoever calls the JVM may be stopped there by a debugger. So no lock is waited for that
//! somebody may have who does: then nothing is known of the span.

use super::{
    Recorder,
    threads::{Field, SlotFields, Thread},
};
use crate::{
    groups,
    jvm::{Java, Object, Weak},
    sync::lock,
};
use std::sync::{
    Arc, Mutex, PoisonError, TryLockError,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tyrion_wire::span::Span;

/// So many classes of a sort are known: each of a class loader with the extension or the SDK.
const CLASSES: usize = 16;
/// The longest name that is read, in UTF-16 units.
const NAME_LIMIT: usize = 256;

/// A class of spans, and where they have their names.
struct Named {
    class: Weak,
    name: Field,
}

/// What is known of classes.
#[derive(Default)]
pub struct SpanClasses {
    slots: Mutex<Vec<Arc<SlotFields>>>,
    spans: Mutex<Vec<Arc<Named>>>,
    /// Whether any thread has a slot.
    any: AtomicBool,
    /// Threads that have ended while somebody read their slots.
    ended: Mutex<Vec<Arc<Thread>>>,
}

/// What a thread does by its tracing.
#[derive(Clone, Copy)]
struct Active {
    group: u32,
    span: Span,
}

impl Recorder {
    /// The current thread has a slot; `active` is the class of what that refers to. Whether it
    /// is known from now on.
    pub fn add_slot(
        &self,
        java: Java,
        thread: Object<'_>,
        slot: Object<'_>,
        active: Object<'_>,
    ) -> bool {
        let java_id = java.long_field(thread, self.fields.thread_id);
        if java_id <= 0 {
            return false;
        }
        self.drop_ended_slots(java);
        let Some(fields) = self.slot_fields(java, slot, active) else { return false };
        let known = match self.threads.get(java_id) {
            Some(known) => known,
            None => self.add_thread(java, thread, java_id),
        };
        let Some(global) = java.global(slot) else { return false };
        let before = match known.span.slot.try_lock() {
            Ok(mut slot) => slot.replace((global, fields)),
            Err(_) => {
                java.drop_global(global);
                return false;
            }
        };
        known.span.is_known.store(true, Relaxed);
        self.spans.any.store(true, Relaxed);
        if let Some((before, _)) = before {
            java.drop_global(before);
        }
        true
    }

    fn slot_fields(
        &self,
        java: Java,
        slot: Object<'_>,
        active: Object<'_>,
    ) -> Option<Arc<SlotFields>> {
        let class = java.class_of(slot);
        let known: Vec<_> = lock(&self.spans.slots).clone();
        let found = known.into_iter().find(|it| java.is_kept(&it.class, class.get()));
        let found = found.or_else(|| {
            if !has_room(&self.spans.slots) {
                return None;
            }
            let field = |of, name, of_type| java.field(of, name, of_type).map(Field);
            let fields = Arc::new(SlotFields {
                active: field(class.get(), c"active", c"Ltyrion/otel/Active;")?,
                span: field(active, c"span", c"Ljava/lang/Object;")?,
                name: field(active, c"name", c"Ljava/lang/String;")?,
                trace: field(active, c"trace", c"Ljava/lang/String;")?,
                id: field(active, c"id", c"Ljava/lang/String;")?,
                class: java.weak(class.get())?,
            });
            add(&self.spans.slots, &fields);
            Some(fields)
        });
        java.drop_local(class);
        found
    }

    /// Spans of a class have their names in this field: whether they do.
    pub fn add_span_class(&self, java: Java, class: Object<'_>) -> bool {
        let known: Vec<_> = lock(&self.spans.spans).clone();
        if known.iter().any(|it| java.is_kept(&it.class, class)) {
            return true;
        }
        if !has_room(&self.spans.spans) {
            return false;
        }
        let Some(name) = java.field(class, c"name", c"Ljava/lang/String;") else { return false };
        let Some(weak) = java.weak(class) else { return false };
        add(&self.spans.spans, &Arc::new(Named { class: weak, name: Field(name) }))
    }

    /// The number of the group that a thread is in: the one that the program named, or else
    /// that of its span.
    #[inline]
    pub(super) fn group_number(&self, java: Java, thread: &Thread) -> u32 {
        match thread.groups.innermost() {
            groups::NONE if self.spans.any.load(Relaxed) => self.group_of_span(java, thread),
            number => number,
        }
    }

    /// The same as it was when that was asked last.
    pub(super) fn last_group_number(&self, thread: &Thread) -> u32 {
        match thread.groups.innermost() {
            groups::NONE => thread.span.last.load(Relaxed),
            number => number,
        }
    }

    /// Whether any thread's spans are known.
    pub(super) fn has_spans(&self) -> bool {
        self.spans.any.load(Relaxed)
    }

    fn group_of_span(&self, java: Java, thread: &Thread) -> u32 {
        let group = self.active(java, thread, false).map_or(groups::NONE, |active| active.group);
        thread.span.last.store(group, Relaxed);
        group
    }

    /// The number of the group of a thread by its Java id, which may be another one.
    pub fn group_number_of(&self, java: Java, java_id: i64) -> u32 {
        if !self.groups.any() && !self.spans.any.load(Relaxed) {
            return groups::NONE;
        }
        self.threads.get(java_id).map_or(groups::NONE, |known| self.group_number(java, &known))
    }

    /// The span that a thread is in.
    pub fn span_of(&self, java: Java, thread: &Thread) -> Span {
        if !self.spans.any.load(Relaxed) {
            return Span::NONE;
        }
        self.active(java, thread, true).map_or(Span::NONE, |active| active.span)
    }

    /// The span of the current thread, by which its records may not be told.
    pub fn span_of_current(&self, java: Java) -> Span {
        if !self.spans.any.load(Relaxed) {
            return Span::NONE;
        }
        let current = self.ti.current_thread(java);
        let java_id = if current.is_null() {
            0
        } else {
            java.long_field(current.get(), self.fields.thread_id)
        };
        java.drop_local(current);
        self.threads.get(java_id).map_or(Span::NONE, |known| self.span_of(java, &known))
    }

    fn active(&self, java: Java, thread: &Thread, wants_ids: bool) -> Option<Active> {
        if !thread.span.is_known.load(Relaxed) {
            return None;
        }
        let (active, fields) = {
            let slot = match thread.span.slot.try_lock() {
                Ok(slot) => slot,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return None,
            };
            let (slot, fields) = slot.as_ref()?;
            (java.object_field(slot.get(), fields.active.0), Arc::clone(fields))
        };
        if active.is_null() {
            return None;
        }
        let found = if wants_ids {
            let trace = self.hexadecimal::<32>(java, active.get(), fields.trace);
            let id = self.hexadecimal::<16>(java, active.get(), fields.id);
            let of = |trace: u128, id: u128| Span {
                trace: [(trace >> 64) as u64, trace as u64],
                id: id as u64,
            };
            let span = trace.filter(|&trace| trace != 0).zip(id);
            let span = span.map_or(Span::NONE, |(trace, id)| of(trace, id));
            Active { group: groups::NONE, span }
        } else {
            Active { group: self.name_of(java, active.get(), &fields), span: Span::NONE }
        };
        java.drop_local(active);
        Some(found)
    }

    fn name_of(&self, java: Java, active: Object<'_>, fields: &SlotFields) -> u32 {
        let mut name = java.object_field(active, fields.name.0);
        if name.is_null() {
            let span = java.object_field(active, fields.span.0);
            if span.is_null() {
                return groups::NONE;
            }
            let class = java.class_of(span.get());
            let known: Vec<_> = lock(&self.spans.spans).clone();
            if let Some(named) = known.iter().find(|it| java.is_kept(&it.class, class.get())) {
                name = java.object_field(span.get(), named.name.0);
            }
            java.drop_local(class);
            java.drop_local(span);
        }
        if name.is_null() {
            return groups::NONE;
        }
        let mut units = [0; NAME_LIMIT];
        let len = java.string_units(name.get(), &mut units);
        java.drop_local(name);
        self.groups.span_number(&String::from_utf16_lossy(&units[..len.min(NAME_LIMIT)]))
    }

    fn hexadecimal<const DIGITS: usize>(
        &self,
        java: Java,
        active: Object<'_>,
        field: Field,
    ) -> Option<u128> {
        let text = java.object_field(active, field.0);
        if text.is_null() {
            return None;
        }
        let mut units = [0; DIGITS];
        let len = java.string_units(text.get(), &mut units);
        java.drop_local(text);
        if len == DIGITS { parsed(&units) } else { None }
    }

    /// A thread has ended: its slot is given back.
    pub(super) fn drop_slot(&self, java: Java, thread: &Arc<Thread>) {
        if thread.span.is_known.load(Relaxed) && !try_drop(java, thread) {
            lock(&self.spans.ended).push(Arc::clone(thread));
        }
    }

    /// The same without the JVM: that is done when the next one gets a slot.
    pub(super) fn drop_slot_later(&self, thread: &Arc<Thread>) {
        if thread.span.is_known.load(Relaxed) {
            lock(&self.spans.ended).push(Arc::clone(thread));
        }
    }

    fn drop_ended_slots(&self, java: Java) {
        let ended = std::mem::take(&mut *lock(&self.spans.ended));
        let (_, left): (Vec<_>, Vec<_>) =
            ended.into_iter().partition(|thread| try_drop(java, thread));
        lock(&self.spans.ended).extend(left);
    }
}

/// Gives a slot back, unless somebody just reads it.
fn try_drop(java: Java, thread: &Thread) -> bool {
    let slot = match thread.span.slot.try_lock() {
        Ok(mut slot) => slot.take(),
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
        Err(TryLockError::WouldBlock) => return false,
    };
    thread.span.is_known.store(false, Relaxed);
    if let Some((global, _)) = slot {
        java.drop_global(global);
    }
    true
}

/// Whether more classes of a sort may be known: what is known of them is never given back.
fn has_room<T>(of: &Mutex<Vec<Arc<T>>>) -> bool {
    lock(of).len() < CLASSES
}

/// Adds what is known of a class, if there is room.
fn add<T>(to: &Mutex<Vec<Arc<T>>>, what: &Arc<T>) -> bool {
    let mut known = to.lock().unwrap_or_else(PoisonError::into_inner);
    let has_room = known.len() < CLASSES;
    if has_room {
        known.push(Arc::clone(what));
    }
    has_room
}

/// The number of hexadecimal digits; `None` if one is something else.
fn parsed(digits: &[u16]) -> Option<u128> {
    digits.iter().try_fold(0u128, |number, &unit| {
        let digit = char::from_u32(unit.into())?.to_digit(16)?;
        Some(number << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_their_digits() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        let trace = units("0af7651916cd43dd8448eb211c80319c");
        assert_eq!(parsed(&trace), Some(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c));
        assert_eq!(parsed(&units("00F067aa0ba902b7")), Some(0x00f0_67aa_0ba9_02b7));
        assert_eq!(parsed(&units("not hexadecimal!")), None);
        assert_eq!(parsed(&[0xd800; 16]), None);
    }
}
