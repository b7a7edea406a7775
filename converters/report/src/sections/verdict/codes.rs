//! The verdict in codes, for machines: what words may say in many ways.

use super::{
    Activity, Cause, Certainty, Finding, GuiltyLock, Instead, KnownBy, Pinned, Unanswered, Verdict,
    WithheldLoss, stuck::Stuck,
};
use crate::{
    findings::LockRef,
    sections::{overview::Overview, shared::share, still_waiting::Waiting, withheld::WokenBy},
};
use schemars::JsonSchema;
use serde::Serialize;
use tyrion_wire::WaitKind;

/// Pauses of the garbage collector are what a program suffers from if they take this share of
/// the time, and more than locks do.
const COLLECTIONS: f64 = 0.25;

/// What slows the program, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Threads wait for a lock that others have.
    Lock,
    /// Threads wait for what others do that is no lock: an object of a pool, a result, room.
    Wait,
    /// Threads wait for each other for ever.
    Deadlock,
    /// Threads wait for what does not come.
    NobodyAnswers,
    /// It has nothing to do.
    Idle,
    /// It computes.
    Computes,
    /// The garbage collector stops it.
    CollectsGarbage,
    /// It waits for an answer from outside: a socket, a file, a process.
    Outside,
    /// Virtual threads keep their carriers while they wait.
    Pinned,
    /// More threads want to run than there are processors.
    Processors,
    /// What was recorded does not decide.
    #[default]
    Unclear,
}

/// What mends it, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Do less while the lock is held.
    ShortenHold,
    /// Take the lock less often, or have one for each part.
    TakeLessOften,
    /// Take locks in the same order everywhere.
    SameOrder,
    /// Initialize the class earlier, or do less meanwhile.
    InitializeEarlier,
    /// Have more of what is waited for: permits, connections, workers.
    LargerPool,
    /// Whoever empties the queue is too slow.
    DrainFaster,
    /// Whoever brings the result is too slow.
    SpeedUpTask,
    /// Whoever should have come did not.
    Signal,
    /// Give back what was taken, also after errors.
    ReturnAlways,
    /// Take a lock that is not fair.
    Unfair,
    /// Have another pool for what is waited for in tasks of this one.
    SeparatePool,
    /// Let virtual threads wait where they do not keep their carriers.
    Unpin,
    /// Run fewer threads.
    FewerThreads,
    /// Make less garbage, or have a larger heap.
    LessGarbage,
    /// Profile its CPU time.
    ProfileCpu,
    /// Look at what it reads, writes, or calls outside.
    LookOutside,
    /// There is nothing to do.
    Nothing,
    /// Record more: `next` says how.
    #[default]
    RecordMore,
}

/// The codes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Codes {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) holder: String,
    pub(super) holder_own: String,
    pub(super) waiter: String,
    pub(super) waiter_own: String,
    pub(super) advice: Advice,
    pub(super) certainty: Certainty,
}

impl Codes {
    /// Those of a verdict whose parts are known.
    pub(super) fn of(verdict: &Verdict, stuck: &Stuck, overview: &Overview) -> Codes {
        let of_collections = || collections(verdict, overview);
        match verdict.finding {
            Finding::Deadlock => of_deadlock(stuck),
            Finding::StillWaiting => of_waiting(stuck),
            Finding::Unanswered => {
                verdict.unanswered.as_ref().map(of_unanswered).unwrap_or_default()
            }
            Finding::Pinned => verdict.pinned.as_ref().map(of_pinned).unwrap_or_default(),
            Finding::OtherWaits => verdict.withheld.as_ref().map(of_withheld).unwrap_or_default(),
            Finding::Locks | Finding::NotTimed => {
                of_collections().or(verdict.lock.as_ref().map(of_lock)).unwrap_or_default()
            }
            Finding::LocksALittle | Finding::NotLocks => {
                let instead = verdict.instead.as_ref().map(of_instead);
                of_collections().or(instead).unwrap_or_default()
            }
            Finding::Selected => verdict.lock.as_ref().map(of_lock).unwrap_or_default(),
            Finding::NotRecorded => verdict.instead.as_ref().map(of_instead).unwrap_or_default(),
        }
    }
}

