//! Programs whose threads do all the same, and the logs that they would leave.

use regex::Regex;
use std::io::Cursor;
use tyrion_formats::{
    Recording,
    write::{LaneId, LogOptions, LogWriter, Wait},
};
use tyrion_whatif::{Change, Evidence, Prediction, Question};
use tyrion_wire::{
    WaitKind,
    cell::bucket,
    cost,
    def::thread_flag,
    holder::Holder,
    sample::{Sample, ThreadState},
    trace::{AcquisitionCell, Hold},
};

/// Threads that go round, and take one lock in turn, in the order in which they come.
#[derive(Clone, Debug)]
pub struct Program {
    pub threads: u32,
    pub rounds: u32,
    pub outside_ns: u64,
    pub held_ns: u64,
    /// The method that takes the lock.
    pub method: &'static str,
    pub kind: WaitKind,
    /// On how many processors the log says that it ran.
    pub processors: Option<u32>,
    /// The CPU time that the log tells, as a share of the time that threads did not wait.
    pub cpu: Option<f64>,
    /// Whether each hold has a record.
    pub events: bool,
    /// Whether acquisitions were recorded.
    pub traced: bool,
    /// Seen in samples: with the lock, and without.
    pub seen: Option<(ThreadState, ThreadState)>,
    pub is_virtual: bool,
    /// What the owner did at looks that the agent took at each wait; `None` if it took none.
    pub looked: Option<ThreadState>,
    /// How long the log goes on when the threads are done, and whether recording pauses then.
    pub after_ns: u64,
    pub pauses: bool,
    /// The group of the threads.
    pub group: &'static str,
    /// The share of the machine that other programs had, if the log tells.
    pub others: Option<f64>,
    /// Every so many threads have a lock of their own, of the same name.
    pub of_one_lock: u32,
}

pub const START_NS: u64 = 5_000_000_000;
const HASH: u32 = 4711;

impl Default for Program {
    fn default() -> Program {
        Program {
            threads: 4,
            rounds: 50,
            outside_ns: 100_000,
            held_ns: 1_000_000,
            method: "put",
            kind: WaitKind::Monitor,
            processors: Some(2),
            cpu: Some(0.0),
            events: true,
            traced: true,
            seen: None,
            is_virtual: false,
            looked: None,
            after_ns: 0,
            pauses: false,
            group: "main",
            others: None,
            of_one_lock: u32::MAX,
        }
    }
}

/// A log under construction.
struct Writing {
    log: LogWriter<Cursor<Vec<u8>>>,
    lanes: Vec<LaneId>,
    ids: Vec<u32>,
    class: u32,
    place: u32,
    stack: u32,
    /// By lock.
    sites: Vec<u32>,
}

impl Program {
    /// When the last of the threads is done, and how long threads did not wait.
    fn times(&self) -> (u64, u64) {
        let mut end_ns = START_NS;
        self.run(|_, _, _, released_ns| end_ns = end_ns.max(released_ns));
        let round_ns = self.outside_ns + self.held_ns;
        (end_ns, round_ns * u64::from(self.rounds) * u64::from(self.threads))
    }

    fn lock_of(&self, thread: usize) -> usize {
        thread / self.of_one_lock as usize
    }

