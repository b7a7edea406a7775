//! The report's page, as people use it: with a pointer, with keys, on screens of all
//! sizes, on paper, and read aloud.

use crate::{
    looks::colours,
    support::{Browser, Jdk, Program, needs, on_jdks, root, stdout_of, text, tyrion},
};
use serde_json::{Value, json};

mod many;
mod selecting;

on_jdks!(page_in_a_browser: one);

/// The longest page that is still quick to load.
const MOST_BYTES: u64 = 5 << 20;
/// Widths of a phone, a laptop and a large screen, in CSS pixels.
const WIDTHS: [(u32, u32); 3] = [(360, 740), (1280, 800), (2200, 1200)];

fn page_in_a_browser(jdk: &Jdk) {
    if !needs(&["chromium", "identify", "base64"]) {
        return;
    }
    let program = Program::class(jdk, "com.acme.bank.BankServer --seconds 2");
    let recording = program.option("--mode=trace+sample").record();
    let mut browser = Browser::start();
    let page = browser.path("report.html");
    stdout_of(tyrion().args(["report", "--html", "-o", text(&page)]).arg(&recording.log));
    let length = page.metadata().unwrap().len();
    assert!(length < MOST_BYTES, "{length} bytes");

    let url = format!("file://{}", text(&page));
    browser.resize(1280, 800);
    browser.open(&url);
    check_first_screen(&mut browser);
    check_picking(&mut browser, &url);
    selecting::check_spans(&mut browser, &url);
    selecting::check_rectangles(&mut browser, &url);
    selecting::check_blocking(&mut browser, &url);
    check_sorting(&mut browser);
    check_copying(&mut browser);
    check_rows_that_open(&mut browser);
    check_filters(&mut browser, &url);
    check_text(&mut browser, &url);
    check_keys(&mut browser, &url);
    check_graphs(&mut browser, &url);
    check_folding(&mut browser, &url);
    check_reading(&mut browser, &url);
    check_layout(&mut browser, &url);
    check_paper(&mut browser);
    let logged = browser.console();
    assert!(logged.is_empty(), "{logged:#?}");
}

/// Rows whose first cell is a number open as others do, and graphs of threads tell no durations.
#[test]
fn page_of_thread_dumps_in_a_browser() {
    if !needs(&["chromium", "base64"]) {
        return;
    }
    let dump = root().join("testdata/inputs/dumps/hotspot-7-deadlock.txt");
    let mut browser = Browser::start();
    let page = browser.path("report.html");
    stdout_of(tyrion().args(["report", "--html", "-o", text(&page), text(&dump)]));
    browser.open(&format!("file://{}", text(&page)));
    let told = browser.value(
        "(() => {
          const mark = document.querySelector('tbody.opens th.n .open');
          const drawn = getComputedStyle(mark, '::before');
          const whole = document.querySelector('.graph .f').title;
          const head = document.querySelector('header').textContent;
          const has = ['thread dumps', '1 thread dump', 'sums of waits'].map(it => head.includes(it));
          return [drawn.visibility, drawn.content, whole, ...has];
        })()",
    );
    assert_eq!(
        told,
        json!(["visible", "\"▸\"", "all, 10 threads in dumps, 100.0 %", true, true, false])
    );
}

/// Thousands of locks, each waited for by a thread of its own.
#[test]
fn page_of_many_locks_in_a_browser() {
    if !needs(&["chromium", "base64"]) {
        return;
    }
    let mut browser = Browser::start();
    let (log, page) = (browser.path("many.log"), browser.path("report.html"));
    many::write_log(&log);
    stdout_of(tyrion().args(["report", "--html", "--top", "0", "-o", text(&page)]).arg(&log));
    browser.resize(1280, 800);
    browser.open(&format!("file://{}", text(&page)));
    many::check_steps(&mut browser);
    let logged = browser.console();
    assert!(logged.is_empty(), "{logged:#?}");
}

fn numbers(value: &Value) -> Vec<f64> {
    // What is not known, such as how often a lock of the JVM's own was taken, has no
    // number.
    value.as_array().unwrap().iter().filter_map(Value::as_f64).collect()
}

