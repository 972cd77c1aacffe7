//! MedicationRequest from pharmacy claims: one for each prescription. The claims are its fills.

use std::collections::{BTreeMap, BTreeSet};

use super::out::{Context, Output, references};
use super::read::claim::{Claim, Kind, Line, Role};
use super::read::code::{Code, NDC, RXNORM, concept};
use super::read::own::{Order, Own};
use super::read::party::{Party, undefined};
use super::read::text::{Name, Object, When, quoted, reference};
use crate::normalize::additions::Addition;
use crate::normalize::codes::Codes;
use crate::normalize::marks::PLACEHOLDER;
use crate::normalize::record::{Day, SourceId};
use crate::normalize::report::Rule;

/// Fills that are more than this number of days apart belong to different prescriptions.
const MAX_GAP_DAYS: i32 = 180;

/// Without a common number or a reference, a source's own MedicationRequest counts as the same prescription if it is
/// for the same drug, by the same prescriber, and from at most this number of days earlier or later.
const MAX_ORDER_DAYS: i32 = 30;

/// Makes a MedicationRequest for each prescription in the pharmacy claims. If a source has its own MedicationRequest
/// for the prescription, adds references to the claims to that one instead.
pub(super) fn make(claims: &[Claim], own: &Own, context: &Context<'_>, out: &mut Output) {
    let mut groups: BTreeMap<Key, Vec<Fill<'_>>> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| claim.kind == Kind::Pharmacy) {
        let lines = if claim.lines.is_empty() {
            vec![None]
        } else {
            claim.lines.iter().map(Some).collect()
        };
        for line in lines {
            let fill = Fill::new(claim, line);
            groups.entry(fill.key(context)).or_default().push(fill);
        }
    }
    for (key, mut fills) in groups {
        fills.sort_by(|a, b| (a.day(), &a.claim.id).cmp(&(b.day(), &b.claim.id)));
        let apart = |a: &Fill<'_>, b: &Fill<'_>| match (a.day(), b.day()) {
            (Some(a), Some(b)) => b.0 - a.0 > MAX_GAP_DAYS,
            _ => false,
        };
        let runs = fills.chunk_by(|a, b| matches!(key.by, By::Number(_)) || !apart(a, b));
        for fills in runs {
            Prescription { key: &key, fills }.make(own, context, out);
        }
    }
}

/// What all fills of a prescription have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    source: SourceId,
    patient: Name,
    by: By,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// The pharmacy and the prescription number, or the reference to the source's own MedicationRequest.
    Number(String),
    /// The prescriber and the drug.
    Drug(String),
}

/// A line of a pharmacy claim, or a pharmacy claim without lines.
struct Fill<'c> {
    claim: &'c Claim,
    line: Option<&'c Line>,
}

impl<'c> Fill<'c> {
    fn new(claim: &'c Claim, line: Option<&'c Line>) -> Fill<'c> {
        Fill { claim, line }
    }

    fn when(&self) -> Option<&'c When> {
        let served = self.line.and_then(|line| line.served.start.as_ref());
        served
            .or(self.claim.billable.start.as_ref())
            .or(self.claim.created.as_ref())
    }

    fn day(&self) -> Option<Day> {
        self.when().map(|when| when.day)
    }

    fn days_supply(&self) -> Option<u32> {
        let days: f64 = self.claim.days_supply.as_deref()?.parse().ok()?;
        (1.0..10_000.0).contains(&days).then_some(days as u32)
    }

    fn prescriber(&self) -> Option<&'c Party> {
        self.claim.with_role(self.line, &[Role::Prescribing, Role::Primary])
    }

    /// Returns the codings of the product. For a compound, returns the NDCs of the product and of its ingredients.
    fn drug(&self) -> Vec<&'c Code> {
        let Some(line) = self.line else { return Vec::new() };
        let ingredients = line.ingredients.iter().flat_map(|concept| &concept.codes);
        let ingredients: Vec<&Code> = ingredients.filter(|code| code.is_of(NDC)).collect();
        let own = line.ndc();
        if ingredients
            .iter()
            .any(|code| own.is_none_or(|own| own.code != code.code))
        {
            let mut all: BTreeMap<&Name, &Code> = own.into_iter().map(|code| (&code.code, code)).collect();
            all.extend(ingredients.into_iter().map(|code| (&code.code, code)));
            return all.into_values().collect();
        }
        line.service.codes.iter().collect()
    }

    fn key(&self, context: &Context<'_>) -> Key {
        let claim = self.claim;
        let source = claim.source;
        let by = if let Some((_, number)) = &claim.number {
            let pharmacy = claim.place().map(|party| context.directory.key(source, party));
            By::Number(format!("{}|{number}", pharmacy.unwrap_or_default()))
        } else if let Some(order) = &claim.prescription {
            By::Number(order.to_string())
        } else {
            let prescriber = self.prescriber().map(|party| context.directory.key(source, party));
            let drug: BTreeSet<String> = drug_keys(self.drug(), context.settings.codes, false);
            let drug = if drug.is_empty() {
                claim.id.to_string()
            } else {
                Vec::from_iter(drug).join("+")
            };
            By::Drug(format!("{}|{drug}", prescriber.unwrap_or_default()))
        };
        Key {
            source,
            patient: claim.patient.clone(),
            by,
        }
    }
}

