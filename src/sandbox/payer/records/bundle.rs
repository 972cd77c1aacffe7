//! Writes a page of search results as a Bundle, with a link to the next page.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::office::knobs::{Malformed, Next};
use super::super::sign_in::scopes::Granted;
use super::holding::Holding;
use super::row::Row;

/// A search, and the offset of one of its pages. The `next` link contains it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sandbox::payer) struct Query {
    /// The path that follows the FHIR base, such as `Observation`.
    pub(in crate::sandbox::payer) path: String,
    /// The resource types. An empty list means all.
    pub(in crate::sandbox::payer) types: Vec<String>,
    pub(in crate::sandbox::payer) ids: Option<Vec<String>>,
    /// Pairs of a search parameter, such as `category`, and a code. A record matches only if it has all of these codes.
    pub(in crate::sandbox::payer) filters: Vec<(String, String)>,
    /// Whether the page also has the Provenance of its matches.
    pub(in crate::sandbox::payer) provenance: bool,
    /// A time. Only records whose `lastUpdated` is this time or later match.
    pub(in crate::sandbox::payer) since: Option<String>,
    pub(in crate::sandbox::payer) count: u64,
    pub(in crate::sandbox::payer) offset: u64,
}

impl Default for Query {
    fn default() -> Query {
        Query {
            path: String::new(),
            types: Vec::new(),
            ids: None,
            filters: Vec::new(),
            provenance: false,
            since: None,
            count: u64::MAX,
            offset: 0,
        }
    }
}

impl Query {
    /// Decodes the search from the parameter `_page` of a `next` link. `None` if the text is not such a parameter.
    pub(in crate::sandbox::payer) fn from_link(text: &str) -> Option<Query> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }

    fn link(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn matches(&self, row: &Row) -> bool {
        (self.types.is_empty() || self.types.contains(&row.resource_type))
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&row.id))
            && (self.filters.is_empty() || has_codes(row, &self.filters))
            && self.since.as_ref().is_none_or(|since| is_since(row, since))
    }
}

/// Whether a record's `lastUpdated` is this time or later. `false` if the record has no `lastUpdated`.
fn is_since(row: &Row, since: &str) -> bool {
    let record: Value = serde_json::from_str(&row.json).unwrap_or_default();
    let at = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
    let updated = record["meta"]["lastUpdated"].as_str().and_then(at);
    updated.zip(at(since)).is_some_and(|(updated, since)| updated >= since)
}

/// Whether a record has all of these codes. A filter is a pair of a search parameter and a code. The code must be in
/// the element of the parameter.
pub(in crate::sandbox::payer) fn has_codes(row: &Row, filters: &[(String, String)]) -> bool {
    let record: Value = serde_json::from_str(&row.json).unwrap_or_default();
    let has = |(name, code): &(String, String)| {
        let element = match name.as_str() {
            "clinical-status" => &record["clinicalStatus"],
            "lifecycle-status" => &record["lifecycleStatus"],
            name => &record[name],
        };
        let concepts = element.as_array().cloned().unwrap_or_else(|| vec![element.clone()]);
        concepts.iter().any(|concept| {
            let mut codings = concept["coding"].as_array().into_iter().flatten();
            concept == code.as_str() || codings.any(|coding| coding["code"] == code.as_str())
        })
    };
    filters.iter().all(has)
}

/// The data from which a page of a person's records is written.
pub(in crate::sandbox::payer) struct Page<'a> {
    pub(in crate::sandbox::payer) base: String,
    pub(in crate::sandbox::payer) holding: &'a Holding,
    pub(in crate::sandbox::payer) granted: &'a Granted,
    pub(in crate::sandbox::payer) query: Query,
    /// The maximum number of resources on a page, even if the client requests more.
    pub(in crate::sandbox::payer) max_count: u64,
    pub(in crate::sandbox::payer) malformed: Option<Malformed>,
    /// The form of the address of the next page.
    pub(in crate::sandbox::payer) next: Next,
}

