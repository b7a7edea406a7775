//! Definitions: what the ids in other records stand for.
//!
//! Each is a tag byte, a varint length and so many bytes of varints (and, for
//! strings, text). Readers skip tags they do not know and ignore what follows
//! the fields they know, so that definitions can grow.

use crate::{fields::FieldReader, kind::WaitKind, varint};

/// Ids that are never defined.
pub mod id {
    /// The empty string.
    pub const NO_STRING: u32 = 0;
    /// An unknown class, method, thread, lock or place.
    pub const UNKNOWN: u32 = 0;
    /// The stack without frames: every stack's outermost parent.
    pub const EMPTY_STACK: u32 = 0;
    /// The outermost parent of stacks that were cut at the depth limit.
    pub const CUT_STACK: u32 = 1;
}

/// Bits of a thread's flags.
pub mod thread_flag {
    /// A daemon thread.
    pub const DAEMON: u64 = 1;
    /// A virtual thread.
    pub const VIRTUAL: u64 = 2;
}

/// Bits of a place's flags.
pub mod place_flag {
    /// A synchronized method.
    pub const METHOD: u64 = 1;
    /// A static synchronized method: the lock is the class object.
    pub const STATIC: u64 = 2;
    /// A call of `java.util.concurrent`.
    pub const JUC: u64 = 4;
    /// The name is that of a field, or of what a field leads to: a lock of the same class
    /// and name is the same one wherever it is taken.
    pub const FIELD: u64 = 8;
}

