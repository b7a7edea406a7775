//! `tyrion push`: sends what a recording has, and gets, to a collector.

mod client;
mod delta;
mod headers;
mod state;

use super::convert;
use crate::{
    filters::JobsArg,
    live::{self, feed},
    logs::{self, LogFiles},
    outcome::{CommandResult, Completion, Failure, tell, tell_error},
};
use clap::Args;
use client::{Address, BatchOutcome, Client};
use delta::Delta;
use state::State;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};
use tyrion_converters::outputs::{OutputOptions, otlp};
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::{aggregate, aggregate_by_owner},
    filter::{Filter, FilterError, Kinds, duration_ns},
    identity,
    profile::Profile,
    units,
};
use tyrion_wire::WaitKind;

/// More rows are sent as several batches: collectors take some 20 MB at a time.
const ROWS_A_BATCH: usize = 50_000;
/// With more sums of thread, stack, lock, kind and owner, owners are not told apart.
const MOST_OWNED: usize = 200_000;
/// How long to wait before a batch is sent again: from the first time to the last.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// The shortest time between two batches.
const LEAST_INTERVAL_NS: u64 = 1_000_000_000;

/// What to send, where to and how often.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion push --otlp http://localhost:4318 --resource service.name=shop 4711
  tyrion push --otlp https://otlp.acme.com --token-file token --once report.log

Sends OpenTelemetry profiles: what is new since the last time, every --interval, until
the recording has ended. The log is the buffer: while a collector is down, nothing is
lost. What was sent is noted in a file, so a push that is killed and started again sends
nothing twice, but perhaps what it sent last. Headers are taken from --header-file and
$OTEL_EXPORTER_OTLP_HEADERS, more of the service from $OTEL_SERVICE_NAME and
$OTEL_RESOURCE_ATTRIBUTES.")]
pub struct PushArgs {
    /// The collector, as http://localhost:4318; without a path it is
    /// /v1development/profiles
    #[arg(long, value_name = "URL")]
    otlp: String,
    /// A log, or a JVM that is being recorded: its process id, or its main class
    /// or jar, or a part of these or of its arguments (a log whose name is a
    /// number: ./4711)
    #[arg(value_name = "LOG|PID|NAME")]
    target: String,
    /// Time between two batches
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = interval)]
    interval: u64,
    /// Send what there is, and exit
    #[arg(long, conflicts_with = "interval")]
    once: bool,
    /// What is known of the service, as
    /// service.name=shop,deployment.environment.name=test
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = convert::attribute)]
    resource: Vec<(String, String)>,
    /// Only these kinds of waits, separated by commas, as for convert
    /// [default: contention]
    #[arg(long, value_name = "KINDS", value_parser = live::kinds)]
    kind: Option<Kinds>,
    /// A file with a token, which is sent as a bearer token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A file with headers, `Name: value`, one a line
    #[arg(long, value_name = "FILE")]
    header_file: Option<PathBuf>,
    /// Check the collector's certificate against these authorities (PEM)
    /// [default: those that browsers trust]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// How long to wait for an answer
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    timeout: Duration,
    /// How long to try again, while a collector is down or busy; then --once fails,
    /// and else the next batch has it, too
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    retry_for: Duration,
    /// Where to note what was sent [default: .LOG.pushed beside the log]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    #[command(flatten)]
    jobs: JobsArg,
}

fn duration(text: &str) -> Result<Duration, FilterError> {
    duration_ns(text).map(Duration::from_nanos)
}

fn interval(text: &str) -> Result<u64, FilterError> {
    Ok(duration_ns(text)?.max(LEAST_INTERVAL_NS))
}

