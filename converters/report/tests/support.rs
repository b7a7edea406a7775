//! Reports made by hand, for the tests of what draws them.
#![allow(dead_code, reason = "no test needs all of it")]

use std::io::Write;
use tyrion_report::{
    About, Answer, InBrief, Report, ReportOptions, Section, Shown, View,
    findings::{LogFacts, ProgramCode},
    glance::{Band, Block, Doing, Glance, GlanceLock, Heat, Most},
    render::html::Flame,
    view::{
        ChainNode, ChainTree, Column, Detail, Node, Part, Row, Table, TableCell, Timeline, Tree,
    },
};

/// A section that says what it is told.
pub const fn section(name: &'static str, title: &'static str) -> Section {
    Section {
        name,
        title,
        means: "Locks that threads waited for, the one that cost most first.",
        advice: "Do less under the first of them, take it more seldom, or split it.",
        about: About::All,
        in_brief: InBrief::Never,
        schema: tyrion_report::schema_of::<()>,
        answer: |_, _| Answer::default(),
    }
}

static CONTENDED: Section =
    Section { in_brief: InBrief::InDetail, ..section("contended", "Contended locks") };
static BLOCKERS: Section = section("blockers", "Who blocks whom");
static TIMELINE: Section = section("timeline", "Timeline");
static TREE: Section = section("tree", "Tree");
static CHAINS: Section = section("wait-chains", "Wait chains");
static NEAR_MISSES: Section = section("near-misses", "Near misses");
static OVERVIEW: Section = Section { in_brief: InBrief::Always, ..section("overview", "Overview") };

/// A section with a view.
pub fn shown(section: &'static Section, parts: Vec<Part>, lacking: &str) -> Shown {
    let json = serde_json::json!({ "rows": parts.len() });
    Shown {
        section,
        answer: Answer { json, view: View { parts }, lacking: lacking.to_owned(), advises: true },
    }
}

/// A report of these sections.
pub fn report(sections: Vec<Shown>) -> Report {
    let log = LogFacts {
        log: "bank.log".to_owned(),
        pid: Some(4242),
        program: "com.acme.bank.Main".to_owned(),
        jvm: "OpenJDK 64-Bit Server VM 17.0.9".to_owned(),
        mode: "trace".to_owned(),
        mode_spans: Vec::new(),
        hold: "1/64".to_owned(),
        parks: String::new(),
        start: Some("2023-11-14T22:13:20Z".to_owned()),
        start_wall_ns: Some(START_NS),
        duration_ns: Some(12_345_678_901),
        threshold_ns: Some(10_000),
        is_summed: false,
        dumps: 0,
        has_modes: true,
        is_attached: false,
        processors: Some(2),
        complete: true,
    };
    Report {
        version: "1.2.3",
        logs: vec![log],
        notes: vec!["3 waits had not ended".to_owned()],
        damage: vec!["bank.log: the chunk at byte 8192 is damaged".to_owned()],
        options: ReportOptions::default(),
        sections,
        glance: None,
        program: ProgramCode::default(),
        trace_adds: String::new(),
    }
}

const START_NS: u64 = 1_700_000_000_000_000_000;

/// Words in a cell.
pub fn words(text: impl Into<String>) -> TableCell {
    TableCell::Text(text.into())
}

/// A column with a name.
pub const fn column(name: &'static str, expendable: u8) -> Column {
    Column { name, help: "What the column says.", expendable }
}

fn frames(class: &str, depth: u32) -> Vec<String> {
    let method = |at| format!("com.acme.bank.{class}.step{at}({class}.java:{})", 10 + at);
    let park = "java.util.concurrent.locks.LockSupport.park(LockSupport.java:211)".to_owned();
    std::iter::once(park).chain((0..depth).map(method)).collect()
}

