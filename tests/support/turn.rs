//! Who may use the machine when: tests run on several threads, and some of what
//! they stage must not be disturbed by others.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many programs may run at a time for each CPU: most of them sleep most of
/// the time.
const PER_CPU: usize = 2;

/// The right to run a program, until it is dropped.
pub struct Turn {
    is_alone: bool,
    /// Held until then, too.
    first_cpu: Option<MutexGuard<'static, ()>>,
}

struct MachineTurn {
    running: usize,
    is_taken: bool,
    /// How many wait for a turn alone. Nobody overtakes them.
    waiting: usize,
}

static MACHINE: Mutex<MachineTurn> =
    Mutex::new(MachineTurn { running: 0, is_taken: false, waiting: 0 });
static CHANGED: Condvar = Condvar::new();

/// For a program that is compared with fixed bounds: no other runs meanwhile.
/// Whoever has a turn must not wait for another one.
pub fn alone() -> Turn {
    let mut machine = machine();
    machine.waiting += 1;
    while machine.is_taken || machine.running > 0 {
        machine = wait(machine);
    }
    machine.waiting -= 1;
    machine.is_taken = true;
    Turn { is_alone: true, first_cpu: None }
}

/// For a program that knows the truth however late its threads run.
pub fn beside_others() -> Turn {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut machine = machine();
    while machine.is_taken || machine.waiting > 0 || machine.running >= PER_CPU * cpus {
        machine = wait(machine);
    }
    machine.running += 1;
    Turn { is_alone: false, first_cpu: None }
}

/// For a program that runs on the first CPU only, where no other one like it
/// must yield to it.
pub fn on_first_cpu() -> Turn {
    static FIRST_CPU: Mutex<()> = Mutex::new(());
    let first_cpu = FIRST_CPU.lock().unwrap_or_else(PoisonError::into_inner);
    let mut turn = beside_others();
    turn.first_cpu = Some(first_cpu);
    turn
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut machine = machine();
        if self.is_alone {
            machine.is_taken = false;
        } else {
            machine.running -= 1;
        }
        CHANGED.notify_all();
    }
}

fn machine() -> MutexGuard<'static, MachineTurn> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(machine: MutexGuard<'static, MachineTurn>) -> MutexGuard<'static, MachineTurn> {
    CHANGED.wait(machine).unwrap_or_else(PoisonError::into_inner)
}
