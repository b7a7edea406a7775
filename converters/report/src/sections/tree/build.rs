//! From samples to groups of threads and their trees.
//!
use super::{
    super::sampled::ShownStacks,
    TreeGroup,
    nodes::Nodes,
    sums::{Leaf, SampledTimes},
};
use crate::{ReportOptions, findings::SampledInterval};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};
use tyrion_model::{
    grouping::Grouping,
    profile::{NO_LOCK, Profile, SampleRow, State, Thread},
};
use tyrion_wire::WaitKind;

/// Makes groups of samples.
pub(super) struct TreeBuilder<'a> {
    profile: &'a Profile,
    stacks: ShownStacks,
    grouping: Grouping,
    /// The group of each thread by its name.
    thread_groups: Vec<String>,
    zero: bool,
}

/// The samples of a group, as far as they were added up.
#[derive(Default)]
struct GroupSums {
    threads: BTreeSet<u32>,
    /// Threads of which nothing is shown: name and id.
    hidden: BTreeSet<(String, u64)>,
    max_depth: u32,
    sums: SampledTimes,
    leaves: BTreeMap<Leaf, SampledTimes>,
}

impl<'a> TreeBuilder<'a> {
    pub(super) fn new(profile: &'a Profile, options: &ReportOptions) -> TreeBuilder<'a> {
        let mut builder = TreeBuilder {
            profile,
            stacks: ShownStacks::new(profile, &options.packages),
            // Whoever makes the options has looked at the rule.
            grouping: Grouping::parse(&options.group_by).unwrap_or_default(),
            thread_groups: Vec::new(),
            zero: options.zero,
        };
        let threads = profile
            .threads
            .iter()
            .enumerate()
            .map(|(id, thread)| Thread { name: profile.thread_name(id as u32), ..thread.clone() });
        builder.thread_groups = threads.map(|thread| builder.name_of_group(&thread)).collect();
        builder
    }

    /// The group of a thread by its name.
    fn name_of_group(&self, thread: &Thread) -> String {
        match self.grouping {
            Grouping::None => format!("{} (id {})", thread.name, thread.java_id),
            _ => self.grouping.group_name(thread),
        }
    }

    /// The groups of an interval, most real time first.
    pub(super) fn groups(&self, interval: &SampledInterval) -> Vec<TreeGroup> {
        let mut gathered: HashMap<(bool, String), GroupSums> = HashMap::new();
        for sample in interval.samples.iter() {
            let group = gathered.entry(self.group_of(sample.thread, sample.stack)).or_default();
            group.threads.insert(sample.thread);
            group.max_depth = group.max_depth.max(self.stacks.depth(sample.stack));
            group.sums.add_sample(sample);
            let leaf = (self.stacks.kept(sample.stack), lock_of(sample));
            group.leaves.entry(leaf).or_default().add_sample(sample);
        }
        if self.zero {
            for thread in &interval.hidden_threads {
                let group = gathered.entry((false, self.name_of_group(thread))).or_default();
                group.hidden.insert((thread.name.clone(), thread.java_id));
            }
        }
        let groups = gathered.into_iter();
        let mut groups: Vec<TreeGroup> =
            groups.map(|((given, name), gathered)| self.finish(name, given, gathered)).collect();
        groups.retain(|group| self.zero || group.wall_ns != 0);
        groups.sort_by(|a, b| {
            let key = |group: &TreeGroup| (Reverse(group.wall_ns), Reverse(group.samples));
            key(a).cmp(&key(b)).then_with(|| (&a.group, a.given).cmp(&(&b.group, b.given)))
        });
        groups
    }

    /// What the program says that a thread did in this stack, or else the group
    /// of its name.
    fn group_of(&self, thread: u32, stack: u32) -> (bool, String) {
        match self.stacks.given_group(self.profile, stack) {
            Some(name) => (true, name.to_owned()),
            None => (false, self.thread_groups.get(thread as usize).cloned().unwrap_or_default()),
        }
    }

    fn finish(&self, group: String, given: bool, gathered: GroupSums) -> TreeGroup {
        let names = gathered.threads.iter().map(|&thread| self.profile.thread_name(thread));
        let hidden = gathered.hidden.into_iter().map(|(name, _)| name);
        let mut threads: Vec<String> = names.chain(hidden).collect();
        threads.sort_unstable();
        TreeGroup {
            group,
            given,
            thread_count: threads.len(),
            threads,
            max_depth: gathered.max_depth,
            samples: gathered.sums.samples,
            wall_ns: gathered.sums.states.sum_ns(),
            cpu_ns: gathered.sums.cpu_ns,
            states: gathered.sums.states,
            nodes: Nodes::new(self.profile, &self.stacks, &gathered.leaves).shown(self.zero),
        }
    }
}

/// As in the other outputs, where locks stand below the stacks of those who were
/// blocked.
fn lock_of(sample: &SampleRow) -> Option<(u32, WaitKind)> {
    let is_told = sample.state == State::Blocked && sample.lock != NO_LOCK;
    is_told.then(|| (sample.lock, sample.kind.unwrap_or(WaitKind::Monitor)))
}
