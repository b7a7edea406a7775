//! What a section shows to eyes, before it is drawn as text or HTML.
//!
//! Whoever puts a name of the program's into a view has it shortened by
//! [`harmless`]; the renderers replace harmful characters in all text.

use tyrion_model::harmless;

/// What stands in a section, from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The parts.
    pub parts: Vec<Part>,
}

/// A part of a view.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A sentence.
    Text(String),
    /// Sentences that belong together, one a line; the first says most.
    Lines(Vec<String>),
    /// Names and what they are, one a line.
    Facts(Vec<(String, TableCell)>),
    /// A table.
    Table(Table),
    /// Amounts over time, each row a line of boxes of the same duration.
    Timeline(Timeline),
    /// A heading within the section, of the parts that follow.
    Heading(String),
    /// A tree of frames.
    Tree(Tree),
    /// A table of so many rows that text leaves out what stands below them.
    Listing(Table),
    /// Who waits for whom.
    Chains(ChainTree),
}

/// A table with sortable columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its heading; empty when the section has no other.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, in the order to show them, cut to [`ReportOptions::top`](crate::ReportOptions::top).
    pub rows: Vec<Row>,
    /// How many rows were cut off.
    pub left_out: usize,
}

impl Table {
    /// Without those of these columns of which nothing is known in any row.
    #[must_use]
    pub fn without_unknown(mut self, names: &[&str]) -> Table {
        for name in names {
            let Some(at) = self.columns.iter().position(|it| it.name == *name) else { continue };
            let is_unknown = |row: &Row| row.cells.get(at) == Some(&TableCell::Unknown);
            if self.rows.iter().all(is_unknown) {
                self.columns.remove(at);
                self.rows.iter_mut().for_each(|row| drop(row.cells.remove(at)));
            }
        }
        self
    }
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Its heading, short: text output often has 100 columns for all of them.
    pub name: &'static str,
    /// What it says, for a tooltip.
    pub help: &'static str,
    /// Whether text output leaves it out where the lines would be too long:
    /// the higher, the sooner; 0 never. Columns of the same number, as of before
    /// and after, go together.
    pub expendable: u8,
}

impl Column {
    /// With a name, what it says, and whether it may be left out.
    pub const fn new(name: &'static str, help: &'static str, expendable: u8) -> Column {
        Column { name, help, expendable }
    }
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// One for each column.
    pub cells: Vec<TableCell>,
    /// What stands below it: in HTML when it is opened, in text indented.
    pub details: Vec<Detail>,
}

/// Lines below a row, such as a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// What it is: "hottest waiter, 83 % of the wait".
    pub title: String,
    /// Its lines: a stack's frames innermost first, `com.acme.Foo.bar(Foo.java:12)`.
    pub lines: Vec<String>,
}

/// A value that knows what it is, so that it can be aligned, sorted and shown
/// in fitting units.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCell {
    /// Words, aligned to the left, shortened in the middle where they must be.
    Text(String),
    /// A number.
    Count(u64),
    /// A duration in ns.
    Ns(u64),
    /// A duration in ns that was divided: with a fraction where it is short.
    NsRate(f64),
    /// How long after the start something was, in ns.
    After(u64),
    /// A share, 1 for the whole, shown in percent.
    Share(f64),
    /// Any other number, shown with two digits behind the point.
    Number(f64),
    /// By how many ns a duration changed, shown with its sign.
    NsChange(f64),
    /// By which share of what it was something changed, shown in percent with
    /// its sign; infinite for what was nothing before.
    Change(f64),
    /// Not known.
    Unknown,
}

impl TableCell {
    /// A name of the program's: harmless, and shortened if it is very long.
    pub fn name(name: &str) -> TableCell {
        TableCell::Text(harmless::name(name).into_owned())
    }
}

impl Detail {
    /// A stack below such a title, or other names, one a line.
    pub fn of_names(title: String, names: &[String]) -> Detail {
        Detail { title, lines: harmless_names(names).collect() }
    }
}

/// Each of the names as it may be shown.
pub fn harmless_names(names: &[String]) -> impl Iterator<Item = String> {
    names.iter().map(|name| harmless::name(name).into_owned())
}

/// Chains of waits from their ends on: who waits for these, who waits for those.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainTree {
    /// Its heading.
    pub title: String,
    /// All of the time, in ns: of the chains that were cut off, too.
    pub all_ns: u64,
    /// The nodes, each in front of those that wait for it; of those beside each
    /// other, the one with the most time first.
    pub nodes: Vec<ChainNode>,
    /// How many chains were cut off.
    pub left_out: usize,
}

/// A node of a tree of chains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainNode {
    /// How many it waits for; 0 for the end of a chain.
    pub depth: usize,
    /// The threads.
    pub who: String,
    /// The lock that they wait for; of the end of a chain what it does.
    pub what: String,
    /// How long they waited, with those who waited for them, in ns.
    pub ns: u64,
}

/// Amounts over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// What it shows: "Wait per lock".
    pub title: String,
    /// The Unix time of its beginning, in ns.
    pub start_wall_ns: u64,
    /// The duration that each box stands for, in ns.
    pub box_ns: u64,
    /// A name, and the ns waited in each box.
    pub rows: Vec<(String, Vec<u64>)>,
}

/// Frames, and how long threads were in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Its heading.
    pub title: String,
    /// Its frames, each in front of those that it called.
    pub nodes: Vec<Node>,
}

/// A frame of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// How many frames of the tree it stands in.
    pub depth: usize,
    /// What it is: `com.acme.Foo.bar(Foo.java:12)`.
    pub name: String,
    /// The time in it and in what it called.
    pub cumulative_ns: u64,
    /// The time in it alone.
    pub method_ns: u64,
    /// What threads were doing meanwhile, in few words.
    pub states: String,
}
