//! A page of results as a Bundle, and the links between pages.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::holding::Holding;
use super::knobs::Malformed;
use super::row::Row;
use super::scopes::Granted;

/// What is looked for, and from where on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Query {
    /// What follows the FHIR base, as `Observation`.
    pub(super) path: String,
    /// Resource types; all without.
    pub(super) types: Vec<String>,
    pub(super) ids: Option<Vec<String>>,
    pub(super) count: u64,
    pub(super) offset: u64,
}

impl Default for Query {
    fn default() -> Query {
        Query {
            path: String::new(),
            types: Vec::new(),
            ids: None,
            count: u64::MAX,
            offset: 0,
        }
    }
}

impl Query {
    /// Reads what a `next` link carries.
    pub(super) fn from_link(text: &str) -> Option<Query> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }

    fn link(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn matches(&self, row: &Row) -> bool {
        (self.types.is_empty() || self.types.contains(&row.resource_type))
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&row.id))
    }
}

/// One page of a person's records.
pub(super) struct Page<'a> {
    pub(super) base: String,
    pub(super) holding: &'a Holding,
    pub(super) granted: &'a Granted,
    pub(super) query: Query,
    /// How many resources a page holds at most.
    pub(super) most: u64,
    pub(super) malformed: Option<Malformed>,
}

impl Page<'_> {
    /// The Bundle as JSON, in the way it is to be malformed.
    pub(super) fn written(&self) -> String {
        let rows = self.holding.rows.iter();
        let found: Vec<&Row> = rows
            .map(|row| &**row)
            .filter(|row| self.granted.allows(&row.resource_type) && self.query.matches(row))
            .collect();
        let size = self.query.count.min(self.most).max(1);
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
        text.push_str("]}");
        // R4 has no empty lists.
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
            // An address set aside for documentation, where nobody answers.
            Some(Malformed::Foreign) => Some(url("http://192.0.2.1/fhir", &next)),
            _ => more.then(|| url(&self.base, &next)),
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
            count: 7,
            offset: 14,
        };
        assert_eq!(Query::from_link(&query.link()), Some(query));
        assert_eq!(Query::from_link("nonsense"), None);
    }
}
