//! What a series of dumps shows.

use super::{
    BlockedOn, CpuRow, DumpDeadlock, DumpFindings, DumpHolder, DumpWaiter, FullGroup, IdleThreads,
    StatePlace, StateRow, Unmoved, WaitingCrowd,
    series::{SeenDump, SeenThread, StackBook, class, method, series},
};
use crate::{Findings, findings::program::ProgramCode};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};
use tyrion_formats::HolderSource;
use tyrion_model::states::State;

/// So many dumps tell a moment from what lasts.
const SERIES: usize = 3;
/// Of how many threads names are listed.
const NAMES: usize = 10;

/// Looks at the dumps of these logs; `None` if they have none.
pub(super) fn find(findings: &Findings<'_>) -> Option<DumpFindings> {
    let book = StackBook::of(findings.logs, &findings.program);
    let dumps = series(findings, &book);
    let last = dumps.last()?;
    let (first_ns, last_ns) = (dumps.first()?.dump.wall_ns, last.dump.wall_ns);
    let deadlocks = deadlocks(last);
    let told = last.dump.told_deadlocked.iter().collect::<BTreeSet<_>>();
    let (running, native, waiting) = busiest(last, &dumps);
    let still = still(&dumps);
    Some(DumpFindings {
        dumps: dumps.len() as u64,
        threads: last.threads.len() as u64,
        span_ns: first_ns.zip(last_ns).map(|(first, last)| last.saturating_sub(first)),
        states: states(last),
        told_deadlocked: told.len() as u64,
        deadlocks,
        blocked: blocked(&dumps),
        crowds: crowds(&dumps, &still, &findings.program),
        unmoved: unmoved(&dumps, &still),
        idle: idle(last),
        cpu: cpu(&dumps),
        running,
        native,
        waiting,
        full: full(&dumps, &findings.program),
        lacks_virtual: last.threads.iter().any(SeenThread::is_of_virtual)
            && !last.threads.iter().any(SeenThread::is_virtual),
    })
}

fn states(dump: &SeenDump<'_>) -> Vec<StateRow> {
    let count = |state| dump.threads.iter().filter(|it| it.state == state).count() as u64;
    let rows =
        State::ALL.into_iter().map(|state| StateRow { state: state.name(), threads: count(state) });
    rows.filter(|row| row.threads != 0).collect()
}

