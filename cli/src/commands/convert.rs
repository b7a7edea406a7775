//! `tyrion convert`.

use crate::{
    filters::{self, FilterArgs, JobsArg},
    logs,
    outcome::{Failure, Outcome, tell},
    progress,
};
use clap::{Args, builder::PossibleValue};
use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};
use tyrion_converters::{
    aggregate::{Aggregate, aggregate, work_bytes},
    filter::Kinds,
    outputs::{FORMATS, Format, Options, by_name},
    profile::Profile,
};

use tyrion_wire::header::MAGIC;

/// The value of `--to` that stands for every format.
const ALL: &str = "all";
/// Files over this length are slow to load in their viewers.
const LONG_FILE: u64 = 100 << 20;

/// `go tool pprof` takes half a minute for twice as many samples, and more
/// than linearly longer beyond.
const MANY_SAMPLES: usize = 200_000;

/// What to turn into what.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion convert --to callgrind report.log
  tyrion convert --to flamegraph --by-thread -o threads.svg report.log
  tyrion convert --to collapsed -o - report.log | head
  tyrion convert --to pprof --kind all --thread '^http-' monday.log tuesday.log
  tyrion convert --to all --since 30s --until 90s report.log")]
pub struct ConvertArgs {
    /// The format to write, or all
    #[arg(long, value_name = "FORMAT", value_parser = Formats)]
    to: &'static str,
    /// Where to write: a file, - for stdout, or a folder with --to all
    /// [default: a name of the format's own in this folder]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Logs; several become one profile, - is stdin
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    #[command(flatten)]
    style: Style,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    jobs: JobsArg,
}

/// How to render.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Style")]
struct Style {
    /// Do not end stacks with a frame named after the lock
    #[arg(long)]
    no_lock_frame: bool,
    /// Name each lock object in that frame, not only its class
    #[arg(long, conflicts_with = "no_lock_frame")]
    lock_identity: bool,
    /// Do not tell threads apart (pprof)
    #[arg(long)]
    no_thread_label: bool,
    /// Begin stacks with the thread (flamegraph, collapsed)
    #[arg(long)]
    by_thread: bool,
    /// Show how often instead of how long (flamegraph, collapsed)
    #[arg(long)]
    count: bool,
    /// Draw roots at the top (flamegraph)
    #[arg(long)]
    icicle: bool,
    /// One file with all threads, for callgrind_annotate and speedscope, which
    /// cannot read the empty file that KCacheGrind opens (callgrind)
    #[arg(long)]
    merged: bool,
    /// At most so many files; other threads share one by name group (callgrind)
    #[arg(long, value_name = "N", default_value_t = Options::default().max_parts,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_parts: usize,
}

impl Style {
    fn options(&self) -> Options {
        Options {
            lock_frame: !self.no_lock_frame,
            lock_identity: self.lock_identity,
            thread_label: !self.no_thread_label,
            by_thread: self.by_thread,
            count: self.count,
            icicle: self.icicle,
            merged: self.merged,
            max_parts: self.max_parts,
        }
    }
}

/// The names in the registry of formats, as values of an option.
#[derive(Clone)]
struct Formats;

impl clap::builder::TypedValueParser for Formats {
    type Value = &'static str;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<&'static str, clap::Error> {
        let names = FORMATS.iter().map(|format| format.name).chain([ALL]);
        let inner = clap::builder::PossibleValuesParser::new(names.clone());
        let chosen = inner.parse_ref(command, arg, value)?;
        // The parser above lets only these names through.
        Ok(names.into_iter().find(|name| *name == chosen).unwrap_or(ALL))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let formats = FORMATS.iter().map(|f| PossibleValue::new(f.name).help(f.about));
        let all = PossibleValue::new(ALL).help("Every format, each under its own name");
        Some(Box::new(formats.chain([all])))
    }
}

