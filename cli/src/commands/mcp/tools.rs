//! The tools: one row each.

use super::{
    parameters::{self, Parameter, ParameterKind},
    results::Output,
};
use rmcp::model::{self, ToolAnnotations};
use std::sync::Arc;

/// A tool.
pub struct Tool {
    /// What assistants call it.
    pub name: &'static str,
    /// What it is for.
    help: &'static str,
    /// The command and its options, without what the parameters add.
    pub command: &'static [&'static str],
    /// What it can be given.
    pub parameters: &'static [&'static Parameter],
    /// What it answers.
    pub output: Output,
    /// Whether it loads the agent into a JVM.
    pub attaches: bool,
}

/// Rows of each table, at most.
pub const TOP: &str = "--top";

static LOGS: Parameter = Parameter {
    name: "logs",
    kind: ParameterKind::Files,
    option: None,
    default: None,
    help: "Logs of Tyrion, recordings of Flight Recorder, thread dumps or pprof profiles, or folders of logs: paths in the folder that this server reads",
};
static LOG: Parameter = Parameter {
    name: "log",
    kind: ParameterKind::File,
    option: None,
    default: None,
    help: "A log, in the folder that this server reads",
};
static ROWS: Parameter = Parameter {
    name: "top",
    kind: ParameterKind::Number(1, 100),
    option: Some(TOP),
    default: Some("10"),
    help: "At most so many rows of each table",
};
static LOCK: Parameter = Parameter {
    name: "lock",
    kind: ParameterKind::Text,
    option: Some("--lock"),
    default: None,
    help: "Only locks whose class, name, or class and identity (java.lang.Object#7) matches this regular expression or contains it as plain text",
};
static THREAD: Parameter = Parameter {
    name: "thread",
    kind: ParameterKind::Text,
    option: Some("--thread"),
    default: None,
    help: "Only threads whose name matches this regular expression",
};
static SINCE: Parameter = Parameter {
    name: "since",
    kind: ParameterKind::Text,
    option: Some("--since"),
    default: None,
    help: "Only waits that ended at or after this moment: 90s from the start, -10s from the end, or a time (2026-11-21T10:49:00Z)",
};
static UNTIL: Parameter = Parameter {
    name: "until",
    kind: ParameterKind::Text,
    option: Some("--until"),
    default: None,
    help: "Only waits that ended before this moment",
};
static BY: Parameter = Parameter {
    name: "by",
    kind: ParameterKind::OneOf(&["waiter", "holder", "waker"]),
    option: Some("--by"),
    default: Some("waiter"),
    help: "Whose stacks: of threads that waited, of those that held the lock (trace mode), or of those that ended the waits",
};
static CHANGED_LOCK: Parameter = Parameter {
    name: "lock",
    kind: ParameterKind::Text,
    option: Some("--lock"),
    default: None,
    help: "The lock to change; without it, the locks where something may be gained are listed",
};
static FREE: Parameter = Parameter {
    name: "free",
    kind: ParameterKind::Switch,
    option: Some("--free"),
    default: None,
    help: "Nobody waits for the lock any more",
};
static HOLD: Parameter = Parameter {
    name: "hold",
    kind: ParameterKind::Text,
    option: Some("--hold"),
    default: None,
    help: "It is held for less time: /2 is half of it",
};
static STRIPES: Parameter = Parameter {
    name: "stripes",
    kind: ParameterKind::Number(2, 65_536),
    option: Some("--stripes"),
    default: None,
    help: "It is split into so many locks",
};
static BEFORE: Parameter = Parameter {
    name: "before",
    kind: ParameterKind::File,
    option: None,
    default: None,
    help: "The earlier log",
};
static AFTER: Parameter = Parameter {
    name: "after",
    kind: ParameterKind::File,
    option: None,
    default: None,
    help: "The later log",
};
static PID: Parameter = Parameter {
    name: "pid",
    kind: ParameterKind::Number(1, u32::MAX as u64),
    option: None,
    default: None,
    help: "The process id of the JVM, from list_jvms",
};
static FOR_SECONDS: Parameter = Parameter {
    name: "seconds",
    kind: ParameterKind::Seconds(1, 120),
    option: Some("--duration"),
    default: Some("10s"),
    help: "For how many seconds to record",
};
static MODE: Parameter = Parameter {
    name: "mode",
    kind: ParameterKind::OneOf(&["contention", "trace"]),
    option: Some("--mode"),
    default: Some("contention"),
    help: "contention costs next to nothing; trace also sees every acquisition and hold, and may slow the program down a lot",
};

