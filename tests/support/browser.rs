//! Chromium without a screen, driven through its own protocol
//! (<https://chromedevtools.github.io/devtools-protocol>) over two pipes.

use super::{Turn, beside_others, text, wait_for};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write},
    os::{fd::AsRawFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// What makes a page ready to be looked at: two frames have been drawn.
const DRAWN: &str = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";

/// A browser with one page. Killed when dropped.
pub struct Browser {
    child: Child,
    to: PipeWriter,
    from: BufReader<PipeReader>,
    session: Option<String>,
    calls: u64,
    events: Vec<Value>,
    folder: TempDir,
    _turn: Turn,
}

impl Browser {
    /// Starts one.
    pub fn start() -> Browser {
        let turn = beside_others();
        let folder = tempfile::tempdir().unwrap();
        let (their_end, to) = io::pipe().unwrap();
        let (from, their_answers) = io::pipe().unwrap();
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
        chromium.arg(format!("--user-data-dir={}", text(folder.path())));
        chromium.args(["--remote-debugging-pipe", "about:blank"]);
        chromium.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let (reads, writes) = (their_end.as_raw_fd(), their_answers.as_raw_fd());
        let place = move || {
            // SAFETY: system calls on descriptors of this process, which allocate
            // nothing. They are moved out of the way first, and lose the flag that
            // closes them.
            let placed = unsafe {
                let reads = libc::fcntl(reads, libc::F_DUPFD, 10);
                let writes = libc::fcntl(writes, libc::F_DUPFD, 10);
                libc::dup2(reads, 3) == 3 && libc::dup2(writes, 4) == 4
            };
            if placed { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        // SAFETY: between fork and exec the closure makes system calls alone.
        unsafe { chromium.pre_exec(place) };
        let child = chromium.spawn().unwrap();
        let from = BufReader::new(from);
        let (session, calls, events) = (None, 0, Vec::new());
        let mut browser = Browser { child, to, from, session, calls, events, folder, _turn: turn };
        let targets = browser.call("Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().unwrap().clone();
        let page = targets.iter().find(|target| target["type"] == "page").unwrap();
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// The path of a file of this browser's own.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has it do something; the answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut call = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            call["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{call}\0").as_bytes()).unwrap();
        loop {
            let said = self.read();
            if said["id"] == self.calls {
                assert!(said["error"].is_null(), "{method}: {said}");
                return said["result"].clone();
            }
            self.events.push(said);
        }
    }

    fn read(&mut self) -> Value {
        let mut said = Vec::new();
        self.from.read_until(0, &mut said).unwrap();
        assert_eq!(said.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&said).unwrap()
    }

    /// Opens a page, or another part of it, and waits until it is there.
    pub fn open(&mut self, url: &str) {
        // Something else first, so that the page is loaded anew.
        for url in ["about:blank", url] {
            self.events.retain(|event| event["method"] != "Page.loadEventFired");
            self.call("Page.navigate", json!({ "url": url }));
            while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
                let said = self.read();
                self.events.push(said);
            }
        }
        self.await_drawing();
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let evaluate = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
            "userGesture": true,
        });
        let answer = self.call("Runtime.evaluate", evaluate);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The value of an expression in the page's only frame that has a process of its own.
    #[track_caller]
    pub fn value_in_frame(&mut self, expression: &str) -> Value {
        let page = self.session.take();
        let frame = wait_for("a frame", || {
            let targets = self.call("Target.getTargets", json!({}));
            let targets = targets["targetInfos"].as_array().unwrap().clone();
            targets.into_iter().find(|target| target["type"] == "iframe")
        });
        let attach = json!({ "targetId": frame["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", attach);
        self.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        let value = self.value(expression);
        self.session = page;
        value
    }

    /// Waits until what was changed is drawn.
    pub fn await_drawing(&mut self) {
        self.value(DRAWN);
    }

    /// Gives the window a size.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500,
        });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.await_drawing();
    }

    /// Looks at the page in light or dark, or as it would be printed.
    pub fn look(&mut self, media: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
        self.await_drawing();
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        self.press_with(key, 0);
    }

    /// The same with Shift.
    pub fn press_with_shift(&mut self, key: &str) {
        self.press_with(key, 8);
    }

    fn press_with(&mut self, key: &str, modifiers: u32) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            _ => 40,
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" && kind == "keyDown" { "\r" } else { "" };
            let press = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text,
                "modifiers": modifiers,
            });
            self.call("Input.dispatchKeyEvent", press);
        }
        self.await_drawing();
    }

    /// Drags the pointer over an element, between two places as shares of its width and height.
    pub fn drag(&mut self, selector: &str, from: (f64, f64), to: (f64, f64)) {
        let place = self.value(&format!(
            "(() => {{ const it = document.querySelector({}); it.scrollIntoView({{ block: 'center' }}); \
             const box = it.getBoundingClientRect(); \
             return [box.left, box.top, box.width, box.height]; }})()",
            json!(selector)
        ));
        let [left, top, width, height] = [0, 1, 2, 3].map(|at| place[at].as_f64().unwrap());
        let at = |part: f64| {
            let between = |from: f64, to: f64| from + (to - from) * part;
            (left + width * between(from.0, to.0), top + height * between(from.1, to.1))
        };
        for (kind, part, buttons) in [
            ("mouseMoved", 0.0, 0),
            ("mousePressed", 0.0, 1),
            ("mouseMoved", 0.4, 1),
            ("mouseMoved", 1.0, 1),
            ("mouseReleased", 1.0, 0),
        ] {
            let (x, y) = at(part);
            let button = if kind == "mouseMoved" && buttons == 0 { "none" } else { "left" };
            let event = json!({
                "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event);
        }
        self.await_drawing();
    }

    /// A picture of what is seen.
    pub fn picture(&mut self, path: &Path) {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let mut decoder = Command::new("base64");
        decoder.arg("-d").stdin(Stdio::piped()).stdout(File::create(path).unwrap());
        let mut decoding = decoder.spawn().unwrap();
        let data = shot["data"].as_str().unwrap();
        decoding.stdin.take().unwrap().write_all(data.as_bytes()).unwrap();
        assert!(decoding.wait().unwrap().success());
    }

    /// What happened so far.
    pub fn events(&self) -> &[Value] {
        &self.events
    }

    /// What pages have logged so far, and what went wrong in them.
    pub fn console(&self) -> Vec<&Value> {
        let is_log = |event: &&Value| {
            ["Runtime.consoleAPICalled", "Log.entryAdded", "Runtime.exceptionThrown"]
                .iter()
                .any(|method| event["method"] == *method)
        };
        self.events.iter().filter(is_log).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}
