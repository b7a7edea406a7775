//! A log that tells of spans.

use super::{Writer, cell};
use std::{error::Error, io::Cursor};
use tyrion_formats::{
    wire::{
        WaitKind,
        cell::Cell,
        slot::{Counters, Tally},
        span::{Operation, Span},
    },
    write::{LogOptions, LogWriter, Wait},
};

/// A server's thread looked up prices in two spans of one trace and one of another, and waited
/// each time for the cache that an import had; a short wait was folded.
pub fn spans(mut options: LogOptions) -> Result<Vec<u8>, Box<dyn Error>> {
    options.header.metadata.push(("mode".to_owned(), "contention".to_owned()));
    let mut log: Writer = LogWriter::new(Cursor::new(Vec::new()), options)?;
    let cache = log.class("com/acme/PriceCache", "PriceCache.java")?;
    let get = log.method(cache, "get", "()V", 20)?;
    let [price, import] = ["GET /price", "POST /import"].map(|name| log.group(name));
    let (price, import) = (price?, import?);
    let getting = log.stack(price, get, 22)?;
    let worker = log.thread(31, "http-1", "main", 0)?;
    let importer = log.thread(32, "http-2", "main", 0)?;
    let monitor = log.lock(cache)?;
    let site = log.site(WaitKind::Monitor, getting, monitor)?;
    let lane = log.lane(worker);
    let first = [0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c];
    let other = [0x4bf9_2f35_77b3_4da6, 0xa3ce_929d_0e0e_4736];
    let spans = [
        Span { trace: first, id: 0xb7ad_6b71_6920_3331 },
        // Of the same trace, whose id is not written again.
        Span { trace: [0; 2], id: 0x00f0_67aa_0ba9_02b7 },
        Span { trace: other, id: 0x53ce_929d_0e0e_4736 },
    ];
    for (nth, span) in spans.into_iter().enumerate() {
        let (end_ns, wait_ns) = (1_003_000_000 + 2_000_000 * nth as u64, 2_000_000);
        log.wait(lane, Wait { end_ns, wait_ns, site, owner: importer, ..Wait::default() })?;
        log.note(lane, 0, span)?;
        log.note(lane, 0, Operation { stack: import, site, wait_ns })?;
    }
    let folded = cell(worker, site, 1_008_000_000, &[6_000]);
    log.cell(lane, &Cell { owner: importer, group: import, ..folded })?;
    let contention = Tally { ended: 4, recorded: 3, folded: 1, dropped: 0 };
    log.counters(&Counters { lane: 1, contention, other: Tally::default() })?;
    Ok(log.finish()?.into_inner())
}
