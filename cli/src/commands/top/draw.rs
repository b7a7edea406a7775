//! Draws a frame.

mod detail;

use super::{
    columns::{self, LOCKS, THREADS, TableColumn, number, rate, shortened},
    frame::{Detail, RowWaits, TopFrame},
    keys::{App, View},
};
use crate::live::feed::Life;
use ratatui::{
    layout::Rect,
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Clear, Paragraph},
};
use tyrion_model::{harmless, units};
use tyrion_report::OwnCpu;

/// What is known of the recording.
#[derive(Clone, Debug)]
pub struct Status {
    /// The log's path.
    pub log: String,
    /// The program, as the log has it.
    pub program: String,
    pub pid: u32,
    pub life: Life,
    /// Since the recording began.
    pub elapsed_ns: u64,
    /// How much of the recording is shown.
    pub span: Coverage,
    /// Whether it was recorded in trace mode.
    pub trace: bool,
    /// The mode, as the log has it.
    pub mode: String,
    /// What the agent takes of the program's CPU time, if it says so.
    pub own_cpu: Option<OwnCpu>,
    /// Something that the user should know.
    pub note: Option<String>,
}

/// Of a recording of samples alone.
pub const NO_LOCKS: &str = "locks were not recorded (mode=sample), so no waits can be shown; \
                            tyrion report shows the samples, --mode contention+sample records both";

impl Status {
    /// Which program is recorded, and into which log, as it may be shown.
    pub fn what(&self) -> String {
        let (program, log) = (harmless::name(&self.program), harmless::text(&self.log));
        format!("{program}  pid {}  {log}", self.pid)
    }

    /// Whether only samples were recorded.
    pub fn lacks_locks(&self) -> bool {
        self.mode == "sample"
    }
}

/// How much of a recording is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    Recording,
    /// All of a file of a recording that rotated; others came before or after.
    File,
    /// The last seconds.
    Window,
}

impl Coverage {
    /// What stands before the length.
    pub fn words(self) -> &'static str {
        match self {
            Coverage::Recording => "all of",
            Coverage::File => "all of this file,",
            Coverage::Window => "last",
        }
    }
}

/// The looks of things; with colours or without.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    pub colours: bool,
}

