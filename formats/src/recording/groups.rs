//! Only what belongs to some groups of a recording.
//!
//! A group is the outermost parent of the stacks that a thread had meanwhile. All that has
//! a stack, or a site that has one, belongs to a group or to none; what has neither, as sums
//! of acquisitions, is left out.

use super::{Definitions, Entry, Recording};
use tyrion_wire::event::Note;

/// Which stacks and sites are asked for, by their ids.
#[derive(Debug)]
pub(crate) struct Groups {
    stacks: Vec<bool>,
    sites: Vec<bool>,
    /// What is in no group is asked for, too.
    others: bool,
}

/// What is known of a stack so far.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    No,
    /// It is on the way that is being followed.
    Met,
    Is(bool),
}

impl Groups {
    fn of(definitions: &Definitions, is_wanted: impl Fn(Option<u32>) -> bool) -> Groups {
        let (stacks, others) = (definitions.stacks(), is_wanted(None));
        let mut known = vec![Known::No; stacks.len()];
        let mut way = Vec::new();
        for id in 0..known.len() {
            let mut at = id;
            let is = loop {
                match known.get_mut(at) {
                    Some(Known::Is(is)) => break *is,
                    Some(state @ Known::No) => *state = Known::Met,
                    // What is not there, and a ring, which a damaged log may have.
                    Some(Known::Met) | None => break others,
                }
                way.push(at);
                let of = at as u32;
                match (stacks.group(of), stacks.get(of)) {
                    (Some(name), _) => break is_wanted(Some(name)),
                    (None, Some(stack)) => at = stack.parent as usize,
                    (None, None) => break others,
                }
            };
            way.drain(..).for_each(|at| known[at] = Known::Is(is));
        }
        let stacks: Vec<bool> = known.into_iter().map(|it| it == Known::Is(true)).collect();
        let has = |stack: u32| stacks.get(stack as usize).copied().unwrap_or(others);
        let sites = definitions.sites();
        let site = |id: usize| sites.get(id as u32).map_or(others, |site| has(site.stack));
        let sites = (0..sites.len()).map(site).collect();
        Groups { stacks, sites, others }
    }

    /// Whether a stack is asked for.
    fn has_stack(&self, id: u32) -> bool {
        self.stacks.get(id as usize).copied().unwrap_or(self.others)
    }

    /// Whether a site is asked for.
    pub fn has_site(&self, id: u32) -> bool {
        self.sites.get(id as usize).copied().unwrap_or(self.others)
    }

    /// Whether a record is asked for.
    pub fn has(&self, entry: &Entry<'_>) -> bool {
        match entry {
            Entry::Wait(wait) => self.has_site(wait.site),
            Entry::Note(noted) => match &noted.record {
                Note::Hold(hold) => self.has_stack(hold.stack),
                Note::Instance(_) => self.others,
                Note::Blame(blame) => self.has_site(blame.site),
                Note::Nest(nest) => self.has_stack(nest.stack),
                Note::Sample(sample) => self.has_stack(sample.stack),
                Note::Snapshot(snapshot) => self.has_stack(snapshot.stack),
                Note::Wake(wake) => self.has_site(wake.site),
                Note::Holder(holder) => self.has_site(holder.site),
            },
        }
    }
}

impl Recording {
    /// Leaves out what does not belong to a group whose name is wanted; what is in no group
    /// has the empty name.
    pub fn keep_groups(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let wants = |name: Option<u32>| match name {
            Some(name) => is_wanted(&self.text(name)),
            None => is_wanted(""),
        };
        let groups = Groups::of(&self.definitions, wants);
        self.pending.retain(|pending| groups.has_stack(pending.stack));
        self.groups = Some(groups);
    }
}
