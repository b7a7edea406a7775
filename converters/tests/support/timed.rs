//! A small log with what outputs of single waits have to show, and others at random.

use proptest::prelude::*;
use std::io::Cursor;
use tyrion_converters::outputs::{Format, OutputOptions, Stream};
use tyrion_formats::{
    Recording,
    write::{LaneId, LogOptions, LogWriter, Wait},
};
use tyrion_model::{
    aggregate::{Aggregate, aggregate},
    filter::{Filter, Kinds},
    timeline::{AT_A_TIME, Source, Timeline},
};
use tyrion_wire::{
    Outcome, WaitKind,
    cell::{self, Cell},
    def::{id, place_flag, thread_flag},
    trace::{Blame, Hold},
    wake::Wake,
};

const START_NS: u64 = 5_000_000_000;
const WALL_NS: u64 = 1_790_000_000_000_000_000;
const US: u64 = 1_000;

type Writer = LogWriter<Cursor<Vec<u8>>>;

fn begin(name: &str, metadata: &[(&str, &str)], later_ns: u64) -> Writer {
    let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
    let header = &mut options.header;
    (header.pid, header.threshold_ns) = (4242, 10 * US);
    (header.mono_ns, header.wall_ns) = (START_NS, WALL_NS + later_ns);
    header.end_ns = START_NS + 2_000 * US;
    let own = [("program", name), ("jvm", "OpenJDK 64-Bit Server VM 21"), ("recording", name)];
    let pairs = own.iter().chain(metadata);
    header.metadata = pairs.map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    LogWriter::new(Cursor::new(Vec::new()), options).unwrap()
}

fn finish(log: Writer, name: &str) -> Recording {
    Recording::from_bytes(name, log.finish().unwrap().into_inner()).unwrap()
}

/// A cell with so many waits of 4 µs.
pub fn cell(thread: u32, site: u32, (first_ns, last_ns): (u64, u64), count: u32) -> Cell {
    let mut histogram = [0; cell::BUCKETS];
    histogram[cell::bucket(4 * US)] = count;
    let count = u64::from(count);
    let (sum_ns, max_ns) = (count * 4 * US, 4 * US);
    Cell { thread, site, owner: 0, group: 0, first_ns, last_ns, count, sum_ns, max_ns, histogram }
}

/// A bank in trace mode with every hold: waits that follow one another, overlap and were
/// ended by others, one that has no owner, one of a virtual thread, and sums.
pub fn bank() -> Recording {
    let metadata = [("mode", "trace"), ("hold", "all"), ("events", "all"), ("wakers", "true")];
    let mut log = begin("com.acme.Bank", &metadata, 0);
    let bank = log.class("com/acme/Bank", "Bank.java").unwrap();
    let queue = log.class("java/util/concurrent/locks/ReentrantLock$FairSync", "").unwrap();
    let run = log.method(bank, "run", "()V", 5).unwrap();
    let pay = log.method(bank, "pay", "(Ljava/lang/String;J)Lcom/acme/Receipt;", 20).unwrap();
    let outer = log.stack(0, run, 7).unwrap();
    let inner = log.stack(outer, pay, 23).unwrap();
    let vault = log.lock(bank).unwrap();
    log.lock_instance(vault, 0x2a13).unwrap();
    log.lock_name(vault, "Bank.vault").unwrap();
    let turn = log.lock(queue).unwrap();
    let place = log.place(pay, 23, WaitKind::Monitor, 0, "Bank.vault").unwrap();
    let juc = log.place(run, 8, WaitKind::Lock, place_flag::JUC, "").unwrap();
    let for_vault = log.site(WaitKind::Monitor, inner, vault).unwrap();
    let for_turn = log.site(WaitKind::Lock, outer, turn).unwrap();
    let for_money = log.site(WaitKind::Condition, inner, turn).unwrap();
    let teller = |log: &mut Writer, id, name: &str, flags| {
        let thread = log.thread(id, name, "main", flags).unwrap();
        (thread, log.lane(thread))
    };
    let (ann, at_ann) = teller(&mut log, 11, "teller (1)", 0);
    let (bob, at_bob) = teller(&mut log, 12, "teller-2", 0);
    let (virt, _) = teller(&mut log, 40, "", thread_flag::VIRTUAL);
    let at = |us: u64| START_NS + us * US;
    let wait = |end_us: u64, wait_us: u64, site: u32, owner: u32| Wait {
        end_ns: at(end_us),
        wait_ns: wait_us * US,
        site,
        owner,
        ..Wait::default()
    };
    let hold = Hold { hold_ns: 60 * US, place, class: bank, hash: 0x2a13, ..Hold::default() };
    // bob has the vault from 40 to 100; ann and the virtual thread wait for it.
    log.note(at_bob, at(100), hold).unwrap();
    let blame = Blame {
        charged_ns: 50 * US,
        site: for_vault,
        waiter: ann,
        stack: inner,
        place,
        ..Blame::default()
    };
    log.note(at_bob, at(100), blame).unwrap();
    log.wait(at_ann, wait(101, 51, for_vault, bob)).unwrap();
    log.switch(at_ann, virt).unwrap();
    log.wait(at_ann, Wait { outcome: Outcome::TimedOut, ..wait(120, 90, for_vault, bob) }).unwrap();
    log.switch(at_ann, ann).unwrap();
    // ann holds the turn around the vault, and a part of it only.
    log.note(at_ann, at(160), Hold { hold_ns: 20 * US, ..hold }).unwrap();
    let held = Hold { hold_ns: 50 * US, place: juc, class: queue, hash: 0, ..hold };
    log.note(at_ann, at(180), held).unwrap();
    log.note(at_ann, at(200), Hold { hold_ns: 30 * US, ..hold }).unwrap();
    log.wait(at_bob, Wait { parks: 2, ..wait(300, 100, for_turn, 0) }).unwrap();
    log.wait(at_bob, wait(400, 80, for_money, 0)).unwrap();
    let wake =
        Wake { waker: ann, stack: inner, site: for_money, wait_ns: 80 * US, late_ns: 5 * US };
    log.note(at_bob, 0, wake).unwrap();
    // Told late: it seems to overlap with the one before.
    log.wait(at_bob, wait(400, 30, for_turn, ann)).unwrap();
    let cells =
        [cell(ann, for_vault, (at(10), at(900)), 100), cell(bob, for_turn, (at(20), at(1_000)), 7)];
    cells.iter().for_each(|cell| log.cell(at_ann, cell).unwrap());
    finish(log, "bank.log")
}

