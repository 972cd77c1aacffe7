//! Builds the PDF file or the ZIP archive from the records of sources.

use std::collections::BTreeSet;
use std::io::{Seek, Write};

use chrono::{DateTime, Utc};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::attached::{self, Documents, Got};
use super::gate::{Gate, Unread};
use super::resource::{Index, Resource};
use super::source::{Source, SourceKind};
use super::structured::structured;
use crate::columns::json::Tape;
use crate::patient::{Record, words};
use crate::pdf::{Column, Document, PdfError, Properties, Stop};

/// A source with its records.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The source.
    pub source: &'a Source,
    /// The records of the source. `None` if they could not be obtained.
    pub record: Option<&'a Record>,
    /// The provider of the documents that the records name.
    pub documents: &'a dyn Documents,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One PDF document with all sources, in their order.
    Document,
    /// A ZIP archive with one PDF document for each source.
    Archive,
}

/// The settings of an export, which all its files share, and its result.
#[derive(Debug, Clone)]
pub struct Export {
    /// The time at which the export is made.
    pub moment: DateTime<Utc>,
    /// The author that the files name.
    pub author: String,
    /// The labels of the sources that could not be shown in full.
    pub failed: Vec<String>,
    /// The number of resources shown.
    pub resources: usize,
    /// The base URL of the service's own references.
    base: String,
    /// The number of bytes of documents that the export may still add.
    room: u64,
    /// Records and documents that could not be shown, one line each.
    lost: Vec<String>,
    /// The numbers of the parts that could not be shown in full.
    failed_parts: Vec<usize>,
    /// The number of attachments so far.
    attachments: usize,
    /// Whether embedded files are compressed.
    pub(super) is_packed: bool,
    stop: Stop,
}

/// The maximum number of bytes of documents in one export. The documents stay in memory until the export is written, as
/// original bytes and as pages.
pub(super) const MAX_ATTACHED: u64 = 256 << 20;

impl Export {
    /// Creates an empty export.
    pub fn new(moment: DateTime<Utc>, author: impl Into<String>) -> Self {
        Self {
            moment,
            author: author.into(),
            failed: Vec::new(),
            resources: 0,
            base: String::new(),
            room: MAX_ATTACHED,
            lost: Vec::new(),
            failed_parts: Vec::new(),
            attachments: 0,
            is_packed: true,
            stop: Stop::default(),
        }
    }

    /// Sets the base URL of the service's own references. The export finds the target of a reference that begins with
    /// this base, as it does for a relative reference.
    pub fn with_base(mut self, base: &str) -> Self {
        self.base = base.to_owned();
        self
    }

