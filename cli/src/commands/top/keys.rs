//! What keys do: which view there is, what sorts it, what is selected.

use super::{
    columns::{LOCKS, THREADS},
    frame::{DetailSubject, ThreadRow, TopFrame, TopLock, ViewOptions},
};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use regex::{Regex, RegexBuilder};
use tyrion_model::filter::Kinds;

/// The shortest and the longest window that keys make.
const SHORTEST_NS: u64 = 1_000_000_000;
const LONGEST_NS: u64 = 600_000_000_000;

/// What the screen shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    Locks,
    Threads,
    /// Stacks of a lock or a thread.
    Detail(DetailSubject),
}

/// What is to be done after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Draw once more.
    Draw,
    /// Make the frame once more, from the same sums.
    Remake,
    /// Another length of the window, in ns.
    Window(u64),
    /// Stop until the shell goes on.
    Suspend,
    Quit,
}

/// A list: by which column it is sorted, and what is selected.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The column that sorts.
    pub sort: usize,
    /// The row that is selected, and its place when it was seen last.
    selected: Option<DetailSubject>,
    place: usize,
}

/// What the user has asked for.
pub struct App {
    view: View,
    pub locks: List,
    pub threads: List,
    /// The list that a detail was opened from.
    from_threads: bool,
    /// How far a detail is scrolled, in lines.
    pub scroll: usize,
    filter: String,
    regex: Option<Regex>,
    /// The filter is being typed.
    pub editing: bool,
    pub frozen: bool,
    pub help: bool,
    pub options: ViewOptions,
    /// The kinds that the user began with.
    kinds: Kinds,
    /// `None` if all of a recording is shown.
    window_ns: Option<u64>,
    /// Whether there are columns of trace mode.
    pub trace: bool,
    /// Rows of a page.
    pub page: usize,
}

