//! The links of a page: GET addresses with the parameters that the server understood, in the order of the request. The
//! parameters of the page, such as `_count` and `_tag`, come last.

use super::super::parameters::query::INCLUDED;
use super::page_token::{PagePosition, PageToken, Side};
use crate::lake::scan::Locator;

/// The data from which the links of one page are made.
#[derive(Debug)]
pub(in crate::search) struct Links<'a> {
    /// The address without parameters, such as `{base}/fhir/{type}`.
    pub address: &'a str,
    /// The parameters that the server understood, without `_count`, `_offset`, `_included` and the token.
    pub parameters: &'a [(String, String)],
    /// The page size.
    pub count: usize,
    /// The number of matches before the page. The matches that the page leaves out (`left_out`) are not among them.
    pub offset: usize,
    /// How many matches the page leaves out at its beginning. Only a page that was read backwards leaves out matches,
    /// if they would exceed a limit of the page.
    pub left_out: usize,
    /// The number of matches on this page.
    pub matches: usize,
    /// The positions of the page's first and last match: for each, the index of its type among the searched types, and
    /// its locator. `None` if they are unknown.
    pub ends: Option<[(usize, Locator); 2]>,
    /// Whether further matches follow this page.
    pub more: bool,
    /// The number of included resources that earlier answers had for this page's first match.
    pub included: usize,
    /// If the page's only match has further included resources: the number of those that earlier answers and this
    /// answer have together. `None` if there are no further ones.
    pub more_included: Option<usize>,
    /// The token of the search's first page.
    pub first: PageToken,
    /// The token of the request, as the client sent it.
    pub asked: Option<&'a str>,
}

impl Links<'_> {
    /// Returns the relation and the address of each link: always `self` and `first`, and `next` and `previous` if these
    /// pages exist. `write` encrypts a token.
    pub(in crate::search) fn list(&self, write: impl Fn(&PageToken) -> String) -> Vec<(&'static str, String)> {
        let tag = |offset, place| {
            write(&PageToken {
                offset,
                place,
                ..self.first
            })
        };
        let offset = self.offset + self.left_out;
        let mut links = vec![
            ("self", self.page(self.offset, self.included, self.asked)),
            ("first", self.page(0, 0, Some(&tag(0, None)))),
        ];
        let next = offset + self.matches;
        if let Some(included) = self.more_included {
            let tag = tag(offset, self.place(0, Side::At));
            links.push(("next", self.page(offset, included, Some(&tag))));
        } else if self.more && self.count > 0 {
            let tag = tag(next, self.place(1, Side::After));
            links.push(("next", self.page(next, 0, Some(&tag))));
        }
        if offset > 0 && self.count > 0 {
            // The previous page ends before this page, even if there are too few matches to fill it. If the previous
            // page cannot hold all its matches, it leaves out its first ones, and the page before it has them. So a
            // client that goes backwards gets every match.
            let previous = offset.saturating_sub(self.count);
            let tag = tag(previous, self.place(0, Side::Before));
            links.push(("previous", self.page(previous, 0, Some(&tag))));
        }
        links
    }

    fn place(&self, end: usize, side: Side) -> Option<PagePosition> {
        let (part, locator) = self.ends?[end];
        Some(PagePosition { part, locator, side })
    }

    fn page(&self, offset: usize, included: usize, tag: Option<&str>) -> String {
        let address = format!("{}?", self.address);
        let start = address.len();
        let mut query = form_urlencoded::Serializer::for_suffix(address, start);
        for (name, value) in self.parameters {
            query.append_pair(name, value);
        }
        query.append_pair("_count", &self.count.to_string());
        if offset > 0 {
            query.append_pair("_offset", &offset.to_string());
        }
        if included > 0 {
            query.append_pair(INCLUDED, &included.to_string());
        }
        if let Some(tag) = tag {
            query.append_pair("_tag", tag);
        }
        query.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_in_the_middle<'a>(parameters: &'a [(String, String)]) -> Links<'a> {
        let place = |row| (0, Locator { file: 3, row });
        Links {
            address: "http://h/fhir/Observation",
            parameters,
            count: 10,
            offset: 10,
            left_out: 0,
            matches: 10,
            ends: Some([place(4), place(40)]),
            more: true,
            included: 0,
            more_included: None,
            first: PageToken::first(7, 0, 8),
            asked: None,
        }
    }

    /// Formats a token readably for the expected links of the tests.
    fn write(tag: &PageToken) -> String {
        match tag.place {
            None => format!("{}", tag.offset),
            Some(place) => format!("{}-{:?}-{}", tag.offset, place.side, place.locator.row),
        }
    }

    #[test]
    fn links_of_a_page_in_the_middle() {
        let parameters = [("code".to_owned(), "s|c".to_owned())];
        let list = page_in_the_middle(&parameters).list(write);
        let start = "http://h/fhir/Observation?code=s%7Cc&_count=10";
        let expected = [
            ("self", format!("{start}&_offset=10")),
            ("first", format!("{start}&_tag=0")),
            ("next", format!("{start}&_offset=20&_tag=20-After-40")),
            ("previous", format!("{start}&_tag=0-Before-4")),
        ];
        assert_eq!(list, expected);
    }

    #[test]
    fn what_a_page_leaves_out_at_its_beginning_comes_before_it() {
        let links = Links {
            offset: 20,
            left_out: 7,
            matches: 3,
            ..page_in_the_middle(&[])
        };
        let list = links.list(write);
        let start = "http://h/fhir/Observation?_count=10";
        assert_eq!(list[0], ("self", format!("{start}&_offset=20")));
        assert_eq!(list[2], ("next", format!("{start}&_offset=30&_tag=30-After-40")));
        assert_eq!(list[3], ("previous", format!("{start}&_offset=17&_tag=17-Before-4")));
    }

    #[test]
    fn what_a_match_brings_along_is_gone_on_with_at_the_match() {
        let links = Links {
            offset: 25,
            matches: 1,
            more_included: Some(7),
            ..page_in_the_middle(&[])
        };
        let list = links.list(write);
        let start = "http://h/fhir/Observation?_count=10";
        assert_eq!(
            list[2],
            ("next", format!("{start}&_offset=25&_included=7&_tag=25-At-4"))
        );
        assert_eq!(list[3], ("previous", format!("{start}&_offset=15&_tag=15-Before-4")));
    }
}
