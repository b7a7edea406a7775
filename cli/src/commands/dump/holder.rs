//! What owners of locks did while others waited, as `dump` prints it.

use super::{
    Dump,
    fields::{self, Record, Waiter, Who},
    record::{JsonRecord, Long},
    seconds,
};
use std::io::{self, Write};
use tyrion_formats::Noted;
use tyrion_model::{harmless, units};
use tyrion_wire::{
    def::id,
    holder::{FREE, Holder},
    sample::ThreadState,
};

impl Dump<'_> {
    /// Filters on threads find the one that waited, and the owner.
    pub(super) fn holder(
        &mut self,
        out: &mut dyn Write,
        answered: &Noted<Holder>,
    ) -> io::Result<()> {
        let holder = &answered.record;
        let wanted = self.window.holds(answered.at_ns);
        let (waiter, owner) = (self.thread(answered.thread), self.thread(holder.owner));
        if !wanted || !(waiter.1 || owner.1) {
            return Ok(());
        }
        let at_ns = self.since_start(answered.at_ns);
        let Some(site) = self.site(holder.site) else { return Ok(()) };
        let state = ThreadState::from_code(holder.state).unwrap_or(ThreadState::Other);
        let is_free = holder.owner == id::UNKNOWN && holder.state == FREE;
        if self.json {
            let record = Record::Holder(fields::OwnerAnswer {
                at_ns,
                stands_for_ns: holder.stands_for_ns,
                state: if is_free { "free" } else { state.name() },
                frames_above: holder.above,
                who: Who { thread: &owner.0, thread_id: holder.owner },
                waiter: Waiter { waiter: &waiter.0, waiter_id: answered.thread, waiter_stack: () },
                lock: site.fields(),
                stack: (),
            });
            let long = [
                ("stack", Long::Stack(&self.stacks, holder.stack)),
                ("waiter_stack", Long::Stack(&self.stacks, site.stack)),
            ];
            return JsonRecord::new(&record, long).write(out);
        }
        let who = match holder.owner {
            id::UNKNOWN if is_free => "nobody".to_owned(),
            id::UNKNOWN => "an unknown thread".to_owned(),
            _ => format!("{:?}", harmless::name(&owner.0)),
        };
        write!(
            out,
            "holder  +{} {} {} {who} had what {:?} waited for, {}",
            seconds(at_ns),
            units::duration(holder.stands_for_ns),
            site.kind.name(),
            harmless::name(&waiter.0),
            site.lock.text(),
        )?;
        match holder.stack {
            _ if holder.owner == id::UNKNOWN => {}
            id::EMPTY_STACK => write!(out, ", {} (stack not taken)", state.name())?,
            stack => {
                write!(out, ", {} ", state.name())?;
                self.stacks.write(out, stack)?;
            }
        }
        out.write_all(b" | ")?;
        self.end_with_stack(out, site.stack)
    }
}
