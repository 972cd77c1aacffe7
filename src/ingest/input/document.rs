//! Turns a piece of input into normalized resources. Decides what a line or a document is, which entries of a Bundle
//! are taken, and which resources their `fullUrl`s stand for. Several threads do this at once. A thread needs only its
//! own piece.
//!
//! A Bundle of any type is not stored, but its entries are. A Bundle inside an entry is stored as a resource. The
//! entries of a `history` Bundle are read from the last to the first, because it lists the newest version first. Three
//! kinds of entries are left out: those with a request other than POST and PUT, those without a resource, and outcomes
//! of a search.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::error::{Reason, Refusal};
use super::super::references::condition::{Condition, Key, resource_type};
use super::super::references::links::{Links, Target, Wait};
use super::super::rows::block::{Block, Origin};
use super::super::rows::owners::Owners;
use super::normalize::{Normalized, Normalizer, Rejected, content_id};
use super::source::{Piece, Text};
use crate::columns::json::{JsonError, Tape, Value};
use crate::fhir::TypeId;
use crate::fhir::reference::is_id;

/// The result of preparing one piece.
#[derive(Debug)]
pub(in crate::ingest) struct Prepared {
    pub(in crate::ingest) file: Arc<Path>,
    pub(in crate::ingest) consumed: u64,
    /// The bytes to reserve for the texts of the first block.
    reserve: usize,
    pub(in crate::ingest) blocks: FxHashMap<TypeId, Block>,
    /// Resources that depend on other resources, in the order of the input.
    pub(in crate::ingest) held: Vec<Held>,
    pub(in crate::ingest) refusals: Vec<Refusal>,
    /// The number of Bundle entries that were left out.
    pub(in crate::ingest) left_out: u64,
    /// The number of references that lead to no resource.
    pub(in crate::ingest) unresolved: u64,
}

/// A resource that cannot be stored yet, because other resources decide its references, its id, its owner, or whether
/// it is left out.
#[derive(Debug)]
pub(in crate::ingest) struct Held {
    pub(in crate::ingest) type_id: TypeId,
    /// The resource's own id, before rewriting.
    pub(in crate::ingest) id: String,
    pub(in crate::ingest) ordinal: u64,
    pub(in crate::ingest) origin: Origin,
    /// The normalized text. Its ids are not rewritten, and its unresolved references are unchanged.
    pub(in crate::ingest) text: Vec<u8>,
    pub(in crate::ingest) waits: Vec<Wait>,
    pub(in crate::ingest) identifiers: Vec<Key>,
    pub(in crate::ingest) on_match: Option<OnMatch>,
    /// Whether another resource may decide the owner of this one. The other resource may come later in the input.
    pub(in crate::ingest) stands_for_another: bool,
}

/// What happens to a conditional entry if a resource matches its condition.
#[derive(Debug)]
pub(in crate::ingest) enum OnMatch {
    /// `ifNoneExist`: The entry is left out.
    Leave(Condition),
    /// `PUT Type?query`: The resource is stored under the id of the match.
    Update(Condition),
}

impl Prepared {
    fn new(file: Arc<Path>, consumed: u64) -> Self {
        Self {
            file,
            consumed,
            reserve: 0,
            blocks: FxHashMap::default(),
            held: Vec::new(),
            refusals: Vec::new(),
            left_out: 0,
            unresolved: 0,
        }
    }
}

/// Prepares pieces. Each thread has its own `Preparer`.
#[derive(Debug)]
pub(in crate::ingest) struct Preparer {
    normalizer: Normalizer,
    owners: Arc<Owners>,
}

/// A Bundle entry that is not left out, with its resource.
struct Taken<'t> {
    origin: Origin,
    resource: Value<'t>,
    id: Option<String>,
    on_match: Option<OnMatch>,
}

impl Preparer {
    pub(in crate::ingest) fn new(normalizer: Normalizer, owners: Arc<Owners>) -> Self {
        Self { normalizer, owners }
    }

    /// Returns the result for a file, or a part of a file, that cannot be read.
    pub(in crate::ingest) fn refused(refusal: Refusal) -> Prepared {
        Prepared {
            refusals: vec![refusal.clone()],
            ..Prepared::new(refusal.file, 0)
        }
    }

    /// Prepares a piece. Numbers its resources from `ordinal` upwards.
    pub(in crate::ingest) fn prepare(&mut self, piece: &Piece, ordinal: u64) -> Prepared {
        let mut batch = Batch {
            prepared: Prepared::new(Arc::clone(&piece.file), piece.consumed),
            ordinal,
        };
        let mut tape = Tape::new();
        match &piece.text {
            Text::Document(text) => self.document(text, piece.first_line, &mut tape, &mut batch),
            Text::Lines(text) => {
                batch.prepared.reserve = text.len();
                let ends = memchr::memchr_iter(b'\n', text).chain([text.len()]);
                let mut start = 0;
                for (line, end) in (piece.first_line..).zip(ends) {
                    let content = text[start..end].trim_ascii();
                    if !content.is_empty() {
                        self.document(content, line, &mut tape, &mut batch);
                    }
                    start = end + 1;
                }
            }
        }
        batch.prepared.blocks.values_mut().for_each(Block::shrink);
        batch.prepared
    }

