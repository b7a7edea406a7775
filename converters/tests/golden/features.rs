//! Which golden files outputs of sums have: one for each feature of a format, from the
//! smallest profile that shows it.

use tyrion_converters::outputs::{By, Metric, OutputOptions};

/// What a profile or options show of formats.
pub struct Feature {
    /// One of the profiles of the golden files.
    pub profile: &'static str,
    /// What the options are called; nothing if they are the default ones.
    pub variant: &'static str,
    pub options: OutputOptions,
    /// The formats that have a golden file of it.
    pub shown_by: &'static [&'static str],
    /// The formats that the options change, too, but by one line, which another test looks
    /// at, or as the golden files of other options show.
    pub changed: &'static [&'static str],
}

const ALL: &[&str] = &["callgrind", "collapsed", "flamegraph", "otlp", "pprof"];

/// The profiles that are shown without options. Of the larger ones, callgrind has no file a
/// thread, but all in one.
fn profiles() -> Vec<Feature> {
    let merged = OutputOptions { merged: true, ..OutputOptions::default() };
    let plain = |profile, shown_by| Feature {
        profile,
        variant: "",
        options: OutputOptions::default(),
        shown_by,
        changed: &[],
    };
    let in_one_file = |profile| Feature {
        variant: "merged",
        options: merged.clone(),
        ..plain(profile, &["callgrind"])
    };
    vec![
        plain("empty", ALL),
        plain("wakers", ALL),
        plain("sample", &["collapsed", "flamegraph", "otlp"]),
        plain("owners", &["pprof"]),
        plain("bursts", &["otlp", "pprof"]),
        in_one_file("bursts"),
        plain("sampling", &["collapsed", "flamegraph", "otlp", "pprof"]),
        in_one_file("sampling"),
        plain("packages-and-groups", &["collapsed", "pprof"]),
        plain("nasty", &["otlp", "pprof"]),
        in_one_file("nasty"),
        plain("bank", &["collapsed"]),
        in_one_file("bank"),
    ]
}

/// The options that mean something of any profile.
fn of_any_profile() -> Vec<Feature> {
    let plain = OutputOptions::default;
    let wakers = |variant, options, shown_by| Feature {
        profile: "wakers",
        variant,
        options,
        shown_by,
        changed: &[],
    };
    let contentions = OutputOptions { metric: Some(Metric::Contentions), ..plain() };
    vec![
        wakers("no-lock-frame", OutputOptions { lock_frame: false, ..plain() }, ALL),
        wakers(
            "no-thread-label",
            OutputOptions { thread_label: false, ..plain() },
            &["otlp", "pprof"],
        ),
        wakers("contentions", contentions.clone(), &["collapsed", "flamegraph", "pprof"]),
        Feature {
            profile: "nasty",
            changed: &["flamegraph", "pprof"],
            ..wakers("contentions", contentions, &["collapsed"])
        },
        wakers("invert", OutputOptions { invert: true, ..plain() }, &["flamegraph"]),
        wakers("icicle", OutputOptions { icicle: true, ..plain() }, &["flamegraph"]),
        Feature {
            profile: "nasty",
            ..wakers(
                "by-thread",
                OutputOptions { by_thread: true, ..plain() },
                &["collapsed", "flamegraph"],
            )
        },
        Feature {
            profile: "sample",
            ..wakers("max-parts-2", OutputOptions { max_parts: 2, ..plain() }, &["callgrind"])
        },
    ]
}

/// How locks are told apart: those of one class, those with names, and those of two programs.
fn of_identities() -> Vec<Feature> {
    let named = |profile, shown_by, changed| Feature {
        profile,
        variant: "lock-identity",
        options: OutputOptions { lock_identity: true, ..OutputOptions::default() },
        shown_by,
        changed,
    };
    vec![
        named("wakers", &["callgrind", "otlp"], &["collapsed", "flamegraph", "pprof"]),
        named("trace", &["collapsed", "flamegraph", "pprof"], &["callgrind", "otlp"]),
        named("bank", &["collapsed"], &["callgrind", "flamegraph", "otlp", "pprof"]),
        named("nasty", &["collapsed"], &["callgrind", "flamegraph", "otlp", "pprof"]),
    ]
}

