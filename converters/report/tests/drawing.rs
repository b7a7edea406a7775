//! What holds for whatever is drawn.

use crate::support;
use proptest::{collection::vec, prelude::*};
use tyrion_report::{
    Report, View,
    render::{
        html,
        text::{self, MAX_WIDTH, Style},
    },
    view::{
        ChainNode, ChainTree, Column, Detail, Node, Part, Row, Table, TableCell, Timeline, Tree,
    },
};
use unicode_width::UnicodeWidthChar;

/// Names as programs have them, and worse.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,9}(\\.[a-zA-Z$]{1,14}){0,9}",
        "\\PC{0,40}",
        any::<String>(),
        "[漢字é\u{301}\u{1f469}]{0,90}",
    ]
}

fn cell() -> impl Strategy<Value = TableCell> {
    prop_oneof![
        name().prop_map(TableCell::Text),
        any::<u64>().prop_map(TableCell::Count),
        any::<u64>().prop_map(TableCell::Ns),
        any::<f64>().prop_map(TableCell::Share),
        any::<f64>().prop_map(TableCell::Number),
        any::<f64>().prop_map(TableCell::NsRate),
        any::<f64>().prop_map(TableCell::NsChange),
        any::<u64>().prop_map(TableCell::After),
        (-1e9..1e9).prop_map(TableCell::Number),
        Just(TableCell::Unknown),
    ]
}

fn detail() -> impl Strategy<Value = Detail> {
    (name(), vec(name(), 0..9)).prop_map(|(title, lines)| Detail { title, lines })
}

fn table() -> impl Strategy<Value = Table> {
    const NAMES: [&str; 6] = ["lock", "p99", "total wait", "", "a heading of some length", "n"];
    let column = (0..NAMES.len(), 0u8..4).prop_map(|(name, expendable)| Column {
        name: NAMES[name],
        help: "<\"&>",
        expendable,
    });
    let row = (vec(cell(), 0..18), vec(detail(), 0..3))
        .prop_map(|(cells, details)| Row { cells, details });
    (name(), vec(column, 0..18), vec(row, 0..5), any::<usize>())
        .prop_map(|(title, columns, rows, left_out)| Table { title, columns, rows, left_out })
}

fn timeline() -> impl Strategy<Value = Timeline> {
    let row = (name(), vec(any::<u64>(), 0..300));
    (name(), any::<u64>(), any::<u64>(), vec(row, 0..4)).prop_map(
        |(title, start_wall_ns, box_ns, rows)| Timeline { title, start_wall_ns, box_ns, rows },
    )
}

fn chains() -> impl Strategy<Value = ChainTree> {
    let node = (0..40usize, name(), name(), any::<u64>())
        .prop_map(|(depth, who, what, ns)| ChainNode { depth, who, what, ns });
    (name(), any::<u64>(), vec(node, 0..9), any::<usize>())
        .prop_map(|(title, all_ns, nodes, left_out)| ChainTree { title, all_ns, nodes, left_out })
}

/// What sections about samples have.
fn sampled() -> impl Strategy<Value = Part> {
    let node = (any::<usize>(), name(), any::<u64>(), any::<u64>(), name()).prop_map(
        |(depth, name, cumulative_ns, method_ns, states)| {
            let depth = depth % 40;
            Node { depth, name, cumulative_ns, method_ns, states }
        },
    );
    let tree = (name(), vec(node, 0..9)).prop_map(|(title, nodes)| Tree { title, nodes });
    prop_oneof![
        tree.prop_map(Part::Tree),
        table().prop_map(Part::Listing),
        name().prop_map(Part::Heading),
    ]
}

fn view() -> impl Strategy<Value = View> {
    let part = prop_oneof![
        name().prop_map(Part::Text),
        vec((name(), cell()), 0..5).prop_map(Part::Facts),
        table().prop_map(Part::Table),
        timeline().prop_map(Part::Timeline),
        chains().prop_map(Part::Chains),
        sampled(),
    ];
    vec(part, 0..4).prop_map(|parts| View { parts })
}

fn columns(line: &str) -> usize {
    line.chars().map(|char| char.width().unwrap_or(0)).sum()
}

