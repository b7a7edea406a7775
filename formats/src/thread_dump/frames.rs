//! The frames of a file: most stand in it many times.

use super::{line, raw::RawFrame};
use std::collections::HashMap;

/// The frames of a file: each is read once.
#[derive(Debug, Default)]
pub(super) struct FrameTable {
    numbers: HashMap<String, u32>,
    frames: Vec<RawFrame>,
}

impl FrameTable {
    /// The number of the frame that is written so; `None` if it is none.
    pub(super) fn number(&mut self, text: &str) -> Option<u32> {
        if let Some(&known) = self.numbers.get(text) {
            return Some(known);
        }
        let frame = line::frame(text)?;
        let number = u32::try_from(self.frames.len()).ok()?;
        self.frames.push(frame);
        self.numbers.insert(text.to_owned(), number);
        Some(number)
    }

    pub(super) fn get(&self, number: u32) -> Option<&RawFrame> {
        self.frames.get(number as usize)
    }
}
