//! The verdict on thread dumps. They tell who waits for whom at a moment, and nothing of
//! durations: so it is about what cannot go on, then about whom most threads wait for, then
//! about what they do.

use super::{Advice, Certainty, Finding, Kind, Verdict};
use crate::{
    Findings,
    sections::dumps::{
        BlockedOn, DumpDeadlock, DumpFindings, DumpHolder, FullGroup, WaitingCrowd, are_dumps,
        brief, dump_findings,
    },
};
use tyrion_model::{harmless, states::State, units};
use tyrion_wire::WaitKind;

/// So many dumps show what was there for a moment only.
const SERIES: u64 = 3;
/// Threads that use less than this share of a processor hardly compute, wherever they are seen.
const BARELY: f64 = 0.1;
/// Classes of the JDK that do not tell what is waited for.
const PLAIN: [&str; 4] = [
    "java.lang.Object",
    "java.util.concurrent.CountDownLatch",
    "java.util.concurrent.locks.",
    "java.util.concurrent.Semaphore",
];
/// So many threads that wait at one place are a crowd.
const CROWD: u64 = 3;

/// The verdict, if all logs are thread dumps.
pub(super) fn verdict(findings: &Findings<'_>) -> Option<Verdict> {
    let found = dump_findings(findings).filter(|_| are_dumps(findings))?;
    let mut verdict = Verdict { certainty: Certainty::Exact, ..Verdict::default() };
    let blocked = found
        .blocked
        .iter()
        .filter(|it| is_lasting(it, &found))
        .max_by_key(|it| (it.in_all_dumps, !it.holders.is_empty()));
    let pool = found.crowds.iter().find(|it| it.is_pool && it.count >= CROWD);
    let crowd = crowd(&found);
    if let Some(deadlock) = found.deadlocks.first() {
        of_deadlock(&mut verdict, deadlock, &found);
    } else if let Some(pool) = pool.filter(|it| blocked.is_none_or(|lock| lock.waiters < it.count))
    {
        of_pool(&mut verdict, pool, &found, findings);
    } else if let Some(lock) = blocked {
        of_lock(&mut verdict, lock, &found);
    } else if let Some((crowd, full)) = served(&found, findings) {
        of_served(&mut verdict, crowd, &full);
    } else if let Some(crowd) = crowd {
        of_crowd(&mut verdict, crowd, &found);
    } else {
        of_work(&mut verdict, &found);
    }
    // A moment shows what threads do, and not for how long.
    let is_of_moments = matches!(verdict.finding, Finding::NotLocks | Finding::NotRecorded);
    if is_of_moments || found.dumps == 1 && verdict.finding != Finding::Deadlock {
        verdict.certainty = Certainty::Inferred;
    }
    if found.told_deadlocked != 0 && found.deadlocks.is_empty() {
        verdict.lines.push(
            "! The JVM tells of a deadlock in its own section, and the stacks do not show it: \
             look at that section."
                .to_owned(),
        );
    }
    verdict.lines.push(basis(&found, verdict.finding));
    verdict.next = "tyrion dump-threads PID -n 5 --every 1s".to_owned();
    Some(verdict)
}

/// Whether threads waited for a lock in more than a moment: each dump may meet somebody who waits
/// for an instant.
fn is_lasting(lock: &BlockedOn, found: &DumpFindings) -> bool {
    // One thread waits for what comes in, the others for their turn to do so.
    let is_turn = lock.holders.first().is_some_and(|it| it.takes_input);
    !is_turn && (found.dumps < SERIES || lock.in_dumps > 1 || lock.in_all_dumps >= CROWD)
}

/// The lock that those wait for who have what is waited for: the last one of the chain.
fn root<'f>(lock: &'f BlockedOn, found: &'f DumpFindings) -> &'f BlockedOn {
    let mut at = lock;
    // Each step is to another lock, as circles are deadlocks; inferred ones may be there, too.
    for _ in 0..found.blocked.len() {
        let holder = at.holders.first().filter(|it| it.is_blocked);
        let is_its = |it: &&BlockedOn, by: &DumpHolder| {
            !std::ptr::eq(*it, at) && it.class == by.waits_for && it.places.contains(&by.place)
        };
        let next = holder.and_then(|by| found.blocked.iter().find(|it| is_its(it, by)));
        match next {
            Some(next) if !std::ptr::eq(next, lock) => at = next,
            _ => break,
        }
    }
    at
}

