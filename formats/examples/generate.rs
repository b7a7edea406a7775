//! Writes a large made-up log, for measuring:
//!
//! ```text
//! cargo run --release -p tyrion-formats --example generate -- /tmp/big.log --events 200000000
//! ```
//!
//! Threads wait again and again at places drawn from a Zipf distribution (the
//! k-th most frequent of them 1/k times as often as the first), each thread
//! with an order of its own, for durations of a log-normal shape between 1 µs
//! and 50 ms. With `--records` and `--acquisitions` it is a log of trace mode,
//! with `--samples` one of sampling.
//! The same options give the same bytes.

#[path = "generate/sampled.rs"]
mod sampled;
#[path = "generate/trace.rs"]
mod trace;

use std::{
    error::Error,
    fs::File,
    io::{BufWriter, Write},
};
use trace::TracePlaces;
use tyrion_formats::{
    wire::{
        WaitKind,
        cell::{self, Cell},
        def::thread_flag,
    },
    write::{LaneId, LogOptions, LogWriter, Wait},
};

type FileWriter = LogWriter<BufWriter<File>>;

/// The mean time between two snapshots.
const PERIOD_NS: u64 = 50_000_000;

/// What to generate. Every field is an option of the same name.
struct LogPlan {
    events: u64,
    stacks: usize,
    threads: usize,
    locks: usize,
    methods: usize,
    /// How many of 100 stacks wait for j.u.c. locks: records with owner and parks.
    juc: u64,
    /// How many virtual threads share the lanes, instead of `threads` platform ones.
    virtuals: usize,
    /// Fold cells for each thread.
    cells: usize,
    /// Trace mode: so many places.
    places: usize,
    /// Trace mode: so many records after each wait.
    records: u64,
    /// Trace mode: so many acquisition cells for each thread.
    acquisitions: usize,
    /// Sampling: so many snapshots of all threads.
    samples: u64,
    seed: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut plan = LogPlan {
        events: 200_000_000,
        stacks: 20_000,
        threads: 64,
        locks: 1_000,
        methods: 3_000,
        juc: 20,
        virtuals: 0,
        cells: 0,
        places: 1_000,
        records: 0,
        acquisitions: 0,
        samples: 0,
        seed: 1,
    };
    let mut args = std::env::args().skip(1);
    let path = args
        .next()
        .filter(|path| !path.starts_with("--"))
        .ok_or("usage: generate FILE [--events N] [--stacks N] …")?;
    while let Some(key) = args.next() {
        let value: u64 = args.next().ok_or("a value is missing")?.parse()?;
        match key.as_str() {
            "--events" => plan.events = value,
            "--stacks" => plan.stacks = value as usize,
            "--threads" => plan.threads = value as usize,
            "--locks" => plan.locks = value as usize,
            "--methods" => plan.methods = value as usize,
            "--juc" => plan.juc = value,
            "--virtuals" => plan.virtuals = value as usize,
            "--cells" => plan.cells = value as usize,
            "--places" => plan.places = value as usize,
            "--records" => plan.records = value,
            "--acquisitions" => plan.acquisitions = value as usize,
            "--samples" => plan.samples = value,
            "--seed" => plan.seed = value,
            _ => return Err(format!("unknown option {key}").into()),
        }
    }
    generate(&path, &plan)
}

