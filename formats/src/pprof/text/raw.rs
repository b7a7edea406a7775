//! `go tool pprof -raw`: all samples with the numbers of their locations, then these.

use super::{TextProfile, file_and_line, lines};
use std::collections::HashMap;

/// What the lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RawPart {
    Head,
    Types,
    Samples,
    Locations,
    Mappings,
}

/// A sample whose locations are not known yet.
struct RawSample<'t> {
    values: Vec<u64>,
    locations: Vec<u64>,
    labels: Vec<(&'t str, &'t str)>,
}

pub(super) fn read(text: &str, read: &mut TextProfile) {
    let mut part = RawPart::Head;
    let mut samples: Vec<RawSample<'_>> = Vec::new();
    let mut locations: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut location = 0;
    for (at, line) in lines(text) {
        part = match (line, part) {
            ("Samples:", RawPart::Head) => RawPart::Types,
            ("Locations", RawPart::Samples) => RawPart::Locations,
            ("Mappings", RawPart::Locations) => RawPart::Mappings,
            (_, RawPart::Head) => {
                read.head(line);
                part
            }
            (_, RawPart::Types) => {
                types(line, read);
                RawPart::Samples
            }
            (_, RawPart::Samples) => {
                if let Some(sample) = sample(line) {
                    samples.push(sample);
                } else if let Some(sample) = samples.last_mut().filter(|_| line.contains(":[")) {
                    sample.labels.extend(labels(line));
                } else if !line.is_empty() {
                    let what = "no sample with numbers and locations; it was left out";
                    read.leave_out(at, what, line);
                }
                part
            }
            (_, RawPart::Locations) => {
                let (id, rest) = numbered(line).unwrap_or((location, line));
                location = id;
                let frames = locations.entry(id).or_default();
                frames.extend(frame(rest, read));
                part
            }
            (_, RawPart::Mappings) => part,
        };
    }
    for sample in samples {
        let of = |id| locations.get(id).map_or(&[][..], |frames| frames);
        let stack: Vec<u64> = sample.locations.iter().flat_map(of).copied().collect();
        read.profile.sample(&stack, &sample.values, &sample.labels);
    }
}

/// `contentions/count delay/nanoseconds[dflt]`.
fn types(line: &str, read: &mut TextProfile) {
    for word in line.split_ascii_whitespace() {
        let word = word.strip_suffix("[dflt]").unwrap_or(word);
        let (name, unit) = word.rsplit_once('/').unwrap_or((word, ""));
        read.profile.value_type(name, unit);
    }
}

/// `         79  683045520: 1 2 3`.
fn sample(line: &str) -> Option<RawSample<'_>> {
    let (values, locations) = line.split_once(':')?;
    let numbers = |text: &str| -> Option<Vec<u64>> {
        text.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
    };
    let (values, locations) = (numbers(values)?, numbers(locations)?);
    (!values.is_empty()).then(|| RawSample { values, locations, labels: Vec::new() })
}

/// `kind:[monitor] thread:[main]`. A text may have brackets of its own.
fn labels(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut left = line.trim();
    std::iter::from_fn(move || {
        let (key, rest) = left.split_once(":[")?;
        let is_key = |text: &str| text.split_once(":[").is_some_and(|it| !it.0.contains(' '));
        let mut ends = rest.match_indices("] ");
        let end = ends.find(|(at, _)| rest.get(at + 2..).is_some_and(is_key));
        let (value, behind) = match end {
            Some((at, _)) => (rest.get(..at)?, rest.get(at + 2..)?),
            None => (rest.strip_suffix(']').unwrap_or(rest), ""),
        };
        left = behind;
        Some((key, value))
    })
}

/// `     1: 0x48925f M=1 sync.(*Mutex).Unlock ...`: the number, and what stands behind it.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (id, rest) = line.trim_start().split_once(": ")?;
    Some((id.parse().ok()?, rest))
}

/// `0x1 M=1 sync.(*Mutex).Unlock /go/src/sync/mutex.go:65:0 s=64(system name)`.
fn frame(text: &str, read: &mut TextProfile) -> Option<u64> {
    let mut left = text.trim();
    let mut address = 0;
    while let Some((word, rest)) = left.split_once(' ').or((!left.is_empty()).then_some((left, "")))
    {
        match word.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
            Some(Ok(number)) => address = number,
            _ if word.starts_with("M=") || word == "[F]" => {}
            _ => break,
        }
        left = rest;
    }
    let Some((named, behind)) = left.rsplit_once(" s=") else {
        return (address != 0).then(|| read.profile.location(0, address));
    };
    let (first, system) = behind.split_once('(').unwrap_or((behind, ""));
    let (name, place) = named.rsplit_once(' ').unwrap_or((named, ""));
    let (file, line) = file_and_line(place).unwrap_or_default();
    let system = system.strip_suffix(')').unwrap_or(name);
    let function = read.profile.function(name, system, file, first.trim().parse().unwrap_or(0));
    Some(read.profile.location(function, line))
}
