//! Locks that do not panic.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

/// Locks a mutex. A panic elsewhere while it was held has already switched
/// recording off; the data are only counters and tables, so go on with them.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex unless that takes longer than `patience`.
pub fn try_lock_for<T>(mutex: &Mutex<T>, patience: Duration) -> Option<MutexGuard<'_, T>> {
    let deadline = Instant::now() + patience;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

/// What one thread does at a time, and for which none waits long. Whoever calls the JVM
/// may be stopped there by a debugger, alone and for minutes: a mutex that it held would
/// stop the program's other threads, too.
#[derive(Default)]
pub struct Turn {
    state: Mutex<TurnState>,
    is_over: Condvar,
}

#[derive(Default)]
struct TurnState {
    is_taken: bool,
    /// Somebody has waited in vain for the turn to end: nobody does so again.
    is_stuck: bool,
}

/// A turn, which ends when this is dropped.
pub struct TurnGuard<'a>(&'a Turn);

impl Turn {
    /// Waits for its turn, but no longer than `patience`, and not at all where another
    /// thread has waited in vain.
    pub fn take(&self, patience: Duration) -> Option<TurnGuard<'_>> {
        let state = lock(&self.state);
        let is_busy = |state: &mut TurnState| state.is_taken && !state.is_stuck;
        let (mut state, _) = self
            .is_over
            .wait_timeout_while(state, patience, is_busy)
            .unwrap_or_else(PoisonError::into_inner);
        if state.is_taken {
            state.is_stuck = true;
            drop(state);
            // The others need not wait either.
            self.is_over.notify_all();
            return None;
        }
        state.is_taken = true;
        Some(TurnGuard(self))
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.state) = TurnState::default();
        self.0.is_over.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn turns_exclude_each_other() {
        let (turn, counter) = (Turn::default(), Mutex::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let _turn = turn.take(LONG);
                        // Nobody else comes between.
                        let before = *lock(&counter);
                        std::thread::yield_now();
                        *lock(&counter) = before + 1;
                    }
                });
            }
        });
        assert_eq!(*lock(&counter), 4000);
    }

    #[test]
    fn nobody_waits_long_for_one_that_is_stuck() {
        let turn = Turn::default();
        let stuck = turn.take(LONG);
        assert!(turn.take(Duration::ZERO).is_none());
        // The first has waited in vain already.
        assert!(turn.take(LONG).is_none());
        drop(stuck);
        assert!(turn.take(LONG).is_some());
    }
}
