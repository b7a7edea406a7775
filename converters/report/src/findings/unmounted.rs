//! What virtual threads wait for that have no carrier meanwhile. No snapshot sees them; but they
//! park, also where they read from sockets, so their waits tell.

use super::{names, program::ProgramCode};
use std::collections::{BTreeMap, HashSet};
use tyrion_formats::Recording;
use tyrion_model::{
    describe::Names,
    names::is_jdk,
    profile::State,
    withheld::{Verdict, Withheld},
};

/// More frames of the program are not those of a loop that reads what comes.
const LOOP_FRAMES: usize = 5;

/// Waits with a stack, innermost frame first.
pub(super) struct Unmounted {
    pub(super) frames: Vec<String>,
    pub(super) state: State,
    pub(super) wall_ns: u64,
}

/// Those of `log`, the `run`-th: reading an answer is as being in native code, and reading the
/// next request is idleness.
pub(super) fn find(
    (run, log): (usize, &Recording),
    judged: &Withheld,
    program: &ProgramCode,
) -> Vec<Unmounted> {
    let threads = log.definitions().threads();
    let is_virtual = |thread: u32| threads.get(thread).is_some_and(|it| it.is_virtual);
    let mut stacks: BTreeMap<u32, u64> = BTreeMap::new();
    let mut add = |stack: u32, ns: u64| {
        let sum = stacks.entry(stack).or_default();
        *sum = sum.saturating_add(ns);
    };
    for waits in judged.waits(run).iter().filter(|it| is_virtual(it.thread)) {
        if let Some(site) = log.definitions().sites().get(waits.site) {
            add(site.stack, waits.wait_ns);
        }
    }
    for pending in log.pending().iter().filter(|it| is_virtual(it.thread)) {
        add(pending.stack, log.end_ns().saturating_sub(pending.start_ns));
    }
    let names = Names(log);
    let all: Vec<(u32, Vec<String>, u64)> =
        stacks.into_iter().map(|(stack, ns)| (stack, names.stack(stack), ns)).collect();
    let at_sockets = all.iter().filter(|(_, frames, _)| is_at_socket(frames));
    let readers: HashSet<String> =
        at_sockets.filter_map(|(_, frames, _)| Some(method(others(frames).next()?))).collect();
    let state = |stack: u32, frames: &[String]| match judged.why((run, log), stack) {
        _ if is_at_socket(frames) && asks(frames, &readers, program) => State::Native,
        _ if is_at_socket(frames) => State::Idle,
        _ if sleeps(frames) => State::Sleeping,
        Some(why) if why.verdict() == Verdict::Idle => State::Idle,
        _ => State::Parked,
    };
    let unmounted = |(stack, frames, wall_ns): (u32, Vec<String>, u64)| {
        let state = state(stack, &frames);
        Unmounted { frames, state, wall_ns }
    };
    all.into_iter().map(unmounted).collect()
}

/// The frames that are not the JDK's.
fn others(frames: &[String]) -> impl Iterator<Item = &String> {
    frames.iter().filter(|frame| !is_jdk(frame) && !names::is_machinery(frame))
}

fn method(frame: &str) -> String {
    frame.split('(').next().unwrap_or_default().to_owned()
}

fn is_at_socket(frames: &[String]) -> bool {
    let mut of_jdk = frames.iter().take_while(|frame| is_jdk(frame));
    of_jdk.any(|frame| frame.starts_with("sun.nio.ch."))
}

fn sleeps(frames: &[String]) -> bool {
    let mut of_jdk = frames.iter().take_while(|frame| is_jdk(frame));
    of_jdk.any(|frame| frame.starts_with("java.lang.Thread.sleep"))
}

/// Whether what is read is an answer: the program's own code asks for it, in the work that another
/// read has brought, or far from a loop.
fn asks(frames: &[String], readers: &HashSet<String>, program: &ProgramCode) -> bool {
    let is_in_work = || {
        let outer = others(frames).skip(1).any(|frame| readers.contains(&method(frame)));
        outer || others(frames).count() > LOOP_FRAMES
    };
    program.frame(frames).is_some() && is_in_work()
}

#[cfg(test)]
mod tests;
