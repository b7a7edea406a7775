//! `tyrion push`: sends what a recording has, and gets, to a collector.

mod client;
mod delta;
mod headers;
mod state;

use super::convert;
use crate::{
    filters::JobsArg,
    live,
    logs::{self, Files},
    outcome::{CommandResult, Done, Failure, tell},
};
use clap::Args;
use client::{Answer, Client};
use delta::Delta;
use state::State;
use std::{
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};
use tyrion_converters::{
    aggregate::{aggregate, aggregate_by_owner},
    filter::{Filter, FilterError, Kinds, duration_ns},
    outputs::{OutputOptions, otlp, units},
    profile::Profile,
};
use tyrion_formats::Recording;
use tyrion_wire::header::RecordingState;

/// More rows are sent as several batches: collectors take some 20 MB at a time.
const ROWS_A_BATCH: usize = 50_000;
/// With more sums of thread, stack, lock, kind and owner, owners are not told apart.
const MOST_OWNED: usize = 200_000;
/// How long to wait before a batch is sent again: from the first time to the last.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// How long a log that rotates may be without its name.
const BETWEEN_NAMES: Duration = Duration::from_millis(100);
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
    #[arg(long, value_name = "URL", value_parser = client::address)]
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
    /// Where to note what was sent [default: LOG.pushed]
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
    let (files, path) = live::find::log(&args.target)?;
    let headers = headers::all(args.header_file.as_deref(), args.token_file.as_deref())?;
    warn_of_plain(&args.otlp, !headers.is_empty());
    let client = Client::new(args.otlp.clone(), headers, args.ca_file.as_deref(), args.timeout)?;
    let log = open(&*files, &path)?;
    let state = match &args.state {
        Some(state) => state.clone(),
        None => beside(&path),
    };
    let state = State::open(&state, &recording_of(&log), &args.otlp)?;
    let options = OutputOptions { resource: resource(&args.resource)?, ..Default::default() };
    let filter = Filter { kinds: args.kind.unwrap_or_else(Kinds::contention), ..Filter::default() };
    let mut push = Push { args: &args, files, path, client, state, options, filter };
    push.run()
}

/// A recording that is being sent.
struct Push<'a> {
    args: &'a PushArgs,
    files: Rc<dyn Files>,
    path: PathBuf,
    client: Client,
    state: State,
    options: OutputOptions,
    filter: Filter,
}

/// What became of a round.
enum Round {
    /// All that there was is sent, and more may come.
    More,
    /// All is sent, and nothing more will come. The log was damaged, or not.
    End(Done),
    /// The collector did not take it in time.
    Failed(String),
}

