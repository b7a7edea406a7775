//! A log that tells who ended waits.

use super::Writer;
use std::{error::Error, io::Cursor};
use tyrion_formats::{
    wire::{
        WaitKind,
        def::id,
        slot::{Counters, Tally},
        wake::Wake,
    },
    write::{LogOptions, LogWriter, Wait},
};

/// A server's thread waited for an order, and then for the stock. The one who put the
/// order into the queue was asked for its stack, the one who gave the lock back was not.
pub fn wakers(mut options: LogOptions) -> Result<Vec<u8>, Box<dyn Error>> {
    let key = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    options.header.metadata.push(key("mode", "contention"));
    options.header.metadata.push(key("wakers", "true"));
    let mut log: Writer = LogWriter::new(Cursor::new(Vec::new()), options)?;
    let server = log.class("com/acme/Server", "Server.java")?;
    let [serve, reserve, order] = [("serve", 30), ("reserve", 60), ("order", 80)];
    let method = |log: &mut Writer, (name, line)| log.method(server, name, "()V", line);
    let (serve, reserve) = (method(&mut log, serve)?, method(&mut log, reserve)?);
    let order = method(&mut log, order)?;
    let serving = log.stack(id::EMPTY_STACK, serve, 33)?;
    let in_serve = log.stack(id::EMPTY_STACK, serve, 35)?;
    let reserving = log.stack(in_serve, reserve, 62)?;
    let ordering = log.stack(id::EMPTY_STACK, order, 81)?;
    let [worker, shop, other] = [(31, "worker"), (32, "shop"), (33, "other")]
        .map(|(java_id, name)| log.thread(java_id, name, "main", 0));
    let (worker, shop, other) = (worker?, shop?, other?);
    let condition = log.class("java/util/concurrent/locks/ReentrantLock$ConditionObject", "")?;
    let sync = log.class("java/util/concurrent/locks/ReentrantLock$NonfairSync", "")?;
    let (orders, stock) = (log.lock(condition)?, log.lock(sync)?);
    let waits_for_orders = log.site(WaitKind::Condition, serving, orders)?;
    let waits_for_stock = log.site(WaitKind::Lock, reserving, stock)?;
    let lane = log.lane(worker);
    let (end_ns, wait_ns) = (1_003_050_000, 3_000_000);
    log.wait(lane, Wait { end_ns, wait_ns, site: waits_for_orders, ..Wait::default() })?;
    let (site, late_ns) = (waits_for_orders, 50_000);
    log.note(lane, 0, Wake { waker: shop, stack: ordering, site, wait_ns, late_ns })?;
    let (end_ns, wait_ns, site) = (1_004_000_000, 400_000, waits_for_stock);
    log.wait(lane, Wait { end_ns, wait_ns, site, owner: other, parks: 1, ..Wait::default() })?;
    log.note(lane, 0, Wake { waker: other, stack: 0, site, wait_ns, late_ns: 20_000 })?;
    let one = Tally { ended: 1, recorded: 1, folded: 0, dropped: 0 };
    log.counters(&Counters { lane: 1, contention: one, other: one })?;
    Ok(log.finish()?.into_inner())
}
