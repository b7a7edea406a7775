//! Texts of HotSpot (`jstack`, `kill -3`, `jcmd Thread.print`) and of the management beans
//! (`ThreadInfo`, JMX, VisualVM): a line with a thread's name, its state, its frames, and its
//! locks between them. What stands around dumps, such as a service's own log, is passed over.

use super::{
    Dumps,
    line::{self, LockLine},
    lines::TextLines,
    raw::{RawDump, RawState, RawThread, RawWait, ToldWait, WaitPhrase},
};
use std::{collections::HashSet, io};
use tyrion_wire::sample::ThreadState;

/// A thread's name may have so many line breaks.
const NAME_LINES: usize = 4;

/// Where in a dump a line stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DumpPart {
    /// Outside of dumps, or between threads.
    #[default]
    Outside,
    Thread,
    /// In the list of a thread's synchronizers.
    Owned,
    /// In the JVM's section on deadlocks, which has stacks again.
    Deadlocks,
}

/// Reads line by line.
pub(super) struct TextReader<'d, 'o> {
    dumps: &'d mut Dumps<'o>,
    dump: Option<RawDump>,
    thread: Option<RawThread>,
    part: DumpPart,
    /// A moment that stood alone in a line: that of the dump that begins next.
    moment_ns: Option<u64>,
    told: Option<ToldWait>,
    /// HotSpot's dump has not come to its last lines.
    is_open: bool,
    /// The ids of the beans' threads of the dump.
    ids: HashSet<u64>,
    /// The beans wrote no line in front of the dump: one that it shares with the dump before
    /// began it.
    is_repeated: bool,
    /// How many threads the dump before has.
    before: usize,
}

impl<'d, 'o> TextReader<'d, 'o> {
    pub(super) fn new(dumps: &'d mut Dumps<'o>) -> Self {
        let (dump, thread, part, moment_ns, told, ids) = Default::default();
        let (is_open, is_repeated, before) = Default::default();
        TextReader { dumps, dump, thread, part, moment_ns, told, is_open, ids, is_repeated, before }
    }

    /// Reads all of a text.
    pub(super) fn read(mut self, text: &[u8]) -> io::Result<()> {
        let mut lines = TextLines::new(text);
        while let Some((offset, line)) = lines.next() {
            let mut line = line.into_owned();
            if line.starts_with('"') && line::name(&line).is_none() && !line.ends_with("\":") {
                join_name(&mut line, &mut lines);
            }
            self.line(&line, offset)?;
        }
        if self.is_open && !text.ends_with(b"\n") {
            let what = "the file ends within a thread dump; what comes before was read";
            self.dumps.add_damage(text.len() as u64, what);
        }
        self.end_dump()
    }

    fn line(&mut self, line: &str, offset: u64) -> io::Result<()> {
        if let Some((_, jvm)) = line.split_once("Full thread dump") {
            self.begin_dump(offset, jvm.trim().trim_end_matches(':'))?;
            self.is_open = true;
        } else if let Some((pid, jvm)) = line::openj9(line) {
            self.begin_dump(offset, jvm)?;
            self.dump.iter_mut().for_each(|dump| dump.pid = pid);
        } else if line.starts_with("JNI global ref") {
            self.end_thread();
            self.is_open = false;
        } else if self.part == DumpPart::Deadlocks {
            self.deadlock_line(line, offset)?;
        } else if line.starts_with("Found ") && line.contains("Java-level deadlock") {
            self.end_thread();
            self.part = DumpPart::Deadlocks;
        } else if let Some(header) = line::header(line) {
            self.repeated(&header)?;
            self.begin_thread(&header, offset);
        } else if self.thread.is_some() {
            self.thread_line(line);
        } else if let Some(moment_ns) = line::moment_ns(line) {
            self.moment_ns = Some(moment_ns);
        } else if let Some(dump) = self.dump.as_mut().filter(|dump| dump.jvm.is_empty())
            && dump.threads.is_empty()
        {
            line.trim().clone_into(&mut dump.jvm);
        }
        Ok(())
    }

    fn begin_dump(&mut self, offset: u64, jvm: &str) -> io::Result<()> {
        self.end_dump()?;
        let wall_ns = self.moment_ns.take();
        self.dump = Some(RawDump { offset, wall_ns, jvm: jvm.to_owned(), ..RawDump::default() });
        Ok(())
    }

    fn end_dump(&mut self) -> io::Result<()> {
        self.end_thread();
        self.part = DumpPart::Outside;
        self.told = None;
        self.ids.clear();
        let is_repeated = std::mem::take(&mut self.is_repeated);
        let Some(dump) = self.dump.take() else { return Ok(()) };
        // Who prints all threads may print those again that are deadlocked.
        if is_repeated && dump.threads.len() * 2 < self.before {
            return Ok(());
        }
        self.before = dump.threads.len();
        self.dumps.add(dump)
    }

    /// Beans write nothing between dumps: a thread that was there begins the next.
    fn repeated(&mut self, header: &line::Header<'_>) -> io::Result<()> {
        let id = header.id.filter(|_| header.tid.is_empty());
        if id.is_some_and(|id| self.ids.contains(&id)) {
            self.end_dump()?;
            self.is_repeated = true;
        }
        self.ids.extend(id);
        Ok(())
    }

    fn begin_thread(&mut self, header: &line::Header<'_>, offset: u64) {
        self.end_thread();
        self.part = DumpPart::Thread;
        self.thread = Some(RawThread {
            offset,
            name: header.name.to_owned(),
            id: header.id,
            tid: header.tid.to_owned(),
            is_daemon: header.is_daemon,
            is_virtual: header.is_virtual,
            cpu_ns: header.cpu_ns,
            elapsed_ns: header.elapsed_ns,
            state: header.state,
            is_java: header.wait.is_some() || header.tid.is_empty() && !header.is_native,
            wait: header.wait.clone(),
            owner: header.owner.clone(),
            ..RawThread::default()
        });
    }