fn contended() -> Table {
    let row = |name: &str, count: u64, wait_ns: u64, share: f64, held: TableCell| Row {
        cells: vec![
            words(name),
            words("monitor"),
            TableCell::Count(count),
            TableCell::Share(share),
            TableCell::Ns(wait_ns),
            TableCell::Ns(wait_ns / count.max(1)),
            held,
            TableCell::Unknown,
        ],
        details: vec![
            Detail {
                title: "hottest waiter, 83.1 % of the wait".to_owned(),
                lines: frames("Ledger", 5),
            },
            Detail { title: "hottest holder".to_owned(), lines: frames("Audit", 1) },
        ],
    };
    let columns = [
        ("lock", 0),
        ("kind", 3),
        ("contended", 0),
        ("miss", 1),
        ("wait", 0),
        ("mean", 1),
        ("hold", 2),
        ("never known", 0),
    ];
    Table {
        title: "Locks".to_owned(),
        columns: columns.map(|(name, expendable)| column(name, expendable)).to_vec(),
        rows: vec![
            row(
                "Ledger.lock (java.util.concurrent.locks.ReentrantLock$NonfairSync)",
                12_345,
                18_316_544_451,
                0.4215,
                TableCell::Ns(5_123),
            ),
            row("com.acme.bank.AuditLog", 7, 16_512_345, 0.0001, TableCell::Unknown),
            Row {
                cells: vec![
                    words("漢字 lock"),
                    words("lock"),
                    TableCell::Count(1),
                    TableCell::Unknown,
                    TableCell::Ns(1),
                    TableCell::Number(1.5),
                    TableCell::Unknown,
                    TableCell::Unknown,
                ],
                details: Vec::new(),
            },
        ],
        left_out: 1_234,
    }
}

fn timeline() -> Timeline {
    let boxes =
        |seed: u64| (0..150).map(|at| (at * at * seed) % 97 * (at % 5) * 1_000_000).collect();
    Timeline {
        title: "Wait per lock".to_owned(),
        start_wall_ns: START_NS,
        box_ns: 100_000_000,
        rows: vec![
            ("com.acme.bank.AuditLog".to_owned(), boxes(3)),
            (
                "Ledger.lock (java.util.concurrent.locks.ReentrantLock$NonfairSync)".to_owned(),
                boxes(7),
            ),
            ("idle".to_owned(), vec![0; 150]),
        ],
    }
}

/// A tree of a few frames.
pub fn tree() -> Tree {
    let node = |depth, name: &str, cumulative_ms: u64, method_ms: u64, states: &str| Node {
        depth,
        name: name.to_owned(),
        cumulative_ns: cumulative_ms * 1_000_000,
        method_ns: method_ms * 1_000_000,
        states: states.to_owned(),
    };
    Tree {
        title:
            "Aggregated thread: pool--thread-. Max depth: 5. Distinct threads: 1 [pool-1-thread-1]"
                .to_owned(),
        nodes: vec![
            node(0, "com.acme.Work.step(Work.java:10)", 510, 0, "run 88% sleep 12%"),
            node(1, "com.acme.Work.cpu(Work.java:20)", 440, 40, "run 100%"),
            node(2, "java.util.HashMap.hash(HashMap.java:6)", 400, 400, "run 100%"),
            node(1, "java.lang.Thread.sleep(Thread.java:7)", 60, 60, "sleep 100%"),
            node(1, "com.acme.Work.log(Work.java:33)", 10, 10, "run 100%"),
            node(0, "[no Java frame]", 1, 1, "nat 100%"),
        ],
    }
}

fn lines() -> Table {
    let row = |count, name: &str, states: &str| Row {
        cells: vec![
            TableCell::Count(count),
            words(name),
            TableCell::Ns(count * 10_000_000),
            words(states),
        ],
        details: Vec::new(),
    };
    let columns = ["samples", "line", "real time", "states"];
    Table {
        title: String::new(),
        columns: columns.map(|name| column(name, 0)).to_vec(),
        rows: vec![
            row(12_345, "com.acme.Work.cpu:20", "run 100%"),
            row(
                7,
                "com.acme.bank.ledger.accounts.DoubleEntryBookkeeping.transferBetweenAccountsOfTheSameCustomer:1234",
                "blk 71% run 29%",
            ),
        ],
        left_out: 3,
    }
}

