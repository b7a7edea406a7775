//! The stacks and threads of a lock, or of a thread.

use super::{Looks, Screen, aligned};
use crate::commands::top::{
    columns::{number, rate, shortened},
    frame::{Detail, DetailSubject, StackRow},
};
use ratatui::text::{Line, Span};
use tyrion_model::{harmless, units};

/// How many stacks of a detail are shown.
const STACKS: usize = 20;
/// How many threads of a detail are shown.
const THREADS_SHOWN: usize = 20;

/// A lock's or a thread's stacks.
pub(super) fn lines(
    screen: &Screen<'_>,
    subject: &DetailSubject,
    width: usize,
) -> Vec<Line<'static>> {
    let look = screen.look;
    let (name, waits) = match subject {
        DetailSubject::Lock(lock, kind) => {
            let row =
                screen.frame.locks.iter().find(|row| row.subject(&screen.app.options) == *subject);
            let shown = row.map_or_else(|| lock.shown(), |row| row.lock.shown());
            (format!("{shown}  {}", kind.name()), row.map(|row| row.waits))
        }
        DetailSubject::Thread(thread) => {
            let row = screen.frame.threads.iter().find(|row| row.thread == *thread);
            (
                format!("Thread {}  (id {})", thread.shown(), thread.java_id),
                row.map(|row| row.waits),
            )
        }
    };
    let mut lines = vec![Line::from(Span::styled(shortened(&name, width), look.title()))];
    let waits = waits.unwrap_or_default();
    lines.push(Line::from(format!(
        "{} waits/s  {} waiting on average  mean {}  max {}  {} now",
        rate(waits.waits_per_s),
        number(waits.waiting),
        units::duration(waits.mean_ns),
        units::duration(waits.max_ns),
        waits.pending,
    )));
    let Some(detail) = screen.detail else { return lines };
    pending_lines(&mut lines, detail, subject, look);
    let title = match subject {
        DetailSubject::Lock(..) => "Where threads wait for it",
        DetailSubject::Thread(_) => "Where it waits",
    };
    stack_lines(&mut lines, title, &detail.waiting, "wait", look, width);
    if matches!(subject, DetailSubject::Lock(..)) {
        holder_lines(&mut lines, detail, screen, width);
    }
    lines
}

fn section(lines: &mut Vec<Line<'static>>, title: String, look: Looks) {
    lines.push(Line::from(""));
    lines.push(Line::from(Span::styled(title, look.title())));
}

fn pending_lines(
    lines: &mut Vec<Line<'static>>,
    detail: &Detail,
    subject: &DetailSubject,
    look: Looks,
) {
    if detail.pending.is_empty() {
        return;
    }
    section(lines, format!("Waiting now: {}", detail.pending.len()), look);
    for wait in detail.pending.iter().take(THREADS_SHOWN) {
        let duration = aligned(&units::duration(wait.wait_ns), 9, true);
        let what = match subject {
            DetailSubject::Lock(..) => harmless::name(&wait.thread).into_owned(),
            DetailSubject::Thread(_) => format!("for {} {}", wait.kind.name(), wait.lock),
        };
        let owner = wait.owner.as_ref();
        let owner =
            owner.map_or_else(String::new, |owner| format!("  {} had it", harmless::name(owner)));
        lines.push(Line::from(format!("{duration}  {what}{owner}")));
    }
    more(lines, detail.pending.len(), THREADS_SHOWN, look);
}

/// `1 wait`, `2 waits`.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", units::thousands(count), if count == 1 { "" } else { "s" })
}

fn more(lines: &mut Vec<Line<'static>>, all: usize, shown: usize, look: Looks) {
    if all > shown {
        lines.push(Line::from(Span::styled(format!("  … and {} more", all - shown), look.faint())));
    }
}

fn stack_lines(
    lines: &mut Vec<Line<'static>>,
    title: &str,
    rows: &[StackRow],
    what: &str,
    look: Looks,
    width: usize,
) {
    section(lines, title.to_owned(), look);
    if rows.is_empty() {
        lines.push(Line::from(Span::styled("  nowhere in this window", look.faint())));
    }
    for row in rows.iter().take(STACKS) {
        let lock = if row.lock.is_empty() { String::new() } else { format!("  for {}", row.lock) };
        let (kept, count) = (aligned(&number(row.waiting), 6, true), counted(row.count, what));
        let head = format!("{kept}  {count}{lock}");
        lines.push(Line::from(Span::styled(shortened(&head, width), look.hot())));
        for frame in &row.frames {
            lines.push(Line::from(format!(
                "        {}",
                shortened(&harmless::name(frame), width.saturating_sub(8))
            )));
        }
    }
    more(lines, rows.len(), STACKS, look);
}

fn holder_lines(
    lines: &mut Vec<Line<'static>>,
    detail: &Detail,
    screen: &Screen<'_>,
    width: usize,
) {
    let (look, trace) = (screen.look, screen.status.trace);
    let what = if trace { "charge" } else { "time" };
    if !detail.holders.is_empty() {
        section(lines, "Who held it, and how many waited meanwhile on average".to_owned(), look);
        for row in detail.holders.iter().take(THREADS_SHOWN) {
            let (kept, count) = (aligned(&number(row.waiting), 6, true), counted(row.count, what));
            lines.push(Line::from(format!("{kept}  {count}  {}", harmless::name(&row.thread))));
        }
        more(lines, detail.holders.len(), THREADS_SHOWN, look);
    }
    if trace {
        stack_lines(lines, "Where they released it", &detail.holding, what, look, width);
    } else {
        section(lines, "Where it is held: unknown without --mode trace".to_owned(), look);
    }
}
