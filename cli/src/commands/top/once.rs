//! One frame for scripts: as text, or as JSON.

use super::{
    columns::{LOCKS, THREADS, TableColumn, number, rate},
    draw::{Coverage, Status, aligned},
    frame::{RowWaits, ThreadRow, TopFrame, TopLock},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use tyrion_model::{harmless, units};
use tyrion_report::{OwnCpu, render::json::escaped};

/// A frame, as `--json` prints it. The fields are described in docs/top.md.
#[derive(Serialize, JsonSchema)]
pub struct FrameJson<'a> {
    /// 1. It changes when a field is renamed, removed or means something else.
    schema: u32,
    /// The version of Tyrion that wrote this.
    tyrion: &'static str,
    /// Which log.
    log: &'a str,
    /// Main class or jar of the recorded program.
    program: &'a str,
    /// The recorded process.
    pid: u32,
    /// The log's mode: `contention`, `trace`, `contention+sample` or `trace+sample`. A log of
    /// mode `sample` says nothing about waits, and a note on stderr says so.
    mode: &'a str,
    /// `recording`, `paused`, `ended`, `broken off` (the log could no longer be written) or
    /// `killed`.
    state: &'static str,
    /// Whether the figures cover the whole recording: neither a window nor one file of several.
    whole: bool,
    /// The length of the time that the figures cover.
    window_ns: u64,
    /// The agent's part of the program's CPU time since the recording began. `null` in logs of
    /// earlier agents.
    own_cpu: Option<OwnCpu>,
    /// All waits.
    total: &'a RowWaits,
    /// By lock and kind, those with the most wait first.
    locks: &'a [TopLock],
    /// By thread, those with the most wait first.
    threads: &'a [ThreadRow],
}

/// One line of JSON, with at most `top` locks and threads; 0 for all.
///
/// # Errors
/// When a number is none that JSON knows.
pub fn json(frame: &TopFrame, status: &Status, top: usize) -> Result<String, serde_json::Error> {
    let printed = FrameJson {
        schema: 1,
        tyrion: env!("CARGO_PKG_VERSION"),
        log: &status.log,
        program: &status.program,
        pid: status.pid,
        mode: &status.mode,
        state: status.life.name(),
        whole: status.span == Coverage::Recording,
        window_ns: frame.window_ns,
        own_cpu: status.own_cpu,
        total: &frame.total,
        locks: first(&frame.locks, top),
        threads: first(&frame.threads, top),
    };
    Ok(escaped(&serde_json::to_string(&printed)?).into_owned() + "\n")
}

/// Longer names, in characters, are shortened: each row is as wide as the longest.
const LONGEST: usize = 120;

/// Text, with at most `top` locks and threads, 0 for all. Names are whole, unless
/// they are very long.
pub fn text(frame: &TopFrame, status: &Status, top: usize) -> String {
    let mut out = String::new();
    let total = &frame.total;
    let span = status.span.words();
    let figures = match status.lacks_locks() {
        true => {
            format!("{span} {}: locks were not recorded", units::duration(frame.window_ns))
        }
        false => format!(
            "{span} {}: {} waits/s, {} threads waiting on average, {} now",
            units::duration(frame.window_ns),
            rate(total.waits_per_s),
            number(total.waiting),
            units::thousands(total.pending),
        ),
    };
    let lines = [format!("{}  {}", status.what(), status.life.name()), figures];
    let own = status.own_cpu.map(|own| format!("tyrion itself: {}", own.text()));
    for line in lines.into_iter().chain(own) {
        let _ = writeln!(out, "{}", line.trim_start());
    }
    table(&mut out, &LOCKS, first(&frame.locks, top), status.trace);
    table(&mut out, &THREADS, first(&frame.threads, top), status.trace);
    out
}

/// The first `top` rows; 0 for all.
fn first<R>(rows: &[R], top: usize) -> &[R] {
    if top == 0 { rows } else { &rows[..rows.len().min(top)] }
}

fn table<R>(out: &mut String, columns: &'static [TableColumn<R>], rows: &[R], trace: bool) {
    if rows.is_empty() {
        return;
    }
    let is_empty = |column: &TableColumn<R>| rows.iter().all(|row| (column.text)(row).is_empty());
    let is_shown = |column: &&TableColumn<R>| {
        (trace || !column.of_trace) && !(column.is_rare && is_empty(column))
    };
    let shown: Vec<&TableColumn<R>> = columns.iter().filter(is_shown).collect();
    let mut lines: Vec<Vec<String>> =
        vec![shown.iter().map(|column| column.title.to_owned()).collect()];
    let cell = |text: String| harmless::within(&text, LONGEST).into_owned();
    lines.extend(
        rows.iter().map(|row| shown.iter().map(|column| cell((column.text)(row))).collect()),
    );
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
