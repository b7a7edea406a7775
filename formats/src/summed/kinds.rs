//! What waits were for, by the class of the lock or by the functions on the stack.

use super::names::FunctionName;
use tyrion_wire::{WaitKind, lock_flavor::LockFlavor, slow_path::SlowPath};

/// So many of a stack's innermost frames tell.
const INNERMOST: usize = 48;
/// The same of Go's: who waits is hardly inlined.
const INNERMOST_OF_GO: usize = 4;
/// Parts of the names of the JVM's functions in which threads wait for monitors.
const MONITOR: [&str; 5] = [
    "ObjectMonitor::enter",
    "ObjectMonitor::EnterI",
    "ObjectSynchronizer::enter",
    "complete_monitor_locking",
    "monitorenter",
];

/// The kind of waits for a lock of a class; the frames are functions, the innermost one
/// first.
pub(crate) fn of_class<'f>(class: &str, frames: impl Iterator<Item = &'f str>) -> WaitKind {
    let mut frames = frames.peekable();
    let class = FunctionName::class(class);
    let is_synchronizer = class.ends_with("Sync") || class.ends_with("PoolExecutor$Worker");
    let flavor = LockFlavor::of(format!("L{class};").as_bytes(), is_synchronizer);
    if flavor.is_held() {
        let near: Vec<&str> = frames.take(8).collect();
        let has = |part: &str| near.iter().any(|frame| frame.contains(part));
        // Who was signalled takes the lock again.
        return flavor.kind(has("Shared"), has("Synchronizer$ConditionObject.await"));
    }
    let is_parked = frames.peek().is_some_and(|frame| frame.ends_with(".park"));
    match is_parked {
        false => WaitKind::Monitor,
        // Latches, conditions, queues.
        true if class.starts_with("java/util/concurrent/") => {
            of_java(frames).unwrap_or(WaitKind::Park)
        }
        true => WaitKind::Lock,
    }
}

/// The kind of waits in a stack of Java's, as off-CPU profiles have them, by its
/// functions, the innermost one first; `None` if they do not tell.
pub(crate) fn of_java<'f>(frames: impl Iterator<Item = &'f str>) -> Option<WaitKind> {
    let mut path: Option<SlowPath> = None;
    let mut is_parked = false;
    for (nth, frame) in frames.take(INNERMOST).enumerate() {
        if let Some(kind) = of_native(frame).filter(|_| nth == 0) {
            return Some(kind);
        }
        if MONITOR.iter().any(|part| frame.contains(part)) {
            return Some(WaitKind::Monitor);
        }
        let FunctionName { class, method, .. } = FunctionName::of(frame);
        if frame.contains("ObjectMonitor::wait")
            || class == "java/lang/Object" && method.starts_with("wait")
        {
            return Some(WaitKind::ObjectWait);
        }
        if class.ends_with("Synchronizer$ConditionObject") && method.starts_with("await") {
            let is_again = path.is_some();
            return Some(if is_again { WaitKind::LockReacquire } else { WaitKind::Condition });
        }
        let is_unsafe = class.ends_with("misc/Unsafe") && method == "park";
        if is_unsafe || class.ends_with("locks/LockSupport") {
            is_parked = true;
            continue;
        }
        if let Some(own) = SlowPath::of(format!("L{class};").as_bytes(), method.as_bytes()) {
            path = Some(path.unwrap_or_default().or(own));
        } else if let Some(path) = path {
            // Who uses the synchronizer; of one of the program's own, no more is known.
            return Some(of_user(&class, path).unwrap_or(WaitKind::Lock));
        } else if is_parked {
            return Some(WaitKind::Park);
        }
    }
    path.map(|_| WaitKind::Lock).or(is_parked.then_some(WaitKind::Park))
}

/// The kind of waits for locks of native code, by the function with which async-profiler
/// replaces that of the library.
fn of_native(function: &str) -> Option<WaitKind> {
    match function.strip_prefix("pthread_")?.strip_suffix("_hook")? {
        "mutex_lock" => Some(WaitKind::Lock),
        "rwlock_rdlock" => Some(WaitKind::LockRead),
        "rwlock_wrlock" => Some(WaitKind::LockWrite),
        _ => None,
    }
}

