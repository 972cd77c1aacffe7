//! The sources' own clinical records. If one of them describes the same event as a claim, no resource is generated for
//! that event.

use rustc_hash::{FxHashMap, FxHashSet};

use super::claim::{list, party, span, when};
use super::code::{Code, Concept};
use super::party::{Directory, Party, contained};
use super::text::{Name, Names, Span};
use crate::columns::json::Value;
use crate::normalize::codes::Codes;
use crate::normalize::record::{Day, Record, SourceId};

/// A source's MedicationRequest.
#[derive(Debug)]
pub(in crate::normalize::claims) struct Order {
    /// The source of the record.
    pub(in crate::normalize::claims) source: SourceId,
    /// The record's id.
    pub(in crate::normalize::claims) id: Name,
    /// The patient of the record.
    pub(in crate::normalize::claims) patient: Name,
    /// The record's identifiers: system and value.
    pub(in crate::normalize::claims) numbers: Vec<(Name, Name)>,
    /// The codes of the drug.
    pub(in crate::normalize::claims) drug: Vec<Code>,
    /// The reference to the Medication that has the drug's codes, if there is one.
    pub(in crate::normalize::claims) medication: Option<Name>,
    /// The person or organization that requested the drug.
    pub(in crate::normalize::claims) requester: Option<Party>,
    /// The day on which the MedicationRequest was written.
    pub(in crate::normalize::claims) authored: Option<Day>,
    /// The references in `supportingInformation` that no rule has added.
    pub(in crate::normalize::claims) supporting: Vec<Name>,
}

/// A source's Encounter.
#[derive(Debug)]
pub(in crate::normalize::claims) struct Encounter {
    source: SourceId,
    id: Name,
    patient: Name,
    start: Day,
    end: Day,
    parties: Vec<Party>,
}

/// A source's Procedure.
#[derive(Debug)]
struct Procedure {
    source: SourceId,
    patient: Name,
    day: Day,
    codes: Vec<Code>,
    performers: Vec<Party>,
}

/// The sources' own clinical records. The rules compare them with claims.
#[derive(Debug, Default)]
pub(in crate::normalize::claims) struct Own {
    /// The MedicationRequests.
    pub(in crate::normalize::claims) orders: Vec<Order>,
    medications: FxHashMap<(SourceId, Name), Vec<Code>>,
    encounters: Vec<Encounter>,
    known: FxHashSet<(SourceId, Name)>,
    diagnosed: FxHashSet<(SourceId, Name, Name)>,
    procedures: Vec<Procedure>,
}

impl Own {
    /// Adds a MedicationRequest. `mark` is the URL of the extension that marks what rules have added.
    pub(in crate::normalize::claims) fn order(
        &mut self,
        record: &Record<'_>,
        mark: &str,
        names: &mut Names,
        codes: &dyn Codes,
    ) {
        let root = record.json;
        if root.get_str("status").as_deref() == Some("entered-in-error") {
            return;
        }
        let Some(patient) = subject(root, names) else { return };
        let mut numbers = Vec::new();
        for identifier in list(root, "identifier") {
            if let (Some(system), Some(value)) = (identifier.get_str("system"), identifier.get_str("value")) {
                numbers.push((names.keep(&system), names.keep(&value)));
            }
        }
        let mut drug = Vec::new();
        let mut medication = None;
        if let Some(concept) = root.get("medicationCodeableConcept") {
            drug = Concept::read(concept, names, codes).codes;
        } else if let Some(text) = root
            .get("medicationReference")
            .and_then(|value| value.get_str("reference"))
        {
            match text.strip_prefix('#') {
                Some(id) => {
                    let code = contained(root, id).and_then(|resource| resource.get("code"));
                    drug = code.map_or_else(Vec::new, |code| Concept::read(code, names, codes).codes);
                }
                None => medication = Some(names.keep(&text)),
            }
        }
        let mut supporting = Vec::new();
        for value in list(root, "supportingInformation") {
            if !is_marked(value, mark)
                && let Some(text) = value.get_str("reference")
            {
                supporting.push(names.keep(&text));
            }
        }
        self.orders.push(Order {
            source: record.source,
            id: names.keep(record.id),
            patient,
            numbers,
            drug,
            medication,
            requester: party(root, "requester", root, names),
            authored: when(root, "authoredOn", names).map(|when| when.day),
            supporting,
        });
    }

