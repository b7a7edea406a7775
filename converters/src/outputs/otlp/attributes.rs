//! What tells samples of one stack apart: attributes, named as OpenTelemetry names those
//! that it knows, or like them.

use super::dictionary::Dictionary;
use crate::outputs::{
    OutputOptions,
    rows::{OutputRow, RowOwner},
};
use std::io;
use tyrion_model::{
    harmless, names,
    profile::{Function, Profile, State, Thread},
};
use tyrion_wire::WaitKind;

const THREAD: &str = "thread.name";
const OWNER: &str = "lock.owner.thread.name";
const LOCK: &str = "lock.name";
const LOCK_CLASS: &str = "lock.class";
const KIND: &str = "lock.wait.kind";
const STATE: &str = "thread.state";
const GROUP: &str = "group";

/// How many attributes a sample has at most.
pub(super) const MOST: usize = 7;

/// The numbers of attributes. A table is to hold nothing that no sample refers to, so each
/// gets its number when a row first has it.
pub(super) struct AttributeTable<'p> {
    profile: &'p Profile,
    threads: AttributeNumbers,
    /// Of a row whose thread is the owner, by that thread.
    own: AttributeNumbers,
    owners: AttributeNumbers,
    locks: AttributeNumbers,
    lock_classes: AttributeNumbers,
    kinds: AttributeNumbers,
    states: AttributeNumbers,
    groups: AttributeNumbers,
    /// The group of each stack, as a function; empty if there are no groups.
    group_of_stack: Vec<Option<u32>>,
}

/// The attributes with one key, by the number of the thing that they name.
struct AttributeNumbers {
    key: &'static str,
    /// `None` for what no row had so far.
    known: Vec<Option<i32>>,
}

impl AttributeNumbers {
    fn new(key: &'static str, len: usize) -> AttributeNumbers {
        AttributeNumbers { key, known: vec![None; len] }
    }

    /// The number for a thing; 0 for what is none, or has no name.
    fn of(
        &mut self,
        at: usize,
        dictionary: &mut Dictionary,
        name: impl FnOnce() -> String,
    ) -> io::Result<i32> {
        match self.known.get_mut(at) {
            None => Ok(0),
            Some(Some(number)) => Ok(*number),
            Some(unknown) => {
                let number = dictionary.attribute(self.key, &name())?;
                *unknown = Some(number);
                Ok(number)
            }
        }
    }
}

impl<'p> AttributeTable<'p> {
    pub(super) fn new(profile: &'p Profile, options: &OutputOptions) -> AttributeTable<'p> {
        // Without threads there are no owners either.
        let [threads, owners] = match options.thread_label {
            true => [profile.threads.len(), profile.owners.len()],
            false => [0, 0],
        };
        let has_groups = profile.functions.iter().any(Function::is_group);
        AttributeTable {
            profile,
            threads: AttributeNumbers::new(THREAD, threads),
            own: AttributeNumbers::new(OWNER, threads),
            owners: AttributeNumbers::new(OWNER, owners),
            locks: AttributeNumbers::new(LOCK, profile.locks.len()),
            lock_classes: AttributeNumbers::new(LOCK_CLASS, profile.locks.len()),
            kinds: AttributeNumbers::new(KIND, WaitKind::ALL.len()),
            states: AttributeNumbers::new(STATE, State::ALL.len()),
            groups: AttributeNumbers::new(GROUP, profile.functions.len()),
            group_of_stack: if has_groups { profile.groups_of_stacks() } else { Vec::new() },
        }
    }

    /// The attributes of a row; 0 stands for one that it does not have.
    pub(super) fn of(&mut self, row: &OutputRow, into: &mut Dictionary) -> io::Result<[i32; MOST]> {
        let profile = self.profile;
        let name_in =
            |threads: &[Thread], at: usize| harmless::name(&threads[at].label()).into_owned();
        let (thread, lock) = (row.thread as usize, row.lock as usize);
        let owner = match row.owner {
            RowOwner::Unknown => 0,
            RowOwner::Itself => self.own.of(thread, into, || name_in(&profile.threads, thread))?,
            RowOwner::Other(owner) => {
                let owner = owner as usize;
                self.owners.of(owner, into, || name_in(&profile.owners, owner))?
            }
        };
        let kind = match row.kind {
            Some(kind) => {
                self.kinds.of(usize::from(kind.code()) - 1, into, || kind.name().to_owned())?
            }
            None => 0,
        };
        let state = match row.state {
            Some(state) => self.states.of(state as usize, into, || state.name().to_owned())?,
            None => 0,
        };
        let group = match self.group_of_stack.get(row.stack as usize) {
            Some(Some(group)) => {
                let group = *group as usize;
                let name = || harmless::name(&profile.functions[group].method).into_owned();
                self.groups.of(group, into, name)?
            }
            _ => 0,
        };
        Ok([
            self.threads.of(thread, into, || name_in(&profile.threads, thread))?,
            owner,
            self.locks.of(lock, into, || names::lock(profile, row.lock))?,
            self.lock_classes.of(lock, into, || names::lock_class(profile, row.lock))?,
            kind,
            state,
            group,
        ])
    }
}