/// Verdict, picture and the table of the worst locks are there without scrolling.
fn check_first_screen(browser: &mut Browser) {
    browser.resize(1280, 720);
    browser.await_drawing();
    let told = browser.value(
        "(() => {
          const box = it => document.querySelector(it).getBoundingClientRect();
          const [verdict, picture] = [box('#verdict'), box('#over-time .shares svg')];
          const rows = [...document.querySelectorAll('#worst-locks tbody tr')];
          const colour = it => getComputedStyle(it)[it.tagName === 'path' ? 'fill' : 'backgroundColor'];
          const first = document.querySelector('#worst-locks tbody');
          const data = JSON.parse(document.getElementById('span-data').textContent);
          return {
            beside: verdict.right <= picture.left && picture.height > 100,
            bottoms: rows.map(row => row.getBoundingClientRect().bottom),
            lock: first.querySelector('a.of-lock').textContent,
            same: [first.querySelector('.key'), first.querySelector('path'),
              document.querySelector('.shares path[data-lock]')].map(colour),
            drawn: document.querySelectorAll('.shares path').length,
            peaks: [...document.querySelectorAll('.worst .peak')].map(it => it.textContent),
            most: data.locks.map(ns => Math.max(...ns) / data.box_ns),
            ticks: Boolean(document.querySelector('.shares .stopped'))
              === document.querySelector('.bands').textContent.includes('ticks below'),
          };
        })()",
    );
    assert_eq!(told["beside"], true, "{told}");
    let bottoms = numbers(&told["bottoms"]);
    assert!(bottoms.len() > 1 && bottoms.iter().take(3).all(|bottom| *bottom < 720.0), "{told}");
    let colours = strings(&told["same"]);
    assert!(colours.iter().all(|colour| *colour == colours[0]), "{told}");
    assert!(told["drawn"].as_u64().unwrap() >= 4, "{told}");
    // Strips have a scale, and ticks are named.
    assert_eq!(told["ticks"], true, "{told}");
    let scale = |threads: &f64| match threads {
        few if *few < 0.1 => "< 0.1".to_owned(),
        threads => format!("≤ {threads:.1}"),
    };
    let scales: Vec<String> = numbers(&told["most"]).iter().map(scale).collect();
    assert_eq!(strings(&told["peaks"]), scales, "{told}");
    browser.resize(1280, 800);
}

/// A click on a lock filters all parts, and the same one again shows all.
fn check_picking(browser: &mut Browser, url: &str) {
    let all = shown(browser);
    for pick in [
        "document.querySelector('#worst-locks a.of-lock').click()",
        "document.querySelector('.shares path[data-lock]') \
           .dispatchEvent(new MouseEvent('click', { bubbles: true }))",
    ] {
        browser.open(url);
        browser.value(pick);
        let picked = shown(browser);
        assert!(picked["hash"].as_str().unwrap().starts_with("#lock="), "{picked}");
        assert!(strings(&picked["locks"]).len() < strings(&all["locks"]).len(), "{picked}");
        let marked = "[...document.querySelectorAll('a.of-lock[aria-current]')].length > 0 \
                      && document.querySelectorAll('.shares path.other').length > 0";
        assert_eq!(browser.value(marked), true);
        let heat = "document.querySelector('.heat-reading').textContent";
        let heat = browser.value(heat);
        let lock = browser.value("document.getElementById('by-lock').value");
        assert!(heat.as_str().unwrap().ends_with(lock.as_str().unwrap()), "{heat} {lock}");
        assert_eq!(heat.as_str().unwrap().split(' ').next(), waits_of(browser).as_deref());
        // The address is all that is needed.
        let address = format!("{url}{}", picked["hash"].as_str().unwrap());
        browser.open(&address);
        let again = shown(browser);
        assert_eq!(again["locks"], picked["locks"]);
        assert_eq!(again["whole"], picked["whole"]);
        browser.value(pick);
        assert_eq!(shown(browser)["locks"], all["locks"]);
    }
    browser.open(url);
}

