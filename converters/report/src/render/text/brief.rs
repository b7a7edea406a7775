//! What a brief report shows: what is wrong, and of each section the beginning,
//! without what it means.

use crate::{
    SECTIONS, Section, View,
    render::Shown,
    sections::{blockers, lines, lock_order, still_waiting, withheld},
    view::{Part, Row, Table},
};

/// The last of those that are always shown.
const LAST: &Section = &blockers::SECTION;
/// Those that are shown where they have something to warn of.
const WARNINGS: [&Section; 3] = [&withheld::SECTION, &lock_order::SECTION, &still_waiting::SECTION];
/// The one about samples that is.
const SAMPLES: &Section = &lines::SECTION;

/// Whether a section is shown.
pub(super) fn shows(shown: &Shown) -> bool {
    let name = shown.section.name;
    let place = |name| SECTIONS.iter().position(|section| section.name == name);
    let is_warning = WARNINGS.iter().any(|section| section.name == name);
    place(name) <= place(LAST.name) || name == SAMPLES.name || (is_warning && shown.answer.advises)
}

/// A view up to its first table, of which the first row alone has what stands below
/// it.
pub(super) fn view(view: &View, section: &str) -> View {
    let is_table = |part: &Part| !matches!(part, Part::Text(_) | Part::Lines(_) | Part::Facts(_));
    let shown = view.parts.iter().position(is_table).map_or(view.parts.len(), |at| at + 1);
    let (first, rest) = view.parts.split_at(shown);
    let more =
        (!rest.is_empty()).then(|| format!("… and with --section {section}: {}", told(rest)));
    View { parts: first.iter().map(part).chain(more.map(Part::Text)).collect() }
}

/// What is not shown.
fn told(parts: &[Part]) -> String {
    let title = |part: &Part| match part {
        Part::Table(table) | Part::Listing(table) => table.title.clone(),
        Part::Timeline(timeline) => timeline.title.clone(),
        Part::Tree(tree) => tree.title.clone(),
        Part::Chains(tree) => tree.title.clone(),
        Part::Heading(heading) => heading.clone(),
        Part::Text(_) | Part::Lines(_) | Part::Facts(_) => String::new(),
    };
    let titles: Vec<String> = parts.iter().map(title).filter(|title| !title.is_empty()).collect();
    if titles.is_empty() { "more".to_owned() } else { titles.join("; ") }
}

fn part(part: &Part) -> Part {
    match part {
        Part::Table(table) => Part::Table(first_details(table)),
        other => other.clone(),
    }
}

fn first_details(table: &Table) -> Table {
    let row = |(nth, row): (usize, &Row)| Row {
        cells: row.cells.clone(),
        details: if nth == 0 { row.details.clone() } else { Vec::new() },
    };
    Table { rows: table.rows.iter().enumerate().map(row).collect(), ..table.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, view::Detail};

    fn table(rows: usize) -> Part {
        let details = vec![Detail { title: "below".to_owned(), lines: Vec::new() }];
        let row = Row { cells: Vec::new(), details };
        Part::Table(Table { rows: vec![row; rows], ..Table::default() })
    }

    #[test]
    fn the_beginning_is_shown_and_the_rest_is_told_of() {
        let text = || Part::Text("a".to_owned());
        let short = view(&View { parts: vec![text(), table(3), table(2)] }, "contended");
        let [Part::Text(_), Part::Table(first), Part::Text(more)] = &short.parts[..] else {
            panic!("{short:?}");
        };
        let details: Vec<usize> = first.rows.iter().map(|row| row.details.len()).collect();
        assert_eq!(details, [1, 0, 0]);
        assert_eq!(more, "… and with --section contended: more");
        let title = |title: &str| Table { title: title.to_owned(), ..Table::default() };
        let rest = [Part::Table(title("By code")), text(), Part::Listing(title("By thread"))];
        let view = |parts| super::view(&View { parts }, "blockers").parts;
        let told = view([vec![table(1)], rest.to_vec()].concat());
        let expected = "… and with --section blockers: By code; By thread";
        assert_eq!(told[1..], [Part::Text(expected.to_owned())]);
        assert_eq!(view(vec![text(), text()]), [text(), text()]);
    }

    #[test]
    fn warnings_are_shown_where_there_are_any() {
        let shown = |name: &str, advises| {
            let section = SECTIONS.iter().find(|section| section.name == name).unwrap();
            shows(&Shown { section, answer: Answer { advises, ..Answer::default() } })
        };
        for name in ["verdict", "overview", "contended", "blockers", "lines"] {
            assert!(shown(name, false), "{name}");
        }
        for name in ["withheld", "lock-order", "still-waiting"] {
            assert!(shown(name, true) && !shown(name, false), "{name}");
        }
        assert!(!shown("tree", true) && !shown("delays", true));
    }
}
