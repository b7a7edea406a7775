//! Waits for work: those of a thread's loop, for what comes next.

use super::{JudgedPlace, Withheld};
use tyrion_formats::Recording;

/// Waits of a thread at a site that were for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkWaits {
    /// The thread, by its id in the log.
    pub thread: u32,
    /// The site, by its id in the log.
    pub site: u32,
    /// How many.
    pub count: u64,
    /// How long of them was in the second half of the log, in ns.
    pub late_ns: u64,
}

impl Withheld {
    /// The waits of `log`, the `run`-th, that were for work, whatever the filter asks for, in
    /// ascending order of thread and site.
    pub fn work_waits<'w>(
        &'w self,
        (run, log): (usize, &'w Recording),
    ) -> impl Iterator<Item = WorkWaits> + 'w {
        let of_log = self.logs.get(run);
        let is_for_work = move |waits: &&WorkWaits| {
            let site = log.definitions().sites().get(waits.site);
            let is_loop = site.zip(of_log).is_some_and(|(it, of)| of.loops.contains(&it.stack));
            let place = self.place_of_site(run, waits.site).and_then(|at| self.judged.get(at));
            is_loop || place.is_some_and(JudgedPlace::is_for_work)
        };
        of_log.map_or(&[][..], |it| &it.all).iter().filter(is_for_work).copied()
    }

    /// Whether threads wait for work with this stack of `log`, the `run`-th.
    pub fn is_for_work(&self, of_log: (usize, &Recording), stack: u32) -> bool {
        let is_loop = self.logs.get(of_log.0).is_some_and(|it| it.loops.contains(&stack));
        let place = self.logs.get(of_log.0).and_then(|it| self.find_place(it, of_log.1, stack));
        let place = place.and_then(|place| self.judged.get(place as usize));
        is_loop || place.is_some_and(JudgedPlace::is_for_work)
    }

    /// Whether the waits at a site of the `run`-th log are for a semaphore that announces work.
    pub fn announces_work(&self, run: usize, site: u32) -> bool {
        let place = self.place_of_site(run, site).and_then(|place| self.judged.get(place));
        place.is_some_and(JudgedPlace::announces_work)
    }

    /// Whether a stack of `log`, the `run`-th, is that of a thread's own loop: it has few frames
    /// of the program, all of one maker, and the innermost one itself waits there.
    pub fn is_loop(&self, (run, log): (usize, &Recording), stack: u32) -> bool {
        let Some(of_log) = self.logs.get(run) else { return false };
        let shape = of_log.shapes.shape(log, stack);
        let (_, calls) = of_log.shapes.method(log, &shape);
        let waits_itself = calls.is_empty() || calls.starts_with("java.util.concurrent.");
        waits_itself && shape.is_of_loop() && !of_log.shapes.crosses(log, &shape)
    }
}
