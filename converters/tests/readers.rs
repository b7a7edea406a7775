//! The outputs in the programs they are for. Where one is not installed its test
//! says so and passes, but not if `CI` is set: there all of them must run.

use crate::support::{of_sums, profiles, stream_of};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;
use tyrion_converters::outputs::{By, Metric, OutputOptions, by_name};
use tyrion_model::profile::{Profile, State};

/// What a program prints, or nothing if there is no such program here.
fn run(command: &mut Command) -> Option<String> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            let program = command.get_program().to_string_lossy();
            let in_ci = std::env::var_os("CI").is_some_and(|ci| ci != "false");
            assert!(!in_ci, "{program}: {error}");
            eprintln!("{program}: {error}: not tested");
            return None;
        }
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{printed}\n{errors}");
    assert!(!errors.contains("WARNING"), "{command:?}:\n{errors}");
    Some(printed)
}

/// The profile in every format, in files of the default names, and merged for
/// `callgrind_annotate`.
fn converted(profile: &Profile) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for format in of_sums() {
        let path = folder.path().join(format.default_file);
        match format.files {
            Some(files) => {
                files(profile, &OutputOptions::default(), &path).unwrap();
            }
            None => stream(profile, format.name, &path),
        }
    }
    stream(profile, "callgrind", &folder.path().join("merged.callgrind"));
    folder
}

fn stream(profile: &Profile, format: &str, path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    stream_of(by_name(format).unwrap())(profile, &OutputOptions::default(), &mut file).unwrap();
}

/// `1234567` as `callgrind_annotate` writes it, `1,234,567`.
fn with_commas(number: u64) -> String {
    tyrion_model::units::thousands(number)
}

#[test]
fn callgrind_annotate_reads_parts_and_merged_files() {
    let in_bursts = ("bursts", profiles::traced::in_bursts());
    for (name, profile) in profiles::all().into_iter().chain([in_bursts]) {
        let folder = converted(&profile);
        let (count, wait_ns) = profile.totals();
        let mut sum_ns = 0;
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            let is_part = file.starts_with("out.callgrind.");
            if !is_part && file != "merged.callgrind" {
                continue;
            }
            let mut annotate = Command::new("callgrind_annotate");
            let Some(text) = run(annotate.arg("--inclusive=yes").arg("--threshold=100").arg(&path))
            else {
                return;
            };
            let totals = text.lines().find(|line| line.contains("PROGRAM TOTALS")).unwrap();
            if !is_part && count > 0 {
                let totals = totals.replace(' ', "");
                assert!(totals.starts_with(&with_commas(wait_ns)), "{name}: {totals}");
                assert!(totals.contains(&format!("){}(", with_commas(count))), "{name}: {totals}");
            }
            let first = totals.split_whitespace().next().unwrap().replace(',', "");
            sum_ns += if is_part { first.parse().unwrap_or(0) } else { 0 };
        }
        assert_eq!(sum_ns, wait_ns, "{name}");
    }
}

