//! The outputs in the programs that people look at them with.

use crate::support::{
    Browser, Jdk, Program, Recording, beside_others, needs, on_jdks, setup, stdout_of, text, tyrion,
};
use serde_json::json;
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

/// What of a flame graph stands outside of the page, lies over something else, or is
/// wider than its frame.
const MISPLACED: &str = "(() => {
  const wrong = [], width = document.documentElement.clientWidth;
  const all = selector => [...document.querySelectorAll(selector)];
  const box = it => it.getBoundingClientRect();
  const is = (what, it) => wrong.push(what + ': ' + it.textContent);
  const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const texts = all('#title tspan, #subtitle tspan, #search, #legend > g, #frames > g > rect');
  const drawn = texts.filter(it => it.tagName !== 'rect' || box(it).width > 0);
  for (const it of drawn) {
    if (box(it).left < -1 || box(it).right > width + 1) is('outside', it);
  }
  const apart = drawn.filter(it => it.tagName !== 'rect');
  apart.forEach((it, at) => {
    if (apart.slice(at + 1).some(other => overlap(box(it), box(other)))) is('overlap', it);
    if (all('#frames > g > rect').some(other => overlap(box(it), box(other)))) is('on a frame', it);
    if (box(it).bottom > document.documentElement.getBoundingClientRect().bottom) is('below', it);
  });
  for (const frame of all('#frames > g')) {
    const [rect, text] = [frame.querySelector('rect'), frame.querySelector('text')];
    if (text.textContent && box(text).right > box(rect).right + 1) is('wider than its frame', text);
  }
  return wrong.slice(0, 10);
})()";

/// At a width as on a laptop, and as in a narrow window.
fn check_room(browser: &mut Browser, svg: &Path) {
    for width in [1280, 360] {
        let size = json!({
            "width": width, "height": 740, "deviceScaleFactor": 1, "mobile": false,
        });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        browser.open(&format!("file://{}", text(svg)));
        assert_eq!(browser.value(MISPLACED), json!([]), "{width} px");
        let is_named = browser.value(
            "[...document.querySelectorAll('#frames text')].some(text => \
             /(^|\\.)AuditLog( \\[monitor\\])?$/.test(text.textContent))",
        );
        assert_eq!(is_named, true, "{width} px: the hot lock has its name");
        let title = browser.value("document.getElementById('title').textContent");
        let title = title.as_str().unwrap();
        assert!(title.starts_with("Lock wait time:") && title.ends_with("waits"), "{title}");
        let legend = browser.value("document.getElementById('legend').textContent");
        assert!(legend.as_str().unwrap().contains("monitor"), "{legend}");
    }
}

fn flame_graph_in_a_browser(jdk: &Jdk) {
    if !needs(&["chromium", "identify"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("waits.svg");
    bank(jdk, "flamegraph", &svg);
    let mut browser = Browser::start();
    check_room(&mut browser, &svg);
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
