//! Tyrion's own format, the event log, as `docs/event-log.md` specifies it.

mod follow;
mod load;
mod scan;
pub mod write;

pub use follow::{AcquisitionChange, Begin, CellChange, Changes, Follower};

use crate::{
    bytes::Bytes,
    damage::DamageList,
    error::Error,
    fact::Fact,
    input::Input,
    recording::{Chunks, Defined, Definitions, Facts, Lacks, Owners, Recording, ShortWaits, state},
};
use std::sync::Arc;
use tyrion_wire::header::{Header, METADATA_AT};

/// The event log.
pub const INPUT: Input = Input {
    name: "event-log",
    what: "Tyrion's event log",
    tells: &Fact::ALL,
    start_len: METADATA_AT,
    is_it: load::is_log,
    check: load::check_start,
    read,
};

/// Reads the header and the definitions, and finds where the records are.
pub(crate) fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let name: Arc<str> = name.into();
    let mut damage = DamageList::new(name.clone());
    let header = load::header(&bytes, &name, &mut damage)?;
    let used = usize::try_from(header.used_len).unwrap_or(usize::MAX);
    let start = header.header_len as usize;
    let mut chunks = scan::chunks(&bytes, start, used, &mut damage);
    let pending = state::pending(&bytes, &chunks.slots);
    let counters = state::counters(&bytes, &chunks.counters);
    if bytes.is_map() {
        scan::refresh_definitions(&bytes, &mut chunks);
    }
    let definitions = load::definitions(&bytes, &chunks.definitions, &mut damage);
    let damage = damage.into_vec();
    let rest = unread_parts(name, bytes, facts(header));
    Ok(Recording { chunks, definitions, pending, counters, damage, ..rest })
}

/// A recording of which only the header is read yet: what else there is, a
/// [`Follower`] takes up bit by bit.
fn unread(name: &str, bytes: Bytes) -> Result<(Header, Recording), Error> {
    let name: Arc<str> = name.into();
    let mut damage = DamageList::new(name.clone());
    let header = load::header(&bytes, &name, &mut damage)?;
    let rest = unread_parts(name, bytes, facts(header.clone()));
    Ok((header, Recording { damage: damage.into_vec(), ..rest }))
}

fn unread_parts(name: Arc<str>, bytes: Bytes, facts: Facts) -> Recording {
    let (chunks, definitions) = (Chunks::default(), Definitions::default());
    let (pending, counters, damage, end_ns, whole, kept, groups, file_len) = Default::default();
    let dumps = Vec::new();
    Recording {
        name,
        bytes,
        facts,
        chunks,
        definitions,
        pending,
        counters,
        damage,
        end_ns,
        whole,
        kept,
        groups,
        dumps,
        file_len,
    }
}

/// What a header says of the recording.
fn facts(header: Header) -> Facts {
    Facts {
        format: INPUT.name,
        version: header.version,
        used_len: header.used_len,
        start_wall_ns: header.wall_ns,
        start_ns: header.mono_ns,
        end_ns: header.end_ns,
        state: header.state,
        pid: header.pid,
        threshold_ns: header.threshold_ns,
        short_waits: ShortWaits::Counted,
        owners: Owners::AtStart,
        lacks: Lacks::default(),
        depth: header.depth,
        dropped_contention: header.dropped_contention,
        dropped_other: header.dropped_other,
        continued: header.continued,
        metadata: header.metadata,
    }
}

impl Recording {
    /// Reads the definitions once more, in their order. What is damaged of them
    /// is told by [`Recording::damage`].
    pub fn for_each_definition<'a>(&'a self, mut take: impl FnMut(Defined<'a>)) {
        let mut known = DamageList::new(self.name.clone());
        let chunks = &self.chunks.definitions;
        load::for_each_definition(&self.bytes, chunks, &mut known, |found| {
            take(found);
            Some(())
        });
    }
}