impl Looks {
    fn colour(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn faint(self) -> Style {
        self.colour(Color::DarkGray)
    }

    fn hot(self) -> Style {
        self.colour(Color::Yellow)
    }

    fn warning(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

/// All that is drawn.
pub struct Screen<'a> {
    pub app: &'a mut App,
    pub frame: &'a TopFrame,
    pub detail: Option<&'a Detail>,
    pub status: &'a Status,
    pub look: Looks,
}

/// Draws a screen.
pub fn draw(to: &mut ratatui::Frame<'_>, screen: &mut Screen<'_>) {
    let area = to.area();
    if area.height < 4 || area.width < 20 {
        to.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let row = |at: u16| Rect { y: area.y + at, height: 1, ..area };
    to.render_widget(Paragraph::new(status_line(screen, area.width.into())), row(0));
    to.render_widget(Paragraph::new(sums_line(screen)), row(1));
    let body = Rect { y: area.y + 2, height: area.height - 3, ..area };
    screen.app.page = usize::from(body.height).saturating_sub(2).max(1);
    let view = screen.app.view().clone();
    match &view {
        View::Locks => {
            let selected = screen.app.selected(screen.frame);
            let rows = screen.app.lock_rows(screen.frame);
            let table = RowTable { columns: &LOCKS, sort: screen.app.locks.sort, selected };
            to.render_widget(Paragraph::new(table.lines(&rows, body, screen)), body);
        }
        View::Threads => {
            let selected = screen.app.selected(screen.frame);
            let rows = screen.app.thread_rows(screen.frame);
            let table = RowTable { columns: &THREADS, sort: screen.app.threads.sort, selected };
            to.render_widget(Paragraph::new(table.lines(&rows, body, screen)), body);
        }
        View::Detail(subject) => {
            let lines = detail::lines(screen, subject, body.width.into());
            let most = lines.len().saturating_sub(body.height.into());
            screen.app.scroll = screen.app.scroll.min(most);
            let shown: Vec<Line<'_>> = lines.into_iter().skip(screen.app.scroll).collect();
            to.render_widget(Paragraph::new(shown), body);
        }
    }
    to.render_widget(Paragraph::new(last_line(screen, area.width.into())), row(area.height - 1));
    if screen.app.help {
        help(to, body, screen.look);
    }
}

/// What is recorded, and whether it still is.
fn status_line(screen: &Screen<'_>, width: usize) -> Line<'static> {
    let (status, look) = (screen.status, screen.look);
    let state = status.life.name();
    let style = if status.life.has_ended() { look.warning() } else { look.faint() };
    let right = format!("{state}  {}", clock(status.elapsed_ns));
    let what = status.what();
    let room = width.saturating_sub("tyrion top  ".len() + right.chars().count() + 2);
    let what = shortened(&what, room);
    let gap = room.saturating_sub(Span::raw(&what).width()) + 2;
    Line::from(vec![
        Span::styled("tyrion top  ", look.title()),
        Span::raw(what),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, style),
    ])
}

/// Hours, minutes and seconds.
fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// All waits together.
fn sums_line(screen: &Screen<'_>) -> Line<'static> {
    let look = screen.look;
    let total = &screen.frame.total;
    let window = units::duration(screen.frame.window_ns);
    let span = screen.status.span.words();
    let mut spans = vec![
        Span::styled(format!("{span} {window}  "), look.faint()),
        Span::raw(format!("{} waits/s  ", rate(total.waits_per_s))),
        Span::raw(format!("{} threads waiting on average  ", number(total.waiting))),
        Span::raw(format!("{} now", units::thousands(total.pending))),
    ];
    if let Some(share) = screen.status.own_cpu.and_then(|own| own.share) {
        // Of the whole recording.
        spans.push(Span::styled(format!("  tyrion {:.2} % of CPU", 100.0 * share), look.faint()));
    }
    if screen.app.shows_all_kinds() {
        spans.push(Span::styled("  all kinds", look.faint()));
    }
    if screen.app.frozen {
        spans.push(Span::styled("  FROZEN", look.warning()));
    }
    Line::from(spans)
}

/// Keys, the filter, or what the user should know.
fn last_line(screen: &Screen<'_>, width: usize) -> Line<'static> {
    let look = screen.look;
    let app = &screen.app;
    if app.editing {
        return Line::from(vec![
            Span::styled("/", look.title()),
            Span::raw(app.filter().to_owned()),
            Span::styled("▏", look.title()),
        ]);
    }
    let mut left = match app.view() {
        View::Detail(_) => "Esc back  ↑↓ scroll  space freeze  ? help  q quit",
        View::Locks => "Enter stacks  ←→ sort  / filter  t threads  space freeze  ? help  q quit",
        View::Threads => "Enter stacks  ←→ sort  / filter  t locks  space freeze  ? help  q quit",
    }
    .to_owned();
    let mut style = look.faint();
    if let (Some(note), View::Locks | View::Threads) = (&screen.status.note, app.view()) {
        (left, style) = (note.clone(), look.warning());
    } else if !app.filter().is_empty() {
        left = format!("/{}  (Esc shows all)", app.filter());
        style = look.title();
    }
    Line::from(Span::styled(left.chars().take(width).collect::<String>(), style))
}

/// A table of rows, of which one is selected.
struct RowTable<R: 'static> {
    columns: &'static [TableColumn<R>],
    sort: usize,
    selected: usize,
}

impl<R> RowTable<R> {
    fn lines(&self, rows: &[&R], area: Rect, screen: &Screen<'_>) -> Vec<Line<'static>>
    where
        R: HasWaits,
    {
        let look = screen.look;
        let height = usize::from(area.height).saturating_sub(1).max(1);
        // The selection is never out of sight.
        let first = self.selected.saturating_sub(height - 1);
        let seen = || rows.iter().skip(first).take(height);
        let widest = |column: &TableColumn<R>| {
            seen().map(|row| Span::raw((column.text)(row)).width()).max().unwrap_or(0)
        };
        let fitted = columns::fit(self.columns, screen.status.trace, area.width.into(), widest);
        let mut lines = vec![self.heading(&fitted, look)];
        for (nth, row) in rows.iter().enumerate().skip(first).take(height) {
            let texts = fitted.iter().map(|&(column, width)| {
                let column = &self.columns[column];
                aligned(&shortened(&(column.text)(row), width), width, column.is_number)
            });
            let text = texts.collect::<Vec<String>>().join(" ");
            let mut style = if row.waits().waiting >= 1.0 { look.hot() } else { Style::new() };
            if nth == self.selected {
                style = style.add_modifier(Modifier::REVERSED);
            }
            lines.push(Line::from(Span::styled(text, style)));
        }
        if rows.is_empty() {
            let filtered = !screen.app.filter().is_empty();
            let why = if filtered { "Nothing matches the filter." } else { "Nobody waited." };
            lines.push(Line::from(Span::styled(why, look.faint())));
        }
        lines
    }

    fn heading(&self, fitted: &[(usize, usize)], look: Looks) -> Line<'static> {
        let mut spans = Vec::new();
        for (nth, &(column, width)) in fitted.iter().enumerate() {
            if nth > 0 {
                spans.push(Span::styled(" ", look.heading()));
            }
            let own = &self.columns[column];
            let text = aligned(&shortened(own.title, width), width, own.is_number);
            let sorts = column == self.sort;
            let bold =
                if sorts { Modifier::BOLD | Modifier::UNDERLINED } else { Modifier::empty() };
            spans.push(Span::styled(text, look.heading().add_modifier(bold)));
        }
        Line::from(spans)
    }
}

/// What a row's colour depends on.
trait HasWaits {
    fn waits(&self) -> &RowWaits;
}

impl HasWaits for super::frame::TopLock {
    fn waits(&self) -> &RowWaits {
        &self.waits
    }
}

impl HasWaits for super::frame::ThreadRow {
    fn waits(&self) -> &RowWaits {
        &self.waits
    }
}

/// A text padded to a number of columns of the screen.
pub fn aligned(text: &str, width: usize, right: bool) -> String {
    let gap = " ".repeat(width.saturating_sub(Span::raw(text).width()));
    if right { gap + text } else { text.to_owned() + &gap }
}
const HELP: &str = "\x20↑ ↓  PgUp PgDn   move
 ← →  s S         the column that sorts
 Enter            stacks of a lock or thread
 Esc              back; show all again
 t                threads, locks
 /                filter by name
 i                distinguish lock objects of one name
 a                all kinds of waits, or contention
 + -              longer, shorter window
 space            freeze, continue
 q                quit

 WAITING  threads waiting, on average:
          wait time per elapsed time
 NOW      threads waiting now, or how long
          a thread has been waiting
 HELD     threads holding it, on average
          (trace mode, estimated)";

fn help(to: &mut ratatui::Frame<'_>, body: Rect, look: Looks) {
    let lines: Vec<Line<'_>> = HELP.lines().map(Line::from).collect();
    let widest = lines.iter().map(Line::width).max().unwrap_or(0);
    let (width, height) = (widest as u16 + 1, lines.len() as u16);
    let area = Rect {
        x: body.x + body.width.saturating_sub(width) / 2,
        y: body.y + body.height.saturating_sub(height) / 2,
        width: width.min(body.width),
        height: height.min(body.height),
    };
    to.render_widget(Clear, area);
    to.render_widget(Paragraph::new(lines).style(look.heading()), area);
}
