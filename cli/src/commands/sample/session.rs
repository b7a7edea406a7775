//! A JVM that is being sampled, from the start to the end.

use super::{DEFAULT_PERIOD_NS, SampleArgs};
use crate::{
    agent_options::AgentOptions,
    commands::{
        attach::{self, Agent, AgentReply, value},
        session::{self, LOOK, SessionLog},
    },
    jvm::process::exchange::Exchange,
    logs,
    outcome::{Failure, tell},
    signals::Interrupts,
};
use std::time::{Duration, Instant};
use tyrion_model::harmless;
use tyrion_report::{cells::shown, view::TableCell};

/// How long the agent may take for one look at all threads.
const PATIENCE: Duration = Duration::from_secs(10);
/// The agent ends a sample by itself so long after we should have.
const GRACE: Duration = Duration::from_secs(5);
/// Periods vary by a quarter.
const LONGEST: f64 = 1.25;

/// A JVM that is being sampled.
pub struct Session<'a> {
    agent: &'a Agent,
    /// The number that the agent gave the sample, until it has ended.
    number: Option<u64>,
    /// Whether waits are recorded, whatever becomes of the sample.
    was_recording: bool,
    /// Whether somebody else had begun to sample.
    joined: bool,
    /// The mean time between two looks.
    period: Duration,
    sampled: SampleLog,
}

/// What was sampled.
#[derive(Default)]
pub struct SampleLog {
    pub log: SessionLog,
    /// Where the log lies if nobody has named it: it is removed with this.
    pub folder: Option<Exchange>,
    /// What to look for in the names of threads, where the agent does not.
    pub threads: Option<regex::Regex>,
}

