//! Reads C-CDA documents (releases 1.1, 2.0 and 2.1): the header's facts, then each section with its title and
//! narrative. A document may instead wrap a file (`nonXMLBody`). It is extracted and shown by its own kind.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::attribute::attribute;
use super::block::{Block, Blocks, push_collapsed};
use super::narrative::Narrative;

/// The maximum depth. Deeper documents are damaged or hostile.
const MAX_DEPTH: usize = 200;

/// Accepts base64 with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The kind of an XML attachment.
#[derive(Debug)]
pub(super) enum Document {
    /// A C-CDA with sections.
    Sections(Vec<Block>),
    /// A C-CDA with a wrapped file.
    File {
        head: Vec<Block>,
        content_type: Option<String>,
        bytes: Vec<u8>,
    },
    /// XML of another kind, as text.
    Other(Vec<Block>),
}

/// Reads an XML document. An error describes the fault without contents.
pub(super) fn read(text: &str) -> Result<Document, &'static str> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut cda = Cda::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => cda.start(&start)?,
            Ok(Event::Empty(start)) => {
                cda.start(&start)?;
                cda.end();
            }
            Ok(Event::End(_)) => cda.end(),
            Ok(Event::Text(text)) => cda.characters(&text.xml_content(XmlVersion::Implicit1_0)),
            Ok(Event::CData(text)) => cda.characters(&text),
            Ok(Event::GeneralRef(reference)) => cda.characters(&resolved(&reference)?),
            Ok(Event::DocType(_)) => return Err("it has a document type declaration"),
            Ok(Event::Eof) => return cda.finish(),
            Ok(_) => {}
            Err(_) => return Err("it is not well-formed XML"),
        }
    }
}

/// Resolves XML's five predefined entities and character references. Others need a declaration, which is refused.
pub(super) fn resolved(reference: &BytesRef<'_>) -> Result<String, &'static str> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Ok(character.to_string());
    }
    match &**reference {
        "lt" => Ok("<".to_owned()),
        "gt" => Ok(">".to_owned()),
        "amp" => Ok("&".to_owned()),
        "quot" => Ok("\"".to_owned()),
        "apos" => Ok("'".to_owned()),
        "nbsp" => Ok("\u{a0}".to_owned()),
        _ => Err("it has an entity that is not declared"),
    }
}

#[derive(Default)]
struct Cda {
    /// Local names of the open elements.
    path: Vec<String>,
    is_cda: bool,
    blocks: Blocks,
    head: Head,
    /// The depth of nested sections.
    sections: usize,
    /// The text collected so far.
    text: String,
    narrative: Option<Narrative>,
    /// For each open section, whether its title was written.
    titled: Vec<bool>,
    file: Option<File>,
}

#[derive(Default)]
struct File {
    content_type: Option<String>,
    base64: bool,
    text: String,
}

/// The facts in the header of a document.
#[derive(Default)]
struct Head {
    title: String,
    fields: Vec<(String, String)>,
}

impl Head {
    fn push(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if !value.is_empty() && self.fields.len() < 100 {
            self.fields.push((name.to_owned(), value.to_owned()));
        }
    }
}

