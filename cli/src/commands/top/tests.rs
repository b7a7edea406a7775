//! From a log to the screen, without a clock and a terminal. The screens are
//! files in `testdata/top`; `BLESS=1` writes them; look at what has changed.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod feed;
mod frames;
mod keys;

use super::{
    super::tests::golden_files,
    TopArgs,
    draw::{self, Coverage, Status},
    frame::{self, Detail, DetailSubject, FrameSource, TopFrame, ViewOptions},
    keys::{Action, App, View},
    model::{Window, WindowSums},
    once,
};
use crate::live::{feed::Life, telling::TellingClasses};
use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};
use std::{
    io::{Cursor, Write},
    path::Path,
};
use tyrion_formats::{
    Begin, Follower,
    wire::{
        WaitKind,
        def::thread_flag,
        header::RecordingState,
        slot::Pending,
        trace::{AcquisitionCell, Blame},
    },
    write::{LaneId, LogOptions, LogWriter, Wait},
};
use tyrion_model::filter::Kinds;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

type Writer = LogWriter<Cursor<Vec<u8>>>;

/// What the header of a file says of the recording.
fn options(state: RecordingState, metadata: &[(&str, &str)]) -> LogOptions {
    let mut options = LogOptions::default();
    let own = |text: &str| text.to_owned();
    options.header.state = state;
    options.header.metadata = metadata.iter().map(|(key, value)| (own(key), own(value))).collect();
    options
}

fn waits(log: &mut Writer, lane: LaneId, site: u32, waits: &[(u64, u64, u32)]) {
    for &(end_ns, wait_ns, owner) in waits {
        log.wait(lane, Wait { end_ns, wait_ns, site, owner, ..Wait::default() }).unwrap();
    }
}

/// A program with a cache, a queue and a pool of workers, up to 10 s. In the
/// last 5 s `worker-1` and `worker-2` wait for the cache, `main` for the queue's
/// lock; `worker-2` still does, since 8 s.
fn program(trace: bool) -> Vec<u8> {
    let mode = if trace { "trace" } else { "contention" };
    let metadata = [("program", "com.acme.Main"), ("mode", mode)];
    let mut log =
        LogWriter::new(Cursor::new(Vec::new()), options(RecordingState::Recording, &metadata))
            .unwrap();
    let object = log.class("java/lang/Object", "Object.java").unwrap();
    let cache = log.class("com/acme/cache/Cache", "Cache.java").unwrap();
    let sync = log
        .class("java/util/concurrent/locks/ReentrantLock$NonfairSync", "ReentrantLock.java")
        .unwrap();
    let queue = log.class("com/acme/Queue", "Queue.java").unwrap();
    let get = log.method(cache, "get", "()V", 1).unwrap();
    let put = log.method(cache, "put", "()V", 1).unwrap();
    let poll = log.method(queue, "poll", "()V", 1).unwrap();
    let run = log.stack(0, poll, 70).unwrap();
    let getting = log.stack(run, get, 21).unwrap();
    let putting = log.stack(run, put, 34).unwrap();
    let [map, map2, turn] = [object, object, sync].map(|class| log.lock(class).unwrap());
    for (lock, name) in [(map, "Cache.map"), (map2, "Cache.map"), (turn, "Queue.turn")] {
        log.lock_name(lock, name).unwrap();
    }
    let threads = ["main", "worker-1", "worker-2"];
    let threads: Vec<(u32, LaneId)> = (1..)
        .zip(threads)
        .map(|(id, name)| {
            let thread = log.thread(id, name, "main", thread_flag::DAEMON).unwrap();
            (thread, log.lane(thread))
        })
        .collect();
    let [(main, lane0), (worker1, lane1), (worker2, lane2)] = threads[..] else { panic!() };
    let monitor = log.site(WaitKind::Monitor, getting, map).unwrap();
    let other = log.site(WaitKind::Monitor, putting, map2).unwrap();
    let lock = log.site(WaitKind::Lock, run, turn).unwrap();
    let park = log.site(WaitKind::Park, run, turn).unwrap();
    // Before the window; half of it in the window; in it.
    let of_one = [(4 * S, S, 0), (6 * S, 2 * S, 0), (7 * S, 10 * MS, 0), (9 * S, 20 * MS, 0)];
    waits(&mut log, lane1, monitor, &of_one);
    waits(&mut log, lane2, other, &[(7 * S, S, 0)]);
    waits(&mut log, lane0, lock, &[(8 * S, 300_000, worker1), (9 * S, 100_000, worker2)]);
    waits(&mut log, lane0, park, &[(10 * S, 900 * MS, 0)]);
    log.pending(&Pending {
        thread: worker2,
        kind: WaitKind::Monitor,
        stack: getting,
        lock: map,
        owner: main,
        start_ns: 8 * S,
        seen_ns: 0,
        flags: 0,
    })
    .unwrap();
    if trace {
        let place = log.place(get, 21, WaitKind::Monitor, 0, "Cache.map").unwrap();
        let blame = |stack, charged_ns| Blame {
            charged_ns,
            site: monitor,
            waiter: worker1,
            stack,
            place,
            delta_ns: 0,
        };
        log.note(lane2, 9 * S, blame(putting, 15 * MS)).unwrap();
        log.note(lane2, 9 * S + 1, blame(0, 5 * MS)).unwrap();
        let cell = AcquisitionCell {
            thread: worker1,
            place,
            class: object,
            acquisitions: 4000,
            first_count: 10,
            first_ns: 1_000_000,
            ..AcquisitionCell::default()
        };
        log.acquisitions(lane1, &cell).unwrap();
    }
    log.finish().unwrap().into_inner()
}

