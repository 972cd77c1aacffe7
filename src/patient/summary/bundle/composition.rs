//! The Composition: the first entry of the document, with all sections in order.

use super::super::json::{concept, quoted, reference};
use super::super::shared::Section;
use super::super::table::{Shown, narrative, sentence};
use super::complete::PROFILES;
use super::confidentiality::Confidentiality;
use super::made::{SUMMARY, uuid};
use crate::patient::concept::LOINC;

/// The title of all summaries.
pub(super) const TITLE: &str = "International Patient Summary";

const EMPTY: &str = "http://terminology.hl7.org/CodeSystem/list-empty-reason";
const WITHHELD: &str = "This section was not asked for.";

/// A section in the form that it has in the document.
#[derive(Clone, Debug)]
pub struct SectionContent {
    pub(super) section: &'static Section,
    /// Whether the request asked for the section.
    pub(super) is_asked: bool,
    /// The cells of each row.
    pub(super) rows: Vec<Vec<String>>,
    /// The `fullUrl` of each row's resource.
    pub(super) links: Vec<String>,
    /// The `fullUrl` of each entry of the section.
    pub(super) entries: Vec<String>,
}

impl SectionContent {
    /// Returns the section's title.
    pub fn title(&self) -> &'static str {
        self.section.title
    }

    /// Returns the headings of the columns.
    pub fn columns(&self) -> &'static [&'static str] {
        self.section.columns
    }

    /// Returns the rows, with one text for each column.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Returns the text that a section without rows shows. `None` for a section with rows.
    pub fn note(&self) -> Option<&'static str> {
        if !self.is_asked {
            Some(WITHHELD)
        } else if self.rows.is_empty() {
            Some(self.section.nothing)
        } else {
            None
        }
    }

    fn narrative(&self) -> String {
        if let Some(note) = self.note() {
            return sentence(note);
        }
        let rows: Vec<Shown<'_>> = self
            .rows
            .iter()
            .zip(&self.links)
            .map(|(cells, full_url)| Shown { cells, full_url })
            .collect();
        narrative(self.section.alias, self.section.columns, &rows)
    }

    fn json(&self, narrative: &str) -> String {
        let section = self.section;
        let reason = |code, display| concept(EMPTY, code, display);
        let content = if !self.is_asked {
            format!(r#""emptyReason":{}"#, reason("withheld", "Information Withheld"))
        } else if self.entries.is_empty() {
            format!(r#""emptyReason":{}"#, reason("unavailable", "Unavailable"))
        } else {
            let entries: Vec<String> = self.entries.iter().map(|address| reference(address)).collect();
            format!(r#""entry":[{}]"#, entries.join(","))
        };
        format!(
            r#"{{"title":{},"code":{},"text":{narrative},{content}}}"#,
            quoted(section.title),
            concept(LOINC, section.code, section.display)
        )
    }
}

/// The data of the Composition, except its sections.
#[derive(Debug)]
pub(super) struct Head<'h> {
    pub(super) base_url: &'h str,
    pub(super) patient: &'h str,
    pub(super) date: &'h str,
    pub(super) authors: &'h [String],
    pub(super) custodian: &'h str,
    pub(super) confidentiality: Confidentiality,
    /// Whether the Patient conforms to the IPS profile. If it does not, the Composition does not state the IPS profile
    /// either.
    pub(super) is_ips: bool,
}

/// Builds the Composition. Returns its id and its JSON text. The id is a hash of the content and of `contents`, a text
/// with the ids and versions of the document's records.
pub(super) fn composition(head: &Head<'_>, sections: &[SectionContent], contents: &str) -> (String, String) {
    let narratives: Vec<String> = sections.iter().map(SectionContent::narrative).collect();
    let mut names = vec![head.base_url, head.patient, head.date, contents];
    names.extend(narratives.iter().map(String::as_str));
    let id = uuid(&names);
    let sections: Vec<String> = sections
        .iter()
        .zip(&narratives)
        .map(|(section, narrative)| section.json(narrative))
        .collect();
    let meta = if head.is_ips {
        format!(r#""meta":{{"profile":["{PROFILES}Composition-uv-ips"]}},"#)
    } else {
        String::new()
    };
    let (code, display) = SUMMARY;
    let authors: Vec<String> = head.authors.iter().map(|address| reference(address)).collect();
    let date = quoted(head.date);
    let event = format!(
        r#"{{"code":[{}],"period":{{"end":{date}}}}}"#,
        concept(
            "http://terminology.hl7.org/CodeSystem/v3-ActClass",
            "PCPR",
            "care provision"
        )
    );
    let text = format!(
        concat!(
            r#"{{"resourceType":"Composition","id":"{id}",{meta}"language":"en","#,
            r#""identifier":{{"system":"urn:ietf:rfc:3986","value":"urn:uuid:{id}"}},"status":"final","type":{kind},"#,
            r#""subject":{subject},"date":{date},"author":[{authors}],"title":"{title}","#,
            r#""confidentiality":"{confidentiality}","#,
            r#""custodian":{custodian},"event":[{event}],"section":[{sections}]}}"#,
        ),
        id = id,
        meta = meta,
        kind = concept(LOINC, code, display),
        subject = reference(head.patient),
        date = date,
        authors = authors.join(","),
        title = TITLE,
        confidentiality = head.confidentiality.code().0,
        custodian = reference(head.custodian),
        event = event,
        sections = sections.join(",")
    );
    (id, text)
}
