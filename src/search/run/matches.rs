//! The matches of a search, in both ways of running it.

use crate::lake::scan::Locator;

/// The matches of one page.
#[derive(Debug)]
pub(in crate::search) struct Found {
    /// The locators of the matches, in the page's order.
    pub(in crate::search) locators: Vec<Locator>,
    /// Whether further matches follow.
    pub(in crate::search) more: bool,
    /// The total number of matches, if it is known without a further count.
    pub(in crate::search) total: Option<usize>,
}
