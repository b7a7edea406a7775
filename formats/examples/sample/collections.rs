//! A log that tells of garbage collections.

use super::Writer;
use std::{error::Error, io::Cursor};
use tyrion_formats::{
    wire::{
        WaitKind,
        def::id,
        slot::{Counters, Tally},
    },
    write::{LogOptions, LogWriter, Wait},
};

/// Two threads waited for a monitor, whose owner was stopped by a collection for most
/// of the first wait; another collection was during no wait, and there was no room for
/// a third one.
pub fn collections(mut options: LogOptions) -> Result<Vec<u8>, Box<dyn Error>> {
    let key = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    options.header.metadata.push(key("mode", "contention"));
    options.header.metadata.push(key("collections", "true"));
    let mut log: Writer = LogWriter::new(Cursor::new(Vec::new()), options)?;
    let class = log.class("com/acme/Bank", "Bank.java")?;
    let method = log.method(class, "transfer", "(I)V", 20)?;
    let stack = log.stack(id::EMPTY_STACK, method, 23)?;
    let tellers = [log.thread(31, "teller-1", "main", 0)?, log.thread(32, "teller-2", "main", 0)?];
    let monitor = log.lock(class)?;
    log.lock_name(monitor, "Bank.this")?;
    let site = log.site(WaitKind::Monitor, stack, monitor)?;
    log.collection(1_001_000_000, 1_003_000_000)?;
    log.collection(1_005_000_000, 1_005_400_000)?;
    log.statistic("collections.lost", 1)?;
    for (thread, end_ns, wait_ns) in
        [(tellers[0], 1_003_100_000, 2_500_000), (tellers[1], 1_004_000_000, 500_000)]
    {
        let lane = log.lane(thread);
        log.wait(lane, Wait { end_ns, wait_ns, site, ..Wait::default() })?;
    }
    let contention = Tally { ended: 1, recorded: 1, folded: 0, dropped: 0 };
    for lane in 1..=2 {
        log.counters(&Counters { lane, contention, other: Tally::default() })?;
    }
    Ok(log.finish()?.into_inner())
}
