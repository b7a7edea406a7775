//! Events of nothing but numbers, which most are, read in a quick way.
//!
//! Numbers are told apart by their last bytes, so all their places are found at once,
//! from a bit for each byte, without a jump that depends on how long one is. Keys stay
//! as they stand in the file: that is enough to recognise those seen before.

use super::{
    metadata::{JfrType, ValueShape},
    scan::squeeze,
};

/// Longer events are read field by field.
const LONGEST: usize = 64;
/// So many bytes must be there: a word is loaded wherever a field begins.
pub(super) const WINDOW: usize = LONGEST + 8;
/// The most fields of a type.
const MOST_FIELDS: usize = 14;
/// Places of numbers, with room for where the last one ends.
const PLACES: usize = 32;
/// A field that the type does not have: it is empty.
const NO_FIELD: u8 = MOST_FIELDS as u8 + 3;
/// The wanted fields that are taken as words: all up to who else had to do with it.
pub(super) const WORDS: usize = 7;
/// The others.
const VALUES: usize = 2;

/// Where the wanted fields of a type are among all its fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quick {
    fields: u8,
    words: [u8; WORDS],
    values: [u8; VALUES],
    has_values: bool,
    /// How many fields come before the tail: when and how long; 0 where they do not
    /// come first.
    head: u8,
}

/// When an event was, and the bytes of all that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// When, and how long, as they stand in the file.
    pub(super) times: [u64; 2],
    /// The rest of the event, and behind it its length and type.
    pub(super) tail: [u64; TAIL],
}

/// So many words are compared: a rest of no more bytes than two have.
pub(super) const TAIL: usize = 3;

/// The wanted fields of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuickFields {
    /// As they stand in the file.
    pub(super) words: [u64; WORDS],
    /// As numbers.
    pub(super) values: [u64; VALUES],
}

impl Quick {
    /// For the fields of these names, in the order of the slots; `None` where some field
    /// is no number, or there are too many.
    pub(super) fn new(of: &JfrType, wanted: &[&str]) -> Option<Quick> {
        let is_plain = |of: &JfrType| {
            of.fields.iter().all(|field| field.shape == ValueShape::Number && !field.is_array)
        };
        if !is_plain(of) || of.fields.len() > MOST_FIELDS || wanted.len() > WORDS + VALUES {
            return None;
        }
        let place = |slot: usize| {
            let name = wanted.get(slot)?;
            // As of fields read one by one, the last one of a name counts.
            of.fields.iter().rposition(|field| &*field.name == *name)
        };
        // Length and type come before the fields.
        let place = |slot: usize| place(slot).map_or(NO_FIELD, |at| at as u8 + 2);
        let values = std::array::from_fn(|nth| place(WORDS + nth));
        Some(Quick {
            fields: of.fields.len() as u8,
            words: std::array::from_fn(place),
            values,
            has_values: values != [NO_FIELD; VALUES],
            head: match (place(0), place(1)) {
                (2, 3) => 2,
                (2, NO_FIELD) => 1,
                _ => 0,
            },
        })
    }

    /// Reads only when an event was: most have a rest that was seen before. `None` where
    /// [`Quick::read`] has to look at all of it.
    #[inline(always)]
    pub(super) fn head(&self, window: &[u8; WINDOW], len: usize, kind: u64) -> Option<Head> {
        // Length and type have six bytes at most, times eight each.
        let mut left = ends(window, 32);
        let mut end = || {
            let end = left.trailing_zeros() + 1;
            left &= left.wrapping_sub(1);
            end as usize
        };
        end();
        let mut at = end();
        let mut times = [0; 2];
        for time in times.iter_mut().take(usize::from(self.head)) {
            let next = end();
            if next - at > 8 {
                return None;
            }
            *time = word_at(window, at as u8) & MASKS[next - at];
            at = next;
        }
        // Where there are no more ends, they are said to be behind all words.
        let is_found = at <= 32 && self.head != 0;
        let rest = len.checked_sub(at).filter(|&rest| is_found && rest <= 16)?;
        let (low, high) = (rest.min(8), rest.saturating_sub(8));
        let tail = [
            word_at(window, at as u8) & MASKS[low],
            word_at(window, at as u8 + 8) & MASKS[high],
            // Never zero, as where nothing is remembered.
            1 << 63 | kind << 8 | rest as u64,
        ];
        Some(Head { times, tail })
    }

    /// Reads an event of so many bytes at the front of the window; `None` where it has
    /// to be read field by field.
    #[inline(always)]
    pub(super) fn read(&self, window: &[u8; WINDOW], len: usize) -> Option<QuickFields> {
        if len == 0 || len > LONGEST {
            return None;
        }
        let all = ends(window, len);
        // Where each number begins, and the last one ends.
        let mut starts = [0u8; PLACES + 1];
        let (mut left, mut at) = (all, 0);
        for start in starts.iter_mut().skip(1).take(usize::from(self.fields) + 2) {
            let mut end = left.trailing_zeros() + 1;
            left &= left.wrapping_sub(1);
            if end - at > 8 {
                // All eight bits of the ninth byte count.
                end = at + 9;
                left = all & u64::MAX.checked_shl(end).unwrap_or(0);
            }
            *start = end as u8;
            at = end;
        }
        if at as usize > len {
            return None;
        }
        let mut is_long = false;
        let word = |place: u8, is_long: &mut bool| {
            let place = usize::from(place) % PLACES;
            let (start, end) = (starts[place], starts[place + 1]);
            let bytes = end.wrapping_sub(start);
            *is_long |= bytes > 8;
            word_at(window, start) & MASKS[usize::from(bytes & 15)]
        };
        let mut words = [0; WORDS];
        for (found, &place) in words.iter_mut().zip(&self.words) {
            *found = word(place, &mut is_long);
        }
        if is_long {
            return None;
        }
        let mut values = [0; VALUES];
        if self.has_values {
            values = self.values.map(|place| {
                let number = squeeze(word(place, &mut is_long));
                let place = usize::from(place) % PLACES;
                match starts[place + 1].wrapping_sub(starts[place]) > 8 {
                    true => number | word_at(window, starts[place] + 1) >> 56 << 56,
                    false => number,
                }
            });
        }
        Some(QuickFields { words, values })
    }
}

