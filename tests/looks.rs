//! The outputs in the programs that people look at them with.

use crate::support::{
    Browser, Jdk, Program, Recording, beside_others, needs, on_jdks, setup, stdout_of, text, tyrion,
};
use std::{path::Path, process::Command};

on_jdks!(flame_graph_in_a_browser: one);
on_jdks!(callgrind_in_kcachegrind: one);

/// A second of the bank, in a format and at a path.
fn bank(jdk: &Jdk, format: &str, path: &Path) -> Recording {
    let recording = Program::class(jdk, "com.acme.bank.BankServer --seconds 1").record();
    let convert = ["convert", "--to", format, "-o", text(path)];
    stdout_of(tyrion().args(convert).arg(&recording.log));
    recording
}

/// The number of colours in a picture; an empty window has few.
pub fn colours(picture: &Path) -> u32 {
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
    let mut browser = Browser::start();
    browser.resize(1280, 800);
    browser.open(&format!("file://{}?s=AuditLog", text(&svg)));
    let picture = browser.path("picture.png");
    browser.picture(&picture);
    assert!(colours(&picture) > 100, "{} colours", colours(&picture));
    // The page's own script runs and finds the hot lock, once it has drawn.
    let matched = "new Promise(done => { const look = () => { \
                   const text = document.getElementById('matched').textContent; \
                   if (text) done(text); else setTimeout(look, 20); }; look(); })";
    let matched = browser.value(matched);
    assert!(matched.as_str().unwrap().starts_with("Matched: "), "{matched}");
}

fn callgrind_in_kcachegrind(jdk: &Jdk) {
    if !needs(&["kcachegrind", "Xvfb", "xdotool", "dbus-run-session", "import", "identify"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    bank(jdk, "callgrind", &folder.path().join("out.callgrind"));
    let picture = folder.path().join("kcachegrind.png");
    let _turn = beside_others();
    let mut shot = setup("kcachegrind-shot.sh");
    let title = stdout_of(shot.current_dir(&folder).arg(&picture).arg("out.callgrind"));
    assert!(title.contains("out.callgrind"), "{title}");
    assert!(colours(&picture) > 100, "{} colours", colours(&picture));
}
