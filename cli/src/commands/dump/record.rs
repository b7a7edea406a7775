//! Records in JSON, whose long parts are rendered while they are written.

use super::fields::Record;
use crate::commands::{
    lock_names::{LockNames, NamedLock},
    rendered::StackList,
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;
use std::io::{self, BufWriter, Write};
use tyrion_wire::trace::HeldList;

/// What may be too long to have in memory.
pub enum Long<'r> {
    /// A stack.
    Stack(&'r StackList<'r>, u32),
    /// A stack of which but one frame is known.
    Frame(&'r str),
    /// Locks that were held.
    Locks(&'r LockNames<'r>, HeldList<'r>),
}

impl Serialize for Long<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Long::Stack(stacks, stack) => stacks.serialize(to, *stack),
            Long::Frame(frame) => to.collect_seq([frame]),
            Long::Locks(lock_names, locks) => {
                let fields =
                    |lock: NamedLock| serde_json::to_value(lock.fields()).unwrap_or_default();
                to.collect_seq(locks.iter().map(|held| fields(lock_names.lock(held))))
            }
        }
    }
}

/// An object in JSON. Its long parts stand in place of fields of the same names,
/// so that all are in the order of the others.
pub struct JsonRecord<'r, const N: usize> {
    fields: Value,
    long: [(&'static str, Long<'r>); N],
}

impl<'r> JsonRecord<'r, 0> {
    /// A record without long parts.
    pub fn short(record: &Record<'_>) -> JsonRecord<'r, 0> {
        JsonRecord::new(record, [])
    }
}

impl<'r, const N: usize> JsonRecord<'r, N> {
    /// A record whose fields of these names are long.
    pub fn new(record: &Record<'_>, long: [(&'static str, Long<'r>); N]) -> JsonRecord<'r, N> {
        // All of it are names and numbers, which cannot fail.
        JsonRecord { fields: serde_json::to_value(record).unwrap_or_default(), long }
    }

    /// Writes it on a line of its own.
    ///
    /// # Errors
    /// As writing to `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        // It comes in many small pieces.
        let mut out = BufWriter::new(out);
        serde_json::to_writer(&mut out, self)?;
        out.write_all(b"\n")?;
        // Unlike a flush this does not empty the buffer behind it.
        out.into_inner().map(drop).map_err(|error| error.into_error())
    }
}

impl<const N: usize> Serialize for JsonRecord<'_, N> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = to.serialize_map(None)?;
        for (key, value) in self.fields.as_object().into_iter().flatten() {
            match self.long.iter().find(|(name, _)| name == key) {
                Some((_, long)) => object.serialize_entry(key, long)?,
                None => object.serialize_entry(key, value)?,
            }
        }
        object.end()
    }
}
