//! What either way of searching finds.

use crate::lake::scan::Locator;

/// The matches of one page.
#[derive(Debug)]
pub(super) struct Found {
    /// Where they lie, in the page's order.
    pub(super) locators: Vec<Locator>,
    /// Whether there are matches after them.
    pub(super) more: bool,
    /// How many there are in all, where that came for free.
    pub(super) total: Option<usize>,
}
