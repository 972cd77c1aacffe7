//! Reads documents into batches of resources. It reads the properties that views need, and checks and skips all
//! others.
//!
//! A document is a resource, a Bundle (its entries' resources count, too) or several of these as lines. One pass over
//! a text serves several views, of one type or of several.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;

use super::super::error::RunError;
use super::super::evaluation::culprit::ID;
use super::super::view::View;
use crate::columns::json::{Choice, Chosen, JsonError, Selection, Take, Tape, Value};
use crate::columns::shred::{Clip, ShredError, Shredder, SystemValues};
use crate::fhir::storage::{EVERYTHING, LeafSet, TEXT, root_column};
use crate::fhir::{TypeId, facts};

/// The maximum number of resources in a batch.
const BATCH: usize = 4096;
/// The number of bytes of text at which a batch is full.
const BATCH_BYTES: usize = 16 << 20;
/// The property that holds the type of a resource.
const TYPE: &str = "resourceType";
/// The resource type whose entries contain resources.
const BUNDLE: &str = "Bundle";

/// Why a document or a resource is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(JsonError),
    /// The JSON of a resource does not fit into columns.
    #[error("{0}")]
    Shape(String),
}

/// A text with resources. It also receives the errors.
pub trait Document: Send {
    /// Returns the text: one JSON document, or several as lines.
    fn text(&self) -> &[u8];
    /// Whether each line is a JSON document of its own.
    fn is_lines(&self) -> bool;
    /// Reports that a part of the text was left out. `offset` is the position of the part or of its error, in bytes of
    /// the text.
    fn refuse(&self, offset: usize, reason: Refused);
}

/// Selects resources before they are converted to columns.
pub trait Pick: Send + Sync {
    /// Whether this resource is selected.
    fn takes(&self, type_id: TypeId, resource: Value<'_>) -> bool;
    /// Returns the properties at the root of a resource of this type that `takes` reads.
    fn reads(&self, type_id: TypeId) -> Vec<&'static str>;
}

/// Reads from documents the properties that some views need. When a group of documents has been read, its `Tools` are
/// kept in `idle` for the next group.
pub struct Reader {
    pick: Option<Arc<dyn Pick>>,
    clips: Vec<Clip>,
    /// For each clip, whether a view needs the resources' own JSON text.
    texts: Vec<bool>,
    choice: Choice,
    /// The index of the clip for Bundles, if a view reads Bundles.
    bundles: Option<usize>,
    idle: Mutex<Vec<Tools>>,
}

/// The tools of one thread.
#[derive(Debug)]
struct Tools {
    /// The selections by type, in the order of the clips. The selection for Bundles comes last, unless a view reads
    /// Bundles.
    choice: Choice,
    /// The selection that reads only the places of a Bundle's entries.
    bundles: Choice,
    tape: Tape,
    shredders: Vec<Shredder>,
}

impl Reader {
    /// Returns a reader for views. Views of the same type share batches. The batches have all columns that any of these
    /// views needs.
    pub fn new<'v>(views: impl IntoIterator<Item = &'v View>) -> Reader {
        Reader::picking(views, None)
    }

    /// Returns a reader for views that uses only the resources that `pick` selects. Without `pick`, it uses all.
    pub fn picking<'v>(views: impl IntoIterator<Item = &'v View>, pick: Option<Arc<dyn Pick>>) -> Reader {
        let mut leaves: Vec<(TypeId, LeafSet)> = Vec::new();
        for view in views {
            let mut wanted = view.leaves().clone();
            wanted.extend(view.filter_leaves());
            // Read the id, so that an error can name the resource.
            wanted.insert(ID.to_owned());
            match leaves.iter_mut().find(|(type_id, _)| *type_id == view.resource()) {
                Some((_, leaves)) => leaves.extend(wanted),
                None => leaves.push((view.resource(), wanted)),
            }
        }
        Reader::of_leaves(leaves, pick)
    }

    /// Returns a reader for these leaves of these types. Each type occurs once. The leaf [`TEXT`] requests the JSON
    /// text of the resources.
    pub fn of_leaves(mut leaves: Vec<(TypeId, LeafSet)>, pick: Option<Arc<dyn Pick>>) -> Reader {
        for (type_id, leaves) in &mut leaves {
            let reads = pick.iter().flat_map(|pick| pick.reads(*type_id));
            leaves.extend(reads.map(|property| format!("{}.{EVERYTHING}", root_column(property))));
        }
        let texts = leaves.iter().map(|(_, leaves)| leaves.contains(TEXT)).collect();
        let clips: Vec<Clip> = leaves
            .iter()
            .map(|(type_id, leaves)| Clip::new(*type_id, leaves))
            .collect();
        let name = |clip: &Clip| facts().get(clip.type_id()).name;
        let mut selections: Vec<_> = clips
            .iter()
            .map(|clip| (name(clip), clip.selection().clone()))
            .collect();
        let bundles = clips.iter().position(|clip| name(clip) == BUNDLE);
        if bundles.is_none() {
            selections.push((BUNDLE, entries()));
        }
        Reader {
            pick,
            choice: Choice::new(TYPE, selections),
            bundles,
            clips,
            texts,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Returns the batches of documents. Each batch has resources of one type, in the order of the documents.
    pub fn batches<D: Document>(self: Arc<Reader>, documents: Vec<D>) -> Batches<D> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let tools = idle.unwrap_or_else(|| Tools {
            choice: self.choice.clone(),
            bundles: Choice::new(TYPE, [(BUNDLE, entries())]),
            tape: Tape::new(),
            shredders: self.clips.iter().map(Shredder::clipped).collect(),
        });
        Batches {
            reader: self,
            tools: Some(tools),
            documents: documents.into_iter(),
            current: None,
            ready: VecDeque::new(),
        }
    }

    fn takes(&self, type_id: TypeId, resource: Value<'_>) -> bool {
        self.pick.as_ref().is_none_or(|pick| pick.takes(type_id, resource))
    }

    fn table(&self, name: &str) -> Option<usize> {
        let clips = self.clips.iter();
        clips
            .map(|clip| facts().get(clip.type_id()).name)
            .position(|of| of == name)
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("clips", &self.clips)
            .finish_non_exhaustive()
    }
}