impl Page<'_> {
    /// Returns the Bundle as JSON, malformed if `malformed` is set.
    pub(in crate::sandbox::payer) fn written(&self) -> String {
        let rows = self.holding.rows.iter();
        let found: Vec<&Row> = rows
            .map(|row| &**row)
            .filter(|row| self.granted.allows(&row.resource_type) && self.query.matches(row))
            .collect();
        let size = self.query.count.min(self.max_count).max(1);
        let offset = usize::try_from(self.query.offset).unwrap_or(usize::MAX);
        let page: Vec<&&Row> = found.iter().skip(offset).take(size as usize).collect();
        let end = self.query.offset.saturating_add(page.len() as u64);
        let more = end < found.len() as u64;
        let mut text = format!(
            r#"{{"resourceType":"Bundle","id":"{}","type":"searchset","total":{},"link":{},"entry":["#,
            uuid::Uuid::new_v4(),
            found.len(),
            self.links(more, end),
        );
        for (at, row) in page.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            let json = match self.malformed {
                Some(Malformed::Entry) if at == 0 => r#"{"id":"of no type"}"#,
                _ => row.json.as_str(),
            };
            let url = format!("{}/{}", self.base, row.reference());
            text.push_str(&format!(
                r#"{{"fullUrl":{},"resource":{json},"search":{{"mode":"match"}}}}"#,
                serde_json::Value::from(url)
            ));
        }
        if self.query.provenance && self.granted.allows("Provenance") {
            for row in self.along(&page) {
                text.push_str(&format!(
                    r#",{{"resource":{},"search":{{"mode":"include"}}}}"#,
                    row.json
                ));
            }
        }
        text.push_str("]}");
        // R4 has no empty lists, so an empty `entry` is removed.
        let mut text = if page.is_empty() {
            text.replace(r#","entry":[]"#, "")
        } else {
            text
        };
        if self.malformed == Some(Malformed::Truncated) {
            let mut middle = text.len() / 2;
            while !text.is_char_boundary(middle) {
                middle -= 1;
            }
            text.truncate(middle);
        }
        text
    }

    /// Returns the Provenance resources that refer to records of this page.
    fn along(&self, page: &[&&Row]) -> impl Iterator<Item = &Row> {
        let names: Vec<String> = page.iter().map(|row| row.reference()).collect();
        let rows = self.holding.rows.iter().map(|row| &**row);
        let of_types = rows.filter(|row| row.resource_type == "Provenance");
        of_types.filter(move |row| row.references().any(|target| names.iter().any(|name| name == target)))
    }

    /// Returns the address of the next page in the form that the knob `next` chooses.
    fn written_as(&self, url: &str) -> String {
        let path = url.split_once("//").and_then(|(_, rest)| rest.split_once('/'));
        match self.next {
            Next::Under => url.to_owned(),
            Next::Path => path.map_or_else(|| url.to_owned(), |(_, path)| format!("/{path}")),
            Next::Query => url
                .split_once('?')
                .map_or_else(String::new, |(_, query)| format!("?{query}")),
            Next::Http => url.replacen("https:", "http:", 1),
            Next::Host => url.replacen("127.0.0.1", "localhost", 1),
        }
    }

    fn links(&self, more: bool, end: u64) -> serde_json::Value {
        let url = |base: &str, query: &Query| format!("{base}/{}?_page={}", query.path, query.link());
        let this = url(&self.base, &self.query);
        let mut links = vec![json!({"relation": "self", "url": this})];
        let next = Query {
            offset: end,
            ..self.query.clone()
        };
        let next = match self.malformed {
            Some(Malformed::Loop) => Some(this),
            // This address is reserved for documentation, so no server answers there.
            Some(Malformed::Foreign) => Some(url("http://192.0.2.1/fhir", &next)),
            _ => more.then(|| self.written_as(&url(&self.base, &next))),
        };
        links.extend(next.map(|next| json!({"relation": "next", "url": next})));
        links.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_carries_is_read_back() {
        let query = Query {
            path: "Observation".into(),
            types: vec!["Observation".into()],
            ids: Some(vec!["a".into(), "ö".into()]),
            filters: vec![("category".into(), "x".into())],
            provenance: true,
            since: Some("2026-01-01T00:00:00Z".into()),
            count: 7,
            offset: 14,
        };
        assert_eq!(Query::from_link(&query.link()), Some(query));
        assert_eq!(Query::from_link("nonsense"), None);
    }
}
