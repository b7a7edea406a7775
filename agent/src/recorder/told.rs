//! Options that change while the agent records: the log says since when.

use super::Recorder;
use crate::{clock, log::Log, sync::lock};
use std::{collections::HashMap, sync::Mutex};
use tyrion_wire::header::Header;

/// What the log says of options, by their keys in its metadata.
pub(super) struct Told(Mutex<HashMap<String, String>>);

impl Told {
    /// What the metadata say.
    pub(super) fn of(header: &Header) -> Told {
        Told(Mutex::new(header.metadata.iter().cloned().collect()))
    }

    fn tell(&self, log: &Log, options: &[(&str, String)]) {
        let mut told = lock(&self.0);
        let from_ns = clock::now_ns();
        for (key, value) in options {
            if told.get(*key).map_or("", String::as_str) == value {
                continue;
            }
            // First: whichever file is written to then has the definition.
            log.set_metadata(key, value);
            let generation = log.current();
            let _ = generation.dictionary.option(&generation.log, from_ns, key, value);
            told.insert((*key).to_owned(), value.clone());
        }
    }
}

impl Recorder {
    /// Records that these options are in force from now on: their keys in the log's
    /// metadata, and their values, which may be empty. Unchanged ones are skipped.
    pub fn tell_options(&self, options: &[(&str, String)]) {
        self.told.tell(&self.log, options);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{names, testing};
    use tyrion_wire::{
        chunk::{ChunkHeader, ChunkKind, HEADER_LEN},
        def::{self, Definition},
        varint,
    };

    /// A log, and what it says of options.
    fn log(folder: &std::path::Path) -> (Log, Told) {
        let (file, path) = names::create(&folder.join("test.log"), true).unwrap();
        let metadata = vec![("hold".to_owned(), "1/64".to_owned())];
        let header = Header { metadata, ..testing::header() };
        (Log::start(file, path, header.clone(), None).unwrap(), Told::of(&header))
    }

    fn options<const N: usize>(pairs: [(&'static str, &str); N]) -> [(&'static str, String); N] {
        pairs.map(|(key, value)| (key, value.to_owned()))
    }

    #[test]
    fn only_changes_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let (log, told) = log(folder.path());
        told.tell(&log, &options([("hold", "1/64"), ("include", "")]));
        let before_ns = clock::now_ns();
        told.tell(&log, &options([("hold", "all"), ("include", "")]));
        told.tell(&log, &options([("hold", "all"), ("include", "a.*")]));
        told.tell(&log, &options([("hold", "all"), ("include", "")]));
        log.close();
        let bytes = std::fs::read(log.path()).unwrap();
        let texts = ["", "hold", "all", "include", "a.*"];
        let changes: Vec<(u64, &str, &str)> = definitions(&bytes)
            .into_iter()
            .filter_map(|definition| match definition {
                Definition::Option { from_ns, key, value } => {
                    Some((from_ns, texts[key as usize], texts[value as usize]))
                }
                _ => None,
            })
            .collect();
        assert!(changes.iter().all(|(from_ns, ..)| *from_ns >= before_ns), "{changes:?}");
        let changes: Vec<_> = changes.into_iter().map(|(_, key, value)| (key, value)).collect();
        assert_eq!(changes, [("hold", "all"), ("include", "a.*"), ("include", "")]);
    }

    /// All that the log defines; there is one chunk of it.
    fn definitions(bytes: &[u8]) -> Vec<Definition<'_>> {
        let at = Header::decode(bytes).unwrap().header_len as usize;
        let chunk = ChunkHeader::decode(&bytes[at..]).unwrap();
        assert_eq!(ChunkKind::from_code(chunk.kind), Some(ChunkKind::Definitions));
        let mut rest = &bytes[at + HEADER_LEN..][..chunk.committed as usize];
        let mut found = Vec::new();
        while let [tag, after @ ..] = rest {
            let (len, len_len) = varint::read(after).unwrap();
            let (payload, after) = after[len_len..].split_at(len as usize);
            found.push(def::decode_payload(*tag, payload).unwrap());
            rest = after;
        }
        found
    }
}