fn of_deadlock(stuck: &Stuck) -> Codes {
    let threads = stuck.deadlock.iter().flat_map(|deadlock| &deadlock.threads);
    let is_of_classes = threads.clone().all(|it| it.lock.initializes().is_some());
    let is_inferred = threads.clone().any(|it| it.owner_known_by == "earlier-nesting");
    let all = |of: fn(&Waiting) -> String| threads.clone().map(of).collect::<Vec<_>>().join(", ");
    Codes {
        kind: Kind::Deadlock,
        name: all(|it| name_of(&it.lock)),
        holder: all(|it| it.owner.clone()),
        waiter: all(|it| it.place().to_owned()),
        advice: if is_of_classes { Advice::InitializeEarlier } else { Advice::SameOrder },
        certainty: if is_inferred { Certainty::Inferred } else { Certainty::Exact },
        ..Codes::default()
    }
}

fn of_waiting(stuck: &Stuck) -> Codes {
    let Some(first) = stuck.waiting.first() else { return Codes::default() };
    let is_owned = !first.owner.is_empty();
    Codes {
        kind: if is_owned { Kind::Lock } else { Kind::NobodyAnswers },
        name: name_of(&first.lock),
        holder: first.owner.clone(),
        waiter: first.place().to_owned(),
        advice: if is_owned { Advice::ShortenHold } else { Advice::Signal },
        certainty: if is_owned { Certainty::Exact } else { Certainty::Inferred },
        ..Codes::default()
    }
}

fn of_unanswered(stuck: &Unanswered) -> Codes {
    Codes {
        kind: Kind::NobodyAnswers,
        name: match stuck.class.as_str() {
            "" => stuck.place.clone(),
            class => format!("{class} in {}", stuck.place),
        },
        holder: String::new(),
        waiter: stuck.place.clone(),
        waiter_own: stuck.own_place.clone(),
        advice: match (stuck.is_in_pool, stuck.was_returned) {
            _ if stuck.has_one_already => Advice::LargerPool,
            (_, true) => Advice::ReturnAlways,
            (true, false) => Advice::SeparatePool,
            (false, false) => Advice::Signal,
        },
        certainty: Certainty::Inferred,
        ..Codes::default()
    }
}

fn of_pinned(pinned: &Pinned) -> Codes {
    Codes {
        kind: Kind::Pinned,
        name: "carriers of virtual threads".to_owned(),
        holder: pinned.place.clone(),
        holder_own: pinned.own_place.clone(),
        advice: Advice::Unpin,
        certainty: Certainty::Estimated,
        ..Codes::default()
    }
}

fn of_withheld(loss: &WithheldLoss) -> Codes {
    let by = loss.woken_by.as_ref();
    let ended = by.map(who_and_where);
    let server = Some(loss.served_by.clone()).filter(|it| !it.is_empty());
    let root = loss.root.as_ref().map(|root| root.threads.clone());
    let holder = root.or(server).or(ended);
    let is_unanswered = loss.why == "unanswered";
    Codes {
        kind: if is_unanswered { Kind::NobodyAnswers } else { Kind::Wait },
        name: match loss.class.as_str() {
            "" => loss.place.clone(),
            // The JDK's own conditions say nothing of whose they are.
            class => format!("{class} in {}", loss.place),
        },
        holder: holder.unwrap_or_default(),
        holder_own: [&loss.meanwhile, &loss.waker_own]
            .into_iter()
            .find(|it| !it.is_empty())
            .cloned()
            .unwrap_or_default(),
        waiter: loss.place.clone(),
        waiter_own: loss.own_place.clone(),
        advice: match loss.why {
            "hands-over" | "polls" => Advice::DrainFaster,
            "one-another" => Advice::LargerPool,
            "unanswered" if loss.is_lent => Advice::ReturnAlways,
            "unanswered" => Advice::Signal,
            _ => Advice::SpeedUpTask,
        },
        certainty: if by.is_some() { Certainty::Estimated } else { Certainty::Inferred },
    }
}

