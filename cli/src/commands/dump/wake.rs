//! Who ended waits, as `dump` prints it.

use super::{
    Dump,
    fields::{self, Record, Waiter, Who},
    record::{JsonRecord, Long},
    seconds,
};
use std::io::{self, Write};
use tyrion_formats::Noted;
use tyrion_model::{harmless, units};
use tyrion_wire::{def::id, wake::Wake};

impl Dump<'_> {
    /// Filters take it for the wait that it belongs to; those on threads also find the
    /// one that ended it.
    pub(super) fn wake(&mut self, out: &mut dyn Write, woken: &Noted<Wake>) -> io::Result<()> {
        let wake = &woken.record;
        let wanted = self.window.holds(woken.at_ns) && wake.wait_ns >= self.window.min_wait_ns;
        let (waiter, waker) = (self.thread(woken.thread), self.thread(wake.waker));
        if !wanted || !(waiter.1 || waker.1) {
            return Ok(());
        }
        let at_ns = self.since_start(woken.woken_ns());
        let Some(site) = self.site(wake.site) else { return Ok(()) };
        if self.json {
            let record = Record::Wake(fields::Wake {
                at_ns,
                wait_ns: wake.wait_ns,
                late_ns: wake.late_ns,
                who: Who { thread: &waker.0, thread_id: wake.waker },
                waiter: Waiter { waiter: &waiter.0, waiter_id: woken.thread, waiter_stack: () },
                lock: site.fields(),
                stack: (),
                stack_taken: wake.stack != id::EMPTY_STACK,
            });
            let long = [
                ("stack", Long::Stack(&self.stacks, wake.stack)),
                ("waiter_stack", Long::Stack(&self.stacks, site.stack)),
            ];
            return JsonRecord::new(&record, long).write(out);
        }
        write!(
            out,
            "wake    +{} {} {} {:?} woke {:?} at {}, which went on {} later ",
            seconds(at_ns),
            units::duration(wake.wait_ns),
            site.kind.name(),
            harmless::name(&waker.0),
            harmless::name(&waiter.0),
            site.lock.text(),
            units::duration(wake.late_ns),
        )?;
        match wake.stack {
            id::EMPTY_STACK => out.write_all(b"(stack not taken)")?,
            stack => self.stacks.write(out, stack)?,
        }
        out.write_all(b" | ")?;
        self.end_with_stack(out, site.stack)
    }
}
