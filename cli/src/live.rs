//! Recordings that are read while they are made.

pub mod feed;
pub mod find;
pub mod telling;

use tyrion_model::filter::Kinds;

/// Reads the kinds of waits to show of a log that grows.
///
/// # Errors
/// When they are none, or cannot be told before the end.
pub fn kinds(text: &str) -> Result<Kinds, String> {
    let kinds = Kinds::parse(text).map_err(|error| error.to_string())?;
    match kinds.asks_withheld() {
        true => Err("withheld waits are known only for whole logs: see tyrion report".to_owned()),
        false => Ok(kinds),
    }
}

/// The number of a file: a log that rotates has several, each with ids of its
/// own.
pub type FileNumber = u32;
