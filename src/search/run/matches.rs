//! The matches of a page, as both ways of running a search return them.

use crate::lake::scan::Locator;

/// The matches of one page.
#[derive(Debug)]
pub(in crate::search) struct Found {
    /// The locators of the matches, in the page's order.
    pub(in crate::search) locators: Vec<Locator>,
    /// Whether further matches follow.
    pub(in crate::search) more: bool,
    /// The total number of matches. `None` if it would have to be counted separately.
    pub(in crate::search) total: Option<usize>,
}
