//! Locks that do not panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. A panic elsewhere while it was held has already switched
/// recording off; the data are only counters and tables, so go on with them.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
