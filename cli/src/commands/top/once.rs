//! One frame for scripts: as text, or as JSON.

use super::{
    columns::{Column, LOCKS, THREADS, number, rate},
    draw::{Status, aligned},
    frame::{Frame, LockRow, ThreadRow, Waits},
};
use serde::Serialize;
use std::fmt::Write;
use tyrion_converters::outputs::units;

/// A frame, as `--json` prints it. The fields are described in docs/top.md.
#[derive(Serialize)]
struct Printed<'a> {
    log: &'a str,
    program: &'a str,
    pid: u32,
    mode: &'static str,
    state: &'static str,
    whole: bool,
    window_ns: u64,
    total: &'a Waits,
    locks: &'a [LockRow],
    threads: &'a [ThreadRow],
}

/// One line of JSON, with at most `top` locks and threads.
///
/// # Errors
/// When a number is none that JSON knows.
pub fn json(frame: &Frame, status: &Status, top: usize) -> Result<String, serde_json::Error> {
    let printed = Printed {
        log: &status.log,
        program: &status.program,
        pid: status.pid,
        mode: if status.trace { "trace" } else { "contention" },
        state: status.life.name(),
        whole: status.whole,
        window_ns: frame.window_ns,
        total: &frame.total,
        locks: &frame.locks[..frame.locks.len().min(top)],
        threads: &frame.threads[..frame.threads.len().min(top)],
    };
    Ok(serde_json::to_string(&printed)? + "\n")
}

/// Text, with at most `top` locks and threads. Names are whole.
pub fn text(frame: &Frame, status: &Status, top: usize) -> String {
    let mut out = String::new();
    let total = &frame.total;
    let span = if status.whole { "all of" } else { "last" };
    let lines = [
        format!("{}  pid {}  {}  {}", status.program, status.pid, status.log, status.life.name()),
        format!(
            "{span} {}: {} waits/s, {} threads waiting on average, {} now",
            units::duration(frame.window_ns),
            rate(total.waits_per_s),
            number(total.waiting),
            units::thousands(total.pending),
        ),
    ];
    for line in lines {
        let _ = writeln!(out, "{}", line.trim_start());
    }
    let locks = &frame.locks[..frame.locks.len().min(top)];
    let threads = &frame.threads[..frame.threads.len().min(top)];
    table(&mut out, &LOCKS, locks, status.trace);
    table(&mut out, &THREADS, threads, status.trace);
    out
}

fn table<R>(out: &mut String, columns: &'static [Column<R>], rows: &[R], trace: bool) {
    if rows.is_empty() {
        return;
    }
    let shown: Vec<&Column<R>> =
        columns.iter().filter(|column| trace || !column.of_trace).collect();
    let mut lines: Vec<Vec<String>> =
        vec![shown.iter().map(|column| column.title.to_owned()).collect()];
    lines.extend(rows.iter().map(|row| shown.iter().map(|column| (column.text)(row)).collect()));
    let widths: Vec<usize> = (0..shown.len())
        .map(|nth| {
            let widest =
                lines.iter().map(|line| unicode_width::UnicodeWidthStr::width(&*line[nth]));
            widest.max().unwrap_or(0)
        })
        .collect();
    out.push('\n');
    for line in lines {
        let cells = line.iter().zip(&widths).zip(&shown);
        let cells = cells.map(|((text, &width), column)| aligned(text, width, column.is_number));
        let _ = writeln!(out, "{}", cells.collect::<Vec<String>>().join("  ").trim_end());
    }
}
