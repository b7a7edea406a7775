//! `tyrion attach`, `tyrion stop` and `tyrion status`.

mod answer;
mod waiting;

use crate::{
    agent,
    agent_options::{AgentOptions, check_sent_file},
    jvm::{
        attach::{java_release, load},
        names::{JvmName, jvm_name, program_of},
        process::{
            JvmProcess,
            exchange::{Exchange, sweep},
            folder::Folder,
            reach::TEMPORARY,
        },
    },
    logs::LogFiles,
    outcome::{CommandResult, Failure, tell, tell_step},
    signals::{Interrupts, is_interrupted},
};
use clap::Args;
use std::{
    borrow::Cow,
    cell::RefCell,
    fs::File,
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};
use tyrion_model::harmless;
use tyrion_options::DEFAULT_FILE;
use waiting::{Next, Waiting};

/// Values are shown up to this many characters: a path has no more.
const LONGEST_VALUE: usize = 4096;
/// As much of what an agent says of an error.
const LONGEST_REASON: usize = 500;
/// An answer has fewer lines.
const MOST_LINES: usize = 100;

/// From this release on, JVMs discard no compiled code but that of the classes that are
/// changed.
const KEEPS_COMPILED_CODE: u32 = 25;

/// Which JVM, and how to record it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion attach 4711
  tyrion attach 4711 -o /tmp/report.log --threshold 0
  tyrion attach 4711 --mode trace --hold 1/256
  tyrion attach 4711 --mode contention+sample --period 20ms
  tyrion attach 4711 --hold all --include 'com.acme.*'
  tyrion attach 4711 -o /tmp/second.log --filesize 64m
  tyrion attach com.acme.Main

Records until the JVM ends or tyrion stop is run. If the JVM is in a container, log is
the path of the log inside, and log here the path outside.

If the JVM is already being recorded, --mode changes what is recorded from now on, and
the log says what was recorded when. With -o the recording continues in another log;
with --filesize a new file begins, and files have this size from then on. --threshold,
--period, --threads and --skip-daemon can also change. So can --hold, --events, --include
and --exclude of trace mode, also without --mode, and --identity and --precise until trace
mode has been on. Anything else is refused. JDK 21 and later print a warning in the JVM
when an agent is attached, unless it runs with -XX:+EnableDynamicAgentLoading.")]
pub struct AttachArgs {
    #[command(flatten)]
    jvm: JvmArgs,
    /// The log; %p stands for the process id. If the JVM is already being recorded, the
    /// recording continues in this log, or without -o in its current one
    /// [default: tyrion-%p.log here, or in the JVM's /tmp if the JVM cannot write here]
    #[arg(short, long, value_name = "LOG")]
    output: Option<PathBuf>,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Which JVM.
#[derive(Args, Debug)]
pub struct JvmArgs {
    /// The JVM: its process id, or its main class or jar, or a part of these or of
    /// its arguments
    #[arg(value_name = "PID|NAME", value_parser = jvm_name)]
    jvm: JvmName,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    trust: TrustArgs,
}

/// What the user vouches for.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct TrustArgs {
    /// Use the JVM's /tmp even if every user may replace files there, as in a
    /// volume of Kubernetes: only where no other user can reach it
    #[arg(long)]
    trust_tmp: bool,
}

impl TrustArgs {
    /// Lets a JVM know.
    ///
    /// # Errors
    /// When it has no /tmp.
    pub(super) fn apply(self, jvm: &mut JvmProcess) -> Result<(), Failure> {
        if self.trust_tmp {
            jvm.trust_temporary().map_err(Failure::Failed)?;
        }
        Ok(())
    }
}

/// What the agent's keys of its own CPU time begin with.
const OWN_CPU: &str = "cpu_";

/// What the agent answers: keys and values.
pub(super) type AgentReply = Vec<(String, String)>;

/// A value of an answer; empty when it is not there.
pub(super) fn value<'a>(reply: &'a [(String, String)], key: &str) -> &'a str {
    reply.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
}

/// As [`value`], as it may be shown.
pub(super) fn shown<'a>(reply: &'a [(String, String)], key: &str) -> Cow<'a, str> {
    harmless::within(value(reply, key), LONGEST_VALUE)
}

