//! OpenJ9's javacores: sections of lines, each of which begins with a tag that says what it is.

use super::{
    Dumps, line,
    lines::TextLines,
    raw::{RawDump, RawLock, RawOwner, RawState, RawThread, RawWait, ToldWait, WaitPhrase},
};
use std::io;

/// Reads a text, which may have several dumps.
pub(super) fn read(text: &[u8], dumps: &mut Dumps<'_>) -> io::Result<()> {
    let mut dump: Option<RawDump> = None;
    let mut told: Option<ToldWait> = None;
    for (offset, line) in TextLines::new(text) {
        let (tag, value) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let value = value.trim();
        match tag {
            "1TIDATETIME" | "1TISIGINFO" if is_next(dump.as_ref(), tag) => {
                if let Some(dump) = dump.take() {
                    dumps.add(dump)?;
                }
            }
            _ => {}
        }
        if tag.len() < 8 || tag.starts_with("NULL") {
            continue;
        }
        let dump = dump.get_or_insert_with(|| RawDump { offset, ..RawDump::default() });
        match tag {
            "1TIDATETIME" => dump.wall_ns = moment_ns(value),
            "1CIJAVAVERSION" => value.clone_into(&mut dump.jvm),
            "1CIPROCESSID" => {
                let words = value.split_ascii_whitespace();
                dump.pid = words.filter_map(|it| it.parse().ok()).next();
            }
            "3XMTHREADINFO" => dump.threads.extend(header(value, offset)),
            "1LKDEADLOCK" => told = None,
            "2LKDEADLOCKTHR" => deadlocked(value, &mut told, dump),
            "4LKDEADLOCKOBJ" => {
                if let Some(told) = &mut told {
                    told.address = object(value).address;
                }
            }
            _ => thread_line(tag, value, dump, dumps),
        }
    }
    dump.map_or(Ok(()), |dump| dumps.add(dump))
}

/// `Thread "main" (0x1)`, in a circle of threads, the first of which stands at its end, too:
/// each has what the one before waits for.
fn deadlocked(value: &str, told: &mut Option<ToldWait>, dump: &mut RawDump) {
    let name = value.split_once('"').and_then(|(_, name)| name.rsplit_once('"'));
    let Some((name, _)) = name else { return };
    let next = ToldWait { thread: name.to_owned(), ..ToldWait::default() };
    if let Some(before) = told.replace(next).filter(|it| !it.address.is_empty()) {
        dump.told.push(ToldWait { owner: name.to_owned(), ..before });
    }
}

/// Whether what comes belongs to the next dump.
fn is_next(dump: Option<&RawDump>, tag: &str) -> bool {
    tag == "1TISIGINFO" && dump.is_some_and(|dump| !dump.threads.is_empty())
}

/// `Date: 2024/01/02 at 03:04:05:678`.
fn moment_ns(value: &str) -> Option<u64> {
    line::moment_ns(value.strip_prefix("Date:")?)
}

/// `"main" J9VMThread:0x1, omrthread_t:0x2, java/lang/Thread:0x3, state:CW, prio=5`.
fn header(value: &str, offset: u64) -> Option<RawThread> {
    // The JVM's own threads have no names.
    let (name, behind) = line::name(value)?;
    let of = |key: &str| behind.split_once(key)?.1.split(',').next().map(str::trim);
    let state = match of("state:")? {
        "R" => "RUNNABLE",
        "B" => "BLOCKED",
        "CW" | "W" => "WAITING",
        "P" => "WAITING (parking)",
        "S" => "TIMED_WAITING (sleeping)",
        _ => "",
    };
    Some(RawThread {
        offset,
        name: name.to_owned(),
        tid: of("J9VMThread:").unwrap_or_default().to_owned(),
        state: RawState::of(state),
        is_java: true,
        ..RawThread::default()
    })
}

fn thread_line(tag: &str, value: &str, dump: &mut RawDump, dumps: &mut Dumps<'_>) {
    let Some(thread) = dump.threads.last_mut() else { return };
    match tag {
        "3XMJAVALTHREAD" => {
            let id = value.split_once("getId:0x").map(|(_, id)| id);
            let id = id.and_then(|id| id.split([',', ')']).next());
            thread.id = id.and_then(|id| u64::from_str_radix(id, 16).ok());
            thread.is_daemon = value.contains("isDaemon:true");
        }
        "3XMCPUTIME" => {
            let total = value.split_once("total:").map(|(_, total)| total.trim());
            let total = total.and_then(|total| total.split(',').next());
            thread.cpu_ns = total.and_then(|total| line::duration_ns(&total.replace(' ', "")));
        }
        // Of what the JVM runs for itself.
        "3XMTHREADINFO3" if value.starts_with("No Java callstack") => thread.is_java = false,
        "3XMTHREADBLOCK" => blocked(thread, value),
        "4XESTACKTRACE" => {
            let frame = value.strip_prefix("at ").unwrap_or(value);
            thread.frames.extend(dumps.frames.number(&with_dots(frame)));
        }
        "5XESTACKTRACE" => {
            if let Some((_, lock)) = value.split_once("entered lock: ") {
                let lock = lock.split(',').next().unwrap_or(lock);
                thread.locked.push((thread.frames.len(), object(lock)));
            }
        }
        _ => {}
    }
}

/// `Blocked on: java/lang/Object@0x1 Owned by: "other" (J9VMThread:0x1, ...)`.
fn blocked(thread: &mut RawThread, value: &str) {
    let Some((how, on)) = value.split_once(" on:") else { return };
    let (lock, owner) = on.split_once(" Owned by:").unwrap_or((on, ""));
    let how = match how.trim() {
        "Blocked" => WaitPhrase::Enter,
        "Parked" => WaitPhrase::Park,
        _ => WaitPhrase::Wait,
    };
    thread.wait = Some(RawWait { how, lock: object(lock) });
    // Names may be used twice.
    let tid = owner.rsplit_once("(J9VMThread:").and_then(|(_, tid)| tid.split([',', ')']).next());
    let name = owner.trim().strip_prefix('"').and_then(|it| it.rsplit_once("\" ("));
    thread.owner = match (tid, name) {
        (Some(tid), _) => Some(RawOwner::Tid(tid.to_owned())),
        (None, name) => name.map(|(name, _)| RawOwner::Name(name.to_owned())),
    };
}

fn object(text: &str) -> RawLock {
    let lock = RawLock::at_sign(text);
    RawLock { address: line::plain_address(&lock.address), ..lock }
}

/// `java/lang/Object.wait(Native Method)` with dots in the name, and without what the compiler
/// has done: `Foo.java:12(Compiled Code)`.
fn with_dots(frame: &str) -> String {
    let (name, place) = frame.split_once('(').unwrap_or((frame, ""));
    let place = place.split("(Compiled").next().unwrap_or(place).trim_end_matches(')');
    format!("{}({place})", name.replace('/', "."))
}
