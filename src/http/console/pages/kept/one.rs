//! The page about one consent or one sync: facts, and tables.

use askama::Template;

use crate::http::console::shown::cell::Cell;
use crate::http::console::shown::page::Frame;

/// The page.
#[derive(Template)]
#[template(path = "console/one.html")]
pub(super) struct One<'a> {
    pub(super) frame: &'a Frame,
    /// What the page is about, such as `Sync`.
    pub(super) kind: &'static str,
    pub(super) id: String,
    /// The path and the heading of the list that leads to this page.
    pub(super) list: (&'static str, &'static str),
    pub(super) facts: Vec<(&'static str, Cell)>,
    /// The last failure of a sync.
    pub(super) failure: Option<String>,
    pub(super) tables: Vec<Table>,
}

/// A table of the page.
pub(super) struct Table {
    /// The id of the heading in the page.
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    /// The headings of the columns.
    pub(super) columns: Vec<&'static str>,
    /// The number of columns with text. The columns behind them have numbers.
    pub(super) texts: usize,
    pub(super) rows: Vec<Vec<Cell>>,
    /// The caption of the table, or the text in the place of a table without rows. It may be empty.
    pub(super) note: String,
}

impl Table {
    fn is_number(&self, column: &usize) -> bool {
        *column >= self.texts
    }
}
