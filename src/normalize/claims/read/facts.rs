//! The facts of claims and of the sources' own records, and the order in which the rules run.

use std::collections::BTreeMap;

use super::super::insurance_plan::Coverage;
use super::super::out::{Context, Origin, Output, mark_url};
use super::super::visits::Visits;
use super::super::{condition, encounter, insurance_plan, medication_request, procedure, provenance};
use super::claim::Claim;
use super::own::Own;
use super::party::Directory;
use super::text::Names;
use crate::fhir::facts;
use crate::normalize::additions::{Additions, Generated};
use crate::normalize::record::Record;
use crate::normalize::settings::Settings;

/// What the rules of claims need to know: the claims, the sources' own clinical records, the providers and the
/// coverages.
#[derive(Debug, Default)]
pub struct Facts {
    names: Names,
    claims: Vec<Claim>,
    own: Own,
    directory: Directory,
    coverages: Vec<Coverage>,
}

impl Facts {
    /// Adds the facts of a record. Ignores types that the rules of claims do not use.
    pub fn see(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        let Facts {
            names,
            claims,
            own,
            directory,
            coverages,
        } = self;
        let codes = settings.codes;
        match facts().get(record.resource_type).name {
            "ExplanationOfBenefit" => claims.extend(Claim::read(record, names, codes)),
            "Practitioner" | "PractitionerRole" | "Organization" | "Location" => directory.see(record, names),
            "MedicationRequest" => own.order(record, &mark(record, settings), names, codes),
            "Coverage" => coverages.extend(Coverage::read(record, &mark(record, settings), names)),
            "Medication" => own.medication(record, names, codes),
            "Encounter" => own.encounter(record, names),
            "Condition" => own.condition(record, names, codes),
            "Procedure" => own.procedure(record, names, codes),
            _ => {}
        }
    }

    /// Returns the resources to generate, sorted by type and id, and the additions to the sources' own records.
    pub fn decide(self, settings: &Settings<'_>) -> (Vec<Generated>, Additions) {
        let Facts {
            mut claims,
            own,
            directory,
            coverages,
            names: _,
        } = self;
        // If a claim was read twice, keep only its last reading. `reverse` puts that one first, the sort is stable, and
        // `dedup_by` keeps the first of equal ones.
        claims.reverse();
        claims.sort_by(|a, b| (a.source, &a.id).cmp(&(b.source, &b.id)));
        claims.dedup_by(|a, b| (a.source, &a.id) == (b.source, &b.id));
        let context = Context {
            settings,
            directory: &directory,
        };
        let mut out = Output::default();
        medication_request::make(&claims, &own, &context, &mut out);
        let visits = Visits::find(&claims, &own, &context);
        let diagnosed = condition::make(&claims, &visits, &own, &context, &mut out);
        encounter::make(&claims, &visits, &diagnosed, &context, &mut out);
        procedure::make(&claims, &visits, &own, &context, &mut out);
        let versions = coverages
            .iter()
            .map(|coverage| (coverage.origin(), coverage.fingerprint(&directory)));
        let mut versions: BTreeMap<Origin, u64> = versions.collect();
        insurance_plan::make(coverages, &context, &mut out);
        for claim in &claims {
            if out.made().contains_key(&claim.origin()) {
                versions.insert(claim.origin(), claim.fingerprint(&directory));
            }
        }
        provenance::make(&versions, &context, &mut out);
        out.finish()
    }
}

/// Returns the URL of the extension that marks what rules add to a record.
fn mark(record: &Record<'_>, settings: &Settings<'_>) -> String {
    let source = settings.sources.get(record.source.0 as usize);
    mark_url(source.map_or("", |source| &source.tag_system_base))
}
