//! What a stack says of a thread that does not run: whether it waits for work,
//! or for a lock.
//!
//! The JVM tells neither. A thread that waits for work is not what anybody looks
//! for, and there are many of them; a thread that waits for a lock of
//! `java.util.concurrent` is parked like one that waits for anything else.
//!
//! A stack is read from its innermost frame outwards, through methods of the
//! JDK, to the first one that says which. What the program itself waits for is
//! no idleness: a `CompletableFuture`, a `CountDownLatch`, a `Condition` of its
//! own, `Thread.sleep`.

use crate::jdk::is_jdk;

/// What the frames of a method say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The program's: nothing further out says anything.
    Program,
    /// The JDK's, and says nothing.
    Jdk,
    /// It parks the thread.
    Park,
    /// It waits for work.
    WaitsForWork,
    /// It waits for what it has handed out itself.
    WaitsForResults,
    /// It is the loop of one of the JDK's threads. What it waits for by itself, with no code of
    /// the program between, is work.
    RunsThread,
    /// It takes a lock, as the synchronizers do.
    Acquires,
    /// It uses a synchronizer that is no lock, or takes one again: a latch, a
    /// condition.
    NoLock,
    /// It lets the thread sleep.
    Sleep,
    /// It waits until the system has begun another thread.
    Starts,
    /// It is a probe of the agent's own.
    Probe,
}

/// What a stack says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// Nothing.
    Nothing = 1,
    /// It has no frames.
    NoFrames,
    /// The thread waits for work.
    WaitsForWork,
    /// The thread, if it is parked, waits for a lock.
    WaitsForLock,
    /// The thread waits until another one has begun.
    Starts,
}

impl Says {
    const ALL: [Says; 5] =
        [Says::Nothing, Says::NoFrames, Says::WaitsForWork, Says::WaitsForLock, Says::Starts];

    /// What has this code; nothing has 0.
    pub fn from_code(code: u8) -> Option<Says> {
        Says::ALL.into_iter().find(|says| *says as u8 == code)
    }
}

/// A stack is read so far.
const MAX_FRAMES: usize = 64;

/// What a stack says whose frames have these roles, innermost first.
pub fn read(roles: impl Iterator<Item = Role>) -> Says {
    let mut roles = roles.take(MAX_FRAMES).peekable();
    match roles.peek() {
        None => return Says::NoFrames,
        Some(Role::Starts) => return Says::Starts,
        _ => {}
    }
    let mut is_parked = false;
    while roles.next_if_eq(&Role::Park).is_some() {
        is_parked = true;
    }
    if is_parked && roles.next_if_eq(&Role::Acquires).is_some() {
        while roles.next_if_eq(&Role::Acquires).is_some() {}
        // What conditions and latches wait for is no lock contention among
        // waits, either.
        let is_lock = roles.peek() != Some(&Role::NoLock);
        return if is_lock { Says::WaitsForLock } else { Says::Nothing };
    }
    while let Some(role) = roles.next() {
        match role {
            Role::Program | Role::Sleep => return Says::Nothing,
            Role::WaitsForWork if roles.peek() == Some(&Role::WaitsForResults) => {
                return Says::Nothing;
            }
            Role::WaitsForResults => return Says::Nothing,
            Role::WaitsForWork | Role::RunsThread => return Says::WaitsForWork,
            _ => {}
        }
    }
    Says::Nothing
}

/// Whether a thread with such a stack, whose frames have these roles, innermost first, has just
/// got what it waited for, and only passes on what others wait for, too: it takes from a queue,
/// or gets a permit, where more is left. That tells nothing of who has provided it.
pub fn passes_on(roles: impl Iterator<Item = Role>) -> bool {
    let of_jdk = roles.take(MAX_FRAMES).take_while(|role| *role != Role::Program);
    of_jdk.into_iter().any(|role| matches!(role, Role::Acquires | Role::WaitsForWork))
}

/// Whether a thread waits for what comes in, by the classes and methods of its stack, innermost
/// first: for work as pools, queues and selectors do, or for a packet.
pub fn takes_input(frames: &[(&str, &str)]) -> bool {
    let roles = frames.iter().map(|(class, method)| role(class, method));
    read(roles) == Says::WaitsForWork || receives(frames)
}