    /// Adds a Medication.
    pub(in crate::normalize::claims) fn medication(
        &mut self,
        record: &Record<'_>,
        names: &mut Names,
        codes: &dyn Codes,
    ) {
        if let Some(code) = record.json.get("code") {
            let own = names.keep(&format!("Medication/{}", record.id));
            let concept = Concept::read(code, names, codes);
            self.medications.insert((record.source, own), concept.codes);
        }
    }

    /// Adds an Encounter.
    pub(in crate::normalize::claims) fn encounter(&mut self, record: &Record<'_>, names: &mut Names) {
        let root = record.json;
        let id = names.keep(&format!("Encounter/{}", record.id));
        self.known.insert((record.source, id.clone()));
        let status = root.get_str("status");
        if matches!(status.as_deref(), Some("planned" | "cancelled" | "entered-in-error")) {
            return;
        }
        let period = span(root.get("period"), names);
        let (Some(start), Some(patient)) = (period.day(), subject(root, names)) else {
            return;
        };
        let end = period.end.map_or(start, |end| end.day).max(start);
        let mut parties = Vec::new();
        for participant in list(root, "participant") {
            parties.extend(party(participant, "individual", root, names));
        }
        parties.extend(party(root, "serviceProvider", root, names));
        for location in list(root, "location") {
            parties.extend(party(location, "location", root, names));
        }
        self.encounters.push(Encounter {
            source: record.source,
            id,
            patient,
            start,
            end,
            parties,
        });
    }

    /// Adds the codes of a Condition that refers to an Encounter. Ignores a Condition on the problem list, because it
    /// does not take the place of a generated Condition.
    pub(in crate::normalize::claims) fn condition(
        &mut self,
        record: &Record<'_>,
        names: &mut Names,
        codes: &dyn Codes,
    ) {
        let root = record.json;
        let encounter = root.get("encounter").and_then(|value| value.get_str("reference"));
        let (Some(encounter), Some(code)) = (encounter, root.get("code")) else {
            return;
        };
        let mut categories = list(root, "category").flat_map(|category| list(category, "coding"));
        if categories.any(|coding| coding.get_str("code").as_deref() == Some("problem-list-item")) {
            return;
        }
        let encounter = names.keep(&encounter);
        for code in Concept::read(code, names, codes).codes {
            self.diagnosed.insert((record.source, encounter.clone(), code.code));
        }
    }

    /// Adds a Procedure.
    pub(in crate::normalize::claims) fn procedure(
        &mut self,
        record: &Record<'_>,
        names: &mut Names,
        codes: &dyn Codes,
    ) {
        let root = record.json;
        let status = root.get_str("status");
        if matches!(status.as_deref(), Some("not-done" | "entered-in-error")) {
            return;
        }
        let performed = match when(root, "performedDateTime", names) {
            Some(date) => Span::of(date),
            None => span(root.get("performedPeriod"), names),
        };
        let (Some(day), Some(patient), Some(code)) = (performed.day(), subject(root, names), root.get("code")) else {
            return;
        };
        let mut performers = Vec::new();
        for performer in list(root, "performer") {
            performers.extend(party(performer, "actor", root, names));
        }
        self.procedures.push(Procedure {
            source: record.source,
            patient,
            day,
            codes: Concept::read(code, names, codes).codes,
            performers,
        });
    }

    /// Returns the codes of the drug of a MedicationRequest. If it refers to a Medication, these are the codes of the
    /// Medication.
    pub(in crate::normalize::claims) fn drug<'o>(&'o self, order: &'o Order) -> &'o [Code] {
        match &order.medication {
            Some(medication) => self
                .medications
                .get(&(order.source, medication.clone()))
                .map_or(&[], Vec::as_slice),
            None => &order.drug,
        }
    }

    /// Whether `source` has sent the Encounter to which `encounter` refers. Its status does not matter.
    pub(in crate::normalize::claims) fn has_encounter(&self, source: SourceId, encounter: &Name) -> bool {
        self.known.contains(&(source, encounter.clone()))
    }

