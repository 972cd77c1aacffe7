//! Reads C-CDA documents (releases 1.1, 2.0 and 2.1): the facts in the header, then each section with its title, its
//! narrative and its pictures (`observationMedia`). In place of sections, a document may contain a file (`nonXMLBody`).
//! The file is then extracted and shown like an attachment of its type.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::attribute::attribute;
use super::block::{Block, Blocks, Content, Media, push_collapsed};
use super::kind;
use super::narrative::Narrative;
use super::span::ALLOWANCE;

/// The maximum depth of elements. A deeper document is damaged or hostile, and is refused.
const MAX_DEPTH: usize = 200;

/// The maximum number of characters of an id. The names of all files of a region repeat the region's id.
const MAX_ID: usize = 200;

/// A base64 decoder that accepts input with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What an XML attachment contains.
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
    /// A C-CDA that contains only the address of a file.
    Elsewhere {
        head: Vec<Block>,
        content_type: Option<String>,
        address: String,
    },
    /// XML of another kind, as text.
    Other(Vec<Block>),
}

/// Reads an XML document. The error says what is wrong, without any text of the document.
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

/// Resolves character references, the five predefined entities of XML, and `nbsp`. Other entities need a declaration,
/// and a document with declarations is refused.
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

/// Returns the id of an element.
fn id(start: &BytesStart<'_>) -> Option<String> {
    attribute(start, "ID").map(|id| id.chars().take(MAX_ID).collect())
}

struct Cda {
    /// The local names of the open elements.
    path: Vec<String>,
    is_cda: bool,
    blocks: Blocks,
    head: Head,
    /// The number of open sections.
    sections: usize,
    /// The text that is being collected: of an element for which `wants_text` is true, the display name of a section's
    /// code, or all text of XML that is not a C-CDA.
    text: String,
    narrative: Option<Narrative>,
    /// For each open section, whether its title was written.
    titled: Vec<bool>,
    /// The number of bytes that may still be used for the table cells that a `rowspan` or `colspan` adds.
    room: usize,
    /// The file that a `nonXMLBody` wraps.
    file: Option<File>,
    /// The open `observationMedia`, and the region of interest around it.
    medium: Medium,
}

impl Default for Cda {
    fn default() -> Self {
        Self {
            path: Vec::new(),
            is_cda: false,
            blocks: Blocks::default(),
            head: Head::default(),
            sections: 0,
            text: String::new(),
            narrative: None,
            titled: Vec::new(),
            room: ALLOWANCE,
            file: None,
            medium: Medium::default(),
        }
    }
}

/// A file of a section while it is read.
#[derive(Default)]
struct Medium {
    /// The id of the `observationMedia`. `region` has the id of the region of interest around it. Narratives refer to
    /// the file by either id.
    name: Option<String>,
    region: Option<String>,
    file: Option<File>,
}

/// An element whose content is a file, or the address of a file.
#[derive(Default)]
struct File {
    /// The depth of the element while it is open. 0 after its end, so that no more text is added to the file.
    depth: usize,
    content_type: Option<String>,
    base64: bool,
    text: String,
    address: Option<String>,
}

impl File {
    fn begin(start: &BytesStart<'_>, depth: usize) -> Self {
        Self {
            depth,
            content_type: attribute(start, "mediaType"),
            base64: attribute(start, "representation").as_deref() == Some("B64"),
            ..Self::default()
        }
    }

    /// Returns the content, or only the address if there is no text. Sources often do not declare base64. So content
    /// with a media type other than text is decoded if it is valid base64.
    fn content(self) -> Content {
        if self.text.trim().is_empty() {
            return self.address.map_or(Content::Bytes(Vec::new()), Content::Elsewhere);
        }
        let packed: Vec<u8> = self.text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let decoded = LENIENT.decode(packed).ok();
        if self.base64 {
            return decoded.map_or(Content::Undecodable(self.text), Content::Bytes);
        }
        let content_type = self.content_type.as_deref().unwrap_or("text/plain");
        let is_text = content_type.trim().to_ascii_lowercase().starts_with("text/");
        // A short word may be valid base64. So content that is text or has no media type is decoded only if the result
        // has a known signature.
        let decoded = decoded.filter(|bytes| !is_text || kind::has_signature(bytes));
        Content::Bytes(decoded.unwrap_or_else(|| self.text.into_bytes()))
    }
}

/// The facts in the header of a document.
#[derive(Default)]
struct Head {
    title: String,
    fields: Vec<(String, String)>,
}