/// The kind of waits in a class of java.util.concurrent; `None` of another one.
fn of_user(class: &str, path: SlowPath) -> Option<WaitKind> {
    let own = class.strip_prefix("java/util/concurrent/")?;
    let outer = own.split('$').next().unwrap_or(own);
    let flavor = match outer {
        "FutureTask" => LockFlavor::Plain,
        "locks/StampedLock" => LockFlavor::Stamped,
        _ => LockFlavor::of_synchronizer(format!("java/util/concurrent/{outer}$").as_bytes())
            .unwrap_or(LockFlavor::Lock),
    };
    Some(flavor.kind(path.shared || own == "locks/ReentrantReadWriteLock$ReadLock", false))
}

/// The kind of waits in a stack of Go's, the innermost function first, `None` if none of
/// these waits. Functions that release a lock stand for those who waited until then.
pub(crate) fn of_go<'f>(functions: impl Iterator<Item = &'f str>) -> Option<WaitKind> {
    let mut functions = functions.take(INNERMOST_OF_GO).peekable();
    while let Some(function) = functions.next() {
        let Some(kind) = of_go_function(function) else { continue };
        // A read-write lock has a mutex, which writers take from each other.
        let is_mutex = kind == WaitKind::Lock;
        let is_of_writers = |outer: &&str| outer.starts_with("sync.(*RWMutex).");
        while functions.next_if(|outer| is_mutex && of_go_function(outer) == Some(kind)).is_some() {
        }
        let is_write = is_mutex && functions.peek().is_some_and(is_of_writers);
        return Some(if is_write { WaitKind::LockWrite } else { kind });
    }
    None
}