    fn end_thread(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let moment_ns = &mut self.moment_ns;
        // Beans write no line in front of all threads.
        let dump = self.dump.get_or_insert_with(|| RawDump {
            offset: thread.offset,
            wall_ns: moment_ns.take(),
            ..RawDump::default()
        });
        dump.threads.push(thread);
    }

    fn thread_line(&mut self, text: &str) {
        let Some(thread) = &mut self.thread else { return };
        let inner = text.trim();
        if let Some(state) = inner.strip_prefix("java.lang.Thread.State:") {
            let told = RawState::of(state);
            // The header says of threads that wait for a class to be initialized what they
            // do; the state is that of native code.
            let is_told = thread.state.state == Some(ThreadState::Waiting)
                && told.state == Some(ThreadState::Running);
            thread.state = if is_told { thread.state } else { told };
            thread.is_java = true;
        } else if let Some(frame) = inner.strip_prefix("at ") {
            if let Some(number) = self.dumps.frames.number(frame) {
                thread.is_java = true;
                thread.frames.push(number);
            }
        } else if let Some(time) = inner.strip_prefix("CPU time: ") {
            thread.cpu_ns = line::leading(time);
        } else if inner.starts_with("Locked ownable synchronizers")
            || inner.starts_with("Number of locked synchronizers")
        {
            self.part = DumpPart::Owned;
        } else if let Some((lock, owner)) = line::lock_line(inner) {
            thread.owner = owner.or(thread.owner.take());
            add_lock(thread, lock, self.part == DumpPart::Owned);
        } else if !inner.is_empty() && !is_known(inner) {
            // A line of the service's, or the end of the dump.
            self.end_thread();
            self.part = DumpPart::Outside;
            self.moment_ns = line::moment_ns(inner).or(self.moment_ns);
        }
    }

    fn deadlock_line(&mut self, text: &str, offset: u64) -> io::Result<()> {
        let inner = text.trim();
        if inner.starts_with("Found ") && !inner.contains("Java-level") {
            self.part = DumpPart::Outside;
        } else if let Some(header) = line::header(text).filter(|header| !header.tid.is_empty()) {
            // Its end is missing.
            self.part = DumpPart::Outside;
            self.begin_thread(&header, offset);
        } else if let Some(name) = inner.strip_prefix('"').and_then(|it| it.strip_suffix("\":")) {
            self.told = Some(ToldWait { thread: name.to_owned(), ..ToldWait::default() });
        } else if let Some(owner) = inner.strip_prefix("which is held by ") {
            let owner = owner.trim().trim_start_matches('"').trim_end_matches('"');
            if let (Some(told), Some(dump)) = (self.told.take(), &mut self.dump) {
                dump.told.push(ToldWait { owner: owner.to_owned(), ..told });
            }
        } else if let Some(told) = &mut self.told
            && inner.starts_with("waiting ")
        {
            told.address = told_address(inner);
        } else if let Some(moment_ns) = line::moment_ns(inner) {
            self.moment_ns = Some(moment_ns);
        }
        Ok(())
    }
}

/// `waiting to lock monitor 0x0 (object 0x1, a com.acme.Foo),`, `waiting for ownable
/// synchronizer 0x1, (a com.acme.Foo),`: the address of the object.
fn told_address(text: &str) -> String {
    let behind = text.split_once("(object ").or_else(|| text.split_once("synchronizer "));
    let address = behind.map_or("", |(_, behind)| behind);
    line::plain_address(address.split([',', ' ']).next().unwrap_or_default())
}

/// Puts a name together that has line breaks. Where that makes no header, the lines are what
/// they are: a service's own may begin with a quotation mark.
fn join_name(line: &mut String, lines: &mut TextLines<'_>) {
    let (mut joined, mut ahead) = (line.clone(), lines.clone());
    for _ in 0..NAME_LINES {
        let Some((_, next)) = ahead.next() else { return };
        if next.starts_with('"') || next.trim().is_empty() {
            return;
        }
        joined.push(' ');
        joined.push_str(&next);
        if line::name(&joined).is_some() {
            (*line, *lines) = (joined, ahead);
            return;
        }
    }
}

/// Whether a line belongs to a thread, though nothing is taken from it.
fn is_known(line: &str) -> bool {
    const KNOWN: [&str; 11] = [
        "No compile task",
        "Compiling:",
        "JavaThread state:",
        "Thread:",
        "...",
        "Carrying virtual thread",
        "Mounted virtual thread",
        "Locked ",
        "User time: ",
        "System time: ",
        "- ",
    ];
    KNOWN.iter().any(|known| line.starts_with(known))
}

/// Notes what a line says of a lock.
pub(super) fn add_lock(thread: &mut RawThread, line: LockLine, is_list: bool) {
    match line {
        LockLine::Waits(wait) => {
            // The first is the innermost; what beans say in the header has no more to it.
            if thread.wait.as_ref().is_none_or(|known| known.how == WaitPhrase::Something) {
                let lock = match &thread.wait {
                    Some(RawWait { lock, .. }) if wait.lock.address.is_empty() => lock.clone(),
                    _ => wait.lock,
                };
                thread.wait = Some(RawWait { lock, ..wait });
            }
        }
        LockLine::Locked(lock) => thread.locked.push((thread.frames.len(), lock)),
        LockLine::Owned(lock) if is_list => thread.owned.push(lock),
        LockLine::Owned(_) | LockLine::Nothing => {}
    }
}
