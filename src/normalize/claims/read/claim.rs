//! A claim as rules see it: the facts of an ExplanationOfBenefit, in whichever dialect it is written.
//!
//! The dialects are CARIN Blue Button 1.1 to 2.1, CMS Blue Button's own systems and Synthea's claims. This file does
//! not decide which resources a claim generates.

use super::super::out::Origin;
use super::super::tables::bill_type::{Bill, Setting};
use super::super::tables::place_of_service::LABORATORY;
use super::super::tables::revenue;
use super::code::{CDT, CPT, Code, Concept, NDC};
use super::party::{Directory, Party, contained};
use super::services::{Service, service};
use super::text::{Name, Names, Span, When};
use crate::columns::json::{Edits, Value, write_compact};
use crate::normalize::codes::Codes;
use crate::normalize::record::{Record, SourceId};

/// The kind of claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) enum Kind {
    /// A claim from a pharmacy.
    Pharmacy,
    /// A claim from a facility.
    Institutional,
    /// A claim from a professional, or from a supplier of equipment.
    Professional,
    /// A claim from a dentist.
    Oral,
    /// A claim from an optometrist.
    Vision,
}

/// The role of a party in a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::normalize::claims) enum Role {
    /// The party that rendered the service.
    Rendering,
    /// The party that operated.
    Operating,
    /// The primary provider.
    Primary,
    /// The party that attended.
    Attending,
    /// The party that prescribed.
    Prescribing,
    /// The party that supervised.
    Supervising,
    /// The party that assisted.
    Assisting,
    /// The party that referred.
    Referring,
    /// Any other role.
    Other,
}

/// A member of the care team.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) struct Member {
    /// The member's sequence.
    pub(in crate::normalize::claims) sequence: u32,
    /// The member's role.
    pub(in crate::normalize::claims) role: Role,
    /// The party.
    pub(in crate::normalize::claims) party: Party,
}

/// A service line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) struct Line {
    /// When the service was given.
    pub(in crate::normalize::claims) served: Span,
    /// The code of the place of service.
    pub(in crate::normalize::claims) place: Option<Name>,
    /// The revenue code.
    pub(in crate::normalize::claims) revenue: Option<Name>,
    /// The product or service.
    pub(in crate::normalize::claims) service: Concept,
    /// The codes of the modifiers of the service.
    pub(in crate::normalize::claims) modifiers: Vec<Name>,
    /// The body site.
    pub(in crate::normalize::claims) body_site: Option<Concept>,
    /// The sequences of the members of the care team to whom the line refers.
    pub(in crate::normalize::claims) team: Vec<u32>,
    /// The sequences of the diagnoses to which the line refers.
    pub(in crate::normalize::claims) diagnoses: Vec<u32>,
    /// The quantity, as JSON.
    pub(in crate::normalize::claims) quantity: Option<Name>,
    /// The products of a compound.
    pub(in crate::normalize::claims) ingredients: Vec<Concept>,
    /// Whether the line was denied, and nothing of it was paid.
    pub(in crate::normalize::claims) denied: bool,
    /// The reference to the source's Encounter.
    pub(in crate::normalize::claims) encounter: Option<Name>,
}

impl Line {
    /// Returns the coding of CPT, HCPCS or CDT that states the service of the line.
    pub(in crate::normalize::claims) fn code(&self) -> Option<&Code> {
        let of = |code: &&Code| {
            let system = code.system.as_deref().unwrap_or_default();
            system == CPT || system == CDT || system.ends_with("/HCPCSReleaseCodeSets")
        };
        self.service.codes.iter().find(of)
    }

    /// Returns the NDC of the product.
    pub(in crate::normalize::claims) fn ndc(&self) -> Option<&Code> {
        self.service.codes.iter().find(|code| code.is_of(NDC))
    }

    /// Returns the kind of the line's service. If the place of service is a laboratory, this decides. Otherwise the
    /// service code decides or, if there is none, the revenue code.
    pub(in crate::normalize::claims) fn purpose(&self) -> Service {
        if self.place.as_deref() == Some(LABORATORY) {
            return Service::Laboratory;
        }
        match (self.code(), &self.revenue) {
            (Some(code), _) => service(&code.code),
            (None, Some(code)) => revenue::service(code),
            (None, None) => Service::Other,
        }
    }
}