/// Sends a recording.
pub fn run(args: PushArgs) -> CommandResult {
    let address = Address::of(&args.otlp)?;
    let (files, path) = live::find::log(&args.target)?;
    let headers = headers::all(args.header_file.as_deref(), args.token_file.as_deref())?;
    if !headers.is_empty() && address.is_exposed() {
        tell_error(&format!(
            "warning: {} gets headers, perhaps a token, without encryption",
            address.shown
        ));
    }
    let client = Client::new(&address, headers, args.ca_file.as_deref(), args.timeout)?;
    let newest = read(&*files, &path)?;
    let kinds = args.kind.unwrap_or_else(Kinds::contention);
    let state = args.state.clone().unwrap_or_else(|| beside(&path));
    let recording = recording_of(&newest.log);
    let state = State::open(&state, &recording, &address.shown, &names_of(kinds))?;
    let options = OutputOptions { resource: resource(&args.resource)?, ..Default::default() };
    let filter = Filter { kinds, ..Filter::default() };
    let push =
        Push { args: &args, address, files, path, client, state, options, filter, batches: 0 };
    push.run()
}

/// A recording that is being sent.
struct Push<'a> {
    args: &'a PushArgs,
    address: Address,
    files: Rc<dyn LogFiles>,
    path: PathBuf,
    client: Client,
    state: State,
    options: OutputOptions,
    filter: Filter,
    /// How many batches were sent so far.
    batches: u64,
}

/// What became of a round.
enum Round {
    /// All that there was is sent, and more may come.
    More,
    /// All is sent, and nothing more will come.
    End,
    /// The collector did not take it in time.
    Failed(NotTaken),
}

/// Why a batch was not taken, and how long the collector wants to be left alone.
struct NotTaken {
    why: String,
    pause: Duration,
}

/// A file of a recording.
struct PushFile {
    log: Recording,
    /// A JVM wrote to it just before it was read: more may come.
    is_written: bool,
}