/// How often threads waited for the locks that are shown.
fn waits_of(browser: &mut Browser) -> Option<String> {
    let waits = browser.value(
        "(() => {
          const table = document.querySelector('#contended table');
          const column = [...table.tHead.rows[0].cells].findIndex(it => it.textContent === 'contended');
          const shown = [...table.tBodies].filter(body => !body.hidden);
          const sum = shown.reduce((sum, body) => sum + +body.rows[0].cells[column].dataset.v, 0);
          return sum.toLocaleString('en');
        })()",
    );
    waits.as_str().map(str::to_owned)
}

/// What is copied is what is shown.
fn check_copying(browser: &mut Browser) {
    browser.value(
        "addEventListener('copy', event => { \
           window.copied = event.clipboardData.getData('text/plain'); })",
    );
    browser.value("document.querySelector('#contended .copy').focus()");
    browser.press("Enter");
    let copied = browser.value("window.copied");
    let copied = copied.as_str().unwrap();
    let rows = "document.querySelectorAll('#contended tbody').length";
    assert_eq!(Some(copied.lines().count() as u64 - 1), browser.value(rows).as_u64());
    assert!(copied.starts_with("lock\tkind\t"), "{copied}");
    let columns = |line: &str| line.matches('\t').count();
    assert!(copied.lines().all(|line| columns(line) == columns(copied.lines().next().unwrap())));
}

/// Twice sorted by the first column of numbers, and then as before.
fn check_sorting(browser: &mut Browser) {
    let told = browser.value(
        "(() => {
          const table = document.querySelector('#contended table');
          const heads = [...table.tHead.rows[0].cells];
          const column = heads.findIndex(head => head.classList.contains('n'));
          const values = () => [...table.tBodies].map(it => +it.rows[0].cells[column].dataset.v);
          const button = heads[column].querySelector('button');
          const told = [[values(), null]];
          for (let turn = 0; turn < 3; turn++) {
            button.click();
            told.push([values(), heads[column].getAttribute('aria-sort')]);
          }
          return told;
        })()",
    );
    let (before, descending, ascending, after) = (&told[0], &told[1], &told[2], &told[3]);
    assert!(numbers(&before[0]).len() > 2, "{told}");
    assert!(numbers(&descending[0]).is_sorted_by(|a, b| a >= b), "{told}");
    assert!(numbers(&ascending[0]).is_sorted(), "{told}");
    assert_eq!((&descending[1], &ascending[1]), (&json!("descending"), &json!("ascending")));
    assert_eq!(before, after);
}

fn check_rows_that_open(browser: &mut Browser) {
    let told = browser.value(
        "(() => {
          const body = document.querySelector('#contended tbody.opens');
          const seen = () => [...body.rows].map(row => row.getClientRects().length > 0);
          const told = [seen()];
          body.querySelector('.open').click();
          return [...told, seen(), body.querySelector('.open').getAttribute('aria-expanded')];
        })()",
    );
    assert_eq!(told, json!([[true, false], [true, true], "true"]));
}

/// What is shown: rows about locks and about threads, and the whole of each graph.
const SHOWN: &str = "(() => {
  const rows = what => [...document.querySelectorAll('table')].flatMap(table => {
    const heads = [...table.tHead.rows[0].cells];
    const columns = heads.flatMap((head, at) => head.dataset.of === what ? [at] : []);
    return columns.length === 0 ? [] : [...table.tBodies].filter(body => !body.hidden)
      .map(body => columns.map(at => body.rows[0].cells[at].textContent.trim()).join(' / '));
  });
  const whole = [...document.querySelectorAll('.graph')].map(it =>
    it.classList.contains('nothing') ? '' : it.querySelector('.f').title);
  return { locks: rows('lock'), threads: rows('thread'), whole, hash: location.hash,
    found: document.getElementById('found').textContent };
})()";

fn shown(browser: &mut Browser) -> Value {
    browser.await_drawing();
    browser.value(SHOWN)
}