/// A program of another recording, which begins 1 ms later; its pid is the same.
pub fn shop() -> Recording {
    let mut log = begin("com.acme.Shop", &[], 1_000 * US);
    let shop = log.class("com/acme/Shop", "").unwrap();
    let serve = log.method(shop, "serve", "()I", 0).unwrap();
    let stack = log.stack(0, serve, 0).unwrap();
    let lock = log.lock(shop).unwrap();
    let site = log.site(WaitKind::Lock, stack, lock).unwrap();
    let main = log.thread(1, "main", "main", 0).unwrap();
    let lane = log.lane(main);
    let end_ns = START_NS + 50 * US;
    log.wait(lane, Wait { end_ns, wait_ns: 20 * US, site, ..Wait::default() }).unwrap();
    log.pause(START_NS + 100 * US, START_NS + 200 * US).unwrap();
    finish(log, "shop.log")
}

/// A wait of each kind and with each outcome: of a main thread, of one that was renamed and
/// of a virtual one, with stacks that were cut or are not known. There are sums of waits for
/// a lock and for something else.
pub fn each_kind() -> Recording {
    let mut log = begin("com.acme.Kinds", &[], 0);
    let bank = log.class("com/acme/bank/Bank", "Bank.java").unwrap();
    let lambda = log.class("com/acme/bank/Bank$$Lambda/0x00007f3a5c00a000", "").unwrap();
    let array = log.class("[Ljava/lang/Object;", "").unwrap();
    let run = log.method(lambda, "run", "()V", 0).unwrap();
    let audit = log.method(bank, "prüfe", "(IIJ)Z", 90).unwrap();
    let outer = log.stack(id::EMPTY_STACK, run, 0).unwrap();
    let inner = log.stack(outer, audit, 93).unwrap();
    let cut = log.stack(id::CUT_STACK, audit, 94).unwrap();
    let main = log.thread(1, "main", "main", 0).unwrap();
    let teller = log.thread(31, "Thread-0", "tellers", thread_flag::DAEMON).unwrap();
    log.rename(teller, "teller-1", 2 * US).unwrap();
    let flags = thread_flag::VIRTUAL | thread_flag::DAEMON;
    let virt = log.thread(40, "", "VirtualThreads", flags).unwrap();
    let lanes = [log.lane(main), log.lane(teller)];
    for (nth, &kind) in WaitKind::ALL.iter().enumerate() {
        let lock = log.lock(if kind == WaitKind::Park { array } else { bank }).unwrap();
        let stack = match kind {
            WaitKind::Lock => cut,
            WaitKind::Semaphore => id::EMPTY_STACK,
            _ => inner,
        };
        let site = log.site(kind, stack, lock).unwrap();
        if nth == WaitKind::ALL.len() / 2 {
            log.switch(lanes[0], virt).unwrap();
        }
        let (owner, parks) = if kind == WaitKind::Lock { (main, 3) } else { (0, 0) };
        let end_ns = START_NS + (100 + 50 * nth as u64) * US;
        let outcome = Outcome::ALL[nth % Outcome::ALL.len()];
        let wait = Wait { end_ns, wait_ns: 40 * US, site, outcome, owner, parks };
        log.wait(lanes[nth % 2], wait).unwrap();
        if matches!(kind, WaitKind::Monitor | WaitKind::Park) {
            let span = (end_ns + 5 * US, end_ns + 25 * US);
            log.cell(lanes[1], &cell(teller, site, span, 3)).unwrap();
        }
    }
    finish(log, "kinds.log")
}

