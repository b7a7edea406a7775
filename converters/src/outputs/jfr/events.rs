//! Single waits, holds and samples as events.

use super::{
    super::held::{HeldName, function, held},
    bytes::{self, number},
    chunk::Chunk,
    constants::ConstantPools,
    ends::Ends,
    types::id,
};
use std::{
    collections::HashMap,
    io::{self, Write},
};
use tyrion_formats::Recording;
use tyrion_model::{
    profile::NO_LOCK,
    timeline::{Hold, Item, SampledThread, Timeline, Wait},
};
use tyrion_wire::{Outcome, WaitKind, def::id::UNKNOWN, sample::ThreadState};

/// What stands for a limit of time that there was none of, or that is not known.
const NO_LIMIT: u64 = i64::MIN.cast_unsigned();

/// Writes events.
pub(super) struct Recorder<'t, 'a, 'w> {
    pub(super) timeline: &'t Timeline<'a>,
    chunk: Chunk,
    constants: ConstantPools<'a>,
    /// What stands for each lock of the profile: no two of a recording have the same.
    addresses: Vec<u64>,
    /// The locks that are held by log, place and class, and the key of the place as a stack;
    /// nothing if the filter leaves them out.
    held: HashMap<(u32, u32, u32), Option<(HeldName, u32)>>,
    /// Locks by log and identity hash.
    instances: HashMap<(u32, u32), u32>,
    /// Of waits.
    ends: Ends,
    out: &'w mut dyn Write,
}

impl<'t, 'a, 'w> Recorder<'t, 'a, 'w> {
    pub(super) fn new(timeline: &'t Timeline<'a>, out: &'w mut dyn Write) -> Self {
        let locks = timeline.profile().locks.iter();
        let addresses = locks
            .map(
                |lock| {
                    if lock.id == 0 { 0 } else { u64::from(lock.run) << 32 | u64::from(lock.id) }
                },
            )
            .collect();
        let mut instances = HashMap::new();
        for (run, log) in (0u32..).zip(timeline.logs()) {
            let of_log = log.definitions().lock_instances();
            instances.extend(of_log.map(|(lock, hash)| ((run, hash), lock)));
        }
        Recorder {
            timeline,
            chunk: Chunk::new(timeline.axis().start_ns()),
            constants: ConstantPools::new(timeline),
            addresses,
            held: HashMap::new(),
            instances,
            ends: Ends::new(),
            out,
        }
    }

    /// What stands for a lock; 0 where single ones are not told apart.
    #[inline]
    pub(super) fn address(&self, lock: u32) -> u64 {
        self.addresses.get(lock as usize).copied().unwrap_or(0)
    }

