//! Encounter from claims: one for each visit or stay.

use std::collections::{BTreeMap, BTreeSet};

use super::condition::Diagnosed;
use super::out::{Context, Origin, Output};
use super::read::claim::{Claim, Kind, Role};
use super::read::code::{Concept, coding, concept};
use super::read::party::Party;
use super::read::services::{Service, service};
use super::read::text::{Object, quoted, reference};
use super::visits::{Visit, Visits};
use crate::normalize::codes::Codes;
use crate::normalize::marks::PLACEHOLDER;
use crate::normalize::report::Rule;

/// Makes an Encounter for each visit that no source's own Encounter describes. `diagnosed` has the diagnoses of each
/// visit.
pub(super) fn make(claims: &[Claim], visits: &Visits, diagnosed: &Diagnosed, context: &Context<'_>, out: &mut Output) {
    for (place, visit) in visits.list.iter().enumerate() {
        let Some(id) = &visit.id else { continue };
        let rule = Rule::Encounter;
        let codes = context.settings.codes;
        let mut json = context.resource(visit.source, "Encounter", id, &[rule]);
        let (class, display) = visit.class.code();
        let act = "http://terminology.hl7.org/CodeSystem/v3-ActCode";
        json.text("status", if visit.goes_on { "in-progress" } else { "finished" })
            .raw("class", &coding(act, class, Some(display)))
            .list("type", &types(visit, claims, codes))
            .raw("subject", &reference(&visit.patient))
            .list("participant", &participants(visit, claims, context))
            .maybe("period", visit.period.json())
            .list("diagnosis", &diagnosed.of(place))
            .maybe("hospitalization", hospitalization(visit, claims, codes))
            .list("location", &locations(visit, claims, context))
            .maybe("serviceProvider", organization(visit, claims, context));
        let origins: BTreeSet<Origin> = visit.lines(claims).map(|(claim, _)| claim.origin()).collect();
        out.make(rule, visit.source, "Encounter", id, json.json(), origins);
    }
}

/// Returns the types of the Encounter: its evaluation and management codes. If there are none, returns the type of a
/// claim as text.
fn types(visit: &Visit, claims: &[Claim], codes: &dyn Codes) -> Vec<String> {
    let mut found = BTreeMap::new();
    for (_, line) in visit.lines(claims) {
        if let Some(code) = line.and_then(|line| line.code())
            && service(&code.code) == Service::Visit
        {
            let (_, text) = found.entry(code.code.clone()).or_insert((code, None));
            *text = text.or(line.and_then(|line| line.service.own_text.as_ref()));
        }
    }
    let coded = found
        .into_values()
        .filter_map(|(code, text)| Concept::of(code.clone(), text).json(codes));
    let coded: Vec<String> = coded.collect();
    if !coded.is_empty() {
        return coded;
    }
    let title = visit.lines(claims).find_map(|(claim, _)| claim.title.as_deref());
    vec![format!("{{\"text\":{}}}", quoted(title.unwrap_or(PLACEHOLDER)))]
}

