//! `go tool pprof -traces`: stacks between lines, each with one value, which is rounded.

use super::{RULE, TextProfile, file_and_line, lines, number_with_unit};

/// How many columns stand in front of functions.
const VALUE_COLUMNS: usize = 10;

/// A stack.
#[derive(Default)]
struct Trace<'t> {
    value: Option<(u64, bool)>,
    stack: Vec<u64>,
    labels: Vec<(&'t str, &'t str)>,
}

pub(super) fn read(text: &str, read: &mut TextProfile) {
    let mut kind = "delay";
    let mut trace = Trace::default();
    let (mut is_begun, mut has_type) = (false, false);
    for (at, line) in lines(text) {
        if line.starts_with(RULE) {
            is_begun = true;
            add(std::mem::take(&mut trace), (kind, &mut has_type), read);
        } else if !is_begun {
            kind = line.strip_prefix("Type: ").unwrap_or(kind);
            read.head(line);
        } else if !take(line, &mut trace, read) {
            let what = "neither a value with a function nor a label; it was left out";
            read.leave_out(at, what, line);
        }
    }
    add(trace, (kind, &mut has_type), read);
    if !has_type {
        read.profile.value_type(kind, "count");
    }
}

/// Takes a line; `false` if it is none of a trace.
fn take<'t>(line: &'t str, trace: &mut Trace<'t>, read: &mut TextProfile) -> bool {
    let inner = line.trim_start();
    if trace.value.is_none() {
        // Labels stand in front of the value.
        if let Some((key, text)) = inner.split_once(":  ").filter(|it| !it.0.contains(' ')) {
            trace.labels.push((key, text));
            return true;
        }
        // Without a function the line was cut, maybe within the value.
        let (value, name) = inner.split_once(' ').unwrap_or((inner, ""));
        trace.value = number_with_unit(value).filter(|_| !name.trim().is_empty());
        trace.stack.extend(frame(name, read).filter(|_| trace.value.is_some()));
        return trace.value.is_some();
    }
    let is_frame = line.len() - inner.len() > VALUE_COLUMNS;
    trace.stack.extend(frame(inner, read).filter(|_| is_frame));
    is_frame || inner.is_empty()
}

/// `sync.(*Mutex).Unlock /go/src/sync/mutex.go:65 (inline)`.
fn frame(text: &str, read: &mut TextProfile) -> Option<u64> {
    let text = text.trim();
    let text = text.strip_suffix(" (inline)").unwrap_or(text);
    let place = text.rsplit_once(' ').and_then(|(name, place)| Some((name, file_and_line(place)?)));
    let (name, (file, line)) = place.unwrap_or((text, ("", 0)));
    let function = read.profile.function(name, name, file, 0);
    (!name.is_empty()).then(|| read.profile.location(function, line))
}

fn add(trace: Trace<'_>, (kind, has_type): (&str, &mut bool), read: &mut TextProfile) {
    let Some((value, is_time)) = trace.value else { return };
    if !std::mem::replace(has_type, true) {
        read.profile.value_type(kind, if is_time { "nanoseconds" } else { "count" });
    }
    read.profile.sample(&trace.stack, &[value], &trace.labels);
}
