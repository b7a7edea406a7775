//! Spans of time and rectangles of waits as filters, and the picture of holders and waiters.

use super::{numbers, shown, step_back_to, strings};
use crate::support::Browser;
use serde_json::{Value, json};

/// What the page tells, and what it should tell by the data that it has: of the boxes and
/// powers of two that the address names, which is taken apart here anew.
const TOLD: &str = "(() => {
  const read = id => JSON.parse(document.getElementById(id).textContent);
  const [span, heat] = [read('span-data'), read('heat-data')];
  const parts = new Map(location.hash.slice(1).split('&').map(part => part.split('=')));
  const range = (key, most, place) => parts.has(key)
    ? parts.get(key).split('..').map((it, nth) => Math.round(place(Number(it))) - nth) : [0, most];
  const [from, to] = range('time', span.lived.length - 1, it => it * 1e9 / span.box_ns);
  const [low, high] = range('took', 99, Math.log2);
  const sum = ns => ns.slice(from, to + 1).reduce((all, it) => all + it, 0);
  let [waits, all] = [0, 0];
  for (let at = 0; at < heat.cells.length; at += 4) {
    const [, box, power, count] = heat.cells.slice(at, at + 4);
    all += count;
    if (box >= from && box <= to && power >= low && power <= high) waits += count;
  }
  const every = selector => [...document.querySelectorAll(selector)];
  const own = every('#timeline tbody').map(body => ({
    ns: sum(body.querySelector('svg').dataset.ns.split(' ').map(Number)),
    told: +body.querySelector('td.n').dataset.v, hidden: body.hidden,
  }));
  const column = [...document.querySelectorAll('#contended thead th')].findIndex(it => it.textContent === 'wait');
  return {
    boxes: [from, to], powers: [low, high],
    worst: every('.worst .bar:nth-child(2)').map(it => +it.dataset.v), expected: span.locks.map(sum),
    rows: own, waits: [waits, all], reading: document.querySelector('.heat-reading').textContent,
    listed: every('.heat-locks li').map(it => +it.textContent.split(' ').at(-1).replace(/,/g, '')),
    legend: every('.bands .part[data-band]').map(it => it.textContent),
    whole: every('#contended tbody').map(it => it.rows[0].cells[column].textContent),
    marks: every('.of-run').length,
    mark: getComputedStyle(document.querySelector('#contended .scroll'), '::before').content,
    chips: ['by-time', 'by-took'].map(it => document.getElementById(it).textContent),
    outlined: every('.selected').length,
    found: document.getElementById('found').textContent, hash: location.hash,
  };
})()";

fn told(browser: &mut Browser) -> Value {
    browser.await_drawing();
    browser.value(TOLD)
}

fn text<'v>(told: &'v Value, key: &str) -> &'v str {
    told[key].as_str().unwrap()
}

/// What has times is of the span; the sums that have none are as they were, and say so.
fn check_told(told: &Value, all: &Value) {
    for row in told["rows"].as_array().unwrap() {
        assert_eq!(row["ns"], row["told"], "{told}");
        assert!(row["ns"] != 0 || row["hidden"] == true, "{told}");
    }
    let [waits, of] = [0, 1].map(|at| told["waits"][at].as_u64().unwrap());
    let digits: String =
        text(told, "reading").chars().filter(|char| !",.".contains(*char)).collect();
    assert!(digits.starts_with(&format!("{waits} of {of} waits")), "{told}");
    assert!(waits < of, "{told}");
    assert_eq!(numbers(&told["listed"]).iter().sum::<f64>(), waits as f64, "{told}");
    assert_eq!(told["whole"], all["whole"], "sums without times are of the whole run");
    assert!(told["marks"].as_u64().unwrap() > 3, "{told}");
    assert_eq!(told["mark"], json!("\"Of the whole run:\""));
    assert!(text(told, "found").contains(" of "), "{told}");
}

