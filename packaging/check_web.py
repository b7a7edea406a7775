"""Uses the page of dist/ as a person would: gives it a file, and saves the report.

packaging/check_web.py PAGE FILE REPORT

REPORT is what the command makes of the same file; the page's must be the same, and no
request may leave the browser. Prints how long it took.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# What does not come in that time never does.
PATIENCE_S = 180


class Browser:
    """Chromium, driven through two pipes."""

    def __init__(self, folder: str) -> None:
        theirs, self.to = os.pipe()
        self.answers, their_answers = os.pipe()

        def place() -> None:
            # Out of the way first: they may stand where the others belong.
            reads, writes = os.dup(theirs), os.dup(their_answers)
            high = [os.dup2(reads, 60), os.dup2(writes, 61)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
        command += [f"--user-data-dir={folder}/profile", "--remote-debugging-pipe", "about:blank"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=place
        )
        os.close(theirs)
        os.close(their_answers)
        self.read, self.calls, self.session, self.urls = b"", 0, None, []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attach = {"targetId": page["targetId"], "flatten": True}
        self.session = self.call("Target.attachToTarget", attach)["sessionId"]

    def call(self, method: str, params: dict | None = None) -> dict:
        self.calls += 1
        call = {"id": self.calls, "method": method, "params": params or {}}
        if self.session:
            call["sessionId"] = self.session
        os.write(self.to, json.dumps(call).encode() + b"\0")
        while True:
            while b"\0" not in self.read:
                part = os.read(self.answers, 1 << 16)
                if not part:
                    sys.exit("check_web.py: the browser has ended")
                self.read += part
            said, self.read = self.read.split(b"\0", 1)
            answer = json.loads(said)
            if answer.get("method") == "Network.requestWillBeSent":
                self.urls.append(answer["params"]["request"]["url"])
            if answer.get("id") == self.calls:
                if "error" in answer:
                    sys.exit(f"check_web.py: {method}: {answer['error']}")
                return answer["result"]

    def value(self, expression: str):
        return self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True})[
            "result"
        ].get("value")


def wait_for(what: str, attempt):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := attempt():
            return found
        time.sleep(0.1)
    sys.exit(f"check_web.py: no {what}")


def main(page: str, file: str, report: str) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            check(browser, folder, pathlib.Path(page).resolve().as_uri(), file, report)
        finally:
            browser.process.kill()
            browser.process.wait()


def check(browser: Browser, folder: str, page: str, file: str, report: str) -> None:
    browser.call("Network.enable")
    to = {"behavior": "allow", "downloadPath": folder}
    browser.call("Browser.setDownloadBehavior", to)
    browser.call("Page.navigate", {"url": page})
    field = "document.getElementById('file')"
    wait_for("page", lambda: browser.value(f"document.readyState === 'complete' && !!{field}"))
    field = browser.call("Runtime.evaluate", {"expression": field})["result"]["objectId"]
    path = str(pathlib.Path(file).resolve())
    browser.call("DOM.setFileInputFiles", {"files": [path], "objectId": field})
    shown = "!document.getElementById('bar').hidden && document.getElementById('made').textContent"
    wrong = "document.querySelector('.wrong')?.textContent"
    said = wait_for("answer", lambda: browser.value(f"({shown}) || ({wrong})"))
    memory = browser.value("document.documentElement.dataset.memory")
    browser.value("document.getElementById('save')?.click()")
    saved = pathlib.Path(folder, "report.html")
    expected = pathlib.Path(report).read_bytes()
    wait_for("report", lambda: saved.is_file() and saved.stat().st_size >= len(expected))
    if saved.read_bytes() != expected:
        sys.exit("check_web.py: the page's report is not the command's")
    foreign = [url for url in browser.urls if url != page and not url.startswith("blob:")]
    if foreign:
        sys.exit(f"check_web.py: requests: {foreign}")
    print(f"{said}, {int(memory) >> 20} MB of memory")


main(*sys.argv[1:])
