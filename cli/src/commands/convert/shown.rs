//! What outputs show of a profile, and what of that is missing.

use crate::{files::OutputTarget, filters};
use tyrion_converters::outputs::{By, Format, Metric, OutputOptions};
use tyrion_model::{
    filter::{Filter, States},
    profile::Profile,
    units,
};

/// What of a profile outputs show.
pub(super) struct ProfileParts {
    pub(super) waits: bool,
    pub(super) acquisitions: bool,
    pub(super) blame: bool,
    pub(super) wakes: bool,
    pub(super) samples: bool,
}

impl ProfileParts {
    pub(super) fn of(
        targets: &[(&'static Format, OutputTarget)],
        options: &OutputOptions,
        profile: &Profile,
    ) -> ProfileParts {
        let shows_one = |(format, _): &(&Format, OutputTarget)| format.shows_one_metric();
        let by_waiter = !matches!(options.by, Some(By::Holder | By::Waker));
        let by_waker = options.by == Some(By::Waker);
        if targets.iter().all(|(format, _)| format.shows_times()) {
            return ProfileParts {
                waits: true,
                acquisitions: false,
                blame: false,
                wakes: false,
                samples: false,
            };
        }
        if !targets.iter().all(shows_one) {
            return ProfileParts {
                waits: by_waiter,
                acquisitions: true,
                blame: true,
                wakes: by_waker,
                samples: true,
            };
        }
        let metric = options.metric_of(profile);
        let is_wait = matches!(metric, Metric::Wait | Metric::Contentions);
        ProfileParts {
            waits: is_wait && by_waiter,
            acquisitions: matches!(metric, Metric::Hold | Metric::Acquisitions),
            blame: metric == Metric::Blame || is_wait && options.by == Some(By::Holder),
            wakes: is_wait && by_waker,
            samples: metric.is_sampled(),
        }
    }

    /// Whether a profile has anything that is shown.
    pub(super) fn has_any(&self, profile: &Profile) -> bool {
        self.waits && !profile.waits.is_empty()
            || self.acquisitions && !profile.sections.is_empty()
            || self.blame && !profile.blames.is_empty()
            || self.wakes && !profile.wakes.is_empty()
            || self.samples && !profile.samples.is_empty()
    }

    /// What is shown and of which nothing passed the filters, in words.
    pub(super) fn missing(
        &self,
        profile: &Profile,
        in_log: &InLog,
        filter: &Filter,
    ) -> Vec<String> {
        let mut missing = Vec::new();
        if self.waits && !profile.lacks_waits {
            missing.extend(filters::no_waits(profile, in_log.waits));
        }
        if self.wakes && profile.has_wakers && profile.wakes.is_empty() {
            missing.push("no wait with a known waker passed the filters".to_owned());
        }
        if self.samples && profile.has_samples && profile.samples.is_empty() {
            let more = match filter.states == States::all() {
                true => "",
                false => "; --state all shows idle threads, too",
            };
            missing.push(format!("no samples passed the filters{more}"));
        }
        let has_none = profile.has_acquisitions && profile.sections.is_empty();
        if self.acquisitions && has_none && in_log.acquisitions > 0 {
            missing.push(format!(
                "no acquisitions passed the filters; the log has {}, which are kept by class and \
                 name of the lock, not by lock object",
                units::thousands(in_log.acquisitions)
            ));
        }
        let has_none = profile.has_blame && profile.blames.is_empty();
        if self.blame && !self.acquisitions && has_none {
            missing.push("no wait that was charged to a holder passed the filters".to_owned());
        }
        missing
    }
}

/// How much there is in the logs, whatever the filter.
pub(super) struct InLog {
    pub(super) waits: u64,
    pub(super) acquisitions: u64,
}