impl App {
    pub fn new(options: ViewOptions, window_ns: Option<u64>, trace: bool) -> App {
        App {
            view: View::Locks,
            locks: List::default(),
            threads: List::default(),
            from_threads: false,
            scroll: 0,
            filter: String::new(),
            regex: None,
            editing: false,
            frozen: false,
            help: false,
            kinds: options.kinds,
            options,
            window_ns,
            trace,
            page: 10,
        }
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether more kinds are shown than the user began with.
    pub fn shows_all_kinds(&self) -> bool {
        self.options.kinds == Kinds::all()
    }

    /// The rows of the view, sorted and filtered.
    pub fn lock_rows<'a>(&self, frame: &'a TopFrame) -> Vec<&'a TopLock> {
        let wanted = |row: &&TopLock| self.regex.as_ref().is_none_or(|regex| row.matches(regex));
        let mut rows: Vec<&TopLock> = frame.locks.iter().filter(wanted).collect();
        // Stable: what is equal stays in the order of the frame.
        rows.sort_by(|a, b| (LOCKS[self.locks.sort].order)(a, b));
        rows
    }

    /// As [`App::lock_rows`].
    pub fn thread_rows<'a>(&self, frame: &'a TopFrame) -> Vec<&'a ThreadRow> {
        let wanted = |row: &&ThreadRow| self.regex.as_ref().is_none_or(|regex| row.matches(regex));
        let mut rows: Vec<&ThreadRow> = frame.threads.iter().filter(wanted).collect();
        rows.sort_by(|a, b| (THREADS[self.threads.sort].order)(a, b));
        rows
    }

    fn subjects(&self, frame: &TopFrame) -> Vec<DetailSubject> {
        match self.view {
            View::Threads => self.thread_rows(frame).into_iter().map(|row| row.subject()).collect(),
            _ => self.lock_rows(frame).into_iter().map(|row| row.subject(&self.options)).collect(),
        }
    }

    fn list(&mut self) -> &mut List {
        match self.view {
            View::Threads => &mut self.threads,
            _ => &mut self.locks,
        }
    }

    /// Which row is selected. The selection stays with its row as long as that
    /// is there, and then with the place.
    pub fn selected(&mut self, frame: &TopFrame) -> usize {
        let subjects = self.subjects(frame);
        let list = self.list();
        let known = list.selected.as_ref();
        let found = known.and_then(|known| subjects.iter().position(|other| other == known));
        list.place = found.unwrap_or(list.place).min(subjects.len().saturating_sub(1));
        list.place
    }

    fn select(&mut self, frame: &TopFrame, place: usize) {
        let subjects = self.subjects(frame);
        let place = place.min(subjects.len().saturating_sub(1));
        let list = self.list();
        list.place = place;
        // The first row is a place, not a lock: who has moved nothing wants
        // to see the hottest.
        list.selected = if place == 0 { None } else { subjects.into_iter().nth(place) };
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, frame: &TopFrame) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Draw;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Action::Quit,
                KeyCode::Char('z') => Action::Suspend,
                _ => Action::Draw,
            };
        }
        if self.editing {
            return self.edit(key.code);
        }
        if self.help {
            self.help = false;
            return if key.code == KeyCode::Char('q') { Action::Quit } else { Action::Draw };
        }
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Char(' ') => {
                self.frozen = !self.frozen;
                return Action::Remake;
            }
            KeyCode::Char('/') => {
                self.leave_detail();
                self.editing = true;
            }
            KeyCode::Char('t') => {
                self.view = if self.view == View::Threads { View::Locks } else { View::Threads };
            }
            KeyCode::Char('a') => {
                let all = self.shows_all_kinds();
                let fewer =
                    if self.kinds == Kinds::all() { Kinds::contention() } else { self.kinds };
                self.options.kinds = if all { fewer } else { Kinds::all() };
                return Action::Remake;
            }
            KeyCode::Char('i') => {
                self.options.instances = !self.options.instances;
                self.leave_detail();
                return Action::Remake;
            }
            KeyCode::Char('+' | '=') => return self.window(|ns| ns * 2),
            KeyCode::Char('-') => return self.window(|ns| ns / 2),
            code => return self.move_in_view(code, frame),
        }
        Action::Draw
    }

    fn window(&mut self, change: impl Fn(u64) -> u64) -> Action {
        match &mut self.window_ns {
            Some(window_ns) => {
                *window_ns = change(*window_ns).clamp(SHORTEST_NS, LONGEST_NS);
                Action::Window(*window_ns)
            }
            None => Action::Draw,
        }
    }

    fn move_in_view(&mut self, code: KeyCode, frame: &TopFrame) -> Action {
        if let View::Detail(_) = self.view {
            return self.scroll_detail(code);
        }
        let place = self.selected(frame);
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.select(frame, place.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select(frame, place + 1),
            KeyCode::PageUp => self.select(frame, place.saturating_sub(self.page)),
            KeyCode::PageDown => self.select(frame, place + self.page),
            KeyCode::Home | KeyCode::Char('g') => self.select(frame, 0),
            KeyCode::End | KeyCode::Char('G') => self.select(frame, usize::MAX),
            KeyCode::Right | KeyCode::Char('s') => self.sort(1),
            KeyCode::Left | KeyCode::Char('S') => self.sort(usize::MAX),
            KeyCode::Enter => {
                if let Some(subject) = self.subjects(frame).into_iter().nth(place) {
                    self.from_threads = self.view == View::Threads;
                    self.view = View::Detail(subject);
                    self.scroll = 0;
                    return Action::Remake;
                }
            }
            KeyCode::Esc => self.set_filter(String::new()),
            _ => {}
        }
        Action::Draw
    }

    /// Has the next column sort that there is; `usize::MAX` steps are one back.
    fn sort(&mut self, steps: usize) {
        let trace = self.trace;
        let of_threads = self.view == View::Threads;
        let columns = if of_threads { THREADS.len() } else { LOCKS.len() };
        let is_there = |nth: usize| {
            let (of_trace, is_rare) = match of_threads {
                true => (THREADS[nth].of_trace, THREADS[nth].is_rare),
                false => (LOCKS[nth].of_trace, LOCKS[nth].is_rare),
            };
            (trace || !of_trace) && !is_rare
        };
        let list = self.list();
        loop {
            list.sort = match steps {
                usize::MAX => list.sort.checked_sub(1).unwrap_or(columns - 1),
                _ => (list.sort + 1) % columns,
            };
            if is_there(list.sort) {
                return;
            }
        }
    }

    fn scroll_detail(&mut self, code: KeyCode) -> Action {
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll = self.scroll.saturating_add(1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.page),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_add(self.page),
            KeyCode::Home | KeyCode::Char('g') => self.scroll = 0,
            KeyCode::End | KeyCode::Char('G') => self.scroll = usize::MAX,
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => self.leave_detail(),
            _ => {}
        }
        Action::Draw
    }

    fn leave_detail(&mut self) {
        if let View::Detail(_) = self.view {
            self.view = if self.from_threads { View::Threads } else { View::Locks };
        }
    }

    fn edit(&mut self, code: KeyCode) -> Action {
        match code {
            KeyCode::Enter => self.editing = false,
            KeyCode::Esc => {
                self.editing = false;
                self.set_filter(String::new());
            }
            KeyCode::Backspace => {
                let mut filter = std::mem::take(&mut self.filter);
                filter.pop();
                self.set_filter(filter);
            }
            KeyCode::Char(char) => {
                let filter = std::mem::take(&mut self.filter) + char.encode_utf8(&mut [0; 4]);
                self.set_filter(filter);
            }
            _ => {}
        }
        Action::Draw
    }

    /// What is no regular expression, as yet, is a text. Case does not matter.
    fn set_filter(&mut self, filter: String) {
        let build = |pattern: &str| RegexBuilder::new(pattern).case_insensitive(true).build().ok();
        let regex = || build(&filter).or_else(|| build(&regex::escape(&filter)));
        self.regex = if filter.is_empty() { None } else { regex() };
        self.filter = filter;
    }
}