/// Returns the selection for a Bundle: the positions of its entries' resources.
fn entries() -> Selection {
    let mut selection = Selection::new();
    let entry = selection.object([("resource", Take::Scalar)]);
    selection.object([("entry", Take::Object(entry))]);
    selection
}

/// Batches of resources, read on demand.
#[derive(Debug)]
pub struct Batches<D: Document> {
    reader: Arc<Reader>,
    tools: Option<Tools>,
    documents: std::vec::IntoIter<D>,
    current: Option<OpenDocument<D>>,
    ready: VecDeque<(TypeId, RecordBatch)>,
}

/// A document, and how far it has been read.
#[derive(Debug)]
struct OpenDocument<D> {
    document: D,
    /// The position at which the next line begins.
    at: usize,
    /// The positions of a Bundle's resources that are not read yet.
    entries: VecDeque<Range<usize>>,
}

impl<D: Document> Batches<D> {
    fn advance(&mut self) -> Result<Option<(TypeId, RecordBatch)>, RunError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(tools) = &mut self.tools else { return Ok(None) };
            let mut turn = Turn {
                reader: &self.reader,
                tools,
                ready: &mut self.ready,
            };
            match &mut self.current {
                Some(place) => {
                    if !turn.read(place)? {
                        self.current = None;
                    }
                }
                None => match self.documents.next() {
                    Some(document) => {
                        self.current = Some(OpenDocument {
                            document,
                            at: 0,
                            entries: VecDeque::new(),
                        });
                    }
                    None => {
                        turn.finish()?;
                        self.hand_back();
                    }
                },
            }
        }
    }

    /// Returns the tools to the reader, which keeps them for the next group of documents.
    fn hand_back(&mut self) {
        if let Some(tools) = self.tools.take() {
            let mut idle = self.reader.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(tools);
        }
    }
}

impl<D: Document> Iterator for Batches<D> {
    type Item = Result<(TypeId, RecordBatch), RunError>;

    /// Returns the next batch. After an error, returns `None`.
    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.advance();
        if batch.is_err() {
            self.tools = None;
        }
        batch.transpose()
    }
}

/// Reads documents until a batch is ready.
struct Turn<'b> {
    reader: &'b Reader,
    tools: &'b mut Tools,
    ready: &'b mut VecDeque<(TypeId, RecordBatch)>,
}

