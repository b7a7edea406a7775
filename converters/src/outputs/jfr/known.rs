//! What is known of the whole recording: its settings, the JVM, threads, pauses, and sums.

use super::{
    bytes::{number, text, text_if_any},
    events::Recorder,
    types::id,
};
use std::io;
use tyrion_formats::Recording;
use tyrion_model::{profile::Run, timeline::Untimed};

/// Events whose settings viewers look for.
const WAITS: [u64; 3] = [id::ENTER, id::WAIT, id::PARK];
const SAMPLES: [u64; 2] = [id::SAMPLE, id::NATIVE_SAMPLE];

/// Which collector it was, and why it ran: viewers fail where there is no such field.
const NOT_KNOWN: &str = "not known";

/// The version as HotSpot has it in its recordings, from which viewers read that of Java. JDK 8 has
/// another number there, without a plus.
fn full_version(name: &str, version: &str) -> String {
    match version.contains('+') {
        true => format!("{name} ({version}) for JRE ({version})"),
        false => version.to_owned(),
    }
}

impl Recorder<'_, '_, '_> {
    /// Writes all of it.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let timeline = self.timeline;
        self.settings()?;
        for (run, log) in timeline.profile().runs.iter().zip(timeline.logs()) {
            self.jvm(run, log)?;
        }
        for (run, log) in (0u32..).zip(timeline.logs()) {
            self.threads(run, log)?;
            self.collections(run, log)?;
        }
        timeline.untimed().iter().try_for_each(|sum| self.folded(sum))?;
        self.acquisitions()?;
        self.blames()?;
        self.lock_names()
    }

    fn settings(&mut self) -> io::Result<()> {
        let profile = self.timeline.profile();
        let threshold_ns = profile.runs.iter().map(|run| run.threshold_ns).max().unwrap_or(0);
        let period_ns = profile.runs.iter().map(|run| run.period_ns).max().unwrap_or(0);
        let on = |is_on: bool| if is_on { "true" } else { "false" }.to_owned();
        for of in WAITS {
            self.setting(of, "enabled", &on(!profile.lacks_waits))?;
            self.setting(of, "threshold", &format!("{threshold_ns} ns"))?;
        }
        for of in SAMPLES {
            self.setting(of, "enabled", &on(profile.has_samples))?;
            if period_ns != 0 {
                self.setting(of, "period", &format!("{period_ns} ns"))?;
            }
        }
        let has_collections =
            self.timeline.logs().iter().any(|log| log.has_collections() == Some(true));
        self.setting(id::GC_PAUSE, "enabled", &on(has_collections))?;
        self.setting(id::FOLDED, "enabled", &on(!profile.lacks_waits))?;
        self.setting(id::HOLD, "enabled", &on(profile.has_acquisitions))
    }

    fn setting(&mut self, of: u64, name: &str, value: &str) -> io::Result<()> {
        let at_ns = self.timeline.axis().start_ns();
        self.event(id::SETTING, at_ns, |_, out| {
            // How long, which thread, and where.
            out.extend_from_slice(&[0; 3]);
            number(out, of);
            text(out, name);
            text(out, value);
        })
    }

    fn jvm(&mut self, run: &Run, log: &Recording) -> io::Result<()> {
        let at_ns = self.timeline.axis().start_ns();
        let (name, version) = run.jvm.rsplit_once(' ').unwrap_or((&run.jvm, ""));
        self.event(id::JVM, at_ns, |_, out| {
            text(out, name);
            text(out, &full_version(name, version));
            // Its arguments may hold secrets, and are not told.
            text_if_any(out, "");
            text_if_any(out, "");
            text(out, &run.program);
            number(out, run.start_wall_ns / 1_000_000);
            number(out, run.pid.into());
        })?;
        let processors = log.facts().metadata("processors").and_then(|it| it.parse().ok());
        match processors {
            Some(processors) => self.event(id::CPU, at_ns, |_, out| number(out, processors)),
            None => Ok(()),
        }
    }

    /// When threads began and ended, as far as the log tells.
    fn threads(&mut self, run: u32, log: &Recording) -> io::Result<()> {
        let timeline = self.timeline;
        for (id, _) in log.definitions().threads().iter() {
            let Some(span) = log.definitions().thread_span(id) else { continue };
            // Who was there before has no event: viewers take the earliest of all for the
            // recording's beginning.
            if span.started_ns > log.start_ns() {
                let started_ns = timeline.axis().at(run, span.started_ns);
                self.event(id::THREAD_START, started_ns, |constants, out| {
                    let thread = constants.thread(timeline, (run, id));
                    number(out, thread);
                    number(out, 0);
                    number(out, thread);
                    number(out, 0);
                })?;
            }
            let Some(ended_ns) = span.ended_ns else { continue };
            let ended_ns = timeline.axis().at(run, ended_ns.get());
            self.event(id::THREAD_END, ended_ns, |constants, out| {
                let thread = constants.thread(timeline, (run, id));
                number(out, thread);
                number(out, thread);
            })?;
        }
        Ok(())
    }

    fn collections(&mut self, run: u32, log: &Recording) -> io::Result<()> {
        let axis = self.timeline.axis();
        for (nth, collection) in (1u64..).zip(log.collections()) {
            let start_ns = axis.at(run, collection.start_ns);
            let pause_ns = collection.end_ns.saturating_sub(collection.start_ns);
            self.event(id::GC, start_ns, |_, out| {
                number(out, pause_ns);
                number(out, nth);
                text(out, NOT_KNOWN);
                text(out, NOT_KNOWN);
                number(out, pause_ns);
                number(out, pause_ns);
            })?;
            self.event(id::GC_PAUSE, start_ns, |_, out| {
                number(out, pause_ns);
                number(out, 0);
                number(out, nth);
                text(out, "GC Pause");
            })?;
        }
        Ok(())
    }

    fn folded(&mut self, sum: &Untimed) -> io::Result<()> {
        let timeline = self.timeline;
        let address = self.address(sum.lock);
        self.event(id::FOLDED, sum.first_ns, |constants, out| {
            number(out, sum.last_ns.saturating_sub(sum.first_ns));
            number(out, constants.thread(timeline, (sum.run, sum.thread_id)));
            number(out, constants.stack(sum.stack));
            number(out, constants.lock_class(sum.lock));
            number(out, address);
            number(out, sum.kind.code().into());
            number(out, sum.count);
            number(out, sum.wait_ns);
            number(out, sum.longest_ns);
        })
    }

    /// Acquisitions and holds are known as sums over the whole time.
    fn acquisitions(&mut self) -> io::Result<()> {
        let (timeline, (start_ns, len_ns)) = (self.timeline, self.whole());
        let profile = timeline.profile();
        for row in &profile.acquisitions {
            let Some(thread) = profile.threads.get(row.thread as usize) else { continue };
            let address = self.address(row.lock);
            self.event(id::ACQUISITIONS, start_ns, |constants, out| {
                number(out, len_ns);
                number(out, constants.thread_of_profile(timeline, thread));
                number(out, constants.stack(row.stack));
                number(out, constants.lock_class(row.lock));
                number(out, address);
                number(out, row.kind.code().into());
                number(out, row.acquisitions);
                number(out, row.acquisitions_error);
                number(out, row.reentrant);
                number(out, row.hold_ns);
            })?;
        }
        Ok(())
    }

    fn blames(&mut self) -> io::Result<()> {
        let (timeline, (start_ns, len_ns)) = (self.timeline, self.whole());
        let profile = timeline.profile();
        for row in &profile.blames {
            let Some(thread) = profile.threads.get(row.thread as usize) else { continue };
            let address = self.address(row.lock);
            self.event(id::HELD, start_ns, |constants, out| {
                number(out, len_ns);
                number(out, constants.thread_of_profile(timeline, thread));
                number(out, constants.stack(row.stack));
                number(out, constants.lock_class(row.lock));
                number(out, address);
                number(out, row.kind.code().into());
                number(out, row.count);
                number(out, row.blamed_ns);
                number(out, constants.stack(row.waiter_stack));
            })?;
        }
        Ok(())
    }

    fn lock_names(&mut self) -> io::Result<()> {
        let (start_ns, _) = self.whole();
        let locks = &self.timeline.profile().locks;
        for (at, lock) in (0u32..).zip(locks).filter(|(_, lock)| !lock.name.is_empty()) {
            let address = self.address(at);
            self.event(id::LOCK_NAME, start_ns, |constants, out| {
                number(out, constants.lock_class(at));
                number(out, address);
                text(out, &lock.name);
            })?;
        }
        Ok(())
    }

    /// The whole time: when it begins, and how long it is, in ns.
    fn whole(&self) -> (u64, u64) {
        let axis = self.timeline.axis();
        (axis.start_ns(), axis.since_start_ns(axis.end_ns()))
    }
}