/// A prescription: its fills, the earliest first.
struct Prescription<'p> {
    key: &'p Key,
    fills: &'p [Fill<'p>],
}

impl Prescription<'_> {
    fn make(&self, own: &Own, context: &Context<'_>, out: &mut Output) {
        let (Some(first), Some(last)) = (self.fills.first(), self.fills.last()) else {
            return;
        };
        if let Some(order) = self.order(own, context) {
            return self.add_to(order, context, out);
        }
        let source = self.key.source;
        let rule = Rule::MedicationRequest;
        // The day of the first fill distinguishes this series of fills from other series of the same drug.
        let seed = match &self.key.by {
            By::Number(number) => format!("{}|{}|number|{number}", rule.name(), self.key.patient),
            By::Drug(drug) => {
                let day = first.day().map_or(0, |day| day.0);
                format!("{}|{}|drug|{drug}|{day}", rule.name(), self.key.patient)
            }
        };
        let Some(id) = context.id(source, "MedicationRequest", &seed) else {
            return;
        };
        let codes = context.settings.codes;
        let mut json = context.resource(source, "MedicationRequest", &id, &[rule]);
        if let Some((system, value)) = self.fills.iter().rev().find_map(|fill| fill.claim.number.as_ref()) {
            let mut identifier = Object::new();
            if let Some(system) = system {
                identifier.text("system", system);
            }
            identifier.text("value", value);
            json.list("identifier", &[identifier.json()]);
        }
        json.text("status", status(last, context.settings.today))
            .text("intent", "order")
            .raw("reportedBoolean", "true")
            .raw("medicationCodeableConcept", &self.medication(last, codes))
            .raw("subject", &reference(&self.key.patient));
        let claims = self.claims();
        json.list("supportingInformation", &references(claims.iter().map(String::as_str)));
        let written = self.fills.iter().filter_map(|fill| fill.claim.written.as_ref());
        if let Some(when) = written.min().or(first.when()) {
            json.text("authoredOn", &when.text);
        }
        // US Core requires a requester. So write a placeholder if the prescriber is unknown.
        let prescriber = self.fills.iter().rev().find_map(Fill::prescriber);
        let requester = prescriber.map_or_else(undefined, |party| context.directory.json(source, party));
        json.raw("requester", &requester);
        let mut coverages: Vec<&str> = Vec::new();
        for coverage in self.fills.iter().flat_map(|fill| &fill.claim.coverages) {
            if !coverages.contains(&&**coverage) {
                coverages.push(coverage);
            }
        }
        json.list("insurance", &references(coverages));
        json.maybe("dispenseRequest", dispense(last, context));
        if let Some(daw) = &last.claim.daw {
            json.raw("substitution", &substitution(daw, codes));
        }
        let origins = self.fills.iter().map(|fill| fill.claim.origin());
        out.make(rule, source, "MedicationRequest", &id, json.json(), origins);
    }

    /// Returns the drug of the latest fill. If the source itself wrote a text for this drug in some fills, the drug
    /// gets the latest of these texts. Otherwise it gets the text of the latest fill.
    fn medication(&self, last: &Fill<'_>, codes: &dyn Codes) -> String {
        let drug = last.drug();
        let mut same = self.fills.iter().rev().filter(|fill| fill.drug() == drug);
        let own = same.find_map(|fill| fill.line?.service.own_text.as_deref());
        let shown = || last.line.and_then(|line| line.service.text.as_deref());
        medication(last, own.or_else(shown), codes)
    }

    /// Returns references to the claims, in the order of the fills.
    fn claims(&self) -> Vec<String> {
        let mut claims: Vec<String> = Vec::new();
        for fill in self.fills {
            let text = format!("ExplanationOfBenefit/{}", fill.claim.id);
            if !claims.contains(&text) {
                claims.push(text);
            }
        }
        claims
    }

    /// Returns a source's own MedicationRequest for this prescription. If there are several, returns the nearest in
    /// time. Of equally near ones, returns the first by source and id.
    fn order<'o>(&self, own: &'o Own, context: &Context<'_>) -> Option<&'o Order> {
        let codes = context.settings.codes;
        let first = self.fills.first()?;
        let authored = first.claim.written.as_ref().or(first.when()).map(|when| when.day);
        let drug = drug_keys(first.drug(), codes, true);
        let key = |party: &Party, source| context.directory.key(source, party);
        let prescriber = first.prescriber().map(|party| key(party, self.key.source));
        let distance = |order: &Order| match (order.authored, authored) {
            (Some(a), Some(b)) => (a.0 - b.0).abs(),
            _ => i32::MAX,
        };
        let is_same = |order: &&Order| {
            if order.source == self.key.source && order.patient != self.key.patient {
                return false;
            }
            let named = |fill: &Fill<'_>| {
                let order_reference = fill.claim.prescription.as_deref().and_then(|text| text.split_once('/'));
                order.source == self.key.source && order_reference.is_some_and(|(_, id)| *id == *order.id)
            };
            if self.fills.iter().any(named) {
                return true;
            }
            let same_drug = || !drug.is_disjoint(&drug_keys(own.drug(order).iter().collect(), codes, true));
            if let Some((system, value)) = &first.claim.number {
                let mut numbers = order.numbers.iter().filter(|(_, number)| number == value);
                if numbers.any(|(own, _)| system.as_ref() == Some(own) || same_drug()) {
                    return true;
                }
            }
            distance(order) <= MAX_ORDER_DAYS
                && prescriber.is_some()
                && order.requester.as_ref().map(|party| key(party, order.source)) == prescriber
                && same_drug()
        };
        let found = own.orders.iter().filter(is_same);
        found.min_by_key(|order| (distance(order), order.source, order.id.clone()))
    }

    /// Adds references to the claims to a source's own MedicationRequest.
    fn add_to(&self, order: &Order, context: &Context<'_>, out: &mut Output) {
        let rule = Rule::MedicationRequest;
        for claim in self.claims() {
            if order.supporting.iter().any(|text| **text == *claim) {
                continue;
            }
            let mark = context.mark(order.source, rule);
            let json = Object::new()
                .list("extension", &[mark])
                .text("reference", &claim)
                .json();
            let addition = Addition {
                element: "supportingInformation",
                json,
                rule,
            };
            out.add("MedicationRequest", &order.id, addition);
        }
    }
}