    fn document(&mut self, text: &[u8], line: u64, tape: &mut Tape, batch: &mut Batch) {
        let root = match tape.parse(text) {
            Ok(root) => root,
            Err(error) => {
                // What is missing of a source is told by type.
                let type_id = self.normalizer.naming().and_then(|_| type_of_broken(text));
                return batch.refuse_json(text, line, type_id, error);
            }
        };
        if root.get_str("resourceType").as_deref() == Some("Bundle") {
            self.bundle(text, line, root, batch);
        } else {
            let origin = Origin { line, entry: None };
            self.resource(root, None, None, &Links::default(), origin, batch);
        }
    }

    fn bundle(&mut self, text: &[u8], line: u64, root: Value<'_>, batch: &mut Batch) {
        let Some(entries) = root.get("entry") else { return };
        let mut lines = Lines { text, line, at: 0 };
        if !entries.is_array() {
            let origin = Origin {
                line: lines.to(entries.span().start),
                entry: None,
            };
            return batch.refuse(origin, None, Reason::InvalidEntry);
        }
        let mut links = Links::default();
        let mut taken = Vec::new();
        for (place, entry) in (0..).zip(entries.items()) {
            let origin = Origin {
                line: lines.to(entry.span().start),
                entry: Some(place),
            };
            if !entry.is_object() {
                batch.refuse(origin, None, Reason::InvalidEntry);
                continue;
            }
            match self.take(entry, origin, &mut links) {
                Ok(Some(entry)) => taken.push(entry),
                Ok(None) => batch.prepared.left_out += 1,
                Err((type_id, reason)) => batch.refuse(origin, type_id, reason),
            }
        }
        if root.get_str("type").as_deref() == Some("history") {
            taken.reverse();
        }
        for Taken {
            origin,
            resource,
            id,
            on_match,
        } in taken
        {
            self.resource(resource, id.as_deref(), on_match, &links, origin, batch);
        }
    }

    /// Reads an entry's request, and adds its `fullUrl` to `links`. Returns `None` if the entry is left out.
    fn take<'t>(
        &self,
        entry: Value<'t>,
        origin: Origin,
        links: &mut Links,
    ) -> Result<Option<Taken<'t>>, (Option<TypeId>, Reason)> {
        let request = entry.get("request");
        let method = request.and_then(|request| request.get_str("method"));
        let outcome = entry.get("search").and_then(|search| search.get_str("mode")).as_deref() == Some("outcome");
        let Some(resource) = entry.get("resource").filter(|resource| resource.is_object()) else {
            return Ok(None);
        };
        if outcome || !matches!(method.as_deref(), None | Some("POST" | "PUT")) {
            return Ok(None);
        }
        let name = resource.get_str("resourceType").ok_or((None, Reason::NoResourceType))?;
        let type_id = resource_type(&name).ok_or((None, Reason::UnknownResourceType))?;
        let failed = |reason| (Some(type_id), reason);
        let keys = self.normalizer.keys();
        let url = request.and_then(|request| request.get_str("url")).unwrap_or_default();
        let own = resource.get_str("id");
        let mut on_match = None;
        let mut named = None;
        if method.as_deref() == Some("PUT") {
            if let Some((_, query)) = url.split_once('?') {
                let condition = Condition::of_type(type_id, query, keys).ok_or(failed(Reason::UnsupportedCondition))?;
                on_match = Some(OnMatch::Update(condition));
            } else if let Some((_, id)) = url.rsplit_once('/') {
                named = Some(id.to_owned()).filter(|id| is_id(id));
                if own.is_some() && named.is_some() && own.as_deref() != named.as_deref() {
                    return Err(failed(Reason::OtherResource));
                }
            }
        } else if let Some(query) = request.and_then(|request| request.get_str("ifNoneExist")) {
            let query = query.rsplit_once('?').map_or(&*query, |(_, query)| query);
            let condition = Condition::of_type(type_id, query, keys).ok_or(failed(Reason::UnsupportedCondition))?;
            on_match = Some(OnMatch::Leave(condition));
        }
        let full_url = entry.get_str("fullUrl");
        // A resource without an id gets the id in the URL of a PUT, else the id in its `fullUrl`, else a hash of its
        // content.
        let given = match (&own, named) {
            (Some(_), _) => None,
            (None, Some(named)) => Some(named),
            (None, None) => Some(
                full_url
                    .as_deref()
                    .and_then(id_of_address)
                    .unwrap_or_else(|| content_id(resource)),
            ),
        };
        let id = given.as_deref().map(Cow::Borrowed).or(own.clone()).unwrap_or_default();
        if let Some(full_url) = full_url {
            let target = format!("{name}/{id}");
            let target = match &on_match {
                Some(OnMatch::Leave(condition) | OnMatch::Update(condition)) => {
                    Target::Conditional(condition.clone(), target)
                }
                None => Target::Known(target),
            };
            links.full_urls.insert(full_url.into_owned(), target);
        }
        Ok(Some(Taken {
            origin,
            resource,
            id: given,
            on_match,
        }))
    }

    fn resource(
        &mut self,
        resource: Value<'_>,
        given_id: Option<&str>,
        on_match: Option<OnMatch>,
        links: &Links,
        origin: Origin,
        batch: &mut Batch,
    ) {
        let ordinal = batch.next_ordinal();
        let normalized = match self.normalizer.normalize(resource, given_id, links) {
            Ok(normalized) => normalized,
            Err(Rejected { type_id, reason }) => return batch.refuse(origin, type_id, reason),
        };
        batch.prepared.unresolved += u64::from(normalized.unresolved);
        if normalized.waits.is_empty() && on_match.is_none() && !normalized.stands_for_another {
            self.file(&normalized, origin, ordinal, &mut batch.prepared);
            return;
        }
        let normalized = if self.normalizer.rewrites() {
            // `normalize` accepted the same resource above, so this does not fail.
            match self.normalizer.normalize_unrewritten(resource, given_id, links) {
                Ok(normalized) => normalized,
                Err(Rejected { type_id, reason }) => return batch.refuse(origin, type_id, reason),
            }
        } else {
            normalized
        };
        let waits = normalized.waits;
        let identifiers = self.normalizer.identifiers.clone();
        let text = self.normalizer.text().as_bytes().to_vec();
        let (type_id, id, stands_for_another) =
            (normalized.type_id, normalized.source_id, normalized.stands_for_another);
        batch.prepared.held.push(Held {
            type_id,
            id,
            ordinal,
            origin,
            text,
            waits,
            identifiers,
            on_match,
            stands_for_another,
        });
    }

    /// Adds the resource that was normalized last to the block of its type.
    fn file(&self, normalized: &Normalized, origin: Origin, ordinal: u64, prepared: &mut Prepared) {
        let file = Arc::clone(&prepared.file);
        // The resources of an NDJSON piece mostly have one type, so only the first block reserves memory.
        let reserve = if prepared.blocks.is_empty() {
            prepared.reserve
        } else {
            0
        };
        let block = prepared
            .blocks
            .entry(normalized.type_id)
            .or_insert_with(|| Block::new(normalized.type_id, file, reserve));
        self.owners.push(block, normalized, &self.normalizer, origin, ordinal);
    }
}

