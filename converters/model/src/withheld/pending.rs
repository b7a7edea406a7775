//! What is known of waits that have not ended.

use super::{
    Evidence, JudgedPlace, Verdict, Why, Withheld, is_lockless,
    places::{self, lends},
};
use crate::{describe::Names, lives::life};
use tyrion_formats::Recording;
use tyrion_wire::{WaitKind, slot::Pending};

/// All of a life but one part in so many is the whole.
const NOT_WHOLE: u64 = 10;
/// Answers come soon if a wait takes so many times as long as those.
const SOON: u64 = 20;
/// Fewer answers tell nothing.
const LEAST_ANSWERS: u64 = 5;

impl Withheld {
    /// Whether a wait of `log`, the `run`-th, is one of those that have lasted for nearly all of
    /// a thread's life, where none has ever ended and nothing is asked for: nothing has come.
    pub fn is_never_called(&self, (run, log): (usize, &Recording), pending: &Pending) -> bool {
        let waited_ns = log.end_ns().saturating_sub(pending.start_ns);
        let is_whole = || {
            let thread = log.definitions().threads().get(pending.thread);
            let life = thread.and_then(|thread| life(log, pending.thread, thread));
            life.is_some_and(|(from_ns, to_ns)| {
                let lived_ns = to_ns.saturating_sub(from_ns);
                waited_ns >= lived_ns - lived_ns / NOT_WHOLE
            })
        };
        let asked = (pending.kind, pending.stack, waited_ns);
        self.why((run, log), pending.stack).is_none()
            && is_whole()
            && !self.is_asked((run, log), asked)
    }

    /// Whether a wait with this stack of `log`, the `run`-th, that has not ended is for
    /// something that the thread has asked for: by what waits at the place were, if any
    /// have ended; else by what is called there.
    pub fn is_asked(
        &self,
        (run, log): (usize, &Recording),
        (kind, stack, waited_ns): (WaitKind, u32, u64),
    ) -> bool {
        let Some(of_log) = self.logs.get(run).filter(|_| is_lockless(kind)) else { return false };
        let is_asking = || {
            let shape = of_log.shapes.shape(log, stack);
            let calls_in_turn = of_log.shapes.makers(log, stack) > 2;
            let is_lent = Names(log).stack(stack).iter().any(|frame| lends(frame));
            calls_in_turn || is_lent || places::is_asking(&of_log.shapes.method(log, &shape).1)
        };
        if self.is_answered_elsewhere((run, log), stack, waited_ns) {
            return true;
        }
        match self.why((run, log), stack) {
            Some(why) if why.verdict() == Verdict::Withheld => true,
            // The few waits that ended tell little of one that does not.
            Some(
                Why::Once | Why::Coordinates | Why::ManyThings | Why::AllAtOnce | Why::Nothing,
            )
            | None => is_asking(),
            Some(_) => false,
        }
    }

    /// Whether no wait has ended where one that takes so long has this stack of `log`, the
    /// `run`-th, though others have ended soon that wait in the same method of a library.
    fn is_answered_elsewhere(
        &self,
        (run, log): (usize, &Recording),
        stack: u32,
        waited_ns: u64,
    ) -> bool {
        let Some(of_log) = self.logs.get(run) else { return false };
        let shape = of_log.shapes.shape(log, stack);
        if self.why((run, log), stack).is_some() || !of_log.shapes.crosses(log, &shape) {
            return false;
        }
        let place = of_log.shapes.place(log, &shape);
        let is_soon = |it: &Evidence| it.wait_ns <= it.waits.saturating_mul(waited_ns / SOON);
        let is_same = |it: &&JudgedPlace| it.evidence.crosses && it.place.is_in_method_of(&place);
        let mut same = self.judged.iter().filter(is_same);
        same.any(|it| it.evidence.waits >= LEAST_ANSWERS && is_soon(&it.evidence))
    }
}
