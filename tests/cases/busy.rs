//! Loops that keep processors busy beside the programs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

/// The loops. They end when this is dropped.
pub struct Busy {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    /// Starts so many.
    pub fn start(count: usize) -> Busy {
        let ends = Arc::new(AtomicBool::new(false));
        let turn = |ends: Arc<AtomicBool>| {
            while !ends.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let start = |_| {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || turn(ends))
        };
        Busy { threads: (0..count).map(start).collect(), ends }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