/// Returns the practitioners of the care team, each once, with their roles. The billing provider of a claim counts as a
/// member if it is a Practitioner or a PractitionerRole, and the claim is not institutional.
fn participants(visit: &Visit, claims: &[Claim], context: &Context<'_>) -> Vec<String> {
    let mut people: BTreeMap<String, (BTreeSet<Role>, String)> = BTreeMap::new();
    for (claim, line) in visit.lines(claims) {
        let team = claim.team_of(line).map(|member| (member.role, &member.party));
        let bills = claim.provider.as_ref().filter(|_| claim.kind != Kind::Institutional);
        let bills = bills.filter(|party| party.is("Practitioner") || party.is("PractitionerRole"));
        for (role, party) in team.chain(bills.map(|party| (Role::Rendering, party))) {
            if !party.may_be(&["Practitioner", "PractitionerRole", "RelatedPerson"]) {
                continue;
            }
            let json = || context.directory.json(claim.source, party);
            let key = context.directory.key(claim.source, party);
            let person = people.entry(key).or_insert_with(|| (BTreeSet::new(), json()));
            person.0.insert(role);
        }
    }
    let mut people: Vec<_> = people.into_iter().collect();
    people.sort_by(|a, b| (a.1.0.first(), &a.0).cmp(&(b.1.0.first(), &b.0)));
    let written = people.into_iter().map(|(_, (roles, who))| {
        let mut kinds: Vec<(&str, &str)> = roles.into_iter().map(part).collect();
        kinds.dedup();
        let system = "http://terminology.hl7.org/CodeSystem/v3-ParticipationType";
        let kinds = kinds.into_iter();
        let kinds: Vec<String> = kinds
            .filter_map(|(code, display)| concept(vec![coding(system, code, Some(display))], None))
            .collect();
        Object::new().list("type", &kinds).raw("individual", &who).json()
    });
    written.collect()
}

fn part(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::Rendering | Role::Operating | Role::Primary => ("PPRF", "primary performer"),
        Role::Attending => ("ATND", "attender"),
        Role::Supervising | Role::Assisting => ("SPRF", "secondary performer"),
        Role::Referring => ("REF", "referrer"),
        Role::Prescribing | Role::Other => ("PART", "Participation"),
    }
}

/// Returns `Encounter.hospitalization`. The point of origin is that of the first institutional claim that has one. The
/// discharge status is that of the last institutional claim that has one. Returns `None` if the visit is neither a stay
/// nor a period of home health or hospice care.
fn hospitalization(visit: &Visit, claims: &[Claim], codes: &dyn Codes) -> Option<String> {
    if !visit.is_long() {
        return None;
    }
    let mut told: Vec<&Claim> = visit.lines(claims).map(|(claim, _)| claim).collect();
    told.retain(|claim| claim.kind == Kind::Institutional);
    told.sort_by_key(|claim| (claim.billable.day(), &claim.id));
    let origin = told.iter().find_map(|claim| claim.origin.as_ref());
    let discharge = told.iter().rev().find_map(|claim| claim.discharge.as_ref());
    let mut json = Object::new();
    json.maybe("admitSource", origin.and_then(|concept| concept.json(codes)));
    json.maybe(
        "dischargeDisposition",
        discharge.and_then(|concept| concept.json(codes)),
    );
    json.some()
}

fn locations(visit: &Visit, claims: &[Claim], context: &Context<'_>) -> Vec<String> {
    let mut found = BTreeMap::new();
    for (claim, _) in visit.lines(claims) {
        if let Some(party) = claim.facility.as_ref().filter(|party| party.is("Location")) {
            let key = context.directory.key(claim.source, party);
            let location = || {
                let place = context.directory.json(claim.source, party);
                Object::new().raw("location", &place).json()
            };
            found.entry(key).or_insert_with(location);
        }
    }
    found.into_values().collect()
}

/// Returns `Encounter.serviceProvider`: the facility or, if it is no organization, the billing provider. If the visit
/// has several claims, the first claim with such an organization counts. Institutional claims come first.
fn organization(visit: &Visit, claims: &[Claim], context: &Context<'_>) -> Option<String> {
    let pick = |claim: &Claim| {
        let institutional = claim.kind == Kind::Institutional;
        // A party without a stated type counts as an organization only in institutional claims. In other claims it may
        // be a person.
        let fits = |party: &&Party| party.is("Organization") || (institutional && party.may_be(&["Organization"]));
        let facility = claim.facility.as_ref().filter(fits);
        let party = facility.or(claim.provider.as_ref().filter(fits))?;
        Some(context.directory.json(claim.source, party))
    };
    let claims = visit.lines(claims).map(|(claim, _)| claim);
    let mut claims: Vec<&Claim> = claims.collect();
    claims.sort_by_key(|claim| (claim.kind != Kind::Institutional, &claim.id));
    claims.into_iter().find_map(pick)
}
