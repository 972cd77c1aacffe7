//! R4's rules for the XHTML of a narrative (invariants txt-1 and txt-2). The XHTML must be well-formed and must not be
//! blank. It may have only the basic formatting elements and attributes of HTML 4.0, no active content, and no imported
//! styles. This file only checks the XHTML and corrects nothing.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// The namespace of the root `div`.
const XHTML: &str = "http://www.w3.org/1999/xhtml";

/// The elements of chapters 7 to 11 (except 9.4) and 15 of HTML 4.0 that are not deprecated, and `a`, images and their
/// maps.
const ELEMENTS: [&str; 53] = [
    "a",
    "abbr",
    "acronym",
    "address",
    "area",
    "b",
    "bdo",
    "big",
    "blockquote",
    "br",
    "caption",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "kbd",
    "li",
    "map",
    "ol",
    "p",
    "pre",
    "q",
    "samp",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "tt",
    "ul",
    "var",
];

/// The attributes that every element may have.
const COMMON: [&str; 9] = [
    "accesskey",
    "class",
    "dir",
    "id",
    "lang",
    "style",
    "tabindex",
    "title",
    "xml:lang",
];

/// The attributes that an element may have in addition to [`COMMON`]: the element, and these attributes.
const PARTICULAR: [(&str, &[&str]); 15] = [
    (
        "a",
        &[
            "charset", "coords", "href", "hreflang", "name", "rel", "rev", "shape", "type",
        ],
    ),
    ("area", &["alt", "coords", "href", "nohref", "shape"]),
    ("blockquote", &["cite"]),
    ("col", &["align", "char", "charoff", "span", "valign", "width"]),
    ("colgroup", &["align", "char", "charoff", "span", "valign", "width"]),
    (
        "img",
        &["alt", "border", "height", "ismap", "longdesc", "src", "usemap", "width"],
    ),
    ("map", &["name"]),
    ("q", &["cite"]),
    (
        "table",
        &[
            "border",
            "cellpadding",
            "cellspacing",
            "frame",
            "rules",
            "summary",
            "width",
        ],
    ),
    ("tbody", ROW),
    ("td", CELL),
    ("th", CELL),
    ("tfoot", ROW),
    ("thead", ROW),
    ("tr", ROW),
];
const ROW: &[&str] = &["align", "char", "charoff", "valign"];
const CELL: &[&str] = &[
    "abbr", "align", "axis", "char", "charoff", "colspan", "headers", "nowrap", "rowspan", "scope", "valign", "width",
];

/// The attributes whose value is a URI. The URI must not run code.
const LINKS: [&str; 5] = ["cite", "href", "longdesc", "src", "usemap"];
/// The entities that XML predefines. Other entities, such as `nbsp` of HTML, are errors.
const ENTITIES: [&str; 5] = ["amp", "apos", "gt", "lt", "quot"];

/// Why a text is no narrative.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NarrativeError {
    /// The text is not well-formed XML.
    #[error("it is no well-formed XML (byte {0})")]
    Malformed(u64),
    /// The root is not a single `div` of XHTML.
    #[error("its root is not a div in the namespace of XHTML")]
    Root,
    /// The text has an element that a narrative must not have.
    #[error("element {0} is not allowed in a narrative")]
    Element(String),
    /// An element has an attribute that it must not have in a narrative, or must not have with this value.
    #[error("attribute {attribute} of {element} is not allowed in a narrative")]
    Attribute {
        /// The element.
        element: String,
        /// The attribute.
        attribute: String,
    },
    /// The text has an entity that XML does not define, an XML declaration, a document type or a processing
    /// instruction.
    #[error("it has an entity, a document type or an instruction that XHTML in JSON cannot have")]
    Declaration,
    /// The narrative has no readable content.
    #[error("it has no content but white space")]
    Empty,
}

/// Checks the text of a `Narrative.div`.
pub fn check(div: &str) -> Result<(), NarrativeError> {
    let mut reader = Reader::from_str(div);
    reader.config_mut().check_comments = true;
    let (mut depth, mut roots, mut content) = (0usize, 0, false);
    loop {
        let malformed = NarrativeError::Malformed(reader.buffer_position());
        match reader.read_event().map_err(|_| malformed.clone())? {
            Event::Start(start) => {
                content |= open(&start, depth, &mut roots)?;
                depth += 1;
            }
            Event::Empty(start) => {
                content |= open(&start, depth, &mut roots)?;
            }
            Event::End(_) => depth = depth.checked_sub(1).ok_or(malformed)?,
            Event::Text(text) => readable(&text, depth, &mut content, malformed)?,
            Event::CData(text) => match depth {
                0 => return Err(malformed),
                _ => content |= !text.trim().is_empty(),
            },
            Event::GeneralRef(reference) => {
                let letter = reference.resolve_char_ref().map_err(|_| malformed.clone())?;
                let named = ENTITIES.contains(&&*reference);
                if depth == 0 || letter.is_none() && !named {
                    return Err(NarrativeError::Declaration);
                }
                content |= letter.is_none_or(|letter| !letter.is_whitespace());
            }
            Event::Comment(_) => {}
            Event::Decl(_) | Event::PI(_) | Event::DocType(_) => return Err(NarrativeError::Declaration),
            Event::Eof if depth > 0 => return Err(malformed),
            Event::Eof => break,
        }
    }
    match (roots, content) {
        (1, true) => Ok(()),
        (1, false) => Err(NarrativeError::Empty),
        _ => Err(NarrativeError::Root),
    }
}

fn readable(text: &str, depth: usize, content: &mut bool, malformed: NarrativeError) -> Result<(), NarrativeError> {
    let is_blank = text.chars().all(char::is_whitespace);
    if text.contains("]]>") || depth == 0 && !is_blank {
        return Err(malformed);
    }
    *content |= !is_blank;
    Ok(())
}