/// Two ends of chains, one of which others wait for through others.
fn chains() -> ChainTree {
    let node = |depth, who: &str, what: &str, ms: u64| ChainNode {
        depth,
        who: who.to_owned(),
        what: what.to_owned(),
        ns: ms * 1_000_000,
    };
    ChainTree {
        title: "Who waits for whom".to_owned(),
        // The chains that were cut off have the rest.
        all_ns: 12_000_000_000,
        nodes: vec![
            node(0, "flusher", "runs", 7_000),
            node(1, "ledger-*", "Ledger.lock (java.util.concurrent.locks.ReentrantLock)", 6_000),
            node(
                2,
                "http-*",
                "com.acme.bank.Accounts.byNumberOfTheCustomer (java.util.concurrent.locks.ReentrantReadWriteLock)",
                4_500,
            ),
            node(2, "reports", "com.acme.bank.Accounts", 500),
            node(1, "audit", "AuditLog.lock (java.lang.Object#7)", 1_000),
            node(0, "http-*", "waits in a ring", 3_000),
            node(1, "ledger-*", "Cache.lock (a.Lock)", 4),
        ],
        left_out: 12,
    }
}

/// All that a view can have.
pub fn sample() -> Report {
    let facts = vec![
        ("Program".to_owned(), words("com.acme.bank.Main (pid 4242)")),
        ("Share of the threads' time".to_owned(), TableCell::Share(0.2345)),
        (
            "JVM".to_owned(),
            words(
                "OpenJDK 64-Bit Server VM 17.0.9+9-LTS (a name that is so long that it takes more than a line of a terminal)",
            ),
        ),
    ];
    let sentence = "One lock, Ledger.lock, stands for nine tenths of all the time that threads \
                    waited, and most of that was waited while Audit.step0 held it.";
    let mut report = report(vec![
        shown(&OVERVIEW, vec![Part::Facts(facts), Part::Text(sentence.to_owned())], ""),
        shown(
            &CONTENDED,
            vec![
                Part::Table(contended()),
                Part::Table(Table { title: "Nothing".to_owned(), ..Table::default() }),
            ],
            "needs --mode trace: acquisitions, holds and who held the locks.",
        ),
        shown(&TIMELINE, vec![Part::Timeline(timeline()), Part::Timeline(Timeline::default())], ""),
        shown(&CHAINS, vec![Part::Chains(chains()), Part::Chains(ChainTree::default())], ""),
        shown(
            &TREE,
            vec![
                Part::Listing(lines()),
                Part::Heading("Report interval: from then till now".to_owned()),
                Part::Tree(tree()),
                Part::Tree(Tree { title: "Aggregated thread: none".to_owned(), nodes: Vec::new() }),
            ],
            "",
        ),
    ]);
    report.sections.push(blockers());
    report.glance = Some(glance("Ledger.lock (java.lang.Object)", "http-*"));
    report
}

/// The same in brief, of a log of contention mode.
pub fn brief() -> Report {
    let mut report = sample();
    report.options.brief = true;
    report.trace_adds = "--mode trace adds: Near misses; and more to: Contended locks.".to_owned();
    let lacking = "needs --mode trace: only then is it recorded who takes which lock";
    report.sections.push(shown(&NEAR_MISSES, Vec::new(), lacking));
    report
}

/// What must do no harm anywhere.
pub const HOSTILE: [&str; 6] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<!-- &lt;b&gt; ]]> -->",
    "\u{1b}[31mred\u{7}\u{0}\n\u{202e}txt.exe",
    "javascript:alert(1)",
];

