//! The registry of inputs.

use crate::{
    bytes::Bytes, collapsed, error::Error, event_log, input::Input, jfr, original, otlp, pprof,
    recording::Recording, sniff::FileKind, thread_dump,
};

/// Every format that recordings are read from. The first that a file's beginning
/// fits reads it.
///
/// Collapsed stacks come last: their lines look like those of many texts.
pub const INPUTS: &[Input] = &[
    event_log::INPUT,
    jfr::INPUT,
    original::INPUT,
    pprof::INPUT,
    pprof::text::INPUT,
    otlp::INPUT,
    thread_dump::INPUT,
    collapsed::INPUT,
];

/// Reads a recording with one of these inputs; `name` stands in messages.
///
/// # Errors
/// When none of them reads it, or the one that should cannot.
pub fn read_with(inputs: &[Input], name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let read = find(inputs, name, &bytes.start(start_len(inputs)))?.read;
    let len = bytes.len() as u64;
    Ok(Recording { file_len: Some(len), ..read(name, bytes)? })
}

/// The input that reads what begins so.
pub(crate) fn find<'i>(inputs: &'i [Input], name: &str, start: &[u8]) -> Result<&'i Input, Error> {
    let log = || name.to_owned();
    if start.is_empty() {
        return Err(Error::Empty { log: log() });
    }
    // No input sees more than it wants: what is cut there it takes for cut.
    let seen = |input: &Input| start.get(..input.start_len).unwrap_or(start);
    let input = inputs.iter().find(|input| (input.is_it)(seen(input)));
    let input =
        input.ok_or_else(|| Error::NotALog { log: log(), seems: FileKind::sniff(start) })?;
    (input.check)(name, seen(input))?;
    Ok(input)
}

/// How many first bytes tell which input it is: a multiple of eight.
pub(crate) fn start_len(inputs: &[Input]) -> usize {
    inputs.iter().map(|input| input.start_len).max().unwrap_or(0).next_multiple_of(8)
}
