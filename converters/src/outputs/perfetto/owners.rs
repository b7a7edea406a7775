//! Where the owner of a lock had taken it, as far as that is known.

use super::super::held::function;
use std::collections::HashMap;
use tyrion_formats::{Recording, UNKNOWN};
use tyrion_model::{
    describe::Names,
    names,
    profile::Function,
    timeline::{Item, Release, Timeline, Wait},
};
use tyrion_wire::{WaitKind, def::id};

/// A method of a log and a line in it.
type MethodLine = (u32, u32);

/// Where owners of locks had taken them. In trace mode a release tells, if there are
/// not too many items between it and the beginning of the wait; otherwise whoever ended the
/// wait and was the owner, by its stack.
#[derive(Default)]
pub(super) struct OwnerPlaces {
    /// By log and waiter, in the order of time.
    releases: HashMap<(u32, u32), Vec<Release>>,
    /// What places are called, by log.
    names: HashMap<(u32, MethodLine), String>,
}

impl OwnerPlaces {
    /// Takes up the releases among items, in place of those before.
    pub(super) fn take<'i>(&mut self, items: impl Iterator<Item = &'i Item>) {
        self.releases.clear();
        for item in items {
            if let Item::Release(release) = item {
                let key = (release.run, release.waiter_id);
                self.releases.entry(key).or_default().push(*release);
            }
        }
    }

    /// The method in which the owner had taken what a wait is for, as Android's runtime
    /// writes it.
    pub(super) fn method(&mut self, timeline: &Timeline<'_>, wait: &Wait) -> String {
        let log = timeline.logs().get(wait.run as usize);
        let place = log.and_then(|log| self.place(log, wait));
        let Some((log, place)) = log.zip(place) else { return unknown() };
        let name = self.names.entry((wait.run, place));
        name.or_insert_with(|| names::art(&function(log, place.0), place.1)).clone()
    }

    fn place(&self, log: &Recording, wait: &Wait) -> Option<MethodLine> {
        let of_stack = |stack_id: u32| of_stack(log, stack_id, wait.kind);
        let released = self.release_of(wait).and_then(|release| {
            let place = log.definitions().places().get(release.place);
            let place = place.filter(|place| place.method != id::UNKNOWN);
            place.map(|place| (place.method, place.line)).or_else(|| of_stack(release.stack_id))
        });
        let waker = wait.waker.filter(|waker| waker.thread_id == wait.owner);
        released.or_else(|| of_stack(waker?.stack_id))
    }

    /// The first release that ended a part of a wait.
    fn release_of(&self, wait: &Wait) -> Option<&Release> {
        let releases = self.releases.get(&(wait.run, wait.thread_id))?;
        let first = releases.partition_point(|release| release.at_ns < wait.start_ns);
        let within = releases.get(first..)?.iter();
        let mut within = within.take_while(|release| release.at_ns <= wait.end_ns);
        within.find(|release| release.site == wait.site)
    }
}

/// The frame of a stack that released a lock: the innermost one, but for those of
/// `java.util.concurrent` where the lock is of that.
fn of_stack(log: &Recording, stack_id: u32, kind: WaitKind) -> Option<MethodLine> {
    let definitions = log.definitions();
    let is_own = |method: u32| {
        let method = definitions.methods().get(method);
        method.is_some_and(|method| !names::is_machinery(&Names(log).class(method.class)))
    };
    let innermost = definitions.stacks().get(stack_id)?;
    let (mut id, mut stack) = (stack_id, innermost);
    while kind != WaitKind::Monitor && !is_own(stack.method) {
        // Callers have lower ids; others are as good as lost.
        let caller = definitions.stacks().get(stack.parent).filter(|_| stack.parent < id);
        let Some(caller) = caller else { return Some((innermost.method, innermost.line)) };
        (id, stack) = (stack.parent, caller);
    }
    Some((stack.method, stack.line))
}

/// What stands for a method that is not known.
fn unknown() -> String {
    names::art(&Function { method: UNKNOWN.to_owned(), ..Function::default() }, 0)
}