pub(super) fn check_spans(browser: &mut Browser, url: &str) {
    browser.open(url);
    let all = told(browser);
    assert_eq!((&all["marks"], &all["outlined"]), (&json!(0), &json!(0)), "{all}");
    assert_eq!(all["chips"], json!(["", ""]));

    browser.drag(".shares svg", (0.3, 0.5), (0.6, 0.2));
    let span = told(browser);
    assert!(text(&span, "hash").starts_with("#time="), "{span}");
    // The box below each end of what was dragged over.
    let boxes = numbers(&span["boxes"]);
    assert!((34.0..=37.0).contains(&boxes[0]) && (70.0..=73.0).contains(&boxes[1]), "{span}");
    check_told(&span, &all);
    assert_eq!(span["worst"], span["expected"], "{span}");
    assert_ne!(span["legend"], all["legend"]);
    assert_eq!(span["outlined"], 2, "on the picture and on the heat map");
    assert!(strings(&span["chips"])[0].starts_with("Time "), "{span}");

    // The address is all that is needed, and one step back shows all again.
    step_back_to(browser, "");
    assert_eq!(told(browser), all);
    browser.open(&format!("{url}{}", text(&span, "hash")));
    assert_eq!(told(browser), span);
    browser.value("document.getElementById('by-time').click()");
    assert_eq!(told(browser)["legend"], all["legend"]);

    // Without a pointer.
    browser.open(url);
    browser.value("document.querySelector('.shares svg').focus()");
    for key in ["ArrowRight", "ArrowRight"] {
        browser.press(key);
    }
    assert_eq!(told(browser)["hash"], "");
    browser.press_with_shift("ArrowRight");
    browser.press_with_shift("ArrowRight");
    let keyed = told(browser);
    assert_eq!(keyed["boxes"], json!([1, 3]), "{keyed}");
    let value = "document.querySelector('.shares svg').getAttribute('aria-valuetext')";
    assert!(browser.value(value).as_str().unwrap().contains(" after the start"));
    // However many keys it took, it is one step back.
    step_back_to(browser, "");
    assert_eq!(told(browser)["legend"], all["legend"]);
    // One who does not drag picks a lock, as ever.
    let picks = "document.querySelector('.shares path[data-lock]') \
                 .dispatchEvent(new MouseEvent('click', { bubbles: true }))";
    browser.value(picks);
    assert!(text(&told(browser), "hash").starts_with("#lock="));
}

pub(super) fn check_rectangles(browser: &mut Browser, url: &str) {
    browser.open(url);
    let all = told(browser);
    browser.drag(".heat svg", (0.2, 0.1), (0.8, 0.45));
    let rectangle = told(browser);
    let hash = text(&rectangle, "hash");
    assert!(hash.starts_with("#time=") && hash.contains("&took="), "{rectangle}");
    check_told(&rectangle, &all);
    let fainter = browser.value("document.querySelectorAll('.heat .out').length > 0");
    assert_eq!(fainter, true);
    // A lock besides.
    browser.value("document.querySelector('.heat-locks button').click()");
    let locked = told(browser);
    assert!(text(&locked, "hash").starts_with("#lock="), "{locked}");
    assert_eq!(numbers(&locked["listed"]).len(), 1, "{locked}");
    step_back_to(browser, hash);
    assert_eq!(told(browser), rectangle);
    browser.open(&format!("{url}{hash}"));
    assert_eq!(told(browser), rectangle);
    browser.value("document.getElementById('reset').click()");
    let again = told(browser);
    assert_eq!((&again["reading"], &again["marks"]), (&all["reading"], &all["marks"]));

    browser.value("document.querySelector('.heat svg').focus()");
    browser.press("ArrowDown");
    browser.press_with_shift("ArrowDown");
    let keyed = told(browser);
    let powers = numbers(&keyed["powers"]);
    assert_eq!((&keyed["boxes"], powers[1] - powers[0]), (&json!([0, 0]), 1.0), "{keyed}");
    browser.press("Escape");
    assert_eq!(told(browser)["reading"], all["reading"]);
    // What an address says that is nowhere on the page is left out.
    for hash in ["#time=7..3", "#time=x..1&took=", "#took=..&time=1e99..2e99"] {
        browser.open(&format!("{url}{hash}"));
        browser.await_drawing();
        let reading = browser.value("document.querySelector('.heat-reading').textContent");
        assert_eq!(reading, all["reading"], "{hash}");
    }
}

/// Holders and waiters: each band has words, and leads to what is of its lock.
pub(super) fn check_blocking(browser: &mut Browser, url: &str) {
    browser.open(url);
    let bands = browser.value(
        "[...document.querySelectorAll('.blocking a')].map(it => ({
          words: it.getAttribute('aria-label'),
          height: it.querySelector('path').getBBox().height,
          reached: it.tabIndex === 0,
        }))",
    );
    let bands = bands.as_array().unwrap();
    assert!(!bands.is_empty());
    for band in bands {
        let words = band["words"].as_str().unwrap();
        assert!(words.contains(" waited ") && words.contains(", held by "), "{words}");
        assert!(band["height"].as_f64().unwrap() >= 2.0 && band["reached"] == true, "{band}");
    }
    browser.value("document.querySelector('.blocking a').focus()");
    browser.press("Enter");
    let picked = shown(browser);
    assert!(picked["hash"].as_str().unwrap().starts_with("#lock="), "{picked}");
    let marked = "document.querySelectorAll('.blocking a[aria-current]').length > 0";
    assert_eq!(browser.value(marked), true);
    browser.open(url);
}
