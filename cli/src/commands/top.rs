//! `tyrion top`: what a program's threads wait for, while it runs.

mod columns;
mod draw;
mod frame;
mod keys;
mod look;
mod model;
mod once;
mod screen;
#[cfg(test)]
mod tests;

use crate::{
    live::{self, find},
    logs,
    outcome::{CommandResult, Completion, Failure, print, tell},
    terminal,
};
use clap::Args;
use draw::{NO_LOCKS, Status};
use frame::{Detail, TopFrame, ViewOptions};
use keys::{Action, App, View};
use look::LiveView;
pub use once::FrameJson;
use ratatui::crossterm::event;
use screen::Screen;
use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};
use tyrion_model::filter::{FilterError, Kinds, duration_ns};

/// The shortest time between two looks.
const LEAST_INTERVAL_NS: u64 = 50_000_000;
/// How long to wait for a key when nothing else will happen.
const LONG: Duration = Duration::from_secs(3600);

/// What to look at, and how often.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion top report.log
  tyrion top 4711                     # a JVM that is recorded, see tyrion attach
  tyrion top --once --json 4711 | jq '.locks[0]'

Reads the log while it is being written, which does not slow the program down, and
follows it when it rotates. Shows all of a log that has ended. Press ? for the keys.")]
pub struct TopArgs {
    /// A log, or a JVM that is being recorded: its process id, or its main class
    /// or jar, or a part of these or of its arguments (a log whose name is a
    /// number: ./4711)
    #[arg(value_name = "LOG|PID|NAME")]
    target: String,
    /// How much of the past to show
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "5s",
        value_parser = duration,
        conflicts_with = "once"
    )]
    window: u64,
    /// Time between two updates
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    interval: u64,
    /// Print one frame and exit: the waits of one interval from now on, or all
    /// waits of a log that has ended or is paused
    #[arg(long)]
    once: bool,
    /// With --once: print one JSON object
    #[arg(long, requires = "once")]
    json: bool,
    /// With --once: print at most N locks and N threads, 0 for all
    #[arg(long, value_name = "N", default_value = "20", requires = "once")]
    top: usize,
    /// Only these kinds of waits, separated by commas, as for convert
    /// [default: contention]
    #[arg(long, value_name = "KINDS", value_parser = live::kinds)]
    kind: Option<Kinds>,
}

fn duration(text: &str) -> Result<u64, FilterError> {
    Ok(duration_ns(text)?.max(LEAST_INTERVAL_NS))
}

/// Looks at a recording.
pub fn run(args: TopArgs) -> CommandResult {
    let (files, path) = find::log(&args.target)?;
    let kinds = args.kind.unwrap_or_else(Kinds::contention);
    let options = ViewOptions { kinds, instances: false };
    if args.once {
        return once(&args, LiveView::open(files, &path, 0, None)?, &options);
    }
    if !io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "stdout is not a terminal; use --once to print one frame".to_owned(),
        ));
    }
    let look = LiveView::open(files, &path, args.window, Some(args.window))?;
    let interval = Duration::from_nanos(args.interval);
    let app = App::new(options, look.window_ns(), look.is_trace());
    Viewer::new(look, app, interval)?.run()
}

fn once(args: &TopArgs, mut look: LiveView, options: &ViewOptions) -> CommandResult {
    if look.window_ns().is_some() {
        look.set_window(args.interval);
        std::thread::sleep(Duration::from_nanos(args.interval));
        look.read()?;
        look.show();
    }
    let (frame, status, top) = (look.frame(options), look.status(), args.top);
    let text = if args.json {
        once::json(&frame, &status, top).map_err(|error| Failure::new(error.to_string()))?
    } else {
        once::text(&frame, &status, top)
    };
    print(text)?;
    if status.lacks_locks() {
        tell(&format!("note: {NO_LOCKS}"));
    }
    // Of a log that is written to, the end is not there yet.
    let damage = look.damage();
    if look.life().has_ended() { Ok(logs::tell_damage(&damage)) } else { Ok(Completion::Whole) }
}

/// A recording on the screen.
struct Viewer {
    look: LiveView,
    app: App,
    interval: Duration,
    screen: Screen,
    colours: bool,
    frame: TopFrame,
    detail: Option<Detail>,
    status: Status,
    next: Instant,
}

impl Viewer {
    fn new(look: LiveView, app: App, interval: Duration) -> Result<Viewer, Failure> {
        let frame = look.frame(&app.options);
        let status = look.status();
        let colours = terminal::style().coloured;
        let next = Instant::now() + interval;
        let screen = Screen::open()?;
        Ok(Viewer { look, app, interval, screen, colours, frame, detail: None, status, next })
    }

    fn run(mut self) -> CommandResult {
        loop {
            self.draw()?;
            let ended = self.look.life().has_ended();
            let patience =
                if ended { LONG } else { self.next.saturating_duration_since(Instant::now()) };
            if event::poll(patience).map_err(unusable)? {
                let happened = event::read().map_err(unusable)?;
                // Windows tells of keys that are released, too.
                if let event::Event::Key(key) = happened
                    && key.is_press()
                {
                    match self.app.key(key, &self.frame) {
                        Action::Draw => {}
                        Action::Remake => self.remake(),
                        Action::Window(window_ns) => self.look.set_window(window_ns),
                        Action::Suspend => self.screen.suspend()?,
                        Action::Quit => return Ok(Completion::Whole),
                    }
                }
            }
            if !ended && Instant::now() >= self.next {
                self.look.read()?;
                self.app.trace = self.look.is_trace();
                self.next = Instant::now() + self.interval;
                self.remake();
            }
        }
    }

    fn remake(&mut self) {
        if !self.app.frozen {
            self.look.show();
        }
        self.frame = self.look.frame(&self.app.options);
        self.status = self.look.status();
        self.detail = match self.app.view() {
            View::Detail(subject) => Some(self.look.detail(&self.app.options, subject)),
            _ => None,
        };
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let look = draw::Looks { colours: self.colours };
        let (app, frame, detail) = (&mut self.app, &self.frame, self.detail.as_ref());
        let mut screen = draw::Screen { app, frame, detail, status: &self.status, look };
        let drawn = self.screen.terminal.draw(|to| draw::draw(to, &mut screen));
        drawn.map(|_| ()).map_err(unusable)
    }
}

fn unusable(error: io::Error) -> Failure {
    Failure::new(format!("the terminal: {error}"))
}
