//! From samples to groups of threads and their trees.
//!
//! Stacks are a tree already, and each is there once: a node is a stack, and
//! what it called are the stacks whose parent it is. Since parents stand in
//! front of their children, times go up the tree in one pass from its end.

use super::{
    super::sampled::{Stacks, StateTimes},
    Group, Node,
};
use crate::{
    Options,
    findings::{SampledInterval, names},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};
use tyrion_converters::{
    grouping::Grouping,
    profile::{Profile, Sample, Thread},
};

/// What stands for a thread without frames.
const NO_FRAME: &str = "[no Java frame]";

/// Makes groups of samples.
pub(super) struct Builder<'a> {
    profile: &'a Profile,
    stacks: Stacks,
    grouping: Grouping,
    /// The group of each thread by its name.
    thread_groups: Vec<String>,
    zero: bool,
}

/// What was summed.
#[derive(Clone, Copy, Default)]
struct Sums {
    samples: u64,
    cpu_ns: u64,
    states: StateTimes,
}

impl Sums {
    fn add_sample(&mut self, sample: &Sample) {
        self.samples = self.samples.saturating_add(sample.count);
        self.cpu_ns = self.cpu_ns.saturating_add(sample.cpu_ns);
        self.states.add(sample.state, sample.wall_ns);
    }

    fn add(&mut self, other: &Sums) {
        self.samples = self.samples.saturating_add(other.samples);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.states.add_all(&other.states);
    }
}

/// A group under way.
#[derive(Default)]
struct Gathered {
    threads: BTreeSet<u32>,
    /// Threads of which nothing is shown: name and id.
    hidden: BTreeSet<(String, u64)>,
    max_depth: u32,
    sums: Sums,
    /// By the stack that is left of the sample's.
    leaves: BTreeMap<u32, Sums>,
}

/// A node under way.
#[derive(Clone, Copy, Default)]
struct Summed {
    method_ns: u64,
    sums: Sums,
}

impl<'a> Builder<'a> {
    pub(super) fn new(profile: &'a Profile, options: &Options) -> Builder<'a> {
        let mut builder = Builder {
            profile,
            stacks: Stacks::new(profile, &options.packages),
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
    pub(super) fn groups(&self, interval: &SampledInterval) -> Vec<Group> {
        let mut gathered: HashMap<(bool, String), Gathered> = HashMap::new();
        for sample in interval.samples.iter() {
            let group = gathered.entry(self.group_of(sample.thread, sample.stack)).or_default();
            group.threads.insert(sample.thread);
            group.max_depth = group.max_depth.max(self.stacks.depth(sample.stack));
            group.sums.add_sample(sample);
            group.leaves.entry(self.stacks.kept(sample.stack)).or_default().add_sample(sample);
        }
        if self.zero {
            for thread in &interval.hidden_threads {
                let group = gathered.entry((false, self.name_of_group(thread))).or_default();
                group.hidden.insert((thread.name.clone(), thread.java_id));
            }
        }
        let groups = gathered.into_iter();
        let mut groups: Vec<Group> =
            groups.map(|((given, name), gathered)| self.finish(name, given, gathered)).collect();
        groups.retain(|group| self.zero || group.wall_ns != 0);
        groups.sort_by(|a, b| {
            let key = |group: &Group| (Reverse(group.wall_ns), Reverse(group.samples));
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

    fn finish(&self, group: String, given: bool, gathered: Gathered) -> Group {
        let names = gathered.threads.iter().map(|&thread| self.profile.thread_name(thread));
        let hidden = gathered.hidden.into_iter().map(|(name, _)| name);
        let mut threads: Vec<String> = names.chain(hidden).collect();
        threads.sort_unstable();
        Group {
            group,
            given,
            thread_count: threads.len(),
            threads,
            max_depth: gathered.max_depth,
            samples: gathered.sums.samples,
            wall_ns: gathered.sums.states.sum_ns(),
            cpu_ns: gathered.sums.cpu_ns,
            states: gathered.sums.states,
            nodes: self.nodes(gathered.leaves),
        }
    }

    fn nodes(&self, leaves: BTreeMap<u32, Sums>) -> Vec<Node> {
        let started = leaves
            .into_iter()
            .map(|(stack, sums)| (stack, Summed { method_ns: sums.states.sum_ns(), sums }));
        let mut waiting: BTreeMap<u32, Summed> = started.collect();
        let mut nodes: HashMap<u32, Summed> = HashMap::new();
        // By who called them; `None` for roots.
        let mut called: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
        while let Some((stack, node)) = waiting.pop_last() {
            let parent = self.stacks.parent(self.profile, stack);
            if let Some(parent) = parent {
                waiting.entry(parent).or_default().sums.add(&node.sums);
            }
            called.entry(parent).or_default().push(stack);
            nodes.insert(stack, node);
        }
        self.in_order(&nodes, called)
    }

    /// The nodes that are shown, each in front of those that it called.
    fn in_order(
        &self,
        nodes: &HashMap<u32, Summed>,
        mut called: HashMap<Option<u32>, Vec<u32>>,
    ) -> Vec<Node> {
        let cumulative_ns =
            |stack: u32| nodes.get(&stack).map_or(0, |node| node.sums.states.sum_ns());
        let mut sorted = |parent: Option<u32>| {
            let children = called.remove(&parent).unwrap_or_default().into_iter();
            let children = children.filter(|&stack| self.zero || cumulative_ns(stack) != 0);
            let mut children: Vec<(u64, String, u32)> =
                children.map(|stack| (cumulative_ns(stack), self.name(stack), stack)).collect();
            // The last one is taken first.
            children.sort_unstable_by(|a, b| (a.0, &b.1, b.2).cmp(&(b.0, &a.1, a.2)));
            children
        };
        let mut shown = Vec::new();
        let mut todo: Vec<(usize, String, u32)> =
            sorted(None).into_iter().map(|(_, name, stack)| (0, name, stack)).collect();
        while let Some((depth, name, stack)) = todo.pop() {
            let Some(node) = nodes.get(&stack) else { continue };
            let children = sorted(Some(stack));
            let only = matches!(children[..], [(ns, ..)] if ns == node.sums.states.sum_ns());
            let is_hidden = !self.zero && node.method_ns == 0 && only;
            let inner = if is_hidden { depth } else { depth + 1 };
            todo.extend(children.into_iter().map(|(_, name, stack)| (inner, name, stack)));
            if !is_hidden {
                shown.push(Node {
                    depth,
                    level: self.stacks.depth(stack).saturating_sub(1),
                    frame: name,
                    cumulative_ns: node.sums.states.sum_ns(),
                    method_ns: node.method_ns,
                    cpu_ns: node.sums.cpu_ns,
                    samples: node.sums.samples,
                    states: node.sums.states,
                });
            }
        }
        shown
    }

    fn name(&self, stack: u32) -> String {
        if self.stacks.is_empty(stack) {
            return NO_FRAME.to_owned();
        }
        let frame = self.profile.frames_of(stack).next();
        frame.map_or_else(|| NO_FRAME.to_owned(), |frame| names::frame(self.profile, frame))
    }
}