/// The options that mean something in logs of trace mode alone.
fn of_trace_mode() -> Vec<Feature> {
    let plain = OutputOptions::default;
    let of = |metric| OutputOptions { metric: Some(metric), ..plain() };
    let trace = |variant, options, changed| Feature {
        profile: "trace",
        variant,
        options,
        shown_by: &["collapsed"],
        changed,
    };
    let by_holder = OutputOptions { by: Some(By::Holder), ..plain() };
    let metric = Some(Metric::Contentions);
    vec![
        Feature {
            profile: "bursts",
            shown_by: &["collapsed", "flamegraph"],
            ..trace("acquisitions", of(Metric::Acquisitions), &["pprof"])
        },
        trace("hold", of(Metric::Hold), &["flamegraph", "pprof"]),
        trace("blame", of(Metric::Blame), &["flamegraph", "pprof"]),
        trace(
            "hold-by-thread",
            OutputOptions { by_thread: true, ..of(Metric::Hold) },
            &["flamegraph", "pprof"],
        ),
        Feature {
            shown_by: &["collapsed", "flamegraph", "otlp", "pprof"],
            ..trace("by-holder", by_holder.clone(), &["callgrind"])
        },
        Feature {
            shown_by: &["callgrind"],
            ..trace(
                "by-holder-merged",
                OutputOptions { merged: true, ..by_holder.clone() },
                &["collapsed", "flamegraph", "otlp", "pprof"],
            )
        },
        trace(
            "contentions-by-holder",
            OutputOptions { metric, ..by_holder },
            &["callgrind", "flamegraph", "otlp", "pprof"],
        ),
    ]
}

/// The options that mean something where it is known who ended waits.
fn of_wakers() -> Vec<Feature> {
    let by_waker = OutputOptions { by: Some(By::Waker), ..OutputOptions::default() };
    let metric = Some(Metric::Contentions);
    let wakers = |variant, options, shown_by, changed| Feature {
        profile: "wakers",
        variant,
        options,
        shown_by,
        changed,
    };
    vec![
        wakers("by-waker", by_waker.clone(), ALL, &[]),
        wakers(
            "contentions-by-waker",
            OutputOptions { metric, ..by_waker },
            &["collapsed"],
            &["callgrind", "flamegraph", "otlp", "pprof"],
        ),
    ]
}

/// The options that mean something where threads were sampled.
fn of_samples() -> Vec<Feature> {
    let plain = OutputOptions::default;
    let of = |metric| OutputOptions { metric: Some(metric), ..plain() };
    let sample = |variant, options, changed| Feature {
        profile: "sample",
        variant,
        options,
        shown_by: &["collapsed"],
        changed,
    };
    let by_state = OutputOptions { by: Some(By::State), ..plain() };
    vec![
        sample("wall", of(Metric::Wall), &["flamegraph", "pprof"]),
        sample("cpu", of(Metric::Cpu), &["flamegraph", "pprof"]),
        sample("blocked", of(Metric::Blocked), &["flamegraph"]),
        Feature {
            shown_by: &["collapsed", "flamegraph"],
            ..sample("by-state", by_state.clone(), &["pprof"])
        },
        Feature { profile: "sampling", ..sample("by-state", by_state.clone(), &["flamegraph"]) },
        Feature {
            profile: "sampling",
            ..sample(
                "by-state-and-thread",
                OutputOptions { by_thread: true, ..by_state },
                &["flamegraph"],
            )
        },
        Feature {
            profile: "sampling",
            ..sample(
                "no-lock-frame",
                OutputOptions { lock_frame: false, ..plain() },
                &["callgrind", "flamegraph", "otlp", "pprof"],
            )
        },
    ]
}

/// All features.
pub fn all() -> Vec<Feature> {
    let of_profiles = [profiles(), of_any_profile(), of_identities()];
    let of_modes = [of_trace_mode(), of_wakers(), of_samples()];
    of_profiles.into_iter().chain(of_modes).flatten().collect()
}
