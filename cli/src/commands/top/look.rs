//! Looks at a recording, time after time: the sums of the window, and who
//! waits now.

use super::{
    draw::{Coverage, Status},
    frame::{Detail, DetailSubject, FrameSource, TopFrame, ViewOptions, detail, frame, learn},
    model::{Window, WindowSums},
};
use crate::{
    live::{
        FileNumber,
        feed::{Feed, Life},
        telling::TellingClasses,
    },
    logs::{LogFiles, now_ns},
    outcome::Failure,
};
use std::{path::Path, rc::Rc};
use tyrion_formats::{Begin, Damage, Recording};
use tyrion_report::OwnCpu;
use tyrion_wire::slot::Pending;

/// A recording that is looked at.
pub struct LiveView {
    feed: Feed,
    window: Window,
    /// As of the last look that is shown.
    sums: WindowSums,
    pending: Vec<Pending>,
    telling: TellingClasses,
    /// When the file began that was opened first.
    start_ns: u64,
    trace: bool,
}

impl LiveView {
    /// Opens a log and looks for the first time: at the last `history_ns`, or,
    /// if it has ended, at all of it. The window is to become `window_ns` long; where that
    /// is `None`, and nothing is recorded, all of the log is looked at, too.
    ///
    /// # Errors
    /// When it is no log, or cannot be read.
    pub fn open(
        files: Rc<dyn LogFiles>,
        path: &Path,
        history_ns: u64,
        window_ns: Option<u64>,
    ) -> Result<LiveView, Failure> {
        let now_ns = now_ns();
        let since_ns = now_ns.saturating_sub(history_ns);
        let is_whole = |life: Life| life.has_ended() || window_ns.is_none() && life == Life::Paused;
        let begin = |life: Life| if is_whole(life) { Begin::Start } else { Begin::At(since_ns) };
        let feed = Feed::open("top", files, path, begin)?;
        let start_ns = feed.log().map_or(0, |log| log.start_ns());
        let window = if is_whole(feed.life()) {
            Window::whole(start_ns, start_ns)
        } else {
            let window_ns = window_ns.unwrap_or(history_ns);
            Window::last(window_ns, start_ns.max(since_ns), now_ns)
        };
        let (sums, pending, telling) = Default::default();
        let mut look = LiveView { feed, window, sums, pending, telling, start_ns, trace: false };
        look.read()?;
        look.show();
        Ok(look)
    }

    /// Reads what is new.
    ///
    /// # Errors
    /// When the log cannot be read any more.
    pub fn read(&mut self) -> Result<(), Failure> {
        self.feed.read_on(now_ns(), &mut self.window)?;
        // Now that pending waits were read: they began before. What has ended
        // has done so before we saw it.
        let ended = self.life().has_ended();
        self.window.advance(if ended { self.feed.last_ns() } else { now_ns() });
        if self.window.length_ns().is_none() {
            self.window.end(self.feed.last_ns());
        }
        // Only trace mode has holders that are charged, and acquisitions.
        self.trace = self.feed.log().is_some_and(|log| log.is_trace());
        Ok(())
    }

    /// Takes what was read to be what is shown.
    pub fn show(&mut self) {
        self.sums = self.window.sums();
        if self.window.length_ns().is_none() {
            self.sums.paused_ns = self.paused_ns();
        }
        self.pending = self.feed.pending().to_vec();
        learn(&mut self.telling, &self.sums, &self.feed.logs(), &self.pending);
        self.feed.forget_before(self.sums.from_ns);
    }

    /// How long of what is shown nothing was recorded.
    fn paused_ns(&self) -> u64 {
        let (from_ns, to_ns) = (self.sums.from_ns, self.sums.to_ns);
        let recorded = self.feed.logs().into_iter().flat_map(|(_, log)| log.recorded());
        let within =
            recorded.map(|part| part.end.min(to_ns).saturating_sub(part.start.max(from_ns)));
        to_ns.saturating_sub(from_ns).saturating_sub(within.fold(0, u64::saturating_add))
    }

    /// Another length of the window.
    pub fn set_window(&mut self, window_ns: u64) {
        self.window.set_length(window_ns);
    }

