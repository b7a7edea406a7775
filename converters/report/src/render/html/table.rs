//! Tables that can be sorted and searched, with rows that open.

use super::escape::{escape, names};
use crate::{
    cells::{rank, shown},
    view::{Detail, Row, Table, TableCell},
};
use std::fmt::{self, Write};

/// Of a longer table the script shows so many rows at first.
const STEP: usize = 100;
/// What is not longer stays in one line.
const WORD: usize = 16;

/// The table; `section` is what it is called where it has no title of its own.
pub(super) fn write(page: &mut String, table: &Table, section: &str) -> fmt::Result {
    if !table.title.is_empty() {
        writeln!(page, "<h3>{}</h3>", escape(&table.title))?;
    }
    if table.rows.is_empty() {
        match table.left_out {
            0 => writeln!(page, "<p class=\"none\">None.</p>")?,
            _ => left_out(page, table)?,
        }
        return Ok(());
    }
    let columns = columns(table);
    let caption = if table.title.is_empty() { section } else { &table.title };
    begin(page, "sortable", caption)?;
    for column in &columns {
        let Column { name, help, is_number, .. } = column;
        let class = if *is_number { " class=n" } else { "" };
        let help = match *help {
            "" => String::new(),
            help => format!(" title=\"{}\"", escape(help)),
        };
        let of = about(table, name).map_or(String::new(), |of| format!(" data-of={of}"));
        let name = escape(name);
        write!(page, "<th scope=col{class}{of}{help}><button type=button>{name}</button></th>")?;
    }
    writeln!(page, "</tr></thead>")?;
    for (nth, row) in table.rows.iter().enumerate() {
        self::row(page, &columns, row, class_of(nth, !row.details.is_empty()))?;
    }
    writeln!(page, "</table></div>")?;
    if table.left_out > 0 { left_out(page, table) } else { Ok(()) }
}

fn left_out(page: &mut String, table: &Table) -> fmt::Result {
    let left_out = shown(&TableCell::Count(table.left_out as u64)).into_owned();
    writeln!(page, "<p class=\"none\">… and {left_out} more.</p>")
}

/// Begins a table, up to its head. It can be scrolled by keys where it is wider than
/// the page.
pub(super) fn begin(page: &mut String, class: &str, caption: &str) -> fmt::Result {
    let caption = escape(caption);
    write!(
        page,
        "<div class=\"scroll\" role=group tabindex=0 aria-label=\"{caption}\"><table class=\"{class}\">\n\
         <caption>{caption}</caption>\n<thead><tr>"
    )
}

/// What a column is about, which the filters of the page go by.
fn about(table: &Table, column: &str) -> Option<&'static str> {
    let waits_for_threads = || table.columns.iter().any(|other| other.name == "waiting");
    match column {
        "thread" | "waiting" | "owner" => Some("thread"),
        "for" if waits_for_threads() => Some("thread"),
        "lock" | "ring" => Some("lock"),
        _ => None,
    }
}

struct Column {
    at: usize,
    name: &'static str,
    help: &'static str,
    is_number: bool,
}

/// The columns in which anything is known.
fn columns(table: &Table) -> Vec<Column> {
    let cells = |at: usize| table.rows.iter().filter_map(move |row| row.cells.get(at));
    let numbered = table.columns.iter().enumerate();
    let known =
        |&(at, _): &(usize, _)| at == 0 || cells(at).any(|cell| *cell != TableCell::Unknown);
    numbered
        .filter(known)
        .map(|(at, column)| Column {
            at,
            name: column.name,
            help: column.help,
            is_number: !cells(at).any(|cell| matches!(cell, TableCell::Text(_))),
        })
        .collect()
}

/// The class of a row, which stays in the page until the script shows it.
pub(super) fn class_of(nth: usize, opens: bool) -> &'static str {
    match (nth < STEP, opens) {
        (true, true) => " class=opens",
        (true, false) => "",
        (false, true) => " class=\"opens later\"",
        (false, false) => " class=later",
    }
}

/// A row and what stands below it are a body of their own, so that they stay
/// together.
fn row(page: &mut String, columns: &[Column], row: &Row, class: &str) -> fmt::Result {
    let opens = !row.details.is_empty();
    write!(page, "<tbody{class}><tr>")?;
    for (at, column) in columns.iter().enumerate() {
        let cell = row.cells.get(column.at).unwrap_or(&TableCell::Unknown);
        let text = shown(cell);
        let class = match column.is_number {
            true => " class=n",
            false if text.len() <= WORD => " class=w",
            false => "",
        };
        let rank = rank(cell).map_or(String::new(), |rank| format!(" data-v=\"{rank}\""));
        // The script knows by it when what the row tells began.
        let after = if at == 0 && matches!(cell, TableCell::After(_)) { " data-after" } else { "" };
        // The first cell is the row's name.
        let (tag, scope) = if at == 0 { ("th", " scope=row") } else { ("td", "") };
        write!(page, "<{tag}{scope}{class}{rank}{after}>")?;
        if at == 0 && opens {
            write!(
                page,
                "<button type=button class=open aria-expanded=false aria-label=\"Stacks\"></button>"
            )?;
        }
        let text = if column.is_number { escape(&text) } else { names(&text) };
        write!(page, "{text}</{tag}>")?;
    }
    writeln!(page, "</tr>")?;
    if opens {
        write!(page, "<tr class=details><td colspan={}>", columns.len())?;
        for detail in &row.details {
            self::detail(page, detail)?;
        }
        writeln!(page, "</td></tr>")?;
    }
    writeln!(page, "</tbody>")
}

fn detail(page: &mut String, detail: &Detail) -> fmt::Result {
    write!(page, "<figure><figcaption>{}</figcaption>", names(&detail.title))?;
    if !detail.lines.is_empty() {
        write!(page, "<ol>")?;
        for line in &detail.lines {
            write!(page, "<li>{}</li>", names(line))?;
        }
        write!(page, "</ol>")?;
    }
    writeln!(page, "</figure>")
}