/// Whether it waits for a packet of anybody.
fn receives(frames: &[(&str, &str)]) -> bool {
    let mut of_jdk = frames.iter().take(MAX_FRAMES).take_while(|(class, _)| is_jdk(class));
    of_jdk.any(|(class, method)| class.contains(".Datagram") && method.starts_with("receive"))
}

/// The role of a method, by the names of its class, with dots, and its own.
pub fn role(class: &str, method: &str) -> Role {
    let waits_for_work =
        |(of, methods): &&(&str, &[&str])| *of == class && methods.contains(&method);
    if WAITS_FOR_WORK.iter().any(|rule| waits_for_work(&rule)) || POLLS.contains(&method) {
        return Role::WaitsForWork;
    }
    if PROBES.contains(&class) {
        return Role::Probe;
    }
    if !is_jdk(class) {
        return Role::Program;
    }
    match class {
        "java.util.concurrent.ExecutorCompletionService" => Role::WaitsForResults,
        "java.util.concurrent.ForkJoinTask" if method.contains("await") => Role::WaitsForResults,
        "java.util.concurrent.CountDownLatch" => Role::NoLock,
        // Parties are let go as by a lock that is shared.
        "java.util.concurrent.Phaser" if method == "internalAwaitAdvance" => Role::Acquires,
        "java.lang.Thread" if method.starts_with("sleep") => Role::Sleep,
        "java.lang.Thread" if method == "start0" => Role::Starts,
        _ if PARKS.contains(&class) && method.contains("park") => Role::Park,
        _ if is_thread_loop(class, method) => Role::RunsThread,
        _ => match class.strip_prefix("java.util.concurrent.locks.") {
            Some("AbstractQueuedSynchronizer" | "AbstractQueuedLongSynchronizer") => match method {
                "parkAndCheckInterrupt" => Role::Park,
                _ if ACQUIRES.iter().any(|name| method.starts_with(name)) => Role::Acquires,
                _ => Role::Jdk,
            },
            Some("StampedLock") if method.starts_with("acquire") => Role::Acquires,
            Some(class) if class.ends_with("$ConditionObject") => Role::NoLock,
            _ => Role::Jdk,
        },
    }
}

/// Whether a method of the JDK is what one of its threads runs, and no task that somebody has given
/// to it. `Thread.run` is below all of them.
fn is_thread_loop(class: &str, method: &str) -> bool {
    let is_task = class.contains("Task") || class.contains("Future");
    let is_thread = class.starts_with("java.lang.") && class.contains("Thread");
    matches!(method, "run" | "runWorker") && !is_task && !is_thread && !class.contains("Executors$")
}

/// The classes whose methods the agent's probes call.
const PROBES: &[&str] = &["java.lang.TyrionProbe", "java.lang.TyrionTrace"];

/// Classes whose methods with `park` in their names park a thread.
const PARKS: &[&str] = &[
    "java.util.concurrent.locks.LockSupport",
    "jdk.internal.misc.Unsafe",
    "sun.misc.Unsafe",
    "jdk.internal.misc.VirtualThreads",
    "java.lang.VirtualThread",
    "java.lang.ThreadBuilders$BoundVirtualThread",
    "java.lang.System$2",
];

/// How the methods begin by which synchronizers take a lock.
const ACQUIRES: &[&str] = &["acquire", "doAcquire", "tryAcquire", "reacquire"];

/// How queues are waited at for what somebody puts in.
const TAKE: &[&str] = &["take", "poll", "takeFirst", "takeLast", "pollFirst", "pollLast"];

/// How methods are called that wait in a system's selector, in whatever package a copy of the
/// library lies.
const POLLS: &[&str] = &["epollWait", "epollWait0", "keventWait"];

