//! `tyrion dump`: a log's records, one a line.

mod collections;
pub mod fields;
mod holder;
pub mod pending;
pub mod record;
mod sample;
mod span;
mod trace;
mod wake;

use super::{
    cache::Cache,
    lock_names::{LockNames, name_of, shown_lock},
    rendered::StackList,
    sample_filter::SampleFilter,
};
use crate::{
    filters::{FilterArgs, wants_pending, withheld},
    inputs::InputArgs,
    logs,
    outcome::{CommandResult, Completion, Failure},
    terminal::{EscapingWriter, Printable},
};
use clap::Args;
use fields::{About, Fold, Record, Thread, ThreadName, Wait, WaitedFor, Who};
use record::{JsonRecord, Long};
use std::{
    collections::HashMap,
    io::{self, BufWriter, Write},
    path::PathBuf,
    rc::Rc,
};
use tyrion_formats::{Damage, Entry, Event, Recording, WaitSite};
use tyrion_model::{
    describe::Names,
    filter::{Filter, Window},
    harmless,
    identity::{Locks, Node},
    units,
    withheld::Withheld,
};
use tyrion_wire::{
    WaitKind,
    cell::Cell,
    def::{Definition, thread_flag},
    slot::Pending,
};

/// Which log, and how.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion dump report.log | less
  tyrion dump --kind contention --min-wait 10ms report.log
  tyrion dump --json report.log | jq 'select(.outcome == \"timed-out\")'

Records:
  thread   a thread; renamed when it gets another name
  gc       a pause of the garbage collector
  wait     one wait
  wake     who ended the wait before it
  span     in which span of a trace the wait or hold before it was
  owner    what the lock's owner was doing when the wait before it began
  fold     waits below the threshold, summed
  pending  a wait that had not ended
  taken    acquisitions, summed (trace mode)
  hold     one hold, at its release (trace mode)
  lock     a thread acquires a lock object for the first time (trace mode)
  blame    a thread made another one wait (trace mode)
  nest     a lock acquired while holding others (trace mode)
  sample   what a thread was doing, in one snapshot or several alike (sampling)
  number   a counter of the agent
In JSON they are called thread, thread-name, collection, wait, wake, span,
operation, fold, pending, acquisitions, hold, instance, blame, nest, sample and statistic. The
state of a sample is the JVM's; if other outputs show another one, it follows.
Times count from the start of the log; in JSON, durations are in ns.")]
pub struct DumpArgs {
    /// The log to read, - for stdin
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    filters: FilterArgs,
}

/// Prints the records.
pub fn run(args: DumpArgs) -> CommandResult {
    let mut log = logs::open(&args.log, &args.inputs)?;
    let filter = args.filters.raw_filter()?;
    filter.choose_groups(&mut log);
    let out = BufWriter::new(io::stdout().lock());
    let dumped = match args.json {
        true => write(&mut EscapingWriter::new(out), &log, &filter, true),
        false => write(&mut Printable(out), &log, &filter, false),
    };
    let damage = dumped.map_err(|error| Failure::writing("stdout", &error))?;
    logs::tell_damage(&damage);
    Ok(if damage.is_empty() { Completion::Whole } else { Completion::Partly })
}

/// Prints the records that the filter wants; returns what was damaged.
pub(super) fn write(
    out: &mut dyn Write,
    log: &Recording,
    filter: &Filter,
    json: bool,
) -> io::Result<Vec<Damage>> {
    let mut dump = Dump::new(log, filter, json);
    dump.all(out)?;
    out.flush()?;
    Ok(dump.damage)
}

/// What a site is.
struct SiteWords {
    kind: WaitKind,
    lock: Rc<LockWords>,
    stack: u32,
}

/// A lock of waits, in words.
struct LockWords {
    /// `java.lang.Object#7`.
    id: String,
    /// What the program calls it; may be empty.
    name: String,
    class: String,
}

impl LockWords {
    fn text(&self) -> String {
        shown_lock(&self.name, &self.id)
    }
}

/// A name, if there is one.
fn known(name: &str) -> Option<&str> {
    Some(name).filter(|name| !name.is_empty())
}

impl SiteWords {
    fn fields(&self) -> WaitedFor<'_> {
        WaitedFor {
            kind: self.kind.name(),
            lock: &self.lock.id,
            lock_class: &self.lock.class,
            lock_name: known(&self.lock.name),
        }
    }
}

struct Dump<'a> {
    log: &'a Recording,
    names: Names<'a>,
    filter: &'a Filter,
    window: Window,
    withheld: Withheld,
    json: bool,
    threads: Cache<u32, (String, bool)>,
    locks: Cache<(u32, Node), LockWords>,
    /// Whether the filter wants a site.
    wanted: HashMap<u32, bool>,
    lock_names: LockNames<'a>,
    stacks: StackList<'a>,
    sample_filter: SampleFilter<'a>,
    /// Whether the last wait or hold was printed.
    shows_last: bool,
    damage: Vec<Damage>,
}