/// Records in a running JVM.
pub fn attach(args: AttachArgs) -> CommandResult {
    args.agent.check_for_change()?;
    let agent = Agent::find(&args.jvm.jvm, args.jvm.trust)?;
    if !agent.is_loaded() {
        args.agent.check()?;
    }
    let log = agent.log_path(args.output.as_deref());
    tell_cost(&agent, &args.agent)?;
    let is_named = args.output.is_some();
    let (mut answer, _) = {
        // An interrupt is for the agent, which takes back what it has begun.
        let held = Interrupts::hold();
        let held = held.map_err(|error| Failure::new(format!("signals: {error}")))?;
        let started = agent.start(&args.agent, Some(&log.path), is_named)?;
        if held.wait(Duration::ZERO) {
            let pid = agent.pid();
            tell(&format!("note: too late to give up; tyrion stop {pid} ends what has begun"));
        }
        started
    };
    // It has only just begun.
    answer.retain(|(key, _)| !key.starts_with(OWN_CPU));
    let written = value(&answer, "log");
    if (value(&answer, "mode"), value(&answer, "sampling")) == ("sample", "off") {
        tell("note: nothing is recorded; choose what to record, such as with --mode contention");
    }
    if args.agent.changes_trace() && !value(&answer, "mode").contains("trace") {
        tell("note: trace mode is off; its options count when it is on, as with --mode trace");
    }
    if args.output.is_some()
        && !written.is_empty()
        && Path::new(written) != log.path
        && !log.path.to_string_lossy().contains("%p")
    {
        tell(&format!(
            "note: the log is {}: the one of that name is still written to",
            shown(&answer, "log")
        ));
    }
    let here = agent.seen_here(&answer, Some(&log));
    answer::print(agent.pid(), &answer, &here, args.jvm.json)
}

/// Says what it costs to begin with trace mode, before it does.
pub(super) fn tell_cost(agent: &Agent, options: &AgentOptions) -> Result<(), Failure> {
    if !options.asks_for_trace() {
        return Ok(());
    }
    if agent.is_loaded() && value(&agent.status()?, "mode").contains("trace") {
        return Ok(());
    }
    tell(&cost_of_probes(agent.java_release()));
    Ok(())
}

/// What it costs to put probes into the classes of a JVM of this release: the seconds are
/// those of H2 (docs/costs.md). A JVM before 25 keeps its compiled code all the same if an
/// agent was there at its start, or if classes were changed before.
fn cost_of_probes(release: Option<u32>) -> String {
    let (jvm, discards, lasts) = match release {
        Some(release) if release >= KEEPS_COMPILED_CODE => {
            (format!("JDK {release}"), "the compiled code of these", 10)
        }
        Some(release) => (format!("JDK {release}"), "all compiled code", 20),
        None => ("The JVM".to_owned(), "compiled code", 20),
    };
    format!(
        "note: trace mode puts probes into the program's classes. {jvm} may discard {discards} \
         for that: until it is compiled again, under load often for some {lasts} s, the program \
         runs slowly (--include limits the probes to some classes)"
    )
}

/// Stops recording.
pub fn stop(args: JvmArgs) -> CommandResult {
    tell_answer(&args, Agent::stop)
}

/// Tells what the agent is doing.
pub fn status(args: JvmArgs) -> CommandResult {
    tell_answer(&args, Agent::status)
}

fn tell_answer(
    args: &JvmArgs,
    ask: impl FnOnce(&Agent) -> Result<AgentReply, Failure>,
) -> CommandResult {
    let agent = Agent::find(&args.jvm, args.trust)?;
    let answer = ask(&agent)?;
    answer::print(agent.pid(), &answer, &agent.seen_here(&answer, None), args.json)
}

/// The agent in a JVM, loaded or not yet.
pub(super) struct Agent {
    jvm: JvmProcess,
    temporary: Rc<Folder>,
    own: File,
    own_path: PathBuf,
    /// The agent that the JVM has loaded, by its path there.
    loaded: RefCell<Option<PathBuf>>,
}

impl Agent {
    /// That of this JVM. From now on this process has no rights but those of the
    /// JVM's user.
    ///
    /// # Errors
    /// When there is no such JVM, or its agent is another one.
    pub(super) fn find(name: &JvmName, trust: TrustArgs) -> Result<Agent, Failure> {
        let pid = name.pid()?;
        tell_step(|| format!("process {pid} runs {}", program_of(pid)));
        // Where only root may look, perhaps.
        let own = agent::AgentFiles::all();
        let mut jvm = JvmProcess::enter(pid).map_err(Failure::Failed)?;
        trust.apply(&mut jvm)?;
        let (own_path, own) = own.of(jvm.libc())?;
        let temporary = jvm.temporary().map_err(Failure::Failed)?;
        // Of several, each hands on to the one that was there first.
        let loaded = jvm.verified_agents(&own).map_err(Failure::Failed)?.into_iter().next();
        let loaded = RefCell::new(loaded);
        sweep(&temporary, jvm.uid());
        Ok(Agent { jvm, temporary, own, own_path, loaded })
    }

