//! Locks that do not panic.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
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

/// A lock that its holder may keep while it calls the JVM. That may take for ever: a
/// debugger can suspend the thread just then. So nobody else waits for long.
#[derive(Default)]
pub struct Turn {
    taken: Mutex<bool>,
    is_free: Condvar,
    /// Somebody has waited in vain: until it is free, nobody waits any more.
    is_stuck: AtomicBool,
}

/// Whoever has this has the turn.
pub struct TurnGuard<'a>(&'a Turn);

impl Turn {
    /// Takes it, unless that takes longer than `patience`.
    pub fn take(&self, patience: Duration) -> Option<TurnGuard<'_>> {
        let patience = if self.is_stuck.load(Relaxed) { Duration::ZERO } else { patience };
        let taken = lock(&self.taken);
        let waited = self.is_free.wait_timeout_while(taken, patience, |taken| *taken);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *taken, true) {
            self.is_stuck.store(true, Relaxed);
            return None;
        }
        Some(TurnGuard(self))
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.taken) = false;
        self.0.is_stuck.store(false, Relaxed);
        self.0.is_free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOR_EVER: Duration = Duration::from_secs(3600);

    #[test]
    fn one_has_the_turn_at_a_time() {
        let (turn, count) = (Turn::default(), Mutex::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let _turn = turn.take(FOR_EVER).unwrap();
                        *count.try_lock().unwrap() += 1;
                    }
                });
            }
        });
        assert_eq!(*lock(&count), 4000);
    }

    #[test]
    fn nobody_waits_for_one_who_does_not_go_on() {
        let turn = Turn::default();
        let held = turn.take(Duration::ZERO).unwrap();
        assert!(turn.take(Duration::from_millis(1)).is_none());
        // It would not return.
        assert!(turn.take(FOR_EVER).is_none());
        drop(held);
        drop(turn.take(Duration::ZERO).unwrap());
        // Now they wait again.
        std::thread::scope(|scope| {
            let held = turn.take(Duration::ZERO).unwrap();
            let waits = scope.spawn(|| turn.take(FOR_EVER).is_some());
            drop(held);
            assert!(waits.join().unwrap());
        });
    }
}
