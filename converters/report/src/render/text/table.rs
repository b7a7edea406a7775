//! Tables: numbers to the right, names to the left. What does not fit is left
//! out or shortened.

use super::{
    Ink, Page,
    lines::{Short, clip, clip_name, columns, pad},
};
use crate::{
    cells::{plain, shown},
    findings::names,
    view::{Detail, Row, Table, TableCell},
};

/// Blanks between columns.
const GAP: usize = 2;
/// Names are not shortened to less than this as long as there are columns to
/// leave out.
const READABLE: usize = 26;
/// Names are not shortened to less than this.
const LEAST: usize = 8;

/// A column as it will be drawn.
struct DrawnColumn {
    /// Which one of the table's.
    at: usize,
    is_text: bool,
    expendable: u8,
    /// Its values, from top to bottom.
    values: Vec<String>,
    /// What its longest value takes.
    natural: usize,
    /// What it gets.
    width: usize,
}

impl Page {
    pub(super) fn table(&mut self, table: &Table) {
        if !table.title.is_empty() {
            let title = clip(&plain(&table.title), self.width);
            self.line(Ink::Strong, &title);
        }
        if table.rows.is_empty() {
            if table.left_out == 0 {
                self.line(Ink::Faint, "none");
            }
        } else if let Some(drawn) = fit(drawn(table), table, self.width) {
            self.rows(table, &drawn);
        } else {
            self.lists(table);
        }
        if table.left_out > 0 {
            let left_out = shown(&TableCell::Count(table.left_out as u64)).into_owned();
            self.line(Ink::Faint, &format!("… and {left_out} more; --top 0 shows all"));
        }
    }

    fn rows(&mut self, table: &Table, drawn: &[DrawnColumn]) {
        let heading = |column: &DrawnColumn| {
            let name = clip(table.columns[column.at].name, column.width);
            pad(&name, column.width, !column.is_text)
        };
        let headings: Vec<String> = drawn.iter().map(heading).collect();
        self.line(Ink::Faint, &headings.join(&" ".repeat(GAP)));
        for (at, row) in table.rows.iter().enumerate() {
            let cell = |column: &DrawnColumn| {
                let text = clip_name(&column.values[at], column.width);
                pad(&text, column.width, !column.is_text)
            };
            let cells: Vec<String> = drawn.iter().map(cell).collect();
            self.line(Ink::Plain, &cells.join(&" ".repeat(GAP)));
            self.details(row);
        }
    }

    /// A value a line, where not even the columns that must be there fit.
    fn lists(&mut self, table: &Table) {
        let names = table.columns.iter().map(|column| columns(column.name));
        let indent = names.max().unwrap_or(0).min(self.width / 3) + GAP;
        for (at, row) in table.rows.iter().enumerate() {
            if at > 0 {
                self.out.push('\n');
            }
            for (column, cell) in table.columns.iter().zip(&row.cells) {
                let name = pad(&clip(column.name, indent - GAP), indent, false);
                let name = self.paint(Ink::Faint, &name);
                let value = clip_name(&shown(cell), self.width - indent);
                self.line(Ink::Plain, &format!("{name}{value}"));
            }
            self.details(row);
        }
    }

    fn details(&mut self, row: &Row) {
        for detail in &row.details {
            let (lines, note) = cut(detail, self.frames);
            let title = format!("{}{note}", plain(&detail.title));
            self.line(Ink::Faint, &format!("    {}", clip(&title, self.width - 4)));
            let lines: Vec<String> = lines.iter().map(|line| plain(line).into_owned()).collect();
            for line in Short::to_fit(&lines, self.width - 6) {
                self.line(Ink::Plain, &format!("      {}", clip_name(&line, self.width - 6)));
            }
        }
    }
}

/// The lines of a detail that are shown, and what to say of the others. How
/// j.u.c. parks a thread is the same everywhere: stacks begin with who called
/// it.
fn cut(detail: &Detail, frames: usize) -> (&[String], String) {
    let lines = &detail.lines[..];
    if lines.len() <= frames {
        return (lines, String::new());
    }
    let first = lines.iter().take_while(|line| names::is_machinery(line)).count();
    let first = first.min(lines.len() - frames);
    (&lines[first..first + frames], format!(" ({frames} of {})", lines.len()))
}

/// The columns in which anything is known.
fn drawn(table: &Table) -> Vec<DrawnColumn> {
    let known = |at: usize| {
        let known = |row: &Row| !matches!(row.cells.get(at), None | Some(TableCell::Unknown));
        at == 0 || table.rows.iter().any(known)
    };
    let columns = table.columns.iter().enumerate().filter(|(at, _)| known(*at));
    columns
        .map(|(at, column)| {
            let is_text = |row: &Row| matches!(row.cells.get(at), Some(TableCell::Text(_)));
            DrawnColumn {
                at,
                is_text: table.rows.iter().any(is_text),
                expendable: column.expendable,
                values: Vec::new(),
                natural: 0,
                width: 0,
            }
        })
        .collect()
}

impl DrawnColumn {
    /// Takes the values from the table, names shortened.
    fn shorten(&mut self, table: &Table, short: Short) {
        let value = |row: &Row| match row.cells.get(self.at) {
            Some(cell) if self.is_text => short.of(&shown(cell)),
            Some(cell) => shown(cell).into_owned(),
            None => String::new(),
        };
        self.values = table.rows.iter().map(value).collect();
        let widest = self.values.iter().map(|value| columns(value)).max().unwrap_or(0);
        self.natural = widest.max(columns(table.columns[self.at].name));
        self.width = self.natural;
    }
}

