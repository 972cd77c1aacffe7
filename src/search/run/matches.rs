//! The matches of a page. A search over one person's columns and a plan over many people both return them in this form.

use crate::lake::scan::Locator;

/// The matches of one page.
#[derive(Debug)]
pub(in crate::search) struct Found {
    /// The locators of the matches, in the page's order.
    pub(in crate::search) locators: Vec<Locator>,
    /// Whether further matches follow.
    pub(in crate::search) more: bool,
    /// The total number of matches. `None` if this search did not count all matches. A caller that needs the total then
    /// runs a count.
    pub(in crate::search) total: Option<usize>,
}