impl Turn<'_> {
    /// Continues reading a document. Returns whether there is more of it.
    fn read<D: Document>(&mut self, place: &mut OpenDocument<D>) -> Result<bool, RunError> {
        while self.ready.is_empty() {
            if let Some(entry) = place.entries.pop_front() {
                let text = &place.document.text()[entry.clone()];
                self.text(&place.document, entry.start, text, None)?;
                continue;
            }
            let text = place.document.text();
            if place.at > text.len() {
                return Ok(false);
            }
            let rest = &text[place.at..];
            let length = if place.document.is_lines() {
                memchr::memchr(b'\n', rest).unwrap_or(rest.len())
            } else {
                rest.len()
            };
            let line = &rest[..length];
            let start = place.at;
            place.at += length + 1;
            if !place.document.is_lines() {
                self.text(&place.document, start, line, Some(&mut place.entries))?;
                continue;
            }
            let blank = line.len() - line.trim_ascii_start().len();
            if blank < line.len() {
                let line = line.trim_ascii();
                self.text(&place.document, start + blank, line, Some(&mut place.entries))?;
            }
        }
        Ok(true)
    }

    /// Reads a JSON text that begins at `offset` of its document. With `entries`, the text may be a Bundle, and the
    /// positions of its resources are added to `entries`.
    fn text<D: Document>(
        &mut self,
        document: &D,
        offset: usize,
        text: &[u8],
        mut entries: Option<&mut VecDeque<Range<usize>>>,
    ) -> Result<(), RunError> {
        let Tools {
            choice,
            bundles,
            tape,
            shredders,
        } = &mut *self.tools;
        let bundle = match tape.choose(text, choice) {
            Err(error) => {
                document.refuse(offset + error.offset, Refused::NotJson(error));
                return Ok(());
            }
            Ok(Chosen::Nothing) => return Ok(()),
            Ok(Chosen::Twice) => return self.whole(document, offset, text, entries.is_some()),
            Ok(Chosen::Selected(table, resource)) => match shredders.get_mut(table) {
                None => Some(resource),
                Some(_) if self.reader.bundles == Some(table) && entries.is_none() => return Ok(()),
                Some(shredder) => {
                    let type_id = self.reader.clips[table].type_id();
                    let picked = self.reader.takes(type_id, resource);
                    let with_text = self.reader.texts[table];
                    if picked && let Some(problem) = store(shredder, type_id, resource, with_text, self.ready)? {
                        document.refuse(offset + resource.span().start, problem);
                    }
                    if self.reader.bundles == Some(table) && shredders.len() > 1 {
                        match tape.choose(text, bundles) {
                            Ok(Chosen::Selected(_, bundle)) => Some(bundle),
                            _ => None,
                        }
                    } else {
                        None
                    }
                }
            },
        };
        if let (Some(bundle), Some(entries)) = (bundle, &mut entries) {
            let found = bundle.get("entry").into_iter().flat_map(|entries| entries.items());
            let resources = found.filter_map(|entry| entry.get("resource"));
            entries.extend(
                resources
                    .map(|resource| resource.span())
                    .map(|span| offset + span.start..offset + span.end),
            );
        }
        Ok(())
    }

    /// Parses a whole text again, because an unneeded property occurs twice in an object. Only the whole resource
    /// shows whether that is an error.
    #[cold]
    fn whole<D: Document>(&mut self, document: &D, offset: usize, text: &[u8], bundle: bool) -> Result<(), RunError> {
        let Tools { tape, shredders, .. } = &mut *self.tools;
        let Ok(root) = tape.parse(text) else { return Ok(()) };
        let entries = root
            .get("entry")
            .filter(|_| bundle && type_of(root).as_deref() == Some(BUNDLE));
        let entries = entries.into_iter().flat_map(|entries| entries.items());
        let resources = entries
            .filter_map(|entry| entry.get("resource"))
            .map(|resource| (resource, false));
        for (resource, is_root) in std::iter::once((root, bundle)).chain(resources) {
            let table = type_of(resource).and_then(|name| self.reader.table(&name));
            let Some(table) = table.filter(|table| is_root || self.reader.bundles != Some(*table)) else {
                continue;
            };
            let type_id = self.reader.clips[table].type_id();
            if !self.reader.takes(type_id, resource) {
                continue;
            }
            let refused = push(&mut Shredder::new(type_id), resource, false).err();
            let problem = match refused {
                Some(error) => Some(Refused::Shape(error.to_string())),
                None => store(
                    &mut shredders[table],
                    type_id,
                    resource,
                    self.reader.texts[table],
                    self.ready,
                )?,
            };
            if let Some(problem) = problem {
                document.refuse(offset + resource.span().start, problem);
            }
        }
        Ok(())
    }

    /// Finishes the batches that are not full.
    fn finish(&mut self) -> Result<(), RunError> {
        for (clip, shredder) in self.reader.clips.iter().zip(&mut self.tools.shredders) {
            if !shredder.is_empty() {
                self.ready.push_back((clip.type_id(), shredder.finish()?));
            }
        }
        Ok(())
    }
}

fn type_of<'t>(resource: Value<'t>) -> Option<std::borrow::Cow<'t, str>> {
    resource.get_str(TYPE)
}

/// Adds a resource to the batch of its type. If the batch is full, moves it to `ready`. Returns the reason if the
/// resource is refused.
fn store(
    shredder: &mut Shredder,
    type_id: TypeId,
    resource: Value<'_>,
    with_text: bool,
    ready: &mut VecDeque<(TypeId, RecordBatch)>,
) -> Result<Option<Refused>, RunError> {
    let mut pushed = push(shredder, resource, with_text);
    if let Err(ShredError::Full) = pushed {
        ready.push_back((type_id, shredder.finish()?));
        pushed = push(shredder, resource, with_text);
    }
    if let Err(error) = pushed {
        return Ok(Some(Refused::Shape(error.to_string())));
    }
    if shredder.len() >= BATCH || shredder.bytes() >= BATCH_BYTES {
        ready.push_back((type_id, shredder.finish()?));
    }
    Ok(None)
}

fn push(shredder: &mut Shredder, resource: Value<'_>, with_text: bool) -> Result<(), ShredError> {
    let id = resource.get_str("id").unwrap_or_default();
    // Store the text only if a view reads it, which is rare.
    let system = SystemValues::outside(&id, if with_text { resource.raw() } else { "" });
    shredder.push(&system, resource)
}