/// All kinds of waits.
pub fn all_kinds() -> Filter {
    Filter { kinds: Kinds::all(), ..Filter::default() }
}

/// Two threads that wait in turn, so many times.
pub fn many(waits: u64) -> Recording {
    let mut log = begin("com.acme.Many", &[("mode", "contention")], 0);
    let class = log.class("com/acme/Many", "Many.java").unwrap();
    let run = log.method(class, "run", "()V", 5).unwrap();
    let stack = log.stack(0, run, 7).unwrap();
    let lock = log.lock(class).unwrap();
    let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
    let threads: Vec<(u32, LaneId)> = ["a", "b"]
        .iter()
        .zip(11..)
        .map(|(name, id)| {
            let thread = log.thread(id, name, "main", 0).unwrap();
            (thread, log.lane(thread))
        })
        .collect();
    for nth in 0..waits {
        let (own, other) = (threads[nth as usize % 2], threads[(nth as usize + 1) % 2]);
        let end_ns = START_NS + (nth + 1) * 20 * US;
        let wait = Wait { end_ns, wait_ns: 15 * US, site, owner: other.0, ..Wait::default() };
        log.wait(own.1, wait).unwrap();
    }
    finish(log, "many.log")
}

/// A thread that was there before the log began, for which 0 stands, waits for one that came later.
pub fn lives() -> Recording {
    let mut log = begin("com.acme.Lives", &[("mode", "contention")], 0);
    let class = log.class("com/acme/Lives", "Lives.java").unwrap();
    let run = log.method(class, "run", "()V", 5).unwrap();
    let stack = log.stack(0, run, 7).unwrap();
    let lock = log.lock(class).unwrap();
    let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
    let [before, later] =
        [(1, "before"), (12, "later")].map(|(id, name)| log.thread(id, name, "main", 0).unwrap());
    log.span(before, 0, START_NS + 90 * US).unwrap();
    log.span(later, START_NS + 10 * US, START_NS + 80 * US).unwrap();
    let wait = Wait { end_ns: START_NS + 60 * US, wait_ns: 40 * US, site, ..Wait::default() };
    let lane = log.lane(before);
    log.wait(lane, Wait { owner: later, ..wait }).unwrap();
    finish(log, "lives.log")
}

/// Logs, and what aggregating them gave.
pub struct AggregatedLogs {
    pub logs: Vec<Recording>,
    pub filter: Filter,
    pub aggregate: Aggregate,
}

impl AggregatedLogs {
    pub fn new(logs: Vec<Recording>, filter: Filter) -> AggregatedLogs {
        let aggregate = aggregate(&logs, &filter, &|_| {});
        AggregatedLogs { logs, filter, aggregate }
    }

    pub fn timeline(&self, at_a_time: usize) -> Timeline<'_> {
        let source = Source {
            logs: &self.logs,
            filter: &self.filter,
            ids: &self.aggregate.ids,
            profile: &self.aggregate.profile,
            packages: &[],
        };
        Timeline::new(source).with_at_a_time(at_a_time)
    }

    /// What a format of single waits writes.
    pub fn written(&self, format: &Format, options: &OutputOptions) -> Vec<u8> {
        self.written_with(format, options, AT_A_TIME)
    }

    /// The same with so many items in memory at a time.
    pub fn written_with(
        &self,
        format: &Format,
        options: &OutputOptions,
        at_a_time: usize,
    ) -> Vec<u8> {
        let Stream::Times(stream) = format.stream else { panic!("{}", format.name) };
        let mut bytes = Vec::new();
        stream(&self.timeline(at_a_time), options, &mut bytes).unwrap();
        bytes
    }
}

