//! The table. A new option is an entry here, and the use of its field.

pub(crate) mod entry;

use crate::{
    kinds::{
        Choice, DAY_NS, Flag, HOUR_NS, Kind, Length, ModeKind, Names, Number, Path, Patterns,
        Period, Share, Size, Span, Text, ThresholdKind,
    },
    values::{Command, FileNames, HoldSampling, Mode, NamePattern, Parks, Threshold, Walk},
};
use entry::{Counts, Entry, INTERNAL, Later, Logged, Reach, USUAL, options};
use std::{ops::RangeInclusive, path::PathBuf, time::Duration};
use tyrion_wire::pattern::Pattern;

/// The log, unless the user names one.
pub const DEFAULT_FILE: &str = "tyrion-%p.log";
/// Between two looks at all threads unless the user says otherwise, ns.
pub const DEFAULT_PERIOD_NS: u64 = 50_000_000;
/// Between two looks at all threads, ns; shorter periods would leave little time
/// for the program.
pub const PERIODS_NS: RangeInclusive<u64> = 1_000_000..=HOUR_NS;

const SECOND_NS: u64 = 1_000_000_000;
/// The least time for which waits must cost much, or locks are traced.
const AUTO_LEAST_NS: u64 = 100_000_000;

options! {
    /// What the agent is asked to do.
    Options {
        /// The log; %p stands for the JVM's process id. The name may contain any bytes
        /// except control characters
        file: PathBuf = PathBuf::from(DEFAULT_FILE) => Path, {
            name: "file", value_name: "LOG", later: Later::Moot, reach: Reach::Output,
            logged: Logged::No, ..USUAL
        }
        /// What is recorded: contention (waits), trace (also every acquisition and how
        /// long locks are held), auto (waits, and for a while every acquisition of the locks
        /// that cost much), sample (what every thread is doing, at regular intervals), or
        /// sample together with one of the others
        mode: Option<Mode> = Mode::default() => ModeKind, {
            name: "mode", value_name: "MODE", later: Later::Changes, ..USUAL
        }
        /// Waits shorter than this are folded into sums: auto (six times what an
        /// undelayed wait costs, at least 10us), 0 for none, or a duration such as 50us
        threshold: Option<Threshold> = Threshold::default() => ThresholdKind, {
            name: "threshold", value_name: "DURATION", later: Later::Changes, ..USUAL
        }
        /// The maximum number of frames kept of a stack
        depth: u32 = 128 => Number { from: 1, to: 2048 }, {
            name: "depth", value_name: "FRAMES", ..USUAL
        }
        /// How the stacks of threads that wait for locks, or hold them, are found: fast
        /// (by the agent itself, from frame to frame, on x86-64: on JDK 8, 11, 17, 21 and 25 to
        /// 28 from the start, on others once 10 000 stacks were as the JVM says), jvmti (always
        /// with GetStackTrace), compare (in both ways, to compare the results), or auto (fast)
        walk: Walk = Walk::Auto => Choice(&[
            ("auto", Walk::Auto),
            ("fast", Walk::Fast),
            ("jvmti", Walk::Jvmti),
            ("compare", Walk::Compare),
        ]), {
            name: "walk", value_name: "HOW", ..USUAL
        }
        /// How waits in java.util.concurrent are observed: probes (added to five classes
        /// of the JDK), natives (by replacing native methods: no class is changed, but it
        /// is not known when a condition was signalled), or auto (natives with those few
        /// probes that tell that, too, and how virtual threads park; but natives alone if
        /// contention mode is attached to a JVM before JDK 25, which would otherwise
        /// discard all compiled code when the first class is changed, and in one that
        /// makes an AOT cache, which could not be written; probes in trace mode)
        parks: Parks = Parks::Auto => Choice(&[
            ("auto", Parks::Auto),
            ("probes", Parks::Probes),
            ("natives", Parks::Natives),
        ]), {
            name: "parks", value_name: "HOW", ..USUAL
        }
        /// Whether to record who ends waits of 100us and more in java.util.concurrent:
        /// the thread that unparks the waiting thread or signals its condition, with its
        /// stack if the wait has lasted a millisecond; in trace mode also the thread that
        /// notifies an object
        wakers: bool = true => Flag, { name: "wakers", value_name: "BOOL", ..USUAL }
        /// Whether to look at random moments what the owners of locks that others wait for
        /// are doing: up to 200 stacks a second, for at most 0.5 % of the program's CPU time;
        /// in trace mode, which records who held locks, nobody looks
        holders: bool = true => Flag, { name: "holders", value_name: "BOOL", ..USUAL }
        /// Whether to look twice a second at what all threads do, where samples are not
        /// recorded, for at most 0.2 % of a processor's time: it tells what takes the time if
        /// locks do not
        snapshots: bool = true => Flag, { name: "snapshots", value_name: "BOOL", ..USUAL }
        /// Do not record threads whose name matches one of these patterns, with * and
        /// ?, separated by semicolons
        exclude_threads: Vec<Pattern> = Vec::new() => Patterns, {
            name: "exclude-threads", value_name: "PATTERNS", ..USUAL
        }
        /// Whether to record from the start; tyrion attach switches it on later
        enabled: bool = true => Flag, {
            name: "enabled", value_name: "BOOL", later: Later::Changes, logged: Logged::No, ..USUAL
        }
        /// Put the program's arguments into the log; they may hold secrets
        args: bool = false => Flag, {
            // In the log, this is the key of the arguments themselves.
            name: "args", value_name: "BOOL", logged: Logged::No, ..USUAL
        }
        /// Do not let the JVM start if there is a mistake in the options
        strict: bool = false => Flag, {
            name: "strict", value_name: "BOOL", later: Later::Moot, logged: Logged::No, ..USUAL
        }
        /// Replace an existing file; if false, the process id is added to the name. A
        /// log that another JVM still writes to is never replaced, and neither is a
        /// file that is not a Tyrion log
        overwrite: bool = true => Flag, {
            name: "overwrite", value_name: "BOOL", later: Later::Moot, reach: Reach::AgentOnly,
            logged: Logged::No, ..USUAL
        }
        /// Start a new log file when the current one has reached this size; each file can
        /// be read alone
        filesize: Option<u64> => Size, {
            name: "filesize", value_name: "SIZE", later: Later::Changes, ..USUAL
        }
        /// Keep at most this many log files, the latest ones; no limit if maxsize or
        /// maxage is given instead
        filecount: u32 = 5 => Number { from: 1, to: 10_000 }, {
            name: "filecount", value_name: "COUNT", needs: Some("filesize"),
            later: Later::Changes, ..USUAL
        }
        /// Also start a new log file when the current one has recorded for so long
        filetime: Option<Duration> => Span { from_ns: SECOND_NS, to_ns: 365 * DAY_NS }, {
            name: "filetime", value_name: "DURATION", needs: Some("filesize"),
            later: Later::Changes, ..USUAL
        }
        /// What full log files are called: number (report.log.0), or time
        /// (report.log.20261121-104900.0, when it began, in UTC). With time, a new recording
        /// keeps the files of earlier ones, and the limits hold for all of them together
        filenames: FileNames = FileNames::Number => Choice(&[
            ("number", FileNames::Number),
            ("time", FileNames::Time),
        ]), {
            name: "filenames", value_name: "HOW", needs: Some("filesize"),
            later: Later::Changes, ..USUAL
        }
        /// Remove the oldest log files when all together take more than this; filesize at
        /// least
        maxsize: Option<u64> => Size, {
            name: "maxsize", value_name: "SIZE", needs: Some("filesize"),
            later: Later::Changes, ..USUAL
        }
        /// Remove log files that ended longer ago than this
        maxage: Option<Duration> => Span { from_ns: SECOND_NS, to_ns: 3650 * DAY_NS }, {
            name: "maxage", value_name: "DURATION", needs: Some("filesize"),
            later: Later::Changes, ..USUAL
        }
        /// What to do when the agent is loaded into a running JVM
        command: Command = Command::Start => Choice(&[
            ("start", Command::Start),
            ("stop", Command::Stop),
            ("status", Command::Status),
        ]), {
            name: "command", value_name: "COMMAND", ..INTERNAL
        }
        /// The number of the sample that is to end
        end_sample: Option<u64> => Number { from: 0, to: u64::MAX }, {
            name: "end-sample", value_name: "NUMBER", ..INTERNAL
        }
        /// For how long, if the JVM shall be as before then
        sample_for: Option<Duration> => Length, {
            name: "for", value_name: "DURATION", ..INTERNAL
        }
        /// A file for the answer to the command; empty for none
        reply: String = String::new() => Text, { name: "reply", value_name: "FILE", ..INTERNAL }
        /// The folder in which the command has put what the agent needs as long as
        /// the JVM runs; empty for none
        home: String = String::new() => Text, { name: "home", value_name: "FOLDER", ..INTERNAL }
        /// The process that waits for the answer; 0 for none
        by: u64 = 0 => Number { from: 0, to: u64::MAX }, {
            name: "by", value_name: "PID", ..INTERNAL
        }
        /// Whether the user has named the log, and it is to be that one from now on
        named: bool = false => Flag, { name: "named", value_name: "BOOL", ..INTERNAL }
    }

    /// What trace mode records.
    trace: TraceOptions, Counts::Trace, {
        /// Which holds are measured: 1/N (the first thousands of each place, then one in N),
        /// all or none
        hold: HoldSampling = HoldSampling::OneIn(64) => Share, {
            name: "hold", value_name: "SHARE", later: Later::Changes, ..USUAL
        }
        /// Whether every acquisition becomes a record (all), or acquisitions are summed
        /// (folded)
        every_event: bool = false => Choice(&[("folded", false), ("all", true)]), {
            name: "events", value_name: "EVENTS", later: Later::Changes, ..USUAL
        }
        /// Whether every acquisition is counted (full), or those at places that take locks
        /// very often in random bursts only, which costs less; their numbers are then
        /// estimates, with a standard error (adaptive)
        adaptive: bool = false => Choice(&[("full", false), ("adaptive", true)]), {
            name: "count", value_name: "COUNT", ..USUAL
        }
        /// Whether to tell lock objects apart, to see which ones several threads
        /// share
        identity: bool = true => Flag, { name: "identity", value_name: "BOOL", ..USUAL }
        /// Whether waits for the monitors of synchronized blocks begin before the block,
        /// so that those in which HotSpot spins are recorded, too; it costs two readings
        /// of the clock for each acquisition
        precise: bool = false => Flag, { name: "precise", value_name: "BOOL", ..USUAL }
        /// Trace only classes that match one of these patterns, with * and ?, separated
        /// by semicolons, such as 'com.acme.*;org.example.*'; all if none is given
        include: Vec<Pattern> = Vec::new() => Patterns, {
            name: "include", value_name: "PATTERNS", later: Later::Changes, ..USUAL
        }
        /// Do not trace classes that match one of these patterns
        exclude: Vec<Pattern> = Vec::new() => Patterns, {
            name: "exclude", value_name: "PATTERNS", later: Later::Changes, ..USUAL
        }
    }

    /// When locks are traced for a while, and for how long.
    auto: AutoOptions, Counts::Auto, {
        /// Locks are traced for a while if threads wait for them for more than this share of
        /// the time in which the program is busy, in percent: of the time in which its threads
        /// run, or wait for locks, and of that of one thread at least
        percent: u32 = 5 => Number { from: 1, to: 100 }, {
            name: "auto-percent", value_name: "PERCENT", later: Later::Changes, ..USUAL
        }
        /// For how long waits must have cost so much
        after: Duration = Duration::from_secs(10) => Span { from_ns: AUTO_LEAST_NS, to_ns: DAY_NS }, {
            name: "auto-after", value_name: "DURATION", later: Later::Changes, ..USUAL
        }
        /// For how long locks are traced at most; it ends earlier when their mean holds are
        /// known within 5 %
        at_most: Duration = Duration::from_secs(60) => Span { from_ns: AUTO_LEAST_NS, to_ns: DAY_NS }, {
            name: "auto-for", value_name: "DURATION", later: Later::Changes, ..USUAL
        }
    }

    /// What is sampled. Each is `None` when the user did not say.
    sampling: SampleOptions, Counts::Sampling, {
        /// The mean time between two snapshots of all threads
        period_ns: Option<u64> = DEFAULT_PERIOD_NS => Period {
            from_ns: *PERIODS_NS.start(),
            to_ns: *PERIODS_NS.end(),
        }, {
            name: "period", value_name: "DURATION", later: Later::Changes, ..USUAL
        }
        /// Sample only threads whose name matches this regular expression, which cannot
        /// have \p{...}; all if it is empty
        threads: Option<NamePattern> => Names, {
            name: "threads", value_name: "REGEX", later: Later::Changes,
            logged: Logged::As("sample-threads"), ..USUAL
        }
        /// Do not sample daemon threads
        skip_daemon: Option<bool> = false => Flag, {
            name: "skip-daemon", value_name: "BOOL", later: Later::Changes, ..USUAL
        }
        /// Whether there is but one look, a period from now
        once: bool = false => Flag, { name: "once", value_name: "BOOL", ..INTERNAL }
    }
}