    /// Whether a source has a Condition with this code for `encounter`, which is one of its own Encounters.
    pub(in crate::normalize::claims) fn is_diagnosed(&self, encounter: &(SourceId, Name), code: &Name) -> bool {
        let (source, encounter) = encounter;
        self.diagnosed.contains(&(*source, encounter.clone(), code.clone()))
    }

    /// Returns an index of the Encounters, by the keys of their parties.
    pub(in crate::normalize::claims) fn encounters<'o>(&'o self, directory: &Directory) -> Encounters<'o> {
        let mut by_party: FxHashMap<String, Vec<&Encounter>> = FxHashMap::default();
        for encounter in &self.encounters {
            for party in &encounter.parties {
                let key = directory.key(encounter.source, party);
                by_party.entry(key).or_default().push(encounter);
            }
        }
        for list in by_party.values_mut() {
            list.sort_by(|a, b| (a.start, a.source, &a.id).cmp(&(b.start, b.source, &b.id)));
        }
        Encounters(by_party)
    }

    /// Returns an index of the Procedures, by code and day.
    pub(in crate::normalize::claims) fn procedures(&self, directory: &Directory) -> Procedures {
        let mut done: FxHashMap<(Name, Day), Vec<Done>> = FxHashMap::default();
        for procedure in &self.procedures {
            let keys = procedure.performers.iter();
            let performers: Vec<String> = keys.map(|party| directory.key(procedure.source, party)).collect();
            for code in &procedure.codes {
                done.entry((code.code.clone(), procedure.day)).or_default().push(Done {
                    source: procedure.source,
                    patient: procedure.patient.clone(),
                    performers: performers.clone(),
                });
            }
        }
        Procedures(done)
    }
}

/// An index of the sources' Encounters, by the keys of their parties.
pub(in crate::normalize::claims) struct Encounters<'o>(FxHashMap<String, Vec<&'o Encounter>>);

impl Encounters<'_> {
    /// Finds an Encounter that covers these days and has one of these parties. The Encounter may be from any source. An
    /// Encounter of `source` itself must be about `patient`. If several Encounters fit, returns the first by start,
    /// source and id.
    pub(in crate::normalize::claims) fn find(
        &self,
        source: SourceId,
        patient: &Name,
        days: (Day, Day),
        parties: &[String],
    ) -> Option<(SourceId, Name)> {
        let covers = |own: &&&Encounter| {
            own.start <= days.0 && days.1 <= own.end && (own.source != source || own.patient == *patient)
        };
        let found = parties
            .iter()
            .filter_map(|party| self.0.get(party)?.iter().find(covers));
        let first = found.min_by_key(|own| (own.start, own.source, own.id.clone()))?;
        Some((first.source, first.id.clone()))
    }
}

/// The facts of a source's Procedure that [`Procedures::has`] compares, except code and day.
struct Done {
    source: SourceId,
    patient: Name,
    performers: Vec<String>,
}

/// An index of the sources' Procedures, by code and day.
pub(in crate::normalize::claims) struct Procedures(FxHashMap<(Name, Day), Vec<Done>>);

impl Procedures {
    /// Whether any source has a Procedure with this code on this day, by this performer or without any performer. A
    /// Procedure of `source` itself must be about `patient`.
    pub(in crate::normalize::claims) fn has(
        &self,
        source: SourceId,
        patient: &Name,
        code: &Name,
        day: Day,
        performer: &str,
    ) -> bool {
        let done = self.0.get(&(code.clone(), day));
        done.into_iter().flatten().any(|done| {
            (done.source != source || done.patient == *patient)
                && (done.performers.is_empty() || done.performers.iter().any(|key| key == performer))
        })
    }
}

/// Whether a rule added the value. `mark` is the URL of the extension that such values have.
pub(in crate::normalize::claims) fn is_marked(value: Value<'_>, mark: &str) -> bool {
    list(value, "extension").any(|extension| extension.get_str("url").as_deref() == Some(mark))
}

fn subject(root: Value<'_>, names: &mut Names) -> Option<Name> {
    let text = root.get("subject")?.get_str("reference")?;
    Some(names.keep(&text))
}
