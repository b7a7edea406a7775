//! A log whose numbers are known.

use std::io::Cursor;
use tyrion_formats::{
    Recording,
    write::{LaneId, LogOptions, LogWriter, Wait},
};
use tyrion_wire::{
    WaitKind,
    cell::{self, Cell},
};

pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000 * MS;
/// The log begins at 1 s, and lasts 4 s.
pub(super) const START_NS: u64 = S;
pub(super) const END_NS: u64 = 5 * S;
pub(super) const WALL_NS: u64 = 1_700_000_000 * S;

/// Two tellers of a bank, who contend for two accounts and for a journal, and
/// wait for work; a clerk who is a thread of its own.
pub(super) struct Bank {
    pub(super) log: LogWriter<Cursor<Vec<u8>>>,
    pub(super) lanes: Vec<LaneId>,
    pub(super) threads: Vec<u32>,
    pub(super) sites: Vec<u32>,
    pub(super) place: u32,
    pub(super) class: u32,
    pub(super) stacks: [u32; 2],
}

/// Sites: the monitors of two accounts, the journal, and work.
pub(super) const ACCOUNT: usize = 0;
pub(super) const OTHER_ACCOUNT: usize = 1;
pub(super) const JOURNAL: usize = 2;
pub(super) const WORK: usize = 3;

impl Bank {
    pub(super) fn new(metadata: &[(&str, &str)]) -> Bank {
        Bank::from(metadata, WALL_NS)
    }

    pub(super) fn from(metadata: &[(&str, &str)], wall_ns: u64) -> Bank {
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        let header = &mut options.header;
        (header.wall_ns, header.mono_ns, header.end_ns) = (wall_ns, START_NS, END_NS);
        header.threshold_ns = MS;
        let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        header.metadata = metadata.iter().map(pair).collect();
        let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        let class = log.class("com/acme/Bank", "Bank.java").unwrap();
        let account = log.class("com/acme/Account", "Account.java").unwrap();
        let lock = log.class("java/util/concurrent/locks/ReentrantLock$NonfairSync", "").unwrap();
        let run = log.method(class, "run", "()V", 5).unwrap();
        let transfer = log.method(class, "transfer", "(I)V", 20).unwrap();
        let outer = log.stack(0, run, 7).unwrap();
        let inner = log.stack(outer, transfer, 23).unwrap();
        // Transfers call themselves.
        let deep = log.stack(inner, transfer, 24).unwrap();
        let locks = [account, account, lock, class].map(|class| log.lock(class).unwrap());
        locks[..2].iter().for_each(|&lock| log.lock_name(lock, "Bank.accounts").unwrap());
        log.lock_name(locks[2], "Bank.journal").unwrap();
        let sites = [
            (WaitKind::Monitor, inner, locks[0]),
            (WaitKind::Monitor, deep, locks[1]),
            (WaitKind::Lock, inner, locks[2]),
            (WaitKind::ObjectWait, outer, locks[3]),
        ];
        let sites = sites.map(|(kind, stack, lock)| log.site(kind, stack, lock).unwrap());
        let place = log.place(transfer, 23, WaitKind::Monitor, 0, "Bank.accounts").unwrap();
        let threads = ["teller-1", "teller-2", "clerk"];
        let threads: Vec<u32> = (10..)
            .zip(threads)
            .map(|(id, name)| log.thread(id, name, "main", 0).unwrap())
            .collect();
        let lanes = threads.iter().map(|&thread| log.lane(thread)).collect();
        let stacks = [inner, outer];
        Bank { log, lanes, threads, sites: sites.into(), place, class: account, stacks }
    }

    /// The `thread`-th thread waits at a site from one time after the start to
    /// another.
    pub(super) fn wait(&mut self, thread: usize, site: usize, from_ns: u64, to_ns: u64) {
        let end_ns = START_NS + to_ns;
        let wait =
            Wait { end_ns, wait_ns: to_ns - from_ns, site: self.sites[site], ..Wait::default() };
        self.log.wait(self.lanes[thread], wait).unwrap();
    }

    pub(super) fn span(&mut self, thread: usize, from_ns: u64, to_ns: u64) {
        let thread = self.threads[thread];
        self.log.span(thread, START_NS + from_ns, 0).unwrap();
        self.log.span(thread, START_NS + from_ns, START_NS + to_ns).unwrap();
    }

    /// Folded waits from one time to another.
    pub(super) fn folded(
        &mut self,
        thread: usize,
        site: usize,
        from_ns: u64,
        to_ns: u64,
        waits: &[u64],
    ) {
        let mut histogram = [0; cell::BUCKETS];
        waits.iter().for_each(|&wait_ns| histogram[cell::bucket(wait_ns)] += 1);
        let cell = Cell {
            thread: self.threads[thread],
            site: self.sites[site],
            owner: 0,
            group: 0,
            first_ns: START_NS + from_ns,
            last_ns: START_NS + to_ns,
            count: waits.len() as u64,
            sum_ns: waits.iter().sum(),
            max_ns: waits.iter().copied().max().unwrap_or(0),
            histogram,
        };
        self.log.cell(self.lanes[0], &cell).unwrap();
    }

    pub(super) fn finish(self) -> Recording {
        Recording::from_bytes("bank.log", self.log.finish().unwrap().into_inner()).unwrap()
    }
}

/// The known numbers: tellers wait 2 s and 0.5 s for accounts, 0.1 s for the
/// journal; a teller idles 1 s; the clerk lives 1 s only.
pub(super) fn usual(metadata: &[(&str, &str)]) -> Bank {
    let mut bank = Bank::new(metadata);
    bank.wait(0, ACCOUNT, 500 * MS, 2_500 * MS);
    bank.wait(0, JOURNAL, 3_000 * MS, 3_100 * MS);
    bank.wait(1, OTHER_ACCOUNT, 1_000 * MS, 1_500 * MS);
    bank.wait(1, WORK, 2_000 * MS, 3_000 * MS);
    // Short, and the first of its sort: a record all the same.
    bank.wait(1, JOURNAL, 3_500 * MS, 3_500 * MS + 1_000);
    bank.span(2, 1_000 * MS, 2_000 * MS);
    bank
}
