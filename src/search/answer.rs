//! A page that is about to be rendered: its links, and what its Bundle says besides resources.

use bytes::Bytes;

use super::SearchError;
use super::course::Course;
use super::included::Included;
use super::links::Links;
use super::page::{Entry, Page};
use super::query::Query;
use super::tag::Tag;
use crate::fhir::TypeId;
use crate::fhir::outcome::{Issue, IssueType};
use crate::lake::Lake;

/// The longest link to another page, shorter than the longest URL that is taken: what a POST said at more length could not be
/// asked for by GET. A thousand references fit.
const MAX_LINK_BYTES: usize = 60_000;

/// All of an answer but its resources.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    /// `{base}/fhir/`.
    pub(super) base: &'a str,
    /// The address of the search, without parameters.
    pub(super) address: &'a str,
    /// The time, in microseconds since 1970.
    pub(super) now: i64,
    /// Gives the seal of tags.
    pub(super) lake: &'a Lake,
    /// Where in the search's pages this is.
    pub(super) course: &'a Course,
    /// The types searched, in their order.
    pub(super) types: &'a [TypeId],
    /// What was asked.
    pub(super) query: &'a Query,
    /// The snapshot that was read.
    pub(super) snapshot: u64,
    /// How many matches there are, if that is to be said.
    pub(super) total: Option<usize>,
    /// Whether there are matches after this page.
    pub(super) more: bool,
    /// Whether some of them are there because the page would have brought more along than one answer holds.
    pub(super) shortened: bool,
}

impl Answer<'_> {
    /// The Bundle with these matches and what they bring along.
    pub(super) fn render(self, matches: &[Entry], included: Included) -> Result<Bytes, SearchError> {
        let query = self.query;
        let place = |entry: &Entry| {
            let part = self.types.iter().position(|ty| *ty == entry.ty)?;
            Some((part, entry.place?))
        };
        let end = |entry: Option<&Entry>| entry.and_then(place);
        let links = Links {
            address: self.address,
            parameters: &query.understood,
            count: query.count,
            offset: query.offset,
            matches: matches.len(),
            more: self.more,
            included: query.included,
            // The rest of what the matches bring along comes before further matches.
            more_included: included.is_full().then(|| query.included + included.len()),
            ends: end(matches.first()).zip(end(matches.last())).map(Into::into),
            first: Tag {
                total: self.total.or_else(|| self.course.total()),
                ..Tag::first(self.snapshot, self.course.erasures, self.course.scope)
            },
            asked: query.tag.as_deref(),
        };
        let links = links.list(|tag| tag.text(self.lake, &self.course.search));
        let longest = links
            .iter()
            .filter(|(relation, _)| matches!(*relation, "next" | "previous"))
            .map(|(_, url)| url.len())
            .max();
        if let Some(length) = longest.filter(|length| *length > MAX_LINK_BYTES) {
            return Err(SearchError::LongLinks(length));
        }
        // An answer that is no more than a number has no entries.
        let mut remarks = match query.counts_only() {
            true => Vec::new(),
            false => query.remarks.clone(),
        };
        if included.is_full() {
            let text = "these matches bring more along than one answer holds; the next link goes on with it";
            remarks.push(Issue::information(IssueType::Incomplete, text));
        } else if self.shortened {
            let text = "there are fewer matches here, for more would bring more along than one answer holds; the next link goes on";
            remarks.push(Issue::information(IssueType::Incomplete, text));
        }
        remarks.extend(query.trace.remark());
        let page = Page {
            base: self.base,
            now: self.now,
            total: self.total,
            links,
            matches: if query.included > 0 { &[] } else { matches },
            remarks,
            included: &included.finish(),
            subset: &query.subset,
        }
        .render();
        query.trace.lap("render", None);
        Ok(page)
    }
}