/// Sets a control as its user does.
fn set(browser: &mut Browser, control: &str, value: &str, event: &str) {
    browser.value(&format!(
        "(() => {{ const it = document.getElementById({}); it.value = {}; \
         it.dispatchEvent(new Event({}, {{ bubbles: true }})); }})()",
        json!(control),
        json!(value),
        json!(event)
    ));
}

/// Steps back in the browser's history, until the address is what it was.
fn step_back(browser: &mut Browser, expected: &Value) {
    step_back_to(browser, expected["hash"].as_str().unwrap());
    assert_eq!(&shown(browser), expected);
}

fn step_back_to(browser: &mut Browser, hash: &str) {
    browser.value(
        "new Promise(done => { addEventListener('popstate', () => setTimeout(done), \
         { once: true }); history.back(); })",
    );
    assert_eq!(browser.value("location.hash"), hash);
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn check_filters(browser: &mut Browser, url: &str) {
    let all = shown(browser);
    let audit = |name: &&str| name.contains("AuditLog");
    assert!(strings(&all["locks"]).iter().any(|name| !audit(name)), "{all}");
    assert_eq!(all["found"], "");

    set(browser, "by-lock", "com.acme.bank.AuditLog", "change");
    let locked = shown(browser);
    assert_eq!(locked["hash"], "#lock=com.acme.bank.AuditLog");
    let locks = strings(&locked["locks"]);
    assert!(!locks.is_empty() && locks.iter().all(audit), "{locked}");
    assert!(locked["found"].as_str().unwrap().contains(" of "), "{locked}");
    // All parts at once: rows about threads, and graphs.
    assert!(strings(&locked["threads"]).iter().any(|name| name.starts_with("teller-")));
    assert!(strings(&locked["threads"]).len() < strings(&all["threads"]).len(), "{locked}");
    for (narrowed, whole) in strings(&locked["whole"]).iter().zip(strings(&all["whole"])) {
        assert_ne!(*narrowed, whole);
    }

    set(browser, "by-thread", "teller-1", "change");
    let both = shown(browser);
    assert_eq!(both["hash"], "#thread=teller-1&lock=com.acme.bank.AuditLog");
    assert!(strings(&both["locks"]).iter().all(audit), "{both}");
    // In one of the columns: of those who wait, and of those who are waited for.
    let is_of = |names: &&str| names.split(" / ").any(|it| it == "teller-1" || it == "teller-*");
    assert!(strings(&both["threads"]).iter().all(is_of), "{both}");
    assert_ne!(both["whole"], locked["whole"]);

    step_back(browser, &locked);
    step_back(browser, &all);
    assert_eq!(browser.value("document.getElementById('by-lock').value"), "");

    // An address says it all, and may be written by hand.
    for hash in ["#thread=teller-1&lock=com.acme.bank.AuditLog", "#lock=AuditLog&thread=teller-1"] {
        browser.open(&format!("{url}{hash}"));
        let opened = shown(browser);
        for part in ["locks", "threads", "whole", "found"] {
            assert_eq!(opened[part], both[part], "{hash}");
        }
    }
    browser.value("document.getElementById('reset').click()");
    assert_eq!(shown(browser)["locks"], all["locks"]);
    // A link to a part keeps the filters, and leads there.
    browser.open(&format!("{url}#lock=AuditLog&at=timeline"));
    let top = "document.getElementById('timeline').getBoundingClientRect().top";
    let top = browser.value(top).as_f64().unwrap();
    assert!((0.0..400.0).contains(&top), "{top}");
    browser.value("document.querySelector('nav a[href=\"#contended\"]').click()");
    assert_eq!(shown(browser)["hash"], "#lock=com.acme.bank.AuditLog&at=contended");
}

/// A text filters rows, stacks included, and marks frames.
fn check_text(browser: &mut Browser, url: &str) {
    browser.open(url);
    set(browser, "search", "auditlog", "input");
    let found = shown(browser);
    assert_eq!(found["hash"], "#text=auditlog");
    let told = browser.value(
        "(() => {
          const bodies = [...document.querySelectorAll('tbody')].filter(body => !body.hidden);
          const graphs = [...document.querySelectorAll('.graph')];
          return {
            rows: bodies.length,
            matching: bodies.every(body => body.textContent.toLowerCase().includes('auditlog')),
            hits: graphs.map(graph => graph.querySelectorAll('.hit').length),
            reading: graphs.map(graph => graph.querySelector('.reading').textContent),
          };
        })()",
    );
    assert!(told["rows"].as_u64().unwrap() > 0 && told["matching"] == true, "{told}");
    let hits = told["hits"].as_array().unwrap();
    assert!(hits.iter().filter(|hits| hits.as_u64().unwrap() > 0).count() >= 3, "{told}");
    assert!(strings(&told["reading"]).iter().all(|it| it.contains("matches “auditlog”")), "{told}");
}

