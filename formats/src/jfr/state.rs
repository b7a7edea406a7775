//! What a sampled thread was doing, by the state that the recording has and by its
//! stack.

use tyrion_wire::sample::ThreadState;

/// The state of a thread that async-profiler met on a processor.
pub(super) const ON_CPU: &str = "STATE_DEFAULT";

/// A sampled thread's state, and how many of its innermost frames are the JVM's own way
/// to stop it. `frames` are classes and methods, the innermost first; those of native
/// code have no class.
pub(super) fn state<'f>(
    name: &str,
    frames: impl Iterator<Item = (&'f str, &'f str)>,
) -> (ThreadState, usize) {
    let state = match name {
        // The Datadog profiler has shorter names.
        "STATE_RUNNABLE" | "RUNNABLE" | ON_CPU => ThreadState::Running,
        // async-profiler says so of every thread that is on no processor.
        "STATE_SLEEPING" => return stopped(frames),
        "STATE_BLOCKED_ON_MONITOR_ENTER" | "CONTENDED" => ThreadState::Blocked,
        "STATE_IN_OBJECT_WAIT" | "STATE_IN_OBJECT_WAIT_TIMED" | "WAITING" => ThreadState::Waiting,
        "STATE_PARKED" | "STATE_PARKED_TIMED" | "PARKED" => ThreadState::Parked,
        "SLEEPING" => ThreadState::Sleeping,
        "SYSCALL" => ThreadState::Native,
        _ => ThreadState::Other,
    };
    (state, 0)
}

/// The same of a thread that does not run, by its stack.
fn stopped<'f>(frames: impl Iterator<Item = (&'f str, &'f str)>) -> (ThreadState, usize) {
    let mut native = 0;
    let mut is_blocked = false;
    for (class, method) in frames {
        if class.is_empty() {
            native += 1;
            is_blocked |= ["ObjectMonitor::enter", "ObjectSynchronizer::enter"]
                .iter()
                .any(|entry| method.starts_with(entry));
            continue;
        }
        return match (class, method) {
            ("jdk/internal/misc/Unsafe" | "sun/misc/Unsafe", "park") => {
                (ThreadState::Parked, native)
            }
            ("java/util/concurrent/locks/LockSupport", _) => (ThreadState::Parked, native),
            ("java/lang/Object", "wait" | "wait0") => (ThreadState::Waiting, native),
            ("java/lang/Thread", _) if method.starts_with("sleep") => {
                (ThreadState::Sleeping, native)
            }
            _ if is_blocked => (ThreadState::Blocked, native),
            // It waits for a file, a socket, a process, of which the JVM knows nothing.
            _ => (ThreadState::Native, 0),
        };
    }
    (if native == 0 { ThreadState::Sleeping } else { ThreadState::Native }, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_the_recording() {
        let of = |name| state(name, [("com/acme/Foo", "bar")].into_iter());
        assert_eq!(of("STATE_RUNNABLE"), (ThreadState::Running, 0));
        assert_eq!(of("STATE_DEFAULT"), (ThreadState::Running, 0));
        assert_eq!(of("STATE_PARKED_TIMED"), (ThreadState::Parked, 0));
        assert_eq!(of("STATE_NEW"), (ThreadState::Other, 0));
    }

    #[test]
    fn stacks_tell_why_a_thread_is_on_no_processor() {
        let native = [("", "__futex_abstimed_wait_common"), ("", "Unsafe_Park")];
        let of = |own: &[(&'static str, &'static str)]| {
            state("STATE_SLEEPING", native.iter().chain(own).copied())
        };
        let user = ("com/acme/Foo", "bar");
        let park = ("jdk/internal/misc/Unsafe", "park");
        assert_eq!(of(&[park, user]), (ThreadState::Parked, 2));
        assert_eq!(of(&[("java/lang/Object", "wait0"), user]), (ThreadState::Waiting, 2));
        assert_eq!(of(&[("java/lang/Thread", "sleep0")]), (ThreadState::Sleeping, 2));
        let enters = ("", "ObjectMonitor::enter(JavaThread*)");
        assert_eq!(of(&[enters, user]), (ThreadState::Blocked, 3));
        assert_eq!(of(&[("sun/nio/ch/EPoll", "wait"), user]), (ThreadState::Native, 0));
        assert_eq!(of(&[]), (ThreadState::Native, 0));
        assert_eq!(state("STATE_SLEEPING", std::iter::empty()), (ThreadState::Sleeping, 0));
    }
}