/// A report in which everything that a log can say is hostile.
pub fn hostile() -> Report {
    let all = || HOSTILE.iter().map(|text| (*text).to_owned());
    let details: Vec<Detail> =
        all().map(|text| Detail { title: text, lines: all().collect() }).collect();
    let rows = all().map(|text| Row {
        cells: vec![words(text), TableCell::Count(1)],
        details: details.clone(),
    });
    let table = Table {
        title: HOSTILE.concat(),
        columns: vec![column("lock", 0), column("waits", 0)],
        rows: rows.collect(),
        left_out: 0,
    };
    let timeline = Timeline {
        title: HOSTILE.concat(),
        start_wall_ns: u64::MAX,
        box_ns: u64::MAX,
        rows: all().map(|text| (text, vec![0, 1, u64::MAX])).collect(),
    };
    let step = |(depth, who): (usize, String)| ChainNode { depth, what: who.clone(), who, ns: 1 };
    let chains = ChainTree {
        title: HOSTILE.concat(),
        all_ns: 6,
        nodes: all().enumerate().map(step).collect(),
        left_out: 0,
    };
    let node = |(depth, name)| Node { depth, name, states: HOSTILE.concat(), ..Node::default() };
    let tree = Tree { title: HOSTILE.concat(), nodes: all().enumerate().map(node).collect() };
    let parts = vec![
        Part::Heading(HOSTILE.concat()),
        Part::Tree(tree),
        Part::Listing(table.clone()),
        Part::Text(HOSTILE.concat()),
        Part::Facts(all().map(|text| (text.clone(), words(text))).collect()),
        Part::Table(table),
        Part::Timeline(timeline),
        Part::Chains(chains),
    ];
    let mut report = report(vec![shown(&CONTENDED, parts, &HOSTILE.concat()), blockers()]);
    report.notes = all().collect();
    report.damage = all().collect();
    report.glance = Some(glance(&HOSTILE.concat(), &HOSTILE.concat()));
    let [log] = &mut report.logs[..] else { panic!("one log") };
    (log.log, log.program, log.jvm) = (HOSTILE.concat(), HOSTILE.concat(), HOSTILE.concat());
    report
}

/// What the page shows as a picture, too.
fn blockers() -> Shown {
    shown(&BLOCKERS, vec![Part::Text("All waits are charged.".to_owned())], "")
}

/// A first screen with these names.
pub fn glance(lock: &str, thread: &str) -> Glance {
    let band = |what, ns: [u64; 3]| Band { what, ns: ns.to_vec() };
    let most = |name: &str, percent| Most { name: name.to_owned(), percent };
    Glance {
        start_wall_ns: START_NS,
        box_ns: 1_000_000_000,
        phase_ns: 1_000_000_000,
        lived_ns: vec![2_000_000_000; 3],
        bands: vec![
            band(Doing::Lock(0, lock.to_owned()), [0, 500_000_000, 0]),
            band(Doing::OtherLocks, [0; 3]),
            band(Doing::Ran, [2_000_000_000, 1_500_000_000, 1_000_000_000]),
            band(Doing::Idle, [0, 0, 1_000_000_000]),
        ],
        stopped_ns: vec![0, 20_000_000, 0],
        locks: vec![GlanceLock {
            label: lock.to_owned(),
            place: Some(0),
            wait_ns: 500_000_000,
            hold_ns: Some(700_000_000),
            over_time_ns: vec![0, 500_000_000, 0],
            waiter: most(thread, 100),
            holder: most("main", 67),
            ..GlanceLock::default()
        }],
        heat: vec![Heat { label: lock.to_owned(), waits: vec![(1, 28, 1), (1, 20, 90)] }],
        blocks: vec![Block {
            holders: "main".to_owned(),
            waiters: thread.to_owned(),
            label: lock.to_owned(),
            place: Some(0),
            ns: 400_000_000,
        }],
        other_blocks_ns: 100_000_000,
    }
}

/// A flame graph of no size to speak of.
pub fn flame() -> Flame {
    let mut flame = Flame::new("Waits, by who waited", 0);
    let lines = "[main];com.acme.Cache.get;[monitor] Cache.map (java.lang.Object) 102000\n\
                 [<b>\"&'];com.acme.<init>;[lock] </script><script>alert(1) 30000\n";
    flame.write_all(lines.as_bytes()).expect("a flame graph takes all lines");
    flame
}
