//! Processes the resources that waited for the end of the input, in two rounds: first those with conditional references
//! that are not resolved yet, then Binaries that belong to other resources. In the second round, all resources to which
//! Binaries belong are known.

use std::sync::Arc;

use super::{InputPosition, Round, Sequence, Sink};
use crate::columns::json::Tape;
use crate::ingest::contexts::{Contexts, Filed, Wanted};
use crate::ingest::error::IngestError;
use crate::ingest::references::condition::Condition;
use crate::ingest::references::identifiers::Match;
use crate::ingest::references::links::Links;
use crate::ingest::rows::block::Block;

impl Sequence {
    /// Passes on the resources that waited for the end of the input. Resolves their references as far as possible.
    pub(in crate::ingest) fn end(&mut self) -> Result<(), IngestError> {
        if self.late.is_empty() {
            return Ok(());
        }
        let mut wanted = Wanted::new();
        self.end_of(&mut Round::First(&mut wanted))?;
        if wanted.is_empty() {
            return Ok(());
        }
        let contexts = self.look_up(&wanted)?;
        self.end_of(&mut Round::Second(&contexts))
    }

    /// Returns the filings of the wanted resources, in the lake and in the input.
    fn look_up(&self, wanted: &Wanted) -> Result<Contexts, IngestError> {
        let mut contexts = Contexts::new(self.normalizer.keys());
        if let Sink::Survey(survey) = &self.sink {
            for (type_id, id) in wanted
                .iter()
                .flat_map(|(type_id, ids)| ids.iter().map(|id| (*type_id, id)))
            {
                if let Some(owner) = survey.owner(type_id, id) {
                    contexts.add(type_id, id, Filed { owner, patient: None });
                }
            }
            return Ok(contexts);
        }
        self.library.filed(wanted, &mut contexts)?;
        if let Sink::Buffer(buffer) = &self.sink {
            for (type_id, ids) in wanted {
                let blocks = buffer.of(*type_id).iter();
                blocks.for_each(|block| contexts.note_wanted(block, ids));
            }
        }
        contexts.add_all(&self.contexts);
        Ok(contexts)
    }

    /// Processes all waiting resources in one round.
    fn end_of(&mut self, round: &mut Round<'_>) -> Result<(), IngestError> {
        for late in self.late.read()? {
            let (late, latest) = late?;
            if !latest {
                continue;
            }
            let place = InputPosition {
                file: late.file,
                origin: late.origin,
                ordinal: late.ordinal,
            };
            let mut links = Links::default();
            for (reference, condition) in self.conditions(&late.text) {
                let target = match self.answer(&condition)? {
                    Match::One(id) => Some(format!("{}/{id}", condition.type_name())),
                    Match::None | Match::Several => None,
                };
                links.settled.insert(reference, target);
            }
            let mut block = Block::new(late.type_id, Arc::clone(&place.file), late.text.len());
            self.file(&late.text, None, &links, &place, &mut block, round);
            self.deliver(block)?;
        }
        Ok(())
    }

    /// Returns the unresolved conditional references in the text of a resource, each with its condition.
    fn conditions(&mut self, text: &[u8]) -> Vec<(String, Condition)> {
        let mut tape = Tape::new();
        let Ok(root) = tape.parse(text) else { return Vec::new() };
        let normalized = self.normalizer.normalize_unrewritten(root, None, &Links::default());
        let waits = normalized.map(|normalized| normalized.waits).unwrap_or_default();
        waits.into_iter().map(|wait| (wait.reference, wait.condition)).collect()
    }
}