/// A diagnosis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::normalize::claims) struct Diagnosis {
    /// The diagnosis's sequence.
    pub(in crate::normalize::claims) sequence: u32,
    /// The diagnosis's code.
    pub(in crate::normalize::claims) code: Option<Code>,
    /// The source's own text for the diagnosis.
    pub(in crate::normalize::claims) text: Option<Name>,
    /// The reference to the source's Condition.
    pub(in crate::normalize::claims) condition: Option<Name>,
    /// The diagnosis's types, such as `principal`.
    pub(in crate::normalize::claims) types: Vec<Name>,
}

/// Hashes a diagnosis like a [`Concept`]: without its text, because a later normalization run may add it.
impl std::hash::Hash for Diagnosis {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.sequence, &self.code, &self.condition, &self.types).hash(state);
    }
}

/// A procedure in `ExplanationOfBenefit.procedure`. It belongs to no line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) struct Performed {
    /// The procedure.
    pub(in crate::normalize::claims) concept: Concept,
    /// When the procedure was performed.
    pub(in crate::normalize::claims) date: Option<When>,
}

/// The facts of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) struct Claim {
    /// The source of the claim.
    pub(in crate::normalize::claims) source: SourceId,
    /// The claim's id.
    pub(in crate::normalize::claims) id: Name,
    /// The reference to the claim's patient.
    pub(in crate::normalize::claims) patient: Name,
    /// The claim's kind.
    pub(in crate::normalize::claims) kind: Kind,
    /// The text of the claim's type.
    pub(in crate::normalize::claims) title: Option<Name>,
    /// Whether this is a claim for equipment.
    pub(in crate::normalize::claims) equipment: bool,
    /// The kind of Encounter that the claim's type or subtype states. It counts only if the type of bill states none.
    pub(in crate::normalize::claims) said: Option<Setting>,
    /// The type of bill.
    pub(in crate::normalize::claims) bill: Bill,
    /// The period of the claim.
    pub(in crate::normalize::claims) billable: Span,
    /// When the claim was made.
    pub(in crate::normalize::claims) created: Option<When>,
    /// The billing provider.
    pub(in crate::normalize::claims) provider: Option<Party>,
    /// The place of the services.
    pub(in crate::normalize::claims) facility: Option<Party>,
    /// The care team.
    pub(in crate::normalize::claims) team: Vec<Member>,
    /// The references to the Coverages.
    pub(in crate::normalize::claims) coverages: Vec<Name>,
    /// The reference to the source's MedicationRequest.
    pub(in crate::normalize::claims) prescription: Option<Name>,
    /// The number of the prescription. The system of the number precedes it, if the claim states one.
    pub(in crate::normalize::claims) number: Option<(Option<Name>, Name)>,
    /// When the prescription was written.
    pub(in crate::normalize::claims) written: Option<When>,
    /// The period from admission to discharge.
    pub(in crate::normalize::claims) admission: Span,
    /// The point of origin: from where the patient came to the facility.
    pub(in crate::normalize::claims) origin: Option<Concept>,
    /// The discharge status: how or to where the patient left.
    pub(in crate::normalize::claims) discharge: Option<Concept>,
    /// The number of days for which the drug lasts.
    pub(in crate::normalize::claims) days_supply: Option<Name>,
    /// How many refills the prescriber allowed.
    pub(in crate::normalize::claims) refills: Option<Name>,
    /// The code that says whether the product may be substituted ("dispense as written").
    pub(in crate::normalize::claims) daw: Option<Code>,
    /// Diagnoses.
    pub(in crate::normalize::claims) diagnoses: Vec<Diagnosis>,
    /// Procedures.
    pub(in crate::normalize::claims) procedures: Vec<Performed>,
    /// Service lines.
    pub(in crate::normalize::claims) lines: Vec<Line>,
}