fn active(browser: &mut Browser) -> String {
    let active = "(() => { const it = document.activeElement; \
                  return it.id || it.getAttribute('href') || it.className; })()";
    browser.value(active).as_str().unwrap().to_owned()
}

/// From the first key on, without a pointer.
fn check_keys(browser: &mut Browser, url: &str) {
    browser.open(url);
    browser.press("Tab");
    assert_eq!(active(browser), "#main");
    browser.press("Enter");
    assert_eq!(active(browser), "main");
    // Everything that a click does, a key reaches.
    let unreachable = browser.value(
        "[...document.querySelectorAll('button, select, input, a, summary')] \
           .filter(it => it.tabIndex < 0 && !it.classList.contains('f')).length",
    );
    assert_eq!(unreachable, 0);
    browser.value("document.querySelector('#contended .open').focus()");
    browser.press("Enter");
    let expanded = "document.activeElement.getAttribute('aria-expanded')";
    assert_eq!(browser.value(expanded), "true");
}

/// One graph with keys, and at another width.
fn check_graphs(browser: &mut Browser, url: &str) {
    browser.open(url);
    let focused = |browser: &mut Browser| {
        let title = "document.activeElement.title";
        browser.value(title).as_str().unwrap().to_owned()
    };
    browser.value("document.querySelector('.flame [tabindex=\"0\"]').focus()");
    let whole = focused(browser);
    assert!(whole.starts_with("all, ") && whole.ends_with(", 100.0 %"), "{whole}");
    browser.press("ArrowDown");
    let child = focused(browser);
    assert_ne!(child, whole);
    browser.press("Enter");
    assert_eq!(focused(browser), child, "it stays in focus");
    let wide = "(() => { const it = document.activeElement; \
                return it.offsetWidth >= it.parentElement.clientWidth - 1; })()";
    assert_eq!(browser.value(wide), true);
    browser.press("Escape");
    assert_eq!(focused(browser), whole);
    browser.press("ArrowDown");
    browser.press("ArrowUp");
    assert_eq!(focused(browser), whole);
    for (width, height) in WIDTHS {
        browser.resize(width, height);
        let fits = browser.value(
            "[...document.querySelectorAll('.flame')].every(flame => [...flame.children].every(it => \
               it.offsetLeft + it.offsetWidth <= flame.clientWidth + 1 && \
               it.offsetTop + it.offsetHeight <= flame.clientHeight))",
        );
        assert_eq!(fits, true, "{width}");
    }
    browser.resize(1280, 800);
}

/// Frames that are not the program's own are folded and open; graphs of waits begin at
/// the lock and can be turned.
fn check_folding(browser: &mut Browser, url: &str) {
    browser.open(url);
    let told = browser.value(
        "(() => {
          const graph = [...document.querySelectorAll('.graph')]
            .find(it => it.querySelector('h3').textContent === 'Waits, by who waited');
          const at = name => [...graph.querySelectorAll('.f' + name)];
          const told = [at('.lock').length > 0 && at('.lock').every(it => it.style.top === '20px')];
          graph.querySelector('.turn').click();
          told.push(at('.lock').every(it => it.style.top !== '20px'), at('.own').length > 0);
          const [folded, before] = [at('.folded')[0], at('').length];
          told.push(/^\\d+ frames of java/.test(folded.title));
          folded.click();
          told.push(at('').length > before);
          return told;
        })()",
    );
    assert_eq!(told, json!([true, true, true, true, true]));
}