    /// Has the threads take their lock: who, from when on it was wanted, and when it was
    /// got and released, in the order of time.
    fn run(&self, mut each: impl FnMut(usize, u64, u64, u64)) {
        let mut next: Vec<(u64, u32)> = (0..self.threads)
            .map(|nth| (START_NS + self.outside_ns + 10 * u64::from(nth), self.rounds))
            .collect();
        let mut free_ns = vec![0; self.threads as usize];
        while let Some((thread, (wanted_ns, rounds))) = next
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, (_, rounds))| *rounds != 0)
            .min_by_key(|(thread, (wanted_ns, _))| (*wanted_ns, *thread))
        {
            let free_ns = &mut free_ns[self.lock_of(thread)];
            let got_ns = wanted_ns.max(*free_ns);
            *free_ns = got_ns + self.held_ns;
            each(thread, wanted_ns, got_ns, *free_ns);
            next[thread] = (*free_ns + self.outside_ns, rounds - 1);
        }
    }

    fn metadata(&self) -> Vec<(String, String)> {
        let mut pairs = vec![("threshold", "0".to_owned())];
        let sampled = if self.seen.is_some() { "+sample" } else { "" };
        if self.traced {
            pairs.push(("mode", format!("trace{sampled}")));
            pairs.extend([("hold", "all".to_owned()), ("precise", "true".to_owned())]);
            pairs.push(("events", if self.events { "all" } else { "folded" }.to_owned()));
        } else {
            pairs.push(("mode", "contention".to_owned()));
            pairs.extend(self.looked.map(|_| ("holders", "true".to_owned())));
        }
        pairs.extend(self.processors.map(|count| ("processors", count.to_string())));
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn begin(&self, end_ns: u64) -> Writing {
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = START_NS;
        options.header.end_ns = end_ns + self.after_ns;
        options.header.metadata = self.metadata();
        let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        let class = log.class("com/acme/Store", "Store.java").unwrap();
        let method = log.method(class, self.method, "()V", 10).unwrap();
        let stack = log.stack(0, method, 12).unwrap();
        let mut sites = Vec::new();
        for nth in 0..=self.lock_of(self.threads as usize - 1) {
            let lock = log.lock(class).unwrap();
            log.lock_name(lock, "Store.lock").unwrap();
            log.lock_instance(lock, HASH + nth as u32).unwrap();
            sites.push(log.site(self.kind, stack, lock).unwrap());
        }
        if self.pauses {
            log.pause(end_ns, 0).unwrap();
        }
        let place = log.place(method, 12, self.kind, 0, "Store.lock").unwrap();
        let flags = if self.is_virtual { thread_flag::VIRTUAL } else { 0 };
        let ids: Vec<u32> = (1..=self.threads)
            .map(|nth| {
                let java_id = if self.is_virtual { 0 } else { u64::from(nth) + 20 };
                let id = log.thread(java_id, &format!("worker-{nth}"), self.group, flags).unwrap();
                log.span(id, START_NS, if self.after_ns == 0 { end_ns } else { 0 }).unwrap();
                id
            })
            .collect();
        let lanes = ids.iter().map(|&id| log.lane(id)).collect();
        Writing { log, lanes, ids, class, place, stack, sites }
    }

    /// The log's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let (end_ns, busy_ns) = self.times();
        let mut of = self.begin(end_ns);
        let Writing { log, lanes, ids, class, place, stack, sites } = &mut of;
        let mut owners: Vec<Vec<(u64, u32)>> = vec![Vec::new(); sites.len()];
        self.run(|thread, wanted_ns, got_ns, released_ns| {
            let (lane, nth) = (lanes[thread], self.lock_of(thread));
            let site = sites[nth];
            if let Some((_, outside)) = self.seen {
                let at_ns = wanted_ns - self.outside_ns / 2;
                log.note(lane, at_ns, sample(outside, self.outside_ns)).unwrap();
            }
            if got_ns > wanted_ns {
                let wait_ns = got_ns - wanted_ns;
                if let Some(state) = self.looked {
                    let owner = owners[nth].last().map_or(0, |owner| owner.1);
                    let (state, stack) = (state.code(), *stack);
                    let stands_for_ns = wait_ns;
                    let holder =
                        Holder { owner, state, stack, site, stands_for_ns, ..Holder::default() };
                    log.note(lane, got_ns - wait_ns.min(self.held_ns) / 2, holder).unwrap();
                }
                let then = owners[nth].iter().rfind(|owner| owner.0 <= wanted_ns);
                let owner = then.filter(|_| self.looked.is_some()).map_or(0, |owner| owner.1);
                let wait = Wait { end_ns: got_ns, wait_ns, site, owner, ..Wait::default() };
                log.wait(lane, wait).unwrap();
            }
            if let Some((inside, _)) = self.seen {
                let at_ns = got_ns + self.held_ns / 2;
                log.note(lane, at_ns, sample(inside, self.held_ns)).unwrap();
            }
            owners[nth].push((got_ns, ids[thread]));
            if self.traced && self.events {
                let (hold_ns, place, class) = (self.held_ns, *place, *class);
                let hash = HASH + nth as u32;
                let hold = Hold { hold_ns, place, class, hash, ..Hold::default() };
                log.note(lane, released_ns, hold).unwrap();
            }
        });
        if self.traced {
            for (&thread, &lane) in ids.iter().zip(lanes.iter()) {
                log.acquisitions(lane, &self.cell(thread, *place, *class)).unwrap();
            }
        }
        if let Some(cpu) = self.cpu {
            log.statistic("cpu.process_ns", (busy_ns as f64 * cpu) as u64).unwrap();
        }
        log.statistic("probes.pair_ns", 0).unwrap();
        if let Some(others) = self.others {
            let all_ns = 2 * (end_ns - START_NS);
            log.statistic(cost::MACHINE_ALL, all_ns).unwrap();
            let busy_ns = busy_ns as f64 * self.cpu.unwrap_or(0.0) + others * all_ns as f64;
            log.statistic(cost::MACHINE_BUSY, busy_ns as u64).unwrap();
        }
        of.log.finish().unwrap().into_inner()
    }

    fn cell(&self, thread: u32, place: u32, class: u32) -> AcquisitionCell {
        let count = u64::from(self.rounds);
        let mut cell = AcquisitionCell { thread, place, class, ..AcquisitionCell::default() };
        (cell.acquisitions, cell.first_count) = (count, count);
        cell.first_ns = count * self.held_ns;
        cell.max_ns = self.held_ns;
        cell.histogram[bucket(self.held_ns)] = self.rounds;
        cell
    }

    pub fn log(&self) -> Recording {
        Recording::from_bytes("made-up.log", self.bytes()).unwrap()
    }

    /// What is predicted of its lock.
    pub fn predicts(&self, change: Change) -> Result<Prediction, String> {
        predicts(&[self.log()], &Question { change, ..question() })
    }
}

fn sample(state: ThreadState, wall_ns: u64) -> Sample {
    let cpu_ns = if state == ThreadState::Running { wall_ns } else { 0 };
    Sample { wall_ns, cpu_ns, count: 1, state: state.code(), ..Sample::default() }
}

/// About the lock of a program, whatever is asked.
pub fn question() -> Question {
    Question { one_by_one: true, ..Question::about(3, Change::Free) }
}

/// The group of the lock of a program.
pub fn group_of(class: &str, name: &str) -> Option<u32> {
    (class == "com.acme.Store" && name == "Store.lock").then_some(3)
}

pub fn predicts(logs: &[Recording], question: &Question) -> Result<Prediction, String> {
    Evidence::read(logs, &group_of)?.predict(question)
}

/// A pattern for places that read.
pub fn reads(pattern: &str) -> Option<Regex> {
    Some(Regex::new(pattern).unwrap())
}