/// A crowd that waits in all dumps for those who are at work in all of them: for room in a queue,
/// or for results.
fn served<'f>(
    found: &'f DumpFindings,
    findings: &Findings<'_>,
) -> Option<(&'f WaitingCrowd, FullGroup)> {
    let is_there = |it: &&WaitingCrowd| {
        (it.asks || it.meets)
            && !it.is_pool
            && found.dumps > 1
            && it.per_dump.iter().all(|&count| count != 0)
    };
    let mate = |crowd: &WaitingCrowd| {
        let mate = crowd.mate.as_ref()?;
        let own = findings.program.frame(&mate.stack).unwrap_or(&mate.place).to_owned();
        Some(FullGroup { group: mate.thread.clone(), count: 1, place: own, is_pool: false })
    };
    let mut crowds = found.crowds.iter().filter(is_there);
    crowds.find_map(|crowd| {
        let serves = |it: &&FullGroup| {
            !crowd.meets && (it.is_pool || crowd.puts) && !crowd.groups.contains(&it.group)
        };
        let full = found.full.iter().find(serves).cloned();
        Some((crowd, full.or_else(|| mate(crowd))?))
    })
}

fn of_served(verdict: &mut Verdict, crowd: &WaitingCrowd, full: &FullGroup) {
    verdict.kind = Kind::Wait;
    verdict.advice = if crowd.puts { Advice::DrainFaster } else { Advice::SpeedUpTask };
    verdict.finding = Finding::Unanswered;
    verdict.certainty = Certainty::Inferred;
    name_crowd(verdict, crowd);
    verdict.holder.clone_from(&full.group);
    verdict.holder_own.clone_from(&full.place);
    let (who, wait) = (some(&crowd.names, crowd.count), verb(crowd.count, "waits", "wait"));
    let what = match (crowd.puts, crowd.meets) {
        (true, _) => "room in a queue",
        (_, true) => "others to come to the same point",
        _ => "results",
    };
    verdict.lines.push("No thread waits for a lock.".to_owned());
    verdict.lines.push(format!("{who} {wait} for {what} in {}.", at(&crowd.place)));
    verdict.lines.push(format!(
        "Probably for {}, {} that {} at work in all dumps, as in {}.",
        name(&full.group),
        threads(full.count),
        verb(full.count, "was", "were"),
        at(&full.place)
    ));
    verdict.lines.push("→ Make that faster, or have more threads for it.".to_owned());
}

/// How many threads work.
fn working(found: &DumpFindings) -> u64 {
    found.running.iter().chain(&found.native).map(|it| it.count).sum()
}

/// What is not for locks, and who waits has asked for: a crowd, or one that waits for an answer
/// where nobody works. Over a series, those count that have not moved.
fn crowd(found: &DumpFindings) -> Option<&WaitingCrowd> {
    let works = working(found);
    let count = |it: &WaitingCrowd| if found.dumps == 1 { it.count } else { it.unmoved };
    let mut asking = found.crowds.iter().filter(|it| it.asks && count(it) != 0);
    asking.find(|it| count(it) >= CROWD || works == 0)
}

fn name(text: &str) -> String {
    harmless::name(text).into_owned()
}

/// `com.acme.Foo.bar(Foo.java:12)` in few letters.
fn at(frame: &str) -> String {
    name(&brief(frame))
}

/// `a, b and 3 more`.
fn some(names: &[String], count: u64) -> String {
    let shown: Vec<String> = names.iter().take(3).map(|it| name(it)).collect();
    match count.saturating_sub(shown.len() as u64) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), units::thousands(more)),
    }
}

fn threads(count: u64) -> String {
    units::counted(count, "thread")
}

