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

/// The definitions of numbers alone: of each its tag, and its fields in the order in which
/// they stand in the log. The field behind a semicolon came later: where it is 0 it is
/// left out, and may be missing.
macro_rules! definitions {
    ($($(#[$doc:meta])* $name:ident = $tag:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ident,)*
        $(; $(#[$later_doc:meta])* $later:ident: u32,)?
    })*) => {
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
            $($(#[$doc])* $name {
                $($(#[$field_doc])* $field: $type,)*
                $($(#[$later_doc])* $later: u32,)?
            },)*
            /// A definition of a tag that this code does not know.
            Unknown(u8),
        }

        impl Definition<'_> {
            /// Its tag; its fields are put into `payload`.
            fn fields(&self, payload: &mut Payload) -> u8 {
                match *self {
                    Definition::String { id, .. } => {
                        payload.put(id.into());
                        TAG_STRING
                    }
                    $(Definition::$name { $($field,)* $($later,)? } => {
                        $(payload.put($field.into());)*
                        $(if $later != 0 {
                            payload.put($later.into());
                        })?
                        $tag
                    })*
                    Definition::Unknown(tag) => tag,
                }
            }

            fn read(tag: u8, payload: &[u8]) -> Option<Definition<'_>> {
                let mut f = FieldReader(payload);
                // Struct fields are evaluated in the order written: the order in the log.
                Some(match tag {
                    TAG_STRING => Definition::String { id: f.u32()?, text: f.0 },
                    $($tag => Definition::$name {
                        $($field: f.$type()?,)*
                        $($later: f.later_u32()?,)?
                    },)*
                    _ => Definition::Unknown(tag),
                })
            }
        }
    };
}

definitions! {
    /// A Java class.
    Class = 2 {
        /// The class's id.
        id: u32,
        /// Its name as in class files, `java/lang/Object`.
        name: u32,
        /// Its source file's name without directories, or no string.
        source: u32,
    }
    /// A Java method.
    Method = 3 {
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
    }
    /// A stack: one frame on top of another stack.
    Stack = 4 {
        /// The stack's id.
        id: u32,
        /// The stack of the callers.
        parent: u32,
        /// The method of the innermost frame.
        method: u32,
        /// The line in it, 0 when unknown.
        line: u32,
    }
    /// A thread.
    Thread = 5 {
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
    }
    /// A thread took another name.
    ThreadName = 6 {
        /// The thread's id in the log.
        id: u32,
        /// The name it has from then on.
        name: u32,
        /// Since when, monotonic ns.
        at_ns: u64,
    }
    /// A lock object.
    Lock = 7 {
        /// The lock's id: its identity, whatever the collector does to it.
        id: u32,
        /// Its class.
        class: u32,
    }
    /// A site: who waits for what, and how.
    Site = 8 {
        /// The site's id.
        id: u32,
        /// Code of the [`WaitKind`].
        kind: u8,
        /// The waiter's stack.
        stack: u32,
        /// The lock.
        lock: u32,
        ;
        /// Where the program takes it, or calls `Object.wait`; 0 when unknown.
        place: u32,
    }
    /// Where the program takes a lock.
    Place = 9 {
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
        ;
        /// The offset of the instruction in the method as its class file has it,
        /// plus 1; 0 when unknown.
        bytecode: u32,
    }
    /// Trace mode: which instance was taken at a place, if it was always the same one.
    /// The latest of a place holds.
    PlaceInstance = 19 {
        /// The place's id.
        place: u32,
        /// The identity hash of the object; 0 when there were several.
        hash: u32,
    }
    /// Trace mode: a lock of the contended records is this instance.
    LockInstance = 10 {
        /// The lock's id.
        lock: u32,
        /// The identity hash of the object, never 0.
        hash: u32,
    }
    /// What the program calls a lock, where it was contended first.
    LockName = 11 {
        /// The lock's id.
        lock: u32,
        /// Its name.
        name: u32,
    }
    /// A number about the recording. The latest of a key holds.
    Statistic = 12 {
        /// Its key, a string: `instrumented.classes`.
        key: u32,
        /// The number.
        value: u64,
    }
    /// From when to when a thread lived. The latest of a thread holds.
    ThreadSpan = 13 {
        /// The thread's id in the log.
        id: u32,
        /// When it started, monotonic ns; if that is not known, when it was
        /// first seen.
        started_ns: u64,
        /// When it ended, monotonic ns; 0 while it lives.
        ended_ns: u64,
    }
    /// A stack that stands for no frame but for what the program said that a
    /// thread was doing: the outermost parent of its stacks meanwhile.
    Group = 14 {
        /// The stack's id.
        stack: u32,
        /// What the program calls it.
        name: u32,
    }
    /// Nothing was recorded for a while. The latest that begins at a moment
    /// holds.
    Pause = 15 {
        /// When recording was switched off, monotonic ns.
        from_ns: u64,
        /// When it was switched on again, monotonic ns; 0 until then.
        to_ns: u64,
    }
    /// What is recorded from a moment on, when that has changed since the log
    /// began. Until the first of them it is what the log's metadata says.
    Mode = 16 {
        /// Since when, monotonic ns.
        from_ns: u64,
        /// What of locks, and whether threads are sampled: see [`mode`].
        recorded: u64,
    }
    /// The JVM's garbage collector had all threads stopped.
    Collection = 17 {
        /// Since when, monotonic ns.
        start_ns: u64,
        /// Until when, monotonic ns.
        end_ns: u64,
    }
    /// An option has another value from a moment on than before. Until the first of
    /// them it has that of the log's metadata.
    Option = 18 {
        /// Since when, monotonic ns.
        from_ns: u64,
        /// Its key in the metadata, a string.
        key: u32,
        /// Its value as the metadata have it, a string.
        value: u32,
    }
}

const TAG_STRING: u8 = 1;

/// What [`Definition::Mode`] says is recorded: bits that are added up.
pub mod mode {
    /// Waits for locks, and other waits.
    pub const WAITS: u64 = 1;
    /// Every acquisition, with [`WAITS`].
    pub const ACQUISITIONS: u64 = 2;
    /// Samples of all threads.
    pub const SAMPLES: u64 = 4;
    /// Every acquisition of the locks that the option [`AIMED`](super::option::AIMED) names,
    /// at the places that are known to take them.
    pub const AIMED: u64 = 8;
}

/// Keys of [`Definition::Option`] that no user gives.
pub mod option {
    /// The locks that are traced from then on, between semicolons; empty none.
    pub const AIMED: &str = "aimed";
}

/// The most fields that a definition has.
const MAX_FIELDS: usize = 7;

/// The longest text in a definition, in bytes; longer ones are cut.
pub const MAX_TEXT: usize = 4096;

/// The fields of a definition, as they stand in the log.
struct Payload {
    bytes: [u8; MAX_FIELDS * varint::MAX_LEN],
    len: usize,
}

impl Payload {
    fn put(&mut self, field: u64) {
        self.len += varint::write(&mut self.bytes[self.len..], field).unwrap_or(0);
    }
}

impl Definition<'_> {
    /// Appends the definition to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut payload = Payload { bytes: [0; MAX_FIELDS * varint::MAX_LEN], len: 0 };
        let tag = self.fields(&mut payload);
        let text: &[u8] = match self {
            Definition::String { text, .. } => &text[..text.len().min(MAX_TEXT)],
            _ => &[],
        };
        out.push(tag);
        varint::put(out, (payload.len + text.len()) as u64);
        out.extend_from_slice(&payload.bytes[..payload.len]);
        out.extend_from_slice(text);
    }
}

/// Reads the fields of a definition with this tag from its payload, or `None`
/// when they are not all there or do not fit.
pub fn decode_payload(tag: u8, payload: &[u8]) -> Option<Definition<'_>> {
    let definition = Definition::read(tag, payload)?;
    let fits = match definition {
        Definition::Site { kind, .. } => WaitKind::from_code(kind).is_some(),
        Definition::Place { kind, .. } => {
            WaitKind::from_code(kind).is_some_and(WaitKind::is_contention)
        }
        _ => true,
    };
    fits.then_some(definition)
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
            1 => Definition::String { id, text },
            2 => Definition::Class { id, name: a, source: b },
            3 => Definition::Method { id, class: a, name: b, descriptor: c, first_line: d },
            4 => Definition::Stack { id, parent: a, method: b, line: c },
            5 => Definition::Thread { id, java_id: long, flags: a.into(), name: b, group: c },
            6 => Definition::ThreadName { id, name: a, at_ns: long },
            7 => Definition::Lock { id, class: a },
            8 => Definition::Site { id, kind: (a % 9) as u8 + 1, stack: b, lock: c, place: d },
            9 => Definition::Place {
                id,
                method: a,
                line: b,
                kind: (c % 5) as u8 + 1,
                flags: long,
                name: d,
                bytecode: c,
            },
            19 => Definition::PlaceInstance { place: id, hash: a },
            10 => Definition::LockInstance { lock: id, hash: a },
            11 => Definition::LockName { lock: id, name: a },
            12 => Definition::Statistic { key: id, value: long },
            13 => Definition::ThreadSpan { id, started_ns: long, ended_ns: long ^ u64::from(a) },
            14 => Definition::Group { stack: id, name: a },
            15 => Definition::Pause { from_ns: long, to_ns: long ^ u64::from(a) },
            16 => Definition::Mode { from_ns: long, recorded: a.into() },
            17 => Definition::Collection { start_ns: long, end_ns: long ^ u64::from(a) },
            18 => Definition::Option { from_ns: long, key: a, value: b },
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
        assert_eq!(decode_payload(7, &[5, 6, 99]), Some(Definition::Lock { id: 5, class: 6 }));
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
        assert_eq!(decode_payload(8, &[1, 2, 3, 4, 0x80]), None, "cut within the field");
    }

    #[test]
    fn rejects_short_payloads_and_unknown_kinds() {
        assert_eq!(decode_payload(7, &[5]), None);
        assert_eq!(decode_payload(8, &[1, 10, 1, 1]), None);
        assert_eq!(decode_payload(9, &[1, 2, 3, 6, 0, 0]), None, "no contention");
        assert!(decode_payload(9, &[1, 2, 3, 5, 0, 0]).is_some());
        assert_eq!(decode_payload(12, &[1]), None);
        assert_eq!(decode_payload(13, &[1, 2]), None);
    }
}