impl<'a> Dump<'a> {
    fn new(log: &'a Recording, filter: &'a Filter, json: bool) -> Dump<'a> {
        Dump {
            log,
            names: Names(log),
            filter,
            window: filter.window(log),
            withheld: withheld(filter, log),
            json,
            threads: Cache::new(),
            locks: Cache::new(),
            wanted: HashMap::new(),
            lock_names: LockNames::new(log, filter),
            stacks: StackList::new(log),
            sample_filter: SampleFilter::new(log, filter),
            shows_last: false,
            damage: log.damage().to_vec(),
        }
    }

    fn all(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.json {
            JsonRecord::short(&Record::Dump(About::default())).write(out)?;
        }
        self.threads(out)?;
        self.collections(out)?;
        for chunk in self.log.event_chunks() {
            match self.log.events(chunk) {
                Ok(mut events) => {
                    for entry in events.records() {
                        match entry {
                            Entry::Wait(event) => self.wait(out, &event)?,
                            Entry::Note(noted) => self.note(out, &noted)?,
                        }
                    }
                    self.damage.extend(events.damage());
                }
                Err(damage) => self.damage.push(damage),
            }
        }
        for chunk in self.log.cell_chunks() {
            for cell in self.log.cells(chunk) {
                self.fold(out, &cell)?;
            }
        }
        for chunk in self.log.acquisition_chunks() {
            for cell in self.log.acquisitions(chunk) {
                self.acquisitions(out, &cell)?;
            }
        }
        for pending in self.log.pending() {
            self.pending(out, pending)?;
        }
        self.statistics(out)
    }

    /// The threads, each with the names it took later, before their waits.
    fn threads(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut definitions = Vec::new();
        let log = self.log;
        log.for_each_definition(|found| match found.definition {
            Definition::Thread { .. } | Definition::ThreadName { .. } => {
                definitions.push(found.definition);
            }
            _ => {}
        });
        for definition in definitions {
            match definition {
                Definition::Thread { id, java_id, flags, name, group } if self.thread(id).1 => {
                    let daemon = flags & thread_flag::DAEMON != 0;
                    let is_virtual = flags & thread_flag::VIRTUAL != 0;
                    let (name, group) = (log.text(name), log.text(group));
                    if self.json {
                        let (name, group) = (&*name, &*group);
                        let thread =
                            Thread { thread_id: id, java_id, name, group, daemon, is_virtual };
                        JsonRecord::short(&Record::Thread(thread)).write(out)?;
                    } else {
                        let kind = if is_virtual { " virtual" } else { "" };
                        let daemon = if daemon { " daemon" } else { "" };
                        let (name, group) = (harmless::name(&name), harmless::name(&group));
                        writeln!(
                            out,
                            "thread  {id} {name:?} java-id={java_id} group={group:?}{daemon}{kind}"
                        )?;
                    }
                }
                Definition::ThreadName { id, name, at_ns } if self.thread(id).1 => {
                    let at_ns = self.since_start(at_ns);
                    let name = log.text(name);
                    if self.json {
                        let renamed = ThreadName { thread_id: id, at_ns, name: &name };
                        JsonRecord::short(&Record::ThreadName(renamed)).write(out)?;
                    } else {
                        let name = harmless::name(&name);
                        writeln!(out, "renamed +{} {id} {name:?}", seconds(at_ns))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn wait(&mut self, out: &mut dyn Write, event: &Event) -> io::Result<()> {
        self.shows_last = false;
        let wanted = self.window.holds(event.end_ns) && event.wait_ns() >= self.window.min_wait_ns;
        if !wanted || !self.thread(event.thread).1 {
            return Ok(());
        }
        let owner = (event.owner != 0).then(|| self.thread(event.owner));
        let thread = self.thread(event.thread);
        let start_ns = self.since_start(event.start_ns);
        let Some(site) = self.site(event.site) else { return Ok(()) };
        self.shows_last = true;
        if self.json {
            let group = self.names.group(site.stack);
            let record = Record::Wait(Wait {
                start_ns,
                wait_ns: event.wait_ns(),
                who: Who { thread: &thread.0, thread_id: event.thread },
                lock: site.fields(),
                outcome: event.outcome.name(),
                owner: owner.as_ref().map(|owner| &*owner.0),
                parks: event.parks,
                stack: (),
                group: group.as_deref(),
            });
            return self.write_with_stack(out, &record, site.stack);
        }
        write!(
            out,
            "wait    +{} {} {} {:?} {} {}",
            seconds(start_ns),
            units::duration(event.wait_ns()),
            site.kind.name(),
            harmless::name(&thread.0),
            site.lock.text(),
            event.outcome.name(),
        )?;
        if let Some(owner) = owner {
            write!(out, " owner={:?}", harmless::name(&owner.0))?;
        }
        if event.parks != 0 {
            write!(out, " parks={}", event.parks)?;
        }
        out.write_all(b" ")?;
        self.end_with_stack(out, site.stack)
    }

    fn fold(&mut self, out: &mut dyn Write, cell: &Cell) -> io::Result<()> {
        let wanted = self.window.part_of_cell(cell).count != 0;
        if !wanted || !self.thread(cell.thread).1 {
            return Ok(());
        }
        let thread = self.thread(cell.thread);
        let first_ns = self.since_start(cell.first_ns);
        let last_ns = self.since_start(cell.last_ns);
        let Some(site) = self.site(cell.site) else { return Ok(()) };
        if self.json {
            let group = self.names.group(site.stack);
            let record = Record::Fold(Fold {
                first_ns,
                last_ns,
                count: cell.count,
                wait_ns: cell.sum_ns,
                max_ns: cell.max_ns,
                log2_histogram: &cell.histogram,
                who: Who { thread: &thread.0, thread_id: cell.thread },
                lock: site.fields(),
                stack: (),
                group: group.as_deref(),
            });
            return self.write_with_stack(out, &record, site.stack);
        }
        write!(
            out,
            "fold    +{} {} {} {:?} {} count={} max={} until=+{} ",
            seconds(first_ns),
            units::duration(cell.sum_ns),
            site.kind.name(),
            harmless::name(&thread.0),
            site.lock.text(),
            cell.count,
            units::duration(cell.max_ns),
            seconds(last_ns),
        )?;
        self.end_with_stack(out, site.stack)
    }

    /// Writes a record in JSON, with its stack.
    fn write_with_stack(
        &self,
        out: &mut dyn Write,
        record: &Record<'_>,
        stack: u32,
    ) -> io::Result<()> {
        JsonRecord::new(record, [("stack", Long::Stack(&self.stacks, stack))]).write(out)
    }

    /// Ends a line with a stack.
    fn end_with_stack(&self, out: &mut dyn Write, stack: u32) -> io::Result<()> {
        self.stacks.write(out, stack)?;
        out.write_all(b"\n")
    }

    fn pending(&mut self, out: &mut dyn Write, pending: &Pending) -> io::Result<()> {
        if !wants_pending(self.filter, self.log, &self.withheld, pending) {
            return Ok(());
        }
        if self.json {
            return pending::record(&self.stacks, self.log, pending).write(out);
        }
        write!(out, "pending {}", pending::text(self.log, pending))?;
        self.end_with_stack(out, pending.stack)
    }

    fn since_start(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.log.start_ns())
    }

    /// A thread's name, and whether the filter wants it.
    fn thread(&mut self, id: u32) -> Rc<(String, bool)> {
        let (names, filter) = (self.names, self.filter);
        self.threads.get(id, || {
            let name = names.thread(id);
            let len = name.len();
            let wanted = filter.thread.as_ref().is_none_or(|regex| regex.is_match(&name));
            ((name, wanted), len)
        })
    }

    /// What a site is, if the filter wants it.
    fn site(&mut self, id: u32) -> Option<SiteWords> {
        let (names, filter) = (self.names, self.filter);
        let site = *self.log.definitions().sites().get(id)?;
        let is_wanted = |regex| names.site_matches(regex, &site);
        let wanted = filter.kinds.takes(site.kind, || self.withheld.is_withheld_site(0, id))
            && filter
                .lock
                .as_ref()
                .is_none_or(|regex| *self.wanted.entry(id).or_insert_with(|| is_wanted(regex)));
        wanted.then(|| SiteWords { kind: site.kind, lock: self.lock_of(&site), stack: site.stack })
    }

    /// What the lock of a site is called.
    fn lock_of(&mut self, site: &WaitSite) -> Rc<LockWords> {
        let node = Locks::of(self.log).at_site(site);
        self.lock_as(site.lock, node)
    }

    /// What a lock is called.
    fn lock(&mut self, id: u32) -> Rc<LockWords> {
        let node = Locks::of(self.log).with_id(id);
        self.lock_as(id, node)
    }

    fn lock_as(&mut self, id: u32, node: Node) -> Rc<LockWords> {
        let (names, log) = (self.names, self.log);
        self.locks.get((id, node), || {
            let (name, class) = (name_of(log, id, node), names.lock_class(id));
            let lock = LockWords { id: names.lock(id), name, class };
            let len = lock.id.len() + lock.name.len() + lock.class.len();
            (lock, len)
        })
    }
}

/// Seconds with all nine digits: `12.345678901s`.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}s", ns / 1_000_000_000, ns % 1_000_000_000)
}
