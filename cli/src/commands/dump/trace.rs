//! The records of trace mode.

use super::{
    Dump,
    fields::{self, Acquisitions, Estimated, Record, Statistic, Waiter, Who},
    record::{JsonRecord, Long},
    sample::Called,
    seconds,
};
use crate::commands::lock_names::{any_of, held};
use std::io::{self, Write};
use tyrion_formats::{Note, Noted};
use tyrion_model::{harmless, units};
use tyrion_wire::{
    def::id,
    trace::{AcquisitionCell, Blame, Bursts, Held, Hold, Instance, Nest},
};

/// When and by whom something was done, in the times of the log.
#[derive(Clone, Copy)]
struct ThreadMoment {
    at_ns: u64,
    thread: u32,
}

impl Dump<'_> {
    /// A record of trace mode, at its moment.
    fn moment(&self, noted: &Noted<Note<'_>>) -> ThreadMoment {
        ThreadMoment { at_ns: self.since_start(noted.at_ns), thread: noted.thread }
    }

    /// A record among the waits.
    pub(super) fn note(&mut self, out: &mut dyn Write, noted: &Noted<Note<'_>>) -> io::Result<()> {
        match noted.record {
            Note::Sample(sample) => self.sample(out, Called::Sample, &noted.with(sample)),
            Note::Snapshot(snapshot) => {
                self.sample(out, Called::Snapshot, &noted.with(snapshot.into()))
            }
            Note::Wake(wake) => self.wake(out, &noted.with(wake)),
            Note::Holder(holder) => self.holder(out, &noted.with(holder)),
            Note::Span(span) => self.span(out, &span),
            Note::Operation(operation) => self.operation(out, &operation),
            _ if !self.window.holds(noted.at_ns) => {
                self.shows_last = false;
                Ok(())
            }
            Note::Blame(blame) => self.blame(out, self.moment(noted), &blame),
            _ if !self.thread(noted.thread).1 => {
                self.shows_last = false;
                Ok(())
            }
            Note::Hold(hold) => self.hold(out, self.moment(noted), &hold),
            // They have no duration that could be long enough.
            _ if self.window.min_wait_ns > 0 => Ok(()),
            Note::Instance(instance) => self.instance(out, self.moment(noted), &instance),
            Note::Nest(nest) => self.nest(out, self.moment(noted), &nest),
        }
    }

    fn hold(&mut self, out: &mut dyn Write, moment: ThreadMoment, hold: &Hold) -> io::Result<()> {
        self.shows_last = false;
        let Hold { hold_ns, place, class, hash, .. } = *hold;
        let lock = self.lock_names.lock(Held { place, class, hash });
        if hold_ns < self.window.min_wait_ns || !self.lock_names.wants(&lock) {
            return Ok(());
        }
        self.shows_last = true;
        let thread = self.thread(moment.thread);
        if self.json {
            let record = Record::Hold(fields::Hold {
                released_ns: moment.at_ns,
                hold_ns,
                who: Who { thread: &thread.0, thread_id: moment.thread },
                lock: lock.fields(),
                first: hold.is_first(),
                stack: (),
                stack_taken: hold.stack != 0,
            });
            let long = [("stack", self.stack_or(hold.stack, &lock.site.at))];
            return JsonRecord::new(&record, long).write(out);
        }
        write!(
            out,
            "hold    +{} {} {} {:?} {}{} ",
            seconds(moment.at_ns),
            units::duration(hold_ns),
            lock.site.kind_name(),
            harmless::name(&thread.0),
            lock.shown(),
            if hold.is_first() { " first" } else { "" },
        )?;
        self.end_with_stack_or(out, hold.stack, &lock.site.at)
    }

    /// A stack, or the place, if none was taken.
    fn stack_or<'r>(&'r self, stack: u32, at: &'r str) -> Long<'r> {
        match stack {
            id::EMPTY_STACK => Long::Frame(at),
            stack => Long::Stack(&self.stacks, stack),
        }
    }

    /// Ends a line as [`Dump::stack_or`].
    fn end_with_stack_or(&self, out: &mut dyn Write, stack: u32, at: &str) -> io::Result<()> {
        match stack {
            id::EMPTY_STACK => writeln!(out, "{}", harmless::name(at)),
            stack => self.end_with_stack(out, stack),
        }
    }

    fn instance(
        &mut self,
        out: &mut dyn Write,
        moment: ThreadMoment,
        instance: &Instance,
    ) -> io::Result<()> {
        let lock = self.lock_names.lock(held(instance));
        if !self.lock_names.wants(&lock) {
            return Ok(());
        }
        let thread = self.thread(moment.thread);
        if self.json {
            let record = Record::Instance(fields::Instance {
                who: Who { thread: &thread.0, thread_id: moment.thread },
                lock: lock.fields(),
                shared: instance.shared,
            });
            return JsonRecord::short(&record).write(out);
        }
        let taken = if instance.shared { "taken by a further thread" } else { "first taken" };
        writeln!(
            out,
            "lock    {} {:?} {} {taken} {}",
            lock.site.kind_name(),
            harmless::name(&thread.0),
            lock.shown(),
            harmless::name(&lock.site.at)
        )
    }

    fn blame(
        &mut self,
        out: &mut dyn Write,
        moment: ThreadMoment,
        blame: &Blame,
    ) -> io::Result<()> {
        let wanted = self.thread(moment.thread).1 || self.thread(blame.waiter).1;
        if !wanted || blame.charged_ns < self.window.min_wait_ns {
            return Ok(());
        }
        let (holder, waiter) = (self.thread(moment.thread), self.thread(blame.waiter));
        let Some(site) = self.site(blame.site) else { return Ok(()) };
        if self.json {
            let at = (blame.place != id::UNKNOWN).then(|| self.lock_names.site(blame.place));
            let record = Record::Blame(fields::Blame {
                released_ns: moment.at_ns,
                blamed_ns: blame.charged_ns,
                who: Who { thread: &holder.0, thread_id: moment.thread },
                waiter: Waiter { waiter: &waiter.0, waiter_id: blame.waiter, waiter_stack: () },
                kind: site.kind.name(),
                lock: &site.lock.id,
                lock_name: &site.lock.name,
                lock_class: &site.lock.class,
                at: at.as_ref().map(|place| &*place.at),
                stack: (),
            });
            let long = [
                ("stack", Long::Stack(&self.stacks, blame.stack)),
                ("waiter_stack", Long::Stack(&self.stacks, site.stack)),
            ];
            return JsonRecord::new(&record, long).write(out);
        }
        write!(
            out,
            "blame   +{} {} {} {:?} kept {} from {:?} ",
            seconds(moment.at_ns),
            units::duration(blame.charged_ns),
            site.kind.name(),
            harmless::name(&holder.0),
            site.lock.text(),
            harmless::name(&waiter.0),
        )?;
        self.stacks.write(out, blame.stack)?;
        out.write_all(b" | ")?;
        self.end_with_stack(out, site.stack)
    }

    fn nest(
        &mut self,
        out: &mut dyn Write,
        moment: ThreadMoment,
        nest: &Nest<'_>,
    ) -> io::Result<()> {
        let inner = self.lock_names.lock(nest.inner);
        let wants = |held| self.lock_names.wants(&self.lock_names.lock(held));
        if !self.lock_names.wants(&inner) && !nest.outer.iter().any(wants) {
            return Ok(());
        }
        let thread = self.thread(moment.thread);
        if self.json {
            let record = Record::Nest(fields::Nest {
                at_ns: moment.at_ns,
                who: Who { thread: &thread.0, thread_id: moment.thread },
                lock: inner.fields(),
                stack: (),
                stack_taken: nest.stack != 0,
                outer: (),
                tried: nest.is_tried().then_some(true),
            });
            let long = [
                ("stack", self.stack_or(nest.stack, &inner.site.at)),
                ("outer", Long::Locks(&self.lock_names, nest.outer)),
            ];
            return JsonRecord::new(&record, long).write(out);
        }
        write!(
            out,
            "nest    +{} {} {:?} {}{} while holding ",
            seconds(moment.at_ns),
            inner.site.kind_name(),
            harmless::name(&thread.0),
            inner.shown(),
            if nest.is_tried() { " tried" } else { "" },
        )?;
        for (nth, held) in nest.outer.iter().enumerate() {
            let comma = if nth == 0 { "" } else { ", " };
            write!(out, "{comma}{}", self.lock_names.lock(held).at_place())?;
        }
        out.write_all(b" ")?;
        self.end_with_stack_or(out, nest.stack, &inner.site.at)
    }

    /// An acquisition cell. It has no time, so a filter on time leaves it out.
    pub(super) fn acquisitions(
        &mut self,
        out: &mut dyn Write,
        cell: &AcquisitionCell,
    ) -> io::Result<()> {
        let lock = self.lock_names.lock(any_of(cell.place, cell.class));
        let wanted = cell.max_ns >= self.window.min_wait_ns && self.lock_names.wants(&lock);
        if !wanted || self.window.limits_time() || !self.thread(cell.thread).1 {
            return Ok(());
        }
        let thread = self.thread(cell.thread);
        let hold_ns = self.log.hold_ns(self.log.hold_mode(), cell);
        let measured = cell.first_count.saturating_add(cell.sampled_count);
        let bursts = cell.bursts.filter(|it| *it != Bursts::default());
        if self.json {
            let record = Record::Acquisitions(Acquisitions {
                acquisitions: cell.acquisitions,
                reentrant: cell.reentrant,
                failed: cell.failed,
                hold_ns,
                measured,
                max_hold_ns: cell.max_ns,
                first: cell.first_count,
                first_ns: cell.first_ns,
                sampled: cell.sampled_count,
                sampled_ns: cell.sampled_ns,
                unidentified: cell.unidentified,
                log2_histogram: &cell.histogram,
                who: Who { thread: &thread.0, thread_id: cell.thread },
                lock: lock.fields(),
                estimated: bursts.as_ref().map(Estimated::of),
            });
            return JsonRecord::short(&record).write(out);
        }
        write!(
            out,
            "taken   {} {} {:?} {} hold={} measured={measured} longest={}",
            cell.acquisitions,
            lock.site.kind_name(),
            harmless::name(&thread.0),
            lock.shown(),
            units::duration(hold_ns),
            units::duration(cell.max_ns),
        )?;
        for (what, count) in [
            ("reentrant", cell.reentrant),
            ("failed", cell.failed),
            ("unidentified", cell.unidentified),
        ] {
            if count != 0 {
                write!(out, " {what}={count}")?;
            }
        }
        for (what, count) in bursts.iter().flat_map(|bursts| Estimated::of(bursts).named()) {
            if count != 0 {
                write!(out, " {what}={count}")?;
            }
        }
        writeln!(out, " {}", harmless::name(&lock.site.at))
    }

    /// What the agent tells of itself: of no thread, lock or time.
    pub(super) fn statistics(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for (key, value) in self.log.statistics() {
            if self.json {
                let record = Record::Statistic(Statistic { key: &key, value });
                JsonRecord::short(&record).write(out)?;
            } else {
                writeln!(out, "number  {}={value}", harmless::name(&key))?;
            }
        }
        Ok(())
    }
}

impl Estimated {
    /// How much of the numbers is estimated, and its standard errors.
    fn of(bursts: &Bursts) -> Estimated {
        Estimated {
            bursts: bursts.count,
            uncounted: bursts.uncounted,
            acquisitions_error: bursts.uncounted_error,
            uncounted_reentrant: bursts.uncounted_reentrant,
            reentrant_error: bursts.reentrant_error,
        }
    }

    /// The same by name.
    fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("bursts", self.bursts),
            ("uncounted", self.uncounted),
            ("acquisitions_error", self.acquisitions_error),
            ("uncounted_reentrant", self.uncounted_reentrant),
            ("reentrant_error", self.reentrant_error),
        ]
    }
}
