//! What readers have worked out of a recording, and keep with it.

use super::Recording;
use std::{
    any::Any,
    sync::{Arc, PoisonError, RwLock},
};

/// One value, of whatever type its reader has.
#[derive(Debug, Default)]
pub(crate) struct ReaderSlot(RwLock<Option<Arc<dyn Any + Send + Sync>>>);

impl Recording {
    /// What was kept last, if it is of this type.
    pub fn kept<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let kept = self.kept.0.read().unwrap_or_else(PoisonError::into_inner);
        kept.clone()?.downcast().ok()
    }

    /// Keeps a value with the recording, in place of the one before. Whoever works
    /// something out that all readers of the recording ask for does so once.
    pub fn keep<T: Any + Send + Sync>(&self, value: Arc<T>) {
        *self.kept.0.write().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::write::{LogOptions, LogWriter};
    use std::io::Cursor;

    #[test]
    fn the_last_value_is_kept() {
        let log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
        let log = Recording::from_bytes("x", log.finish().unwrap().into_inner()).unwrap();
        assert_eq!(log.kept::<u32>(), None);
        log.keep(Arc::new(7u32));
        log.keep(Arc::new(8u32));
        assert_eq!(log.kept::<u32>().as_deref(), Some(&8));
        assert_eq!(log.kept::<String>(), None);
    }
}