impl<'a> Session<'a> {
    /// Has the agent sample, loading it if need be.
    pub fn begin(agent: &'a Agent, args: &SampleArgs) -> Result<Session<'a>, Failure> {
        let file = args.output.as_ref().map(|output| agent.log_path(Some(output)));
        let before_ns = logs::now_ns();
        let options = AgentOptions::for_sampling(&args.sampling);
        let options = if args.once { options.once() } else { options };
        let (answer, exchange) = agent.start(
            &options.lasting(limit(args)),
            file.as_ref().map(|file| &*file.path),
            false,
        )?;
        let is_new = value(&answer, "before") == "new";
        let is_unnamed = is_new && file.is_none();
        let mut log = SessionLog::default();
        log.note(agent, &answer, file.as_ref());
        // A log that was lost goes on in a file that begins with this.
        let is_older = !is_new && value(&answer, "replaced") != "true";
        log.from_ns = is_older.then_some(before_ns);
        if args.show.interval.is_some() && !args.once {
            // Intervals count from here, and none is left over for the time that
            // it takes to end.
            let from_ns = logs::now_ns();
            log.from_ns = Some(from_ns);
            log.until_ns = Some(from_ns.saturating_add(args.duration));
        }
        let mut session = Session {
            agent,
            number: value(&answer, "sample").parse().ok(),
            was_recording: value(&answer, "before") == "recording",
            joined: value(&answer, "joined") == "true",
            period: Duration::from_nanos(args.period_ns()),
            sampled: SampleLog { log, folder: is_unnamed.then_some(exchange), threads: None },
        };
        if session.joined {
            session.join(args, &answer);
        }
        let log = &session.sampled.log;
        if args.output.is_some() && is_new && log.here != log.path {
            tell(&format!(
                "note: the log is {} for the JVM, and here {}",
                attach::shown(&answer, "log"),
                harmless::text(&log.here.to_string_lossy())
            ));
        }
        if args.output.is_some() && !is_new {
            tell(&format!(
                "note: this JVM is already recorded into {}, so -o has no effect",
                attach::shown(&answer, "log")
            ));
        }
        Ok(session)
    }

    /// The JVM is sampled already, somebody else's way.
    fn join(&mut self, args: &SampleArgs, answer: &AgentReply) {
        self.sampled.threads.clone_from(&args.sampling.threads);
        self.join_period(args, answer);
        let threads = value(answer, "threads");
        let asked = args.sampling.threads.as_ref().map_or("", |regex| regex.as_str());
        if !threads.is_empty() && threads != asked {
            tell(&format!(
                "note: this JVM is already being sampled, but only threads whose names match \
                 '{}'; other threads are not seen",
                attach::shown(answer, "threads")
            ));
        }
        let skips = value(answer, "skip-daemon") == "true";
        match (skips, args.sampling.skips_daemons()) {
            (true, false) => tell(
                "note: this JVM is already being sampled, without daemon threads; they are not seen",
            ),
            (false, true) => tell(
                "note: this JVM is already being sampled, with daemon threads; they are shown, too",
            ),
            _ => {}
        }
    }

    /// The others' period counts.
    fn join_period(&mut self, args: &SampleArgs, answer: &AgentReply) {
        let period = value(answer, "period_ns").parse().unwrap_or(DEFAULT_PERIOD_NS);
        self.period = Duration::from_nanos(period);
        let is_late = args.once && self.period > PATIENCE;
        if is_late || args.sampling.period_ns().is_some_and(|asked| asked != period) {
            let period = shown(&TableCell::Ns(period)).into_owned();
            tell(&format!(
                "note: this JVM is already being sampled every {period}, which stays so; to change \
                 it, use tyrion attach {} --mode sample --period",
                self.agent.pid()
            ));
        }
    }

    /// Waits for the time to pass, the user to interrupt, or the JVM to end.
    pub fn wait(&self, interrupts: &Interrupts, time: Duration) {
        session::wait(self.agent, interrupts, time, |_| {});
    }

    /// Waits until the agent has looked once.
    pub fn wait_for_look(&self, interrupts: &Interrupts) -> Result<(), Failure> {
        if self.joined {
            // The others may be in the middle of one. Their period may be longer
            // than the agent would wait for us.
            self.wait(interrupts, self.period.min(PATIENCE).mul_f64(LONGEST) + LOOK);
            return Ok(());
        }
        self.wait(interrupts, self.period.mul_f64(LONGEST));
        let deadline = Instant::now() + PATIENCE;
        while self.is_sampling()? {
            if Instant::now() > deadline {
                tell(
                    "note: the agent did not finish in time; the tree shows what was sampled so far",
                );
                break;
            }
            if interrupts.wait(LOOK / 4) {
                break;
            }
        }
        Ok(())
    }

    /// Whether the agent is still sampling, which none does whose JVM has ended.
    fn is_sampling(&self) -> Result<bool, Failure> {
        match self.agent.status() {
            Ok(answer) => Ok(value(&answer, "sampling") == "on"),
            Err(_) if session::has_gone(self.agent) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Leaves the JVM as it was.
    pub fn end(mut self) -> Result<SampleLog, Failure> {
        let ended = self.restore();
        let has_gone = ended.is_err() && session::has_gone(self.agent);
        let mut sampled = std::mem::take(&mut self.sampled);
        // The agent holds on to its log as long as the JVM runs, and would write
        // on no other: it is needed when this JVM is sampled again.
        if !has_gone && self.agent.is_alive() {
            sampled.folder.iter_mut().for_each(Exchange::keep);
        }
        match ended {
            Ok(answer) => {
                self.tell_ended(&answer);
                sampled.log.note(self.agent, &answer, None);
                Ok(sampled)
            }
            Err(_) if has_gone => {
                tell("note: the JVM has ended; the tree shows what was sampled until then");
                Ok(sampled)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Says so if it has ended before.
    fn tell_ended(&self, answer: &AgentReply) {
        let pid = self.agent.pid();
        if self.was_recording && value(answer, "state") == "paused" {
            tell(&format!(
                "note: recording was stopped meanwhile, by tyrion stop or by the program; the tree \
                 shows what was sampled until then. To resume recording, use tyrion attach {pid}"
            ));
        } else if value(answer, "ended") == "false" {
            tell(
                "note: sampling was ended before, by tyrion stop or tyrion attach, or because its \
                 time was over; the tree shows what was sampled until then",
            );
        }
    }

    fn restore(&mut self) -> Result<AgentReply, Failure> {
        match self.number.take() {
            Some(number) => self.agent.end_sample(number),
            None => Ok(AgentReply::new()),
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // Where something failed on the way; that is what the user is told.
        let _ = self.restore();
    }
}

/// After which time the agent shall end the sample, if we have not: we may have
/// been killed.
fn limit(args: &SampleArgs) -> Duration {
    let period = Duration::from_nanos(args.period_ns());
    let length = match args.once {
        true => period.mul_f64(LONGEST) + PATIENCE,
        false => Duration::from_nanos(args.duration),
    };
    length + GRACE
}
