//! Proves at start that this JVM tells who owns its monitors as is known of others.

use crate::{
    jvm::{
        Java, Ti, Vm,
        java::Global,
        monitors::{JavaThread, Monitors, OwnedBy},
        setup::Fields,
        walk::Exports,
    },
    spawn::thread,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

/// How long the second thread may take to wait.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where this JVM has the owners of its monitors: what is known of its structures is tried
/// with a monitor of the agent's own, which the current thread holds while another waits.
///
/// # Errors
/// Why they cannot be told, in words.
pub fn find(
    (ti, java): (Ti, Java),
    vm: Vm,
    exports: Option<&Exports>,
    fields: &Fields,
) -> Result<Monitors, &'static str> {
    let exports = exports.ok_or("the JVM does not publish its structures")?;
    let thread = ti.current_thread(java);
    let found = Monitors::find(java, exports, thread.get(), fields.thread_address);
    let java_id = java.long_field(thread.get(), fields.thread_id);
    java.drop_local(thread);
    let monitors = found.ok_or("the JVM does not publish where it has the owners")?;
    let own = monitors.current(java);
    let monitors = monitors.with_mounted(own.address, fields.thread_id, java_id);
    match prove(java, vm, &monitors, own, java_id) {
        Some(true) => Ok(monitors),
        Some(false) => Err("the JVM has the owners elsewhere"),
        None => Err("it could not be tried"),
    }
}

/// Whether the owner of a monitor is found that the current thread holds; `None` where it
/// cannot be tried.
fn prove(java: Java, vm: Vm, monitors: &Monitors, own: JavaThread, java_id: i64) -> Option<bool> {
    let object = java.new_object_to_lock()?;
    let lock = java.global(object.get());
    let shared = java.global(object.get());
    java.drop_local(object);
    let (lock, shared) = (lock?, shared?);
    let waiter = Arc::new(AtomicUsize::new(0));
    let entered = java.enter_monitor(lock.get());
    let tried = entered.then(|| {
        let its = Arc::clone(&waiter);
        let wait = *monitors;
        thread("tyrion-try", move || wait_for(vm, wait, &its, shared)).ok()?;
        let found = owner_once_waited(monitors, &waiter)?;
        Some(is_ours(found, own, java_id))
    });
    if entered {
        java.exit_monitor(lock.get());
    }
    java.drop_global(lock);
    tried.flatten()
}

/// What the second thread does: it says where it is, and waits for the monitor.
fn wait_for(vm: Vm, monitors: Monitors, waiter: &AtomicUsize, shared: Global) {
    vm.with_thread(|env| {
        // SAFETY: the environment is this thread's, as long as it is attached.
        let java = unsafe { Java::new(env) };
        waiter.store(monitors.current(java).address, SeqCst);
        if java.enter_monitor(shared.get()) {
            java.exit_monitor(shared.get());
        }
        java.drop_global(shared);
    });
}

/// Who owns the monitor that the other thread waits for, once it does.
fn owner_once_waited(monitors: &Monitors, waiter: &AtomicUsize) -> Option<OwnedBy> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let address = waiter.load(SeqCst);
        let pending = if address == 0 { None } else { monitors.waited_for(address) };
        match pending {
            Some((monitor, _)) if monitor != 0 => return monitors.owner_of(monitor),
            _ => std::thread::sleep(Duration::from_micros(100)),
        }
    }
    None
}

fn is_ours(owned: OwnedBy, own: JavaThread, java_id: i64) -> bool {
    match owned {
        OwnedBy::Thread(id) => id == java_id,
        OwnedBy::Address(address) => own.is_at(address),
        OwnedBy::Nobody | OwnedBy::Somebody => false,
    }
}
