//! Long lists: shown in steps, sorted, filtered and copied as a whole.

use super::set;
use crate::support::Browser;
use serde_json::{Value, json};
use std::{fs::File, path::Path};
use tyrion_formats::{
    wire::{WaitKind, def::id},
    write::{LogOptions, LogWriter, Wait},
};

const LOCKS: u64 = 2_500;
const STEP: u64 = 100;

/// Each lock is waited for once, the first of them longest.
pub(super) fn write_log(path: &Path) {
    let mut options = LogOptions::default();
    options.header.metadata = vec![("mode".to_owned(), "contention".to_owned())];
    options.header.end_ns = (LOCKS + 1) * 2_000_000;
    let mut log = LogWriter::new(File::create(path).unwrap(), options).unwrap();
    for nth in 0..LOCKS {
        let class = log.class(&format!("a/Lock{nth:04}"), "Lock.java").unwrap();
        let method = log.method(class, "take", "()V", 1).unwrap();
        let stack = log.stack(id::EMPTY_STACK, method, 7).unwrap();
        let lock = log.lock(class).unwrap();
        let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
        let thread = log.thread(nth + 1, &format!("worker-{}", letters(nth)), "main", 0).unwrap();
        let lane = log.lane(thread);
        let (end_ns, wait_ns) = ((nth + 1) * 2_000_000, 1_000_000 - nth);
        log.wait(lane, Wait { end_ns, wait_ns, site, ..Wait::default() }).unwrap();
    }
    log.finish().unwrap();
}

/// A name without a number, so that each thread is a group of its own.
fn letters(nth: u64) -> String {
    let letter = |nth: u64| char::from(b'a' + (nth % 26) as u8);
    [nth / 676, nth / 26, nth].map(letter).iter().collect()
}

/// What is there and what is seen of the table of locks, and what would be copied.
const TABLE: &str = "(() => {
  const section = document.querySelector('#contended');
  const bodies = [...section.querySelectorAll('tbody')];
  const seen = bodies.filter(body => body.getClientRects().length);
  const rows = window.copied.trim().split('\\n');
  const more = section.querySelector('.more');
  return {
    all: bodies.length, seen: seen.length, first: seen.length ? seen[0].rows[0].cells[0].textContent : '',
    copied: rows.length - 1, last: rows.at(-1).split('\\t')[0],
    more: more && !more.hidden ? more.textContent : '',
  };
})()";

fn table(browser: &mut Browser) -> Value {
    browser.value(
        "(() => {
          addEventListener('copy', event => { window.copied = event.clipboardData.getData('text/plain'); },
            { once: true });
          document.querySelector('#contended .copy').focus();
        })()",
    );
    browser.press("Enter");
    browser.value(TABLE)
}

/// What is there where so many rows are seen.
fn expected(seen: u64, [first, last]: [u64; 2]) -> Value {
    let name = |nth: u64| format!("a.Lock{nth:04}#{}", nth + 1);
    let more = format!("2,{} more rows in this page. Show 100 more", 500 - seen);
    json!({ "all": LOCKS, "seen": seen, "first": name(first), "copied": LOCKS, "last": name(last),
        "more": more })
}

pub(super) fn check_steps(browser: &mut Browser) {
    let most = "Math.max(...[...document.querySelectorAll('table')].map(table =>
      [...table.tBodies].filter(body => body.getClientRects().length).length))";
    assert_eq!(browser.value(most), json!(STEP), "no table is longer");
    assert_eq!(table(browser), expected(STEP, [0, LOCKS - 1]));
    browser.value("document.querySelector('#contended .more button').focus()");
    browser.press("Enter");
    assert_eq!(table(browser), expected(2 * STEP, [0, LOCKS - 1]));
    // Sorted as a whole: of the shortest waits, not of those that are seen.
    browser.value(
        "(() => { const heads = [...document.querySelectorAll('#contended thead th')];
           const button = heads.find(it => it.textContent === 'wait').querySelector('button');
           button.click(); button.click(); })()",
    );
    let sorted = expected(2 * STEP, [LOCKS - 1, 0]);
    assert_eq!(table(browser), sorted);
    // What is found is seen wherever it stands.
    set(browser, "search", "Lock1234", "input");
    let found = table(browser);
    assert_eq!((&found["seen"], &found["copied"]), (&json!(1), &json!(1)), "{found}");
    assert_eq!(
        (&found["first"], &found["more"]),
        (&json!("a.Lock1234#1235"), &json!("")),
        "{found}"
    );
    set(browser, "search", "", "input");
    assert_eq!(table(browser), sorted);
    let named = "(() => { document.querySelector('#contended .more button').click();
      const last = [...document.querySelectorAll('#contended tbody')]
        .filter(body => body.getClientRects().length).at(-1);
      return Boolean(last.rows[0].cells[2].dataset.name); })()";
    assert_eq!(browser.value(named), true, "on a narrow screen, values have their names");
}
