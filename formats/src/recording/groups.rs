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
enum Membership {
    Unknown,
    /// It is on the way that is being followed.
    Met,
    Is(bool),
}

impl Groups {
    fn of(definitions: &Definitions, is_wanted: impl Fn(Option<u32>) -> bool) -> Groups {
        let (stacks, others) = (definitions.stacks(), is_wanted(None));
        let mut known = vec![Membership::Unknown; stacks.len()];
        let mut way = Vec::new();
        for id in 0..known.len() {
            let mut at = id;
            let is = loop {
                match known.get_mut(at) {
                    Some(Membership::Is(is)) => break *is,
                    Some(state @ Membership::Unknown) => *state = Membership::Met,
                    // What is not there, and a ring, which a damaged log may have.
                    Some(Membership::Met) | None => break others,
                }
                way.push(at);
                let of = at as u32;
                match (stacks.group(of), stacks.get(of)) {
                    (Some(name), _) => break is_wanted(Some(name)),
                    (None, Some(stack)) => at = stack.parent as usize,
                    (None, None) => break others,
                }
            };
            way.drain(..).for_each(|at| known[at] = Membership::Is(is));
        }
        let stacks: Vec<bool> = known.into_iter().map(|it| it == Membership::Is(true)).collect();
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
                Note::Operation(operation) => self.has_site(operation.site),
                // That of a record that is asked for, or not.
                Note::Span(_) => true,
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::write::{LogOptions, LogWriter, Wait};
    use std::io::Cursor;
    use tyrion_wire::{
        WaitKind,
        cell::{BUCKETS, Cell},
        sample::Sample,
        slot::Pending,
        wake::Wake,
    };

    /// Waits of 1 ns in group a, of 10 ns in b, of 100 ns in none, of 1000 ns in stacks of a
    /// ring; behind each stand who ended it, as long, and a sample of that stack.
    fn log() -> Recording {
        let out = Cursor::new(Vec::new());
        let mut log = LogWriter::new(out, LogOptions::default()).unwrap();
        let class = log.class("A", "").unwrap();
        let method = log.method(class, "m", "()V", 0).unwrap();
        let [a, b] = ["a", "b"].map(|name| log.group(name).unwrap());
        let thread = log.thread(1, "t", "", 0).unwrap();
        let lane = log.lane(thread);
        let lock = log.lock(class).unwrap();
        let ring = log.stack(b + 1, method, 7).unwrap();
        assert_eq!(ring, b + 1, "its own parent");
        for (parent, wait_ns) in [(a, 1), (b, 10), (0, 100), (ring, 1000)] {
            let outer = log.stack(parent, method, 1).unwrap();
            let stack = log.stack(outer, method, 2).unwrap();
            let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
            let end_ns = log.now_ns(lane) + 5;
            log.wait(lane, Wait { end_ns, wait_ns, site, ..Wait::default() }).unwrap();
            log.note(lane, 0, Wake { waker: 1, stack: 0, site, wait_ns, late_ns: 0 }).unwrap();
            let sample = Sample { stack, wall_ns: wait_ns, ..Sample::default() };
            log.note(lane, end_ns + 5, sample).unwrap();
            log.cell(lane, &cell(thread, site, wait_ns)).unwrap();
            let start_ns = wait_ns;
            let (kind, flags, owner, seen_ns) = (WaitKind::Monitor, 0, 0, 0);
            let pending = Pending { thread, kind, stack, lock, owner, start_ns, seen_ns, flags };
            log.pending(&pending).unwrap();
        }
        Recording::from_bytes("x", log.finish().unwrap().into_inner()).unwrap()
    }

    fn cell(thread: u32, site: u32, sum_ns: u64) -> Cell {
        Cell {
            thread,
            site,
            owner: 0,
            group: 0,
            first_ns: 0,
            last_ns: sum_ns,
            count: 1,
            sum_ns,
            max_ns: sum_ns,
            histogram: [0; BUCKETS],
        }
    }

    /// How long all took that is given, by how it is asked for; each must be the same.
    fn asked(log: &Recording) -> u64 {
        let (mut waits, mut wakes, mut samples, mut pairs) = (0, 0, 0, 0);
        for chunk in log.event_chunks() {
            log.events(chunk).unwrap().visit_all(|entry| match entry {
                Entry::Wait(wait) => waits += wait.wait_ns(),
                Entry::Note(noted) => match noted.record {
                    Note::Wake(wake) => wakes += wake.wait_ns,
                    Note::Sample(sample) => samples += sample.wall_ns,
                    _ => {}
                },
            });
            let mut visited = 0;
            log.events(chunk).unwrap().visit(|wait| visited += wait.wait_ns());
            let iterated: u64 = log.events_again(chunk).map(|wait| wait.wait_ns()).sum();
            assert_eq!((visited, iterated), (waits, waits));
            let twice = &mut [0, 0];
            let [mut one, mut other] = [(); 2].map(|()| log.events_again(chunk));
            super::super::visit_two(&mut one, &mut other, &mut TwoAtOnce(twice));
            pairs += twice[0];
        }
        let cells: u64 =
            log.cell_chunks().iter().flat_map(|it| log.cells(it)).map(|it| it.sum_ns).sum();
        let pending: u64 = log.pending().iter().map(|it| it.start_ns).sum();
        assert_eq!([wakes, samples, cells, pending], [waits; 4]);
        assert_eq!(pairs, 2 * waits);
        waits
    }

    struct TwoAtOnce<'b>(&'b mut [u64; 2]);

    impl<'a> crate::TakeRecords<'a> for TwoAtOnce<'_> {
        fn wait(&mut self, _: u32, _: u32, _: u32, wait_ns: u64) {
            self.0[0] += wait_ns;
        }

        fn entry(&mut self, entry: Entry<'a>) {
            if let Entry::Wait(wait) = entry {
                self.0[0] += wait.wait_ns();
            }
        }
    }

    #[test]
    fn only_what_is_in_groups_asked_for_is_given() {
        assert_eq!(asked(&log()), 1111);
        // A ring, which no agent writes, is in no group.
        for (wanted, expected) in
            [("a", 1), ("b", 10), ("", 1100), ("c", 0), ("ab", 11), ("a or none", 1101)]
        {
            let mut log = log();
            log.keep_groups(|name| match wanted {
                "a or none" => name == "a" || name.is_empty(),
                "" => name.is_empty(),
                _ => !name.is_empty() && wanted.contains(name),
            });
            assert_eq!(asked(&log), expected, "{wanted}");
        }
    }
}