impl Cda {
    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), &'static str> {
        if self.path.len() >= MAX_DEPTH {
            return Err("its elements are nested too deeply");
        }
        let name = start.local_name().as_ref().to_owned();
        if self.path.is_empty() {
            self.is_cda = name == "ClinicalDocument";
        }
        self.path.push(name);
        if let Some(narrative) = &mut self.narrative {
            narrative.start(start);
            return Ok(());
        }
        if self.ends_with(&["section"]) {
            self.sections += 1;
            self.titled.push(false);
        } else if self.ends_with(&["section", "text"]) {
            self.untitled();
            self.narrative = Some(Narrative::new(self.path.len()));
        } else if self.ends_with(&["nonXMLBody", "text"]) {
            self.file = Some(File {
                content_type: attribute(start, "mediaType"),
                base64: attribute(start, "representation").as_deref() == Some("B64"),
                text: String::new(),
            });
        } else if self.ends_with(&["section", "code"]) && self.titled.last() == Some(&false) {
            // The section's code gives the title if there is no other. A title after the code replaces it.
            self.text = attribute(start, "displayName").unwrap_or_default();
        }
        self.fact(start);
        if self.wants_text() {
            self.text.clear();
        }
        Ok(())
    }

    /// Reads facts of the header in attributes.
    fn fact(&mut self, start: &BytesStart<'_>) {
        let Some(value) = attribute(start, "value") else { return };
        if self.path == ["ClinicalDocument", "effectiveTime"] {
            self.head.push("Date", &moment(&value));
        } else if self.ends_with(&["patientRole", "patient", "birthTime"]) {
            self.head.push("Born", &moment(&value));
        }
    }

    fn end(&mut self) {
        if self
            .narrative
            .as_mut()
            .is_some_and(|narrative| narrative.end(self.path.len()))
        {
            if let Some(narrative) = self.narrative.take() {
                narrative.finish(&mut self.blocks);
            }
        } else if self.narrative.is_none() {
            self.collected();
            if self.ends_with(&["section"]) {
                self.untitled();
                self.sections = self.sections.saturating_sub(1);
                self.titled.pop();
            }
        }
        self.path.pop();
    }

    /// Uses the text of the element that just ended.
    fn collected(&mut self) {
        if !self.wants_text() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        if self.path == ["ClinicalDocument", "title"] {
            self.head.title = text;
        } else if self.ends_with(&["section", "title"]) {
            self.title(&text);
        } else if self.ends_with(&["patient", "name"]) && self.has("recordTarget") {
            self.head.push("Patient", &text);
        } else if self.ends_with(&["assignedPerson", "name"]) && self.has("author") {
            self.head.push("Author", &text);
        } else if self.ends_with(&["representedCustodianOrganization", "name"]) {
            self.head.push("Custodian", &text);
        }
    }

    /// Whether the text of the innermost element is needed, including its children's.
    fn wants_text(&self) -> bool {
        self.path == ["ClinicalDocument", "title"]
            || self.ends_with(&["section", "title"])
            || self.ends_with(&["patient", "name"])
            || self.ends_with(&["assignedPerson", "name"])
            || self.ends_with(&["representedCustodianOrganization", "name"])
    }

    fn characters(&mut self, text: &str) {
        if let Some(narrative) = &mut self.narrative {
            narrative.characters(text);
        } else if let Some(file) = self
            .file
            .as_mut()
            .filter(|_| self.path.last().is_some_and(|name| name == "text"))
        {
            file.text.push_str(text);
        } else if self.is_cda {
            push_collapsed(&mut self.text, text);
            // Parts of a name may follow one another without white space.
            if self.path.iter().any(|name| name == "name") && !self.text.ends_with(' ') {
                self.text.push(' ');
            }
        } else {
            push_collapsed(&mut self.text, text);
            if !self.text.ends_with('\n') {
                self.text.push('\n');
            }
        }
    }

    fn title(&mut self, text: &str) {
        if let Some(titled) = self.titled.last_mut().filter(|titled| !**titled) {
            *titled = !text.trim().is_empty();
            self.blocks.heading(self.sections.min(6) as u8, text);
        }
    }

    /// Uses the code's name as title if a section has none.
    fn untitled(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.title(&text);
    }

    fn ends_with(&self, names: &[&str]) -> bool {
        self.path.len() >= names.len() && self.path[self.path.len() - names.len()..] == *names
    }

    fn has(&self, name: &str) -> bool {
        self.path.iter().any(|open| open == name)
    }

    fn finish(mut self) -> Result<Document, &'static str> {
        if !self.path.is_empty() {
            return Err("it ends before its elements do");
        }
        if !self.is_cda {
            let mut blocks = Blocks::default();
            blocks.paragraph(&self.text);
            return Ok(Document::Other(blocks.into_vec()));
        }
        let mut head = Blocks::default();
        head.heading(1, &self.head.title);
        head.fields(std::mem::take(&mut self.head.fields));
        let Some(file) = self.file else {
            if self.blocks.is_empty() {
                head.note("The document has no section with a text.");
            }
            let mut blocks = head.into_vec();
            blocks.extend(self.blocks.into_vec());
            return Ok(Document::Sections(blocks));
        };
        let bytes = if file.base64 {
            let packed: Vec<u8> = file.text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            LENIENT
                .decode(packed)
                .map_err(|_| "the file inside of it is not base64")?
        } else {
            file.text.into_bytes()
        };
        Ok(Document::File {
            head: head.into_vec(),
            content_type: file.content_type,
            bytes,
        })
    }
}

