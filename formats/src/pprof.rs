//! Profiles of pprof: Go's profiles of mutexes and of blocking,
//! jfrconv's, Tyrion's own, and others (`profile.proto` of github.com/google/pprof).
//!
//! Which of their values are waits, their names tell ([`values`]), or
//! [`Hints::sample_type`](crate::Hints).

pub(crate) mod build;
pub(crate) mod message;
mod sample;
mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod values;

use crate::{
    bytes::Bytes,
    error::Error,
    input::Input,
    limits::MAX_PROFILE,
    recording::{Lacks, Recording},
    summed::{self, SummedLog},
};
use message::{FieldValue, MessageFields};
use sample::SampleReader;
use tables::Tables;
use values::WaitValues;

/// Profiles of pprof.
pub const INPUT: Input = Input {
    name: "pprof",
    what: "a profile of pprof",
    tells: summed::TELLS,
    start_len: START_LEN,
    is_it: is_profile,
    check: |_, _| Ok(()),
    read,
};

/// As many bytes have a type of sample in them.
const START_LEN: usize = 4096;

/// Whether all fields of this beginning may be those of a profile, and one is the type
/// of a sample, or of the period.
fn is_profile(start: &[u8]) -> bool {
    let mut has_type = false;
    for field in MessageFields::new(start) {
        let fits = match (field.number, field.value) {
            (1 | 11, FieldValue::Bytes(bytes)) => {
                let is_type = is_value_type(bytes);
                has_type |= is_type;
                is_type
            }
            (2..=5, FieldValue::Bytes(bytes)) => MessageFields::is_whole(bytes),
            (6 | 13, FieldValue::Bytes(_)) => true,
            (7..=10 | 12..=15, FieldValue::Number(_)) => true,
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    has_type
}

/// Whether this is a name and a unit.
fn is_value_type(bytes: &[u8]) -> bool {
    let mut fields = MessageFields::new(bytes);
    let are_numbers = fields
        .by_ref()
        .all(|field| matches!((field.number, field.value), (1 | 2, FieldValue::Number(_))));
    are_numbers && fields.torn_at.is_none() && !bytes.is_empty()
}

fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let file = bytes.settled(0, bytes.len()).unwrap_or_default();
    let wanted = bytes.hints().sample_type.as_deref();
    read_profile(INPUT, name, file, wanted, &[])
}

/// A place that could not be read: what is wrong, and how many bytes it has.
pub(crate) type BadPlace = (u64, &'static str, u64);

/// Reads a profile of another form, of which some places were left out, that was put together
/// anew.
pub(crate) fn read_profile(
    input: Input,
    name: &str,
    file: &[u8],
    wanted: Option<&str>,
    left_out: &[BadPlace],
) -> Result<Recording, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    if file.len() > MAX_PROFILE {
        let what = "it is longer than profiles are read; have fewer samples in it".to_owned();
        return Err(Error::Malformed { log: name.to_owned(), offset: MAX_PROFILE as u64, what });
    }
    let tables = Tables::read(file);
    let malformed =
        |what: String| Error::Malformed { log: name.to_owned(), offset: file.len() as u64, what };
    if tables.has_no_texts() {
        return Err(malformed("it ends before the names of its samples".to_owned()));
    }
    let types = tables.types();
    let chosen = WaitValues::of(&types, wanted).map_err(|what| match wanted {
        // The file is not to blame for what is asked of it.
        Some(_) => Error::Unclear { log: name.to_owned(), what },
        None => malformed(what),
    })?;
    let summed = SummedLog::new(input, name, tables.start_ns, tables.duration_ns).map_err(io)?;
    let mut reader = SampleReader::new(summed, &tables, chosen, file.len());
    reader.summed.importer.header.metadata.push(("values".to_owned(), told(&types, &chosen)));
    for &(at, what, len) in left_out {
        reader.summed.importer.add_damage(at, what, len);
    }
    if let Some(at) = tables.torn_at {
        let what = "no field begins here; what comes after it was left out";
        reader.summed.importer.add_damage(at as u64, what, (file.len() - at) as u64);
    }
    for field in MessageFields::new(file).filter(|field| field.number == tables::SAMPLE) {
        let FieldValue::Bytes(sample) = field.value else { continue };
        if !reader.sample(sample).map_err(io)? {
            let what = "a sample that is damaged, or has a value that is no sum of waits; it was \
                        left out";
            reader.summed.importer.add_damage(field.at as u64, what, sample.len() as u64);
        }
    }
    if reader.frames_left == 0 {
        let what = "more frames than are read; the stacks of later samples are cut";
        reader.summed.importer.add_damage(file.len() as u64, what, 0);
    }
    let lacks = Lacks {
        durations: chosen.time.is_none(),
        counts: chosen.count.is_none(),
        ..Lacks::default()
    };
    reader.summed.finish(name, lacks)
}

/// Which values were read: `contentions/count, delay/nanoseconds`.
fn told(
    types: &[(std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)],
    chosen: &WaitValues,
) -> String {
    let places = [chosen.count, chosen.time.map(|(at, _)| at)];
    let read: Vec<_> =
        places.into_iter().flatten().filter_map(|at| types.get(at).cloned()).collect();
    values::listed(&read)
}
