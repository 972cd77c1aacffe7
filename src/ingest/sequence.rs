//! Takes prepared pieces in the order of the input, even if they are finished in another order. Collects identifiers,
//! resolves references to other resources, and passes on the resources to be written.
//!
//! It resolves a conditional reference like a server that executes the input piece by piece: exactly one resource must
//! match, in the lake, in earlier pieces or in the same piece. References without a match wait for the end of the
//! input.

mod ending;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::contexts::{Contexts, Wanted};
use super::error::{IngestError, Reason, Refusal};
use super::input::document::{Held, OnMatch, Prepared};
use super::input::filing::Filing;
use super::input::normalize::{Normalizer, Rejected};
use super::references::condition::{Condition, Keys};
use super::references::identifiers::{Identifiers, Match};
use super::references::late::{Late, LateResource};
use super::references::library::Library;
use super::references::links::Links;
use super::references::rewrite::Survey;
use super::rows::block::{Block, Origin};
use super::rows::buffer::Buffer;
use super::rows::owners::Owners;
use super::summary::Summary;
use crate::columns::json::Tape;
use crate::fhir::TypeId;

/// What happens to finished resources.
#[derive(Debug)]
pub(super) enum Sink {
    /// Finished resources are collected here and written later.
    Buffer(Buffer),
    /// Only the owners of finished resources are stored. This is so in a first pass over the input, which an import
    /// makes if it rewrites ids.
    Survey(Survey),
    /// Finished resources go to the rules. The caller takes the resources by [`Sequence::ready`].
    Rules(Vec<Block>),
}

/// The state of an import between reading and writing.
#[derive(Debug)]
pub(super) struct Sequence {
    next: u64,
    early: BTreeMap<u64, Prepared>,
    identifiers: Identifiers,
    late: Late,
    pub(super) sink: Sink,
    pub(super) library: Library,
    pub(super) summary: Summary,
    normalizer: Normalizer,
    owners: Arc<Owners>,
    /// The filings of resources to which Binaries may belong. They are used only with rules. Without rules, the filings
    /// are looked up in files and in the buffer. With rules, no row is written before the end of the input.
    contexts: Contexts,
}

