//! Logs of known numbers.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod bank;

use super::*;
use crate::{
    SECTIONS,
    sections::{contended::Contended, delays, overview::Overview, timeline::WaitTimeline},
};
use bank::*;
use regex::Regex;
use tyrion_model::{
    aggregate::aggregate,
    filter::{Kinds, duration_ns, moment},
};
use tyrion_wire::{
    WaitKind,
    def::thread_flag,
    slot::{Counters, Pending, Tally},
    trace::{AcquisitionCell, Blame},
};

fn found<'a>(logs: &'a [Recording], filter: &'a Filter) -> Findings<'a> {
    let found = find(logs, filter, &ReportOptions::default(), &|_| {});
    let waits = found.profile().waits.iter().filter(|wait| found.shows(wait.kind));
    let shown =
        waits.map(|wait| (wait.count, wait.wait_ns)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let contended = Contended::of(&found, &ReportOptions { top: 1, ..ReportOptions::default() });
    let totals = (contended.totals.contended, contended.totals.wait_ns);
    assert_eq!(totals, shown, "the totals are those of the profile, whatever --top says");
    found
}

#[test]
fn phases_know_who_lived_idled_and_waited() {
    let logs = [usual(&[]).finish()];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    let phases: Vec<_> =
        found.phases.iter().map(|p| (p.thread_ns / MS, p.idle_ns / MS, p.contended_ns)).collect();
    let expected = [
        (2_000, 0, 500 * MS),
        (3_000, 0, 1_500 * MS),
        (2_000, 1_000, 500 * MS),
        (2_000, 0, 100 * MS + 1_000),
    ];
    assert_eq!(phases, expected);
    assert_eq!(found.phases[1].pressure(), Some(0.5));
    assert_eq!(found.phases[2].pressure(), Some(0.5), "who idles has no part in it");
    assert_eq!(
        found.threads,
        Threads { count: 3, lived_ns: 9 * S, assumed: 2, ..Threads::default() },
    );
    let overview = Overview::of(&found);
    assert_eq!((overview.contended, overview.wait_ns), (4, 2_600 * MS + 1_000));
    assert_eq!(overview.threads.idle_ns, S);
    assert_eq!(overview.pressure_share, Some((2_600 * MS + 1_000) as f64 / (8 * S) as f64));
    assert_eq!(overview.lost_share, (2_600 * MS + 1_000) as f64 / (9 * S) as f64);
    assert_eq!(overview.worst_phase, Some(1), "the first of those with the highest");
}

#[test]
fn locks_are_ranked_with_their_distributions() {
    let mut bank = usual(&[]);
    (0..98).for_each(|nth| {
        bank.wait(2, ACCOUNT, 3_000 * MS + nth * 10 * MS, 3_001 * MS + nth * 10 * MS)
    });
    let logs = [bank.finish()];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    let contended = Contended::of(&found, &ReportOptions::default());
    let [accounts, journal] = &contended.locks[..] else { panic!("{contended:?}") };
    assert_eq!(accounts.lock.label(), "Bank.accounts (com.acme.Account)");
    assert_eq!(journal.lock.label(), "Bank.journal (java.util.concurrent.locks.ReentrantLock#3)");
    assert_eq!((accounts.kind, journal.kind), ("monitor", "lock"));
    assert_eq!((accounts.contended, accounts.wait_ns), (100, 2_598 * MS));
    assert_eq!((accounts.mean_wait_ns, accounts.max_wait_ns), (25_980_000, 2 * S));
    let near = |found: Option<u64>, expected: u64| {
        let found = found.unwrap();
        assert!(found.abs_diff(expected) * 30 <= expected, "{found}, not {expected}");
    };
    near(accounts.p50_wait_ns, MS);
    near(accounts.p99_wait_ns, 500 * MS);
    assert_eq!((accounts.waiting_threads, journal.waiting_threads), (3, 2));
    assert_eq!((accounts.acquisitions, accounts.holding_threads), (None, None));
    let waiter = accounts.hottest_waiter.as_ref().unwrap();
    assert_eq!(waiter.wait_ns, 2_098 * MS);
    assert_eq!(
        waiter.stack,
        ["com.acme.Bank.transfer(Bank.java:23)", "com.acme.Bank.run(Bank.java:7)"],
    );
    let instances: Vec<_> = accounts.instances.iter().map(|of| (of.id, of.contended)).collect();
    assert_eq!(instances, [(1, 99), (2, 1)]);
    near(contended.totals.p50_wait_ns, MS);
    let cut = Contended::of(&found, &ReportOptions { top: 1, ..ReportOptions::default() });
    assert_eq!((cut.locks.len(), cut.left_out, cut.totals), (1, 1, contended.totals));
}

#[test]
fn trace_mode_tells_acquisitions_holds_and_holders() {
    let mut bank = usual(&[("mode", "trace"), ("hold", "all")]);
    for (thread, acquisitions) in [(0, 700), (1, 300)] {
        let cell = AcquisitionCell {
            thread: bank.threads[thread],
            place: bank.place,
            class: bank.class,
            acquisitions,
            first_count: acquisitions,
            first_ns: acquisitions * MS,
            max_ns: thread as u64 + 5 * MS,
            ..AcquisitionCell::default()
        };
        bank.log.acquisitions(bank.lanes[thread], &cell).unwrap();
    }
    for (stack, charged_ns) in [(0, 300 * MS), (1, 100 * MS), (0, 100 * MS)] {
        let (site, waiter) = (bank.sites[OTHER_ACCOUNT], bank.threads[1]);
        let stack = bank.stacks[stack];
        let blame = Blame { delta_ns: 0, charged_ns, site, waiter, stack, place: bank.place };
        bank.log.note(bank.lanes[2], START_NS + 1_500 * MS, blame).unwrap();
    }
    let logs = [bank.finish()];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    let contended = Contended::of(&found, &ReportOptions::default());
    let accounts = &contended.locks[0];
    assert_eq!(accounts.acquisitions, Some(1_000));
    assert_eq!(accounts.miss_share, Some(0.002));
    assert_eq!((accounts.hold_ns, accounts.mean_hold_ns), (Some(S), Some(MS)));
    assert_eq!(accounts.max_hold_ns, Some(5 * MS + 1));
    assert_eq!(accounts.utilisation_share, Some(0.25));
    assert_eq!(accounts.holding_threads, Some(3), "two that took it, and the clerk is charged");
    let holder = accounts.hottest_holder.as_ref().unwrap();
    assert_eq!((holder.wait_ns, holder.wait_share), (400 * MS, 0.8));
    assert_eq!(holder.stack.len(), 2);
    let uncounted = &contended.locks[1];
    assert_eq!((uncounted.acquisitions, uncounted.miss_share), (None, None), "but waited for");
    assert_eq!((uncounted.mean_hold_ns, uncounted.holding_threads), (None, None));
    let group = found.groups.find("com.acme.Account", "Bank.accounts").unwrap();
    let blame = ThreadBlame {
        holders: "clerk".to_owned(),
        waiters: "teller-*".to_owned(),
        group,
        kind: WaitKind::Monitor.code(),
        count: 3,
        blamed_ns: 500 * MS,
    };
    assert_eq!(found.thread_blames, [blame]);
}

#[test]
fn delays_are_told_by_function_and_thread() {
    let logs = [usual(&[]).finish()];
    let filter = Filter::default();
    let delays = delays::DelaysAnswer::of(&found(&logs, &filter), &ReportOptions::default());
    assert_eq!((delays.threshold_ns, delays.delays, delays.shorter), (MS, 3, 1));
    assert_eq!(delays.wait_ns, 2_600 * MS);
    let functions: Vec<_> = delays
        .functions
        .iter()
        .map(|f| {
            (
                f.function.as_str(),
                f.exclusive_delays,
                f.exclusive_wait_ns,
                f.inclusive_delays,
                f.inclusive_wait_ns,
            )
        })
        .collect();
    let expected = [
        ("com.acme.Bank.transfer", 3, 2_600 * MS, 3, 2_600 * MS),
        ("com.acme.Bank.run", 0, 0, 3, 2_600 * MS),
    ];
    assert_eq!(functions, expected, "a function that calls itself counts once");
    let threads: Vec<_> = delays
        .threads
        .iter()
        .map(|t| (t.thread.as_str(), t.java_id, t.delays, t.wait_ns))
        .collect();
    assert_eq!(threads, [("teller-1", 10, 2, 2_100 * MS), ("teller-2", 11, 1, 500 * MS)]);
}

#[test]
fn timelines_put_waits_where_they_were() {
    let mut bank = usual(&[]);
    bank.folded(0, JOURNAL, 0, 4_000 * MS, &[500_000; 8]);
    let logs = [bank.finish()];
    let filter = Filter::default();
    let timeline = WaitTimeline::of(&found(&logs, &filter), &ReportOptions::default());
    assert_eq!((timeline.start_wall_ns, timeline.duration_ns), (WALL_NS, 4 * S));
    assert_eq!((timeline.box_ns, timeline.all_ns.len()), (4 * S / 120 + 1, 120));
    let sum = |boxes: &[u64]| boxes.iter().sum::<u64>();
    assert_eq!(sum(&timeline.all_ns), 2_604 * MS + 1_000);
    let [accounts, journal] = &timeline.locks[..] else { panic!("{timeline:?}") };
    assert_eq!((sum(&accounts.wait_ns), sum(&journal.wait_ns)), (2_500 * MS, 104 * MS + 1_000));
    let full = timeline.box_ns;
    assert_eq!(accounts.wait_ns[13], 0);
    assert_eq!(
        (accounts.wait_ns[20], accounts.wait_ns[35], accounts.wait_ns[60]),
        (full, 2 * full, full)
    );
    assert_eq!(accounts.wait_ns[80], 0);
    assert!(
        journal.wait_ns[..80].iter().all(|&ns| ns.abs_diff(4 * MS / 120) <= 2),
        "spread evenly"
    );
    let names: Vec<_> = timeline.threads.iter().map(|of| of.thread.as_str()).collect();
    assert_eq!(names, ["teller-1", "teller-2"]);
    assert_eq!(sum(&timeline.threads[0].wait_ns), 2_104 * MS);
}

#[test]
fn filters_hold_everywhere() {
    let logs = [usual(&[]).finish()];
    let teller = Filter { thread: Some(Regex::new("teller-2").unwrap()), ..Filter::default() };
    let one = found(&logs, &teller);
    assert_eq!(one.threads.count, 1);
    assert_eq!(one.aggregate.contention().total(), (2, 500 * MS + 1_000));
    assert_eq!(one.phases[1].contended_ns, 500 * MS);
    assert_eq!(one.distributions.all().count(), 2);
    let journal = Filter { lock: Some(Regex::new("journal").unwrap()), ..Filter::default() };
    let one = found(&logs, &journal);
    assert_eq!(one.phases[0].contended_ns, 0);
    assert_eq!(one.phases[2].idle_ns, S, "idle whatever the lock");
    assert_eq!(one.delays.stacks.len(), 1);
    let span = Filter {
        since: Some(moment("1s").unwrap()),
        until: Some(moment("2.5s").unwrap()),
        ..Filter::default()
    };
    let one = found(&logs, &span);
    assert_eq!(one.axis.duration_ns, 1_500 * MS);
    assert_eq!(one.axis.start_wall_ns, WALL_NS + S);
    assert_eq!(one.aggregate.contention().total(), (1, 500 * MS), "one ended in that time");
    let contended: Vec<_> = one.phases.iter().map(|phase| phase.contended_ns / MS).collect();
    let idle: Vec<_> = one.phases.iter().map(|phase| phase.idle_ns / MS).collect();
    assert_eq!((contended, idle), (vec![500, 0], vec![0, 500]));
    let long = Filter { min_wait_ns: duration_ns("200ms").unwrap(), ..Filter::default() };
    let one = found(&logs, &long);
    assert_eq!((one.distributions.all().count(), one.delays.threads.len()), (2, 2));
    let idle = Filter { kinds: Kinds::idle(), ..Filter::default() };
    let one = found(&logs, &idle);
    assert_eq!(one.distributions.all().count(), 1, "idle waits are shown when asked for alone");
    assert_eq!(one.phases[2].contended_ns, 0);
    let all = Filter { kinds: Kinds::all(), ..Filter::default() };
    assert_eq!(found(&logs, &all).distributions.all().count(), 4, "and left out otherwise");
}

#[test]
fn waits_that_have_not_ended_and_virtual_threads_count_in_pressure() {
    let mut bank = Bank::new(&[]);
    let virtual_thread = bank.log.thread(99, "", "", thread_flag::VIRTUAL).unwrap();
    bank.log.switch(bank.lanes[2], virtual_thread).unwrap();
    bank.wait(2, ACCOUNT, 1_000 * MS, 1_500 * MS);
    let pending = |thread: u32, kind, start_ns| Pending {
        thread,
        kind,
        stack: 0,
        lock: 1,
        owner: 0,
        start_ns,
        seen_ns: 0,
        flags: 0,
    };
    for (thread, kind) in [(0, WaitKind::Monitor), (1, WaitKind::Park)] {
        bank.log.pending(&pending(bank.threads[thread], kind, END_NS - S)).unwrap();
    }
    let tally = Tally { ended: 10, recorded: 1, folded: 2, dropped: 7 };
    bank.log.counters(&Counters { lane: 1, contention: tally, other: Tally::default() }).unwrap();
    let logs = [bank.finish()];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    assert_eq!(
        found.threads,
        Threads {
            count: 4,
            is_virtual: 1,
            lived_ns: 12_500 * MS,
            assumed: 4,
            pending: 1,
            pending_ns: S,
        }
    );
    let last = found.phases[3];
    assert_eq!((last.contended_ns, last.idle_ns), (S, S));
    assert_eq!(found.phases[1].thread_ns, 3_500 * MS, "from its first wait to its last");
    let overview = Overview::of(&found);
    assert_eq!((overview.wait_ns, overview.dropped, overview.cost.waits), (500 * MS, 7, 10));
    assert_eq!((overview.pending, overview.pending_ns), (1, S));
    assert_eq!(overview.lost_share, (500 * MS + S) as f64 / (12_500 * MS) as f64);
}

#[test]
fn nobody_lives_in_a_pause() {
    let mut bank = usual(&[]);
    bank.log.pause(START_NS + S, 0).unwrap();
    bank.log.pause(START_NS + S, START_NS + 2 * S).unwrap();
    let logs = [bank.finish()];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    let lived: Vec<u64> = found.phases.iter().map(|phase| phase.thread_ns / MS).collect();
    assert_eq!(lived, [2_000, 0, 2_000, 2_000]);
    assert_eq!(found.threads.lived_ns, 6 * S);
    assert_eq!(Overview::of(&found).recorded_ns, 3 * S);
}

/// Waits that a pause comes between are recorded: what passed in it does not count.
#[test]
fn nobody_waits_in_a_pause() {
    let mut bank = Bank::new(&[]);
    bank.log.pause(START_NS + S, START_NS + 3 * S).unwrap();
    bank.wait(0, 0, 500 * MS, 3_500 * MS);
    bank.wait(1, 3, 500 * MS, 3_500 * MS);
    let logs = [bank.finish()];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    let phases: Vec<_> =
        found.phases.iter().map(|p| (p.contended_ns / MS, p.idle_ns / MS)).collect();
    assert_eq!(phases, [(500, 500), (0, 0), (0, 0), (500, 500)]);
    let overview = Overview::of(&found);
    assert_eq!((overview.wait_ns, overview.threads.idle_ns), (3 * S, S));
    assert_eq!(overview.lost_share, S as f64 / found.threads.lived_ns as f64);
}

#[test]
fn threads_of_several_files_of_a_recording_are_counted_once() {
    let count = |recordings: [&str; 2]| {
        let logs = recordings.map(|id| usual(&[("recording", id)]).finish());
        let filter = Filter::default();
        let found = found(&logs, &filter);
        (found.threads.count, found.threads.assumed)
    };
    assert_eq!(count(["a", "a"]), (3, 2));
    assert_eq!(count(["a", "b"]), (6, 4));
}

#[test]
fn threads_of_the_jvm_have_neither_lives_nor_idle_time() {
    let count = |with_jvms: bool| {
        let mut bank = usual(&[]);
        if with_jvms {
            for (java_id, group) in [(50, "system"), (51, "InnocuousThreadGroup")] {
                let thread = bank.log.thread(java_id, "its own", group, 0).unwrap();
                let pending = Pending {
                    thread,
                    kind: WaitKind::ObjectWait,
                    stack: 0,
                    lock: 1,
                    owner: 0,
                    start_ns: END_NS - S,
                    seen_ns: 0,
                    flags: 0,
                };
                bank.log.pending(&pending).unwrap();
            }
        }
        let logs = [bank.finish()];
        let filter = Filter::default();
        let found = found(&logs, &filter);
        (found.threads, found.phases.clone())
    };
    assert_eq!(count(true), count(false));
}

#[test]
fn cost_is_what_the_agent_measured() {
    let files: Vec<Recording> = [(0, 300), (1, 500)]
        .map(|(number, own_ns)| {
            let number = format!("{number}");
            let mut bank = Bank::from(
                &[
                    ("mode", "trace"),
                    ("recording", "r"),
                    ("file-number", &number),
                    ("threshold", "auto: an undelayed wait costs 1200 ns; × 6, at least 10 µs"),
                ],
                WALL_NS + own_ns,
            );
            bank.log.statistic("own.native_ns", own_ns).unwrap();
            bank.log.statistic("events.lost", 4).unwrap();
            bank.log.statistic("threads.untraced", 3).unwrap();
            let tally = Tally { ended: 5, ..Tally::default() };
            let counters = Counters { lane: 1, contention: tally, other: Tally::default() };
            bank.log.counters(&counters).unwrap();
            bank.finish()
        })
        .into();
    let filter = Filter::default();
    let cost = Overview::of(&found(&files, &filter)).cost;
    // Three threads, two logs, of 4 s each.
    let share = (12_000.0 + 500.0) / (24.0 * S as f64);
    assert_eq!((cost.waits, cost.waits_ns, cost.share), (10, Some(12_000), Some(share)));
    let few = Filter { thread: regex::Regex::new("clerk").ok(), ..Filter::default() };
    let filtered = Overview::of(&found(&files, &few)).cost;
    assert_eq!(filtered, cost, "it is that of the whole recording, whatever is looked at");
    let rest = Overview::of(&found(&files[1..], &filter)).cost;
    assert_eq!((rest.own_ns.get("native"), rest.share), (Some(&500), None), "since when?");
    assert_eq!(cost.own_ns.get("native"), Some(&500), "a total so far: the last file's");
    assert_eq!((cost.lost_records, cost.untraced_threads), (4, 3));
}

#[test]
fn cpu_times_are_those_of_the_last_file_of_each_recording() {
    let log = |recording: &str, number: &str, times: &[(&str, u64)]| {
        let known = [("mode", "trace"), ("recording", recording), ("file-number", number)];
        let mut bank = Bank::from(&known, WALL_NS);
        for &(key, value) in times {
            bank.log.statistic(key, value).unwrap();
        }
        bank.finish()
    };
    let times =
        |n: u64| [("cpu.process_ns", 100 * n), ("cpu.callbacks_ns", 2 * n), ("cpu.threads_ns", n)];
    let own = |logs: &[Recording]| Overview::of(&found(logs, &Filter::default())).cost.own_cpu;
    let one = own(&[log("a", "0", &times(5)), log("a", "1", &times(10))]).unwrap();
    assert_eq!((one.process_ns, one.own_ns, one.probes_ns), (1000, 30, None));
    assert_eq!(own(&[log("a", "1", &times(10))]), Some(one), "earlier files are not needed");
    let traced = [times(30).as_slice(), &[("cpu.probes_ns", 70)]].concat();
    let logs = [log("a", "1", &times(10)), log("b", "0", &traced)];
    let both = own(&logs).unwrap();
    assert_eq!((both.process_ns, both.own_ns, both.probes_ns), (4000, 190, Some(70)));
    assert_eq!(both.share, Some(0.0475));
    assert_eq!(own(&[log("a", "1", &times(10)), log("b", "0", &[])]), None, "part of it only");
}

#[test]
fn one_damaged_log_is_not_all() {
    let logs = ["damaged.log", "whole.log"].map(|name| {
        let mut bytes = usual(&[]).log.finish().unwrap().into_inner();
        if name == "damaged.log" {
            bytes.pop();
        }
        Recording::from_bytes(name, bytes).unwrap()
    });
    let filter = Filter::default();
    let found = found(&logs, &filter);
    assert!(!found.aggregate.damage.is_empty());
    let complete: Vec<bool> = LogFacts::of_all(&found).iter().map(|log| log.complete).collect();
    assert_eq!(complete, [false, true]);
    assert_eq!(Overview::of(&found).logs, LogFacts::of_all(&found));
}

#[test]
fn several_logs_have_one_axis() {
    let mut early = Bank::from(&[], WALL_NS);
    early.wait(0, ACCOUNT, 0, 100 * MS);
    let mut late = Bank::from(&[], WALL_NS + 10 * S);
    late.wait(0, ACCOUNT, 0, 300 * MS);
    let logs = [late.finish(), early.finish()];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    assert_eq!((found.axis.start_wall_ns, found.axis.duration_ns), (WALL_NS, 14 * S));
    assert_eq!(found.phases.len(), 14);
    assert_eq!((found.phases[0].contended_ns, found.phases[10].contended_ns), (100 * MS, 300 * MS));
    assert_eq!(found.phases[6].thread_ns, 0, "nobody was recorded then");
    let contended = Contended::of(&found, &ReportOptions::default());
    assert_eq!((contended.locks.len(), contended.locks[0].lock.id), (1, 0));
    assert_eq!(contended.locks[0].instances.len(), 2);
}

/// Many waits of many threads on few lanes, in several chunks.
fn busy() -> Vec<Recording> {
    let mut bank = usual(&[("mode", "trace"), ("hold", "all")]);
    let mut at_ns = 3_501 * MS;
    for nth in 0..20_000u64 {
        let (thread, site) = ((nth % 3) as usize, (nth % 7 % 4) as usize);
        at_ns += nth % 50;
        let wait_ns = nth * 7_919 % (3 * MS);
        bank.wait(thread, site, at_ns - wait_ns, at_ns);
        if nth % 5 == 0 {
            bank.log.switch(bank.lanes[thread], bank.threads[(nth % 2) as usize]).unwrap();
        }
        bank.folded(thread, site, nth * 10_000, nth * 100_000, &[nth, 7]);
    }
    vec![bank.finish()]
}

#[test]
fn workers_change_nothing() {
    let logs = busy();
    let filter = Filter { kinds: Kinds::all(), ..Filter::default() };
    let json = |workers: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        pool.install(|| {
            let found = found(&logs, &filter);
            let options = ReportOptions::default();
            let answers = SECTIONS.iter().map(|of| (of.answer)(&found, &options).json.to_string());
            answers.collect::<Vec<String>>().join("\n")
        })
    };
    let one = json(1);
    assert!(one.len() > 5_000, "{one}");
    for workers in [2, 4] {
        assert_eq!(json(workers), one, "{workers} workers");
    }
}