impl Push<'_> {
    fn run(&mut self) -> CommandResult {
        loop {
            let start = Instant::now();
            match self.round()? {
                Round::End(done) => {
                    self.say_end();
                    return Ok(done);
                }
                Round::More if self.args.once => {
                    self.say_end();
                    return Ok(Done::Whole);
                }
                Round::Failed(why) if self.args.once => return Err(Failure::new(why)),
                Round::Failed(why) => tell(&format!("{why}; the next batch has it, too")),
                Round::More => {}
            }
            let interval = Duration::from_nanos(self.args.interval);
            std::thread::sleep(interval.saturating_sub(start.elapsed()));
        }
    }

    fn say_end(&self) {
        let batches = self.state.batches();
        tell(&format!("sent {} to {}", counted(batches, "batch", "batches"), self.args.otlp));
    }

    /// Sends what is new in all files of the recording.
    fn round(&mut self) -> Result<Round, Failure> {
        let newest = open(&*self.files, &self.path)?;
        let has_ended = self.has_ended(&newest);
        let recording = recording_of(&newest);
        let mut logs = vec![];
        let mut numbered = logs::numbered(&*self.files, &self.path);
        numbered.retain(|path| logs::name_number(path).is_some_and(|it| !self.state.is_done(it)));
        numbered.sort_by_key(|path| logs::name_number(path));
        for path in numbered {
            // It may have been removed meanwhile.
            if let Ok(log) = open(&*self.files, &path)
                && recording_of(&log) == recording
                && logs::file_number(&log) < logs::file_number(&newest)
            {
                logs.push((log, true));
            }
        }
        logs.push((newest, has_ended));
        let mut done = Done::Whole;
        for (log, is_complete) in &logs {
            if self.state.is_done(logs::file_number(log)) {
                continue;
            }
            if let Some(why) = self.send_new(log)? {
                return Ok(Round::Failed(why));
            }
            if *is_complete {
                self.state.set_done(logs::file_number(log));
                self.state.save()?;
                if logs::tell_damage(log.damage()) == Done::Partly {
                    done = Done::Partly;
                }
            }
        }
        Ok(if has_ended { Round::End(done) } else { Round::More })
    }

    /// Whether nothing more will be written, neither to this file nor to a next one.
    fn has_ended(&self, newest: &Recording) -> bool {
        let state = newest.facts().state;
        let file = self.files.open(&self.path);
        let is_written = file.as_ref().is_ok_and(logs::is_being_written);
        if is_written {
            return false;
        }
        // A file that is full is closed, and another one has its name.
        let same = logs::open_of(&*self.files, &self.path).is_ok_and(|log| {
            recording_of(&log) == recording_of(newest)
                && logs::file_number(&log) == logs::file_number(newest)
        });
        same || state == RecordingState::Broken
    }

    /// Sends what is new in a file; the reason if it was not taken.
    fn send_new(&mut self, log: &Recording) -> Result<Option<String>, Failure> {
        let number = logs::file_number(log);
        let until_unix_ns = logs::wall_ns(log, log.end_ns());
        let profile = self.profile(log)?;
        let file = self.state.file(number);
        let from_unix_ns = file.head.until_unix_ns;
        let delta = delta::since(profile, &file.sent);
        if delta.is_empty() {
            return Ok(None);
        }
        for mut part in delta.in_parts(ROWS_A_BATCH) {
            for run in &mut part.profile.runs {
                run.start_wall_ns = run.start_wall_ns.max(from_unix_ns);
                run.duration_ns = until_unix_ns.saturating_sub(run.start_wall_ns);
            }
            if let Some(why) = self.send(&part)? {
                return Ok(Some(why));
            }
            self.state.add_batch(number, &part.adds);
            self.state.save()?;
        }
        self.state.file(number).head.until_unix_ns = until_unix_ns;
        self.state.save()?;
        Ok(None)
    }

    /// All that a file has, by owner as long as these are not too many.
    fn profile(&mut self, log: &Recording) -> Result<Profile, Failure> {
        let logs = std::slice::from_ref(log);
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

    /// Sends a batch, again and again for a while; the reason if it was not taken.
    fn send(&self, batch: &Delta) -> Result<Option<String>, Failure> {
        let mut bytes = Vec::new();
        let failed = |error: std::io::Error| Failure::new(error.to_string());
        otlp::stream(&batch.profile, &self.options, &mut bytes).map_err(failed)?;
        let url = &self.args.otlp;
        let (start, mut pause, mut times) = (Instant::now(), PAUSES[0], 1);
        loop {
            match self.client.send(&bytes) {
                Answer::Taken(said) => {
                    said.iter().for_each(|said| tell(&format!("note: {url}: {said}")));
                    return Ok(None);
                }
                Answer::Refused(why) => {
                    return Err(Failure::new(format!("{url}: {why}; see tyrion push --help")));
                }
                Answer::Later(why, after) => {
                    let wait = after.unwrap_or(pause);
                    if start.elapsed() + wait > self.args.retry_for {
                        let times = counted(times, "time", "times");
                        return Ok(Some(format!("{url}: {why}; tried {times}")));
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

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Opens a log. One that rotates has no name for an instant.
fn open(files: &dyn Files, path: &Path) -> Result<Recording, Failure> {
    let is_there = || files.open(path).is_ok();
    if !is_there() && !logs::numbered(files, path).is_empty() {
        std::thread::sleep(BETWEEN_NAMES);
    }
    logs::open_of(files, path)
}

/// What tells a recording from others that a log's name may come to stand for.
fn recording_of(log: &Recording) -> String {
    let facts = log.facts();
    match facts.metadata("recording") {
        Some(recording) => recording.to_owned(),
        None => format!("{}@{}", facts.pid, facts.start_wall_ns),
    }
}

/// Where what was sent is noted.
fn beside(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".pushed");
    PathBuf::from(name)
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

/// Whoever is between here and there reads what is not encrypted.
fn warn_of_plain(url: &str, has_headers: bool) {
    let Some(rest) = url.strip_prefix("http://") else { return };
    let host = rest.split('/').next().unwrap_or_default();
    let is_here = ["localhost", "127.0.0.1", "[::1]"].iter().any(|here| {
        host.strip_prefix(here).is_some_and(|port| port.is_empty() || port.starts_with(':'))
    });
    if has_headers && !is_here {
        tell(&format!("warning: {host} gets headers, perhaps a token, without encryption"));
    }
}
