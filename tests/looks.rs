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
        // How hot it is depends on what else runs here: where there is room for the name.
        let named = browser.value(
            "[...document.querySelectorAll('#frames > g')]
              .filter(frame => /AuditLog \\[monitor\\]/.test(frame.querySelector('title').textContent)
                && frame.querySelector('rect').getBoundingClientRect().width >= 70)
              .map(frame => /(^|\\.)AuditLog( \\[monitor\\])?$/.test(frame.querySelector('text').textContent))",
        );
        let named = named.as_array().unwrap();
        assert!(named.iter().all(|it| it == true), "{width} px: the hot lock has its name");
        assert!(width < 1000 || !named.is_empty(), "{width} px: the hot lock is drawn");
        let title = browser.value("document.getElementById('title').textContent");
        let title = title.as_str().unwrap();
        assert!(title.starts_with("Lock wait time:") && title.ends_with("waits"), "{title}");
        let legend = browser.value("document.getElementById('legend').textContent");
        assert!(legend.as_str().unwrap().contains("monitor"), "{legend}");
    }
}

/// Words on a dark back are light, and dark on frames.
fn check_dark(browser: &mut Browser) {
    let looks = "['#title', '#legend text', '#frames text', ':root > rect'].map(it =>
      getComputedStyle(document.querySelector(it)).fill)";
    let light = browser.value(looks);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.call("Emulation.setEmulatedMedia", dark);
    let [words, frames, back] = ["rgb(228, 231, 235)", "rgb(0, 0, 0)", "rgb(22, 25, 29)"];
    assert_eq!(browser.value(looks), json!([words, words, frames, back]));
    browser.call("Emulation.setEmulatedMedia", json!({ "features": [] }));
    assert_eq!(browser.value(looks), light);
    assert_ne!(light[0], words);
}

/// Outer frames go if packages are given, and the lock is the root if stacks are inverted.
fn check_reshaped(browser: &mut Browser, log: &Path, folder: &Path) {
    let file = folder.join("inverted.svg");
    let convert = ["convert", "--to", "flamegraph", "--invert", "--packages", "com.acme", "-o"];
    stdout_of(tyrion().args(convert).arg(&file).arg(log));
    browser.open(&format!("file://{}", text(&file)));
    // The frames from the root on, by how far they are from the bottom.
    let frames = browser.value(
        "(() => { const rows = new Map();
          for (const frame of document.querySelectorAll('#frames > g')) {
            const y = +frame.querySelector('rect').getAttribute('y');
            rows.set(y, [...(rows.get(y) || []), frame.querySelector('title').textContent]);
          }
          return [...rows].sort((a, b) => b[0] - a[0]).map(row => row[1]); })()",
    );
    let frames = frames.as_array().unwrap();
    let row = |at: usize| frames[at].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    assert!(row(0).all(|name| name.starts_with("all (")), "{frames:?}");
    assert!(row(1).all(|name| name.contains("] (")), "what is waited for: {frames:?}");
    let names = || (0..frames.len()).flat_map(row);
    assert!(names().any(|name| name.contains("AuditLog")), "{frames:?}");
    // Stacks without a method of these packages keep their outermost frame.
    let callers = browser.value(
        "(() => { const frames = [...document.querySelectorAll('#frames > g')].map(frame => {
            const of = name => +frame.querySelector('rect').getAttribute(name);
            const title = frame.querySelector('title').textContent;
            return { title, x: of('fg:x'), width: of('fg:w'), y: of('y') };
          });
          const isBelow = (it, other) => other.y === it.y + 16
            && other.x <= it.x && it.x < other.x + other.width;
          return frames.filter(it => it.title.includes('Thread.run') && frames.some(other =>
            isBelow(it, other) && other.title.includes('com.acme'))); })()",
    );
    assert_eq!(callers, json!([]), "what calls the packages");
}

fn flame_graph_in_a_browser(jdk: &Jdk) {
    if !needs(&["chromium", "identify"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("waits.svg");
    let recording = bank(jdk, "flamegraph", &svg);
    let mut browser = Browser::start();
    check_room(&mut browser, &svg);
    browser.resize(1280, 800);
    browser.open(&format!("file://{}?s=AuditLog", text(&svg)));
    let picture = browser.path("picture.png");
    browser.picture(&picture);
    check_dark(&mut browser);
    assert!(colours(&picture) > 100, "{} colours", colours(&picture));
    // The page's own script runs and finds the hot lock, once it has drawn.
    let matched = "new Promise(done => { const look = () => { \
                   const text = document.getElementById('matched').textContent; \
                   if (text) done(text); else setTimeout(look, 20); }; look(); })";
    let matched = browser.value(matched);
    assert!(matched.as_str().unwrap().starts_with("Matched: "), "{matched}");
    check_reshaped(&mut browser, &recording.log, folder.path());
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