/// What happens in a random log, in a lane and µs after what happened there before.
#[derive(Clone, Debug)]
struct LogStep {
    lane: usize,
    later_us: u64,
    wait_us: u64,
    site: usize,
    owner: u32,
    what: u8,
}

/// Logs with waits, holds, releases and cells in any order, of one recording or two, and
/// a filter.
pub fn logs() -> impl Strategy<Value = (Vec<Vec<u8>>, Filter)> {
    let step = (0..3usize, 0..50u64, 0..300u64, 0..4usize, 0..5u32, 0..20u8).prop_map(
        |(lane, later_us, wait_us, site, owner, what)| LogStep {
            lane,
            later_us,
            wait_us,
            site,
            owner,
            what,
        },
    );
    let steps = prop::collection::vec(step, 0..300);
    let filter = (0..3u8, 0..400u64).prop_map(|(sort, us)| match sort {
        0 => all_kinds(),
        1 => Filter { min_wait_ns: us * US, ..Filter::default() },
        _ => Filter {
            until: Some(tyrion_model::filter::Moment::AfterStart(10 * us * US)),
            ..all_kinds()
        },
    });
    (prop::collection::vec((steps, 0..2u64), 1..3), filter).prop_map(|(logs, filter)| {
        let logs = logs.into_iter().map(|(steps, other)| random(&steps, other)).collect();
        (logs, filter)
    })
}

fn random(steps: &[LogStep], other: u64) -> Vec<u8> {
    let metadata = [("mode", "trace"), ("hold", "all"), ("events", "all")];
    let name = ["com.acme.Bank", "com.acme.Shop"][other as usize];
    let mut log = begin(name, &metadata, other * 700 * US);
    let class = log.class("com/acme/Bank", "Bank.java").unwrap();
    let methods = ["pay", "run"].map(|name| log.method(class, name, "(I)V", 5).unwrap());
    let outer = log.stack(0, methods[0], 7).unwrap();
    let stacks = [outer, log.stack(outer, methods[1], 9).unwrap()];
    let locks = [log.lock(class).unwrap(), log.lock(class).unwrap()];
    let place = log.place(methods[0], 7, WaitKind::Monitor, 0, "Bank.vault").unwrap();
    let kinds = [WaitKind::Monitor, WaitKind::Lock, WaitKind::Park, WaitKind::Monitor];
    let sites: Vec<u32> =
        (0..4).map(|nth| log.site(kinds[nth], stacks[nth % 2], locks[nth / 2]).unwrap()).collect();
    let threads = [1, 2, 3, 4].map(|id| log.thread(id, "", "main", 0).unwrap());
    let lanes: Vec<LaneId> = threads[..3].iter().map(|&thread| log.lane(thread)).collect();
    let mut now_ns = [START_NS + 500 * US; 3];
    for step in steps {
        let (lane, now_ns) = (lanes[step.lane], &mut now_ns[step.lane]);
        *now_ns += step.later_us * US;
        let (site, wait_ns) = (sites[step.site], step.wait_us * US);
        let (owner, waiter) = (step.owner, threads[step.owner as usize % 3]);
        match step.what {
            0 => log.switch(lane, threads[step.site]).unwrap(),
            1 | 2 => {
                let span = (*now_ns - 100 * US, *now_ns);
                log.cell(lane, &cell(waiter, site, span, 1 + step.owner)).unwrap();
            }
            3 | 4 => {
                let hold = Hold { hold_ns: wait_ns, place, class, hash: 7, ..Hold::default() };
                log.note(lane, *now_ns, hold).unwrap();
            }
            5 => {
                let blame = Blame { charged_ns: wait_ns, site, waiter, place, ..Blame::default() };
                log.note(lane, *now_ns, blame).unwrap();
            }
            what => {
                let wait = Wait { end_ns: *now_ns, wait_ns, site, owner, ..Wait::default() };
                log.wait(lane, wait).unwrap();
                if what > 16 {
                    let (waker, late_ns) = (waiter, wait_ns / 3);
                    let wake = Wake { waker, stack: 0, site, wait_ns, late_ns };
                    log.note(lane, 0, wake).unwrap();
                }
            }
        }
    }
    log.finish().unwrap().into_inner()
}
