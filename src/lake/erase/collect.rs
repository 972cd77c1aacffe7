//! Collects the evidence of a writer's erasures.

use std::sync::Arc;

use super::evidence::{Entry, ErasedIds, Evidence, LakeState, Searched, subject};
use super::intent::Intent;
use super::search::search_attachments;
use crate::lake::catalog;
use crate::lake::commit::writer::LakeWriter;
use crate::lake::error::LakeError;

impl LakeWriter {
    /// Returns the evidence that the catalog has for each of these intents, with the result of a search for erased ids
    /// in the catalog and among attachments. Each intent comes with the ids of its Patients, and the search also looks
    /// for these ids. Call this when the erasures are finished, and then
    /// [`forget_evidence`](LakeWriter::forget_evidence).
    pub fn evidence(&mut self, intents: &[(Intent, Vec<String>)]) -> Result<Vec<Evidence>, LakeError> {
        let key = self.lake().owner_key();
        let subjects: Vec<String> = intents.iter().map(|(intent, _)| subject(key, intent)).collect();
        let numbers: Vec<u32> = subjects.iter().map(|subject| self.erased_ids.number(subject)).collect();
        for ((_, patients), number) in intents.iter().zip(&numbers) {
            for id in patients {
                Arc::make_mut(&mut self.erased_ids.identifiers).add(*number, "Patient", id);
            }
        }
        let snapshot = self.lake().snapshot();
        let after = LakeState {
            snapshot: snapshot.id,
            erasures: snapshot.erasures(),
        };
        let in_catalog = catalog::search(&self.connection, &self.erased_ids)?;
        let scopes: Vec<_> = intents.iter().map(|(intent, _)| intent.scope()).collect();
        let files = search_attachments(self.lake().folder(), key, &scopes)?;
        let mut all = Vec::with_capacity(intents.len());
        for ((subject, number), attachment_files) in subjects.iter().zip(numbers).zip(files) {
            let mut evidence = Evidence {
                after,
                ids: self.erased_ids.identifiers.count(number),
                catalog: Searched {
                    values: in_catalog.values,
                    found: in_catalog.found.get(number as usize).copied().unwrap_or(0),
                },
                attachment_files,
                ..Evidence::default()
            };
            for (lake_state, entry) in catalog::entries(&self.connection, subject)? {
                let first = evidence.before.map_or(lake_state, |before| before.min(lake_state));
                evidence.before = Some(first);
                match entry {
                    Entry::File(file) => evidence.files.push(file),
                    Entry::Attachment(attachment) => evidence.attachments.push(attachment),
                }
            }
            all.push(evidence);
        }
        Ok(all)
    }

    /// Returns the ids that this writer has erased, so that the caller can search other databases for them. Also
    /// returns for each intent the number under which [`ErasedIds`] has the ids of this intent.
    pub fn erased_ids(&mut self, intents: &[Intent]) -> (&ErasedIds, Vec<u32>) {
        let key = self.lake().owner_key();
        let numbers = intents
            .iter()
            .map(|intent| self.erased_ids.number(&subject(key, intent)));
        let numbers = numbers.collect();
        (&self.erased_ids, numbers)
    }

    /// Removes the evidence of these intents from the catalog. Call this after the evidence was stored elsewhere.
    pub fn forget_evidence(&mut self, intents: &[Intent]) -> Result<(), LakeError> {
        let key = self.lake().owner_key();
        let subjects: Vec<String> = intents.iter().map(|intent| subject(key, intent)).collect();
        catalog::forget_entries(&mut self.connection, &subjects)
    }
}
