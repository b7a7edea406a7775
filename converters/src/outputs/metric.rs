//! What outputs measure, whose stack carries it, and which of the two go
//! together.

use tyrion_model::profile::Profile;

tyrion_wire::named_enum! {
    /// What is measured.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Metric {
        /// How long threads waited.
        Wait => "wait",
        /// How often they waited.
        Contentions => "contentions",
        /// How long they held locks.
        Hold => "hold",
        /// How often they acquired them.
        Acquisitions => "acquisitions",
        /// How long others waited for what a thread held.
        Blame => "blame",
        /// How long threads were there, by samples.
        Wall => "wall",
        /// How long they used the CPU there, by samples.
        Cpu => "cpu",
        /// How long they were blocked there, by samples.
        Blocked => "blocked",
        /// How often they were seen there.
        Samples => "samples",
    }
}

/// What has to be recorded for a metric, or for the stacks that carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Waits, which every mode but sampling alone records.
    Waits,
    /// Waits, and who ended them.
    Wakers,
    /// Trace mode.
    Trace,
    /// Samples.
    Samples,
}

impl Metric {
    /// One line for `--help`.
    pub fn about(self) -> &'static str {
        match self {
            Metric::Wait => "How long threads waited",
            Metric::Contentions => "How many times they waited",
            Metric::Hold => "How long they held locks",
            Metric::Acquisitions => "How many times they acquired locks",
            Metric::Blame => "How long others waited for the locks they held",
            Metric::Wall => "Elapsed time, whatever they were doing",
            Metric::Cpu => "CPU time",
            Metric::Blocked => "Elapsed time while they were blocked at locks",
            Metric::Samples => "How many times they were seen there",
        }
    }

    /// What has to be recorded for it.
    pub fn needs(self) -> Needs {
        match self {
            Metric::Wait | Metric::Contentions => Needs::Waits,
            Metric::Hold | Metric::Acquisitions | Metric::Blame => Needs::Trace,
            Metric::Wall | Metric::Cpu | Metric::Blocked | Metric::Samples => Needs::Samples,
        }
    }

    /// Whether it comes from samples.
    pub fn is_sampled(self) -> bool {
        self.needs() == Needs::Samples
    }

    /// Whose stacks may carry it.
    pub fn carriers(self) -> &'static [By] {
        match self {
            Metric::Wait | Metric::Contentions => &[By::Waiter, By::Holder, By::Waker],
            Metric::Hold | Metric::Acquisitions | Metric::Blame => &[By::Holder],
            Metric::Wall | Metric::Cpu | Metric::Blocked | Metric::Samples => &[By::State],
        }
    }
}

tyrion_wire::named_enum! {
    /// Whose stack carries what is measured.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum By {
        /// That of the thread that waited, as in Go's block profile.
        Waiter => "waiter",
        /// That of the thread that held what others waited for, as in Go's mutex
        /// profile: blame stands for the waits.
        Holder => "holder",
        /// That of the thread that ended the wait, when it did.
        Waker => "waker",
        /// That of the sampled thread, below the state that it was in.
        State => "state",
    }
}

impl By {
    /// One line for `--help`.
    pub fn about(self) -> &'static str {
        match self {
            By::Waiter => "The thread that waited, as in Go's block profile",
            By::Holder => "The thread that held the lock, as in Go's mutex profile",
            By::Waker => "The thread that ended the wait: by unpark, signal or notify",
            By::State => "The sampled thread, below a frame for its state",
        }
    }

    /// What has to be recorded for it.
    pub fn needs(self) -> Needs {
        match self {
            By::Waiter => Needs::Waits,
            By::Holder => Needs::Trace,
            By::Waker => Needs::Wakers,
            By::State => Needs::Samples,
        }
    }

    /// The metric that is shown by it if none is named.
    pub fn metric(self) -> Metric {
        match self {
            By::Waiter | By::Holder | By::Waker => Metric::Wait,
            By::State => Metric::Wall,
        }
    }
}

/// Whether a metric can be shown by these stacks; what is not named is open.
pub fn go_together(metric: Option<Metric>, by: Option<By>) -> bool {
    match (metric, by) {
        (Some(metric), Some(by)) => metric.carriers().contains(&by),
        _ => true,
    }
}

/// The metric that is shown of a profile: the one that is named, or the one that
/// belongs to `by`, or waits, or elapsed time where nothing but samples was
/// recorded.
pub(super) fn shown(metric: Option<Metric>, by: Option<By>, profile: &Profile) -> Metric {
    let sampled = if profile.lacks_sample_times { Metric::Samples } else { Metric::Wall };
    let of_profile = if profile.lacks_waits { sampled } else { Metric::Wait };
    let of_by = by.map(|by| if by == By::State { sampled } else { by.metric() });
    metric.or(of_by).unwrap_or(of_profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_by_default_goes_together() {
        for by in By::ALL {
            assert!(go_together(Some(by.metric()), Some(by)), "{by:?}");
        }
        for metric in Metric::ALL {
            assert!(go_together(Some(metric), None));
            // Whatever carries a metric is recorded where the metric is, but that
            // only trace mode knows who held a lock, and who ended a wait is an option.
            for by in metric.carriers() {
                let needs_more = matches!(by, By::Holder | By::Waker);
                assert!(by.needs() == metric.needs() || needs_more, "{metric:?} {by:?}");
            }
        }
    }
}
