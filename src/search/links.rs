//! The links of a page: ready-to-call GET addresses that say what was understood, in a canonical order.

use super::query::INCLUDED;
use super::result::Pin;

/// What the links of one page are made of.
#[derive(Debug)]
pub(super) struct Links<'a> {
    /// `{base}/fhir/{type}`.
    pub address: &'a str,
    /// The understood parameters but for `_count`, `_offset` and the pin.
    pub parameters: &'a [(String, String)],
    /// Page size.
    pub count: usize,
    /// First match of this page.
    pub offset: usize,
    /// Matches on this page.
    pub matches: usize,
    /// Whether there are matches after it.
    pub more: bool,
    /// Resources brought along that were given out before.
    pub included: usize,
    /// Where bringing along goes on, if this answer does not hold all of them.
    pub more_included: Option<usize>,
    /// The snapshot the page was read from.
    pub snapshot: u64,
    /// Whether the request itself named a snapshot.
    pub pinned: bool,
}

impl Links<'_> {
    /// Relation and address of each link: `self` and `first` always, `next` and `previous` where there is such a page.
    pub(super) fn list(&self) -> Vec<(&'static str, String)> {
        let mut links = vec![
            ("self", self.page(self.offset, self.included, self.pinned)),
            ("first", self.page(0, 0, true)),
        ];
        if let Some(included) = self.more_included {
            links.push(("next", self.page(self.offset, included, true)));
        } else if self.more && self.count > 0 {
            links.push(("next", self.page(self.offset + self.matches, 0, true)));
        }
        if self.offset > 0 && self.count > 0 {
            links.push(("previous", self.page(self.offset.saturating_sub(self.count), 0, true)));
        }
        links
    }

    fn page(&self, offset: usize, included: usize, pinned: bool) -> String {
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
        if pinned {
            query.append_pair("_tag", &Pin(self.snapshot).text());
        }
        query.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_page_in_the_middle() {
        let links = Links {
            address: "http://h/fhir/Observation",
            parameters: &[("code".to_owned(), "s|c".to_owned())],
            count: 10,
            offset: 10,
            matches: 10,
            more: true,
            included: 0,
            more_included: None,
            snapshot: 7,
            pinned: false,
        };
        let list = links.list();
        let relations: Vec<_> = list.iter().map(|(relation, _)| *relation).collect();
        assert_eq!(relations, ["self", "first", "next", "previous"]);
        assert_eq!(list[0].1, "http://h/fhir/Observation?code=s%7Cc&_count=10&_offset=10");
        assert!(
            list[2]
                .1
                .starts_with("http://h/fhir/Observation?code=s%7Cc&_count=10&_offset=20&_tag=")
        );
        assert!(!list[3].1.contains("_offset"));
    }
}
