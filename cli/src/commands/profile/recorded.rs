//! A JVM that is being recorded, from the start to the end.

use super::ProfileArgs;
use crate::{
    commands::attach::{self, Agent, AgentReply, LogPath, value},
    jvm::names::program_of,
    logs,
    outcome::{Failure, tell},
    progress,
    signals::Interrupts,
};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tyrion_formats::Recording;
use tyrion_model::{
    filter::{Filter, Kinds, Moment},
    units,
};
use tyrion_wire::header::RecordingState;

/// How often we look whether the JVM still runs.
const LOOK: Duration = Duration::from_millis(100);
/// How long a JVM that answers no more may take to end.
const LEAVE: Duration = Duration::from_secs(1);

/// A JVM that is being recorded.
pub struct Recorder<'a> {
    agent: &'a Agent,
    /// Whether recording is ours to stop; not if it was on before.
    is_ours: bool,
    recorded: Recorded,
    asked: Option<LogPath>,
}

/// What was recorded.
#[derive(Default)]
pub struct Recorded {
    /// The log, by the JVM's path.
    pub log: PathBuf,
    /// The same, by our path.
    pub here: PathBuf,
    /// Since when it is to be reported on, monotonic ns, if the log is older.
    pub from_ns: Option<u64>,
    /// Until when, if the log goes on.
    until_ns: Option<u64>,
}

impl<'a> Recorder<'a> {
    /// Has the agent record, loading it if need be.
    ///
    /// # Errors
    /// When it cannot, or is recording and would have to do so in another way.
    pub fn begin(agent: &'a Agent, args: &ProfileArgs) -> Result<Recorder<'a>, Failure> {
        let before = agent.status()?;
        let (is_ours, asked, answer) = if value(&before, "state") == recording() {
            join(agent, args, &before)?;
            (false, None, before)
        } else {
            let is_paused = agent.is_loaded();
            let log = match is_paused && args.log.is_none() {
                true => unused(agent),
                false => agent.log_path(args.log.as_deref()),
            };
            attach::tell_cost(agent, &args.agent)?;
            let is_named = args.log.is_some() || is_paused;
            let (answer, _) = agent.start(&args.agent, Some(&log.path), is_named)?;
            (true, Some(log), answer)
        };
        let mut recorder = Recorder { agent, is_ours, recorded: Recorded::default(), asked };
        recorder.note_log(&answer);
        if !is_ours {
            recorder.recorded.from_ns = Some(logs::now_ns());
        }
        Ok(recorder)
    }

    /// A log that rotates has another name from time to time.
    fn note_log(&mut self, answer: &AgentReply) {
        if !value(answer, "log").is_empty() {
            self.recorded.log = PathBuf::from(value(answer, "log"));
            self.recorded.here = self.agent.seen_here(answer, self.asked.as_ref());
        }
    }

    /// Waits for the time to pass, the user to interrupt, or the JVM to end.
    pub fn wait(&self, interrupts: &Interrupts, time: Duration) {
        let pid = self.agent.pid();
        let what = match program_of(pid) {
            program if program.is_empty() => format!("recording {pid}"),
            program => format!("recording {pid}, {program}"),
        };
        let bar = progress::of_time(time, format!("{what} (Ctrl-C ends it early)"));
        bar.set_prefix(units::duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        let begin = Instant::now();
        loop {
            let passed = begin.elapsed();
            let left = time.saturating_sub(passed);
            if left.is_zero() || interrupts.wait(left.min(LOOK)) || !self.agent.is_alive() {
                break;
            }
            bar.set_position(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
        }
        bar.finish_and_clear();
    }

    /// Ends recording, unless it was on before: what was recorded.
    ///
    /// # Errors
    /// When the agent does not answer, though the JVM still runs.
    pub fn end(mut self) -> Result<Recorded, Failure> {
        if !self.is_ours {
            self.recorded.until_ns = Some(logs::now_ns());
        }
        let answer = match self.is_ours {
            true => self.agent.stop(),
            false => self.agent.status(),
        };
        self.is_ours = false;
        match answer {
            Ok(answer) => self.note_log(&answer),
            Err(_) if self.has_gone() => {
                tell("note: the JVM has ended; the report is of what was recorded until then");
            }
            Err(failure) => return Err(failure),
        }
        Ok(std::mem::take(&mut self.recorded))
    }

    /// Whether the JVM has ended. One that is about to answers no more.
    fn has_gone(&self) -> bool {
        let deadline = Instant::now() + LEAVE;
        while self.agent.is_alive() {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(LOOK / 4);
        }
        true
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        // Where something failed on the way; that is what the user is told.
        if self.is_ours {
            let _ = self.agent.stop();
        }
    }
}

fn recording() -> &'static str {
    RecordingState::Recording.name()
}

/// The JVM is recorded already, as somebody else wants it: that stays so.
fn join(agent: &Agent, args: &ProfileArgs, before: &AgentReply) -> Result<(), Failure> {
    let pid = agent.pid();
    if !args.agent.is_empty() {
        return Err(Failure::Usage(format!(
            "process {pid} is already being recorded in {} mode, and profile does not change how; \
             leave out the agent's options, or use tyrion stop {pid} first",
            attach::shown(before, "mode")
        )));
    }
    let more = match args.log {
        Some(_) => ", so --log has no effect",
        None => "",
    };
    tell(&format!(
        "note: this JVM is already being recorded into {}, and still is afterwards{more}",
        attach::shown(before, "log")
    ));
    Ok(())
}

/// A log of the usual name that is not there yet: what was recorded earlier stays
/// as it is.
fn unused(agent: &Agent) -> LogPath {
    let names = |path: &Path| {
        let folder = path.parent().unwrap_or(Path::new("/"));
        agent.files().names(folder).unwrap_or_default()
    };
    let name = |number: usize| match number {
        1 => format!("tyrion-{}.log", agent.pid()),
        _ => format!("tyrion-{}-{number}.log", agent.pid()),
    };
    let first = agent.log_path_unnamed(Path::new(&name(1)));
    let names = names(&first.path);
    let is_free = |number: &usize| !names.iter().any(|known| known == OsStr::new(&name(*number)));
    // There are fewer names than numbers.
    let number = (1..).find(is_free).unwrap_or(1);
    agent.log_path_unnamed(Path::new(&name(number)))
}

impl Recorded {
    /// What of the log is to be reported on; `log` is the newest file.
    pub fn filter(&self, log: Option<&Recording>) -> Filter {
        // The same moment in all files.
        let moment = |ns: u64| log.map(|log| Moment::Wall(logs::wall_ns(log, ns)));
        Filter {
            kinds: Kinds::contention(),
            since: self.from_ns.and_then(moment),
            until: self.until_ns.and_then(moment),
            ..Filter::default()
        }
    }
}