fn generate(path: &str, plan: &LogPlan) -> Result<(), Box<dyn Error>> {
    let mut options = LogOptions::default();
    options.header.mono_ns = 1_000_000_000;
    options.header.metadata =
        [("program", "com.acme.bank.Main"), ("jvm", "made up by generate.rs")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
    if TracePlaces::wanted(plan) {
        TracePlaces::declare(&mut options);
    } else if plan.samples != 0 {
        sampled::declare(&mut options);
    }
    let mut log = LogWriter::new(BufWriter::with_capacity(1 << 20, File::create(path)?), options)?;
    let mut random = Random(plan.seed | 1);
    let sites = sites(&mut log, plan, &mut random)?;
    let mut threads = threads(&mut log, plan)?;
    let trace =
        if TracePlaces::wanted(plan) { Some(TracePlaces::new(&mut log, plan)?) } else { None };
    let zipf = Zipf::new(sites.len());
    let durations = durations(&mut random);
    let mut left = plan.events;
    while left > 0 {
        for thread in &mut threads {
            for _ in 0..left.min(64) {
                thread.wait(&mut log, plan, &sites, &zipf, &durations, &mut random)?;
                if let Some(trace) = &trace {
                    trace.records(&mut log, thread, &mut random)?;
                }
            }
            left -= left.min(64);
        }
    }
    write_cells(&mut log, plan, &threads, &sites, &mut random)?;
    sampled::snapshots(&mut log, plan, &threads, (&sites, &zipf), &mut random)?;
    if let Some(trace) = &trace {
        trace.cells(&mut log, plan, &threads, &mut random)?;
    }
    log.finish()?.flush()?;
    Ok(())
}

/// A place to wait at: a site, and whether records there have an owner.
#[derive(Clone, Copy)]
struct GeneratedPlace {
    site: u32,
    stack: u32,
    owned: bool,
}

fn sites(
    log: &mut FileWriter,
    plan: &LogPlan,
    random: &mut Random,
) -> Result<Vec<GeneratedPlace>, Box<dyn Error>> {
    let methods = methods(log, plan, random)?;
    let lock_classes = ["java/lang/Object", "com/acme/bank/Account", "com/acme/cache/Segment"];
    let classes = lock_classes.map(|name| log.class(name, ""));
    let mut locks = Vec::new();
    for nth in 0..plan.locks {
        let class = match &classes[nth % classes.len()] {
            Ok(class) => *class,
            Err(error) => return Err(error.to_string().into()),
        };
        locks.push(log.lock(class)?);
    }
    let mut paths: Vec<Vec<u32>> = Vec::new();
    let mut sites = Vec::new();
    for nth in 0..plan.stacks {
        // Most of a stack is shared with one that is there already.
        let depth = 10 + random.below(31);
        let mut path = match paths.get(random.below(paths.len().max(1))) {
            Some(other) => other[..(5 + random.below(20)).min(other.len()).min(depth - 1)].to_vec(),
            None => Vec::new(),
        };
        while path.len() < depth {
            let method = methods[random.below(methods.len())];
            let line = 10 + random.below(90) as u32;
            path.push(log.stack(path.last().copied().unwrap_or(0), method, line)?);
        }
        let owned = random.below(100) < plan.juc as usize;
        let kind = if owned { WaitKind::Lock } else { WaitKind::Monitor };
        // One stack in twenty waits for two locks.
        for _ in 0..if nth % 20 == 0 { 2 } else { 1 } {
            let lock = locks[random.below(locks.len())];
            let stack = path[path.len() - 1];
            sites.push(GeneratedPlace { site: log.site(kind, stack, lock)?, stack, owned });
        }
        paths.push(path);
    }
    Ok(sites)
}

fn methods(
    log: &mut FileWriter,
    plan: &LogPlan,
    random: &mut Random,
) -> Result<Vec<u32>, Box<dyn Error>> {
    let packages = ["bank", "bank/ledger", "cache", "web", "web/filter", "db/pool", "util/text"];
    let nouns = ["Account", "Ledger", "Session", "Request", "Segment", "Pool", "Index", "Queue"];
    let roles = ["Service", "Manager", "Handler", "Factory", "Store", "Writer", "$Worker"];
    let verbs = ["get", "put", "transfer", "load", "flush", "handle", "open", "apply", "resolve"];
    let mut methods = Vec::new();
    for nth in 0..plan.methods {
        let package = packages[nth / 5 % packages.len()];
        let noun = nouns[nth / 35 % nouns.len()];
        let role = roles[nth / 280 % roles.len()];
        let source = format!("{noun}{}.java", role.replace("$Worker", ""));
        let class =
            log.class(&format!("com/acme/{package}/{noun}{role}{}", nth / 1960), &source)?;
        let verb = verbs[random.below(verbs.len())];
        let name = format!("{verb}{}{}", nouns[random.below(nouns.len())], nth % 5);
        methods.push(log.method(class, &name, "(Ljava/lang/String;I)V", 10)?);
    }
    Ok(methods)
}

/// A lane, and who waits on it.
struct LaneThread {
    lane: LaneId,
    id: u32,
    /// The virtual threads that take turns; empty for a platform thread.
    others: Vec<u32>,
    now_ns: u64,
    /// What the thread's order of places begins with.
    shift: usize,
}

fn threads(log: &mut FileWriter, plan: &LogPlan) -> Result<Vec<LaneThread>, Box<dyn Error>> {
    let mut threads = Vec::new();
    for nth in 0..plan.threads {
        let id = log.thread(nth as u64 + 20, &format!("http-worker-{nth}"), "main", 0)?;
        let mut others = Vec::new();
        for turn in 0..plan.virtuals / plan.threads {
            let java_id = (1_000 + turn * plan.threads + nth) as u64;
            let flags = thread_flag::VIRTUAL | thread_flag::DAEMON;
            others.push(log.thread(java_id, "", "VirtualThreads", flags)?);
        }
        let lane = log.lane(id);
        threads.push(LaneThread { lane, id, others, now_ns: 1_000_000_000, shift: nth * 7919 });
    }
    Ok(threads)
}

impl LaneThread {
    #[inline]
    fn wait(
        &mut self,
        log: &mut FileWriter,
        plan: &LogPlan,
        sites: &[GeneratedPlace],
        zipf: &Zipf,
        durations: &[u64],
        random: &mut Random,
    ) -> std::io::Result<()> {
        if !self.others.is_empty() && random.below(2) == 0 {
            log.switch(self.lane, self.others[random.below(self.others.len())])?;
        }
        let place = sites[(zipf.sample(random) + self.shift) % sites.len()];
        let bits = random.next();
        let wait_ns = durations[(bits & 0xffff) as usize] + (bits >> 16 & 0xff);
        // Between waits a thread works, 25 µs on the average.
        self.now_ns += wait_ns + 5_000 + (bits >> 24) % 40_000;
        let owner = if place.owned { 1 + (bits >> 48) as u32 % plan.threads as u32 } else { 0 };
        let parks = if place.owned { 1 + (bits >> 40 & 1) } else { 0 };
        let (end_ns, site) = (self.now_ns, place.site);
        log.wait(self.lane, Wait { end_ns, wait_ns, site, owner, parks, ..Wait::default() })
    }
}

fn write_cells(
    log: &mut FileWriter,
    plan: &LogPlan,
    threads: &[LaneThread],
    sites: &[GeneratedPlace],
    random: &mut Random,
) -> std::io::Result<()> {
    for thread in threads {
        for nth in 0..plan.cells {
            let mut histogram = [0; cell::BUCKETS];
            histogram[cell::bucket(5_000)] = 10;
            let first_ns = 1_000_000_000 + random.below(1 << 30) as u64;
            log.cell(
                thread.lane,
                &Cell {
                    thread: thread.id,
                    site: sites[nth % sites.len()].site,
                    owner: 0,
                    group: 0,
                    first_ns,
                    last_ns: first_ns + 30_000_000_000,
                    count: 10,
                    sum_ns: 52_000,
                    max_ns: 7_000,
                    histogram,
                },
            )?;
        }
    }
    Ok(())
}

/// Durations of a log-normal shape, median 10 µs, to draw from.
fn durations(random: &mut Random) -> Vec<u64> {
    let normal = |random: &mut Random| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let sample = |random: &mut Random| 10_000.0 * (1.2 * normal(random)).exp();
    (0..1 << 16).map(|_| sample(random).clamp(1e3, 50e6) as u64).collect()
}

/// Draws 0, 1, 2, … with probabilities in the ratio 1 : 1/2 : 1/3 : …, by
/// Walker's alias method: two table look-ups whatever the number of values.
struct Zipf {
    /// Below which 32-bit number a value stands for itself, and for which
    /// other one it stands otherwise.
    table: Vec<(u32, u32)>,
}

impl Zipf {
    fn new(values: usize) -> Zipf {
        let harmonic: f64 = (1..=values).map(|k| 1.0 / k as f64).sum();
        let mut share: Vec<f64> =
            (1..=values).map(|k| values as f64 / (k as f64 * harmonic)).collect();
        let mut table = vec![(u32::MAX, 0); values];
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..values).partition(|&value| share[value] < 1.0);
        while let (Some(below), Some(above)) = (small.pop(), large.last().copied()) {
            table[below] = ((share[below] * f64::from(u32::MAX)) as u32, above as u32);
            share[above] -= 1.0 - share[below];
            if share[above] < 1.0 {
                large.pop();
                small.push(above);
            }
        }
        Zipf { table }
    }

    #[inline]
    fn sample(&self, random: &mut Random) -> usize {
        let bits = random.next();
        let value = (((bits >> 32) * self.table.len() as u64) >> 32) as usize;
        let (own, other) = self.table[value];
        if bits as u32 <= own { value } else { other as usize }
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    #[inline]
    fn below(&mut self, limit: usize) -> usize {
        (((self.next() >> 32) * limit as u64) >> 32) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