/// Returns keys of a drug. Prescriptions of the same drug have a key in common. The keys are the ingredients or, if
/// they are unknown, the first 9 digits of the NDC. With `all`, the RxNorm codes and the NDC are always keys as well.
fn drug_keys(drug: Vec<&Code>, codes: &dyn Codes, all: bool) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for code in drug {
        if code.is_of(RXNORM) && all {
            keys.insert(format!("rxnorm:{}", code.code));
        }
        if !code.is_of(NDC) {
            continue;
        }
        let ingredients = codes.ingredients(&code.code);
        if !ingredients.is_empty() {
            keys.insert(format!("ingredients:{}", ingredients.join("+")));
        }
        if ingredients.is_empty() || all {
            keys.insert(format!("ndc:{}", code.code.get(..9).unwrap_or(&code.code)));
        }
        if let Some(drug) = codes.rxnorm(&code.code).filter(|_| all) {
            keys.insert(format!("rxnorm:{}", drug.code));
        }
    }
    keys
}

/// Returns the status: `active` up to the last day that the latest fill covers, `completed` after it, and `unknown` if
/// this day is unknown.
fn status(last: &Fill<'_>, today: Day) -> &'static str {
    match (last.day(), last.days_supply()) {
        (Some(day), Some(days)) if day.0 + days as i32 - 1 < today.0 => "completed",
        (Some(_), Some(_)) => "active",
        _ => "unknown",
    }
}

fn medication(fill: &Fill<'_>, own: Option<&str>, codes: &dyn Codes) -> String {
    let drug = fill.drug();
    let ingredients = fill.line.map_or(&[][..], |line| &line.ingredients);
    let products = drug.iter().filter(|code| code.is_of(NDC)).count();
    let mut codings = Vec::new();
    let mut names = Vec::new();
    for code in &drug {
        codings.push(code.json(codes));
        let product = code.is_of(NDC);
        let mapped = if product { codes.rxnorm(&code.code) } else { None };
        let known = |concept: &str| drug.iter().any(|code| code.is_of(RXNORM) && *code.code == *concept);
        let display = mapped
            .as_ref()
            .and_then(|concept| concept.display.as_deref().map(str::to_owned));
        let mut part = ingredients.iter().filter(|part| part.codes.contains(code));
        let own = part.find_map(|part| Some(part.own_text.as_ref()?.to_string()));
        if let Some(name) = own.or_else(|| code.name(codes)).or(display)
            && (product || products == 0)
        {
            names.push(name);
        }
        if let Some(concept) = mapped.filter(|concept| !known(&concept.code)) {
            codings.push(super::read::code::coding(
                RXNORM,
                &concept.code,
                concept.display.as_deref(),
            ));
        }
    }
    let text = match (own, &names[..]) {
        (Some(text), _) if products < 2 => Some(text.to_owned()),
        (own, []) => own.map(str::to_owned),
        (_, [name]) => Some(name.clone()),
        (_, names) if products > 1 => Some(format!("Compound of {}", names.join(", "))),
        (_, [name, ..]) => Some(name.clone()),
    };
    let text = text.or_else(|| codings.is_empty().then(|| PLACEHOLDER.to_owned()));
    concept(codings, text.as_deref()).unwrap_or_default()
}

fn dispense(fill: &Fill<'_>, context: &Context<'_>) -> Option<String> {
    let mut json = Object::new();
    let refills = fill
        .claim
        .refills
        .as_deref()
        .and_then(|refills| refills.parse::<u32>().ok());
    if let Some(refills) = refills {
        json.raw("numberOfRepeatsAllowed", &refills.to_string());
    }
    if let Some(quantity) = fill.line.and_then(|line| line.quantity.as_deref()) {
        json.raw("quantity", quantity);
    }
    if let Some(days) = fill.days_supply() {
        let mut duration = Object::new();
        duration.raw("value", &days.to_string()).text("unit", "days");
        duration.text("system", "http://unitsofmeasure.org").text("code", "d");
        json.raw("expectedSupplyDuration", &duration.json());
    }
    let pharmacy = fill.claim.place().filter(|party| party.may_be(&["Organization"]));
    if let Some(pharmacy) = pharmacy {
        json.raw("performer", &context.directory.json(fill.claim.source, pharmacy));
    }
    json.some()
}

/// Returns the substitution for NCPDP's code for dispensing as written.
fn substitution(daw: &Code, codes: &dyn Codes) -> String {
    let mut json = Object::new();
    match &*daw.code {
        "0" => json.raw("allowedBoolean", "true"),
        "1" => json.raw("allowedBoolean", "false"),
        code => {
            let text = daw
                .name(codes)
                .unwrap_or_else(|| format!("Dispense as written code {code}"));
            json.raw("allowedCodeableConcept", &format!("{{\"text\":{}}}", quoted(&text)))
        }
    };
    json.json()
}
