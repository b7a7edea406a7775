//! The fields of protobuf messages, one after another, as far as they are whole.
//!
//! A decoder of whole messages would give up at the first damaged field.

use tyrion_wire::varint;

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageField<'a> {
    pub(crate) number: u64,
    pub(crate) value: FieldValue<'a>,
    /// Where it begins in the message.
    pub(crate) at: usize,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValue<'a> {
    Number(u64),
    /// A number of eight bytes.
    Fixed(u64),
    /// A text, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// Of a type that profiles do not have.
    Other,
}

/// The fields of a message.
#[derive(Clone, Debug)]
pub(crate) struct MessageFields<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where a field begins that is not whole.
    pub(crate) torn_at: Option<usize>,
}

impl<'a> MessageFields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> MessageFields<'a> {
        MessageFields { bytes, at: 0, torn_at: None }
    }

    /// Whether a message is whole.
    pub(crate) fn is_whole(bytes: &'a [u8]) -> bool {
        let mut fields = MessageFields::new(bytes);
        fields.by_ref().for_each(drop);
        fields.torn_at.is_none()
    }
}

impl<'a> Iterator for MessageFields<'a> {
    type Item = MessageField<'a>;

    fn next(&mut self) -> Option<MessageField<'a>> {
        let at = self.at;
        let rest = self.bytes.get(at..).filter(|rest| !rest.is_empty())?;
        match field(rest) {
            Some((number, value, len)) => {
                self.at = at.saturating_add(len);
                Some(MessageField { number, value, at })
            }
            None => {
                self.torn_at = Some(at);
                self.at = self.bytes.len();
                None
            }
        }
    }
}

/// The number, value and length of the field at the front of some bytes.
fn field(bytes: &[u8]) -> Option<(u64, FieldValue<'_>, usize)> {
    let (tag, tag_len) = varint::read(bytes)?;
    let (number, rest) = (tag >> 3, bytes.get(tag_len..)?);
    if number == 0 {
        return None;
    }
    match tag & 7 {
        0 => {
            let (value, len) = varint::read(rest)?;
            Some((number, FieldValue::Number(value), tag_len + len))
        }
        1 => {
            let bytes: [u8; 8] = rest.get(..8)?.try_into().ok()?;
            Some((number, FieldValue::Fixed(u64::from_le_bytes(bytes)), tag_len + 8))
        }
        2 => {
            let (len, len_len) = varint::read(rest)?;
            let end = len_len.checked_add(usize::try_from(len).ok()?)?;
            Some((number, FieldValue::Bytes(rest.get(len_len..end)?), tag_len + end))
        }
        5 => rest.get(..4).map(|_| (number, FieldValue::Other, tag_len + 4)),
        _ => None,
    }
}

/// Hands numbers to `take`: one, or packed ones as far as they are whole.
pub(crate) fn numbers(value: FieldValue<'_>, mut take: impl FnMut(u64)) {
    match value {
        FieldValue::Number(number) => take(number),
        FieldValue::Bytes(mut packed) => {
            while let Some((number, len)) = varint::read(packed) {
                take(number);
                packed = packed.get(len..).unwrap_or_default();
            }
        }
        FieldValue::Fixed(_) | FieldValue::Other => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_read_as_far_as_they_are_whole() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'a', b'b', 0x1d, 1, 2, 3, 4, 0x21];
        let mut fields = MessageFields::new(&bytes);
        let found: Vec<_> = fields.by_ref().map(|it| (it.number, it.value, it.at)).collect();
        assert_eq!(
            found,
            [
                (1, FieldValue::Number(150), 0),
                (2, FieldValue::Bytes(b"ab"), 3),
                (3, FieldValue::Other, 7)
            ]
        );
        assert_eq!(fields.torn_at, Some(12));
        assert!(MessageFields::is_whole(&bytes[..12]) && !MessageFields::is_whole(&bytes));
        let mut packed = Vec::new();
        numbers(FieldValue::Bytes(&[1, 0x96, 1, 0x80]), |number| packed.push(number));
        assert_eq!(packed, [1, 150]);
    }

    proptest! {
        #[test]
        fn any_bytes_have_fields(bytes: Vec<u8>) {
            let mut end = 0;
            for field in MessageFields::new(&bytes) {
                prop_assert!(field.at >= end && field.at < bytes.len());
                end = field.at + 1;
                numbers(field.value, |_| ());
            }
        }
    }
}
