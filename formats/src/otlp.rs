//! Profiles of OpenTelemetry (OTLP), as collectors get them and `tyrion push` and
//! `tyrion convert --to otlp` write them: `profiles.proto` of `v1development`, from its
//! version 1.9 on, which has the stacks in a table.
//!
//! Each profile there has one number for each sample, so that how often and how long stand in
//! two; what is of one process, stack and set of attributes is put together again.

mod tables;

use crate::{
    bytes::Bytes,
    error::Error,
    input::Input,
    limits::{MAX_DAMAGE, MAX_PROFILE, MAX_SAMPLE_TYPES},
    pprof::{
        BadPlace,
        build::ProfileBuilder,
        message::{FieldValue, MessageFields, numbers},
        read_profile,
    },
    recording::Recording,
    summed,
};
use std::collections::HashMap;
use tables::Dictionary;
use tyrion_wire::varint;

/// Profiles of OpenTelemetry.
pub const INPUT: Input = Input {
    name: "otlp",
    what: "profiles of OpenTelemetry",
    tells: summed::TELLS,
    start_len: START_LEN,
    is_it,
    check: |_, _| Ok(()),
    read,
};

/// As many bytes have the first attribute of the process, or the program that took it.
const START_LEN: usize = 4096;

/// A process, or a program that takes profiles, stands in front.
fn is_it(start: &[u8]) -> bool {
    let whole = Opening { bytes: start, room: u64::MAX };
    let name = whole.field(1).and_then(|process| {
        let key = |it: Opening<'_>| Some(it.field(1)?.field(1)?.field(1)?.is_name());
        // A process of which nothing is known may be left out, or be empty.
        let program = process.bytes.strip_prefix(&[1 << 3 | 2, 0]).unwrap_or(process.bytes);
        let program = Opening { bytes: program, ..process };
        let name = |it: Opening<'_>| Some(it.field(2)?.field(1)?.field(1)?.is_name());
        key(process).or_else(|| name(program))
    });
    name.unwrap_or(false)
}

/// The beginning of a message that has so many bytes.
#[derive(Clone, Copy)]
struct Opening<'a> {
    bytes: &'a [u8],
    room: u64,
}

impl<'a> Opening<'a> {
    /// The message, or the text, in the first field, if that has this number and there is room.
    fn field(self, number: u64) -> Option<Opening<'a>> {
        let (tag, tag_len) = varint::read(self.bytes)?;
        let rest = self.bytes.get(tag_len..).filter(|_| tag == number << 3 | 2)?;
        let (room, room_len) = varint::read(rest)?;
        let len = room.saturating_add((tag_len + room_len) as u64);
        let bytes = rest.get(room_len..).filter(|_| len <= self.room)?;
        Some(Opening { bytes, room })
    }

    fn is_name(self) -> bool {
        let len = usize::try_from(self.room).unwrap_or(usize::MAX);
        let name = self.bytes.get(..len).filter(|name| name.len() > 1);
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/ ".contains(byte);
        name.is_some_and(|name| name.iter().all(is_of_name))
    }
}

/// What is added up: of a process, a stack, and attributes.
type SampleKey = (usize, u64, Vec<u64>);

/// The profiles, as far as they are read.
struct OtlpReader<'a> {
    file: &'a [u8],
    dictionary: Dictionary<'a>,
    types: Vec<(u64, u64)>,
    sums: HashMap<SampleKey, Vec<u64>>,
    /// The order of the file.
    keys: Vec<SampleKey>,
    start_ns: u64,
    duration_ns: u64,
    left_out: Vec<BadPlace>,
}

fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let file = bytes.settled(0, bytes.len()).unwrap_or_default();
    let malformed = |at: usize, what: &str| Error::Malformed {
        log: name.to_owned(),
        offset: at as u64,
        what: what.to_owned(),
    };
    if file.len() > MAX_PROFILE {
        let what = "it is longer than profiles are read; have fewer samples in it";
        return Err(malformed(MAX_PROFILE, what));
    }
    let mut fields = MessageFields::new(file);
    let tables = fields.by_ref().filter(|field| field.number == 2);
    let tables: Vec<&[u8]> = tables.filter_map(|field| bytes_of(field.value)).collect();
    let torn_at = fields.torn_at;
    let dictionary = Dictionary::of(&tables);
    if dictionary.is_empty() {
        let what = "it ends before the names of its samples, or is older than version 1.9";
        return Err(malformed(file.len(), what));
    }
    let mut reader = OtlpReader::new(file, dictionary);
    let processes = MessageFields::new(file).filter(|field| field.number == 1);
    for (nth, process) in processes.filter_map(|field| bytes_of(field.value)).enumerate() {
        reader.process(nth, process);
    }
    if let Some(at) = torn_at {
        let what = "no field begins here; what comes after it was left out";
        reader.left_out.push((at as u64, what, (file.len() - at) as u64));
    }
    let (profile, left_out) = reader.finish();
    read_profile(INPUT, name, &profile, bytes.hints().sample_type.as_deref(), &left_out)
}

