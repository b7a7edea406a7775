//! The outputs in the programs that people look at them with.

use crate::support::{
    Jdk, Program, Recording, alone, err, needs, on_jdks, output, setup, stdout_of, text, tyrion,
};
use std::{path::Path, process::Command};

on_jdks!(flame_graph_in_a_browser: jdk17 = 17);
on_jdks!(callgrind_in_kcachegrind: jdk17 = 17);

/// A second of the bank, in a format and at a path.
fn bank(jdk: &Jdk, format: &str, path: &Path) -> Recording {
    let recording = Program::class(jdk, "com.acme.bank.BankServer --seconds 1").record();
    let convert = ["convert", "--to", format, "-o", text(path)];
    stdout_of(tyrion().args(convert).arg(&recording.log));
    recording
}

/// So many colours are in a picture; an empty window has few.
fn colours(picture: &Path) -> u32 {
    let mut identify = Command::new("identify");
    stdout_of(identify.args(["-format", "%k"]).arg(picture)).trim().parse().unwrap()
}

fn flame_graph_in_a_browser(jdk: &Jdk) {
    if !needs(&["chromium", "identify"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("waits.svg");
    bank(jdk, "flamegraph", &svg);
    let url = format!("file://{}", text(&svg));
    let picture = folder.path().join("waits.png");
    let profile = format!("--user-data-dir={}", text(&folder.path().join("profile")));
    let chromium = |more: &[&str], url: &str| {
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless", "--no-sandbox", "--disable-gpu", &profile]);
        let _alone = alone();
        output(chromium.args(more).arg(url))
    };
    let shot = format!("--screenshot={}", text(&picture));
    let taken = chromium(&[&shot, "--window-size=1280,800"], &url);
    assert!(picture.is_file(), "{}", err(&taken));
    assert!(colours(&picture) > 100, "{} colours", colours(&picture));

    // The page's own script runs and finds the hot lock.
    let found =
        chromium(&["--dump-dom", "--virtual-time-budget=2000"], &format!("{url}?s=AuditLog"));
    let page = String::from_utf8_lossy(&found.stdout).into_owned();
    let matched = page.split("id=\"matched\"").nth(1).unwrap_or_default();
    assert!(matched.split('<').next().unwrap().contains("Matched: "), "{matched:.200}");
}

fn callgrind_in_kcachegrind(jdk: &Jdk) {
    if !needs(&["kcachegrind", "Xvfb", "xdotool", "dbus-run-session", "import", "identify"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    bank(jdk, "callgrind", &folder.path().join("out.callgrind"));
    let picture = folder.path().join("kcachegrind.png");
    let _alone = alone();
    let mut shot = setup("kcachegrind-shot.sh");
    let title = stdout_of(shot.current_dir(&folder).arg(&picture).arg("out.callgrind"));
    assert!(title.contains("out.callgrind"), "{title}");
    assert!(colours(&picture) > 100, "{} colours", colours(&picture));
}