impl Claim {
    /// Reads an ExplanationOfBenefit. Returns `None` if it is cancelled, in error, a preauthorization or a
    /// predetermination, if it has no patient, or if its kind is unknown.
    pub(in crate::normalize::claims) fn read(
        record: &Record<'_>,
        names: &mut Names,
        codes: &dyn Codes,
    ) -> Option<Claim> {
        let root = record.json;
        let is = |name: &str, values: &[&str]| root.get_str(name).is_some_and(|value| values.contains(&&*value));
        if is("status", &["cancelled", "entered-in-error"])
            || is("outcome", &["error"])
            || is("use", &["preauthorization", "predetermination"])
        {
            return None;
        }
        let patient = root.get("patient")?.get_str("reference")?;
        let mut claim = Claim {
            source: record.source,
            id: names.keep(record.id),
            patient: names.keep(&patient),
            kind: Kind::Professional,
            title: None,
            equipment: false,
            said: None,
            bill: Bill::default(),
            billable: span(root.get("billablePeriod"), names),
            created: when(root, "created", names),
            provider: party(root, "provider", root, names),
            facility: party(root, "facility", root, names),
            team: Vec::new(),
            coverages: Vec::new(),
            prescription: None,
            number: None,
            written: None,
            admission: Span::default(),
            origin: None,
            discharge: None,
            days_supply: None,
            refills: None,
            daw: None,
            diagnoses: Vec::new(),
            procedures: Vec::new(),
            lines: Vec::new(),
        };
        let mut reader = Reader { root, names, codes };
        for item in list(root, "item") {
            let line = reader.line(item, &mut claim);
            claim.lines.push(line);
        }
        claim.kind = reader.kind(&mut claim)?;
        reader.parties(&mut claim);
        reader.information(&mut claim);
        if claim.kind == Kind::Pharmacy {
            reader.prescription(&mut claim);
        } else {
            reader.diagnoses(&mut claim);
        }
        Some(claim)
    }

    /// Returns the kind of Encounter that an institutional claim describes.
    pub(in crate::normalize::claims) fn setting(&self) -> Setting {
        self.bill.setting().or(self.said).unwrap_or(Setting::Visit)
    }

    /// Returns the facility or, if there is none, the billing provider. In a pharmacy claim, this is the pharmacy.
    pub(in crate::normalize::claims) fn place(&self) -> Option<&Party> {
        self.facility.as_ref().or(self.provider.as_ref())
    }

    /// Returns the members of the care team to whom a line refers. If it refers to none, returns the whole care team.
    pub(in crate::normalize::claims) fn team_of(&self, line: Option<&Line>) -> impl Iterator<Item = &Member> {
        let chosen = line.map_or(&[][..], |line| &line.team);
        let known = self.team.iter().any(|member| chosen.contains(&member.sequence));
        self.team
            .iter()
            .filter(move |member| !known || chosen.contains(&member.sequence))
    }

    /// Returns the first member of a line's care team with one of these roles. An earlier role in `roles` comes before
    /// a later one.
    pub(in crate::normalize::claims) fn with_role(&self, line: Option<&Line>, roles: &[Role]) -> Option<&Party> {
        roles.iter().find_map(|role| {
            let mut team = self.team_of(line);
            team.find(|member| member.role == *role).map(|member| &member.party)
        })
    }

    /// Returns the record from which the claim was read.
    pub(in crate::normalize::claims) fn origin(&self) -> Origin {
        Origin {
            source: self.source,
            resource_type: "ExplanationOfBenefit",
            id: self.id.clone(),
        }
    }

    /// Returns all parties of the claim.
    pub(in crate::normalize::claims) fn everybody(&self) -> impl Iterator<Item = &Party> {
        let team = self.team.iter().map(|member| &member.party);
        self.provider.iter().chain(&self.facility).chain(team)
    }

