//! Which places only read the data that a lock guards.

use regex::Regex;
use std::collections::BTreeSet;
use tyrion_formats::{LockSite, Recording};
use tyrion_model::describe::Names;

/// The beginnings of names of methods that only read, followed by nothing or another
/// word.
const READS: [&str; 24] = [
    "get", "is", "has", "contains", "size", "length", "count", "find", "lookup", "peek", "read",
    "list", "query", "search", "view", "snapshot", "exists", "keys", "values", "entries",
    "iterator", "toString", "hashCode", "equals",
];

fn place(logs: &[Recording], id: u32) -> Option<(&Recording, &LockSite)> {
    logs.iter().find_map(|log| Some((log, log.definitions().places().get(id)?)))
}

/// Whether a place looks as if it only read: by the name of its method, or because the
/// pattern matches it, `com.acme.Cache.get(Cache.java:12)`.
pub(crate) fn is_reading(logs: &[Recording], id: u32, pattern: Option<&Regex>) -> bool {
    let Some((log, place)) = place(logs, id) else { return false };
    match pattern {
        Some(pattern) => pattern.is_match(&Names(log).place(place)),
        None => {
            let method = log.definitions().methods().get(place.method);
            method.is_some_and(|method| sounds_like_reading(&log.text(method.name)))
        }
    }
}

/// The same of a frame that took a lock.
pub(crate) fn is_reading_frame(frame: &str, pattern: Option<&Regex>) -> bool {
    match pattern {
        Some(pattern) => pattern.is_match(frame),
        None => {
            let method = frame.split('(').next().and_then(|name| name.rsplit('.').next());
            method.is_some_and(sounds_like_reading)
        }
    }
}

/// Whether a method's name says that it only reads.
fn sounds_like_reading(method: &str) -> bool {
    READS.iter().any(|word| {
        let rest = method.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|char: char| char.is_lowercase()))
    })
}

/// The places as text, in their order.
pub(crate) fn named(logs: &[Recording], places: BTreeSet<u32>) -> Vec<String> {
    let name = |id: &u32| place(logs, *id).map(|(log, place)| Names(log).place(place));
    let names: BTreeSet<String> = places.iter().filter_map(name).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_readers() {
        for method in ["get", "getPrice", "isEmpty", "size", "contains", "containsKey", "toString"]
        {
            assert!(sounds_like_reading(method), "{method}");
        }
        for method in ["put", "getter", "isolate", "issue", "run", "counter", "", "readjust", "set"]
        {
            assert!(!sounds_like_reading(method), "{method}");
        }
    }
}
