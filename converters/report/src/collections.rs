//! What the JVM's garbage collector took of the time.

use schemars::JsonSchema;
use serde::Serialize;
use tyrion_formats::Recording;
use tyrion_model::{filter::Window, units};

/// The pauses in which the garbage collector had all threads stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Collections {
    /// How many there were.
    pub count: u64,
    /// Their total duration.
    pub pause_ns: u64,
    /// The longest one.
    pub longest_pause_ns: u64,
    /// How many more there were that were not recorded, for lack of room, whatever the filter.
    pub lost: u64,
}

impl Collections {
    /// Those of a log that ended in a window of it; `None` where the log does not have
    /// them: the JVM did not report any, or the agent was an earlier one.
    pub fn of(log: &Recording, window: Window) -> Option<Collections> {
        if log.has_collections() != Some(true) {
            return None;
        }
        let mut all = Collections { lost: log.lost_collections(), ..Collections::default() };
        for pause in log.collections().iter().filter(|pause| window.holds(pause.end_ns)) {
            let pause_ns = pause.end_ns - pause.start_ns;
            all.count += 1;
            all.pause_ns = all.pause_ns.saturating_add(pause_ns);
            all.longest_pause_ns = all.longest_pause_ns.max(pause_ns);
        }
        Some(all)
    }

    /// These and those of another log. Of the files of a recording each one says how
    /// many were lost until then.
    #[must_use]
    pub fn plus(self, other: Collections, is_same_recording: bool) -> Collections {
        let lost = match is_same_recording {
            true => self.lost.max(other.lost),
            false => self.lost.saturating_add(other.lost),
        };
        Collections {
            count: self.count.saturating_add(other.count),
            pause_ns: self.pause_ns.saturating_add(other.pause_ns),
            longest_pause_ns: self.longest_pause_ns.max(other.longest_pause_ns),
            lost,
        }
    }

    /// In few words: `12 took 34 ms, the longest 5.1 ms`.
    pub fn text(&self) -> String {
        let lost = match self.lost {
            0 => String::new(),
            lost => format!("; {} more not recorded", units::thousands(lost)),
        };
        if self.count == 0 {
            return format!("none{lost}");
        }
        format!(
            "{} took {}, the longest {}{lost}",
            units::thousands(self.count),
            units::duration(self.pause_ns),
            units::duration(self.longest_pause_ns),
        )
    }
}