/// One definition. Ids are dense and count from 1 (stacks: from 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition<'a> {
    /// A text, UTF-8.
    String {
        /// The string's id.
        id: u32,
        /// Its bytes.
        text: &'a [u8],
    },
    /// A Java class.
    Class {
        /// The class's id.
        id: u32,
        /// Its name as in class files, `java/lang/Object`.
        name: u32,
        /// Its source file's name without directories, or no string.
        source: u32,
    },
    /// A Java method.
    Method {
        /// The method's id.
        id: u32,
        /// The class that declares it.
        class: u32,
        /// Its name.
        name: u32,
        /// Its descriptor, `(I)V`.
        descriptor: u32,
        /// Its first line, 0 when unknown.
        first_line: u32,
    },
    /// A stack: one frame on top of another stack.
    Stack {
        /// The stack's id.
        id: u32,
        /// The stack of the callers.
        parent: u32,
        /// The method of the innermost frame.
        method: u32,
        /// The line in it, 0 when unknown.
        line: u32,
    },
    /// A thread.
    Thread {
        /// The thread's id in the log.
        id: u32,
        /// `Thread.getId()`.
        java_id: u64,
        /// Bits of [`thread_flag`].
        flags: u64,
        /// Its name.
        name: u32,
        /// Its group's name.
        group: u32,
    },
    /// A thread took another name.
    ThreadName {
        /// The thread's id in the log.
        id: u32,
        /// The name it has from then on.
        name: u32,
        /// Since when, monotonic ns.
        at_ns: u64,
    },
    /// A lock object.
    Lock {
        /// The lock's id: its identity, whatever the collector does to it.
        id: u32,
        /// Its class.
        class: u32,
    },
    /// A site: who waits for what, and how.
    Site {
        /// The site's id.
        id: u32,
        /// Code of the [`WaitKind`].
        kind: u8,
        /// The waiter's stack.
        stack: u32,
        /// The lock.
        lock: u32,
        /// Where the program takes it, or calls `Object.wait`; 0 when unknown.
        place: u32,
    },
    /// Where the program takes a lock.
    Place {
        /// The place's id.
        id: u32,
        /// The method.
        method: u32,
        /// The line in it, 0 when unknown.
        line: u32,
        /// Code of a [`WaitKind`] that is contention: what kind of lock.
        kind: u8,
        /// Bits of [`place_flag`]; readers ignore the others.
        flags: u64,
        /// What the program calls the lock (`com/acme/Cache.lock`, `this`), or no
        /// string.
        name: u32,
        /// The offset of the instruction in the method as its class file has it,
        /// plus 1; 0 when unknown.
        bytecode: u32,
    },
    /// Trace mode: which instance was taken at a place, if it was always the same one.
    /// The latest of a place holds.
    PlaceInstance {
        /// The place's id.
        place: u32,
        /// The identity hash of the object; 0 when there were several.
        hash: u32,
    },
    /// Trace mode: a lock of the contended records is this instance.
    LockInstance {
        /// The lock's id.
        lock: u32,
        /// The identity hash of the object, never 0.
        hash: u32,
    },
    /// What the program calls a lock, where it was contended first.
    LockName {
        /// The lock's id.
        lock: u32,
        /// Its name.
        name: u32,
    },
    /// A number about the recording. The latest of a key holds.
    Statistic {
        /// Its key, a string: `instrumented.classes`.
        key: u32,
        /// The number.
        value: u64,
    },
    /// From when to when a thread lived. The latest of a thread holds.
    ThreadSpan {
        /// The thread's id in the log.
        id: u32,
        /// When it started, monotonic ns; if that is not known, when it was
        /// first seen.
        started_ns: u64,
        /// When it ended, monotonic ns; 0 while it lives.
        ended_ns: u64,
    },
    /// A stack that stands for no frame but for what the program said that a
    /// thread was doing: the outermost parent of its stacks meanwhile.
    Group {
        /// The stack's id.
        stack: u32,
        /// What the program calls it.
        name: u32,
    },
    /// Nothing was recorded for a while. The latest that begins at a moment
    /// holds.
    Pause {
        /// When recording was switched off, monotonic ns.
        from_ns: u64,
        /// When it was switched on again, monotonic ns; 0 until then.
        to_ns: u64,
    },
    /// What is recorded from a moment on, when that has changed since the log
    /// began. Until the first of them it is what the log's metadata says.
    Mode {
        /// Since when, monotonic ns.
        from_ns: u64,
        /// What of locks, and whether threads are sampled: see [`mode`].
        recorded: u64,
    },
    /// The JVM's garbage collector had all threads stopped.
    Collection {
        /// Since when, monotonic ns.
        start_ns: u64,
        /// Until when, monotonic ns.
        end_ns: u64,
    },
    /// An option has another value from a moment on than before. Until the first of
    /// them it has that of the log's metadata.
    Option {
        /// Since when, monotonic ns.
        from_ns: u64,
        /// Its key in the metadata, a string.
        key: u32,
        /// Its value as the metadata have it, a string.
        value: u32,
    },
    /// A definition of a tag that this code does not know.
    Unknown(u8),
}

const TAG_STRING: u8 = 1;
const TAG_CLASS: u8 = 2;
const TAG_METHOD: u8 = 3;
const TAG_STACK: u8 = 4;
const TAG_THREAD: u8 = 5;
const TAG_THREAD_NAME: u8 = 6;
const TAG_LOCK: u8 = 7;
const TAG_SITE: u8 = 8;
const TAG_PLACE: u8 = 9;
const TAG_LOCK_INSTANCE: u8 = 10;
const TAG_LOCK_NAME: u8 = 11;
const TAG_STATISTIC: u8 = 12;
const TAG_THREAD_SPAN: u8 = 13;
const TAG_GROUP: u8 = 14;
const TAG_PAUSE: u8 = 15;
const TAG_MODE: u8 = 16;
const TAG_COLLECTION: u8 = 17;
const TAG_OPTION: u8 = 18;
const TAG_PLACE_INSTANCE: u8 = 19;

/// What [`Definition::Mode`] says is recorded: bits that are added up.
pub mod mode {
    /// Waits for locks, and other waits.
    pub const WAITS: u64 = 1;
    /// Every acquisition, with [`WAITS`].
    pub const ACQUISITIONS: u64 = 2;
    /// Samples of all threads.
    pub const SAMPLES: u64 = 4;
}

/// The most fields that a definition has.
const MAX_FIELDS: usize = 7;