impl Head {
    fn push(&mut self, name: &str, value: &str) {
        let field = (name.to_owned(), value.trim().to_owned());
        // Add each fact once, because the entries of a document may name the same author many times.
        if !field.1.is_empty() && self.fields.len() < 100 && !self.fields.contains(&field) {
            self.fields.push(field);
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
            self.narrative = Some(Narrative::new(self.path.len(), self.room));
        } else if self.ends_with(&["nonXMLBody", "text"]) {
            self.file = Some(File::begin(start, self.path.len()));
        } else if self.ends_with(&["regionOfInterest"]) {
            self.medium.region = id(start);
        } else if self.ends_with(&["observationMedia"]) {
            self.end_medium();
            self.medium.name = id(start);
        } else if self.ends_with(&["observationMedia", "value"]) {
            self.medium.file = Some(File::begin(start, self.path.len()));
        } else if self.ends_with(&["reference"]) {
            let depth = self.path.len() - 1;
            if let Some(file) = self.open_file(depth) {
                file.address = attribute(start, "value");
            }
        } else if self.ends_with(&["section", "code"]) && self.titled.last() == Some(&false) {
            // The display name of the code becomes the title, unless the section has a title element after the code.
            self.text = attribute(start, "displayName").unwrap_or_default();
        }
        self.fact(start);
        if self.wants_text() {
            self.text.clear();
        }
        Ok(())
    }

    /// Returns the file whose element is open at a depth.
    fn open_file(&mut self, depth: usize) -> Option<&mut File> {
        let files = [self.medium.file.as_mut(), self.file.as_mut()];
        files.into_iter().flatten().find(|file| file.depth == depth)
    }

    /// Handles the end of a file's element, or of an element around it.
    fn end_file(&mut self) {
        if self.ends_with(&["observationMedia"]) {
            self.end_medium();
        } else if self.ends_with(&["regionOfInterest"]) {
            self.medium.region = None;
        } else if let Some(file) = self.open_file(self.path.len()) {
            file.depth = 0;
        }
    }

    /// Adds a file of a section below the section's narrative. The id of a region of interest around the file becomes
    /// part of the file's name.
    fn end_medium(&mut self) {
        let Some(file) = self.medium.file.take() else { return };
        self.untitled();
        let names = [self.medium.name.take(), self.medium.region.clone()];
        self.blocks.media(Media {
            name: names.into_iter().flatten().collect::<Vec<_>>().join(", "),
            content_type: file.content_type.clone(),
            content: file.content(),
        });
    }

    /// Adds the date of the document or the patient's date of birth. Both are in the attribute `value`.
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
                self.room = narrative.finish(&mut self.blocks);
            }
        } else if self.narrative.is_none() {
            self.collected();
            self.end_file();
            if self.ends_with(&["section"]) {
                self.untitled();
                self.sections = self.sections.saturating_sub(1);
                self.titled.pop();
            }
        }
        self.path.pop();
    }

    /// Stores the text of the element that just ended as a title or as a fact of the header. Does nothing if the text
    /// of this element is not needed.
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

    /// Whether the text of the innermost open element is needed, together with the text of its children.
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
        } else if let Some(file) = self.open_file(self.path.len()) {
            file.text.push_str(text);
        } else if self.is_cda {
            push_collapsed(&mut self.text, text);
            // Parts of a name may follow one another without white space, so add a space.
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

    /// If the section has no title so far, writes the display name of its code as the title.
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
        let (head, content_type) = (head.into_vec(), file.content_type.clone());
        match file.content() {
            Content::Undecodable(_) => Err("the file inside of it is not base64"),
            Content::Bytes(bytes) if bytes.trim_ascii().is_empty() => Err("the file inside of it is empty"),
            Content::Bytes(bytes) => Ok(Document::File {
                head,
                content_type,
                bytes,
            }),
            Content::Elsewhere(address) => Ok(Document::Elsewhere {
                head,
                content_type,
                address,
            }),
        }
    }
}