fn of_go_function(function: &str) -> Option<WaitKind> {
    let function = function.strip_prefix("internal/").unwrap_or(function);
    match function {
        // Who unlocks after writing lets readers in, and the last reader a writer.
        "sync.(*RWMutex).RLock" | "sync.(*RWMutex).Unlock" => Some(WaitKind::LockRead),
        "sync.(*RWMutex).Lock" | "sync.(*RWMutex).RUnlock" | "sync.(*RWMutex).rUnlockSlow" => {
            Some(WaitKind::LockWrite)
        }
        "sync.(*Cond).Wait" => Some(WaitKind::Condition),
        "sync.(*WaitGroup).Wait" | "time.Sleep" => Some(WaitKind::Park),
        _ if function.starts_with("sync.(*Mutex).") => Some(WaitKind::Lock),
        _ => {
            let is_park = ["runtime.chan", "runtime.select", "runtime.block", "runtime.gopark"];
            is_park.iter().any(|begin| function.starts_with(begin)).then_some(WaitKind::Park)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "java/util/concurrent/locks";

    #[test]
    fn kinds_follow_from_the_class() {
        let park = ["jdk/internal/misc/Unsafe.park", "x.y"];
        let shared = ["a.park", "b.parkAndCheckInterrupt", "c.acquireShared"];
        let kind = |class: &str, frames: &[&str]| of_class(class, frames.iter().copied());
        assert_eq!(kind("java.util.HashMap", &["a.b"]), WaitKind::Monitor);
        assert_eq!(kind("java.util.concurrent.ConcurrentHashMap$Node", &[]), WaitKind::Monitor);
        assert_eq!(kind("com.acme.Mutex", &park), WaitKind::Lock);
        let read_write = "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync";
        assert_eq!(kind(read_write, &shared), WaitKind::LockRead);
        assert_eq!(kind(read_write, &park), WaitKind::LockWrite);
        let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
        assert_eq!(kind(lock, &park), WaitKind::Lock);
        let again = [
            "jdk/internal/misc/Unsafe.park",
            "java/util/concurrent/locks/AbstractQueuedSynchronizer.acquire",
            "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject.await",
        ];
        assert_eq!(kind(lock, &again), WaitKind::LockReacquire);
        let latch = [
            "jdk/internal/misc/Unsafe.park",
            "java/util/concurrent/locks/LockSupport.park",
            "java/util/concurrent/locks/AbstractQueuedSynchronizer.acquire",
            "java/util/concurrent/CountDownLatch.await",
        ];
        assert_eq!(kind("java.util.concurrent.CountDownLatch$Sync", &latch), WaitKind::Park);
        let condition = [
            "jdk/internal/misc/Unsafe.park",
            "java/util/concurrent/locks/LockSupport.park",
            "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject.await",
        ];
        let object = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";
        assert_eq!(kind(object, &condition), WaitKind::Condition);
        let semaphore = "java.util.concurrent.Semaphore$NonfairSync";
        assert_eq!(kind(semaphore, &shared), WaitKind::Semaphore);
    }

    #[test]
    fn kinds_follow_from_the_stack() {
        let kind = |frames: &str| {
            let text = frames.replace('~', LOCKS);
            of_java(text.split(' '))
        };
        let aqs = "schedule ~/LockSupport.park ~/AbstractQueuedSynchronizer.acquire";
        for (frames, expected) in [
            ("schedule ObjectMonitor::EnterI a.B.c", Some(WaitKind::Monitor)),
            (
                "schedule ObjectMonitor::wait java/lang/Object.wait a.B.c",
                Some(WaitKind::ObjectWait),
            ),
            ("java/lang/Object.wait0 a.B.c", Some(WaitKind::ObjectWait)),
            (&*format!("{aqs} ~/ReentrantLock$Sync.lock a.B.c"), Some(WaitKind::Lock)),
            (
                &*format!("{aqs}Shared ~/ReentrantReadWriteLock$ReadLock.lock"),
                Some(WaitKind::LockRead),
            ),
            (&*format!("{aqs} ~/ReentrantReadWriteLock$WriteLock.lock"), Some(WaitKind::LockWrite)),
            (
                &*format!("{aqs}Shared java/util/concurrent/Semaphore.acquire"),
                Some(WaitKind::Semaphore),
            ),
            (
                &*format!("{aqs}Shared java/util/concurrent/CountDownLatch.await"),
                Some(WaitKind::Park),
            ),
            (&*format!("{aqs} com.acme.Mutex.lock"), Some(WaitKind::Lock)),
            (
                &*format!("{aqs} ~/AbstractQueuedSynchronizer$ConditionObject.await"),
                Some(WaitKind::LockReacquire),
            ),
            (
                "~/LockSupport.park ~/AbstractQueuedSynchronizer$ConditionObject.await",
                Some(WaitKind::Condition),
            ),
            ("jdk/internal/misc/Unsafe.park ~/LockSupport.park a.B.c", Some(WaitKind::Park)),
            ("~/LockSupport.park", Some(WaitKind::Park)),
            (
                "pthread_mutex_lock_hook Unsafe_Park jdk/internal/misc/Unsafe.park",
                Some(WaitKind::Lock),
            ),
            ("pthread_rwlock_rdlock_hook a", Some(WaitKind::LockRead)),
            ("pthread_cond_wait_hook a", None),
            ("schedule do_nanosleep a.B.c", None),
            ("", None),
        ] {
            assert_eq!(kind(frames), expected, "{frames}");
        }
    }

    #[test]
    fn kinds_follow_from_functions_of_go() {
        for (functions, kind) in [
            ("sync.(*Mutex).Lock", Some(WaitKind::Lock)),
            ("internal/sync.(*Mutex).lockSlow", Some(WaitKind::Lock)),
            ("sync.(*RWMutex).RLock main.f", Some(WaitKind::LockRead)),
            ("sync.(*RWMutex).Lock main.f", Some(WaitKind::LockWrite)),
            ("sync.(*Mutex).Lock sync.(*RWMutex).Lock main.f", Some(WaitKind::LockWrite)),
            (
                "internal/sync.(*Mutex).lockSlow internal/sync.(*Mutex).Lock sync.(*Mutex).Lock \
                 sync.(*RWMutex).Lock",
                Some(WaitKind::LockWrite),
            ),
            ("sync.(*Mutex).Lock main.(*RWMutex).Lock", Some(WaitKind::Lock)),
            // As the profile of mutexes has them.
            ("sync.(*RWMutex).RUnlock main.f", Some(WaitKind::LockWrite)),
            ("sync.(*RWMutex).rUnlockSlow sync.(*RWMutex).RUnlock", Some(WaitKind::LockWrite)),
            ("sync.(*RWMutex).Unlock main.f", Some(WaitKind::LockRead)),
            ("sync.(*Mutex).Unlock sync.(*RWMutex).Unlock main.f", Some(WaitKind::LockWrite)),
            ("runtime.chanrecv1", Some(WaitKind::Park)),
            ("sync.(*Cond).Wait", Some(WaitKind::Condition)),
            ("main.main", None),
        ] {
            assert_eq!(of_go(functions.split(' ')), kind, "{functions}");
        }
    }
}