    /// How long the window shall be; `None` if all of the recording is shown.
    pub fn window_ns(&self) -> Option<u64> {
        self.window.length_ns()
    }

    /// What has become of the recording.
    pub fn life(&self) -> Life {
        self.feed.life()
    }

    /// Whether it was recorded in trace mode.
    pub fn is_trace(&self) -> bool {
        self.trace
    }

    /// What was found damaged.
    pub fn damage(&self) -> Vec<Damage> {
        self.feed.damage()
    }

    /// What was seen at the last look.
    pub fn frame(&self, options: &ViewOptions) -> TopFrame {
        frame(self.seen(&self.feed.logs()), options)
    }

    /// The stacks of a lock or thread at the last look.
    pub fn detail(&self, options: &ViewOptions, subject: &DetailSubject) -> Detail {
        detail(self.seen(&self.feed.logs()), options, subject)
    }

    fn seen<'a>(&'a self, logs: &'a [(FileNumber, &'a Recording)]) -> FrameSource<'a> {
        FrameSource { sums: &self.sums, logs, pending: &self.pending, telling: &self.telling }
    }

    /// What is known of the recording.
    pub fn status(&self) -> Status {
        let header = self.feed.log().map(|log| log.facts());
        let program = header.and_then(|header| header.metadata("program"));
        Status {
            log: self.feed.path().display().to_string(),
            program: program.unwrap_or_default().to_owned(),
            pid: header.map_or(0, |header| header.pid),
            life: self.life(),
            elapsed_ns: self.sums.to_ns.saturating_sub(self.start_ns),
            span: self.shown(),
            trace: self.trace,
            mode: self.mode(),
            own_cpu: self.feed.log().and_then(|log| {
                let statistics = log.statistics();
                OwnCpu::read(|key| statistics.get(key).copied())
            }),
            note: self.note(),
        }
    }

    /// A log that does not say was recorded in contention mode.
    fn mode(&self) -> String {
        let log = self.feed.log();
        let modes = log.map(|log| log.modes().collect::<Vec<&str>>().join("+")).unwrap_or_default();
        match (modes.is_empty(), self.trace) {
            (false, _) => modes,
            (true, true) => "trace".to_owned(),
            (true, false) => "contention".to_owned(),
        }
    }

    fn shown(&self) -> Coverage {
        match self.window.length_ns() {
            Some(_) => Coverage::Window,
            None if self.feed.has_others() => Coverage::File,
            None => Coverage::Recording,
        }
    }

    fn note(&self) -> Option<String> {
        if self.mode() == "sample" {
            return Some(
                "Locks were not recorded (mode=sample); tyrion report shows the samples".into(),
            );
        }
        let shown = match self.shown() {
            Coverage::Recording => "this is its recording",
            Coverage::File => "its recording has more files",
            Coverage::Window => "this is its last window",
        };
        let why = match self.life() {
            Life::Recording => return None,
            Life::Paused if self.shown() == Coverage::Window => {
                return Some("Recording is paused; tyrion attach resumes it".to_owned());
            }
            Life::Paused => "Recording is paused",
            // Its successor may well be written to.
            Life::Closed if self.shown() == Coverage::File => "The file has ended",
            Life::Closed => "The JVM has ended",
            Life::Broken => "The log could no longer be written",
            Life::Killed => "The JVM was killed",
        };
        Some(format!("{why}; {shown}   Enter stacks  t threads  q quit"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use tyrion_formats::write::{LogOptions, LogWriter};

    #[test]
    fn the_mode_is_that_of_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        for (mode, lacks_locks) in
            [("sample", true), ("contention+sample", false), ("contention", false)]
        {
            let mut options = LogOptions::default();
            options.header.metadata = vec![("mode".to_owned(), mode.to_owned())];
            let file = std::fs::File::create(&path).unwrap();
            LogWriter::new(file, options).unwrap().finish().unwrap();
            let status =
                LiveView::open(Rc::new(crate::logs::Here), &path, 0, Some(1)).unwrap().status();
            assert_eq!((status.mode.as_str(), status.lacks_locks()), (mode, lacks_locks));
            let told = status.note.is_some_and(|note| note.contains("not recorded"));
            assert_eq!(told, lacks_locks, "{mode}");
        }
    }
}
