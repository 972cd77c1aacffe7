//! Procedure from claims: one for each procedure of a claim (`ExplanationOfBenefit.procedure`), and one for each
//! service line whose code is a procedure.

use std::collections::{BTreeMap, BTreeSet};

use super::out::{Context, Origin, Output};
use super::read::claim::{Claim, Kind, Line, Role};
use super::read::code::{Code, Concept, concept};
use super::read::own::{Own, Procedures};
use super::read::party::Party;
use super::read::services::{Service, service};
use super::read::text::{Name, Object, Span, reference};
use super::visits::Visits;
use crate::normalize::marks::PLACEHOLDER;
use crate::normalize::record::{Day, SourceId};
use crate::normalize::report::Rule;

/// The roles that may have performed a service, in order of preference.
const PERFORMERS: [Role; 4] = [Role::Rendering, Role::Operating, Role::Primary, Role::Attending];

/// The roles that may have performed the procedures of a stay, in order of preference.
const SURGEONS: [Role; 4] = [Role::Operating, Role::Rendering, Role::Attending, Role::Primary];

/// The source, the patient, the code, the day and the performer. Lines in which all of these are equal describe one
/// procedure.
type Key = (SourceId, Name, Name, Option<Day>, String);

/// A procedure, with the facts from all lines that describe it.
struct Told<'c> {
    codings: Vec<&'c Code>,
    text: Option<&'c Name>,
    performed: &'c Span,
    performer: Option<&'c Party>,
    body_site: Option<&'c Concept>,
    modifiers: BTreeSet<&'c Name>,
    denied: bool,
    encounter: Option<String>,
    origins: BTreeSet<Origin>,
}

/// Makes the Procedures of the claims. Leaves out those for which a source has its own Procedure.
pub(super) fn make(claims: &[Claim], visits: &Visits, own: &Own, context: &Context<'_>, out: &mut Output) {
    let spans: Vec<Vec<Span>> = claims.iter().map(dates).collect();
    let mut told: BTreeMap<Key, Told<'_>> = BTreeMap::new();
    for (place, claim) in claims.iter().enumerate() {
        if claim.kind == Kind::Pharmacy {
            continue;
        }
        for (at, line) in claim.lines.iter().enumerate() {
            let Some(code) = line.code().filter(|code| service(&code.code) == Service::Procedure) else {
                continue;
            };
            let performed = if line.served.day().is_some() {
                &line.served
            } else {
                &claim.billable
            };
            let performer = claim.with_role(Some(line), &PERFORMERS).or(claim.provider.as_ref());
            let key = key(claim, code, performed, performer, context);
            let entry = told.entry(key).or_insert_with(|| Told {
                codings: vec![code],
                text: None,
                performed,
                performer,
                body_site: None,
                modifiers: BTreeSet::new(),
                denied: true,
                encounter: None,
                origins: BTreeSet::new(),
            });
            let visit = visits.of((place, Some(at)));
            entry.add(claim, line, visit.and_then(|visit| visits.list[visit].reference()));
        }
        for (at, procedure) in claim.procedures.iter().enumerate() {
            let Some(code) = procedure.concept.codes.first() else {
                continue;
            };
            let performed = &spans[place][at];
            let performer = claim.with_role(None, &SURGEONS).or(claim.provider.as_ref());
            let key = key(claim, code, performed, performer, context);
            let entry = told.entry(key).or_insert_with(|| Told {
                codings: procedure.concept.codes.iter().collect(),
                text: None,
                performed,
                performer,
                body_site: None,
                modifiers: BTreeSet::new(),
                denied: false,
                encounter: None,
                origins: BTreeSet::new(),
            });
            entry.denied = false;
            entry.text = entry.text.or(procedure.concept.own_text.as_ref());
            entry.origins.insert(claim.origin());
            let visit = visit_on(claim, place, performed.day(), visits);
            entry.encounter = entry
                .encounter
                .take()
                .or(visit.and_then(|visit| visits.list[visit].reference()));
        }
    }
    let done = own.procedures(context.directory);
    for (key, told) in told {
        if !is_told(&done, &key) {
            told.make(&key, context, out);
        }
    }
}