/// Which resources [`Sequence::file`] adds to a block. All waiting resources are processed in the first round and, if
/// necessary, in a second one.
enum Round<'r> {
    /// Adds resources whose owner does not depend on another resource. For each resource that waits for another one,
    /// collects the type and the id of the resource that decides its owner.
    First(&'r mut Wanted),
    /// Adds resources whose owner depends on another resource. The value has the filings of the resources that decide
    /// the owners.
    Second(&'r Contexts),
}

/// The position of a waiting resource in the input.
struct InputPosition {
    file: Arc<Path>,
    origin: Origin,
    ordinal: u64,
}

impl Sequence {
    pub(super) fn new(
        normalizer: Normalizer,
        owners: Arc<Owners>,
        library: Library,
        identifiers: Identifiers,
        sink: Sink,
        late: Late,
    ) -> Self {
        Self {
            next: 0,
            early: BTreeMap::new(),
            identifiers,
            late,
            sink,
            library,
            summary: Summary::default(),
            contexts: Contexts::new(normalizer.keys()),
            normalizer,
            owners,
        }
    }

    /// Returns the number of bytes of resources that wait to be written. It is 0 if the sink is no buffer.
    pub(super) fn weight(&self) -> usize {
        match &self.sink {
            Sink::Buffer(buffer) => buffer.weight(),
            Sink::Survey(_) | Sink::Rules(_) => 0,
        }
    }

    /// Removes and returns the resources for the rules.
    pub(super) fn ready(&mut self) -> Vec<Block> {
        match &mut self.sink {
            Sink::Rules(ready) => std::mem::take(ready),
            Sink::Buffer(_) | Sink::Survey(_) => Vec::new(),
        }
    }

    /// Takes the piece with this number, or stores it until all earlier pieces have been taken.
    pub(super) fn take(&mut self, number: u64, prepared: Prepared) -> Result<(), IngestError> {
        self.early.insert(number, prepared);
        while let Some(prepared) = self.early.remove(&self.next) {
            self.next += 1;
            self.absorb(prepared)?;
        }
        Ok(())
    }

    fn count_refusal(&mut self, refusal: Refusal) {
        if let Some(type_id) = refusal.type_id {
            self.summary.of(type_id).read += 1;
        }
        self.summary.refuse(refusal);
    }

    fn absorb(&mut self, prepared: Prepared) -> Result<(), IngestError> {
        let Prepared {
            file,
            blocks,
            held,
            refusals,
            left_out,
            unresolved,
            ..
        } = prepared;
        self.summary.left_out += left_out;
        self.summary.unresolved += unresolved;
        refusals.into_iter().for_each(|refusal| self.count_refusal(refusal));
        for block in blocks.values() {
            self.note_late(block);
            self.summary.of(block.type_id).read += block.entries.len() as u64;
            self.identifiers.add_block(block);
        }
        let held = self.admit(held, &file)?;
        let mut ready = blocks;
        for resource in held {
            let place = InputPosition {
                file: Arc::clone(&file),
                origin: resource.origin,
                ordinal: resource.ordinal,
            };
            if let Some(links) = self.settle(&resource, &place)? {
                let id = resource.id.as_str();
                let block = ready
                    .entry(resource.type_id)
                    .or_insert_with(|| Block::new(resource.type_id, Arc::clone(&file), 0));
                let mut wanted = Wanted::new();
                self.file(
                    &resource.text,
                    Some(id),
                    &links,
                    &place,
                    block,
                    &mut Round::First(&mut wanted),
                );
            }
        }
        ready.into_values().try_for_each(|block| self.deliver(block))
    }

    /// Records that the block's resources have occurred. If an earlier version of a resource waits for the end of the
    /// input, it is not stored, because the block has a later one.
    fn note_late(&mut self, block: &Block) {
        if self.late.is_empty() {
            return;
        }
        for entry in &block.entries {
            let name = self.name(block.type_id, block.id(entry));
            self.late.seen(name, entry.ordinal);
        }
    }

    /// Returns the hash by which this import identifies a resource.
    fn name(&self, type_id: TypeId, id: &str) -> u64 {
        self.normalizer.keys().name(type_id, id)
    }

    /// Decides which conditional entries are stored, and under which ids. Adds the identifiers of all resources that
    /// are stored.
    fn admit(&mut self, held: Vec<Held>, file: &Arc<Path>) -> Result<Vec<Held>, IngestError> {
        let mut admitted = Vec::with_capacity(held.len());
        for mut resource in held {
            self.summary.of(resource.type_id).read += 1;
            let answer = match &resource.on_match {
                Some(OnMatch::Leave(condition) | OnMatch::Update(condition)) => self.answer(condition)?,
                None => Match::None,
            };
            match (answer, &resource.on_match) {
                (Match::One(id), Some(OnMatch::Leave(_))) if id != resource.id => {
                    self.summary.of(resource.type_id).unchanged += 1;
                    continue;
                }
                (Match::One(id), Some(OnMatch::Update(_))) => resource.id = id,
                (Match::Several, _) => {
                    let entry = resource.origin.entry.map(|entry| entry as usize);
                    let (file, line, type_id) = (Arc::clone(file), resource.origin.line, Some(resource.type_id));
                    self.summary.refuse(Refusal {
                        file,
                        line,
                        entry,
                        type_id,
                        reason: Reason::SeveralMatch,
                    });
                    continue;
                }
                _ => {}
            }
            self.identifiers
                .add(resource.type_id, &resource.id, &resource.identifiers);
            let name = self.name(resource.type_id, &resource.id);
            self.late.seen(name, resource.ordinal);
            admitted.push(resource);
        }
        Ok(admitted)
    }

    /// Finds the targets of the references in `waits`. If a target is not known yet, or if another resource may decide
    /// the owner, the resource waits for the end of the input, and this returns `None`.
    fn settle(&mut self, resource: &Held, place: &InputPosition) -> Result<Option<Links>, IngestError> {
        let mut links = Links::default();
        for wait in &resource.waits {
            let target = match (self.answer(&wait.condition)?, &wait.otherwise) {
                (Match::One(id), _) => Some(format!("{}/{id}", wait.condition.type_name())),
                (Match::Several, _) => None,
                (Match::None, Some(otherwise)) => Some(otherwise.clone()),
                (Match::None, None) => continue,
            };
            links.settled.insert(wait.reference.clone(), target);
        }
        let waits: FxHashSet<&str> = resource.waits.iter().map(|wait| wait.reference.as_str()).collect();
        if links.settled.len() == waits.len() && !resource.stands_for_another {
            return Ok(Some(links));
        }
        // The links of the resource's Bundle are not available at the end of the input. So write the targets that are
        // known now into the text.
        let text = self.rewritten(resource, &links);
        let late = LateResource {
            type_id: resource.type_id,
            ordinal: place.ordinal,
            file: Arc::clone(&place.file),
            origin: place.origin,
            text,
        };
        let name = self.name(resource.type_id, &resource.id);
        self.late.push(name, &late)?;
        Ok(None)
    }

    /// Returns the text of a resource that waits until the end of the input, with its resolved references.
    fn rewritten(&mut self, resource: &Held, links: &Links) -> Vec<u8> {
        let mut tape = Tape::new();
        match tape.parse(&resource.text) {
            Ok(root) => match self.normalizer.normalize_unrewritten(root, Some(&resource.id), links) {
                Ok(_) => self.normalizer.text().as_bytes().to_vec(),
                Err(_) => resource.text.clone(),
            },
            Err(_) => resource.text.clone(),
        }
    }

    /// Normalizes a resource again with the targets of its references. Adds it to `block` if this round handles it: see
    /// [`Round`].
    fn file(
        &mut self,
        text: &[u8],
        id: Option<&str>,
        links: &Links,
        place: &InputPosition,
        block: &mut Block,
        round: &mut Round<'_>,
    ) {
        let mut tape = Tape::new();
        let refusal = |type_id, reason| Refusal {
            file: Arc::clone(&place.file),
            line: place.origin.line,
            entry: place.origin.entry.map(|entry| entry as usize),
            type_id,
            reason,
        };
        let root = match tape.parse(text) {
            Ok(root) => root,
            Err(error) => {
                let reason = Reason::NotJson {
                    reason: error.reason,
                    column: error.offset as u64 + 1,
                };
                self.summary.refuse(refusal(Some(block.type_id), reason));
                return;
            }
        };
        match self.normalizer.normalize(root, id, links) {
            Ok(normalized) => {
                let filed = match (&normalized.filing, round) {
                    (Filing::As(type_id, id), Round::First(wanted)) => {
                        let id = self.normalizer.stored_id(*type_id, id);
                        wanted.entry(*type_id).or_default().insert(id);
                        return;
                    }
                    (Filing::As(type_id, id), Round::Second(contexts)) => {
                        Some(contexts.of(*type_id, &self.normalizer.stored_id(*type_id, id)))
                    }
                    (_, Round::First(_)) => None,
                    (_, Round::Second(_)) => return,
                };
                self.summary.unresolved += u64::from(normalized.unresolved);
                let (origin, ordinal) = (place.origin, place.ordinal);
                match filed {
                    Some(filed) => {
                        self.owners
                            .push_filed(block, &normalized, &self.normalizer, &filed, origin, ordinal)
                    }
                    None => self.owners.push(block, &normalized, &self.normalizer, origin, ordinal),
                }
            }
            // The first round has reported the error.
            Err(_) if matches!(round, Round::Second(_)) => {}
            Err(Rejected { type_id, reason }) => {
                self.summary.refuse(refusal(type_id, reason));
            }
        }
    }

    fn deliver(&mut self, mut block: Block) -> Result<(), IngestError> {
        if let Some(naming) = self.normalizer.naming() {
            block.set_source(naming.row_source());
        }
        match &mut self.sink {
            Sink::Buffer(buffer) => buffer.push(block),
            Sink::Survey(survey) => survey.note(&block),
            Sink::Rules(ready) => {
                self.contexts.note(&block);
                ready.push(block);
            }
        }
        Ok(())
    }

    /// Finds the resource that matches a condition, among those in the lake and those read so far.
    fn answer(&mut self, condition: &Condition) -> Result<Match, IngestError> {
        let type_id = condition.type_id;
        if !self.identifiers.is_loaded(type_id) {
            self.identifiers.set_loaded(type_id);
            let (identifiers, keys) = (&mut self.identifiers, self.normalizer.keys());
            self.library
                .stored_identifiers(type_id, keys, &mut |id, found| identifiers.add(type_id, id, found))?;
        }
        if self.identifiers.is_complete(type_id) {
            return Ok(self.identifiers.matches(condition));
        }
        self.answer_by_reading(condition, self.normalizer.keys())
    }

    /// Finds the match for a type that is not completely in the index: reads the identifiers of all its rows.
    fn answer_by_reading(&mut self, condition: &Condition, keys: Keys) -> Result<Match, IngestError> {
        let type_id = condition.type_id;
        let mut among = Identifiers::new(usize::MAX);
        let mut add = |id: &str, found: &[u128]| {
            let wanted = |key: &&u128| condition.groups.iter().any(|group| group.contains(key));
            let found: Vec<u128> = found.iter().filter(wanted).copied().collect();
            among.add(type_id, id, &found);
        };
        self.library.stored_identifiers(type_id, keys, &mut add)?;
        self.library.pending_identifiers(type_id, keys, &mut add)?;
        self.identifiers.overflowed(type_id, &mut add)?;
        if let Sink::Buffer(buffer) = &self.sink {
            for block in buffer.of(type_id) {
                for (place, key) in &block.identifiers {
                    add(block.id(&block.entries[*place as usize]), &[*key]);
                }
            }
        }
        Ok(among.matches(condition))
    }
}