    /// Adds an event of a type that began at a time; `fields` adds what comes behind that.
    #[inline]
    pub(super) fn event(
        &mut self,
        of: u64,
        start_ns: u64,
        fields: impl FnOnce(&mut ConstantPools<'a>, &mut Vec<u8>),
    ) -> io::Result<()> {
        let Recorder { chunk, constants, .. } = self;
        bytes::event(&mut chunk.bytes, of, start_ns, |out| fields(constants, out));
        if chunk.is_full() { self.flush(start_ns) } else { Ok(()) }
    }

    /// Writes what there is. What comes next begins at this time, as far as it has one.
    #[cold]
    fn flush(&mut self, end_ns: u64) -> io::Result<()> {
        let axis = self.timeline.axis();
        self.chunk.write(axis, &mut self.constants, end_ns, self.out)
    }

    /// Adds what happened.
    pub(super) fn add(&mut self, items: &[Item]) -> io::Result<()> {
        items.iter().try_for_each(|item| match item {
            Item::Wait(wait) => self.wait(wait),
            Item::Hold(hold) => self.hold(hold),
            Item::Seen(seen) => self.seen(seen),
            // Whom others waited for is told as a sum.
            Item::Release(_) => Ok(()),
        })
    }

    fn wait(&mut self, wait: &Wait) -> io::Result<()> {
        let timeline = self.timeline;
        let address = self.address(wait.lock);
        let of = match wait.kind {
            WaitKind::Monitor => id::ENTER,
            WaitKind::ObjectWait => id::WAIT,
            _ => id::PARK,
        };
        let start_ns = self.ends.beginning(of, wait.start_ns, wait.wait_ns);
        self.event(of, start_ns, |constants, out| {
            let mut thread = |id: u32| match id {
                UNKNOWN => 0,
                id => constants.thread(timeline, (wait.run, id)),
            };
            let waiter = thread(wait.thread_id);
            let owner = thread(wait.owner);
            let waker = wait.waker.map_or(0, |waker| thread(waker.thread_id));
            number(out, wait.wait_ns);
            number(out, waiter);
            number(out, constants.stack(wait.stack));
            number(out, constants.lock_class(wait.lock));
            let kind = wait.kind.code().into();
            let ended = |outcome| u8::from(wait.outcome == outcome);
            let [timed_out, others @ ..] =
                [Outcome::TimedOut, Outcome::Interrupted, Outcome::Failed].map(ended);
            match wait.kind {
                WaitKind::Monitor => {
                    number(out, owner);
                    number(out, address);
                    bytes::own(out, |out| {
                        out.push(timed_out);
                        out.extend_from_slice(&others);
                        number(out, waker);
                        number(out, kind);
                    });
                }
                WaitKind::ObjectWait => {
                    number(out, waker);
                    number(out, NO_LIMIT);
                    out.push(timed_out);
                    number(out, address);
                    out.extend_from_slice(&others);
                    number(out, kind);
                }
                _ => {
                    number(out, NO_LIMIT);
                    number(out, NO_LIMIT);
                    number(out, address);
                    bytes::own(out, |out| {
                        out.push(timed_out);
                        out.extend_from_slice(&others);
                        number(out, owner);
                        number(out, waker);
                        number(out, kind);
                    });
                }
            }
        })
    }

    fn seen(&mut self, seen: &SampledThread) -> io::Result<()> {
        let timeline = self.timeline;
        let of = match seen.state {
            ThreadState::Running => id::SAMPLE,
            ThreadState::Native => id::NATIVE_SAMPLE,
            _ => id::THREAD_SAMPLE,
        };
        let address = if seen.lock == NO_LOCK { 0 } else { self.address(seen.lock) };
        self.event(of, seen.at_ns, |constants, out| {
            number(out, constants.thread(timeline, (seen.run, seen.thread_id)));
            number(out, constants.stack(seen.stack));
            number(out, seen.state.code().into());
            bytes::own(out, |out| {
                number(out, seen.count);
                number(out, seen.wall_ns);
                number(out, seen.cpu_ns);
                number(out, if seen.lock == NO_LOCK { 0 } else { constants.lock_class(seen.lock) });
                number(out, address);
                number(out, seen.kind.map_or(0, |kind| kind.code().into()));
            });
        })
    }

    fn hold(&mut self, hold: &Hold) -> io::Result<()> {
        let timeline = self.timeline;
        let Some(log) = timeline.logs().get(hold.run as usize) else { return Ok(()) };
        // Made-up ids shall not take memory.
        let Some(place) = log.definitions().places().get(hold.place) else { return Ok(()) };
        let class = log.definitions().classes().get(hold.class).map_or(UNKNOWN, |_| hold.class);
        let constants = &mut self.constants;
        let known = self.held.entry((hold.run, hold.place, class)).or_insert_with(|| {
            let held = held(timeline, log, hold)?;
            let nth = constants.add_place(function(log, place.method), place.line);
            Some((held, nth))
        });
        let Some((held, nth)) = known else { return Ok(()) };
        let (class, kind, nth) = (constants.class(&held.class), held.kind, *nth);
        let span_ns = hold.end_ns.saturating_sub(hold.start_ns);
        let address = self.held_address(log, hold);
        self.event(id::HOLD, hold.start_ns, |constants, out| {
            number(out, span_ns);
            number(out, constants.thread(timeline, (hold.run, hold.thread_id)));
            number(out, constants.place(nth));
            number(out, class);
            number(out, address);
            number(out, kind.code().into());
        })
    }

    /// What stands for the lock that is held, if it is one of those that threads waited for.
    fn held_address(&self, log: &Recording, hold: &Hold) -> u64 {
        let lock = self.instances.get(&(hold.run, hold.hash)).copied().filter(|_| hold.hash != 0);
        let lock = lock.filter(|&lock| log.definitions().locks().get(lock) == Some(&hold.class));
        let lock = lock.and_then(|lock| self.timeline.lock(hold.run, lock));
        lock.map_or(0, |lock| self.address(lock))
    }

    /// Writes the last chunk.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let end_ns = self.timeline.axis().end_ns();
        self.flush(end_ns)?;
        self.out.flush()
    }
}