/// Counts the lines of a text up to a position. Callers ask for positions in ascending order.
struct Lines<'t> {
    text: &'t [u8],
    line: u64,
    at: usize,
}

impl Lines<'_> {
    fn to(&mut self, place: usize) -> u64 {
        self.line += memchr::memchr_iter(b'\n', &self.text[self.at..place]).count() as u64;
        self.at = place;
        self.line
    }
}

/// A piece's result while it is being prepared.
struct Batch {
    prepared: Prepared,
    ordinal: u64,
}

impl Batch {
    fn next_ordinal(&mut self) -> u64 {
        self.ordinal += 1;
        self.ordinal - 1
    }

    fn refuse(&mut self, origin: Origin, type_id: Option<TypeId>, reason: Reason) {
        let file = Arc::clone(&self.prepared.file);
        let entry = origin.entry.map(|entry| entry as usize);
        self.prepared.refusals.push(Refusal {
            file,
            line: origin.line,
            entry,
            type_id,
            reason,
        });
    }

    /// Refuses a text, with the line and the column at which it stops being JSON.
    fn refuse_json(&mut self, text: &[u8], line: u64, type_id: Option<TypeId>, error: JsonError) {
        let before = &text[..error.offset.min(text.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let line = line + memchr::memchr_iter(b'\n', before).count() as u64;
        let column = (before.len() - line_start) as u64 + 1;
        self.refuse(
            Origin { line, entry: None },
            type_id,
            Reason::NotJson {
                reason: error.reason,
                column,
            },
        );
    }
}

/// Returns the type of a resource whose text is JSON in its form, but has a value that cannot be read, such as half of
/// a surrogate pair.
fn type_of_broken(text: &[u8]) -> Option<TypeId> {
    #[derive(serde::Deserialize)]
    struct Head<'t> {
        #[serde(rename = "resourceType", borrow)]
        resource_type: Cow<'t, str>,
    }
    let head: Head<'_> = serde_json::from_slice(text).ok()?;
    resource_type(&head.resource_type)
}

/// Returns the id in `urn:uuid:…` or at the end of another address. Returns `None` if it is no valid id in R4.
fn id_of_address(address: &str) -> Option<String> {
    let id = address
        .strip_prefix("urn:uuid:")
        .or_else(|| address.rsplit_once('/').map(|(_, id)| id))?;
    is_id(id).then(|| id.to_owned())
}