#[test]
fn the_second_pass_agrees_with_the_profile() {
    let logs = busy();
    let filter = Filter::default();
    let found = found(&logs, &filter);
    let (count, wait_ns) = found.aggregate.contention().total();
    assert_eq!(found.distributions.all().count(), count);
    let timeline = WaitTimeline::of(&found, &ReportOptions::default());
    let sum: u64 = timeline.all_ns.iter().sum();
    let of_locks: u64 = timeline.locks.iter().flat_map(|of| &of.wait_ns).sum();
    let of_threads: u64 = timeline.threads.iter().flat_map(|of| &of.wait_ns).sum();
    let of_phases: u64 = found.phases.iter().map(|phase| phase.contended_ns).sum();
    assert_eq!([sum, of_locks, of_threads, of_phases], [wait_ns; 4]);
    let over = |waits: &[(u32, Delay)]| {
        waits.iter().fold((0, 0), |(n, ns), (_, d)| (n + d.count, ns + d.wait_ns))
    };
    let long = Filter { min_wait_ns: MS, ..Filter::default() };
    let long = aggregate(&logs, &long, &|_| {}).contention().total();
    assert_eq!((over(&found.delays.stacks), over(&found.delays.threads)), (long, long));
}

#[test]
fn an_empty_log_is_answered() {
    let logs = [Bank::new(&[]).finish()];
    let filter = Filter::default();
    let found = found(&logs, &filter);
    for section in SECTIONS {
        let answer =
            (section.answer)(&found, &ReportOptions { top: 0, ..ReportOptions::default() });
        assert!(answer.json.is_object(), "{}", section.name);
    }
    assert_eq!(Overview::of(&found).pressure_share, Some(0.0));
}
