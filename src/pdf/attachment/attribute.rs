//! Attributes of XML elements.

use quick_xml::XmlVersion;
use quick_xml::events::BytesStart;

/// Returns the value of an attribute without surrounding white space. `None` if it is missing, blank or not valid.
pub(super) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = start.try_get_attribute(name).ok().flatten()?;
    let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
