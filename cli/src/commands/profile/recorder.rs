//! A JVM that is being recorded, from the start to the end.

use super::ProfileArgs;
use crate::{
    agent_options::AgentOptions,
    commands::{
        attach::{self, Agent, AgentReply, LogPath, value},
        session::{self, SessionLog},
    },
    jvm::names::program_of,
    logs,
    outcome::{Failure, tell},
    progress,
    signals::Interrupts,
};
use std::{ffi::OsStr, path::Path, time::Duration};
use tyrion_model::units;
use tyrion_wire::header::RecordingState;

/// A JVM that is being recorded.
pub struct Recorder<'a> {
    agent: &'a Agent,
    /// Whether recording is ours to stop; not if it was on before.
    is_ours: bool,
    log: SessionLog,
    asked: Option<LogPath>,
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
            (false, None, found(agent, before)?)
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
        let mut log = SessionLog::default();
        log.note(agent, &answer, asked.as_ref());
        log.from_ns = (!is_ours).then(logs::now_ns);
        Ok(Recorder { agent, is_ours, log, asked })
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
        session::wait(self.agent, interrupts, time, |passed| {
            bar.set_position(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
        });
        bar.finish_and_clear();
    }

    /// Ends recording, unless it was on before: what was recorded.
    ///
    /// # Errors
    /// When the agent does not answer, though the JVM still runs.
    pub fn end(mut self) -> Result<SessionLog, Failure> {
        if !self.is_ours {
            self.log.until_ns = Some(logs::now_ns());
        }
        let answer = match self.is_ours {
            true => self.agent.stop(),
            false => self.agent.status(),
        };
        self.is_ours = false;
        match answer {
            Ok(answer) => self.log.note(self.agent, &answer, self.asked.as_ref()),
            Err(_) if session::has_gone(self.agent) => {
                tell("note: the JVM has ended; the report is of what was recorded until then");
            }
            Err(failure) => return Err(failure),
        }
        Ok(std::mem::take(&mut self.log))
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

/// A log that is not where it was, since somebody has moved it, goes on where it can be read:
/// what the agent says then.
fn found(agent: &Agent, before: AgentReply) -> Result<AgentReply, Failure> {
    let log = Path::new(value(&before, "log"));
    if agent.files().open(log).is_ok() {
        return Ok(before);
    }
    let usual = agent.log_path(None);
    let (answer, _) = agent.start(&AgentOptions::default(), Some(&usual.path), false)?;
    let (was, is) = (attach::shown(&before, "log"), attach::shown(&answer, "log"));
    let goes_on = match was == is {
        true => "a new file of that name".into(),
        false => is,
    };
    tell(&format!(
        "note: {was} is not there any more; this JVM is recorded into {goes_on} from now on"
    ));
    Ok(answer)
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