fn bytes_of(value: FieldValue<'_>) -> Option<&[u8]> {
    match value {
        FieldValue::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// The messages in a field of a message.
fn messages(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    let fields = MessageFields::new(message).filter(move |field| field.number == number);
    fields.filter_map(|field| bytes_of(field.value))
}

impl<'a> OtlpReader<'a> {
    fn new(file: &'a [u8], dictionary: Dictionary<'a>) -> OtlpReader<'a> {
        let (types, sums, keys, left_out) = Default::default();
        let (start_ns, duration_ns) = (0, 0);
        OtlpReader { file, dictionary, types, sums, keys, start_ns, duration_ns, left_out }
    }

    /// Reads the profiles of a process.
    fn process(&mut self, nth: usize, process: &'a [u8]) {
        for profile in messages(process, 2).flat_map(|program| messages(program, 2)) {
            let Some(at) = self.value_type(profile) else { continue };
            for field in MessageFields::new(profile) {
                match (field.number, field.value) {
                    (2, FieldValue::Bytes(sample)) => self.sample((nth, at), sample),
                    (3, FieldValue::Fixed(ns)) if ns != 0 => {
                        let is_first = self.start_ns == 0 || ns < self.start_ns;
                        self.start_ns = if is_first { ns } else { self.start_ns };
                    }
                    (4, FieldValue::Number(ns)) => self.duration_ns = self.duration_ns.max(ns),
                    _ => {}
                }
            }
        }
    }

    /// The place of a profile's values among those of samples.
    fn value_type(&mut self, profile: &[u8]) -> Option<usize> {
        let (mut name, mut unit) = (0, 0);
        for field in messages(profile, 1).flat_map(MessageFields::new) {
            match (field.number, field.value) {
                (1, FieldValue::Number(text)) => name = text,
                (2, FieldValue::Number(text)) => unit = text,
                _ => {}
            }
        }
        let known = self.types.iter().position(|it| *it == (name, unit));
        known.or_else(|| {
            self.types.push((name, unit));
            (self.types.len() <= MAX_SAMPLE_TYPES).then_some(self.types.len() - 1)
        })
    }

    fn sample(&mut self, (process, at): (usize, usize), sample: &'a [u8]) {
        let (mut stack, mut attributes, mut sum) = (0, Vec::new(), 0i64);
        let (mut has_values, mut moments) = (false, 0);
        let mut fields = MessageFields::new(sample);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (1, FieldValue::Number(number)) => stack = number,
                (2, value) => numbers(value, |number| attributes.push(number)),
                (4, value) => numbers(value, |number| {
                    has_values = true;
                    // One below 0 stays there.
                    let number = number as i64;
                    sum = if number < 0 || sum < 0 { -1 } else { sum.saturating_add(number) };
                }),
                (5, FieldValue::Bytes(bytes)) => moments += bytes.len() / 8,
                _ => {}
            }
        }
        // Without values each moment is one.
        let sum = if has_values { u64::try_from(sum).ok() } else { Some(moments as u64) };
        let Some(sum) = sum.filter(|_| fields.torn_at.is_none()) else {
            let at = sample.as_ptr() as usize - self.file.as_ptr() as usize;
            let what = "a sample that is damaged, or has a value below 0; it was left out";
            if self.left_out.len() < MAX_DAMAGE {
                self.left_out.push((at as u64, what, sample.len() as u64));
            }
            return;
        };
        let key = (process, stack, attributes);
        let values = self.sums.entry(key.clone()).or_insert_with(|| {
            self.keys.push(key);
            Vec::new()
        });
        values.resize(values.len().max(at + 1), 0);
        if let Some(value) = values.get_mut(at) {
            *value = value.saturating_add(sum).min(i64::MAX as u64);
        }
    }

    /// The same as a profile of pprof, and what was left out.
    fn finish(self) -> (Vec<u8>, Vec<BadPlace>) {
        let OtlpReader { dictionary, types, sums, keys, .. } = self;
        let mut profile = ProfileBuilder::new();
        for &(name, unit) in &types {
            profile.value_type(&dictionary.text(name), &dictionary.text(unit));
        }
        for key in keys {
            let Some(values) = sums.get(&key) else { continue };
            let (_, stack, attributes) = key;
            let stack = dictionary.stack(stack, &mut profile);
            let labels: Vec<(&str, String)> =
                attributes.iter().filter_map(|&at| dictionary.label(at)).collect();
            let labels: Vec<(&str, &str)> =
                labels.iter().map(|(key, text)| (*key, text.as_str())).collect();
            profile.sample(&stack, values, &labels);
        }
        (profile.finish(self.start_ns, self.duration_ns), self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_told_from_those_of_others() {
        let nested = |inner: &[u8], tag: u8| [&[tag, inner.len() as u8], inner].concat();
        let attribute = nested(&nested(b"service.name", 0x0a), 0x0a);
        let process = nested(&nested(&attribute, 0x0a), 0x0a);
        assert!(is_it(&process) && !is_it(&process[..8]));
        let program = nested(&nested(&nested(b"tyrion", 0x0a), 0x0a), 0x12);
        assert!(is_it(&nested(&[&[0x0a, 0][..], &program].concat(), 0x0a)));
        for other in [&b"\n\n\n\n\n\n"[..], b"", b"\n", b"\x0a\x04\x08\x01\x10\x02", b"a;b 1\n"] {
            assert!(!is_it(other), "{other:?}");
        }
    }
}