impl Push<'_> {
    fn run(mut self) -> CommandResult {
        loop {
            let start = Instant::now();
            let mut pause = Duration::ZERO;
            match self.round()? {
                Round::End => return Ok(self.end()),
                Round::More if self.args.once => return Ok(self.end()),
                Round::Failed(not) if self.args.once => return Err(Failure::new(not.why)),
                Round::Failed(not) => {
                    tell_error(&format!("{}; the next batch has it, too", not.why));
                    pause = not.pause;
                }
                Round::More => {}
            }
            let interval = Duration::from_nanos(self.args.interval);
            std::thread::sleep(interval.saturating_sub(start.elapsed()).max(pause));
        }
    }

    fn end(&self) -> Completion {
        let batches = if self.batches == 1 { "batch" } else { "batches" };
        tell(&format!("sent {} {batches} to {}", self.batches, self.address.shown));
        if self.state.is_damaged() { Completion::Partly } else { Completion::Whole }
    }

    /// Sends what is new in all files of the recording.
    fn round(&mut self) -> Result<Round, Failure> {
        let newest = read(&*self.files, &self.path)?;
        self.follow(&newest.log)?;
        let has_ended = !newest.is_written && self.is_last(&newest.log);
        let mut files = self.earlier(&newest.log)?;
        files.push(PushFile { is_written: !has_ended, ..newest });
        for PushFile { log, is_written } in &files {
            let number = logs::file_number(log);
            if self.state.is_done(number) {
                continue;
            }
            if let Some(not) = self.send_new(log)? {
                return Ok(Round::Failed(not));
            }
            if !is_written {
                let is_damaged = logs::tell_damage(log.damage()) == Completion::Partly;
                self.state.file(number).head.damaged = is_damaged;
                self.state.set_done(number);
                self.state.save()?;
            }
        }
        Ok(if has_ended { Round::End } else { Round::More })
    }

    /// Whether a file still has the log's name: one that is full is closed, and another one
    /// gets it.
    fn is_last(&self, log: &Recording) -> bool {
        logs::open_of(&*self.files, &self.path).is_ok_and(|now| {
            recording_of(&now) == recording_of(log)
                && logs::file_number(&now) == logs::file_number(log)
        })
    }

    /// Notices when the log's name has come to stand for another recording.
    fn follow(&mut self, newest: &Recording) -> Result<(), Failure> {
        let recording = recording_of(newest);
        if self.state.recording() == recording {
            return Ok(());
        }
        tell_error(&format!(
            "note: {} is another recording now; what the former one got last may not be sent",
            self.path.display()
        ));
        self.state.begin(recording);
        self.state.save()
    }

    /// The files before the newest one that are not sent completely. What is gone is told
    /// once.
    fn earlier(&mut self, newest: &Recording) -> Result<Vec<PushFile>, Failure> {
        let before = logs::file_number(newest);
        let mut paths = logs::numbered(&*self.files, &self.path);
        // Where they have times, those of earlier recordings come first.
        paths.sort_by_key(|path| logs::file_order(path));
        let path_of =
            |number: u32| paths.iter().rfind(|path| logs::name_number(path) == Some(number));
        let (mut found, mut gone) = (Vec::new(), Vec::new());
        for number in (self.state.first()..before).filter(|it| !self.state.is_done(*it)) {
            let file = path_of(number).map(|path| read(&*self.files, path));
            match file {
                Some(Ok(file)) if recording_of(&file.log) == recording_of(newest) => {
                    found.push(file);
                }
                // It is there, and says why it cannot be read the next time, too.
                Some(Err(error)) => tell_error(&error.to_string()),
                _ => gone.push(number),
            }
        }
        if let [first, ..] = gone[..] {
            let files = units::counted(gone.len() as u64, "file");
            tell_error(&format!(
                "warning: {files} of the recording, from number {first} on, were removed before \
                 all of them was sent; see --filecount and --interval"
            ));
            gone.into_iter().for_each(|number| self.state.set_done(number));
            self.state.save()?;
        }
        Ok(found)
    }

    /// Sends what is new in a file; why it was not taken.
    fn send_new(&mut self, log: &Recording) -> Result<Option<NotTaken>, Failure> {
        let number = logs::file_number(log);
        let until_unix_ns = logs::wall_ns(log, log.end_ns());
        let profile = self.profile(log)?;
        let file = self.state.file(number);
        let from_unix_ns = file.head.until_unix_ns;
        let mut delta = delta::since(profile, &file.sent);
        for key in &delta.ended_links {
            file.sent.remove(key);
        }
        if delta.is_empty() {
            return Ok(None);
        }
        for run in &mut delta.profile.runs {
            run.start_wall_ns = run.start_wall_ns.max(from_unix_ns);
            run.duration_ns = until_unix_ns.saturating_sub(run.start_wall_ns);
        }
        let not_taken = delta.in_parts(ROWS_A_BATCH, |part| {
            if let Some(not) = self.send(part)? {
                return Ok(Some(not));
            }
            self.batches += 1;
            self.state.add_batch(number, &part.adds);
            self.state.save().map(|()| None)
        })?;
        if not_taken.is_none() {
            self.state.file(number).head.until_unix_ns = until_unix_ns;
            self.state.save()?;
        }
        Ok(not_taken)
    }

    /// All that a file has, by owner as long as these are not too many.
    fn profile(&mut self, log: &Recording) -> Result<Profile, Failure> {
        let logs = std::slice::from_ref(log);
        // Labels stay the same from batch to batch.
        identity::agree_on_whole(logs);
        let (filter, jobs) = (&self.filter, &self.args.jobs);
        let head = &mut self.state.file(logs::file_number(log)).head;
        if head.without_owners {
            return jobs.run(|| aggregate(logs, filter, &|_| {}).profile);
        }
        let (sums, is_split) =
            jobs.run(|| aggregate_by_owner(logs, filter, MOST_OWNED, &|_| {}))?;
        head.without_owners = !is_split;
        Ok(sums.profile)
    }

    /// Sends a batch, again and again for a while; why it was not taken.
    fn send(&self, batch: &Delta) -> Result<Option<NotTaken>, Failure> {
        let mut bytes = Vec::new();
        let failed = |error: std::io::Error| Failure::new(error.to_string());
        otlp::stream(&batch.profile, &self.options, &mut bytes).map_err(failed)?;
        let url = &self.address.shown;
        let (start, mut pause, mut times) = (Instant::now(), PAUSES[0], 1);
        loop {
            match self.client.send(&bytes) {
                BatchOutcome::Taken(said) => {
                    said.iter().for_each(|said| tell_error(&format!("warning: {url}: {said}")));
                    return Ok(None);
                }
                BatchOutcome::Refused(why) => return Err(Failure::new(format!("{url}: {why}"))),
                BatchOutcome::Later(why, after) => {
                    let wait = after.map_or(pause, |after| after.max(pause));
                    if start.elapsed() + wait > self.args.retry_for {
                        let why = format!("{url}: {why}; tried {}", units::counted(times, "time"));
                        return Ok(Some(NotTaken { why, pause: after.unwrap_or_default() }));
                    }
                    if times == 1 {
                        let most = units::duration(self.args.retry_for.as_nanos() as u64);
                        tell(&format!("{url}: {why}; trying again, for up to {most}"));
                    }
                    std::thread::sleep(wait);
                    pause = (pause * 2).min(PAUSES[1]);
                    times += 1;
                }
            }
        }
    }
}