    /// Makes the export stop when `stop` is set.
    pub fn until(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the numbers of the parts that could not be shown in full, in order.
    pub(super) fn failed_parts(&self) -> &[usize] {
        &self.failed_parts
    }

    fn failed(&mut self, number: usize, part: &Part<'_>) {
        self.failed.push(part.source.label.clone());
        self.failed_parts.push(number);
    }

    pub(super) fn begin(&self, parts: &[Part<'_>]) -> Result<Document, PdfError> {
        let person = parts
            .iter()
            .find_map(|part| part.record.and_then(person))
            .unwrap_or_default();
        let title = joined("Health records", &person);
        let mut document = Document::new(Properties {
            title: title.clone(),
            author: self.author.clone(),
            language: "en".to_owned(),
            created: self.moment,
            running_head: format!("{title} \u{b7} {}", self.moment.format("%Y-%m-%d")),
        })?
        .until(self.stop.clone())
        .packed(self.is_packed);
        document.heading(1, &title);
        document.paragraph(&format!(
            "Made on {} by {}.",
            self.moment.format("%Y-%m-%d at %H:%M UTC"),
            self.author
        ));
        document.heading(2, "Sources");
        let columns = [
            Column::new("Source", 6.0),
            Column::new("Records", 2.0),
            Column::new("Connected as", 4.0),
        ];
        let mut table = document.table("Sources of these records", &columns);
        for part in parts {
            let count = part
                .record
                .map_or_else(|| "none could be had".to_owned(), |record| record.len().to_string());
            let kind = match part.source.kind {
                SourceKind::Connected => "signed in by the patient",
                SourceKind::SelfAttested => "by the patient's own word",
                SourceKind::Facility => "found for the verified patient",
            };
            table.row(&[part.source.label.as_str(), &count, kind]);
        }
        drop(table);
        Ok(document)
    }

    fn part(&mut self, document: &mut Document, number: usize, part: &Part<'_>, gate: &dyn Gate) {
        document.page_break();
        document.heading(1, &part.source.label);
        let Some(record) = part.record else {
            document.note("The records of this source could not be had, and are missing here.");
            self.failed(number, part);
            self.lost.push(format!("{}: all records", part.source.label));
            return;
        };
        let mut tapes: Vec<Tape> = Vec::new();
        tapes.resize_with(record.len(), Tape::new);
        let base = self.base.clone();
        let index = Index::read(record, &mut tapes, &base);
        let resources = index.resources();
        self.resources += resources.len();
        if !part.source.missing.is_empty() {
            let types = part.source.missing.join(", ");
            document.note(&format!(
                "The source did not give records of these types, or not all of them: {types}."
            ));
        }
        if resources.is_empty() {
            document.paragraph("This source has no records.");
        }
        let is_facility = part.source.kind == SourceKind::Facility;
        let before = self.lost.len();
        if is_facility {
            self.documents(document, part, &resources, gate);
        }
        structured(document, &resources);
        if !is_facility {
            self.documents(document, part, &resources, gate);
        }
        if self.lost.len() > before {
            self.failed(number, part);
        }
    }

    /// Adds the documents that the resources name.
    fn documents(&mut self, document: &mut Document, part: &Part<'_>, resources: &[Resource<'_>], gate: &dyn Gate) {
        let named: Vec<_> = resources
            .iter()
            .flat_map(|resource| attached::of(resource.type_id, resource.json))
            .collect();
        if named.is_empty() {
            return;
        }
        document.heading(2, "Attached documents");
        for one in named {
            if document.is_stopped() {
                return;
            }
            document.heading(3, &one.title);
            let number = self.attachments;
            self.attachments += 1;
            match one.get(part.documents, self.room) {
                Got::Here(attachment) => {
                    self.room = self.room.saturating_sub(attachment.bytes.len() as u64);
                    let unread = |document: &mut Document, attachment, unread: Unread| {
                        document.unread(attachment, &unread.reason, unread.is_kept)
                    };
                    let outcome = if attachment.is_shown() {
                        match gate.begin(number) {
                            Ok(()) => {
                                let outcome = document.attachment(attachment);
                                gate.end(number);
                                outcome
                            }
                            Err(why) => unread(document, attachment, why),
                        }
                    } else {
                        match gate.keep(number) {
                            Ok(()) => document.attachment(attachment),
                            Err(why) => unread(document, attachment, why),
                        }
                    };
                    if let Some(reason) = outcome.loss() {
                        self.lost
                            .push(format!("{}: {} ({reason})", part.source.label, one.title));
                    }
                }
                Got::Missing(attachment, error) => {
                    self.room = self.room.saturating_sub(attachment.bytes.len() as u64);
                    document.missing(&attachment, &error.to_string());
                    if error.is_loss() {
                        self.lost
                            .push(format!("{}: {} ({error})", part.source.label, one.title));
                    }
                }
            }
        }
    }

    /// Writes a ZIP archive with one PDF document for each source.
    fn archive<W: Write + Seek>(&mut self, parts: &[Part<'_>], gate: &dyn Gate, out: &mut W) -> Result<(), PdfError> {
        const FAILED: PdfError = PdfError::Writer("the archive cannot be written");
        let mut zip = ZipWriter::new(out);
        // Do not compress the PDF files again.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let mut taken = BTreeSet::new();
        for (number, part) in parts.iter().enumerate() {
            let mut document = self.begin(std::slice::from_ref(part))?;
            self.part(&mut document, number, part, gate);
            let name = file_name(part.source, &mut taken);
            zip.start_file(name, options).map_err(|_| FAILED)?;
            self.finish(document, gate, &mut zip)?;
        }
        zip.finish().map_err(|_| FAILED)?;
        Ok(())
    }

    /// Adds what is missing, and writes the document.
    fn finish(&mut self, mut document: Document, gate: &dyn Gate, out: &mut dyn Write) -> Result<(), PdfError> {
        self.losses(&mut document);
        gate.finishing();
        document.finish_to(out)?;
        gate.finished();
        Ok(())
    }

    /// Adds a page with the missing records and documents, if there are any.
    fn losses(&mut self, document: &mut Document) {
        if !self.lost.is_empty() {
            document.page_break();
            document.heading(1, "What is missing");
            document.list(&std::mem::take(&mut self.lost));
        }
    }
}

/// Writes the export in this form.
pub(super) fn draw<W: Write + Seek>(
    mut export: Export,
    parts: &[Part<'_>],
    form: Form,
    gate: &dyn Gate,
    out: &mut W,
) -> Result<Export, PdfError> {
    match form {
        Form::Document => {
            let mut document = export.begin(parts)?;
            for (number, part) in parts.iter().enumerate() {
                export.part(&mut document, number, part, gate);
            }
            export.finish(document, gate, out)?;
        }
        Form::Archive => export.archive(parts, gate, out)?,
    }
    Ok(export)
}

/// Returns the name of a source's file, made from the source's kind and name. It is unique in the archive.
fn file_name(source: &Source, taken: &mut BTreeSet<String>) -> String {
    let prefix = match source.kind {
        SourceKind::Connected => "oauth",
        SourceKind::SelfAttested => "ial1",
        SourceKind::Facility => "ial2",
    };
    let safe = |letter: char| {
        if letter.is_alphanumeric() || "-_. ".contains(letter) {
            letter
        } else {
            '-'
        }
    };
    let name: String = source.name.chars().map(safe).take(100).collect();
    let mut file = format!("{prefix}-{name}.pdf");
    let mut count = 1;
    while !taken.insert(file.clone()) {
        count += 1;
        file = format!("{prefix}-{name}-{count}.pdf");
    }
    file
}

/// Returns the name and birth date of the record's first Patient.
fn person(record: &Record) -> Option<String> {
    let row = record.of("Patient").first()?;
    let mut tape = Tape::new();
    words::person(tape.parse(&row.resource).ok()?)
}

/// Joins two texts: "Health records of Ann". If `whose` is empty, returns `what` alone.
pub(super) fn joined(what: &str, whose: &str) -> String {
    if whose.is_empty() {
        what.to_owned()
    } else {
        format!("{what} of {whose}")
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Cursor;

    use super::super::{Attached, FetchError};
    use super::*;
    use crate::fhir::facts;
    use crate::lake::scan::Row;
    use crate::search::Gathered;

    /// A client that disconnects when it gets the document number `after`.
    struct Leaving {
        after: usize,
        got: Cell<usize>,
        stop: Stop,
    }

    impl Documents for Leaving {
        fn get(&self, _: &str, _: u64) -> Result<Attached, FetchError> {
            self.got.set(self.got.get() + 1);
            if self.got.get() == self.after {
                self.stop.ask();
            }
            Ok(Attached {
                content_type: Some("text/plain".to_owned()),
                bytes: b"a letter".to_vec(),
            })
        }
    }

    /// Returns a record with a Patient and `count` letters.
    fn letters(count: usize) -> Record {
        let gathered = |name: &str, texts: Vec<String>| Gathered {
            type_id: facts().lookup(name).unwrap(),
            is_referred: false,
            rows: texts
                .into_iter()
                .enumerate()
                .map(|(at, text)| Row {
                    id: at.to_string(),
                    resource: text.into(),
                    version: 1,
                    last_updated: 0,
                })
                .collect(),
        };
        let letter = |at| {
            format!(
                r#"{{"resourceType":"DocumentReference","id":"d{at}","content":[{{"attachment":{{"url":"Binary/{at}"}}}}]}}"#
            )
        };
        let patient = r#"{"resourceType":"Patient","id":"p"}"#.to_owned();
        Record {
            snapshot: 1,
            types: vec![
                gathered("Patient", vec![patient]),
                gathered("DocumentReference", (0..count).map(letter).collect()),
            ],
        }
    }

    #[test]
    fn nothing_more_is_done_once_nobody_wants_the_pages() {
        let record = letters(50);
        let source = Source {
            label: "Clinic".to_owned(),
            name: "clinic".to_owned(),
            kind: SourceKind::Connected,
            missing: Vec::new(),
        };
        for is_archive in [false, true] {
            for (after, got) in [(3, 3), (1_000, 50)] {
                let stop = Stop::default();
                let documents = Leaving {
                    after,
                    got: Cell::new(0),
                    stop: stop.clone(),
                };
                let part = Part {
                    source: &source,
                    record: Some(&record),
                    documents: &documents,
                };
                let export = Export::new(DateTime::default(), "Test").until(stop);
                let mut out = Cursor::new(Vec::new());
                let form = if is_archive { Form::Archive } else { Form::Document };
                let done = draw(export, &[part], form, &(), &mut out);
                assert_eq!(documents.got.get(), got);
                if after == got {
                    assert!(matches!(done, Err(PdfError::Stopped)), "{done:?}")
                } else {
                    assert!(done.is_ok() && !out.into_inner().is_empty())
                }
            }
        }
    }
}
