//! Waits over the run.

use super::shared::{self, nobody_waited};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::LockRef,
    section::schema_of,
    view::{self, Part, View},
};
use schemars::JsonSchema;
use serde::Serialize;
use tyrion_model::harmless;

/// The section.
pub const SECTION: Section = Section {
    name: "timeline",
    title: "Timeline",
    means: "How long threads waited, lock by lock and thread by thread, over the run.",
    advice: "Rows that fill together have one cause; a row that fills suddenly shows what changed \
             then: look there with --since and --until.",
    about: About::Locks,
    in_brief: InBrief::Never,
    schema: schema_of::<WaitTimeline>,
    answer,
};

/// The answer. Amounts are in boxes of the same duration, in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaitTimeline {
    /// The Unix time at which the first box begins.
    pub start_wall_ns: u64,
    /// The duration that the boxes cover. The last box may be shorter.
    pub duration_ns: u64,
    /// The duration that each box stands for.
    pub box_ns: u64,
    /// All waits.
    pub all_ns: Vec<u64>,
    /// The locks with the most wait, the most first.
    pub locks: Vec<LockTimeline>,
    /// The threads with the most wait, the most first.
    pub threads: Vec<ThreadTimeline>,
}

/// The waits for a lock, or for those of a class and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LockTimeline {
    /// The lock.
    pub lock: LockRef,
    /// How long threads waited for it in each box.
    pub wait_ns: Vec<u64>,
}

/// The waits of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadTimeline {
    /// Its name.
    pub thread: String,
    /// `Thread.getId()`.
    pub java_id: u64,
    /// How long it waited in each box.
    pub wait_ns: Vec<u64>,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let timeline = WaitTimeline::of(findings, options);
    let json = serde_json::to_value(&timeline).unwrap_or_default();
    Answer {
        json,
        view: view(&timeline, findings),
        lacking: shared::lacking_times(findings),
        advises: !timeline.locks.is_empty(),
    }
}

impl WaitTimeline {
    /// From what was found.
    pub fn of(findings: &Findings<'_>, options: &ReportOptions) -> WaitTimeline {
        let profile = findings.profile();
        let (axis, lines) = (&findings.axis, &findings.timelines);
        let most = if options.top == 0 { usize::MAX } else { options.top };
        let lock = |(group, boxes): &(u32, Vec<u64>)| LockTimeline {
            lock: findings.groups.lock_ref(*group),
            wait_ns: boxes.clone(),
        };
        let thread = |(thread, boxes): &(u32, Vec<u64>)| ThreadTimeline {
            thread: profile.thread_name(*thread),
            java_id: profile.threads.get(*thread as usize).map_or(0, |thread| thread.java_id),
            wait_ns: boxes.clone(),
        };
        WaitTimeline {
            start_wall_ns: axis.start_wall_ns,
            duration_ns: axis.duration_ns,
            box_ns: axis.box_ns,
            all_ns: lines.all.clone(),
            locks: lines.locks.iter().take(most).map(lock).collect(),
            threads: lines.threads.iter().take(most).map(thread).collect(),
        }
    }
}

fn view(timeline: &WaitTimeline, findings: &Findings<'_>) -> View {
    if findings.lacks_times() {
        return View::default();
    }
    if timeline.locks.is_empty() {
        return View { parts: vec![Part::Text(nobody_waited(findings))] };
    }
    let lines = |title: &str, rows: Vec<(String, Vec<u64>)>| {
        let (start_wall_ns, box_ns) = (timeline.start_wall_ns, timeline.box_ns);
        Part::Timeline(view::Timeline { title: title.to_owned(), start_wall_ns, box_ns, rows })
    };
    let shown = |name: &str| harmless::name(name).into_owned();
    let all = ("all locks".to_owned(), timeline.all_ns.clone());
    let locks = timeline.locks.iter().map(|lock| (lock.lock.label(), lock.wait_ns.clone()));
    let threads = timeline.threads.iter().map(|of| (shown(&of.thread), of.wait_ns.clone()));
    View {
        parts: vec![
            lines("Wait per lock", std::iter::once(all).chain(locks).collect()),
            lines("Wait per thread", threads.collect()),
        ],
    }
}