struct TestLog {
    sums: WindowSums,
    follower: Follower,
    _file: tempfile::NamedTempFile,
}

/// What is seen of the last 5 s.
fn made(trace: bool) -> TestLog {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&program(trace)).unwrap();
    // Acquisitions know no time, so that they count only from the start on.
    let begin = if trace { Begin::Start } else { Begin::At(5 * S) };
    let mut follower = Follower::open(file.path(), begin).unwrap();
    let mut window = Window::last(5 * S, 0, 10 * S);
    let changes = follower.read_on(10 * S, |entry| window.add(0, &entry)).unwrap();
    window.add_changes(0, &changes);
    if trace {
        // As if there had been another second, and looks at its ends.
        window.advance(11 * S);
    }
    TestLog { sums: window.sums(), follower, _file: file }
}

impl TestLog {
    fn with<T>(&self, make: impl FnOnce(FrameSource<'_>) -> T) -> T {
        let log = self.follower.recording();
        let (sums, logs, pending) = (&self.sums, &[(0, log)], log.pending());
        let mut telling = TellingClasses::default();
        frame::learn(&mut telling, sums, logs, pending);
        make(FrameSource { sums, logs, pending, telling: &telling })
    }

    fn frame(&self, options: &ViewOptions) -> TopFrame {
        self.with(|seen| frame::frame(seen, options))
    }

    fn detail(&self, options: &ViewOptions, subject: &DetailSubject) -> Detail {
        self.with(|seen| frame::detail(seen, options, subject))
    }
}

fn contention() -> ViewOptions {
    ViewOptions { kinds: Kinds::contention(), instances: false }
}

fn all() -> ViewOptions {
    ViewOptions { kinds: Kinds::all(), instances: true }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

fn status(trace: bool, life: Life) -> Status {
    let note = life.has_ended().then(|| "The JVM has ended; this is its last window".to_owned());
    Status {
        log: "report.log".to_owned(),
        program: "com.acme.Main".to_owned(),
        pid: 4711,
        life,
        elapsed_ns: 10 * S,
        span: Coverage::Window,
        trace,
        mode: if trace { "trace" } else { "contention" }.to_owned(),
        own_cpu: None,
        note,
    }
}

/// Somebody at a terminal.
struct User {
    made: TestLog,
    app: App,
    status: Status,
    size: (u16, u16),
}

impl User {
    fn new(trace: bool, size: (u16, u16)) -> User {
        let app = App::new(contention(), Some(5 * S), trace);
        User { made: made(trace), app, status: status(trace, Life::Recording), size }
    }

    fn frame(&self) -> TopFrame {
        self.made.frame(&self.app.options)
    }

    fn press(&mut self, code: KeyCode) -> Action {
        let frame = self.frame();
        self.app.key(KeyEvent::new(code, KeyModifiers::NONE), &frame)
    }

    fn type_in(&mut self, text: &str) {
        text.chars().for_each(|char| {
            self.press(KeyCode::Char(char));
        });
    }

    fn screen(&mut self) -> String {
        let frame = self.frame();
        let detail = match self.app.view().clone() {
            View::Detail(subject) => Some(self.made.detail(&self.app.options, &subject)),
            _ => None,
        };
        let look = draw::Looks { colours: false };
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        let (app, detail, status) = (&mut self.app, detail.as_ref(), &self.status);
        let mut screen = draw::Screen { app, frame: &frame, detail, status, look };
        terminal.draw(|to| draw::draw(to, &mut screen)).unwrap();
        let text = terminal.backend().to_string();
        // The backend writes each line within quotes.
        text.lines().map(|line| line.trim_matches('"').trim_end().to_owned() + "\n").collect()
    }

    fn selected(&mut self) -> usize {
        let frame = self.frame();
        self.app.selected(&frame)
    }

    fn first_lock(&self) -> String {
        self.app.lock_rows(&self.frame())[0].lock.name.clone()
    }
}

/// The golden files.
const GOLDEN: [&str; 11] = [
    "help-80.txt",
    "lock-80.txt",
    "lock-trace-120.txt",
    "locks-80.txt",
    "locks-trace-120.txt",
    "locks-trace-ended-80.txt",
    "once-trace.json",
    "once-trace.txt",
    "once.txt",
    "thread-80.txt",
    "threads-80.txt",
];

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/top"))
}

#[test]
fn every_golden_file_belongs_to_a_test() {
    golden_files::check_names(folder(), &GOLDEN);
}

fn compare(name: &str, text: &str) {
    assert!(GOLDEN.contains(&name), "{name} is not among the golden files");
    golden_files::compare(folder(), name, text);
}

#[test]
fn screens_look_as_ever() {
    let mut user = User::new(false, (80, 24));
    compare("locks-80.txt", &user.screen());
    user.press(KeyCode::Char('?'));
    compare("help-80.txt", &user.screen());
    user.press(KeyCode::Esc);
    user.press(KeyCode::Enter);
    compare("lock-80.txt", &user.screen());
    user.press(KeyCode::Esc);
    user.press(KeyCode::Char('t'));
    compare("threads-80.txt", &user.screen());
    user.press(KeyCode::Enter);
    compare("thread-80.txt", &user.screen());
    let mut user = User::new(true, (120, 30));
    compare("locks-trace-120.txt", &user.screen());
    user.press(KeyCode::Enter);
    compare("lock-trace-120.txt", &user.screen());
    let mut user = User::new(true, (80, 10));
    user.status = status(true, Life::Closed);
    compare("locks-trace-ended-80.txt", &user.screen());
}

#[test]
fn no_terminal_is_too_small() {
    for size in [(1, 1), (20, 4), (19, 5), (30, 3), (60, 5), (300, 80)] {
        let mut user = User::new(true, size);
        for keys in ["", "\n", "?", "t", "\n"] {
            keys.chars().for_each(|key| {
                user.press(if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) });
            });
            assert!(user.screen().lines().count() == usize::from(size.1));
        }
    }
}