/// Methods that wait for work, by class: whose threads are in them have nothing
/// to do.
const WAITS_FOR_WORK: &[(&str, &[&str])] = &[
    // Pools.
    ("java.util.concurrent.ThreadPoolExecutor", &["getTask"]),
    ("java.util.concurrent.ForkJoinPool", &["awaitWork", "deactivate"]),
    ("java.util.TimerThread", &["mainLoop"]),
    ("io.netty.util.concurrent.SingleThreadEventExecutor", &["takeTask"]),
    ("kotlinx.coroutines.scheduling.CoroutineScheduler$Worker", &["park", "tryPark"]),
    // Queues.
    ("java.util.concurrent.ArrayBlockingQueue", TAKE),
    ("java.util.concurrent.LinkedBlockingQueue", TAKE),
    ("java.util.concurrent.LinkedBlockingDeque", TAKE),
    ("java.util.concurrent.PriorityBlockingQueue", TAKE),
    ("java.util.concurrent.DelayQueue", TAKE),
    ("java.util.concurrent.SynchronousQueue", TAKE),
    ("java.util.concurrent.LinkedTransferQueue", TAKE),
    ("java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue", TAKE),
    ("org.eclipse.jetty.util.BlockingArrayQueue", TAKE),
    ("java.awt.EventQueue", &["getNextEvent"]),
    // Selectors: what they call says which system has them. `Net.poll`, which
    // reads with a time limit call too, is none.
    ("sun.nio.ch.SelectorImpl", &["lockAndDoSelect", "select"]),
    ("sun.nio.ch.EPoll", &["wait"]),
    ("sun.nio.ch.KQueue", &["poll"]),
    ("sun.nio.ch.WEPoll", &["wait"]),
    ("sun.nio.ch.Iocp", &["getQueuedCompletionStatus"]),
    ("sun.nio.ch.PollSelectorImpl", &["poll"]),
    ("sun.nio.ch.PollArrayWrapper", &["poll0"]),
    ("sun.nio.ch.WindowsSelectorImpl$SubSelector", &["poll0"]),
    // Connections to come.
    ("java.net.PlainSocketImpl", &["socketAccept"]),
    ("java.net.DualStackPlainSocketImpl", &["accept0", "waitForNewConnection"]),
    ("java.net.TwoStacksPlainSocketImpl", &["socketAccept"]),
    ("sun.nio.ch.Net", &["accept"]),
    ("sun.nio.ch.NioSocketImpl", &["accept"]),
    ("sun.nio.ch.ServerSocketChannelImpl", &["accept", "accept0", "blockingAccept"]),
    ("sun.nio.ch.ServerSocketAdaptor", &["accept"]),
    ("sun.nio.ch.UnixDomainSockets", &["accept", "accept0"]),
    // The JDK's own.
    ("java.lang.ref.ReferenceQueue", &["remove", "remove0"]),
    ("java.lang.ref.Reference", &["waitForReferencePendingList", "tryHandlePending"]),
    ("java.lang.ProcessHandleImpl", &["waitForProcessExit0"]),
    ("java.lang.VirtualThread", &["takeVirtualThreadListToUnblock"]),
    ("jdk.jfr.internal.PlatformRecorder", &["takeNap"]),
    ("com.sun.jmx.remote.internal.ArrayNotificationBuffer", &["fetchNotifications"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What a stack of `class.method`, innermost first, says.
    fn says(frames: &str) -> Says {
        let frames = frames.split_whitespace().map(|frame| match frame {
            "park" => "jdk.internal.misc.Unsafe.park",
            "LockSupport.park" => "java.util.concurrent.locks.LockSupport.park",
            frame => frame,
        });
        read(frames.map(|frame| {
            let (class, method) = frame.rsplit_once('.').unwrap();
            let class = class.replace("juc:", "java.util.concurrent.");
            let class = class.replace("AQS", "locks.AbstractQueuedSynchronizer");
            role(&class, method)
        }))
    }

    #[test]
    fn what_a_thread_of_the_jdk_waits_for_by_itself_is_work() {
        let inner = "park LockSupport.park juc:AQS$ConditionObject.await juc:SomeQueue.next";
        let of = |outer: &str| says(&format!("{inner} {outer} java.lang.Thread.run"));
        assert_eq!(of("juc:ThreadPoolExecutor$Worker.run org.srv.Named.run"), Says::WaitsForWork);
        assert_eq!(of("jdk.internal.Dispatcher.run"), Says::WaitsForWork);
        // Tasks, code of the program between, and who waits for its own tasks.
        assert_eq!(of("juc:FutureTask.run org.srv.Named.run"), Says::Nothing);
        assert_eq!(of("org.srv.Job.get juc:ThreadPoolExecutor$Worker.run"), Says::Nothing);
        assert_eq!(of("org.srv.Named.run"), Says::Nothing);
        let joins = "park LockSupport.park juc:ForkJoinTask.awaitDone juc:ForkJoinTask.join";
        assert_eq!(says(&format!("{joins} juc:ForkJoinPool.runWorker")), Says::Nothing);
    }

    #[test]
    fn who_starts_a_thread_waits_for_the_system() {
        let started = "java.lang.Thread.start0 java.lang.Thread.start";
        assert_eq!(says(&format!("{started} juc:ThreadPoolExecutor.addWorker")), Says::Starts);
        assert_eq!(says("java.lang.Thread.start juc:ThreadPoolExecutor.addWorker"), Says::Nothing);
        assert_eq!(says("com.acme.Thread.start0 com.acme.Main.main"), Says::Nothing);
    }

    #[test]
    fn pools_queues_selectors_and_acceptors_wait_for_work() {
        for frames in [
            // JDK 17: a pool, its queue and a condition.
            "park LockSupport.park juc:AQS$ConditionNode.block juc:ForkJoinPool.unmanagedBlock \
             juc:ForkJoinPool.managedBlock juc:AQS$ConditionObject.await \
             juc:LinkedBlockingQueue.take juc:ThreadPoolExecutor.getTask \
             juc:ThreadPoolExecutor.runWorker java.lang.Thread.run",
            "park juc:locks.LockSupport.parkNanos juc:SynchronousQueue$TransferStack.transfer \
             juc:SynchronousQueue.poll juc:ThreadPoolExecutor.getTask",
            "park LockSupport.park juc:ForkJoinPool.awaitWork juc:ForkJoinPool.runWorker",
            "park LockSupport.park juc:AQS$ConditionObject.await \
             juc:ScheduledThreadPoolExecutor$DelayedWorkQueue.take",
            // A consumer of the program's own.
            "park LockSupport.park juc:LinkedTransferQueue.awaitMatch juc:LinkedTransferQueue.take \
             com.acme.Consumer.run",
            "java.lang.Object.wait0 java.lang.Object.wait java.util.TimerThread.mainLoop",
            "java.lang.Object.wait java.lang.ref.ReferenceQueue.remove jdk.internal.ref.CleanerImpl.run",
            "java.lang.ref.Reference.waitForReferencePendingList",
            "sun.nio.ch.EPoll.wait sun.nio.ch.EPollSelectorImpl.doSelect \
             sun.nio.ch.SelectorImpl.lockAndDoSelect com.acme.Loop.run",
            "java.net.PlainSocketImpl.socketAccept java.net.ServerSocket.accept com.acme.Server.run",
            "sun.nio.ch.Net.poll sun.nio.ch.NioSocketImpl.park sun.nio.ch.NioSocketImpl.timedAccept \
             sun.nio.ch.NioSocketImpl.accept java.net.ServerSocket.implAccept",
            "io.netty.channel.epoll.Native.epollWait io.netty.channel.epoll.EpollEventLoop.run",
            "a.shaded.io.netty.channel.epoll.Native.epollWait a.shaded.EpollEventLoop.run",
            "sun.nio.ch.EPollArrayWrapper.epollWait sun.nio.ch.EPollSelectorImpl.doSelect",
        ] {
            assert_eq!(says(frames), Says::WaitsForWork, "{frames}");
        }
    }

    #[test]
    fn what_the_program_waits_for_is_no_idleness() {
        for frames in [
            "park LockSupport.park juc:CompletableFuture$Signaller.block \
             juc:ForkJoinPool.managedBlock juc:CompletableFuture.get com.acme.Task.run \
             juc:ThreadPoolExecutor.runWorker",
            "java.lang.Thread.sleep com.acme.Task.run java.util.TimerThread.mainLoop",
            "java.lang.Thread.sleep0 java.lang.Thread.sleep java.util.TimerThread.mainLoop",
            "java.lang.Object.wait com.acme.Box.get com.acme.Task.run java.util.TimerThread.mainLoop",
            "park LockSupport.park juc:AQS.parkAndCheckInterrupt \
             juc:AQS.doAcquireSharedInterruptibly juc:AQS.acquireSharedInterruptibly \
             juc:CountDownLatch.await com.acme.Main.main",
            "park LockSupport.park juc:AQS$ConditionObject.await com.acme.Gate.pass",
            "park LockSupport.park juc:AQS.acquire juc:AQS$ConditionObject.await com.acme.Gate.pass",
            "park LockSupport.park juc:AQS$ConditionObject.await juc:LinkedBlockingQueue.take \
             juc:ExecutorCompletionService.take com.acme.Main.main",
            "park LockSupport.park juc:AQS$ConditionObject.await juc:ArrayBlockingQueue.put \
             com.acme.Producer.run",
            "sun.nio.ch.Net.poll sun.nio.ch.NioSocketImpl.park sun.nio.ch.NioSocketImpl.implRead \
             java.net.Socket$SocketInputStream.read com.acme.Client.call",
            "com.acme.Main.work com.acme.Main.main",
        ] {
            assert_eq!(says(frames), Says::Nothing, "{frames}");
        }
        assert_eq!(says(""), Says::NoFrames);
    }

    #[test]
    fn what_is_passed_on_is_told_from_what_is_given() {
        let passed = |frames: &str| {
            let frames = frames.split_whitespace().map(|frame| {
                let (class, method) = frame.rsplit_once('.').unwrap();
                role(&class.replace("juc:", "java.util.concurrent."), method)
            });
            passes_on(frames)
        };
        for (frames, expected) in [
            (
                "juc:locks.LockSupport.unpark \
                 juc:locks.AbstractQueuedSynchronizer.signalNextIfShared \
                 juc:locks.AbstractQueuedSynchronizer.acquire juc:Semaphore.acquire a.Cook.cook",
                true,
            ),
            (
                "juc:locks.AbstractQueuedSynchronizer.signalNext \
                 juc:locks.AbstractQueuedSynchronizer.releaseShared juc:Semaphore.release \
                 a.Cook.order juc:Semaphore.acquire",
                false,
            ),
            ("juc:Phaser.releaseWaiters juc:Phaser.internalAwaitAdvance a.Region.round", true),
            ("juc:Phaser.releaseWaiters juc:Phaser.doArrive juc:Phaser.arrive a.Clock.tick", false),
            (
                "juc:LinkedBlockingQueue.signalNotEmpty juc:LinkedBlockingQueue.take a.Loop.run",
                true,
            ),
            ("juc:LinkedBlockingQueue.put a.Shop.sell", false),
        ] {
            assert_eq!(passed(frames), expected, "{frames}");
        }
    }

    #[test]
    fn packets_are_received_by_the_jdk() {
        let datagram = ("sun.nio.ch.DatagramChannelImpl", "receive0");
        assert!(receives(&[datagram, ("a.Server", "serve")]));
        assert!(!receives(&[("a.DatagramReader", "receive")]), "the program's");
        assert!(!receives(&[("java.net.SocketInputStream", "read"), ("a.Client", "ask")]));
    }

    #[test]
    fn synchronizers_that_park_wait_for_locks() {
        for frames in [
            // JDK 11 and 17.
            "park LockSupport.park juc:AQS.parkAndCheckInterrupt juc:AQS.acquireQueued \
             juc:AQS.acquire juc:locks.ReentrantLock$NonfairSync.lock com.acme.Bank.pay",
            "park LockSupport.park juc:AQS.acquire juc:AQS.acquire juc:locks.ReentrantLock$Sync.lock",
            "park LockSupport.park juc:AQS.acquire juc:AQS.acquireShared \
             juc:locks.ReentrantReadWriteLock$ReadLock.lock com.acme.Cache.get",
            "park LockSupport.park juc:AQS.acquire juc:AQS.acquireSharedInterruptibly \
             juc:Semaphore.acquire",
            "park LockSupport.park juc:locks.StampedLock.acquireWrite juc:locks.StampedLock.writeLock",
            "park LockSupport.park juc:AQS.acquire juc:AQS.acquire com.acme.Mutex.lock",
            // A virtual thread.
            "java.lang.VirtualThread.parkOnCarrierThread java.lang.VirtualThread.park \
             java.lang.System$2.parkVirtualThread jdk.internal.misc.VirtualThreads.park \
             LockSupport.park juc:AQS.acquire juc:AQS.acquire juc:locks.ReentrantLock$Sync.lock",
            // To put into a queue takes its lock.
            "park LockSupport.park juc:AQS.acquire juc:AQS.acquire \
             juc:locks.ReentrantLock$Sync.lock juc:locks.ReentrantLock.lock \
             juc:LinkedBlockingQueue.take juc:ThreadPoolExecutor.getTask",
        ] {
            assert_eq!(says(frames), Says::WaitsForLock, "{frames}");
        }
    }
}
