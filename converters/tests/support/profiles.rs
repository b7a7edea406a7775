//! The profiles of the golden files.

pub use super::traced;

use super::build::Build;
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::{aggregate, aggregate_by_owner},
    filter::{Filter, Kinds},
    profile::{CUT, Function, GROUP, NO_LOCK, Profile, Run, State},
};
use tyrion_wire::WaitKind;

/// The profiles and their names.
pub fn all() -> [(&'static str, Profile); 4] {
    [("bank", bank()), ("nasty", nasty()), ("empty", empty()), ("trace", traced::profile())]
}

/// The profiles with samples and their names.
pub fn with_samples() -> [(&'static str, Profile); 2] {
    [("sample", frozen()), ("sampling", sampling())]
}

/// The frozen log with waits and samples.
pub fn frozen() -> Profile {
    of_log("v1-sample.log", &Filter::default())
}

/// The frozen log that tells who ended waits.
pub fn with_wakers() -> Profile {
    of_log("v1-wakers.log", &Filter { kinds: Kinds::all(), ..Filter::default() })
}

/// The frozen log with waits and samples, its waits told apart by owner.
pub fn with_owners() -> Profile {
    let (filter, logs) = (Filter::default(), [log("v1-sample.log")]);
    let (sums, is_split) = aggregate_by_owner(&logs, &filter, usize::MAX, &|_| {});
    assert!(is_split);
    assert!(!sums.profile.owners.is_empty());
    sums.profile
}

fn of_log(name: &str, filter: &Filter) -> Profile {
    aggregate(&[log(name)], filter, &|_| {}).profile
}

fn log(name: &str) -> Recording {
    let path = format!("{}/../testdata/logs/{name}", env!("CARGO_MANIFEST_DIR"));
    Recording::from_bytes(name, std::fs::read(path).unwrap()).unwrap()
}

/// A shop that was sampled, and nothing else: every state, a pool of two threads,
/// a group that the program named, and a lock.
pub fn sampling() -> Profile {
    let mut b = Build::new();
    b.profile.has_samples = true;
    b.profile.lacks_waits = true;
    let run = b.run(Run { period_ns: 50_000_000, threshold_ns: 0, ..run("com.acme.Shop", 4243) });
    let workers = [11, 12].map(|id| b.thread(run, id, &format!("worker-{}", id - 10)));
    let main = b.thread(run, 1, "main");
    let orders = b.function(Function {
        method: "GET /orders (new)".to_owned(),
        descriptor: GROUP.to_owned(),
        ..Function::default()
    });
    let thread_run = b.method("java.lang.Thread.run()V Thread.java:840");
    let order = b.method("com.acme.Shop.order(I)V Shop.java:20");
    let price = b.method("com.acme.Shop.price(I)J Shop.java:40");
    let query = b.method("org.db.Driver.query(Ljava/lang/String;)I Driver.java:7");
    let read = b.method("sun.nio.ch.Net.poll(Ljava/io/FileDescriptor;IJ)I Net.java");
    let sleep = b.method("java.lang.Thread.sleep(J)V Thread.java:337");
    let take = b.method("java.util.concurrent.ThreadPoolExecutor.getTask()V");
    let stock = b.lock(run, 3, "com.acme.Stock");
    let base = [(orders, 0), (thread_run, 840), (order, 24)];
    let pricing = b.stack(&[base[0], base[1], base[2], (price, 43)]);
    let ordering = b.stack(&base);
    let reading = b.stack(&[base[0], base[1], base[2], (query, 9), (read, 0)]);
    let taking = b.stack(&[(thread_run, 840), (take, 1062)]);
    let sleeping = b.stack(&[(order, 30), (sleep, 0)]);
    let monitor = (stock, Some(WaitKind::Monitor));
    let none = (NO_LOCK, None);
    const MS: u64 = 1_000_000;
    for (at, &worker) in (1u64..).zip(&workers) {
        b.sample(worker, pricing, State::Running, none, [20 * at, 1_000 * MS * at, 990 * MS * at]);
        b.sample(worker, ordering, State::Running, none, [1, 50 * MS + 1, 49 * MS]);
        b.sample(worker, ordering, State::Blocked, monitor, [4 * at, 200 * MS * at, 0]);
        b.sample(worker, reading, State::Native, none, [2, 100 * MS, 1]);
        b.sample(worker, taking, State::Idle, none, [30, 1_500 * MS, 0]);
    }
    b.sample(main, sleeping, State::Sleeping, none, [40, 2_000 * MS, 0]);
    b.sample(main, sleeping, State::Parked, (stock, Some(WaitKind::Park)), [1, 50 * MS, 2]);
    b.sample(main, ordering, State::Blocked, none, [1, 50 * MS, 0]);
    b.sample(main, ordering, State::Waiting, none, [1, 50 * MS, 0]);
    b.sample(main, 0, State::Running, none, [1, 50 * MS, 30 * MS]);
    b.sample(main, 0, State::Other, none, [1, 50 * MS, 0]);
    b.done()
}

fn run(program: &str, pid: u32) -> Run {
    Run {
        log: "report.log".to_owned(),
        pid,
        program: program.to_owned(),
        jvm: "OpenJDK 64-Bit Server VM 17.0.15+6".to_owned(),
        start_wall_ns: 1_790_000_000_123_456_789,
        duration_ns: 12_345_678_901,
        threshold_ns: 10_000,
        ..Run::default()
    }
}

/// A bank whose ledger everybody waits for: contention alone, overloads,
/// recursion, a lambda, and one lock class in two places.
pub fn bank() -> Profile {
    let mut b = Build::new();
    let run = b.run(run("com.acme.bank.Main", 4242));
    let tellers = [21, 22, 23].map(|id| b.thread(run, id, &format!("teller-{}", id - 20)));
    let audit = b.thread(run, 30, "audit");

    let thread_run = b.method("java.lang.Thread.run()V Thread.java:840");
    let work = b.method("com.acme.bank.Teller.run()V Teller.java:20");
    let lambda =
        b.method("com.acme.bank.Teller$$Lambda$14/0x0000000800066840.accept(Ljava/lang/Object;)V");
    let transfer = b.method("com.acme.bank.Ledger.transfer(Lcom/acme/bank/Account;Lcom/acme/bank/Account;J)V Ledger.java:40");
    let log_text = b.method("com.acme.bank.Ledger.log(Ljava/lang/String;)V Ledger.java:80");
    let log_amount = b.method("com.acme.bank.Ledger.log([JI)V Ledger.java:90");
    let sum = b.method("com.acme.bank.Branch.sum()J Branch.java:10");
    let acquire =
        b.method("java.util.concurrent.locks.ReentrantLock.lock()V ReentrantLock.java:321");
    let ledger = b.lock(run, 1, "com.acme.bank.Ledger");
    let accounts = [2, 3].map(|id| b.lock(run, id, "com.acme.bank.Account"));
    let journal = b.lock(run, 4, "java.util.concurrent.locks.ReentrantLock$NonfairSync");

    let base = [(thread_run, 840), (work, 25)];
    let in_transfer = b.stack(&[base[0], base[1], (transfer, 42)]);
    let in_lambda = b.stack(&[base[0], base[1], (lambda, 0), (transfer, 47)]);
    let in_log = b.stack(&[base[0], base[1], (log_text, 81), (log_amount, 92), (acquire, 322)]);
    let direct_log = b.stack(&[base[0], (work, 27), (log_amount, 92), (acquire, 322)]);
    for (at, &teller) in (1u64..).zip(&tellers) {
        b.wait(teller, in_transfer, ledger, WaitKind::Monitor, 1_000 * at, 3_000_000_001 * at);
        b.wait(teller, in_lambda, accounts[0], WaitKind::Monitor, 7, 40_000_000);
        b.wait(teller, in_lambda, accounts[1], WaitKind::Monitor, 5, 30_000_000 * at);
        b.wait(teller, in_log, journal, WaitKind::Lock, 20, 5_500_000);
    }
    b.wait(tellers[2], direct_log, journal, WaitKind::Lock, 1, 12_345);

    // Branches sum their branches: the same method three times over.
    let once = b.stack(&[(thread_run, 840), (sum, 12)]);
    let twice = b.stack(&[(thread_run, 840), (sum, 14), (sum, 12)]);
    let thrice = b.stack(&[(thread_run, 840), (sum, 14), (sum, 14), (sum, 13)]);
    for (stack, wait_ns) in [(once, 100), (twice, 2_000), (thrice, 30_000)] {
        b.wait(audit, stack, ledger, WaitKind::Monitor, 1, wait_ns);
    }
    b.done()
}

/// Names and numbers that readers trip over, two runs of one pid, every kind.
pub fn nasty() -> Profile {
    nasty_of(40)
}

/// The same in fewer waits: of each thread, stack, lock and kind there are some that took
/// time.
pub fn nasty_in_short() -> Profile {
    nasty_of(20)
}

fn nasty_of(waits: usize) -> Profile {
    let mut b = Build::new();
    let runs = ["a\nb; events: Ir 7", &"wörld ".repeat(100)].map(|name| b.run(run(name, 7)));
    b.profile.runs[1].threshold_ns = 0;
    let names = [
        "",
        "events: Ir",
        "new\nline; \0 NUL\r",
        "pool-1-thread-2",
        "pool-1-thread-10",
        "ends 5",
        "# 1",
        "żółw_[k]",
    ];
    let mut threads = Vec::new();
    for (at, name) in names.into_iter().enumerate() {
        threads.push(b.thread(runs[at % 2], at as u64 + (1 << 40), name));
    }
    for id in [90, 91] {
        let thread = b.thread(runs[1], id, "");
        b.profile.threads[thread as usize].is_virtual = true;
        threads.push(thread);
    }
    b.profile.threads.sort_by_key(|thread| thread.run);

    let init = b.method("Foo.<init>([[Ljava/lang/String;)V Foo.java:3");
    let clinit = b.method("a.Foo.<clinit>()V Foo.java:1");
    let bridge = b.method("a.Foo.get()Ljava/lang/Object; Foo.java:30");
    let get = b.method("a.Foo.get()Ljava/lang/String; Foo.java:20");
    let get0 = b.method("a.Foo.get0()V Foo.java:40");
    let kotlin = b.function(Function {
        class: "a.Test;\0".to_owned(),
        method: "waits (long) 5".to_owned(),
        descriptor: "(broken".to_owned(),
        source: "a/Test\n;.kt".to_owned(),
        first_line: 0,
    });
    let cut = b.function(Function { method: CUT.to_owned(), ..Function::default() });
    let unknown = b.method("x.Y.z");

    let stacks = [
        b.stack(&[]),
        b.stack(&[(init, 4)]),
        b.stack(&[(clinit, 1), (bridge, 30), (get, 21)]),
        b.stack(&[(clinit, 1), (get0, 41), (get, 0)]),
        b.stack(&[(cut, 0), (kotlin, u32::MAX), (unknown, 0)]),
        b.stack(&[(clinit, 1), (get, 21), (unknown, 9)]),
        b.stack(&[(clinit, 1), (get, 21)]),
    ];
    let classes =
        ["", "[I", "[[Ljava.lang.Object;", "a.Foo$$Lambda/0x00007f00deadbeef", "a.Foo", "ü; 3"];
    let locks: Vec<u32> =
        (0..).zip(classes).map(|(id, class)| b.lock(runs[id % 2], id as u32 % 4, class)).collect();
    for (at, kind) in WaitKind::ALL.into_iter().cycle().take(waits).enumerate() {
        let thread = at * 3 % threads.len();
        let run = b.profile.threads[thread].run;
        let of_run: Vec<u32> = locks
            .iter()
            .copied()
            .filter(|&lock| b.profile.locks[lock as usize].run == run)
            .collect();
        let wait_ns = [0, 1, 999, 1_000_000_007][at % 4] * at as u64;
        b.wait(
            thread as u32,
            stacks[at % stacks.len()],
            of_run[at % of_run.len()],
            kind,
            1 + at as u64 % 3,
            wait_ns,
        );
    }
    b.done()
}

/// Nothing was waited for.
pub fn empty() -> Profile {
    let mut b = Build::new();
    let run = b.run(run("com.acme.Quiet", 5));
    b.thread(run, 1, "main");
    b.done()
}