/// Converts logs.
pub fn run(args: ConvertArgs) -> Outcome {
    let targets = targets(&args)?;
    let logs = logs::open_all(&args.logs)?;
    for (_, target) in &targets {
        if let Target::File(path) = target {
            spare_logs(path)?;
        }
    }
    let filter = args.filters.filter(Kinds::contention())?;
    let options = args.style.options();
    let bar = progress::bar(work_bytes(&logs), "reading");
    args.jobs.run(|| {
        let Aggregate { profile, notes, damage, events, folded, .. } =
            aggregate(&logs, &filter, &|bytes| bar.inc(bytes));
        bar.finish_and_clear();
        filters::tell_if_empty(&profile, events.saturating_add(folded));
        let done = logs::tell_damage(&damage);
        for line in notes.lines() {
            tell(&format!("note: {line}"));
        }
        for (format, target) in &targets {
            write(format, target, &profile, &options)?;
            if format.name == "pprof" && options.thread_label && profile.waits.len() > MANY_SAMPLES
            {
                let samples = profile.waits.len();
                tell(&format!(
                    "note: {samples} samples load slowly in go tool pprof; \
                     --no-thread-label makes it fewer"
                ));
            }
        }
        Ok(done)
    })?
}

/// Refuses to replace a log, the one that is read perhaps.
fn spare_logs(path: &Path) -> Result<(), Failure> {
    let mut first = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut first));
    if read.is_ok() && first == MAGIC {
        return Err(Failure::Usage(format!(
            "{} is a Tyrion log and will not be replaced; name another output with -o",
            path.display()
        )));
    }
    Ok(())
}

/// Where a format goes.
enum Target {
    Stdout,
    File(PathBuf),
}

fn targets(args: &ConvertArgs) -> Result<Vec<(&'static Format, Target)>, Failure> {
    let stdout = args.output.as_deref() == Some(Path::new("-"));
    if args.to == ALL {
        if stdout {
            return Err(Failure::Usage("--to all writes several files; -o names a folder".into()));
        }
        let folder = args.output.clone().unwrap_or_default();
        if args.output.is_some() {
            std::fs::create_dir_all(&folder)
                .map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
        }
        let target = |format: &'static Format| {
            (format, Target::File(folder.join(default_file(format, &args.style))))
        };
        return Ok(FORMATS.iter().map(target).collect());
    }
    let format = by_name(args.to).ok_or_else(|| Failure::new("no such format"))?;
    if stdout && format.files.is_some() && !args.style.merged {
        return Err(Failure::Usage(format!(
            "{} is several files; add --merged to write one stream",
            format.name
        )));
    }
    let target = match &args.output {
        _ if stdout => Target::Stdout,
        Some(path) => Target::File(path.clone()),
        None => Target::File(default_file(format, &args.style)),
    };
    Ok(vec![(format, target)])
}

fn default_file(format: &Format, style: &Style) -> PathBuf {
    // KCacheGrind loads every file whose name begins with the one it is given:
    // a merged file must not begin like the parts.
    match (format.files, format.default_file.split_once('.')) {
        (Some(_), Some((stem, extension))) if style.merged => {
            format!("{stem}.merged.{extension}").into()
        }
        _ => format.default_file.into(),
    }
}

fn write(
    format: &Format,
    target: &Target,
    profile: &Profile,
    options: &Options,
) -> Result<(), Failure> {
    let path = match target {
        Target::Stdout => {
            let mut out = BufWriter::new(io::stdout().lock());
            let written = (format.stream)(profile, options, &mut out).and_then(|()| out.flush());
            return written.map_err(|error| Failure::writing("stdout", &error));
        }
        Target::File(path) => path,
    };
    let name = path.display().to_string();
    let failed = |error: io::Error| Failure::writing(&name, &error);
    let written = match format.files {
        Some(files) => files(profile, options, path).map_err(failed)?,
        None => {
            let mut out = BufWriter::with_capacity(1 << 16, File::create(path).map_err(failed)?);
            (format.stream)(profile, options, &mut out)
                .and_then(|()| out.flush())
                .map_err(failed)?;
            vec![path.clone()]
        }
    };
    say_written(format, &name, &written);
    Ok(())
}

fn say_written(format: &Format, name: &str, written: &[PathBuf]) {
    let more = match written.len() {
        0 | 1 => String::new(),
        2 => " and 1 part".to_owned(),
        n => format!(" and {} parts", n - 1),
    };
    tell(&format!("wrote {name}{more}; open with: {}", format.open_with.replace("{}", name)));
    for path in written {
        let len = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if len > LONG_FILE {
            let mib = len >> 20;
            tell(&format!(
                "note: {} has {mib} MiB and will load slowly; filters make it smaller",
                path.display()
            ));
        }
    }
}
