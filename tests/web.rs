//! The page that makes reports by itself (`web/`): what it makes, what it says of what it
//! cannot read, and that nothing leaves it.

use crate::{
    hostile::{in_folder, log},
    support::{Browser, err, root, sample_log, skip, stdout_of, text, wait_for},
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
};

/// Larger than what the page takes.
const TOO_LARGE: u64 = (512 << 20) + 1;
/// A name that would be markup.
const MARKUP: &str = "<img src=x onerror=alert(1)>.log";

/// The page, or `None` after a message.
fn page() -> Option<PathBuf> {
    let page = root().join("target/web/tyrion.html");
    if !page.is_file() {
        skip(&format!("{}: run tests/setup/web.sh", page.display()));
        return None;
    }
    crate::support::needs(&["chromium", "base64"]).then_some(page)
}

/// The page in a browser, whose files are in the browser's folder.
struct Opened {
    browser: Browser,
    page: String,
}

impl Opened {
    fn new(page: &Path) -> Opened {
        let mut browser = Browser::start();
        let folder = browser.path("");
        let to = json!({ "behavior": "allow", "downloadPath": text(&folder) });
        browser.call("Browser.setDownloadBehavior", to);
        browser.call("Network.enable", json!({}));
        browser.resize(1280, 800);
        let page = format!("file://{}", text(page));
        browser.open(&page);
        Opened { browser, page }
    }

    /// The file of this name, with these bytes.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.browser.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn choose(&mut self, path: &Path) -> Said {
        let found = self
            .browser
            .call("Runtime.evaluate", json!({ "expression": "document.getElementById('file')" }));
        let input = &found["result"]["objectId"];
        self.browser
            .call("DOM.setFileInputFiles", json!({ "files": [text(path)], "objectId": input }));
        self.said()
    }

    fn drop_file(&mut self, path: &Path) -> Said {
        let place = self.browser.value(
            "(() => { const box = document.getElementById('drop').getBoundingClientRect(); \
             return [box.left + box.width / 2, box.top + box.height / 2]; })()",
        );
        for kind in ["dragEnter", "dragOver", "drop"] {
            self.browser.call(
                "Input.dispatchDragEvent",
                json!({
                    "type": kind, "x": place[0], "y": place[1],
                    "data": { "items": [], "files": [text(path)], "dragOperationsMask": 1 },
                }),
            );
        }
        self.said()
    }

    /// What it says when it is done with a file.
    fn said(&mut self) -> Said {
        wait_for("an answer of the page", || {
            let said = self.browser.value(
                "({ bar: !document.getElementById('bar').hidden,
                    made: document.getElementById('made').textContent,
                    wrong: document.getElementById('said').classList.contains('wrong')
                      && document.getElementById('said').textContent })",
            );
            match (&said["bar"], &said["wrong"]) {
                (Value::Bool(true), _) => Some(Said::Made(said["made"].as_str()?.to_owned())),
                (_, Value::String(wrong)) => Some(Said::Wrong(wrong.clone())),
                _ => None,
            }
        })
    }

    /// The report that is saved, after which another file may come.
    fn save(&mut self) -> Vec<u8> {
        let report = self.browser.path("report.html");
        self.browser.value("document.getElementById('save').click()");
        let is_whole = || report.is_file().then(|| fs::read(&report).unwrap());
        let saved =
            wait_for("the saved report", || is_whole().filter(|it| it.ends_with(b"</html>\n")));
        fs::remove_file(&report).unwrap();
        self.browser.value("document.getElementById('other').click()");
        saved
    }

    /// The report that the command makes of the same file.
    fn commands(&self, name: &str) -> Vec<u8> {
        let mut command = in_folder(&self.browser.path(""), "report --html -o -");
        stdout_of(command.arg(name)).into_bytes()
    }

    /// The addresses that were asked for.
    fn requests(&self) -> Vec<&str> {
        let events = self.browser.events().iter();
        let sent = events.filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }
}