#[test]
fn callgrind_annotate_counts_recursion_once() {
    let folder = converted(&profiles::bank());
    let mut annotate = Command::new("callgrind_annotate");
    annotate
        .args(["--inclusive=yes", "--threshold=100"])
        .arg(folder.path().join("merged.callgrind"));
    let Some(text) = run(&mut annotate) else { return };
    let cost = |function: &str| {
        let line =
            text.lines().find(|line| line.contains(&format!("{function} ["))).expect(function);
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(cost("com.acme.bank.Branch::sum()"), "32,100");
    assert_eq!(cost("com.acme.bank.Branch::sum()'2"), "32,000");
    assert_eq!(cost("com.acme.bank.Branch::sum()'3"), "30,000");
    assert_eq!(cost("com.acme.bank.Ledger::[monitor]"), "18,000,032,106");
    assert_eq!(cost("[audit]"), "32,100");
    assert_eq!(cost("java.lang.Thread::run()"), "18,316,544,451");
}

/// `go tool pprof` with these arguments on a profile.
fn pprof(folder: &TempDir, arguments: &[&str]) -> Option<String> {
    let mut go = Command::new("go");
    go.args(["tool", "pprof"]).args(arguments).arg(folder.path().join("locks.pb.gz"));
    run(go.env("PPROF_TMPDIR", folder.path()))
}

#[test]
fn pprof_shows_the_errors_of_estimates() {
    let folder = converted(&profiles::traced::in_bursts());
    let arguments = ["-top", "-sample_index=acquisitions_error"];
    let Some(top) = pprof(&folder, &arguments) else { return };
    assert!(top.contains("1501, 100% of 1501 total"), "{top}");
    let Some(comments) = pprof(&folder, &["-comments"]) else { return };
    assert!(comments.contains("standard error at most 1,501 (1.5 %) in all"), "{comments}");
}

#[test]
fn pprof_reads_stacks_and_labels() {
    for (name, profile) in profiles::all() {
        let folder = converted(&profile);
        let Some(raw) = pprof(&folder, &["-raw"]) else { return };
        assert!(raw.contains("contentions/count delay/nanoseconds[dflt]"), "{name}:\n{raw}");
        let columns = if profile.has_acquisitions { 6 } else { 2 };
        let samples = raw.lines().filter_map(|line| line.split_once(": "));
        let sums = samples.fold((0, 0), |sums, (values, _)| {
            let values: Vec<u64> =
                values.split_whitespace().map_while(|v| v.parse().ok()).collect();
            match values[..] {
                [count, wait_ns, ..] if values.len() == columns => {
                    (sums.0 + count, sums.1 + wait_ns)
                }
                _ => sums,
            }
        });
        assert_eq!(sums, profile.totals(), "{name}:\n{raw}");
    }
    let folder = converted(&profiles::bank());
    let Some(top) = pprof(&folder, &["-top", "-nodefraction=0", "-unit=ns"]) else { return };
    assert!(top.contains("18000032106ns"), "{top}");
    assert!(top.contains("com.acme.bank.Ledger [monitor]"), "{top}");
    let Some(tags) = pprof(&folder, &["-tags"]) else { return };
    for value in ["teller-3", "com.acme.bank.Ledger#1", "monitor"] {
        assert!(tags.contains(&format!("): {value}\n")), "{tags}");
    }
    let Some(focused) = pprof(&folder, &["-top", "-contentions", "-tagfocus=thread=audit"]) else {
        return;
    };
    assert!(focused.contains("Showing nodes accounting for 3, "), "{focused}");
}

/// The labels are roots and filters, and nothing is cut from what locks are called.
#[test]
fn pprof_finds_locks_and_owners_by_label() {
    let folder = converted(&profiles::bank());
    let Some(top) = pprof(&folder, &["-top", "-nodefraction=0", "-tagroot=lock"]) else {
        return;
    };
    for lock in [" com.acme.bank.Ledger#1", " com.acme.bank.Account#2"] {
        assert!(top.contains(lock), "{lock}: {top}");
    }
    let Some(focused) = pprof(&folder, &["-top", "-unit=ns", "-tagfocus=lock=Account"]) else {
        return;
    };
    assert!(focused.contains("Showing nodes accounting for 300000000ns, "), "{focused}");

    let profile = profiles::with_owners();
    let folder = converted(&profile);
    for (at, owner) in (0..).zip(&profile.owners) {
        let waits = profile.waits.iter().filter(|wait| wait.owner == at);
        let wait_ns: u64 = waits.map(|wait| wait.wait_ns).sum();
        let focus = format!("-tagfocus=owner_thread=^{}$", owner.label());
        let arguments = ["-top", "-nodefraction=0", "-unit=ns", "-total_delay", &focus];
        let Some(top) = pprof(&folder, &arguments) else { return };
        assert!(top.contains(&format!("Showing nodes accounting for {wait_ns}ns, ")), "{top}");
    }
}

#[test]
fn pprof_shows_what_trace_mode_recorded() {
    let folder = converted(&profiles::traced::profile());
    for (kind, expected) in [
        ("acquisitions", &["10023", " Cache.map [monitor]", "Cache.warm"][..]),
        ("reentrant", &["8", " java.lang.Object [monitor]", "Cache.refresh"]),
        ("hold", &["2760700ns", " Cache.turn [lock]"]),
        ("blamed", &["114000ns", "Cache.put", "Cache.get"]),
        ("delay", &["117000ns"]),
    ] {
        let index = format!("-sample_index={kind}");
        let arguments = ["-top", "-nodefraction=0", "-unit=ns", &index];
        let Some(top) = pprof(&folder, &arguments) else { return };
        for text in expected {
            assert!(top.contains(text), "{kind} {text}:\n{top}");
        }
    }
    let Some(peek) = pprof(&folder, &["-peek=Cache.map", "-sample_index=acquisitions"]) else {
        return;
    };
    assert!(peek.contains("|   com.acme.Cache.get"), "the method at the place calls it: {peek}");
    let Some(traces) = pprof(&folder, &["-traces", "-sample_index=hold", "-unit=ns"]) else {
        return;
    };
    assert!(traces.contains("java.lang.Thread.run"), "{traces}");
    assert!(!traces.contains("ReentrantLock.lock\n   java.lang"), "{traces}");
}

#[test]
fn pprof_shows_what_was_sampled() {
    for (name, profile) in profiles::with_samples() {
        let folder = converted(&profile);
        let (_, wall_ns, cpu_ns) = profile.sample_totals();
        for (index, sum_ns) in [("wall", wall_ns), ("cpu", cpu_ns)] {
            let index = format!("-sample_index={index}");
            let arguments = ["-top", "-nodefraction=0", "-unit=ns", &index];
            let Some(top) = pprof(&folder, &arguments) else { return };
            assert!(top.contains(&format!(" {sum_ns}ns total")), "{name}: {top}");
        }
    }
    let folder = converted(&profiles::sampling());
    let Some(raw) = pprof(&folder, &["-raw"]) else { return };
    assert!(raw.contains("wall/nanoseconds[dflt] cpu/nanoseconds\n"), "{raw}");
    let Some(tags) = pprof(&folder, &["-tags"]) else { return };
    for value in ["blocked", "running", "idle", "GET /orders (new)", "com.acme.Stock#3"] {
        assert!(tags.contains(&format!("): {value}\n")), "{tags}");
    }
    let arguments = ["-top", "-nodefraction=0", "-unit=ns", "-tagfocus=state=blocked"];
    let Some(top) = pprof(&folder, &arguments) else { return };
    assert!(top.contains("nodes accounting for 650000000ns"), "{top}");
    assert!(top.contains("com.acme.Stock [monitor]"), "{top}");
    let Some(peek) = pprof(&folder, &["-peek=java.lang.Thread.run", "-unit=ns"]) else { return };
    assert!(peek.contains("|   GET /orders (new)\n"), "the group calls it: {peek}");
}

#[test]
fn callgrind_annotate_shows_what_was_sampled() {
    for (name, profile) in profiles::with_samples() {
        let folder = converted(&profile);
        let mut annotate = Command::new("callgrind_annotate");
        annotate
            .args(["--inclusive=yes", "--threshold=100", "--show=Wall_ns,Cpu_ns,Blocked_ns"])
            .args(["--sort=Wall_ns", "--show-percs=no"])
            .arg(folder.path().join("merged.callgrind"));
        let Some(text) = run(&mut annotate) else { return };
        let costs = |function: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.contains(function)).expect(function);
            line.split_whitespace().take(3).map(str::to_owned).collect()
        };
        let (_, wall_ns, cpu_ns) = profile.sample_totals();
        let blocked = profile.samples.iter().filter(|row| row.state == State::Blocked);
        let blocked_ns = blocked.map(|row| row.wall_ns).sum();
        assert_eq!(costs("PROGRAM TOTALS"), [wall_ns, cpu_ns, blocked_ns].map(with_commas));
        if name == "sampling" {
            let stock = ["600,000,000", "0", "600,000,000"];
            assert_eq!(costs("com.acme.Stock::[monitor]"), stock);
            assert_eq!(costs("com.acme.Shop::price(int)"), ["3,000,000,000", "2,970,000,000", "0"]);
        }
    }
}