    /// Returns a hash of the claim's facts.
    pub(in crate::normalize::claims) fn fingerprint(&self, directory: &Directory) -> u64 {
        use std::hash::{Hash, Hasher};
        let mut hasher = siphasher::sip::SipHasher24::new();
        // Leave out the index of the source. It is not a fact of the claim, and may change from run to run.
        let said = Claim {
            source: SourceId(0),
            ..self.clone()
        };
        said.hash(&mut hasher);
        for party in self.everybody() {
            directory.key(self.source, party).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Reads the parts of one claim.
struct Reader<'r, 't> {
    root: Value<'t>,
    names: &'r mut Names,
    codes: &'r dyn Codes,
}

impl Reader<'_, '_> {
    /// Reads the type and the subtype of the claim, and returns its kind. If the type does not show the kind, the lines
    /// decide.
    fn kind(&mut self, claim: &mut Claim) -> Option<Kind> {
        let mut kind = None;
        if let Some(value) = self.root.get("type") {
            let concept = Concept::read(value, self.names, self.codes);
            for code in &concept.codes {
                let system = code.system.as_deref().unwrap_or_default();
                let (read, said) = match &*code.code {
                    "pharmacy" | "PDE" => (Some(Kind::Pharmacy), None),
                    "institutional" => (Some(Kind::Institutional), None),
                    "professional" | "CARRIER" => (Some(Kind::Professional), None),
                    "oral" => (Some(Kind::Oral), None),
                    "vision" => (Some(Kind::Vision), None),
                    "INPATIENT" | "SNF" => (Some(Kind::Institutional), Some(Setting::Stay)),
                    "OUTPATIENT" => (Some(Kind::Institutional), Some(Setting::Visit)),
                    "HHA" => (Some(Kind::Institutional), Some(Setting::HomeHealth)),
                    "HOSPICE" => (Some(Kind::Institutional), Some(Setting::Hospice)),
                    "DME" => {
                        claim.equipment = true;
                        (Some(Kind::Professional), None)
                    }
                    number if system.ends_with("/nch_clm_type_cd") => {
                        claim.equipment |= matches!(number, "81" | "82");
                        by_number(number)
                    }
                    care if system.ends_with("/clm_srvc_clsfctn_type_cd") => {
                        claim.bill.care = care.bytes().next().filter(u8::is_ascii_digit);
                        (None, None)
                    }
                    _ => (None, None),
                };
                kind = kind.or(read);
                claim.said = claim.said.or(said);
            }
            let known = |code: &&Code| {
                code.system
                    .as_deref()
                    .is_some_and(|system| system.ends_with("claim-type"))
            };
            claim.title = concept.text.clone().or_else(|| {
                let code = concept.codes.iter().find(known).or(concept.codes.first())?;
                let title = code.name(self.codes).unwrap_or_else(|| capitalized(&code.code));
                Some(self.names.keep(&title))
            });
        }
        for coding in self
            .root
            .get("subType")
            .into_iter()
            .flat_map(|value| list(value, "coding"))
        {
            match coding.get_str("code").as_deref() {
                Some("inpatient") => claim.said = Some(Setting::Stay),
                Some("outpatient") => claim.said = Some(Setting::Visit),
                _ => {}
            }
        }
        kind.or_else(|| {
            // The type is unknown. If all lines are drugs, the claim comes from a pharmacy.
            let drugs = claim
                .lines
                .iter()
                .all(|line| line.ndc().is_some() && line.code().is_none());
            (drugs && !claim.lines.is_empty()).then_some(Kind::Pharmacy)
        })
    }

    fn parties(&mut self, claim: &mut Claim) {
        for member in list(self.root, "careTeam") {
            let Some(party) = party(member, "provider", self.root, self.names) else {
                continue;
            };
            let codings = member.get("role").into_iter().flat_map(|role| list(role, "coding"));
            let role = codings
                .filter_map(|coding| coding.get_str("code"))
                .map(|code| role(&code))
                .min()
                .unwrap_or(Role::Other);
            claim.team.push(Member {
                sequence: number(member, "sequence"),
                role,
                party,
            });
        }
        claim.team.sort_by_key(|member| member.sequence);
        for insurance in list(self.root, "insurance") {
            let reference = insurance.get("coverage").and_then(|value| value.get_str("reference"));
            if let Some(text) = reference.filter(|text| text.starts_with("Coverage/")) {
                claim.coverages.push(self.names.keep(&text));
            }
        }
        // CMS sends each digit of the type of bill in an extension of its own.
        let extensions = list(self.root, "extension");
        let facility = self
            .root
            .get("facility")
            .into_iter()
            .flat_map(|value| list(value, "extension"));
        for extension in extensions.chain(facility) {
            let url = extension.get_str("url").unwrap_or_default();
            let code = extension.get("valueCoding").and_then(|value| value.get_str("code"));
            let digit = code.and_then(|code| code.bytes().next()).filter(u8::is_ascii_digit);
            if url.ends_with("/clm_fac_type_cd") {
                claim.bill.facility = digit;
            } else if url.ends_with("/clm_srvc_clsfctn_type_cd") {
                claim.bill.care = digit;
            }
        }
    }

    fn information(&mut self, claim: &mut Claim) {
        let mut infos: Vec<Value<'_>> = list(self.root, "supportingInfo").collect();
        infos.sort_by_key(|info| number(*info, "sequence"));
        for info in infos {
            let category = info.get("category").into_iter().flat_map(|value| list(value, "coding"));
            for code in category.filter_map(|coding| coding.get_str("code")) {
                // In CMS's claims, the code of a category is a URL. Its last part is the code.
                self.category(code.rsplit('/').next().unwrap_or_default(), info, claim);
            }
        }
    }

    fn category(&mut self, category: &str, info: Value<'_>, claim: &mut Claim) {
        match category {
            "admissionperiod" => {
                let period = match info.get("timingPeriod") {
                    Some(period) => span(Some(period), self.names),
                    None => Span {
                        start: when(info, "timingDate", self.names),
                        end: None,
                    },
                };
                claim.admission.start = period.start.or(claim.admission.start.take());
                claim.admission.end = period.end.or(claim.admission.end.take());
            }
            "clm_admsn_dt" if claim.admission.start.is_none() => {
                claim.admission.start = when(info, "timingDate", self.names);
            }
            "nch_bene_dschrg_dt" if claim.admission.end.is_none() => {
                claim.admission.end = when(info, "timingDate", self.names);
            }
            "typeofbill" | "clm_freq_cd" => {
                for code in self.concept(info).codes {
                    claim.bill.take(&code.code);
                }
            }
            "pointoforigin" | "clm_src_ip_admsn_cd" => set(&mut claim.origin, self.concept(info)),
            "discharge-status" | "ptnt_dschrg_stus_cd" => set(&mut claim.discharge, self.concept(info)),
            "dayssupply" | "days_suply_num" => {
                claim.days_supply = claim.days_supply.take().or_else(|| self.quantity_of(info));
            }
            "refillsauthorized" => claim.refills = claim.refills.take().or_else(|| self.quantity_of(info)),
            "dawcode" | "daw_prod_slctn_cd" => {
                let Concept { codes, own_text, .. } = self.concept(info);
                let code = codes.into_iter().next().map(|code| Code {
                    display: own_text.or(code.display.clone()),
                    ..code
                });
                claim.daw = claim.daw.take().or(code);
            }
            "servicefacility" if claim.facility.is_none() => {
                claim.facility = party(info, "valueReference", self.root, self.names);
            }
            _ => {}
        }
    }

    fn concept(&mut self, info: Value<'_>) -> Concept {
        info.get("code")
            .map_or_else(Concept::default, |value| Concept::read(value, self.names, self.codes))
    }

    fn quantity_of(&mut self, info: Value<'_>) -> Option<Name> {
        let value = info.get("valueQuantity")?.get("value")?;
        value.number().map(|number| self.names.keep(number))
    }

    fn prescription(&mut self, claim: &mut Claim) {
        for identifier in list(self.root, "identifier") {
            if names_prescription(identifier)
                && let Some(value) = identifier.get_str("value")
            {
                let system = identifier.get_str("system").map(|system| self.names.keep(&system));
                claim.number = Some((system, self.names.keep(&value)));
                break;
            }
        }
        for name in ["prescription", "originalPrescription"] {
            let Some(value) = self.root.get(name) else { continue };
            if claim.number.is_none()
                && let Some(identifier) = value.get("identifier")
                && let Some(number) = identifier.get_str("value")
            {
                let system = identifier.get_str("system").map(|system| self.names.keep(&system));
                claim.number = Some((system, self.names.keep(&number)));
            }
            let reference = value.get_str("reference").unwrap_or_default();
            if let Some(id) = reference.strip_prefix('#') {
                let written = contained(self.root, id).and_then(|order| when(order, "authoredOn", self.names));
                claim.written = claim.written.take().or(written);
            } else if claim.prescription.is_none() && reference.starts_with("MedicationRequest/") {
                claim.prescription = Some(self.names.keep(&reference));
            }
        }
    }

    fn diagnoses(&mut self, claim: &mut Claim) {
        for value in list(self.root, "diagnosis") {
            let concept = value.get("diagnosisCodeableConcept");
            let concept = concept.map(|concept| Concept::read(concept, self.names, self.codes));
            let concept = concept.unwrap_or_default();
            let code = concept.codes.into_iter().find(is_icd);
            let reference = value
                .get("diagnosisReference")
                .and_then(|value| value.get_str("reference"));
            let condition = reference.filter(|text| text.starts_with("Condition/"));
            let condition = condition.map(|text| self.names.keep(&text));
            let mut types = Vec::new();
            for coding in list(value, "type").flat_map(|kind| list(kind, "coding")) {
                types.extend(coding.get_str("code").map(|code| self.names.keep(&code)));
            }
            if code.is_some() || condition.is_some() {
                claim.diagnoses.push(Diagnosis {
                    sequence: number(value, "sequence"),
                    code,
                    text: concept.own_text,
                    condition,
                    types,
                });
            }
        }
        claim.diagnoses.sort_by_key(|diagnosis| diagnosis.sequence);
        for value in list(self.root, "procedure") {
            if let Some(concept) = value.get("procedureCodeableConcept") {
                let concept = Concept::read(concept, self.names, self.codes);
                let date = when(value, "date", self.names);
                claim.procedures.push(Performed { concept, date });
            }
        }
    }

    fn line(&mut self, item: Value<'_>, claim: &mut Claim) -> Line {
        let served = match when(item, "servicedDate", self.names) {
            Some(date) => Span::of(date),
            None => span(item.get("servicedPeriod"), self.names),
        };
        let mut modifiers = Vec::new();
        for coding in list(item, "modifier").flat_map(|modifier| list(modifier, "coding")) {
            modifiers.extend(coding.get_str("code").map(|code| self.names.keep(code.trim())));
        }
        modifiers.dedup();
        let encounter = list(item, "encounter").find_map(|value| value.get_str("reference"));
        let mut ingredients = Vec::new();
        for detail in list(item, "detail") {
            ingredients.extend(self.service(detail));
        }
        let quantity = item.get("quantity");
        if claim.days_supply.is_none() {
            // The first version of CMS Blue Button has the days of supply in an extension of the quantity.
            let mut extensions = quantity.into_iter().flat_map(|value| list(value, "extension"));
            let days =
                extensions.find(|value| value.get_str("url").is_some_and(|url| url.ends_with("/days_suply_num")));
            claim.days_supply = days.and_then(|value| self.quantity_of(value));
        }
        Line {
            served,
            place: self.first_code(item, "locationCodeableConcept"),
            revenue: self.first_code(item, "revenue"),
            service: self.service(item).unwrap_or_default(),
            modifiers,
            body_site: item
                .get("bodySite")
                .map(|value| Concept::read(value, self.names, self.codes)),
            team: numbers(item, "careTeamSequence"),
            diagnoses: numbers(item, "diagnosisSequence"),
            quantity: quantity.and_then(|value| self.quantity(value)),
            ingredients,
            denied: is_denied(item),
            encounter: encounter
                .filter(|text| text.starts_with("Encounter/"))
                .map(|text| self.names.keep(&text)),
        }
    }

    fn service(&mut self, item: Value<'_>) -> Option<Concept> {
        let value = item.get("productOrService")?;
        Some(Concept::read(value, self.names, self.codes))
    }

    fn first_code(&mut self, item: Value<'_>, name: &str) -> Option<Name> {
        let concept = Concept::read(item.get(name)?, self.names, self.codes);
        concept.codes.into_iter().next().map(|code| code.code)
    }

    /// Returns the JSON of a Quantity without extensions. Returns `None` if it has no value.
    fn quantity(&mut self, value: Value<'_>) -> Option<Name> {
        value.get("value")?.number()?;
        let mut edits = Edits::new();
        for (key, property) in value.entries() {
            if !["value", "unit", "system", "code"].contains(&&*key.name()) {
                edits.omit(property);
            }
        }
        let mut json = Vec::new();
        write_compact(value, &mut json, &edits);
        Some(self.names.keep(std::str::from_utf8(&json).ok()?))
    }
}

/// Returns what a number of CMS's claim types means: the kind of claim, and for an institutional claim the kind of
/// Encounter.
fn by_number(number: &str) -> (Option<Kind>, Option<Setting>) {
    match number {
        "10" => (Some(Kind::Institutional), Some(Setting::HomeHealth)),
        "20" | "30" | "60" | "61" | "62" | "63" | "64" => (Some(Kind::Institutional), Some(Setting::Stay)),
        "40" => (Some(Kind::Institutional), Some(Setting::Visit)),
        "50" => (Some(Kind::Institutional), Some(Setting::Hospice)),
        "71" | "72" | "81" | "82" => (Some(Kind::Professional), None),
        _ => (None, None),
    }
}

fn role(code: &str) -> Role {
    match code {
        "rendering" | "performing" => Role::Rendering,
        "operating" | "otheroperating" => Role::Operating,
        "primary" => Role::Primary,
        "attending" => Role::Attending,
        "prescribing" => Role::Prescribing,
        "supervisor" | "supervising" => Role::Supervising,
        "assist" => Role::Assisting,
        "referring" => Role::Referring,
        _ => Role::Other,
    }
}

/// Whether an identifier's type or system shows that it is the number of a prescription.
fn names_prescription(identifier: Value<'_>) -> bool {
    let names = |text: &str| {
        let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
        let letters = letters.to_ascii_lowercase();
        [
            "rxsrvcrfrncnum",
            "rxreferencenumber",
            "rxnumber",
            "prescriptionnumber",
            "prescriptionreferencenumber",
        ]
        .iter()
        .any(|name| letters.contains(name))
            || letters.contains("prescriptionservicereferencenumber")
    };
    let kind = identifier.get("type");
    let mut codings = kind.into_iter().flat_map(|kind| list(kind, "coding"));
    identifier.get_str("system").is_some_and(|system| names(&system))
        || kind
            .and_then(|kind| kind.get_str("text"))
            .is_some_and(|text| names(&text))
        || codings.any(|coding| {
            ["code", "display"]
                .iter()
                .any(|name| coding.get_str(name).is_some_and(|text| names(&text)))
        })
}

/// Whether a line was denied, and nothing of it was paid.
fn is_denied(item: Value<'_>) -> bool {
    let mut denied = false;
    for adjudication in list(item, "adjudication") {
        let codes = adjudication
            .get("category")
            .into_iter()
            .flat_map(|value| list(value, "coding"));
        for code in codes.filter_map(|coding| coding.get_str("code")) {
            match code.rsplit('/').next().unwrap_or_default() {
                "denialreason" => denied = true,
                "line_prcsg_ind_cd" => {
                    let mut reasons = adjudication
                        .get("reason")
                        .into_iter()
                        .flat_map(|value| list(value, "coding"));
                    denied |= reasons.any(|reason| reason.get_str("code").as_deref() == Some("D"));
                }
                "benefit" | "eligible" | "paidtoprovider" | "paidtopatient" | "paidbypatient" => {
                    let amount = adjudication.get("amount").and_then(|amount| amount.get("value"));
                    let amount = amount.and_then(|amount| amount.number()?.parse::<f64>().ok());
                    if amount.is_some_and(|amount| amount > 0.0) {
                        return false;
                    }
                }
                _ => {}
            }
        }
    }
    denied
}

fn is_icd(code: &Code) -> bool {
    code.is_of(super::code::ICD_10_CM) || code.is_of(super::code::ICD_9_CM)
}

fn capitalized(code: &str) -> String {
    let mut letters = code.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn set(slot: &mut Option<Concept>, concept: Concept) {
    if slot.is_none() && (!concept.codes.is_empty() || concept.text.is_some()) {
        *slot = Some(concept);
    }
}

/// Returns the items of a list in an object.
pub(in crate::normalize::claims) fn list<'t>(value: Value<'t>, name: &str) -> impl Iterator<Item = Value<'t>> {
    value.get(name).into_iter().flat_map(|list| list.items())
}

/// Reads a date of an object.
pub(in crate::normalize::claims) fn when(value: Value<'_>, name: &str, names: &mut Names) -> Option<When> {
    When::read(&value.get_str(name)?, names)
}

/// Reads a Period.
pub(in crate::normalize::claims) fn span(value: Option<Value<'_>>, names: &mut Names) -> Span {
    let Some(value) = value else { return Span::default() };
    Span {
        start: when(value, "start", names),
        end: when(value, "end", names),
    }
}

/// Reads the provider to which the property `name` of `value` refers. `root` is the whole record, which may contain
/// the provider as a contained resource.
pub(in crate::normalize::claims) fn party(
    value: Value<'_>,
    name: &str,
    root: Value<'_>,
    names: &mut Names,
) -> Option<Party> {
    Party::read(value.get(name)?, root, names)
}

fn number(value: Value<'_>, name: &str) -> u32 {
    let number = value.get(name).and_then(|value| value.number());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn numbers(value: Value<'_>, name: &str) -> Vec<u32> {
    list(value, name)
        .filter_map(|value| value.number()?.parse().ok())
        .collect()
}
