//! Normalized resources of one type in memory: their concatenated texts, and for each resource the facts that the
//! commit needs.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::super::references::condition::Key;
use crate::fhir::TypeId;

/// Resources of one type, from one piece of input or from the rules.
#[derive(Debug)]
pub(in crate::ingest) struct Block {
    pub(in crate::ingest) type_id: TypeId,
    /// The input file. Empty if there is none.
    pub(in crate::ingest) file: Arc<Path>,
    pub(in crate::ingest) entries: Vec<Entry>,
    texts: String,
    /// The keys of identifiers, each with the index of its entry.
    pub(in crate::ingest) identifiers: Vec<(u32, Key)>,
    /// The source of the resources, if a sync fetched them.
    source: Option<RowSource>,
}

/// The authorization and the endpoint from which rows were fetched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ingest) struct RowSource {
    pub(in crate::ingest) authorization: String,
    pub(in crate::ingest) endpoint: String,
}

impl RowSource {
    /// Returns the source of synced rows. Returns `None` for imported rows, which have no authorization.
    pub(in crate::ingest) fn of(authorization: Option<&str>, endpoint: Option<&str>) -> Option<RowSource> {
        let authorization = authorization.filter(|authorization| !authorization.is_empty())?;
        Some(RowSource {
            authorization: authorization.to_owned(),
            endpoint: endpoint.unwrap_or_default().to_owned(),
        })
    }
}

/// One resource of a [`Block`].
#[derive(Clone, Debug)]
pub(in crate::ingest) struct Entry {
    /// The resource's number in the whole input.
    pub(in crate::ingest) ordinal: u64,
    pub(in crate::ingest) owner: i64,
    pub(in crate::ingest) digest: [u8; 16],
    pub(in crate::ingest) origin: Origin,
    splice: Splice,
    /// The position of the resource's id in the block's texts. The next fields are such positions, too: of the id
    /// before rewriting, of the patient (empty if there is none), of the shared references (one per line), and of the
    /// resource's text.
    id: Range<u32>,
    source_id: Range<u32>,
    patient: Range<u32>,
    shared_refs: Range<u32>,
    text: Range<u32>,
}

/// The position of a resource in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::ingest) struct Origin {
    pub(in crate::ingest) line: u64,
    /// The resource's index among a Bundle's entries. `None` outside a Bundle.
    pub(in crate::ingest) entry: Option<u32>,
}

/// Where the commit inserts `meta.versionId` and `meta.lastUpdated` into a text that lacks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ingest) struct Splice {
    pub(in crate::ingest) at: usize,
    /// Whether the text has a `meta` with other properties. If it has, `at` is the offset after its opening brace. If
    /// not, `at` is the offset at which the commit inserts a new `meta`.
    pub(in crate::ingest) in_meta: bool,
}

/// A resource to add to a block.
pub(in crate::ingest) struct Content<'a> {
    pub(in crate::ingest) ordinal: u64,
    pub(in crate::ingest) owner: i64,
    pub(in crate::ingest) digest: [u8; 16],
    pub(in crate::ingest) origin: Origin,
    pub(in crate::ingest) splice: Splice,
    pub(in crate::ingest) id: &'a str,
    /// The resource's id before rewriting.
    pub(in crate::ingest) source_id: &'a str,
    pub(in crate::ingest) patient: Option<&'a str>,
    pub(in crate::ingest) shared_refs: SharedRefs<'a>,
    pub(in crate::ingest) text: &'a str,
    pub(in crate::ingest) identifiers: &'a [Key],
}

/// The references of a resource to possibly shared resources, as `Type/id`.
#[derive(Clone, Copy)]
pub(in crate::ingest) enum SharedRefs<'a> {
    List(&'a [String]),
    /// One reference per line.
    Lines(&'a str),
}

impl SharedRefs<'_> {
    pub(in crate::ingest) const NONE: SharedRefs<'static> = SharedRefs::Lines("");
}

impl Block {
    /// Creates an empty block that reserves memory for about `reserve` bytes of text.
    pub(in crate::ingest) fn new(type_id: TypeId, file: Arc<Path>, reserve: usize) -> Self {
        Self {
            type_id,
            file,
            entries: Vec::new(),
            texts: String::with_capacity(reserve),
            identifiers: Vec::new(),
            source: None,
        }
    }

    /// Returns the block with a source.
    pub(in crate::ingest) fn with_source(self, source: Option<RowSource>) -> Self {
        Self { source, ..self }
    }

    /// Returns the source of the rows, if a sync fetched them.
    pub(in crate::ingest) fn source(&self) -> Option<&RowSource> {
        self.source.as_ref()
    }

    /// Sets the source of the rows, which a sync fetched.
    pub(in crate::ingest) fn set_source(&mut self, source: RowSource) {
        self.source = Some(source);
    }

