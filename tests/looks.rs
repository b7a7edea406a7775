//! The outputs in the programs that people look at them with.

use crate::support::{
    Jdk, Program, Recording, beside_others, err, needs, on_jdks, output, setup, stdout_of, text,
    tyrion,
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tempfile::TempDir;

on_jdks!(flame_graph_in_a_browser: one);
on_jdks!(report_in_a_browser: one);
on_jdks!(callgrind_in_kcachegrind: one);

/// A second of the bank, in a format and at a path.
fn bank(jdk: &Jdk, format: &str, path: &Path) -> Recording {
    let recording = Program::class(jdk, "com.acme.bank.BankServer --seconds 1").record();
    let convert = ["convert", "--to", format, "-o", text(path)];
    stdout_of(tyrion().args(convert).arg(&recording.log));
    recording
}

/// The number of colours in a picture; an empty window has few.
fn colours(picture: &Path) -> u32 {
    let mut identify = Command::new("identify");
    stdout_of(identify.args(["-format", "%k"]).arg(picture)).trim().parse().unwrap()
}

/// A browser without a screen.
struct Browser(TempDir);

impl Browser {
    fn new() -> Browser {
        Browser(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, more: &[&str], url: &str) -> Output {
        let mut chromium = Command::new("chromium");
        let profile = format!("--user-data-dir={}", text(&self.path("profile")));
        chromium.args(["--headless", "--no-sandbox", "--disable-gpu", &profile]);
        let _turn = beside_others();
        output(chromium.args(more).arg(url))
    }

    /// The number of colours in a picture of the page.
    fn colours(&self, url: &str) -> u32 {
        let picture = self.path("picture.png");
        let shot = format!("--screenshot={}", text(&picture));
        let taken = self.run(&[&shot, "--window-size=1280,800"], url);
        assert!(picture.is_file(), "{}", err(&taken));
        colours(&picture)
    }

    /// The page after its script has run.
    fn page(&self, url: &str) -> String {
        let dump = self.run(&["--dump-dom", "--virtual-time-budget=4000"], url);
        String::from_utf8_lossy(&dump.stdout).into_owned()
    }
}

fn flame_graph_in_a_browser(jdk: &Jdk) {
    if !needs(&["chromium", "identify"]) {
        return;
    }
    let browser = Browser::new();
    let svg = browser.path("waits.svg");
    bank(jdk, "flamegraph", &svg);
    let url = format!("file://{}", text(&svg));
    let colours = browser.colours(&url);
    assert!(colours > 100, "{colours} colours");

    // The page's own script runs and finds the hot lock.
    let page = browser.page(&format!("{url}?s=AuditLog"));
    let matched = page.split("id=\"matched\"").nth(1).unwrap_or_default();
    assert!(matched.split('<').next().unwrap().contains("Matched: "), "{matched:.200}");
}

/// Sorts a table by its first column of numbers, opens its first row, then
/// searches, and tells in the page's title what came of it.
const DRIVER: &str = r#"<script>
addEventListener('load', () => {
  const table = document.querySelector('#contended table');
  const heads = [...table.tHead.rows[0].cells];
  const column = heads.findIndex(head => head.classList.contains('n'));
  const values = () => [...table.tBodies].map(body => +body.rows[0].cells[column].dataset.v);
  const told = { before: values(), rows: table.tBodies.length };
  const button = heads[column].querySelector('button');
  button.click();
  told.descending = [values(), heads[column].getAttribute('aria-sort')];
  button.click();
  told.ascending = [values(), heads[column].getAttribute('aria-sort')];
  button.click();
  told.after = values();
  const seen = body => [...body.rows].map(row => row.getClientRects().length > 0);
  told.closed = seen(table.tBodies[0]);
  table.querySelector('.open').click();
  told.open = seen(table.tBodies[0]);
  const search = document.getElementById('search');
  search.value = 'auditlog';
  search.dispatchEvent(new Event('input'));
  setTimeout(() => {
    told.found = document.getElementById('found').textContent;
    const shown = [...table.tBodies].filter(body => !body.hidden);
    told.shown = shown.length;
    told.matching = shown.every(body => body.textContent.includes('AuditLog'));
    const graphs = [...document.querySelectorAll('iframe')].map(frame => frame.contentDocument);
    told.matched = graphs.map(graph => graph.getElementById('matched').textContent);
    told.overflow = document.documentElement.scrollWidth - innerWidth;
    document.title = 'told ' + JSON.stringify(told);
  }, 1000);
});
</script>"#;

fn report_in_a_browser(jdk: &Jdk) {
    if !needs(&["chromium", "identify"]) {
        return;
    }
    let browser = Browser::new();
    let page = browser.path("report.html");
    let recording = Program::class(jdk, "com.acme.bank.BankServer --seconds 1").traced().record();
    stdout_of(tyrion().args(["report", "--html", "-o", text(&page)]).arg(&recording.log));
    let url = format!("file://{}", text(&page));
    let colours = browser.colours(&url);
    assert!(colours > 100, "{colours} colours");

    let driven = browser.path("driven.html");
    std::fs::write(&driven, std::fs::read_to_string(&page).unwrap() + DRIVER).unwrap();
    let dump = browser.page(&format!("file://{}", text(&driven)));
    let title = dump.split_once("<title>told ").and_then(|(_, rest)| rest.split_once("</title>"));
    let (told, _) = title.unwrap_or_else(|| panic!("{dump:.2000}"));
    let told: Value = serde_json::from_str(told).unwrap();
    // What is not known, such as how often a lock of the JVM's own was taken, has
    // no number.
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().filter_map(Value::as_f64).collect()
    };
    assert!(numbers(&told["before"]).len() > 2, "{told}");
    let (descending, ascending) = (&told["descending"], &told["ascending"]);
    assert!(numbers(&descending[0]).is_sorted_by(|a, b| a >= b), "{told}");
    assert!(numbers(&ascending[0]).is_sorted(), "{told}");
    assert_eq!((&descending[1], &ascending[1]), (&json!("descending"), &json!("ascending")));
    assert_eq!(told["before"], told["after"]);
    assert_eq!((&told["closed"], &told["open"]), (&json!([true, false]), &json!([true, true])));
    let (shown, rows) = (told["shown"].as_u64().unwrap(), told["rows"].as_u64().unwrap());
    assert!(0 < shown && shown < rows && told["matching"] == true, "{told}");
    assert!(told["found"].as_str().unwrap().contains(" of "), "{told}");
    let matched = told["matched"].as_array().unwrap();
    assert!(matched.len() == 3, "waits by waiter and by holder, and holds: {told}");
    let matched = |text: &Value| text.as_str().unwrap().starts_with("Matched: ");
    assert!(told["matched"].as_array().unwrap().iter().all(matched), "{told}");
    assert!(told["overflow"].as_i64().unwrap() <= 0, "the page is too wide: {told}");
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