    /// The JVM's process id.
    pub(super) fn pid(&self) -> u32 {
        self.jvm.pid()
    }

    /// Whether the JVM has loaded it.
    pub(super) fn is_loaded(&self) -> bool {
        self.loaded.borrow().is_some()
    }

    /// The JVM's release of Java, such as 17; `None` if it does not say.
    fn java_release(&self) -> Option<u32> {
        java_release(&self.jvm, &self.temporary)
    }

    /// Whether the JVM still runs.
    pub(super) fn is_alive(&self) -> bool {
        self.jvm.is_alive()
    }

    /// The JVM's files.
    pub(super) fn files(&self) -> &dyn LogFiles {
        &self.jvm
    }

    /// The JVM's path of a log that the user names here, or of the usual one. A
    /// relative path would be relative to the JVM's folder; where the JVM has
    /// other files, the log goes into its /tmp. So does one that nobody has named
    /// where the JVM may not write to our folder.
    pub(super) fn log_path(&self, output: Option<&Path>) -> LogPath {
        self.path_of(output.unwrap_or(Path::new(DEFAULT_FILE)), output.is_some())
    }

    /// The same of a log that has this name because nobody has named it.
    pub(super) fn log_path_unnamed(&self, name: &Path) -> LogPath {
        self.path_of(name, false)
    }

    fn path_of(&self, name: &Path, is_named: bool) -> LogPath {
        let here = std::path::absolute(name).unwrap_or_else(|_| name.to_owned());
        let is_shared = here.parent().is_some_and(|folder| self.jvm.shares_folder(folder))
            && (is_named || self.jvm.check_can_create(&here).is_ok());
        let path = if is_shared { here } else { Path::new(TEMPORARY).join(name) };
        LogPath { path, is_shared }
    }

    /// The path of the log in an answer, as it is to be written here.
    pub(super) fn seen_here(
        &self,
        answer: &[(String, String)],
        asked: Option<&LogPath>,
    ) -> PathBuf {
        let log = Path::new(value(answer, "log"));
        if !log.is_absolute() {
            return PathBuf::new();
        }
        let same = asked.filter(|asked| asked.is_shared && asked.path.parent() == log.parent());
        same.map_or_else(|| self.jvm.here(log), |_| log.to_owned())
    }