/// Reads a file of a recording. One that rotates has no name for an instant.
fn read(files: &dyn LogFiles, path: &Path) -> Result<PushFile, Failure> {
    if files.open(path).is_err() && !logs::numbered(files, path).is_empty() {
        std::thread::sleep(logs::BETWEEN_NAMES);
    }
    let name = path.display().to_string();
    let failed = |error: std::io::Error| Failure::new(format!("{name}: {error}"));
    let file = files.open(path).map_err(failed)?;
    feed::refuse_others("push", &name, &file)?;
    let log = logs::open_of(files, path)?;
    if feed::is_written(&file, log.facts().pid) {
        return Ok(PushFile { log, is_written: true });
    }
    // The JVM went, or left the file, perhaps after it was read.
    Ok(PushFile { log: logs::open_of(files, path)?, is_written: false })
}

/// What tells a recording from others that a log's name may come to stand for.
fn recording_of(log: &Recording) -> String {
    let facts = log.facts();
    match facts.metadata("recording") {
        Some(recording) => recording.to_owned(),
        None => format!("{}@{}", facts.pid, facts.start_wall_ns),
    }
}

/// Where what was sent is noted: where `report.log*` does not find it.
fn beside(log: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(log.file_name().unwrap_or_default());
    name.push(".pushed");
    log.with_file_name(name)
}

/// The names of kinds of waits, in their order.
fn names_of(kinds: Kinds) -> String {
    let names = WaitKind::ALL.iter().filter(|kind| kinds.contains(**kind));
    names.map(|kind| kind.name()).collect::<Vec<_>>().join(",")
}

/// What is known of the service: as the command line says, or else as OpenTelemetry's
/// variables do.
fn resource(given: &[(String, String)]) -> Result<Vec<(String, String)>, Failure> {
    let mut resource = given.to_vec();
    let mut add = |pair: (String, String)| {
        if !resource.iter().any(|(key, _)| *key == pair.0) {
            resource.push(pair);
        }
    };
    if let Ok(name) = std::env::var("OTEL_SERVICE_NAME")
        && !name.is_empty()
    {
        add(("service.name".to_owned(), name));
    }
    let attributes = std::env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    for pair in attributes.split(',').filter(|pair| !pair.trim().is_empty()) {
        let failed = |why| Failure::new(format!("$OTEL_RESOURCE_ATTRIBUTES: {pair}: {why}"));
        add(convert::attribute(pair).map_err(failed)?);
    }
    Ok(resource)
}