#[test]
fn flame_graphs_by_state_can_be_searched() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("states.svg");
    let options = OutputOptions { by: Some(By::State), ..OutputOptions::default() };
    let mut file = fs::File::create(&svg).unwrap();
    let format = by_name("flamegraph").unwrap();
    stream_of(format)(&profiles::sampling(), &options, &mut file).unwrap();
    let Some(dom) = browse(&svg, "s=%5C%5Brunning%5C%5D") else { return };
    assert!(dom.contains(">Wall time, sampled by state: "), "{dom}");
    assert!(dom.contains(">Matched: 34.4%<"), "{dom}");
}

#[test]
fn callgrind_annotate_shows_what_trace_mode_recorded() {
    let folder = converted(&profiles::traced::profile());
    let mut annotate = Command::new("callgrind_annotate");
    annotate
        .args(["--inclusive=yes", "--threshold=100", "--show=Acquisitions,Hold_ns,Blamed_ns"])
        .args(["--sort=Acquisitions", "--show-percs=no"])
        .arg(folder.path().join("merged.callgrind"));
    let Some(text) = run(&mut annotate) else { return };
    let costs = |function: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.contains(function)).expect(function);
        line.split_whitespace().take(3).map(str::to_owned).collect()
    };
    assert_eq!(costs("PROGRAM TOTALS"), ["10,023", "2,760,700", "114,000"]);
    assert_eq!(costs("java.lang.Object::[monitor Cache.map]"), ["10,006", "2,256,500", "100,000"]);
    assert_eq!(costs("com.acme.Cache::warm()"), ["6,667", "225,050", "0"]);
}