/// The page as screen readers have it.
fn check_reading(browser: &mut Browser, url: &str) {
    browser.open(url);
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let nodes: Vec<&Value> =
        tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] == false).collect();
    let of = |role: &str| -> Vec<&&Value> {
        nodes.iter().filter(|node| node["role"]["value"] == role).collect()
    };
    for landmark in ["banner", "navigation", "main", "search"] {
        assert_eq!(of(landmark).len(), 1, "{landmark}");
    }
    for role in ["table", "button", "link", "combobox", "searchbox", "region", "columnheader"] {
        let found = of(role);
        assert!(!found.is_empty(), "no {role}");
        let nameless = found.iter().filter(|node| node["name"]["value"] == "");
        assert_eq!(nameless.count(), 0, "{role} without a name");
    }
    assert!(!of("rowheader").is_empty());
    let levels = browser.value(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map(heading => +heading.tagName[1])",
    );
    let levels: Vec<u64> =
        levels.as_array().unwrap().iter().map(|level| level.as_u64().unwrap()).collect();
    assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
}

/// What stands outside of the page, is cut off, or lies over something else.
const MISPLACED: &str = "(() => {
  const wrong = [];
  const is = (what, it) => wrong.push(what + ': ' + it.tagName + '.' + it.className + ' ' + it.textContent.slice(0, 60));
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push('the page is too wide');
  const shown = [...document.body.querySelectorAll('*')].filter(it =>
    it.getClientRects().length && !it.closest('.skip, caption, .flame, svg'));
  // On a narrow screen the line of links scrolls by itself.
  const slides = it => width < 701 && it.closest('nav li');
  for (const it of shown.filter(it => !slides(it))) {
    const box = it.getBoundingClientRect();
    const scrolls = it.closest('.scroll, .tree');
    if (!scrolls && (box.right > width + 1 || box.left < -1)) is('outside', it);
    if (scrolls && width < 701 && box.right > width + 1) is('outside', it);
    const style = getComputedStyle(it);
    if (style.overflowX === 'hidden' && it.scrollWidth > it.clientWidth + 1) is('cut off', it);
  }
  const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const groups = [...document.querySelectorAll('.axis, nav ul, .tools, thead tr, tbody > tr:first-child, dl div')];
  for (const group of groups) {
    const boxes = [...group.children].filter(it => it.getClientRects().length)
      .map(it => it.getBoundingClientRect());
    boxes.forEach((box, at) => boxes.slice(at + 1).forEach(other => {
      if (overlap(box, other)) is('overlap', group);
    }));
  }
  return wrong.slice(0, 10);
})()";

fn check_layout(browser: &mut Browser, url: &str) {
    for scheme in ["light", "dark"] {
        browser.look("", scheme);
        for (width, height) in WIDTHS {
            browser.resize(width, height);
            browser.open(url);
            let wrong = browser.value(MISPLACED);
            assert_eq!(wrong, json!([]), "{width} {scheme}");
            // What to do is on the first screen, however narrow that is.
            let advice = browser.value(
                "[...document.querySelectorAll('#verdict .verdict')]
                  .find(it => it.textContent.startsWith('→')).getBoundingClientRect().top",
            );
            assert!(advice.as_f64().unwrap() < f64::from(height), "{width}: advice at {advice}");
            let picture = browser.path("picture.png");
            browser.picture(&picture);
            assert!(colours(&picture) > 20, "{width} {scheme}: {} colours", colours(&picture));
        }
        let back = browser.value("getComputedStyle(document.body).backgroundColor");
        assert_eq!(back == "rgb(255, 255, 255)", scheme == "light", "{back}");
    }
}

fn check_paper(browser: &mut Browser) {
    browser.resize(794, 1123);
    browser.look("print", "light");
    let wrong = browser.value(MISPLACED);
    assert_eq!(wrong, json!([]), "on paper");
    let controls = browser.value("document.querySelector('nav').getClientRects().length");
    assert_eq!(controls, 0, "nothing on paper can be clicked");
    browser.look("", "light");
}
