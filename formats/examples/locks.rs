//! Prints the locks of a recording that threads waited for, most wait first:
//! `cargo run -p tyrion-formats --example locks -- report.log`.
//!
//! Waits below the log's threshold are not among its records one by one; they
//! are summed in cells.

use std::{collections::HashMap, error::Error, path::Path};
use tyrion_formats::{Recording, harmless};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: locks FILE")?;
    let recording = Recording::open(Path::new(&path))?;
    let sites = recording.definitions().sites();
    let mut locks: HashMap<u32, (u64, u64)> = HashMap::new();
    let mut add = |site: u32, count: u64, wait_ns: u64| {
        if let Some(site) = sites.get(site).filter(|site| site.kind.is_contention()) {
            let sums = locks.entry(site.lock).or_default();
            *sums = (sums.0 + count, sums.1.saturating_add(wait_ns));
        }
    };
    for chunk in recording.event_chunks() {
        let mut events = recording.events(chunk).map_err(|damage| damage.to_string())?;
        events.visit(|wait| add(wait.site, 1, wait.wait_ns()));
    }
    for cell in recording.cell_chunks().iter().flat_map(|chunk| recording.cells(chunk)) {
        add(cell.site, cell.count, cell.sum_ns);
    }
    let mut locks: Vec<_> = locks.into_iter().collect();
    locks.sort_by_key(|(lock, (_, wait_ns))| (std::cmp::Reverse(*wait_ns), *lock));
    for (lock, (count, wait_ns)) in locks {
        let class = recording.definitions().locks().get(lock);
        let class = class.and_then(|&class| recording.definitions().classes().get(class));
        let name = class.map_or("[unknown]".into(), |class| recording.text(class.name));
        println!("{}#{lock}: {count} waits, {wait_ns} ns", harmless::name(&name));
    }
    Ok(())
}