/// Where most of the threads are that run, that are in native code, and the others that wait
/// for something alone.
fn busiest(
    dump: &SeenDump<'_>,
    all: &[SeenDump<'_>],
) -> (Vec<StatePlace>, Vec<StatePlace>, Vec<StatePlace>) {
    let places = |state: &dyn Fn(&SeenThread<'_>) -> bool| {
        let mut places: BTreeMap<String, StatePlace> = BTreeMap::new();
        let mut often: HashMap<usize, usize> = HashMap::new();
        for thread in all.iter().flat_map(|dump| &dump.threads).filter(|it| state(it)) {
            *often.entry(thread.thread).or_default() += 1;
        }
        // What a thread of a longer series does once is a moment's.
        let least = if all.len() < SERIES { 1 } else { 2 };
        let is_often =
            |it: &&SeenThread<'_>| often.get(&it.thread).is_some_and(|&count| count >= least);
        for thread in dump.threads.iter().filter(|it| state(it)).filter(is_often) {
            let place = places.entry(thread.stack.place.clone()).or_default();
            place.place.clone_from(&thread.stack.place);
            place.count += 1;
            if place.threads.len() < NAMES {
                place.threads.push(thread.name());
            }
        }
        let mut places: Vec<StatePlace> = places.into_values().collect();
        places.sort_by_key(|place| Reverse(place.count));
        places
    };
    (
        places(&|it| it.state == State::Running),
        places(&|it| it.state == State::Native),
        places(&|it| it.is_asking()),
    )
}

/// Threads of a dump that wait for each other, each for a lock that the next one has.
fn deadlocks(dump: &SeenDump<'_>) -> Vec<DumpDeadlock> {
    let next: Vec<Vec<usize>> = dump.threads.iter().map(|it| holders(dump, it)).collect();
    let mut seen = vec![false; next.len()];
    let mut rings: Vec<DumpDeadlock> = Vec::new();
    for start in 0..next.len() {
        let Some(ring) = ring(start, &next, &mut seen) else { continue };
        let is_inferred = ring.iter().any(|&at| {
            dump.threads
                .get(at)
                .is_some_and(|it| it.dumped.owner_source == HolderSource::BeyondTheCall)
        });
        let members: BTreeSet<usize> = ring.iter().copied().collect();
        let threads = ring.iter().filter_map(|&at| waiter(dump, at)).collect();
        let behind = behind(&members, &next);
        rings.push(DumpDeadlock { threads, behind, is_inferred });
    }
    rings
}

/// Who has what a thread waits for, if it waits for as long as it takes.
fn holders(dump: &SeenDump<'_>, thread: &SeenThread<'_>) -> Vec<usize> {
    if !thread.is_blocked() || thread.dumped.is_timed {
        return Vec::new();
    }
    thread.dumped.owners.iter().filter_map(|&id| dump.place_of(id)).collect()
}

/// A circle that is reached from a thread and was not seen before. Each place is visited once.
fn ring(start: usize, next: &[Vec<usize>], seen: &mut [bool]) -> Option<Vec<usize>> {
    let mut path: Vec<(usize, usize)> = vec![(start, 0)];
    let mut on_path: HashMap<usize, usize> = HashMap::new();
    while let Some((at, nth)) = path.last().copied() {
        if nth == 0 {
            if seen.get(at).copied().unwrap_or(true) {
                path.pop();
                continue;
            }
            if let Some(seen) = seen.get_mut(at) {
                *seen = true;
            }
            on_path.insert(at, path.len() - 1);
        }
        if let Some(last) = path.last_mut() {
            last.1 += 1;
        }
        match next.get(at).and_then(|next| next.get(nth)).copied() {
            Some(to) => match on_path.get(&to) {
                Some(&from) => return Some(path.iter().skip(from).map(|it| it.0).collect()),
                None if !seen.get(to).copied().unwrap_or(true) => path.push((to, 0)),
                None => {}
            },
            None => {
                on_path.remove(&at);
                path.pop();
            }
        }
    }
    None
}

/// How many threads wait for these, directly or through others.
fn behind(members: &BTreeSet<usize>, next: &[Vec<usize>]) -> u64 {
    let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); next.len()];
    for (from, to) in
        next.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to)))
    {
        if let Some(waiters) = waiters.get_mut(to) {
            waiters.push(from);
        }
    }
    let mut reached = members.clone();
    let mut left: Vec<usize> = members.iter().copied().collect();
    while let Some(at) = left.pop() {
        for &from in waiters.get(at).into_iter().flatten() {
            if reached.insert(from) {
                left.push(from);
            }
        }
    }
    (reached.len() - members.len()) as u64
}

fn waiter(dump: &SeenDump<'_>, at: usize) -> Option<DumpWaiter> {
    let thread = dump.threads.get(at)?;
    let (class, lock) = thread.lock();
    Some(DumpWaiter {
        thread: thread.name(),
        kind: thread.dumped.kind.map_or("", |kind| kind.name()),
        class,
        lock,
        place: thread.stack.place.clone(),
        known_by: thread.dumped.owner_source.name(),
    })
}

/// A lock of one dump.
struct LockNow<'d, 'a> {
    dump: &'d SeenDump<'a>,
    waiters: Vec<&'d SeenThread<'a>>,
}