/// Converts a time of HL7 version 3 (`20240131`, `202401311530-0500`) to ISO 8601. Any other text is unchanged.
fn moment(value: &str) -> String {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (date, _) = value.split_at(digits);
    let part = |from: usize, to: usize| date.get(from..to);
    match (part(0, 4), part(4, 6), part(6, 8)) {
        (Some(year), Some(month), Some(day)) => match (part(8, 10), part(10, 12)) {
            (Some(hour), Some(minute)) => format!("{year}-{month}-{day} {hour}:{minute}"),
            _ => format!("{year}-{month}-{day}"),
        },
        (Some(year), Some(month), None) => format!("{year}-{month}"),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "<?xml version=\"1.0\"?><ClinicalDocument xmlns=\"urn:hl7-org:v3\"><title>Visit</title>\
        <effectiveTime value=\"20240131153000-0500\"/><recordTarget><patientRole><patient><name><given>Ana</given><family>Ruiz</family></name>\
        <birthTime value=\"19700201\"/></patient></patientRole></recordTarget>";

    #[test]
    fn sections_have_their_titles_and_narratives() {
        let text = format!(
            "{HEAD}<component><structuredBody><component><section><code displayName=\"Allergies\"/><title>Allergies &amp; more</title>\
             <text><paragraph>None <content>known</content></paragraph><list><item>a</item><item>b</item></list>\
             <table><thead><tr><th>Drug</th><th>Since</th></tr></thead><tbody><tr><td>X</td><td>2020<br/>or so</td></tr></tbody></table></text>\
             <entry><act><text>not shown</text></act></entry>\
             <component><section><code displayName=\"Inner\"/><text>deep</text></section></component></section></component>\
             </structuredBody></component></ClinicalDocument>"
        );
        let Ok(Document::Sections(blocks)) = read(&text) else {
            panic!()
        };
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            blocks,
            [
                Block::Heading(1, "Visit".to_owned()),
                Block::Fields(vec![
                    field("Date", "2024-01-31 15:30"),
                    field("Patient", "Ana Ruiz"),
                    field("Born", "1970-02-01")
                ]),
                Block::Heading(1, "Allergies & more".to_owned()),
                Block::Paragraph("None known".to_owned()),
                Block::Items(vec!["a".to_owned(), "b".to_owned()]),
                Block::Table {
                    head: vec!["Drug".to_owned(), "Since".to_owned()],
                    rows: vec![vec!["X".to_owned(), "2020\nor so".to_owned()]],
                },
                Block::Heading(2, "Inner".to_owned()),
                Block::Paragraph("deep".to_owned()),
            ]
        );
    }

    #[test]
    fn a_wrapped_file_is_taken_out() {
        let text = format!(
            "{HEAD}<component><nonXMLBody><text mediaType=\"application/pdf\" representation=\"B64\">JVBE\nRi0=</text></nonXMLBody></component></ClinicalDocument>"
        );
        let Ok(Document::File {
            content_type, bytes, ..
        }) = read(&text)
        else {
            panic!()
        };
        assert_eq!(content_type.as_deref(), Some("application/pdf"));
        assert_eq!(bytes, b"%PDF-");
    }

    #[test]
    fn what_is_malformed_is_an_error() {
        for text in [
            "<ClinicalDocument><title>x</ClinicalDocument>",
            "<ClinicalDocument><title>x",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><ClinicalDocument/>",
            "<ClinicalDocument>&b;</ClinicalDocument>",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let deep = format!("<ClinicalDocument>{}", "<a>".repeat(100_000));
        assert!(read(&deep).is_err());
        assert!(matches!(read("<note>hi</note>"), Ok(Document::Other(_))));
    }
}