/// Whether one does, or several do.
fn verb(count: u64, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

/// What a lock is called.
fn lock_name(class: &str, lock: &str) -> String {
    match (class, lock) {
        ("", "") => "a lock that the dump does not name".to_owned(),
        (_, "") => name(class),
        (_, lock) => name(lock),
    }
}

fn of_deadlock(verdict: &mut Verdict, deadlock: &DumpDeadlock, found: &DumpFindings) {
    verdict.finding = Finding::Deadlock;
    (verdict.kind, verdict.advice) = (Kind::Deadlock, Advice::SameOrder);
    let all = &deadlock.threads;
    let join = |of: &dyn Fn(usize) -> String| (0..all.len()).map(of).collect::<Vec<_>>().join(", ");
    let waiter = |nth: usize| all.get(nth % all.len().max(1)).cloned().unwrap_or_default();
    verdict.name = join(&|nth| waiter(nth).class);
    verdict.holder = join(&|nth| waiter(nth + 1).thread);
    verdict.waiter = join(&|nth| waiter(nth).place);
    verdict.waiting = all.iter().map(|it| it.thread.clone()).collect();
    verdict.contended = all.len() as u64 + deadlock.behind;
    let shown = (0..all.len().min(4)).map(|nth| {
        let (it, next) = (waiter(nth), waiter(nth + 1));
        let lock = lock_name(&it.class, &it.lock);
        format!("{} waits for {lock}, which {} has", name(&it.thread), name(&next.thread))
    });
    let more =
        if all.len() > 4 { format!("; and so on, {} threads", all.len()) } else { String::new() };
    let shown: Vec<String> = shown.collect();
    verdict.lines.push(format!("Deadlock: {}{more}.", shown.join("; ")));
    if deadlock.is_inferred {
        verdict.certainty = Certainty::Inferred;
        verdict.lines.push("! Who has one of these locks is inferred from the stacks.".to_owned());
    }
    let members = all.len() as u64;
    if deadlock.behind != 0 {
        let (count, wait) = (threads(deadlock.behind), verb(deadlock.behind, "waits", "wait"));
        verdict.lines.push(format!("{count} more {wait} behind them."));
    }
    if found.told_deadlocked > members && found.deadlocks.len() == 1 {
        verdict.lines.push(format!(
            "The JVM lists {} threads; those that are not in the circle only wait for it.",
            found.told_deadlocked
        ));
    }
    let is_of_class = all.iter().any(|it| it.known_by == "initializer");
    verdict.lines.push(match is_of_class {
        true => "→ Initialize one of the classes before the other threads start.".to_owned(),
        false => "→ Take the locks in the same order everywhere.".to_owned(),
    });
}

fn of_lock(verdict: &mut Verdict, most: &BlockedOn, found: &DumpFindings) {
    let lock = root(most, found);
    verdict.finding = Finding::StillWaiting;
    (verdict.kind, verdict.advice) = (Kind::Lock, Advice::ShortenHold);
    let what = &lock_name(&lock.class, &lock.name);
    let place = lock.places.first().map_or_else(String::new, |it| at(it));
    let tells_nothing = ["java.lang.Object", "java.lang.Class"].contains(&lock.class.as_str());
    verdict.name = match tells_nothing && lock.name.is_empty() && !place.is_empty() {
        true => format!("{what} in {place}"),
        false => what.clone(),
    };
    verdict.waiter = lock.places.first().cloned().unwrap_or_default();
    verdict.waiting.clone_from(&lock.threads);
    verdict.contended = lock.waiters;
    let who = some(&lock.threads, lock.waiters);
    let wait = verb(lock.waiters, "waits", "wait");
    let count = threads(lock.waiters);
    let place = lock.places.iter().map(|it| at(it)).collect::<Vec<_>>().join(", ");
    let begin = format!("{count} ({who}) {wait} for {what} in {place}");
    let Some(holder) = lock.holders.first() else {
        verdict.certainty = Certainty::Inferred;
        verdict.lines.push(format!("{begin}. The dump does not tell who has it."));
        // Of monitors dumps tell who has them: nobody in any of these, so that it is something
        // else that keeps those who wait.
        if found.dumps > 1 && lock.kind == WaitKind::Monitor.name() {
            (verdict.kind, verdict.advice) = (Kind::Unclear, Advice::RecordMore);
            verdict.lines.push("→ Record the program: tyrion attach PID.".to_owned());
            return;
        }
        verdict.lines.push(
            "→ Take the dump with jstack -l, or jcmd PID Thread.print -l: it names owners of \
             java.util.concurrent."
                .to_owned(),
        );
        return;
    };
    verdict.holder.clone_from(&holder.thread);
    verdict.holder_own.clone_from(if holder.took.is_empty() {
        &holder.place
    } else {
        &holder.took
    });
    let names: Vec<String> = lock.holders.iter().map(|it| it.thread.clone()).collect();
    let is_inferred = holder.known_by == "beyond-the-call";
    let many = lock.holders.len() as u64;
    let (has, seems) = (verb(many, "has", "have"), verb(many, "seems", "seem"));
    let held = match is_inferred {
        true => format!(
            "{} {seems} to have it: {} in the same method, beyond that call",
            some(&names, many),
            verb(many, "it is", "they are")
        ),
        false => format!("{} {has} it", some(&names, many)),
    };
    verdict.lines.push(format!("{begin}. {held}."));
    if is_inferred || lock.in_dumps < found.dumps {
        verdict.certainty = Certainty::Inferred;
    }
    let name_of = name(&holder.thread);
    let class = |class: &str| if class.is_empty() { "something".to_owned() } else { name(class) };
    if holder.known_by == "initializer" {
        (verdict.kind, verdict.advice) = (Kind::Wait, Advice::InitializeEarlier);
    }
    if holder.is_asking {
        (verdict.kind, verdict.advice) = (Kind::Deadlock, Advice::Signal);
        verdict.lines.push(format!(
            "{name_of} itself waits for {}, without a limit, in {}: if one of those who wait for \
             it is to bring that, none of them ever goes on.",
            class(&holder.waits_for),
            at(&holder.place)
        ));
        verdict.lines.push("→ Do not wait for others while a lock is held.".to_owned());
    } else {
        let meanwhile = match holder.is_blocked {
            true => format!("waits for {} itself", class(&holder.waits_for)),
            false => format!("is {}", holder.state),
        };
        let took = match holder.took.as_str() {
            "" => String::new(),
            took if took == holder.place => String::new(),
            took => format!(" took it in {}, and", at(took)),
        };
        verdict.lines.push(format!("{name_of}{took} {meanwhile} in {}.", at(&holder.place)));
        verdict.lines.push(format!("→ Do less in {name_of} while it has the lock."));
    }
    if std::ptr::eq(most, lock) {
        others(verdict, found);
        return;
    }
    verdict.lines.push(format!(
        "{} more {} for {}, and stand behind that.",
        threads(most.waiters),
        verb(most.waiters, "waits", "wait"),
        lock_name(&most.class, &most.name)
    ));
}

/// What else waits, in a line.
fn others(verdict: &mut Verdict, found: &DumpFindings) {
    if let Some(pool) = found.crowds.iter().find(|it| it.is_pool && it.count != 0) {
        let wait = verb(pool.count, "waits", "wait");
        verdict.lines.push(format!(
            "{} {wait} for an object of a pool in {}.",
            threads(pool.count),
            at(&pool.place)
        ));
    }
}

fn of_pool(
    verdict: &mut Verdict,
    pool: &WaitingCrowd,
    found: &DumpFindings,
    findings: &Findings<'_>,
) {
    verdict.finding = Finding::Unanswered;
    (verdict.kind, verdict.advice) = (Kind::Wait, Advice::ReturnAlways);
    verdict.name.clone_from(&pool.place);
    verdict.waiter.clone_from(&pool.place);
    verdict.waiter_own.clone_from(&pool.caller);
    verdict.waiting.clone_from(&pool.groups);
    verdict.contended = pool.count;
    let is_all = pool.groups.len() == 1 && pool.count == pool.of_group;
    let group = pool.groups.first().map_or_else(String::new, |it| name(it));
    let who = match (is_all, pool.groups.len()) {
        (true, _) => format!("All {} threads of {group}", pool.count),
        (false, 1) => format!("{} of {} threads of {group}", pool.count, pool.of_group),
        _ => format!("{} of {}", threads(pool.count), some(&pool.groups, pool.groups.len() as u64)),
    };
    let caller = match pool.caller.as_str() {
        "" => String::new(),
        caller => format!(", called by {}", at(caller)),
    };
    verdict.lines.push(format!(
        "{who} wait for an object of a pool in {}{caller}: the pool is exhausted.",
        at(&pool.place)
    ));
    if let [first, .., last] = pool.per_dump[..] {
        let course = if last > first { ": more and more" } else { "" };
        verdict.lines.push(format!("In the dumps {} threads wait{course}.", pool.course()));
    }
    if found.dumps > 1 && pool.unmoved == pool.count && pool.holders.is_empty() {
        verdict.kind = Kind::NobodyAnswers;
        verdict.certainty = Certainty::Inferred;
        verdict.lines.push(
            "None of them has got one, and no thread is seen to use one: none comes back, or who \
             waits has them."
                .to_owned(),
        );
    }
    if let Some(first) = pool.holders.first() {
        // Who has its objects gives them back some time, if it is not waiting itself.
        if found.dumps > 1 && pool.holders.iter().any(|it| !it.is_blocked && !it.is_asking) {
            verdict.advice = Advice::LargerPool;
        }
        verdict.holder.clone_from(&first.thread);
        let own = findings.program.frame(&first.stack).unwrap_or(&first.place);
        own.clone_into(&mut verdict.holder_own);
        let many = pool.holders.len() as u64;
        let names: Vec<String> = pool.holders.iter().map(|it| it.thread.clone()).collect();
        verdict.lines.push(format!(
            "{} {} to have its objects: {} {} in {}.",
            some(&names, many),
            verb(many, "seems", "seem"),
            name(&first.thread),
            if first.is_blocked { "is blocked" } else { first.state },
            at(&first.place)
        ));
    }
    verdict.lines.push(
        "→ See that objects are given back also after errors; else use each for less time, or \
         have more."
            .to_owned(),
    );
    if let Some(lock) = found.blocked.first() {
        let holder = lock.holders.first();
        let held =
            holder.map_or_else(String::new, |it| format!(", which {} has", name(&it.thread)));
        let wait = verb(lock.waiters, "waits", "wait");
        verdict.lines.push(format!(
            "Besides, {} {wait} for {}{held}.",
            threads(lock.waiters),
            lock_name(&lock.class, &lock.name)
        ));
    }
}

/// What a crowd waits for and where. What is made of the JDK's has its name from who uses it.
fn name_crowd(verdict: &mut Verdict, crowd: &WaitingCrowd) {
    let is_plain = crowd.class.is_empty() || PLAIN.iter().any(|it| crowd.class.starts_with(it));
    verdict.name.clone_from(if is_plain { &crowd.place } else { &crowd.class });
    verdict.waiter.clone_from(&crowd.place);
    verdict.waiter_own.clone_from(&crowd.own);
    verdict.waiting.clone_from(&crowd.names);
}

fn of_crowd(verdict: &mut Verdict, crowd: &WaitingCrowd, found: &DumpFindings) {
    verdict.finding = Finding::Unanswered;
    (verdict.kind, verdict.advice) = (Kind::NobodyAnswers, Advice::Signal);
    verdict.certainty = Certainty::Inferred;
    name_crowd(verdict, crowd);
    if crowd.is_task && crowd.count == crowd.of_group && found.dumps > 1 {
        verdict.advice = Advice::SeparatePool;
    }
    let class = match crowd.class.as_str() {
        "" => "something".to_owned(),
        class => name(class),
    };
    let (who, wait) = (some(&crowd.names, crowd.count), verb(crowd.count, "waits", "wait"));
    verdict.lines.push("No thread waits for a lock.".to_owned());
    verdict.lines.push(format!(
        "{who} {wait} for {class} in {}, without a limit, and no thread is seen to work on it.",
        at(&crowd.place)
    ));
    verdict.lines.push(match verdict.advice {
        Advice::SeparatePool => {
            "→ All threads of the pool wait for what tasks of it may bring: let others run those."
                .to_owned()
        }
        _ => "→ Look at who should bring it; give the wait a limit.".to_owned(),
    });
}

fn of_work(verdict: &mut Verdict, found: &DumpFindings) {
    verdict.finding = Finding::NotLocks;
    let (running, native) = (found.running.first(), found.native.first());
    let count =
        |of: &[crate::sections::dumps::StatePlace]| of.iter().map(|it| it.count).sum::<u64>();
    let (computing, outside) = (count(&found.running), count(&found.native));
    let untold = found.states.iter().find(|it| it.state == State::Other.name());
    if untold.is_some() {
        of_untold(verdict);
        return;
    }
    if is_undecided(verdict, found) {
        return;
    }
    verdict.lines.push("No thread waits for a lock.".to_owned());
    if let Some(most) = running.filter(|_| !barely_computes(found)) {
        (verdict.kind, verdict.advice) = (Kind::Computes, Advice::ProfileCpu);
        verdict.name.clone_from(&most.place);
        let compute = verb(computing, "computes", "compute");
        verdict.lines.push(format!(
            "{} {compute}, first in {}.",
            threads(computing),
            at(&most.place)
        ));
        if let Some(waits) = found.waiting.first() {
            let wait = verb(waits.count, "waits", "wait");
            let who = some(&waits.threads, waits.count);
            verdict.lines.push(format!("{who} {wait} in {}, probably for them.", at(&waits.place)));
        }
        verdict.lines.push("→ Profile its CPU time.".to_owned());
    } else if let Some(most) = native {
        (verdict.kind, verdict.advice) = (Kind::Outside, Advice::LookOutside);
        verdict.name.clone_from(&most.place);
        let (are, count) = (verb(outside, "is", "are"), threads(outside));
        verdict.lines.push(format!("{count} {are} in native code, most in {}.", at(&most.place)));
        verdict.lines.push("→ Look at what it reads, writes, or calls outside.".to_owned());
    } else {
        (verdict.kind, verdict.advice) = (Kind::Idle, Advice::Nothing);
        verdict.lines.push("All threads wait for work, or sleep: it was idle.".to_owned());
    }
}

/// Whether the threads hardly used a processor from the first dump to the last; not if the dumps
/// do not tell.
fn barely_computes(found: &DumpFindings) -> bool {
    let elapsed_ns = found.cpu.iter().filter_map(|row| row.elapsed_ns).max().unwrap_or(0);
    let cpu_ns: u64 = found.cpu.iter().map(|row| row.cpu_ns).sum();
    found.dumps > 1 && elapsed_ns != 0 && (cpu_ns as f64) < BARELY * elapsed_ns as f64
}

/// Whether nobody works, and what the threads do may be nothing or all that they can.
fn is_undecided(verdict: &mut Verdict, found: &DumpFindings) -> bool {
    let computes = found.running.iter().any(|it| it.count != 0) && !barely_computes(found);
    if computes || !found.native.is_empty() {
        return false;
    }
    let crowd = found.crowds.iter().find(|it| it.count != 0 && !it.asks);
    let why = if found.lacks_virtual {
        "The program has virtual threads, which this kind of dump does not show.".to_owned()
    } else if let Some(crowd) = crowd {
        let (who, wait) = (some(&crowd.names, crowd.count), verb(crowd.count, "waits", "wait"));
        format!(
            "{who} {wait} in {}: that may be for work, or for what never comes. A dump does not \
             tell which.",
            at(&crowd.place)
        )
    } else if let Some(full) = found.full.iter().find(|it| it.is_pool && found.dumps > 1) {
        let who = match full.count {
            1 => format!("The only thread of {} was", name(&full.group)),
            count => format!("All {count} threads of {} were", name(&full.group)),
        };
        format!(
            "{who} at work in all dumps, as in {}. Whether more work waits for them, a dump does \
             not tell.",
            at(&full.place)
        )
    } else {
        return false;
    };
    (verdict.kind, verdict.advice) = (Kind::Unclear, Advice::RecordMore);
    verdict.finding = Finding::NotRecorded;
    verdict.certainty = Certainty::Inferred;
    verdict.lines.push("No thread is seen to wait for a lock.".to_owned());
    verdict.lines.push(why);
    verdict.lines.push(match found.lacks_virtual {
        true => "→ Take one with jcmd PID Thread.dump_to_file, or record the program.".to_owned(),
        false => "→ Record the program: tyrion attach PID.".to_owned(),
    });
    true
}

/// Before JDK 25, `Thread.dump_to_file` tells only stacks.
fn of_untold(verdict: &mut Verdict) {
    (verdict.kind, verdict.advice) = (Kind::Unclear, Advice::RecordMore);
    verdict.finding = Finding::NotRecorded;
    verdict.certainty = Certainty::Inferred;
    verdict.lines.push(
        "The dump does not tell which threads run and which wait for a monitor, as files of \
         Thread.dump_to_file before JDK 25 do not."
            .to_owned(),
    );
    verdict.lines.push("→ Take another one with jcmd PID Thread.print -l.".to_owned());
}

/// What all that rests on.
fn basis(found: &DumpFindings, finding: Finding) -> String {
    match (found.dumps, finding) {
        (1, Finding::Deadlock) => {
            "It rests on one dump, which is enough for a deadlock.".to_owned()
        }
        (1, _) => "It rests on one dump: a moment. What is the same in several, seconds apart, \
                   is certain."
            .to_owned(),
        (dumps, _) => {
            let stuck = found.unmoved.len() as u64;
            let have = verb(stuck, "thread that is not idle has", "threads that are not idle have");
            format!("It rests on {dumps} dumps; {stuck} {have} not moved between them.")
        }
    }
}