    pub(in crate::ingest) fn push(&mut self, content: &Content<'_>) {
        let id = self.append(content.id);
        let source_id = if content.source_id == content.id {
            id.clone()
        } else {
            self.append(content.source_id)
        };
        let patient = self.append(content.patient.unwrap_or_default());
        let shared_refs = match content.shared_refs {
            SharedRefs::List(list) => self.append_lines(list),
            SharedRefs::Lines(lines) => self.append(lines),
        };
        let text = self.append(content.text);
        let place = self.entries.len() as u32;
        self.identifiers
            .extend(content.identifiers.iter().map(|key| (place, *key)));
        self.entries.push(Entry {
            ordinal: content.ordinal,
            owner: content.owner,
            digest: content.digest,
            origin: content.origin,
            splice: content.splice,
            id,
            source_id,
            patient,
            shared_refs,
            text,
        });
    }

    /// Whether a text of `length` bytes probably fits without more memory. An empty block always has room for one
    /// resource.
    pub(in crate::ingest) fn has_room(&self, length: usize) -> bool {
        self.texts.is_empty() || self.texts.capacity() - self.texts.len() > length
    }

    fn append(&mut self, text: &str) -> Range<u32> {
        let start = self.texts.len() as u32;
        self.texts.push_str(text);
        start..self.texts.len() as u32
    }

    fn append_lines(&mut self, lines: &[String]) -> Range<u32> {
        let start = self.texts.len() as u32;
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                self.texts.push('\n');
            }
            self.texts.push_str(line);
        }
        start..self.texts.len() as u32
    }

    /// Returns the approximate size of the block in memory, in bytes.
    pub(in crate::ingest) fn weight(&self) -> usize {
        self.texts.capacity() + self.entries.capacity() * size_of::<Entry>() + self.identifiers.capacity() * 24
    }

    /// Frees the unused memory of the entries. Frees that of the texts only if it exceeds an eighth of their length.
    pub(in crate::ingest) fn shrink(&mut self) {
        if self.texts.capacity() > self.texts.len() + self.texts.len() / 8 {
            self.texts.shrink_to_fit();
        }
        self.entries.shrink_to_fit();
    }

    fn str(&self, range: &Range<u32>) -> &str {
        &self.texts[range.start as usize..range.end as usize]
    }

    pub(in crate::ingest) fn id(&self, entry: &Entry) -> &str {
        self.str(&entry.id)
    }

    /// Returns the resource's id before rewriting.
    pub(in crate::ingest) fn source_id(&self, entry: &Entry) -> &str {
        self.str(&entry.source_id)
    }

    pub(in crate::ingest) fn patient(&self, entry: &Entry) -> Option<&str> {
        Some(self.str(&entry.patient)).filter(|patient| !patient.is_empty())
    }

    pub(in crate::ingest) fn shared_refs(&self, entry: &Entry) -> impl Iterator<Item = &str> {
        lines(self.shared_refs_lines(entry))
    }

    /// Returns the references of the resource to possibly shared resources, one per line.
    pub(in crate::ingest) fn shared_refs_lines(&self, entry: &Entry) -> &str {
        self.str(&entry.shared_refs)
    }

    /// Returns where the commit inserts `meta.versionId` and `meta.lastUpdated`.
    pub(in crate::ingest) fn splice(&self, entry: &Entry) -> Splice {
        entry.splice
    }

    /// Returns the resource's text, without `meta.versionId` and `meta.lastUpdated`.
    pub(in crate::ingest) fn text(&self, entry: &Entry) -> &str {
        self.str(&entry.text)
    }

    /// Returns the length of the resource's text in bytes.
    pub(in crate::ingest) fn size(&self, entry: &Entry) -> usize {
        entry.text.len()
    }

    /// Writes the resource to `out` as it is stored, with its version and the time of the commit in `meta`.
    pub(in crate::ingest) fn write(&self, entry: &Entry, version: i64, last_updated: &str, out: &mut Vec<u8>) {
        use std::io::Write;

        let text = self.str(&entry.text).as_bytes();
        let (before, after) = text.split_at(entry.splice.at);
        out.clear();
        out.extend_from_slice(before);
        let properties = format_args!(r#""versionId":"{version}","lastUpdated":"{last_updated}""#);
        // Writing to a vector cannot fail.
        let _ = if entry.splice.in_meta {
            write!(out, "{properties},")
        } else {
            write!(out, r#","meta":{{{properties}}}"#)
        };
        out.extend_from_slice(after);
    }
}

/// Splits the text of [`Block::shared_refs_lines`] into references.
pub(in crate::ingest) fn lines(list: &str) -> impl Iterator<Item = &str> {
    list.split('\n').filter(|reference| !reference.is_empty())
}