/// The columns with widths that fit: names shortened as far as they can be
/// told, then without some of the columns that may go; none if even the others
/// are too many.
fn fit(mut drawn: Vec<DrawnColumn>, table: &Table, width: usize) -> Option<Vec<DrawnColumn>> {
    loop {
        for short in Short::ALL {
            drawn.iter_mut().for_each(|column| column.shorten(table, short));
            if share_out(&mut drawn, width, usize::MAX) {
                return Some(drawn);
            }
        }
        if share_out(&mut drawn, width, READABLE) {
            return Some(drawn);
        }
        match drawn.iter().map(|column| column.expendable).max().filter(|most| *most > 0) {
            Some(most) => drawn.retain(|column| column.expendable != most),
            None => return share_out(&mut drawn, width, LEAST).then_some(drawn),
        }
    }
}

/// Gives numbers what they need and the rest to names, none of which gets less
/// than `least` unless it is shorter. False if there is not so much.
fn share_out(drawn: &mut [DrawnColumn], width: usize, least: usize) -> bool {
    let gaps = GAP * drawn.len().saturating_sub(1);
    let numbers: usize =
        drawn.iter().filter(|column| !column.is_text).map(|column| column.natural).sum();
    let Some(mut room) = width.checked_sub(gaps + numbers) else { return false };
    let mut names: Vec<&mut DrawnColumn> =
        drawn.iter_mut().filter(|column| column.is_text).collect();
    let needed: usize = names.iter().map(|column| column.natural.min(least)).sum();
    if needed > room {
        return false;
    }
    // Short names first: what they do not need is for the longer ones.
    names.sort_by_key(|column| column.natural);
    let mut left = names.len();
    for column in names {
        column.width = column.natural.min(room / left);
        room -= column.width;
        left -= 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        render::text::{FRAMES, Style, view},
        view::{Column, Part, View},
    };

    const fn column(name: &'static str, expendable: u8) -> Column {
        Column { name, help: "", expendable }
    }

    fn drawn_table(columns: Vec<Column>, rows: Vec<Vec<TableCell>>) -> String {
        let rows = rows.into_iter().map(|cells| Row { cells, details: Vec::new() }).collect();
        let table = Table { columns, rows, ..Table::default() };
        view(&View { parts: vec![Part::Table(table)] }, &Style::default())
    }

    fn name(len: usize) -> TableCell {
        TableCell::Text("n".repeat(len))
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let columns = vec![column("lock", 0), column("waits", 0)];
        let rows = vec![
            vec![TableCell::Text("a".to_owned()), TableCell::Count(1)],
            vec![TableCell::Text("long".to_owned()), TableCell::Count(12_345)],
        ];
        assert_eq!(drawn_table(columns, rows), "lock   waits\na          1\nlong  12,345\n");
    }

    #[test]
    fn what_may_go_goes_before_names_are_shortened_much() {
        let columns = vec![column("lock", 0), column("x", 1), column("y", 2), column("z", 1)];
        let count = || TableCell::Ns(123_000_000);
        let text = drawn_table(columns.clone(), vec![vec![name(80), count(), count(), count()]]);
        assert!(
            text.starts_with("lock") && text.contains(" y\n") || text.contains(" z\n"),
            "{text}"
        );
        assert!(text.contains('…'));
        // Six digits and their gap, thrice: there is room for 26 columns of a
        // name beside all of them.
        let wide = || TableCell::Text("w".repeat(40));
        let text = drawn_table(columns, vec![vec![name(80), wide(), wide(), wide()]]);
        let heading = text.lines().next().unwrap();
        assert_eq!(heading.split_whitespace().collect::<Vec<_>>(), ["lock", "x", "z"]);
    }

    #[test]
    fn columns_without_anything_known_are_left_out() {
        let columns = vec![column("lock", 0), column("hold", 0), column("waits", 0)];
        let rows = vec![vec![TableCell::Unknown, TableCell::Unknown, TableCell::Count(1)]];
        assert_eq!(drawn_table(columns, rows), "lock  waits\n   –      1\n");
    }

    #[test]
    fn too_many_numbers_are_listed() {
        let columns = vec![column("number", 0); 20];
        let text = drawn_table(columns, vec![vec![TableCell::Count(1_000_000); 20]]);
        assert_eq!(text, "number  1,000,000\n".repeat(20));
    }

    #[test]
    fn stacks_begin_outside_the_locks() {
        let frame = |name: &str| format!("{name}.m(F.java:1)");
        let names =
            ["java.util.concurrent.locks.A", "java.util.concurrent.locks.B", "a", "b", "c", "d"];
        let detail = Detail { title: "x".to_owned(), lines: names.map(frame).to_vec() };
        let (lines, note) = cut(&detail, FRAMES);
        assert_eq!(lines, ["a", "b", "c"].map(frame));
        assert_eq!(note, " (3 of 6)");
        let detail = Detail { lines: detail.lines[..4].to_vec(), ..detail };
        assert_eq!(cut(&detail, FRAMES).0, &detail.lines[1..]);
    }
}
