//! Condition from claims: one for each diagnosis code of an Encounter.

use std::collections::{BTreeMap, BTreeSet};

use super::out::{Context, Origin, Output};
use super::read::claim::{Claim, Diagnosis, Kind};
use super::read::code::{Code, Concept, coding, concept};
use super::read::own::Own;
use super::read::text::{Name, Object, When, reference};
use super::visits::{Visit, Visits};
use crate::normalize::report::Rule;

/// The diagnoses of each visit. The key is the index of the visit. Each diagnosis has its sequence, the reference to
/// its Condition, and its role. The diagnoses of a visit are in the order of their sequences.
#[derive(Debug, Default)]
pub(super) struct Diagnosed(BTreeMap<usize, BTreeSet<(u32, String, Use)>>);

impl Diagnosed {
    /// Returns the diagnoses of a visit, as items of `Encounter.diagnosis`.
    pub(super) fn of(&self, visit: usize) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut written = Vec::new();
        for (_, condition, role) in self.0.get(&visit).into_iter().flatten() {
            if !seen.insert((condition, role)) {
                continue;
            }
            let (code, display) = role.code();
            let system = "http://terminology.hl7.org/CodeSystem/diagnosis-role";
            let role = concept(vec![coding(system, code, Some(display))], None);
            let mut json = Object::new();
            json.raw("condition", &reference(condition)).maybe("use", role);
            written.push(json.json());
        }
        written
    }

    fn add(&mut self, visit: usize, sequence: u32, condition: &str, uses: impl IntoIterator<Item = Use>) {
        let known = self.0.entry(visit).or_default();
        known.extend(uses.into_iter().map(|role| (sequence, condition.to_owned(), role)));
    }
}

/// The role of a diagnosis in an Encounter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Admission,
    Discharge,
    ChiefComplaint,
    Comorbidity,
    Billing,
}

impl Use {
    fn of(kind: &str, visit: &Visit) -> Use {
        match kind {
            "admitting" => Use::Admission,
            "discharge" => Use::Discharge,
            "patientreasonforvisit" => Use::ChiefComplaint,
            "principal" if visit.is_stay() => Use::Discharge,
            "other" | "secondary" => Use::Comorbidity,
            _ => Use::Billing,
        }
    }

    fn code(self) -> (&'static str, &'static str) {
        match self {
            Use::Admission => ("AD", "Admission diagnosis"),
            Use::Discharge => ("DD", "Discharge diagnosis"),
            Use::ChiefComplaint => ("CC", "Chief complaint"),
            Use::Comorbidity => ("CM", "Comorbidity diagnosis"),
            Use::Billing => ("billing", "Billing"),
        }
    }
}

/// A diagnosis code of a visit, with the facts from all its claims.
struct Told<'c> {
    code: &'c Code,
    text: Option<&'c Name>,
    sequence: u32,
    uses: BTreeSet<Use>,
    confirmed: bool,
    recorded: Option<&'c When>,
    origins: BTreeSet<Origin>,
}

/// Makes a Condition for each diagnosis code of a visit. Makes none if a source's own Condition has this code for the
/// visit's Encounter. Returns the diagnoses of each visit.
pub(super) fn make(claims: &[Claim], visits: &Visits, own: &Own, context: &Context<'_>, out: &mut Output) -> Diagnosed {
    let mut diagnosed = Diagnosed::default();
    let mut told: BTreeMap<(usize, Option<Name>, Name), Told<'_>> = BTreeMap::new();
    for (place, claim) in claims.iter().enumerate() {
        if !matches!(claim.kind, Kind::Institutional | Kind::Professional) {
            continue;
        }
        for diagnosis in &claim.diagnoses {
            for at in visits_of(place, claim, diagnosis, visits) {
                let visit = &visits.list[at];
                let mut uses: BTreeSet<Use> = diagnosis.types.iter().map(|kind| Use::of(kind, visit)).collect();
                if uses.is_empty() {
                    uses.insert(Use::Billing);
                }
                if let Some(condition) = &diagnosis.condition {
                    diagnosed.add(at, diagnosis.sequence, condition, uses);
                } else if let Some(code) = &diagnosis.code {
                    let key = (at, code.system.clone(), code.code.clone());
                    let entry = told.entry(key).or_insert_with(|| Told::new(code, diagnosis.sequence));
                    entry.add(claim, code, diagnosis, uses);
                }
            }
        }
    }
    for ((at, ..), told) in told {
        let visit = &visits.list[at];
        let said = |encounter| own.is_diagnosed(encounter, &told.code.code);
        if visit.own.as_ref().is_some_and(said) {
            continue;
        }
        if let Some(id) = told.make(visit, context, out) {
            diagnosed.add(at, told.sequence, &format!("Condition/{id}"), told.uses);
        }
    }
    diagnosed
}