/// Returns the time of each procedure of a claim: its own date or, if it has none, the period of the stay or of the
/// claim.
fn dates(claim: &Claim) -> Vec<Span> {
    let own = claim
        .procedures
        .iter()
        .map(|procedure| procedure.date.clone().map(Span::of));
    let stay = || {
        let admitted = claim.admission.day().is_some();
        if admitted {
            claim.admission.clone()
        } else {
            claim.billable.clone()
        }
    };
    own.map(|date| date.unwrap_or_else(stay)).collect()
}

fn key(claim: &Claim, code: &Code, performed: &Span, performer: Option<&Party>, context: &Context<'_>) -> Key {
    let performer = performer.map(|party| context.directory.key(claim.source, party));
    (
        claim.source,
        claim.patient.clone(),
        code.code.clone(),
        performed.day(),
        performer.unwrap_or_default(),
    )
}

/// Returns the visit of a claim that begins on a day. If there is none, returns the claim's first visit.
fn visit_on(claim: &Claim, place: usize, day: Option<Day>, visits: &Visits) -> Option<usize> {
    let all = visits.of_claim(place, claim);
    let on = |visit: &&usize| day.is_some() && visits.list[**visit].period.day() == day;
    all.iter().find(on).or(all.first()).copied()
}

/// Whether a source has its own Procedure for this key.
fn is_told(done: &Procedures, (source, patient, code, day, performer): &Key) -> bool {
    day.is_some_and(|day| done.has(*source, patient, code, day, performer))
}

impl<'c> Told<'c> {
    fn add(&mut self, claim: &Claim, line: &'c Line, encounter: Option<String>) {
        self.modifiers.extend(&line.modifiers);
        self.denied &= line.denied;
        self.body_site = self.body_site.or(line.body_site.as_ref());
        self.text = self.text.or(line.service.own_text.as_ref());
        self.encounter = self.encounter.take().or(encounter);
        self.origins.insert(claim.origin());
    }

    fn make(&self, key: &Key, context: &Context<'_>, out: &mut Output) {
        let rule = Rule::Procedure;
        let (source, patient, code, day, performer) = key;
        let day = day.map_or_else(String::new, |day| day.0.to_string());
        let seed = format!("{}|{patient}|{code}|{day}|{performer}", rule.name());
        let Some(id) = context.id(*source, "Procedure", &seed) else {
            return;
        };
        let codes = context.settings.codes;
        let mut json = context.resource(*source, "Procedure", &id, &[rule]);
        let codings = self.codings.iter().map(|code| code.json(codes)).collect();
        let name = self.text.map(|text| text.to_string());
        let mut name = name.or_else(|| self.codings.iter().find_map(|code| code.name(codes)));
        if !self.modifiers.is_empty() {
            let modifiers: Vec<&str> = self.modifiers.iter().map(|modifier| &***modifier).collect();
            let modifiers = modifiers.join(", ");
            let base = name.unwrap_or_else(|| code.to_string());
            name = Some(format!("{base} (modifiers: {modifiers})"));
        }
        json.text("status", if self.denied { "unknown" } else { "completed" })
            .maybe("code", concept(codings, name.as_deref()))
            .raw("subject", &reference(patient));
        if let Some(encounter) = &self.encounter {
            json.raw("encounter", &reference(encounter));
        }
        match (&self.performed.start, &self.performed.end) {
            (Some(start), end) if end.as_ref().is_none_or(|end| end == start) => {
                json.text("performedDateTime", &start.text);
            }
            // US Core requires a time for a completed procedure. So write a placeholder.
            (None, None) if !self.denied => {
                json.text("performedString", PLACEHOLDER);
            }
            _ => {
                json.maybe("performedPeriod", self.performed.json());
            }
        }
        if let Some(party) = self.performer {
            let actor = context.directory.json(*source, party);
            json.list("performer", &[Object::new().raw("actor", &actor).json()]);
        }
        let site = self.body_site.and_then(|site| site.json(codes));
        json.list("bodySite", &Vec::from_iter(site));
        out.make(
            rule,
            *source,
            "Procedure",
            &id,
            json.json(),
            self.origins.iter().cloned(),
        );
    }
}
