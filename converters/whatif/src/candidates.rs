//! Where something could be gained at all.

use crate::{numbers::Numbers, totals::RecordingTotals};

/// More than this part of the time that somebody waited, the owner waited for work itself.
const MOSTLY: f64 = 0.5;

/// Whether the locks of a group are worth a prediction.
///
/// # Errors
/// The reason why they are not, as a clause.
pub(crate) fn check(
    totals: &RecordingTotals,
    numbers: &Numbers,
    group: u32,
) -> Result<(), &'static str> {
    let Some(group) = totals.groups.get(&group) else { return Err("no thread waited for it") };
    let waited = group.waited.iter().filter(|(_, waited)| waited.count != 0);
    let is_programs =
        |thread: u32| numbers.threads.get(thread as usize).is_some_and(|thread| !thread.is_jvms);
    let waiters: Vec<u32> = waited.map(|(&thread, _)| thread).collect();
    let own = waiters.iter().filter(|&&thread| is_programs(thread)).count();
    let is_all_virtual = |&thread: &u32| {
        numbers.threads.get(thread as usize).is_some_and(|thread| thread.is_all_virtual)
    };
    if own == 0 {
        return Err(if waiters.is_empty() { "no thread waited for it" } else { JVMS });
    }
    if own == 1 && !waiters.iter().any(is_all_virtual) && !totals.lacks.threads {
        return Err("only one thread waited for it");
    }
    let (looked_ns, idle_ns) = group.waited.values().fold((0.0, 0.0), |sum, waited| {
        (sum.0 + waited.looked_ns as f64, sum.1 + waited.idle_ns as f64)
    });
    if idle_ns > looked_ns * MOSTLY {
        return Err("its owner waits for work meanwhile");
    }
    Ok(())
}

const JVMS: &str = "only threads of the JVM waited for it";