/// Returns the visits of the lines that point to a diagnosis. If none points to it, returns the claim's first visit. If
/// the lines of the claim point to no diagnosis at all, returns all its visits.
fn visits_of(place: usize, claim: &Claim, diagnosis: &Diagnosis, visits: &Visits) -> Vec<usize> {
    let mut all = visits.of_claim(place, claim);
    if claim.lines.iter().all(|line| line.diagnoses.is_empty()) {
        return all;
    }
    let mut pointed = BTreeSet::new();
    for (at, line) in claim.lines.iter().enumerate() {
        if line.diagnoses.contains(&diagnosis.sequence) {
            pointed.extend(visits.of((place, Some(at))));
        }
    }
    if pointed.is_empty() {
        all.truncate(1);
        return all;
    }
    Vec::from_iter(pointed)
}

impl<'c> Told<'c> {
    fn new(code: &'c Code, sequence: u32) -> Told<'c> {
        Told {
            code,
            text: None,
            sequence,
            uses: BTreeSet::new(),
            confirmed: false,
            recorded: None,
            origins: BTreeSet::new(),
        }
    }

    fn add(&mut self, claim: &'c Claim, code: &'c Code, diagnosis: &'c Diagnosis, uses: BTreeSet<Use>) {
        if self.code.display.is_none() {
            self.code = code;
        }
        self.text = self.text.or(diagnosis.text.as_ref());
        let provisional = |kind: &Name| matches!(&**kind, "admitting" | "patientreasonforvisit");
        self.confirmed |= diagnosis.types.is_empty() || !diagnosis.types.iter().all(provisional);
        self.sequence = self.sequence.min(diagnosis.sequence);
        self.uses.extend(uses);
        self.recorded = self.recorded.into_iter().chain(&claim.created).min();
        self.origins.insert(claim.origin());
    }

    fn make(&self, visit: &Visit, context: &Context<'_>, out: &mut Output) -> Option<String> {
        let rule = Rule::Condition;
        let codes = context.settings.codes;
        let encounter = visit.reference()?;
        let system = self.code.system.as_deref().unwrap_or_default();
        let seed = format!("{}|{encounter}|{system}|{}", rule.name(), self.code.code);
        let id = context.id(visit.source, "Condition", &seed)?;
        let mut json = context.resource(visit.source, "Condition", &id, &[rule]);
        let verification = "http://terminology.hl7.org/CodeSystem/condition-ver-status";
        let verified = if self.confirmed {
            coding(verification, "confirmed", Some("Confirmed"))
        } else {
            coding(verification, "provisional", Some("Provisional"))
        };
        let category = "http://terminology.hl7.org/CodeSystem/condition-category";
        let category = coding(category, "encounter-diagnosis", Some("Encounter Diagnosis"));
        json.maybe("verificationStatus", concept(vec![verified], None))
            .list("category", &Vec::from_iter(concept(vec![category], None)))
            .maybe("code", Concept::of(self.code.clone(), self.text).json(codes))
            .raw("subject", &reference(&visit.patient))
            .raw("encounter", &reference(&encounter));
        if let Some(recorded) = self.recorded {
            json.text("recordedDate", &recorded.text);
        }
        let origins = self.origins.iter().cloned();
        out.make(rule, visit.source, "Condition", &id, json.json(), origins);
        Some(id)
    }
}
