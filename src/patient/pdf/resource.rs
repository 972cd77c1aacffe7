//! The resources of a source, parsed once.

use crate::columns::json::{Tape, Value};
use crate::fhir::{TypeId, facts};

/// A parsed resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource<'t> {
    pub(super) type_name: &'static str,
    pub(super) json: Value<'t>,
}

impl<'t> Resource<'t> {
    /// Parses a stored text. `None` if it is not JSON, which does not happen in the lake.
    pub(super) fn read(ty: TypeId, text: &'t [u8], tape: &'t mut Tape) -> Option<Resource<'t>> {
        let json = tape.parse(text).ok()?;
        Some(Resource {
            type_name: facts().get(ty).name,
            json,
        })
    }

    /// A property.
    pub(super) fn get(&self, name: &str) -> Option<Value<'t>> {
        self.json.get(name)
    }

    /// Whether a CodeableConcept, or one of a list of them, has one of these codes.
    pub(super) fn has(&self, name: &str, codes: &[&str]) -> bool {
        crate::patient::concept::has_any(self.get(name), codes)
    }

    /// The text of the first of some date properties. It orders rows.
    pub(super) fn when(&self, names: &[&str]) -> String {
        let texts = names.iter().filter_map(|name| {
            let value = self.get(name)?;
            let text = if value.is_object() {
                value.get_str("start").or_else(|| value.get_str("end"))
            } else {
                value.as_str()
            };
            text.map(|text| text.into_owned())
        });
        texts.into_iter().next().unwrap_or_default()
    }
}