/// `worker-* in Pool.giveBack`.
fn who_and_where(by: &WokenBy) -> String {
    match &by.at {
        Some(at) => format!("{} in {at}", by.threads),
        None => by.threads.clone(),
    }
}

fn of_lock(lock: &GuiltyLock) -> Codes {
    let holder = match (&lock.woken_by, lock.holder_known_by) {
        (Some(by), KnownBy::Unknown) => who_and_where(by),
        _ if lock.holder.is_empty() => lock.holders.clone(),
        _ => lock.holder.clone(),
    };
    let (kind, advice) = match lock.cause {
        Cause::Collections => (Kind::CollectsGarbage, Advice::LessGarbage),
        Cause::OwnerNotRunning => (Kind::Processors, Advice::FewerThreads),
        Cause::FewPermits => (Kind::Wait, Advice::LargerPool),
        Cause::NotReturned => (Kind::NobodyAnswers, Advice::ReturnAlways),
        Cause::FairHandOver => (Kind::Lock, Advice::Unfair),
        // Another thread initializes the class: that is no lock that code takes.
        Cause::Initialization => (Kind::Wait, Advice::InitializeEarlier),
        Cause::ManyAcquisitions | Cause::HandOver => (Kind::Lock, Advice::TakeLessOften),
        _ if lock.kinds.first() == Some(&WaitKind::Semaphore.name()) => {
            (Kind::Wait, Advice::LargerPool)
        }
        _ => (Kind::Lock, Advice::ShortenHold),
    };
    let certainty = lock.certainty;
    Codes {
        kind,
        name: name_of(&lock.lock),
        holder,
        holder_own: lock.holder_own.clone(),
        waiter: lock.waiter.clone(),
        waiter_own: lock.waiter_own.clone(),
        advice,
        certainty,
    }
}

fn of_instead(instead: &Instead) -> Codes {
    let (kind, advice) = match instead.activity {
        Activity::FewProcessors => (Kind::Processors, Advice::FewerThreads),
        Activity::Computing | Activity::ComputingOnSome => (Kind::Computes, Advice::ProfileCpu),
        Activity::Native => (Kind::Outside, Advice::LookOutside),
        Activity::Idle => (Kind::Idle, Advice::Nothing),
        Activity::AllBusy => return of_full_pool(instead),
        // What sleeps waits for nobody; but others may wait for it.
        Activity::Sleeping if instead.is_free => (Kind::Idle, Advice::Nothing),
        Activity::Sleeping | Activity::Waiting | Activity::Unknown => {
            (Kind::Unclear, Advice::RecordMore)
        }
    };
    let waiter = instead.place.clone();
    let name = match instead.calls.as_str() {
        calls if !calls.is_empty() && kind == Kind::Outside => format!("{calls} in {waiter}"),
        _ => waiter.clone(),
    };
    let waiter_own = instead.own_place.clone();
    Codes { kind, name, waiter, waiter_own, advice, ..Codes::default() }
}

fn of_full_pool(instead: &Instead) -> Codes {
    Codes {
        kind: Kind::Wait,
        name: instead.pool.clone(),
        holder: instead.busy.clone(),
        holder_own: instead.place.clone(),
        advice: Advice::LargerPool,
        certainty: Certainty::Estimated,
        ..Codes::default()
    }
}

/// Where the garbage collector takes more than locks do, and much.
fn collections(verdict: &Verdict, overview: &Overview) -> Option<Codes> {
    let paused = share(overview.collections?.pause_ns, overview.duration_ns);
    let is_most = paused >= COLLECTIONS && paused > verdict.lost_share.unwrap_or(0.0);
    let (kind, advice) = (Kind::CollectsGarbage, Advice::LessGarbage);
    is_most.then(|| Codes { kind, advice, certainty: Certainty::Exact, ..Codes::default() })
}

/// `Cache.lock (a.b.Sync)`, or the class of a lock without a name.
fn name_of(lock: &LockRef) -> String {
    match lock.telling() {
        ("", class) => class.to_owned(),
        (called, "") => called.to_owned(),
        (called, class) => format!("{called} ({class})"),
    }
}
