//! An answer before it is written. It has the data for the links and for the other parts of the Bundle, but not the
//! resources.

use bytes::Bytes;

use super::super::SearchError;
use super::super::includes::included::Included;
use super::super::paging::links::Links;
use super::super::paging::page_token::PageToken;
use super::super::paging::position::Position;
use super::super::parameters::query::Query;
use super::attached::AddressSigner;
use super::page::{Entry, Page};
use crate::fhir::TypeId;
use crate::fhir::outcome::{Issue, IssueType};
use crate::lake::Lake;

/// The maximum length of a link to another page. It is less than the maximum length of a URL that the server accepts,
/// so that a client can request the link by GET even after a long POST. About a thousand references fit.
const MAX_LINK_BYTES: usize = 60_000;

/// The context of an answer: the addresses and the time of the search, and the lake that encrypts page tokens.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct Occasion<'a> {
    /// The address of the server's FHIR API, which ends with `/fhir/`.
    pub(in crate::search) base: &'a str,
    /// The address of the search, without parameters.
    pub(in crate::search) address: &'a str,
    /// The time of the request, in microseconds since 1970.
    pub(in crate::search) now: i64,
    /// The lake. Its key encrypts page tokens.
    pub(in crate::search) lake: &'a Lake,
    /// Signs the addresses of attachments.
    pub(in crate::search) signer: Option<&'a AddressSigner>,
}

/// An answer without its resources.
#[derive(Debug)]
pub(in crate::search) struct Answer<'a> {
    occasion: Occasion<'a>,
    /// The identity of the search, and the page token of the request.
    pub(in crate::search) course: &'a Position,
    /// The searched types. A page token names a type by its index in this list.
    types: &'a [TypeId],
    /// The query.
    pub(in crate::search) query: &'a Query,
    /// The id of the snapshot that the search read.
    snapshot: u64,
    /// The number of all matches. `None` if the answer does not state it.
    pub(in crate::search) total: Option<usize>,
    /// Whether further matches follow after this page.
    pub(in crate::search) more: bool,
    /// Whether the page has fewer matches than requested, because the includes of more matches would exceed the limits
    /// of one answer.
    pub(in crate::search) shortened: bool,
    /// The number of found matches that the page leaves out at its beginning, because they would exceed a limit of the
    /// page. It is 0 if the page was not found backwards.
    pub(in crate::search) left_out: usize,
}

impl<'a> Answer<'a> {
    /// Creates the answer of a search that has not run yet.
    pub(in crate::search) fn new(
        occasion: Occasion<'a>,
        course: &'a Position,
        types: &'a [TypeId],
        query: &'a Query,
        snapshot: u64,
    ) -> Answer<'a> {
        Answer {
            occasion,
            course,
            types,
            query,
            snapshot,
            total: None,
            more: false,
            shortened: false,
            left_out: 0,
        }
    }
}

impl Answer<'_> {
    /// Returns the Bundle with these matches and their included resources. If the page continues the includes of an
    /// earlier answer, the Bundle does not repeat the match. Fails if a link would be too long.
    pub(in crate::search) fn render(self, matches: &[Entry], included: Included) -> Result<Bytes, SearchError> {
        let query = self.query;
        let place = |entry: &Entry| {
            let part = self.types.iter().position(|type_id| *type_id == entry.type_id)?;
            Some((part, entry.place?))
        };
        let end = |entry: Option<&Entry>| entry.and_then(place);
        let links = Links {
            address: self.occasion.address,
            parameters: &query.understood,
            count: query.count,
            offset: query.offset,
            left_out: self.left_out,
            matches: matches.len(),
            more: self.more,
            included: query.included,
            // `is_full` means that the page has further includes. The `next` link then leads to these includes. Further
            // matches come only after all includes of this page.
            more_included: included.is_full().then(|| query.included + included.len()),
            ends: end(matches.first()).zip(end(matches.last())).map(Into::into),
            first: PageToken {
                total: self.total.or_else(|| self.course.total()),
                ..PageToken::first(self.snapshot, self.course.erasures, self.course.scope)
            },
            asked: query.tag.as_deref(),
        };
        let links = links.list(|tag| tag.text(self.occasion.lake, &self.course.search));
        let longest = links
            .iter()
            .filter(|(relation, _)| matches!(*relation, "next" | "previous"))
            .map(|(_, url)| url.len())
            .max();
        if let Some(length) = longest.filter(|length| *length > MAX_LINK_BYTES) {
            return Err(SearchError::LongLinks(length));
        }
        // An answer that has only the number of matches has no entries. So it leaves out the query's remarks.
        let mut remarks = if query.counts_only() {
            Vec::new()
        } else {
            query.remarks.clone()
        };
        if included.is_full() {
            let text = "these matches bring more along than one answer holds; the next link goes on with it";
            remarks.push(Issue::information(IssueType::Incomplete, text));
        } else if self.shortened {
            let text = if query.is_backwards() {
                "there are fewer matches here, for more would bring more along than one answer holds; the previous link has the others"
            } else {
                "there are fewer matches here, for more would bring more along than one answer holds; the next link goes on"
            };
            remarks.push(Issue::information(IssueType::Incomplete, text));
        }
        remarks.extend(query.trace.remark());
        let page = Page {
            base: self.occasion.base,
            signer: self.occasion.signer,
            now: self.occasion.now,
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