fn page(report: &Report) -> String {
    let mut page = Vec::new();
    html::write(report, &[support::flame()], &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// The elements of a page, in its order, as a browser would find them; and
/// that nothing else looks like one.
fn tags(page: &str) -> Vec<String> {
    let (_, rest) = page.split_once("</style>").unwrap();
    let (body, _) = rest.rsplit_once("<script>").unwrap();
    let tags = body.split('<').skip(1).map(|tag| {
        let (tag, text) = tag.split_once('>').expect("each tag ends");
        assert!(!text.contains('>'), "`{text}` after <{tag}>");
        tag.split([' ', '\n']).next().unwrap().trim_start_matches('/').to_owned()
    });
    tags.collect()
}

/// What the renderer itself puts into pages.
const TAGS: [&str; 47] = [
    "path",
    "body",
    "header",
    "p",
    "h1",
    "h2",
    "h3",
    "ul",
    "li",
    "nav",
    "a",
    "div",
    "input",
    "output",
    "button",
    "main",
    "section",
    "dl",
    "dt",
    "dd",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "figure",
    "figcaption",
    "ol",
    "span",
    "svg",
    "rect",
    "text",
    "title",
    "wbr",
    "label",
    "select",
    "option",
    "caption",
    "head",
    "html",
    "meta",
    "style",
    "script",
    "link",
    "details",
    "summary",
];

proptest! {
    #[test]
    fn no_line_is_too_long(view in view(), width in 0usize..400, coloured: bool) {
        let text = text::view(&view, &Style { width, coloured, chart: false });
        let width = width.clamp(80, MAX_WIDTH);
        for line in text.lines() {
            let mut plain = line.to_owned();
            for code in ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[33m", "\u{1b}[0m"] {
                plain = plain.replace(code, "");
            }
            prop_assert!(!plain.contains(char::is_control), "{plain:?}");
            prop_assert!(columns(&plain) <= width, "{} columns: {plain:?}", columns(&plain));
            prop_assert!(coloured || !plain.ends_with(' '), "{plain:?}");
        }
    }

    #[test]
    fn pages_hold_no_elements_but_ours(view in view(), more in view()) {
        let mut report = support::sample();
        report.sections[0].answer.view = more;
        report.sections[1].answer.view = view;
        let found = tags(&page(&report));
        prop_assert!(found.iter().all(|tag| TAGS.contains(&tag.as_str())));
    }
}

#[test]
fn hostile_names_stay_names() {
    let page = page(&support::hostile());
    let found = tags(&page);
    for tag in &found {
        assert!(TAGS.contains(&tag.as_str()), "<{tag}>");
    }
    assert!(!found.iter().any(|tag| ["img", "script", "b"].contains(&tag.as_str())));
    // Our own script is the only one, and it ends where we end it.
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    for text in ["onerror=alert(1)&gt;", "&lt;/script&gt;&lt;script&gt;alert(1)", "[31mred"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains(|char: char| char.is_control() && char != '\n'));
}

#[test]
fn advice_is_given_where_there_is_something_to_do() {
    for advises in [true, false] {
        let mut report = support::sample();
        report.sections.iter_mut().for_each(|shown| shown.answer.advises = advises);
        let text = text::write(&report, &Style::default());
        assert_eq!(text.contains("Do less under the first of them"), advises, "{text}");
        assert_eq!(page(&report).contains("Do less under the first of them"), advises);
    }
}

#[test]
fn names_of_facts_are_whole_as_far_as_they_can_be() {
    let name = "lock objects taken by one thread".to_owned();
    let view = View { parts: vec![Part::Facts(vec![(name.clone(), TableCell::Count(1))])] };
    let text = text::view(&view, &Style { width: 80, ..Style::default() });
    assert!(text.starts_with(&name), "{text}");
}

#[test]
fn nothing_is_loaded() {
    let page = page(&support::sample());
    for word in ["http:", "https:", "//cdn", "@import", "url(", "<link", "fetch(", " src="] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn the_same_report_is_the_same_page() {
    assert_eq!(page(&support::sample()), page(&support::sample()));
}

/// The page's legend and the chart of the text are of the same shares.
#[test]
fn the_chart_says_what_the_page_says() {
    for report in [support::sample(), support::hostile()] {
        let drawn = |chart| text::write(&report, &Style { chart, ..Style::default() });
        let text = drawn(true);
        assert!(!drawn(false).contains("Threads over time"), "only if asked for");
        let (_, chart) = text.split_once("Threads over time\n").expect("a chart");
        let (chart, _) = chart.split_once("\n\n").expect("what comes after it");
        let page = page(&report);
        let (_, legend) = page.split_once("<ul class=bands>").expect("a legend");
        let (legend, _) = legend.split_once("</ul>").expect("its end");
        let parts = legend.split("<span class=part ").skip(1);
        let share = |part: &'_ str| Some(part.split_once('>')?.1.split_once('<')?.0.to_owned());
        let shares: Vec<String> = parts.map(|part| share(part).expect("a share")).collect();
        assert_eq!(shares.len(), 3, "{legend}");
        let rows = chart.lines().filter(|line| line.contains(" % ") || line.ends_with(" %"));
        let rows = rows.filter(|line| !line.starts_with("Each bar"));
        for (row, share) in rows.zip(&shares) {
            assert!(row.contains(&format!(" {share}")), "{share} is not in {row}");
        }
        assert!(!text.contains(|char: char| char.is_control() && char != '\n'), "{text:?}");
    }
}