/// Checks a start tag. Returns whether the element is content even without a text in it. Only an image is.
fn open(start: &BytesStart<'_>, depth: usize, roots: &mut usize) -> Result<bool, NarrativeError> {
    let name = start.name().as_ref().to_string();
    if depth == 0 {
        *roots += 1;
        if name != "div" || *roots > 1 {
            return Err(NarrativeError::Root);
        }
    }
    if !ELEMENTS.contains(&name.as_str()) {
        return Err(NarrativeError::Element(name));
    }
    let mut in_namespace = depth > 0;
    for attribute in start.attributes() {
        let refused = |attribute: &str| NarrativeError::Attribute {
            element: name.clone(),
            attribute: attribute.to_string(),
        };
        let attribute = attribute.map_err(|_| refused("?"))?;
        let key = attribute.key.as_ref().to_string();
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|_| NarrativeError::Declaration)?;
        if key == "xmlns" {
            if value != XHTML {
                return Err(NarrativeError::Root);
            }
            in_namespace = true;
        } else if !is_allowed(&name, &key) || acts(&key, &value) {
            return Err(refused(&key));
        }
    }
    if in_namespace {
        Ok(name == "img")
    } else {
        Err(NarrativeError::Root)
    }
}

fn is_allowed(element: &str, attribute: &str) -> bool {
    let mut particular = PARTICULAR.iter().filter(|(name, _)| *name == element);
    COMMON.contains(&attribute) || particular.any(|(_, attributes)| attributes.contains(&attribute))
}

/// Whether an attribute's value would run code or fetch a style.
fn acts(attribute: &str, value: &str) -> bool {
    let plain: String = value
        .chars()
        .filter(|letter| !letter.is_whitespace() && !letter.is_control())
        .collect::<String>()
        .to_lowercase();
    match attribute {
        "style" => plain.contains("@import") || plain.contains("expression(") || plain.contains("javascript:"),
        _ => LINKS.contains(&attribute) && (plain.starts_with("javascript:") || plain.starts_with("vbscript:")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(content: &str) -> Result<(), NarrativeError> {
        check(&format!("<div xmlns=\"{XHTML}\">{content}</div>"))
    }

    fn element(name: &str) -> NarrativeError {
        NarrativeError::Element(name.to_string())
    }

    fn attribute(element: &str, attribute: &str) -> NarrativeError {
        NarrativeError::Attribute {
            element: element.to_string(),
            attribute: attribute.to_string(),
        }
    }

    #[test]
    fn formatting_is_allowed() {
        for content in [
            "text",
            "<p>a<br/>b</p>",
            "<table border=\"1\"><tr><td colspan=\"2\" style=\"color: red\">x</td></tr></table>",
            "<a href=\"#x\" name=\"y\">x</a>",
            "<img src=\"#photo\" alt=\"a face\"/>",
            "<img src=\"#photo\" alt=\"a face\"></img>",
            "&#160;&amp;",
            "<!-- a remark -->x",
            "<ol><li>one</li></ol><hr/><var>x</var>",
            "<![CDATA[a < b]]>",
        ] {
            assert_eq!(within(content), Ok(()), "{content}");
        }
    }

    #[test]
    fn what_acts_or_is_no_formatting_is_refused() {
        assert_eq!(within("<script>x</script>"), Err(element("script")));
        assert_eq!(within("<form>x</form>"), Err(element("form")));
        assert_eq!(within("<font>x</font>"), Err(element("font")));
        assert_eq!(within("<ins>x</ins>"), Err(element("ins")));
        assert_eq!(within("<DIV>x</DIV>"), Err(element("DIV")));
        assert_eq!(within("<p onclick=\"x()\">x</p>"), Err(attribute("p", "onclick")));
        assert_eq!(within("<p href=\"#x\">x</p>"), Err(attribute("p", "href")));
        assert_eq!(
            within("<a href=\" java&#10;script:x()\">x</a>"),
            Err(attribute("a", "href"))
        );
        assert_eq!(within("<p style=\"@import 'x'\">x</p>"), Err(attribute("p", "style")));
    }

    #[test]
    fn there_is_something_to_read() {
        for content in ["", " \n\t", "<p> </p>", "&#160;", "<!-- nothing -->", "<br/>"] {
            assert_eq!(within(content), Err(NarrativeError::Empty), "{content}");
        }
    }

    #[test]
    fn it_is_one_div_of_xhtml() {
        for text in [
            "<div>x</div>",
            "<div xmlns=\"http://x\">x</div>",
            "<p xmlns=\"http://www.w3.org/1999/xhtml\">x</p>",
            "",
            " ",
        ] {
            assert_eq!(check(text), Err(NarrativeError::Root), "{text}");
        }
        let twice = format!("<div xmlns=\"{XHTML}\">x</div><div xmlns=\"{XHTML}\">y</div>");
        assert_eq!(check(&twice), Err(NarrativeError::Root));
    }

    #[test]
    fn it_is_well_formed() {
        for text in [
            "<p>x",
            "x</p>",
            "<p>x</b></p>",
            "<p",
            "<p a=>x</p>",
            "a < b",
            "<p title='a' title='b'>x</p>",
        ] {
            assert!(within(text).is_err(), "{text}");
        }
        assert!(check("text").is_err());
        assert_eq!(within("&nbsp;x"), Err(NarrativeError::Declaration));
        assert_eq!(within("<p title=\"&nbsp;\">x</p>"), Err(NarrativeError::Declaration));
        assert_eq!(within("<?php x ?>x"), Err(NarrativeError::Declaration));
    }
}