/// The longest text in a definition, in bytes; longer ones are cut.
pub const MAX_TEXT: usize = 4096;

impl Definition<'_> {
    /// Appends the definition to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let none: &[u8] = &[];
        let (tag, fields, text): (u8, &[u64], &[u8]) = match *self {
            Definition::String { id, text } => {
                (TAG_STRING, &[id.into()], &text[..text.len().min(MAX_TEXT)])
            }
            Definition::Class { id, name, source } => {
                (TAG_CLASS, &[id.into(), name.into(), source.into()], none)
            }
            Definition::Method { id, class, name, descriptor, first_line } => (
                TAG_METHOD,
                &[id.into(), class.into(), name.into(), descriptor.into(), first_line.into()],
                none,
            ),
            Definition::Stack { id, parent, method, line } => {
                (TAG_STACK, &[id.into(), parent.into(), method.into(), line.into()], none)
            }
            Definition::Thread { id, java_id, flags, name, group } => {
                (TAG_THREAD, &[id.into(), java_id, flags, name.into(), group.into()], none)
            }
            Definition::ThreadName { id, name, at_ns } => {
                (TAG_THREAD_NAME, &[id.into(), name.into(), at_ns], none)
            }
            Definition::Lock { id, class } => (TAG_LOCK, &[id.into(), class.into()], none),
            // The last field of these came later: where it is 0, it is left out.
            Definition::Site { id, kind, stack, lock, place: 0 } => {
                (TAG_SITE, &[id.into(), kind.into(), stack.into(), lock.into()], none)
            }
            Definition::Site { id, kind, stack, lock, place } => {
                (TAG_SITE, &[id.into(), kind.into(), stack.into(), lock.into(), place.into()], none)
            }
            Definition::Place { id, method, line, kind, flags, name, bytecode: 0 } => (
                TAG_PLACE,
                &[id.into(), method.into(), line.into(), kind.into(), flags, name.into()],
                none,
            ),
            Definition::Place { id, method, line, kind, flags, name, bytecode } => {
                let (id, method, line) = (id.into(), method.into(), line.into());
                let (kind, name) = (kind.into(), name.into());
                (TAG_PLACE, &[id, method, line, kind, flags, name, bytecode.into()], none)
            }
            Definition::PlaceInstance { place, hash } => {
                (TAG_PLACE_INSTANCE, &[place.into(), hash.into()], none)
            }
            Definition::LockInstance { lock, hash } => {
                (TAG_LOCK_INSTANCE, &[lock.into(), hash.into()], none)
            }
            Definition::LockName { lock, name } => {
                (TAG_LOCK_NAME, &[lock.into(), name.into()], none)
            }
            Definition::Statistic { key, value } => (TAG_STATISTIC, &[key.into(), value], none),
            Definition::ThreadSpan { id, started_ns, ended_ns } => {
                (TAG_THREAD_SPAN, &[id.into(), started_ns, ended_ns], none)
            }
            Definition::Group { stack, name } => (TAG_GROUP, &[stack.into(), name.into()], none),
            Definition::Pause { from_ns, to_ns } => (TAG_PAUSE, &[from_ns, to_ns], none),
            Definition::Mode { from_ns, recorded } => (TAG_MODE, &[from_ns, recorded], none),
            Definition::Collection { start_ns, end_ns } => {
                (TAG_COLLECTION, &[start_ns, end_ns], none)
            }
            Definition::Option { from_ns, key, value } => {
                (TAG_OPTION, &[from_ns, key.into(), value.into()], none)
            }
            Definition::Unknown(tag) => (tag, &[], none),
        };
        let mut payload = [0; MAX_FIELDS * varint::MAX_LEN];
        let mut len = 0;
        for &field in fields {
            len += varint::write(&mut payload[len..], field).unwrap_or(0);
        }
        out.push(tag);
        varint::put(out, (len + text.len()) as u64);
        out.extend_from_slice(&payload[..len]);
        out.extend_from_slice(text);
    }
}

