//! What a profile's samples refer to, found before any of them is read: texts stand at
//! the end.

use super::message::{FieldValue, MessageField, MessageFields, numbers};
use crate::limits::{MAX_COMMENTS, MAX_SAMPLE_TYPES, MAX_TEXT};
use std::{borrow::Cow, collections::HashMap};

/// Numbers of the fields of a profile.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING: u64 = 6;
    pub(super) const TIME: u64 = 9;
    pub(super) const DURATION: u64 = 10;
    pub(super) const COMMENT: u64 = 13;
}

/// The number of the field of a profile that holds a sample.
pub(super) const SAMPLE: u64 = 2;

/// What a profile's samples refer to. Texts are referred to by their number.
#[derive(Default)]
pub(super) struct Tables<'a> {
    texts: Vec<&'a [u8]>,
    functions: HashMap<u64, &'a [u8]>,
    locations: HashMap<u64, &'a [u8]>,
    /// Name and unit of each value of a sample.
    types: Vec<(u64, u64)>,
    comments: Vec<u64>,
    /// When it was recorded, Unix time in ns, and for how long, in ns; 0 if not known.
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
    /// Where a field begins that is not whole.
    pub(super) torn_at: Option<usize>,
}

/// A function.
#[derive(Clone, Copy, Default)]
pub(super) struct FunctionEntry {
    pub(super) name: u64,
    pub(super) system_name: u64,
    pub(super) file: u64,
    pub(super) start_line: u64,
}

impl<'a> Tables<'a> {
    pub(super) fn read(profile: &'a [u8]) -> Tables<'a> {
        let mut tables = Tables::default();
        let mut fields = MessageFields::new(profile);
        for field in fields.by_ref() {
            tables.take(field);
        }
        tables.torn_at = fields.torn_at;
        tables
    }

    fn take(&mut self, MessageField { number, value, .. }: MessageField<'a>) {
        match (number, value) {
            (field::SAMPLE_TYPE, FieldValue::Bytes(bytes))
                if self.types.len() < MAX_SAMPLE_TYPES =>
            {
                let [name, unit] = fields_of(bytes, [1, 2]);
                self.types.push((name, unit));
            }
            // The first of an id counts.
            (field::LOCATION, FieldValue::Bytes(bytes)) => {
                let [id] = fields_of(bytes, [1]);
                self.locations.entry(id).or_insert(bytes);
            }
            (field::FUNCTION, FieldValue::Bytes(bytes)) => {
                let [id] = fields_of(bytes, [1]);
                self.functions.entry(id).or_insert(bytes);
            }
            (field::STRING, FieldValue::Bytes(bytes)) => {
                self.texts.push(bytes.get(..MAX_TEXT).unwrap_or(bytes));
            }
            (field::TIME, FieldValue::Number(ns)) => self.start_ns = positive(ns),
            (field::DURATION, FieldValue::Number(ns)) => self.duration_ns = positive(ns),
            (field::COMMENT, value) => numbers(value, |text| {
                if self.comments.len() < MAX_COMMENTS {
                    self.comments.push(text);
                }
            }),
            _ => {}
        }
    }

    /// A text; empty if it is missing. What is no UTF-8 is replaced.
    pub(super) fn text(&self, number: u64) -> Cow<'a, str> {
        let text = usize::try_from(number).ok().and_then(|at| self.texts.get(at));
        text.map_or(Cow::Borrowed(""), |text| String::from_utf8_lossy(text))
    }

    /// Whether all texts are missing.
    pub(super) fn has_no_texts(&self) -> bool {
        self.texts.is_empty()
    }

    /// The name and the unit of each value of a sample.
    pub(super) fn types(&self) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
        self.types.iter().map(|&(name, unit)| (self.text(name), self.text(unit))).collect()
    }

    /// The texts for people.
    pub(super) fn comments(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.comments.iter().map(move |&text| self.text(text))
    }

    /// The functions and lines of a location, the innermost one first; none, and an
    /// address, of one that has no names.
    pub(super) fn location(&self, id: u64) -> (Vec<(u64, u64)>, u64) {
        let (mut lines, mut address) = (Vec::new(), 0);
        for field in MessageFields::new(self.locations.get(&id).copied().unwrap_or_default()) {
            match (field.number, field.value) {
                (3, FieldValue::Number(value)) => address = value,
                (4, FieldValue::Bytes(line)) => {
                    let [function, line] = fields_of(line, [1, 2]);
                    lines.push((function, positive(line)));
                }
                _ => {}
            }
        }
        (lines, address)
    }

    /// A function; `None` if it is missing.
    pub(super) fn function(&self, id: u64) -> Option<FunctionEntry> {
        let bytes = self.functions.get(&id)?;
        let [name, system_name, file, start_line] = fields_of(bytes, [2, 3, 4, 5]);
        Some(FunctionEntry { name, system_name, file, start_line: positive(start_line) })
    }
}

/// The numbers in some fields of a message, 0 for those that are missing.
pub(super) fn fields_of<const N: usize>(bytes: &[u8], wanted: [u64; N]) -> [u64; N] {
    let mut found = [0; N];
    for field in MessageFields::new(bytes) {
        let place = wanted.iter().position(|&number| number == field.number);
        if let (Some(place), FieldValue::Number(value)) =
            (place.and_then(|at| found.get_mut(at)), field.value)
        {
            *place = value;
        }
    }
    found
}

/// A number that is signed in the message; 0 for one below 0.
fn positive(value: u64) -> u64 {
    u64::try_from(value as i64).unwrap_or(0)
}