/// What the page says of a file.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// That the report is made.
    Made(String),
    /// What is wrong.
    Wrong(String),
}

fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let read = |path: &str| fs::read(root().join(path)).unwrap();
    vec![
        ("small.log", fs::read(sample_log()).unwrap()),
        ("jdk25.jfr.gz", read("testdata/jfr/jdk25.jfr.gz")),
        ("dump.txt", read("testdata/inputs/dumps/hotspot-7-deadlock.txt")),
        ("go.pb.gz", read("testdata/inputs/go-mutex.pb.gz")),
    ]
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn page_makes_the_report_of_the_command() {
    let Some(page) = page() else { return };
    let mut opened = Opened::new(&page);
    for (nth, (name, bytes)) in inputs().into_iter().enumerate() {
        let path = opened.file(name, &bytes);
        let said = if nth % 2 == 0 { opened.choose(&path) } else { opened.drop_file(&path) };
        assert!(matches!(&said, Said::Made(said) if said.starts_with(name)), "{name}: {said:?}");
        // It is not only there, but works.
        let works = "document.readyState === 'complete' && document.documentElement.className";
        wait_for("the report", || (opened.browser.value_in_frame(works) == "js").then_some(()));
        let saved = opened.save();
        let commands = opened.commands(name);
        assert!(saved == commands, "{name}: {} bytes, not {}", saved.len(), commands.len());
    }
    // Of all this nothing went anywhere but to the page and what it made.
    let foreign: Vec<&str> = opened.requests();
    let is_own =
        |url: &&str| url.starts_with("blob:") || **url == opened.page || *url == "about:blank";
    assert!(foreign.iter().any(|url| url.starts_with("blob:")), "{foreign:?}");
    assert!(foreign.iter().all(is_own), "{foreign:?}");
    let logged = opened.browser.console();
    assert!(logged.is_empty(), "{logged:#?}");
}

