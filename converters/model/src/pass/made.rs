//! Which passes were made.

use super::{Order, lock};
use std::{
    collections::VecDeque,
    sync::Mutex,
    time::{Duration, Instant},
};
use tyrion_formats::Recording;

/// A pass over a log that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The log's name.
    pub log: String,
    /// In which order its records were read.
    pub order: Order,
    /// How many bytes its chunks of events have.
    pub bytes: u64,
    /// How long the pass took.
    pub took: Duration,
}

/// Tells how long a pass takes; a page in a browser has no clock for it.
pub(super) struct Watch(Option<Instant>);

impl Watch {
    pub(super) fn new() -> Watch {
        Watch((!cfg!(target_family = "wasm")).then(Instant::now))
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.0.map_or(Duration::ZERO, |begin| begin.elapsed())
    }
}

/// Earlier passes are forgotten: some commands make them as long as a program runs.
const MOST: usize = 1_000;

static MADE: Mutex<VecDeque<Pass>> = Mutex::new(VecDeque::new());

/// The passes that were made since the program began, in their order: the last thousand.
pub fn made() -> Vec<Pass> {
    lock(&MADE).iter().cloned().collect()
}

pub(super) fn add(log: &Recording, order: Order, took: Duration) {
    let mut made = lock(&MADE);
    if made.len() == MOST {
        made.pop_front();
    }
    let bytes = log.event_chunks().iter().map(|chunk| u64::from(chunk.committed)).sum();
    made.push_back(Pass { log: log.name().to_owned(), order, bytes, took });
}