/// The locks that threads wait for. Addresses move between dumps, so a lock is one over a
/// series by its class, its name and where it is waited for.
fn blocked(dumps: &[SeenDump<'_>]) -> Vec<BlockedOn> {
    let mut all: BTreeMap<(String, String, String), BlockedOn> = BTreeMap::new();
    for dump in dumps {
        let mut locks: BTreeMap<(u32, u32), LockNow<'_, '_>> = BTreeMap::new();
        for thread in dump.threads.iter().filter(|it| it.is_blocked()) {
            // Of a lock that is not known, each waiter waits for one of its own.
            let nobody = if thread.dumped.lock == 0 { thread.dumped.thread } else { 0 };
            let now = locks.entry((thread.dumped.lock, nobody));
            let now = now.or_insert_with(|| LockNow { dump, waiters: Vec::new() });
            now.waiters.push(thread);
        }
        for now in locks.into_values() {
            let Some(first) = now.waiters.first() else { continue };
            let (class, name) = first.lock();
            let key = (class, name, first.stack.place.clone());
            let row = all.entry(key).or_default();
            row.seen(&now);
        }
    }
    let mut all: Vec<BlockedOn> = all.into_values().collect();
    all.sort_by_key(|row| {
        let has_holder = !row.holders.is_empty();
        (Reverse(row.in_all_dumps), Reverse(has_holder), Reverse(row.in_dumps), row.class.clone())
    });
    all
}

impl BlockedOn {
    /// Adds what a dump shows; the latest one says who.
    fn seen(&mut self, now: &LockNow<'_, '_>) {
        let Some(first) = now.waiters.first() else { return };
        (self.class, self.name) = first.lock();
        self.kind = first.dumped.kind.map_or("", |kind| kind.name());
        self.in_dumps += 1;
        let count = now.waiters.len() as u64;
        self.most_waiters = self.most_waiters.max(count);
        self.waiters = count;
        self.in_all_dumps += count;
        self.places = now
            .waiters
            .iter()
            .map(|it| it.stack.place.clone())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        self.threads = now.waiters.iter().take(NAMES).map(|it| it.name()).collect();
        let owners: BTreeMap<u32, HolderSource> = now
            .waiters
            .iter()
            .flat_map(|it| it.dumped.owners.iter().map(|&id| (id, it.dumped.owner_source)))
            .collect();
        let holders: Vec<DumpHolder> = owners
            .into_iter()
            .filter_map(|(id, source)| {
                let thread = now.dump.threads.get(now.dump.place_of(id)?)?;
                let took = took(thread, first);
                Some(DumpHolder { took, ..holder(thread, source) })
            })
            .collect();
        // Between two holders nobody has it; an earlier dump may tell.
        if !holders.is_empty() {
            self.holders = holders;
        }
    }
}

/// Where a thread took what another one waits for: where the dump says so, else the method in
/// which the other one waits.
fn took(holder: &SeenThread<'_>, waiter: &SeenThread<'_>) -> String {
    let held = holder.dumped.held.iter().zip(&holder.dumped.held_by_frame);
    let told = held.filter(|(lock, frame)| **lock == waiter.dumped.lock && **frame != 0);
    let frames = &holder.stack.frames;
    let told = told.filter_map(|(_, &frame)| frames.get(frame as usize - 1)).next();
    let place = &waiter.stack.place;
    let same = || frames.iter().find(|it| class(it) == class(place) && method(it) == method(place));
    told.or_else(same).cloned().unwrap_or_default()
}

/// The group of threads whose numbers stand in parentheses, `rooms(3)`, else the group.
fn pool_of(group: &str) -> String {
    let before =
        group.strip_suffix(')').map(|it| it.trim_end_matches(|c: char| c.is_ascii_digit()));
    before.filter(|it| it.ends_with('(')).map_or_else(|| group.to_owned(), |it| format!("{it}*)"))
}

/// Groups of which all threads, in all dumps, were at work: those that ran tasks of a pool, and
/// those that used a processor meanwhile, as who only sleeps does not.
fn full(dumps: &[SeenDump<'_>], program: &ProgramCode) -> Vec<FullGroup> {
    let mut groups: BTreeMap<String, Option<FullGroup>> = BTreeMap::new();
    let mut first: HashMap<usize, &SeenThread<'_>> = HashMap::new();
    for (nth, dump) in dumps.iter().enumerate() {
        let is_last = nth + 1 == dumps.len();
        for thread in &dump.threads {
            let first = first.entry(thread.thread).or_insert(thread);
            let has_run = !is_last || thread.stack.is_task || thread.has_run_since(first);
            let group = groups
                .entry(pool_of(&thread.group()))
                .or_insert_with(|| Some(FullGroup::default()));
            let Some(full) = group.as_mut().filter(|_| thread.is_at_work() && has_run) else {
                *group = None;
                continue;
            };
            full.count += u64::from(is_last);
            full.is_pool |= thread.stack.is_task;
            if is_last {
                let own = program.frame(&thread.stack.frames);
                full.place = own.map_or_else(|| thread.stack.place.clone(), str::to_owned);
            }
        }
    }
    let named = groups.into_iter().filter_map(|(group, full)| Some(FullGroup { group, ..full? }));
    let mut all: Vec<FullGroup> = named.filter(|it| it.count != 0).collect();
    all.sort_by_key(|it| (Reverse(it.is_pool), Reverse(it.count)));
    all
}

fn holder(thread: &SeenThread<'_>, source: HolderSource) -> DumpHolder {
    let (class, _) = thread.lock();
    DumpHolder {
        thread: thread.name(),
        state: thread.state.name(),
        place: thread.stack.place.clone(),
        took: String::new(),
        takes_input: thread.stack.takes_input(),
        waits_for: if thread.is_blocked() || thread.waits_for_ever() {
            class
        } else {
            String::new()
        },
        is_blocked: thread.is_blocked(),
        is_asking: thread.waits_for_ever(),
        known_by: source.name(),
        stack: thread.stack.frames.clone(),
    }
}

/// Threads that wait for what is no lock, and for as long as it takes: of a pool, by where it
/// is asked; else by where they wait.
fn crowds(
    dumps: &[SeenDump<'_>],
    still: &HashSet<usize>,
    program: &ProgramCode,
) -> Vec<WaitingCrowd> {
    let mut all: BTreeMap<(String, String), WaitingCrowd> = BTreeMap::new();
    for (nth, dump) in dumps.iter().enumerate() {
        let mut groups: HashMap<String, (u64, u64)> = HashMap::new();
        for thread in &dump.threads {
            let group = groups.entry(thread.group()).or_default();
            group.0 += 1;
            group.1 += u64::from(thread.state == State::Idle);
        }
        for thread in dump.threads.iter() {
            // A pool may be asked with a limit of time.
            let is_of_pool = thread.stack.borrows.is_some()
                && matches!(thread.state, State::Waiting | State::Parked);
            // Who is in such a wait in all dumps may begin it anew whenever its time is over.
            let is_of_program =
                || thread.is_deep() && program.frame(&thread.stack.frames).is_some();
            let waits_on = still.contains(&thread.thread)
                && (thread.stack.asks || is_of_program())
                && thread.is_asking_for_a_time();
            if !thread.is_asking() && !is_of_pool && !waits_on {
                continue;
            }
            let (place, caller) =
                thread.stack.borrows.clone().unwrap_or((thread.stack.place.clone(), String::new()));
            let (group, class) = (thread.group(), thread.lock().0);
            let crowd = all.entry((place.clone(), caller.clone())).or_default();
            crowd.see(nth, &group, groups.get(&group).copied().unwrap_or_default());
            crowd.is_pool = thread.stack.borrows.is_some();
            let own = program.frame(&thread.stack.frames).filter(|own| *own != place);
            crowd.own = own.unwrap_or_default().to_owned();
            (crowd.puts, crowd.meets) = (thread.stack.puts, thread.stack.meets);
            crowd.is_task = thread.stack.is_of_executor;
            crowd.asks =
                thread.stack.puts || thread.stack.asks || crowd.is_pool || thread.is_deep();
            let is_last = nth + 1 == dumps.len();
            crowd.unmoved += u64::from(is_last && still.contains(&thread.thread));
            (crowd.place, crowd.caller, crowd.class) = (place, caller, class);
            if crowd.names.len() < NAMES && !crowd.names.contains(&thread.name()) {
                crowd.names.push(thread.name());
            }
        }
    }
    let mut all: Vec<WaitingCrowd> = all.into_values().collect();
    for crowd in &mut all {
        crowd.per_dump.resize(dumps.len(), 0);
        crowd.count = crowd.per_dump.last().copied().unwrap_or(0);
        if let Some(last) = dumps.last().filter(|_| crowd.is_pool && crowd.count != 0) {
            crowd.holders = borrowers(last, crowd);
        }
        let mates: Vec<Option<DumpHolder>> = dumps.iter().map(|dump| mate(dump, crowd)).collect();
        if mates.iter().all(Option::is_some) {
            crowd.mate = mates.into_iter().flatten().next_back();
        }
    }
    all.sort_by_key(|crowd| {
        (Reverse(crowd.is_pool), Reverse(crowd.count), Reverse(crowd.per_dump.iter().sum::<u64>()))
    });
    all
}

/// Somebody of the same group who is at work, called by the method in which the others wait.
fn mate(dump: &SeenDump<'_>, crowd: &WaitingCrowd) -> Option<DumpHolder> {
    let own = if crowd.own.is_empty() { &crowd.place } else { &crowd.own };
    let is_there = |frame: &String| class(frame) == class(own) && method(frame) == method(own);
    let mut mates = dump.threads.iter().filter(|it| crowd.groups.contains(&it.group()));
    let found = mates.find(|it| it.is_at_work() && it.stack.frames.iter().any(is_there))?;
    Some(holder(found, HolderSource::BeyondTheCall))
}

/// Who seems to have what a crowd waits for.
fn borrowers(dump: &SeenDump<'_>, crowd: &WaitingCrowd) -> Vec<DumpHolder> {
    let has = |it: &SeenThread<'_>| it.stack.has_of_pool(&crowd.place, &crowd.caller);
    let found = dump.threads.iter().filter_map(|it| Some((it, has(it)?)));
    found
        .map(|(it, known_by)| DumpHolder { known_by, ..holder(it, HolderSource::Unknown) })
        .collect()
}

impl WaitingCrowd {
    fn see(&mut self, nth: usize, group: &str, of_group: (u64, u64)) {
        self.per_dump.resize(nth + 1, 0);
        if let Some(count) = self.per_dump.last_mut() {
            *count += 1;
        }
        if !self.groups.contains(&group.to_owned()) {
            self.groups.push(group.to_owned());
        }
        (self.of_group, self.idle_of_group) = of_group;
    }
}

/// Threads that have the same stack in all dumps; none of a single one.
fn still(dumps: &[SeenDump<'_>]) -> HashSet<usize> {
    let [first, others @ ..] = dumps else { return HashSet::new() };
    let mut still: HashMap<usize, &SeenThread<'_>> = match others {
        [] => HashMap::new(),
        _ => first.threads.iter().map(|it| (it.thread, it)).collect(),
    };
    for dump in others {
        let now: HashMap<usize, &SeenThread<'_>> =
            dump.threads.iter().map(|it| (it.thread, it)).collect();
        still.retain(|thread, before| {
            now.get(thread).is_some_and(|now| {
                now.stack.frames == before.stack.frames
                    && now.lock().0 == before.lock().0
                    && !now.has_run_since(before)
            })
        });
    }
    still.into_keys().collect()
}

/// Threads that have done nothing between the first dump and the last, and are not idle.
fn unmoved(dumps: &[SeenDump<'_>], still: &HashSet<usize>) -> Vec<Unmoved> {
    let Some(last) = dumps.last() else { return Vec::new() };
    let is_stuck = |it: &&SeenThread<'_>| {
        let waits = !matches!(it.state, State::Idle | State::Sleeping);
        waits && still.contains(&it.thread) && !it.stack.frames.is_empty()
    };
    let stuck = last.threads.iter().filter(is_stuck);
    stuck
        .map(|it| Unmoved {
            thread: it.name(),
            state: it.state.name(),
            place: it.stack.place.clone(),
        })
        .collect()
}

fn idle(dump: &SeenDump<'_>) -> Vec<IdleThreads> {
    let mut groups: BTreeMap<(String, String), u64> = BTreeMap::new();
    for thread in &dump.threads {
        if thread.state == State::Idle && !thread.stack.frames.is_empty() {
            *groups.entry((thread.group(), thread.stack.place.clone())).or_default() += 1;
        }
    }
    let rows =
        groups.into_iter().map(|((threads, place), count)| IdleThreads { threads, count, place });
    let mut rows: Vec<IdleThreads> = rows.collect();
    rows.sort_by_key(|row| Reverse(row.count));
    rows
}

/// The CPU time between the first dump and the last that have it; of a single dump, since the
/// threads' start.
fn cpu(dumps: &[SeenDump<'_>]) -> Vec<CpuRow> {
    let Some(last) = dumps.last() else { return Vec::new() };
    let first: HashMap<usize, &SeenThread<'_>> = match dumps {
        [first, _, ..] => first.threads.iter().map(|it| (it.thread, it)).collect(),
        _ => HashMap::new(),
    };
    let mut rows = Vec::new();
    for thread in &last.threads {
        let Some(now_ns) = thread.dumped.cpu_ns else { continue };
        let before = first.get(&thread.thread).map(|it| it.dumped);
        let since_ns = before.and_then(|it| it.cpu_ns).unwrap_or(0);
        let before_ns = before.and_then(|it| it.elapsed_ns).unwrap_or(0);
        let elapsed_ns = thread.dumped.elapsed_ns.map(|now| now.saturating_sub(before_ns));
        let cpu_ns = now_ns.saturating_sub(since_ns);
        rows.push(CpuRow { thread: thread.name(), cpu_ns, elapsed_ns, state: thread.state.name() });
    }
    rows.retain(|row| row.cpu_ns != 0);
    rows.sort_by_key(|row| (Reverse(row.cpu_ns), row.thread.clone()));
    rows
}
