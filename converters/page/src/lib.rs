//! What a recording says, as one page for browsers: the page of `tyrion report --html`, for
//! who has a recording in memory and no files.
#![forbid(unsafe_code)]

mod flames;

pub use flames::flames;

use std::io;
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::SampleTotals,
    filter::{Filter, Kinds},
};
use tyrion_report::{Report, ReportOptions, find, render::html, sections::dumps::are_dumps};

/// The page of a file's bytes, as `tyrion report --html` makes it of a file of this name.
///
/// # Errors
/// The words that the command would say: of a file that is none of those that are read, or
/// that is damaged from its beginning. Other damage stands in the page.
pub fn page(name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let log = Recording::from_bytes(name, bytes).map_err(|error| error.to_string())?;
    of_recording(&[log]).map_err(|error| format!("{name}: {error}"))
}

fn of_recording(logs: &[Recording]) -> io::Result<Vec<u8>> {
    let filter = Filter { kinds: Kinds::contention(), ..Filter::default() };
    let options = ReportOptions::default();
    let mut findings = find(logs, &filter, &options, &|_| ());
    // The sections tell of these.
    findings.aggregate.notes.pending = 0;
    findings.aggregate.notes.hidden_idle = SampleTotals::default();
    let report = Report::new(env!("CARGO_PKG_VERSION"), &findings, &options, &[]);
    let drawn = flames(findings.profile(), are_dumps(&findings))?;
    let mut page = Vec::new();
    html::write(&report, &drawn, &mut page)?;
    Ok(page)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_by_its_name() {
        let error = page("notes.txt", b"no recording".to_vec()).unwrap_err();
        assert!(error.starts_with("notes.txt: offset 0x0: not a recording"), "{error}");
        assert!(page("empty.log", Vec::new()).unwrap_err().starts_with("empty.log"));
        let log = include_bytes!("../../../testdata/logs/v1-small.log").to_vec();
        let made = String::from_utf8(page("small.log", log).unwrap()).unwrap();
        assert!(made.starts_with("<!doctype html>") && made.contains("<li>small.log</li>"));
    }
}
