//! Records and definitions whose payload is one varint after another.

use crate::varint;

/// Type of all records that are no waits.
pub(crate) const TYPE_MISC: u8 = 2;

/// The fields of one payload, read one after another. What is left may be text,
/// or fields of a later version.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldReader<'a>(pub(crate) &'a [u8]);

impl FieldReader<'_> {
    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (value, len) = varint::read(self.0)?;
        self.0 = &self.0[len..];
        Some(value)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.u64()?).ok()
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        u8::try_from(self.u64()?).ok()
    }

    #[inline]
    pub(crate) fn bool(&mut self) -> Option<bool> {
        Some(self.u64()? != 0)
    }

    /// A field that was added later: 0 where it is missing.
    #[inline]
    pub(crate) fn later_u64(&mut self) -> Option<u64> {
        if self.0.is_empty() { Some(0) } else { self.u64() }
    }

    /// The same of one that fits 32 bits.
    #[inline]
    pub(crate) fn later_u32(&mut self) -> Option<u32> {
        if self.0.is_empty() { Some(0) } else { self.u32() }
    }
}

/// Appends a record of an events chunk: its code, its length and its fields.
pub(crate) fn put(out: &mut Vec<u8>, code: u8, fields: impl Iterator<Item = u64> + Clone) {
    let len: usize = fields.clone().map(varint::len).sum();
    out.push(code << 2 | TYPE_MISC);
    varint::put(out, len as u64);
    for field in fields {
        varint::put(out, field);
    }
}

/// The encoder and the decoder of a record: its code, and its fields in the order in which
/// they stand in the log.
macro_rules! record {
    ($name:ident = $code:literal { $($field:ident: $type:ident),* }) => {
        impl $name {
            pub(crate) const CODE: u8 = $code;

            /// Appends the whole record, code and length included.
            pub fn encode(&self, out: &mut Vec<u8>) {
                let fields = [$(u64::from(self.$field)),*];
                $crate::fields::put(out, Self::CODE, fields.into_iter());
            }

            pub(crate) fn decode(payload: &[u8]) -> Option<$name> {
                Self::read(&mut $crate::fields::FieldReader(payload))
            }

            #[inline]
            fn read(f: &mut $crate::fields::FieldReader<'_>) -> Option<$name> {
                // Struct fields are evaluated in the order written: that of the log.
                Some($name { $($field: f.$type()?),* })
            }
        }
    };
}
pub(crate) use record;
