//! What a brief report shows: what is wrong, and of each section the beginning,
//! without what it means.

use crate::{
    InBrief, Section, Shown, View,
    view::{Part, Row, Table},
};

/// Whether a section is shown.
pub(super) fn shows(shown: &Shown) -> bool {
    match shown.section.in_brief {
        InBrief::InDetail | InBrief::Always => true,
        InBrief::IfAdvised => shown.answer.advises,
        InBrief::Never => false,
    }
}

/// A brief report has at most so many lines, if a level is that short.
pub(super) const MOST_LINES: usize = 120;

/// How brief it is.
#[derive(Clone, Copy)]
pub(super) struct Brevity {
    /// The most frames shown of a stack.
    pub(super) frames: usize,
    /// The most rows of a table.
    rows: usize,
    /// Whether the first rows of all sections have something below them; else only
    /// that of the contended locks.
    details_everywhere: bool,
}

/// From the longest to the shortest.
pub(super) const LEVELS: [Brevity; 4] = [
    Brevity { frames: super::FRAMES, rows: usize::MAX, details_everywhere: true },
    Brevity { frames: 1, rows: usize::MAX, details_everywhere: true },
    Brevity { frames: 1, rows: usize::MAX, details_everywhere: false },
    Brevity { frames: 1, rows: 3, details_everywhere: false },
];

impl Brevity {
    /// A view up to its first table, of which the first row alone has what stands below
    /// it.
    pub(super) fn view(&self, view: &View, section: &Section) -> View {
        let is_table =
            |part: &Part| !matches!(part, Part::Text(_) | Part::Lines(_) | Part::Facts(_));
        let shown = view.parts.iter().position(is_table).map_or(view.parts.len(), |at| at + 1);
        let (first, rest) = view.parts.split_at(shown);
        let more = (!rest.is_empty())
            .then(|| format!("… and with --section {}: {}", section.name, told(rest)));
        let has_details = self.details_everywhere || section.in_brief == InBrief::InDetail;
        let first = first.iter().map(|part| self.part(part, has_details));
        View { parts: first.chain(more.map(Part::Text)).collect() }
    }

    fn part(&self, part: &Part, has_details: bool) -> Part {
        match part {
            Part::Table(table) => Part::Table(self.table(table, has_details)),
            other => other.clone(),
        }
    }

    fn table(&self, table: &Table, has_details: bool) -> Table {
        let row = |(nth, row): (usize, &Row)| Row {
            cells: row.cells.clone(),
            details: if nth == 0 && has_details { row.details.clone() } else { Vec::new() },
        };
        Table {
            rows: table.rows.iter().take(self.rows).enumerate().map(row).collect(),
            left_out: table.left_out + table.rows.len().saturating_sub(self.rows),
            ..table.clone()
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, SECTIONS, view::Detail};

    fn section(name: &str) -> &'static Section {
        SECTIONS.iter().find(|section| section.name == name).unwrap()
    }

    fn table(rows: usize) -> Part {
        let details = vec![Detail { title: "below".to_owned(), lines: Vec::new() }];
        let row = Row { cells: Vec::new(), details };
        Part::Table(Table { rows: vec![row; rows], ..Table::default() })
    }

    #[test]
    fn the_beginning_is_shown_and_the_rest_is_told_of() {
        let text = || Part::Text("a".to_owned());
        let view = |parts, section: &str| LEVELS[0].view(&View { parts }, self::section(section));
        let short = view(vec![text(), table(3), table(2)], "contended");
        let [Part::Text(_), Part::Table(first), Part::Text(more)] = &short.parts[..] else {
            panic!("{short:?}");
        };
        let details: Vec<usize> = first.rows.iter().map(|row| row.details.len()).collect();
        assert_eq!(details, [1, 0, 0]);
        assert_eq!(more, "… and with --section contended: more");
        let title = |title: &str| Table { title: title.to_owned(), ..Table::default() };
        let rest = [Part::Table(title("By code")), text(), Part::Listing(title("By thread"))];
        let view = |parts| view(parts, "blockers").parts;
        let told = view([vec![table(1)], rest.to_vec()].concat());
        let expected = "… and with --section blockers: By code; By thread";
        assert_eq!(told[1..], [Part::Text(expected.to_owned())]);
        assert_eq!(view(vec![text(), text()]), [text(), text()]);
    }

    #[test]
    fn the_shortest_has_few_rows_and_details_of_contended_locks_alone() {
        let [.., shortest] = LEVELS;
        let rows = |name| {
            let view = shortest.view(&View { parts: vec![table(5)] }, section(name));
            let [Part::Table(table)] = &view.parts[..] else { panic!("{view:?}") };
            let details = table.rows.iter().map(|row| row.details.len()).sum::<usize>();
            (table.rows.len(), table.left_out, details)
        };
        assert_eq!(rows("contended"), (3, 2, 1));
        assert_eq!(rows("blockers"), (3, 2, 0));
    }

    #[test]
    fn warnings_are_shown_where_there_are_any() {
        let shown = |name: &str, advises| {
            let section = section(name);
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