/// Reads the code of a kind of wait that there is.
fn kind(fields: &mut FieldReader<'_>) -> Option<WaitKind> {
    WaitKind::from_code(u8::try_from(fields.u64()?).ok()?)
}

/// Reads the fields of a definition with this tag from its payload, or `None`
/// when they are not all there or do not fit.
pub fn decode_payload(tag: u8, payload: &[u8]) -> Option<Definition<'_>> {
    let mut f = FieldReader(payload);
    // Struct fields are evaluated in the order written: the order in the log.
    Some(match tag {
        TAG_STRING => Definition::String { id: f.u32()?, text: f.0 },
        TAG_CLASS => Definition::Class { id: f.u32()?, name: f.u32()?, source: f.u32()? },
        TAG_METHOD => Definition::Method {
            id: f.u32()?,
            class: f.u32()?,
            name: f.u32()?,
            descriptor: f.u32()?,
            first_line: f.u32()?,
        },
        TAG_STACK => {
            Definition::Stack { id: f.u32()?, parent: f.u32()?, method: f.u32()?, line: f.u32()? }
        }
        TAG_THREAD => Definition::Thread {
            id: f.u32()?,
            java_id: f.u64()?,
            flags: f.u64()?,
            name: f.u32()?,
            group: f.u32()?,
        },
        TAG_THREAD_NAME => Definition::ThreadName { id: f.u32()?, name: f.u32()?, at_ns: f.u64()? },
        TAG_LOCK => Definition::Lock { id: f.u32()?, class: f.u32()? },
        TAG_SITE => Definition::Site {
            id: f.u32()?,
            kind: kind(&mut f)?.code(),
            stack: f.u32()?,
            lock: f.u32()?,
            place: f.later_u32()?,
        },
        TAG_PLACE => Definition::Place {
            id: f.u32()?,
            method: f.u32()?,
            line: f.u32()?,
            kind: kind(&mut f).filter(|kind| kind.is_contention())?.code(),
            flags: f.u64()?,
            name: f.u32()?,
            bytecode: f.later_u32()?,
        },
        TAG_PLACE_INSTANCE => Definition::PlaceInstance { place: f.u32()?, hash: f.u32()? },
        TAG_LOCK_INSTANCE => Definition::LockInstance { lock: f.u32()?, hash: f.u32()? },
        TAG_LOCK_NAME => Definition::LockName { lock: f.u32()?, name: f.u32()? },
        TAG_STATISTIC => Definition::Statistic { key: f.u32()?, value: f.u64()? },
        TAG_THREAD_SPAN => {
            Definition::ThreadSpan { id: f.u32()?, started_ns: f.u64()?, ended_ns: f.u64()? }
        }
        TAG_GROUP => Definition::Group { stack: f.u32()?, name: f.u32()? },
        TAG_PAUSE => Definition::Pause { from_ns: f.u64()?, to_ns: f.u64()? },
        TAG_MODE => Definition::Mode { from_ns: f.u64()?, recorded: f.u64()? },
        TAG_COLLECTION => Definition::Collection { start_ns: f.u64()?, end_ns: f.u64()? },
        TAG_OPTION => Definition::Option { from_ns: f.u64()?, key: f.u32()?, value: f.u32()? },
        _ => Definition::Unknown(tag),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn definitions() -> impl Strategy<Value = (u8, [u32; 5], u64, Vec<u8>)> {
        (0u8..20, any::<[u32; 5]>(), any::<u64>(), any::<Vec<u8>>())
    }

    fn build(tag: u8, n: [u32; 5], long: u64, text: &[u8]) -> Definition<'_> {
        let [id, a, b, c, d] = n;
        match tag {
            TAG_STRING => Definition::String { id, text },
            TAG_CLASS => Definition::Class { id, name: a, source: b },
            TAG_METHOD => {
                Definition::Method { id, class: a, name: b, descriptor: c, first_line: d }
            }
            TAG_STACK => Definition::Stack { id, parent: a, method: b, line: c },
            TAG_THREAD => {
                Definition::Thread { id, java_id: long, flags: a.into(), name: b, group: c }
            }
            TAG_THREAD_NAME => Definition::ThreadName { id, name: a, at_ns: long },
            TAG_LOCK => Definition::Lock { id, class: a },
            TAG_SITE => {
                Definition::Site { id, kind: (a % 9) as u8 + 1, stack: b, lock: c, place: d }
            }
            TAG_PLACE => Definition::Place {
                id,
                method: a,
                line: b,
                kind: (c % 5) as u8 + 1,
                flags: long,
                name: d,
                bytecode: c,
            },
            TAG_PLACE_INSTANCE => Definition::PlaceInstance { place: id, hash: a },
            TAG_LOCK_INSTANCE => Definition::LockInstance { lock: id, hash: a },
            TAG_LOCK_NAME => Definition::LockName { lock: id, name: a },
            TAG_STATISTIC => Definition::Statistic { key: id, value: long },
            TAG_THREAD_SPAN => {
                Definition::ThreadSpan { id, started_ns: long, ended_ns: long ^ u64::from(a) }
            }
            TAG_GROUP => Definition::Group { stack: id, name: a },
            TAG_PAUSE => Definition::Pause { from_ns: long, to_ns: long ^ u64::from(a) },
            TAG_MODE => Definition::Mode { from_ns: long, recorded: a.into() },
            TAG_COLLECTION => {
                Definition::Collection { start_ns: long, end_ns: long ^ u64::from(a) }
            }
            TAG_OPTION => Definition::Option { from_ns: long, key: a, value: b },
            _ => Definition::Unknown(77),
        }
    }

    proptest! {
        #[test]
        fn round_trips((tag, n, long, text) in definitions()) {
            let definition = build(tag, n, long, &text);
            let mut bytes = Vec::new();
            definition.encode(&mut bytes);
            let (len, len_len) = varint::read(&bytes[1..]).unwrap();
            prop_assert_eq!(1 + len_len + len as usize, bytes.len());
            let payload = &bytes[1 + len_len..];
            prop_assert_eq!(decode_payload(bytes[0], payload), Some(definition));
        }

        #[test]
        fn any_payload_is_read_without_panic(tag: u8, payload: Vec<u8>) {
            let _ = decode_payload(tag, &payload);
        }
    }

    #[test]
    fn later_fields_are_ignored() {
        assert_eq!(
            decode_payload(TAG_LOCK, &[5, 6, 99]),
            Some(Definition::Lock { id: 5, class: 6 })
        );
    }

    #[test]
    fn fields_that_came_later_may_be_missing() {
        let site = Definition::Site { id: 1, kind: 2, stack: 3, lock: 4, place: 0 };
        let place = Definition::Place {
            id: 1,
            method: 2,
            line: 3,
            kind: 4,
            flags: 5,
            name: 6,
            bytecode: 0,
        };
        for (definition, bytes) in
            [(site, &[8, 4, 1, 2, 3, 4][..]), (place, &[9, 6, 1, 2, 3, 4, 5, 6])]
        {
            let mut encoded = Vec::new();
            definition.encode(&mut encoded);
            assert_eq!(encoded, bytes, "as earlier agents wrote it");
            assert_eq!(decode_payload(bytes[0], &bytes[2..]), Some(definition));
        }
        assert_eq!(decode_payload(TAG_SITE, &[1, 2, 3, 4, 0x80]), None, "cut within the field");
    }

    #[test]
    fn rejects_short_payloads_and_unknown_kinds() {
        assert_eq!(decode_payload(TAG_LOCK, &[5]), None);
        assert_eq!(decode_payload(TAG_SITE, &[1, 10, 1, 1]), None);
        assert_eq!(decode_payload(TAG_PLACE, &[1, 2, 3, 6, 0, 0]), None, "no contention");
        assert!(decode_payload(TAG_PLACE, &[1, 2, 3, 5, 0, 0]).is_some());
        assert_eq!(decode_payload(TAG_STATISTIC, &[1]), None);
        assert_eq!(decode_payload(TAG_THREAD_SPAN, &[1, 2]), None);
    }
}
