//! The sections, a file each, and their registry.

pub mod blockers;
pub mod charged;
pub mod contended;
pub mod critical_sections;
pub mod delays;
pub mod dumps;
pub(crate) mod estimate;
#[cfg(test)]
mod in_bursts;
pub mod lines;
pub mod lock_order;
pub mod near_misses;
pub mod operations;
pub mod overview;
#[cfg(test)]
mod same_name;
pub mod sampled;
#[cfg(test)]
mod scenario;
pub(crate) mod shared;
pub mod single_thread;
pub mod still_waiting;
pub mod timeline;
pub mod tree;
pub mod verdict;
pub mod wait_chains;
pub mod wakers;
pub mod whatif;
pub mod withheld;

use crate::Section;

/// Every section, in the order of the report.
pub const SECTIONS: &[Section] = &[
    verdict::SECTION,
    dumps::SECTION,
    overview::SECTION,
    contended::SECTION,
    blockers::SECTION,
    operations::SECTION,
    wait_chains::SECTION,
    wakers::SECTION,
    withheld::SECTION,
    whatif::SECTION,
    single_thread::SECTION,
    critical_sections::SECTION,
    near_misses::SECTION,
    lock_order::SECTION,
    still_waiting::SECTION,
    delays::SECTION,
    timeline::SECTION,
    lines::SECTION,
    tree::SECTION,
];