/// What is picked in a report stands in its address, and goes again.
#[test]
#[ignore = "make test-everywhere runs it"]
fn report_in_the_page_can_be_filtered() {
    let Some(page) = page() else { return };
    let mut opened = Opened::new(&page);
    assert!(matches!(opened.choose(&sample_log()), Said::Made(_)));
    let ready = "document.readyState === 'complete' && document.documentElement.className";
    wait_for("the report", || (opened.browser.value_in_frame(ready) == "js").then_some(()));
    let pick = "(() => { document.querySelector('#worst-locks a.of-lock').click(); \
                return [location.hash.startsWith('#lock='), \
                document.documentElement.classList.contains('by-lock')]; })()";
    assert_eq!(opened.browser.value_in_frame(pick), json!([true, true]));
    assert_eq!(opened.browser.value_in_frame(pick), json!([false, false]));
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn page_refuses_what_it_cannot_read() {
    let Some(page) = page() else { return };
    let mut opened = Opened::new(&page);
    let whole = fs::read(sample_log()).unwrap();
    let newer = [&whole[..8], &[9, 0][..], &whole[10..]].concat();
    for (name, bytes) in
        [("empty.log", Vec::new()), ("text.log", b"no log".to_vec()), ("newer.log", newer)]
    {
        let path = opened.file(name, &bytes);
        let Said::Wrong(said) = opened.choose(&path) else { panic!("{name} is read") };
        let mut command = in_folder(&opened.browser.path(""), "report --html -o -");
        let output = command.arg(name).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(said.starts_with(name) && err(&output).contains(&said), "{said}: {}", err(&output));
    }
    let large = opened.browser.path("large.log");
    File::create(&large).unwrap().set_len(TOO_LARGE).unwrap();
    let Said::Wrong(said) = opened.choose(&large) else { panic!("it is read") };
    assert!(said.starts_with("large.log: too large for a page"), "{said}");
    // Afterwards it reads what it can. Damage stands in the report, as it does in the command's.
    let path = opened.file("cut.log", &whole[..whole.len() - 5_000]);
    assert!(matches!(opened.choose(&path), Said::Made(_)));
    let saved = opened.save();
    let mut command = in_folder(&opened.browser.path(""), "report --html -o -");
    let output = command.arg("cut.log").output().unwrap();
    assert!(output.stdout == saved, "{}", err(&output));
    assert!(String::from_utf8_lossy(&saved).contains("class=\"damage\""));
}

/// Who had a script run in the page would still reach nobody.
#[test]
#[ignore = "make test-everywhere runs it"]
fn page_reaches_nobody() {
    let Some(page) = page() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let other = format!("http://{}/", listener.local_addr().unwrap());
    let tries = format!(
        "Promise.allSettled([
          fetch('{other}', {{ mode: 'no-cors' }}),
          new Promise((_, failed) => {{ const it = new Image(); it.onerror = failed; it.src = '{other}'; }}),
          new Promise((_, failed) => {{
            const it = new XMLHttpRequest(); it.onerror = failed; it.open('GET', '{other}'); it.send();
          }}),
          new Promise((_, failed) => {{
            try {{ new WebSocket('{socket}').onerror = failed; }} catch (error) {{ failed(error); }}
          }}),
          new Promise((_, failed) => {{
            const it = document.createElement('script'); it.onerror = failed; it.src = '{other}';
            document.head.append(it);
          }}),
        ]).then(all => all.map(it => it.status))",
        socket = other.replace("http", "ws"),
    );
    let mut opened = Opened::new(&page);
    assert_eq!(opened.browser.value(&tries), json!(vec!["rejected"; 5]));
    assert!(listener.accept().is_err(), "it was reached");
    // It could have been.
    opened.browser.open("about:blank");
    let asked = format!("void fetch('{other}', {{ mode: 'no-cors' }}).catch(() => 0)");
    opened.browser.value(&asked);
    wait_for("a connection", || listener.accept().ok());
}

/// Names of files and in logs stay text, and a report is shut in.
#[test]
#[ignore = "make test-everywhere runs it"]
fn page_takes_hostile_names_as_text() {
    let Some(page) = page() else { return };
    let mut opened = Opened::new(&page);
    let path = opened.browser.path(MARKUP);
    log::write(&path);
    let Said::Made(said) = opened.choose(&path) else { panic!("it is not read") };
    assert!(said.starts_with(MARKUP), "{said}");
    let found = opened.browser.value(
        "[document.querySelectorAll('img').length, document.querySelector('iframe').sandbox.value, \
         document.querySelector('iframe').contentDocument]",
    );
    assert_eq!(found, json!([0, "allow-scripts", null]));
    // A script that came with it would be alone, and reach nobody.
    let reached = opened.browser.value_in_frame(
        "(async () => {
          const policy = new Promise(done => document.addEventListener(
            'securitypolicyviolation', event => done(event.effectiveDirective), { once: true }));
          let page = '';
          try { page = parent.document.title; } catch (error) { page = error.name; }
          const asked = await fetch('http://127.0.0.1:9/').then(() => true, () => false);
          return [page, asked, await policy];
        })()",
    );
    assert_eq!(reached, json!(["SecurityError", false, "connect-src"]));
    let saved = opened.save();
    assert!(saved == opened.commands(MARKUP));
    assert!(!String::from_utf8_lossy(&saved).contains("<img"));
    // The same of what it refuses.
    let path = opened.file(MARKUP, b"none");
    let Said::Wrong(said) = opened.choose(&path) else { panic!("it is read") };
    assert!(said.starts_with(MARKUP), "{said}");
    assert_eq!(opened.browser.value("document.querySelectorAll('img').length"), 0);
    let logged = opened.browser.console();
    assert!(logged.is_empty(), "{logged:#?}");
}