/// Converts a time of HL7 version 3 (`20240131`, `202401311530-0500`) to ISO 8601, without seconds and zone. Any other
/// text is unchanged.
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
    use super::super::span::CUT;
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

    fn unstructured(text: &str) -> Result<Document, &'static str> {
        read(&format!(
            "{HEAD}<component><nonXMLBody>{text}</nonXMLBody></component></ClinicalDocument>"
        ))
    }

    /// Regression: base64 that was not declared was read as the file itself, so a note said "the PDF is damaged".
    #[test]
    fn a_wrapped_file_is_decoded_without_its_representation() {
        let cases: [(&str, &[u8]); 6] = [
            ("<text mediaType=\"application/pdf\">JVBERi0=</text>", b"%PDF-"),
            ("<text mediaType=\"application/pdf\">%PDF-</text>", b"%PDF-"),
            ("<text>JVBERi0=</text>", b"%PDF-"),
            ("<text mediaType=\"text/rtf\">e1xydGYx</text>", b"{\\rtf1"),
            ("<text mediaType=\"text/plain\">well</text>", b"well"),
            ("<text>well</text>", b"well"),
        ];
        for (text, expected) in cases {
            let Ok(Document::File { bytes, .. }) = unstructured(text) else {
                panic!("{text}")
            };
            assert_eq!(bytes, expected, "{text}");
        }
        for (text, reason) in [
            (
                "<text representation=\"B64\">J!</text>",
                "the file inside of it is not base64",
            ),
            (
                "<text representation=\"B64\"> </text>",
                "the file inside of it is empty",
            ),
            (
                "<text mediaType=\"application/pdf\"/>",
                "the file inside of it is empty",
            ),
        ] {
            assert_eq!(unstructured(text).err(), Some(reason), "{text}");
        }
    }

    #[test]
    fn a_document_that_only_names_a_file_says_where_it_is() {
        let text = "<text mediaType=\"application/pdf\"><reference value=\"report.pdf\"/><thumbnail><reference value=\"x\"/>\
            </thumbnail></text>";
        let Ok(Document::Elsewhere {
            content_type, address, ..
        }) = unstructured(text)
        else {
            panic!()
        };
        assert_eq!(
            (content_type.as_deref(), &*address),
            (Some("application/pdf"), "report.pdf")
        );
    }

    /// Regression: in place of a picture in a section, the document showed only "[picture MM1]".
    #[test]
    fn pictures_of_a_section_stand_below_its_narrative() {
        let medium = |name: &str, value: &str| format!("<observationMedia ID=\"{name}\">{value}</observationMedia>");
        let text = format!(
            "{HEAD}<component><structuredBody><component><section><title>Hand</title>\
             <text><paragraph>See <renderMultiMedia referencedObject=\"MM1\"/></paragraph></text>\
             <entry>{}</entry><entry><regionOfInterest ID=\"R\"><entryRelationship>{}</entryRelationship>\
             <entryRelationship>{}</entryRelationship></regionOfInterest></entry></section></component></structuredBody></component></ClinicalDocument>",
            medium(
                "MM1",
                "<value mediaType=\"image/png\" representation=\"B64\">aGVs\nbG8=</value>"
            ),
            medium(
                "MM2",
                "<value mediaType=\"image/gif\"><reference value=\"hand.gif\"/></value>"
            ),
            medium(
                "MM3",
                "<value mediaType=\"image/gif\" representation=\"B64\">!</value><id>x</id>"
            ),
        );
        let Ok(Document::Sections(blocks)) = read(&text) else {
            panic!()
        };
        let media = |name: &str, content_type: &str, content| {
            Block::Media(Media {
                name: name.to_owned(),
                content_type: Some(content_type.to_owned()),
                content,
            })
        };
        assert_eq!(
            blocks[2..],
            [
                Block::Heading(1, "Hand".to_owned()),
                Block::Paragraph("See [picture MM1]".to_owned()),
                media("MM1", "image/png", Content::Bytes(b"hello".to_vec())),
                media("MM2, R", "image/gif", Content::Elsewhere("hand.gif".to_owned())),
                media("MM3, R", "image/gif", Content::Undecodable("!".to_owned())),
            ]
        );
    }

    #[test]
    fn cells_keep_their_columns() {
        let table = |rows: &str| {
            let text = format!(
                "{HEAD}<component><structuredBody><component><section><title>T</title><text><table>{rows}</table></text></section>\
                 </component></structuredBody></component></ClinicalDocument>"
            );
            let Ok(Document::Sections(blocks)) = read(&text) else {
                panic!()
            };
            let Some(Block::Table { head, rows }) = blocks.last() else {
                panic!("{blocks:?}")
            };
            let lines = std::iter::once(head).chain(rows).map(|row| row.join("|"));
            lines.collect::<Vec<_>>()
        };
        assert_eq!(
            table(
                "<thead><tr><th rowspan=\"9\">Drug</th><th colspan=\"2\">Dose</th><th>Since</th></tr></thead>\
                 <tbody><tr><td rowspan=\"2\">X</td><td>1</td><td>mg</td><td>2020</td></tr><tr><td>2</td><td/><td>2021</td></tr>\
                 <tr><td colspan=\"4\">No more</td></tr></tbody>"
            ),
            ["Drug|Dose||Since", "X|1|mg|2020", "X|2||2021", "No more"]
        );
        assert_eq!(
            table(
                "<tr><td colspan=\"1000000000\">t</td></tr><tr><td rowspan=\"1000000000\">a</td><td>b</td></tr>\
                 <tr><td>c<table><tr><td>x</td><td>y</td></tr></table></td></tr>"
            ),
            ["", "t", "a|b", "a|c\nx\ty"]
        );
        // The note about columns follows a table in a cell, too.
        let tall = "<td rowspan=\"2\">x</td>".repeat(65);
        let rows = table(&format!("<tr><td><table><tr>{tall}</tr></table></td></tr>"));
        assert!(rows[1].ends_with(&format!("x\n{CUT}")), "{rows:?}");
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