#[test]
fn a_frame_is_printed() {
    for (trace, name) in [(false, "once.txt"), (true, "once-trace.txt")] {
        let text =
            once::text(&made(trace).frame(&contention()), &status(trace, Life::Recording), 20);
        compare(name, &text);
    }
    let text =
        once::json(&made(true).frame(&contention()), &status(true, Life::Closed), 1).unwrap();
    compare("once-trace.json", &text);
    let all = once::json(&made(true).frame(&contention()), &status(true, Life::Closed), 0).unwrap();
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    let long = |list: &str| all[list].as_array().unwrap().len();
    assert_eq!((long("locks"), long("threads")), (2, 3), "0 is all");
}

#[test]
fn options_without_effect_are_refused() {
    let refused = |line: &str| {
        let line = std::iter::once("top").chain(line.split(' '));
        <crate::usage::CommandLine<TopArgs> as clap::Parser>::try_parse_from(line)
            .map(|line| line.args.top)
            .map_err(|it| it.kind())
    };
    assert_eq!(refused("--once --top 0 a.log").ok(), Some(0));
    assert_eq!(refused("--once --interval 2s a.log").ok(), Some(20));
    assert!(refused("--window 2s a.log").is_ok());
    for line in ["--once --window 2s a.log", "--window=2s --once a.log"] {
        assert_eq!(refused(line), Err(clap::error::ErrorKind::ArgumentConflict), "{line}");
    }
}

/// While a program runs, too little is known of its waits to judge them.
#[test]
fn withheld_waits_are_for_reports() {
    let error = crate::live::kinds("contention,withheld").unwrap_err();
    assert!(error.contains("report"), "{error}");
    assert_eq!(crate::live::kinds("idle"), Ok(Kinds::idle()));
}
