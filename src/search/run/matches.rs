//! The matches of a search, in either way of running it.

use crate::lake::scan::Locator;

/// The matches of one page.
#[derive(Debug)]
pub(in crate::search) struct Found {
    /// The locators of the matches, in the page's order.
    pub(in crate::search) locators: Vec<Locator>,
    /// Whether there are matches after them.
    pub(in crate::search) more: bool,
    /// How many there are in all, where that came for free.
    pub(in crate::search) total: Option<usize>,
}