    /// Has it record, loading it if need be, and into this log even if it has another
    /// one that the user has named (`is_named`): its answer, and the folder in which
    /// the log lies that nobody has named, if `log` is `None` and it was not
    /// recording yet. With that folder the log is removed, unless it is kept.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn start(
        &self,
        options: &AgentOptions,
        log: Option<&Path>,
        is_named: bool,
    ) -> Result<(AgentReply, Exchange), Failure> {
        log.map_or(Ok(()), check_sent_file)?;
        if !self.is_loaded() {
            self.jvm.check_library(&self.own).map_err(Failure::Failed)?;
        }
        if !self.is_loaded() || is_named {
            log.map_or(Ok(()), |log| self.jvm.check_can_create(log)).map_err(Failure::Failed)?;
        }
        let mut exchange = self.exchange()?;
        let unnamed = exchange.log_path();
        let file = log.unwrap_or(&unnamed);
        let loaded = self.loaded.borrow().clone();
        let is_new = loaded.is_none();
        let library = match loaded {
            Some(library) => library,
            None if self.jvm.can_load_in_place(&self.own_path, &self.own) => self.own_path.clone(),
            None => exchange.put_library(&self.own).map_err(Failure::Failed)?,
        };
        let is_copy = is_new && library != self.own_path;
        let home = exchange.path().to_string_lossy().into_owned();
        let mut more = vec![("command", "start")];
        if is_copy || is_new && log.is_none() {
            more.push(("home", &*home));
        }
        if is_named {
            more.push(("named", "true"));
        }
        let text = options.for_agent(Some(file), &with_reply(&exchange, &more));
        tell_step(|| match is_new {
            true => format!("loading {} into the JVM: {text}", library.display()),
            false => format!("to the agent in the JVM: {text}"),
        });
        load(&self.jvm, &self.temporary, &library, text.as_bytes()).map_err(Failure::Failed)?;
        if is_copy {
            // The JVM goes on using it.
            exchange.keep();
        }
        *self.loaded.borrow_mut() = Some(library);
        Ok((self.reply(&exchange)?, exchange))
    }

    /// Has it stop.
    ///
    /// # Errors
    /// When it cannot, or is not loaded.
    pub(super) fn stop(&self) -> Result<AgentReply, Failure> {
        self.ask(("command", "stop"))
    }

    /// Has it end the sample of this number, and leave the JVM as it was before.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn end_sample(&self, number: u64) -> Result<AgentReply, Failure> {
        self.ask(("end-sample", &number.to_string()))
    }

    /// What it is doing.
    ///
    /// # Errors
    /// When it does not tell.
    pub(super) fn status(&self) -> Result<AgentReply, Failure> {
        if !self.is_loaded() {
            return Ok(vec![("state".to_owned(), "not loaded".to_owned())]);
        }
        self.ask(("command", "status"))
    }

    fn ask(&self, asked: (&str, &str)) -> Result<AgentReply, Failure> {
        let library = self.loaded.borrow().clone();
        let library = library.ok_or_else(|| Failure::new("the agent is not loaded"))?;
        let exchange = self.exchange()?;
        let text = AgentOptions::default().for_agent(None, &with_reply(&exchange, &[asked]));
        load(&self.jvm, &self.temporary, &library, text.as_bytes()).map_err(Failure::Failed)?;
        self.reply(&exchange)
    }

    fn exchange(&self) -> Result<Exchange, Failure> {
        Exchange::create(&self.temporary, self.jvm.uid())
            .map_err(|error| Failure::new(self.jvm.unusable_temporary(&error)))
    }

    /// Waits for the answer.
    fn reply(&self, exchange: &Exchange) -> Result<AgentReply, Failure> {
        let mut waiting = Waiting::begin();
        loop {
            // First: an agent that has just answered may end with its JVM.
            let is_alive = self.is_alive();
            if let Some(text) = exchange.reply().map_err(Failure::Failed)? {
                return read_reply(&text);
            }
            let next = match is_alive {
                true => waiting.next(exchange.work(), is_interrupted()),
                false => Next::Leave,
            };
            match next {
                Next::Wait => std::thread::sleep(Duration::from_millis(10)),
                Next::GiveUp => {
                    tell("giving up: the agent takes back what it has begun");
                    exchange
                        .give_up()
                        .map_err(|error| Failure::new(self.jvm.unusable_temporary(&error)))?;
                }
                Next::Leave => {
                    let reason = "the agent does not answer; the JVM's stderr may say why";
                    return Err(Failure::new(reason));
                }
            }
        }
    }
}

/// Where a log is to be.
pub(super) struct LogPath {
    /// By the JVM's paths.
    pub path: PathBuf,
    /// Whether that is also its path here.
    is_shared: bool,
}

/// The options of a command, and where its answer goes.
fn with_reply<'a>(exchange: &'a Exchange, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [more, &[("reply", exchange.reply_path()), ("by", exchange.by())]].concat()
}

/// Takes an answer apart, which is `key=value` lines and nothing else.
fn read_reply(text: &str) -> Result<AgentReply, Failure> {
    let is_key = |key: &str| {
        !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte))
    };
    let pair = |line: &str| {
        let (key, value) = line.split_once('=').filter(|(key, _)| is_key(key))?;
        // The system has no longer paths.
        if key == "log" && value.len() > LONGEST_VALUE {
            return None;
        }
        Some((key.to_owned(), value.to_owned()))
    };
    let reply: Option<AgentReply> = text.lines().map(pair).collect();
    let reply = reply.filter(|reply| !reply.is_empty() && reply.len() <= MOST_LINES);
    let reply =
        reply.ok_or_else(|| Failure::new("the answer does not come from Tyrion's agent"))?;
    match reply.iter().find(|(key, _)| key == "error") {
        Some((_, reason)) => Err(Failure::new(harmless::within(reason, LONGEST_REASON))),
        None => Ok(reply),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_probes_is_that_of_the_release() {
        let of = |release| cost_of_probes(release);
        assert!(of(Some(24)).contains("JDK 24 may discard all compiled code"));
        assert!(of(Some(24)).contains("some 20 s"));
        assert!(of(Some(25)).contains("JDK 25 may discard the compiled code of these"));
        assert!(of(Some(25)).contains("some 10 s"));
        assert!(of(None).contains("The JVM may discard compiled code"));
    }
}
