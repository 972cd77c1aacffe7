//! A request to show a view, from a form or a link. A link contains the definition in compressed form, so that the URL
//! is short.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::examples;
use crate::http::console::pages::table::encoded;
use crate::http::console::session::form::Fields;
use crate::http::error::Error;

/// The maximum bytes of a definition in a link, before compression.
const LONGEST: u64 = 256 << 10;

/// The definition with which the editor begins.
const FIRST: &str = r#"{
  "resourceType": "ViewDefinition",
  "name": "patients",
  "status": "active",
  "resource": "Patient",
  "select": [
    {
      "column": [
        { "name": "id", "path": "getResourceKey()", "type": "string" },
        { "name": "born", "path": "birthDate", "type": "date" },
        { "name": "gender", "path": "gender", "type": "code" }
      ]
    }
  ]
}"#;

/// The kind of a plot, and its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// `bar`, `line`, `points` or `histogram`. Empty for no plot.
    pub(super) kind: String,
    pub(super) x: String,
    pub(super) y: String,
    /// The column whose values are the names of the series. Empty for one series.
    pub(super) by: String,
}

/// A ViewDefinition, and the plot of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) definition: String,
    pub(super) plot: Wanted,
}

impl Ask {
    /// Reads the request in a form.
    pub(super) fn of_form(fields: &Fields) -> Ask {
        let text = |name| fields.filled(name).unwrap_or_default().to_owned();
        Ask {
            definition: fields.get("view").unwrap_or_default().to_owned(),
            plot: Wanted {
                kind: text("kind"),
                x: text("x"),
                y: text("y"),
                by: text("by"),
            },
        }
    }

    /// Reads the request in a link. `None` if the link has no definition.
    pub(super) fn of_link(fields: &Fields) -> Result<Option<Ask>, Error> {
        let Some(packed) = fields.filled("d") else {
            return Ok(None);
        };
        Ok(Some(Ask {
            definition: unpacked(packed)?,
            ..Ask::of_form(fields)
        }))
    }

    /// Returns the request with which the editor begins: the example of this name, or a short view if there is no name.
    pub(super) fn begin(example: Option<&str>) -> Result<Ask, Error> {
        let definition = match example {
            None => FIRST,
            Some(name) => examples::get(name).ok_or_else(|| Error::Unknown("there is no such example".to_owned()))?,
        };
        Ok(Ask {
            definition: definition.to_owned(),
            plot: Wanted::default(),
        })
    }

    /// Whether the definition is short enough for a link.
    pub(super) fn fits_link(&self) -> bool {
        self.definition.len() as u64 <= LONGEST
    }

    /// Returns the query of a link to this request.
    pub(super) fn query(&self) -> String {
        let mut query = format!("d={}", packed(&self.definition));
        let Wanted { kind, x, y, by } = &self.plot;
        for (name, value) in [("kind", kind), ("x", x), ("y", y), ("by", by)] {
            if !value.is_empty() {
                query.push_str(&format!("&{name}={}", encoded(value)));
            }
        }
        query
    }
}

fn packed(definition: &str) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let written = encoder.write_all(definition.as_bytes()).and_then(|()| encoder.finish());
    URL_SAFE_NO_PAD.encode(written.unwrap_or_default())
}

fn unpacked(packed: &str) -> Result<String, Error> {
    let broken = || Error::Invalid("the link is broken: it holds no definition".to_owned());
    let bytes = URL_SAFE_NO_PAD.decode(packed).map_err(|_| broken())?;
    let mut definition = String::new();
    let mut decoder = ZlibDecoder::new(bytes.as_slice()).take(LONGEST + 1);
    decoder.read_to_string(&mut definition).map_err(|_| broken())?;
    if definition.len() as u64 > LONGEST {
        Err(Error::LongBody(LONGEST as usize))
    } else {
        Ok(definition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_asks_what_the_form_asked() {
        let ask = Ask {
            plot: Wanted {
                kind: "bar".to_owned(),
                x: "a & b".to_owned(),
                y: String::new(),
                by: "c=d".to_owned(),
            },
            ..Ask::begin(None).unwrap()
        };
        let fields = Fields::of_query(Some(&ask.query()));
        assert_eq!(Ask::of_link(&fields).unwrap(), Some(ask));
        assert_eq!(Ask::of_link(&Fields::default()).unwrap(), None);
    }

    #[test]
    fn broken_and_swollen_links_are_refused() {
        let swollen = packed(&" ".repeat(LONGEST as usize + 1));
        for bad in ["!", "AAAA", &swollen] {
            let fields = Fields::of_query(Some(&format!("d={bad}")));
            assert!(Ask::of_link(&fields).is_err(), "{bad:.20}");
        }
    }
}