/// The bytes of a number of so many.
const MASKS: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut len = 0;
    while len < 8 {
        masks[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    masks
};

#[inline(always)]
fn word_at(window: &[u8; WINDOW], at: u8) -> u64 {
    let at = usize::from(at) % LONGEST;
    let bytes = window.get(at..at + 8).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A bit for each of the first bytes that ends a number.
#[inline(always)]
fn ends(window: &[u8; WINDOW], len: usize) -> u64 {
    let (words, _) = window.as_chunks::<8>();
    let of = |nth: usize| {
        let high = !u64::from_le_bytes(words[nth]) & 0x8080_8080_8080_8080;
        // Bit 7 of byte n to bit 56 + n.
        high.wrapping_mul(0x0002_0408_1020_4081) >> 56 << (8 * nth)
    };
    let mut ends = of(0) | of(1) | of(2) | of(3);
    if len > 32 {
        ends |= of(4) | of(5) | of(6) | of(7);
    }
    ends & (u64::MAX >> (LONGEST - len))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::{
        super::{
            metadata::{FieldPlan, FieldValues, SLOTS, TypeField, TypeTable},
            scan::{ByteScan, tests::put},
        },
        *,
    };
    use proptest::prelude::*;

    const WANTED: &[&str] = &["a", "b", "c", "d", "e", "f", "g", "h", "i"];

    fn plain(names: &[usize]) -> JfrType {
        // Behind the wanted ones come names that nobody asks for.
        let name = |at: &usize| WANTED.get(*at).copied().unwrap_or("other").into();
        let field = |at| TypeField { name: name(at), shape: ValueShape::Number, is_array: false };
        JfrType { id: 1, name: "it".into(), fields: names.iter().map(field).collect() }
    }

    /// What both ways find in an event of so many bytes.
    fn read(of: &JfrType, bytes: &[u8], len: usize) -> (Option<QuickFields>, Option<[u64; SLOTS]>) {
        let quick = Quick::new(of, WANTED).unwrap();
        let found = quick.read(bytes.first_chunk().unwrap(), len);
        let mut scan = ByteScan::within(bytes, 0, len);
        let mut values = FieldValues::default();
        let mut slow = || {
            scan.number()?;
            scan.number()?;
            FieldPlan::new(of, WANTED).read(&TypeTable::default(), &mut scan, &mut values)
        };
        let slow = slow().map(|()| values.numbers);
        (found, slow)
    }

    fn same(found: &QuickFields, numbers: &[u64; SLOTS]) -> bool {
        let words = found.words.iter().map(|&word| squeeze(word));
        let all: Vec<u64> = words.chain(found.values).collect();
        all == numbers[..WANTED.len()]
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_plan(
            names in prop::collection::vec(0usize..12, 0..MOST_FIELDS + 1),
            numbers in prop::collection::vec((any::<u64>(), 0u32..64), MOST_FIELDS + 2),
            tail: u8,
        ) {
            let of = plain(&names);
            let mut bytes = Vec::new();
            let mut is_short = true;
            for (nth, &(number, cut)) in numbers.iter().take(names.len() + 2).enumerate() {
                let number = number >> cut;
                let is_word = |nth: usize| {
                    let name = names[nth];
                    name < WORDS && names.iter().rposition(|it| *it == name) == Some(nth)
                };
                is_short &= number >> 56 == 0 || !nth.checked_sub(2).is_some_and(is_word);
                put(number, &mut bytes);
            }
            let len = bytes.len();
            bytes.resize(len + WINDOW, tail);
            let (found, slow) = read(&of, &bytes, len);
            prop_assert!(slow.is_some());
            // Only of what is too long nothing is found.
            prop_assert_eq!(found.is_some(), len <= LONGEST && is_short);
            prop_assert!(found.is_none_or(|found| same(&found, &slow.unwrap())));
            let (found, slow) = read(&of, &bytes, len - 1);
            prop_assert_eq!((found, slow), (None, None), "an event that is cut");
        }

        #[test]
        fn any_bytes_are_read_as_by_the_plan(
            names in prop::collection::vec(0usize..12, 0..MOST_FIELDS + 1),
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x80u8..], WINDOW),
            len in 0..WINDOW,
        ) {
            let (found, slow) = read(&plain(&names), &bytes, len);
            if let Some(found) = found {
                prop_assert!(same(&found, &slow.unwrap()));
            }
        }
    }

    #[test]
    fn other_types_are_read_field_by_field() {
        assert!(Quick::new(&plain(&[0; MOST_FIELDS + 1]), WANTED).is_none());
        let mut of = plain(&[0, 1]);
        of.fields[1].shape = ValueShape::Text;
        assert!(Quick::new(&of, WANTED).is_none());
    }
}