#[test]
fn pprof_annotates_sources() {
    let folder = converted(&profiles::bank());
    let sources = folder.path().join("src/com/acme/bank");
    fs::create_dir_all(&sources).unwrap();
    let text: String = (1..60).map(|line| format!("text of line {line}\n")).collect();
    fs::write(sources.join("Ledger.java"), text).unwrap();
    let source_path = format!("-source_path={}", folder.path().join("src").display());
    let Some(list) = pprof(&folder, &["-list=Ledger.transfer", &source_path]) else { return };
    assert!(list.contains("18s     42:text of line 42"), "{list}");
    assert!(list.contains("300ms     47:text of line 47"), "{list}");
}

/// The document after Chromium has run its scripts.
fn browse(svg: &Path, query: &str) -> Option<String> {
    let home = tempfile::tempdir().unwrap();
    let mut chromium = Command::new("chromium");
    chromium
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}?{query}", svg.display()));
    run(&mut chromium)
}

fn flame_graph(profile: &Profile) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("waits.svg");
    stream(profile, "flamegraph", &svg);
    (folder, svg)
}

#[test]
fn flame_graphs_can_be_searched() {
    let (_folder, svg) = flame_graph(&profiles::bank());
    let Some(dom) = browse(&svg, "s=Account%20%5C%5Bmonitor%5C%5D") else { return };
    assert!(dom.contains(">Matched: 1.6%<"), "{dom}");
    assert!(dom.contains(">com.acme.bank.Ledger.transfer<"), "frames have their names: {dom}");
}

#[test]
fn flame_graphs_of_holds_can_be_searched() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("holds.svg");
    let options = OutputOptions { metric: Some(Metric::Hold), ..OutputOptions::default() };
    let mut file = fs::File::create(&svg).unwrap();
    let format = by_name("flamegraph").unwrap();
    stream_of(format)(&profiles::traced::profile(), &options, &mut file).unwrap();
    let Some(dom) = browse(&svg, "s=Cache%5C.map") else { return };
    assert!(dom.contains(">Matched: 81.7%<"), "{dom}");
    assert!(dom.contains(">Lock hold time: 2.76 ms in 10,023 acquisitions<"), "{dom}");
}

#[test]
fn flame_graphs_can_be_zoomed() {
    let (_folder, svg) = flame_graph(&profiles::bank());
    let text = fs::read_to_string(&svg).unwrap();
    let frame =
        text.split("<title>").find(|frame| frame.contains("$$Lambda.accept (300 ms, 1.64%)"));
    let attribute = |name: &str| {
        let value = frame.unwrap().split(&format!(" {name}=\"")).nth(1).unwrap();
        value.split('"').next().unwrap().to_owned()
    };
    let query = format!("x={}&y={}", attribute("fg:x"), attribute("y"));
    let Some(dom) = browse(&svg, &query) else { return };
    let frame = dom.split("<title>").find(|frame| frame.contains("$$Lambda.accept")).unwrap();
    assert!(frame.contains(" width=\"100.0000%\""), "{frame}");
}

#[test]
fn empty_flame_graphs_say_so() {
    let (_folder, svg) = flame_graph(&profiles::empty());
    let Some(dom) = browse(&svg, "") else { return };
    assert!(dom.contains(">no waits<"), "{dom}");
    assert!(!dom.contains("parsererror"), "{dom}");
}

#[test]
fn nasty_flame_graphs_are_documents() {
    let (_folder, svg) = flame_graph(&profiles::nasty());
    let Some(dom) = browse(&svg, "s=Foo") else { return };
    assert!(dom.contains("Matched: ") && !dom.contains("parsererror"), "{dom}");
}