/// What there is, in the order in which an assistant would use it.
pub static ALL: [Tool; 11] = [
    Tool {
        name: "list_jvms",
        help: "List the JVMs that run on this machine, and which of them are recorded",
        command: &["list", "--json"],
        parameters: &[],
        output: Output::Whole("list"),
        attaches: false,
    },
    Tool {
        name: "profile",
        help: "Record a running JVM for some seconds and say which lock, if any, slows it down. The log stays in the folder, for the other tools. This loads Tyrion's agent into the JVM",
        command: &["profile", "--json", "--no-open"],
        parameters: &[&PID, &FOR_SECONDS, &MODE],
        output: Output::Profile,
        attaches: true,
    },
    Tool {
        name: "verdict",
        help: "Say in a few sentences whether locks slow the program down, which lock, who holds it and what to do. Begin here",
        command: &["report", "--json", "--section=verdict"],
        parameters: &[&LOGS, &SINCE, &UNTIL],
        output: Output::Sections(&["verdict"]),
        attaches: false,
    },
    Tool {
        name: "overview",
        help: "Show what a log contains: JVM, duration, threads, sums of waits by kind, pauses, and whether it is complete",
        command: &["info", "--json"],
        parameters: &[&LOG],
        output: Output::Whole("info"),
        attaches: false,
    },
    Tool {
        name: "locks",
        help: "Table of the locks that threads waited for, the worst first: waits, times, percentiles, holders",
        command: &["report", "--json", "--section=contended"],
        parameters: &[&LOGS, &ROWS, &LOCK, &THREAD, &SINCE, &UNTIL],
        output: Output::Sections(&["contended"]),
        attaches: false,
    },
    Tool {
        name: "who_blocks_whom",
        help: "Which threads, and methods, made which others wait, and for which lock; and who ended the waits",
        command: &["report", "--json", "--section=blockers,wakers"],
        parameters: &[&LOGS, &ROWS, &LOCK, &SINCE, &UNTIL],
        output: Output::Sections(&["blockers", "wakers"]),
        attaches: false,
    },
    Tool {
        name: "stuck",
        help: "Deadlocks and waits that never ended, and locks that are taken in different orders and may deadlock (trace mode)",
        command: &["report", "--json", "--section=still-waiting,lock-order"],
        parameters: &[&LOGS, &ROWS],
        output: Output::Sections(&["still-waiting", "lock-order"]),
        attaches: false,
    },
    Tool {
        name: "withheld",
        help: "Waits that are for no lock but keep threads from work: full pools, empty queues, answers that do not come",
        command: &["report", "--json", "--section=withheld"],
        parameters: &[&LOGS, &ROWS],
        output: Output::Sections(&["withheld"]),
        attaches: false,
    },
    Tool {
        name: "stacks",
        help: "The stacks in which threads waited for a lock, or held it, with the time of each, the longest first",
        command: &["convert", "--to=collapsed", "--by-thread", "-o", "-"],
        parameters: &[&LOGS, &LOCK, &THREAD, &BY, &SINCE, &UNTIL],
        output: Output::Stacks,
        attaches: false,
    },
    Tool {
        name: "what_if",
        help: "Predict what the program would gain if a lock were free, held for less time, or split",
        command: &["whatif", "--json"],
        parameters: &[&LOGS, &CHANGED_LOCK, &FREE, &HOLD, &STRIPES],
        output: Output::Whole("whatif"),
        attaches: false,
    },
    Tool {
        name: "diff",
        help: "Compare two logs: which locks are waited for more or less than before",
        command: &["diff", "--json"],
        parameters: &[&BEFORE, &AFTER, &ROWS],
        output: Output::Whole("diff"),
        attaches: false,
    },
];

impl Tool {
    /// It, as the protocol describes tools.
    pub fn described(&self) -> model::Tool {
        let input = Arc::new(parameters::schema(self.parameters));
        let annotations = ToolAnnotations::new()
            .read_only(!self.attaches)
            .destructive(false)
            .idempotent(!self.attaches)
            .open_world(false);
        model::Tool::new(self.name, self.help, input)
            .with_raw_output_schema(Arc::new(self.output.schema()))
            .with_annotations(annotations)
    }
}
