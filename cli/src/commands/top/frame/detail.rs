//! The stacks and threads of a lock, or of a thread.

use super::{FrameSource, LockKey, ThreadName, ViewOptions};
use crate::commands::top::model::{HoldKey, HoldSum};
use std::collections::BTreeMap;
use tyrion_model::describe::Names;
use tyrion_wire::WaitKind;

/// Which rows a detail is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetailSubject {
    /// A lock, by the kind of wait.
    Lock(LockKey, WaitKind),
    /// A thread.
    Thread(ThreadName),
}

/// Stacks and threads of a lock, or of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// Where threads waited, the hottest first.
    pub waiting: Vec<StackRow>,
    /// Who waits now, the longest first.
    pub pending: Vec<PendingRow>,
    /// Whom they waited for, by thread.
    pub holders: Vec<HolderRow>,
    /// Where those released the lock: known in trace mode.
    pub holding: Vec<StackRow>,
}

/// Waits with a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct StackRow {
    /// Kind and lock, where the subject is a thread; else nothing.
    pub lock: String,
    /// Innermost frame first.
    pub frames: Vec<String>,
    /// How many waits ended, or releases were charged.
    pub count: u64,
    /// How many threads waited so on the average.
    pub waiting: f64,
}

/// A wait that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingRow {
    pub thread: String,
    pub lock: String,
    pub kind: WaitKind,
    /// For how long.
    pub wait_ns: u64,
    /// Who had the lock when the wait began.
    pub owner: Option<String>,
}

/// A thread that others waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct HolderRow {
    pub thread: String,
    /// How many waits met it, or releases were charged.
    pub count: u64,
    /// How many threads it kept waiting on the average.
    pub waiting: f64,
}

impl DetailSubject {
    fn matches(&self, lock: &LockKey, id: u32, kind: WaitKind, thread: &ThreadName) -> bool {
        match self {
            // A row of one lock shows its id, whether or not they are told apart.
            DetailSubject::Lock(of, of_kind) => {
                let same = of.class == lock.class && of.name == lock.name;
                same && kind == *of_kind && (of.id == 0 || of.id == id)
            }
            DetailSubject::Thread(of) => of == thread,
        }
    }
}

/// Stacks and threads of a lock, or of a thread.
pub fn detail(seen: FrameSource<'_>, options: &ViewOptions, subject: &DetailSubject) -> Detail {
    let span_ns = seen.sums.span_ns() as f64;
    let of_thread = matches!(subject, DetailSubject::Thread(_));
    let named = |lock: LockKey, kind: WaitKind| {
        if of_thread { format!("{} {}", kind.name(), lock.shown()) } else { String::new() }
    };
    let mut waiting: BTreeMap<(String, Vec<String>), (u64, u64)> = BTreeMap::new();
    let mut add = |lock: String, stack: Vec<String>, count: u64, within_ns: u64| {
        let sum = waiting.entry((lock, stack)).or_default();
        *sum = (sum.0.saturating_add(count), sum.1.saturating_add(within_ns));
    };
    for (key, sum) in &seen.sums.waits {
        let Some(site) = seen.site(key.file, key.site) else { continue };
        let lock = seen.lock_of(key.file, &site, options);
        let thread = seen.thread(key.file, key.thread);
        let wanted = options.kinds.contains(site.kind);
        if wanted && subject.matches(&lock, site.lock, site.kind, &thread) {
            add(named(lock, site.kind), seen.stack(key.file, site.stack), sum.count, sum.within_ns);
        }
    }
    let mut pending = Vec::new();
    for wait in seen.pending {
        let Some((file, _)) = seen.last() else { break };
        let (lock, thread) = (seen.lock(file, wait.lock, options), seen.thread(file, wait.thread));
        let wanted = options.kinds.contains(wait.kind);
        if !wanted || !subject.matches(&lock, wait.lock, wait.kind, &thread) {
            continue;
        }
        add(
            named(lock.clone(), wait.kind),
            seen.stack(file, wait.stack),
            0,
            seen.sums.within_ns(wait.start_ns),
        );
        pending.push(PendingRow {
            thread: thread.name,
            lock: lock.shown(),
            kind: wait.kind,
            wait_ns: seen.sums.to_ns.saturating_sub(wait.start_ns),
            owner: (wait.owner != 0).then(|| seen.thread(file, wait.owner).name),
        });
    }
    pending.sort_by(|a, b| b.wait_ns.cmp(&a.wait_ns).then_with(|| a.thread.cmp(&b.thread)));
    let (holders, holding) = holders(seen, options, subject);
    Detail { waiting: stack_rows(waiting, span_ns), pending, holders, holding }
}

fn stack_rows(sums: BTreeMap<(String, Vec<String>), (u64, u64)>, span_ns: f64) -> Vec<StackRow> {
    let rows = sums.into_iter().map(|((lock, frames), (count, within_ns))| StackRow {
        lock,
        frames,
        count,
        waiting: within_ns as f64 / span_ns,
    });
    let mut rows: Vec<StackRow> = rows.collect();
    rows.sort_by(|a, b| b.waiting.total_cmp(&a.waiting).then(b.count.cmp(&a.count)));
    rows
}

/// Who held what others waited for, by thread and by stack.
fn holders(
    seen: FrameSource<'_>,
    options: &ViewOptions,
    subject: &DetailSubject,
) -> (Vec<HolderRow>, Vec<StackRow>) {
    let DetailSubject::Lock(..) = subject else { return Default::default() };
    let span_ns = seen.sums.span_ns() as f64;
    let nobody = ThreadName { name: String::new(), java_id: 0 };
    let mut of_lock: Vec<(&HoldKey, &HoldSum)> = Vec::new();
    for (key, sum) in &seen.sums.holders {
        let Some(site) = seen.site(key.file, key.site) else { continue };
        let lock = seen.lock_of(key.file, &site, options);
        if subject.matches(&lock, site.lock, site.kind, &nobody) {
            of_lock.push((key, sum));
        }
    }
    let charged = of_lock.iter().any(|(key, _)| key.charged);
    let mut threads: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut stacks: BTreeMap<(String, Vec<String>), (u64, u64)> = BTreeMap::new();
    for (key, sum) in of_lock.into_iter().filter(|(key, _)| key.charged == charged) {
        let thread = seen.thread(key.file, key.holder).name;
        let of_thread = threads.entry(thread).or_default();
        *of_thread =
            (of_thread.0.saturating_add(sum.count), of_thread.1.saturating_add(sum.wait_ns));
        if charged {
            let stack = holder_stack(seen, key);
            let of_stack = stacks.entry((String::new(), stack)).or_default();
            *of_stack =
                (of_stack.0.saturating_add(sum.count), of_stack.1.saturating_add(sum.wait_ns));
        }
    }
    let rows = threads.into_iter().map(|(thread, (count, wait_ns))| HolderRow {
        thread,
        count,
        waiting: wait_ns as f64 / span_ns,
    });
    let mut rows: Vec<HolderRow> = rows.collect();
    rows.sort_by(|a, b| b.waiting.total_cmp(&a.waiting).then_with(|| a.thread.cmp(&b.thread)));
    (rows, stack_rows(stacks, span_ns))
}

/// The stack of the release; where none was taken, the place of the
/// acquisition.
fn holder_stack(seen: FrameSource<'_>, key: &HoldKey) -> Vec<String> {
    let stack = seen.stack(key.file, key.stack);
    let Some(log) = seen.log(key.file).filter(|_| stack.is_empty()) else { return stack };
    let place = log.definitions().places().get(key.place);
    place.map(|place| Names(log).frame(place.method, place.line)).into_iter().collect()
}
