//! The text of `jcmd Thread.dump_to_file`: process, moment and version in lines of their own,
//! then a paragraph for each thread, virtual ones among them. Up to JDK 24 it says nothing of
//! states and locks.

use super::{
    Dumps,
    line::{self, LockLine},
    lines::TextLines,
    raw::{RawDump, RawState, RawThread},
    text::add_lock,
};
use std::io;

/// Whether a text begins like one.
pub(super) fn is_it(start: &[u8]) -> bool {
    let mut lines = TextLines::new(start).map(|(_, line)| line);
    let is_pid = lines.next().is_some_and(|line| line::whole_number(&line).is_some());
    let is_moment = lines.next().is_some_and(|line| line::moment_ns(&line).is_some());
    is_pid && is_moment && lines.take(8).any(|line| header(&line).is_some())
}

/// `#14 "teller-1" virtual BLOCKED 2026-01-01T00:00:00Z`.
fn header(line: &str) -> Option<RawThread> {
    let behind = line.strip_prefix('#')?;
    let id = line::leading(behind)?;
    let inner = behind.split_once(" \"")?.1;
    let (name, behind) = inner.rsplit_once('"')?;
    let mut thread =
        RawThread { name: name.to_owned(), id: Some(id), is_java: true, ..RawThread::default() };
    for word in behind.split_ascii_whitespace() {
        match word {
            "virtual" => thread.is_virtual = true,
            _ if word.starts_with(|first: char| first.is_ascii_uppercase()) => {
                thread.state = RawState::of(word);
            }
            _ => {}
        }
    }
    Some(thread)
}

/// Reads a text, which may have several dumps.
pub(super) fn read(text: &[u8], dumps: &mut Dumps<'_>) -> io::Result<()> {
    let mut dump: Option<RawDump> = None;
    let mut pid = None;
    for (offset, line) in TextLines::new(text) {
        let inner = line.trim();
        if let Some(number) = line::whole_number(inner) {
            pid = u32::try_from(number).ok();
        } else if let Some(wall_ns) = line::moment_ns(inner) {
            end(dump.take(), dumps)?;
            let wall_ns = Some(wall_ns);
            dump = Some(RawDump { offset, wall_ns, pid, ..RawDump::default() });
        } else if let Some(dump) = &mut dump {
            match header(&line) {
                Some(thread) => dump.threads.push(RawThread { offset, ..thread }),
                None => thread_line(inner, dump, dumps),
            }
        }
    }
    end(dump, dumps)
}

fn thread_line(line: &str, dump: &mut RawDump, dumps: &mut Dumps<'_>) {
    let Some(thread) = dump.threads.last_mut() else {
        if dump.jvm.is_empty() {
            line.clone_into(&mut dump.jvm);
        }
        return;
    };
    let behind = line.strip_prefix("// ").map(|line| format!("- {line}"));
    if let Some((lock, owner)) = line::lock_line(behind.as_deref().unwrap_or(line)) {
        thread.owner = owner.or(thread.owner.take());
        let lock = match lock {
            LockLine::Owned(_) => LockLine::Nothing,
            lock => lock,
        };
        add_lock(thread, lock, false);
    } else if let Some(number) = dumps.frames.number(line.strip_prefix("at ").unwrap_or(line)) {
        thread.frames.push(number);
    }
}

fn end(dump: Option<RawDump>, dumps: &mut Dumps<'_>) -> io::Result<()> {
    let Some(mut dump) = dump else { return Ok(()) };
    for thread in &mut dump.threads {
        untold(thread, dumps);
    }
    dumps.add(dump)
}

/// What a thread does of which only the stack is told.
pub(super) fn untold(thread: &mut RawThread, dumps: &Dumps<'_>) {
    if thread.state != RawState::default() {
        return;
    }
    let top = thread.frames.first().and_then(|&number| dumps.frames.get(number));
    let is_native = top.is_none_or(|top| top.is_native);
    let waits = top.is_some_and(|top| {
        let method = top.method.as_str();
        match top.class.as_str() {
            "java/lang/Object" => method.starts_with("wait"),
            "java/lang/Thread" => method.starts_with("sleep"),
            "jdk/internal/misc/Unsafe" => method == "park",
            "java/lang/VirtualThread" => method.contains("park"),
            class => class.starts_with("jdk/internal/vm/Continuation"),
        }
    });
    thread.state = match waits {
        true => RawState { waits: true, ..RawState::default() },
        false if is_native => RawState::of("RUNNABLE"),
        // It runs, or waits for a monitor.
        false => RawState::of("UNKNOWN"),
    };
}
