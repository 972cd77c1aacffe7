//! Providers of care: references to Practitioners, Organizations and Locations. Decides when two references mean the
//! same provider.

use rustc_hash::{FxHashMap, FxHashSet};

use super::code::NPI;
use super::text::{Name, Names, Object, said};
use crate::columns::json::Value;
use crate::fhir::reference::{Reference, Target};
use crate::fhir::{TypeId, facts};
use crate::normalize::marks::PLACEHOLDER;
use crate::normalize::record::{Record, SourceId};

/// A provider of care to whom a record refers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::normalize::claims) struct Party {
    /// The text of the reference. `None` if there is none, or if it leads to a contained resource, because other
    /// records cannot use such a reference.
    pub(in crate::normalize::claims) reference: Option<Name>,
    /// The NPI in the Reference, or in the contained resource.
    pub(in crate::normalize::claims) npi: Option<Name>,
    /// The first identifier that has a system and a value.
    pub(in crate::normalize::claims) identifier: Option<(Name, Name)>,
    /// The provider's name.
    pub(in crate::normalize::claims) display: Option<Name>,
    /// The provider's type, if known.
    pub(in crate::normalize::claims) kind: Option<TypeId>,
}

/// Adds nothing to the hash of a claim, because the reference and the name of a party may change from run to run. The
/// claim's fingerprint has the party's [`Directory::key`] instead.
impl std::hash::Hash for Party {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Party {
    /// Reads a Reference of the record `root`. Returns `None` if it is empty or a placeholder of an earlier run.
    pub(in crate::normalize::claims) fn read(value: Value<'_>, root: Value<'_>, names: &mut Names) -> Option<Party> {
        let mut party = Party {
            display: said(value.get_str("display"), names),
            kind: value.get_str("type").and_then(|name| facts().lookup(&name)),
            ..Party::default()
        };
        if let Some(identifier) = value.get("identifier") {
            party.identify(identifier, names);
        }
        if let Some(text) = value.get_str("reference") {
            match Reference::parse(&text) {
                Reference::Fragment(id) => party.contained(id, root, names),
                Reference::Relative(target) => {
                    party.kind = Some(target.type_id);
                    party.reference = Some(names.keep(&text));
                }
                Reference::Conditional { type_id, query } => {
                    party.kind = Some(type_id);
                    party.npi = npi_of_query(query).map(|npi| names.keep(&npi));
                    party.reference = Some(names.keep(&text));
                }
                Reference::Absolute { target, .. } => {
                    party.kind = Some(target.type_id);
                    party.reference = Some(names.keep(&text));
                }
                Reference::Urn(_) | Reference::Other(_) => party.reference = Some(names.keep(&text)),
            }
        }
        let known = party.reference.is_some() || party.npi.is_some() || party.identifier.is_some();
        (known || party.display.is_some()).then_some(party)
    }

    /// Adds the type, the identifiers and the name of the resource with this id that `root` contains.
    fn contained(&mut self, id: &str, root: Value<'_>, names: &mut Names) {
        let Some(found) = contained(root, id) else { return };
        let resource_type = found.get_str("resourceType");
        self.kind = resource_type.and_then(|name| facts().lookup(&name)).or(self.kind);
        for identifier in found.get("identifier").into_iter().flat_map(|list| list.items()) {
            self.identify(identifier, names);
        }
        if self.display.is_none() {
            self.display = name_of(found).map(|name| names.keep(&name));
        }
    }

    fn identify(&mut self, identifier: Value<'_>, names: &mut Names) {
        if self.npi.is_none()
            && let Some(npi) = npi_of(identifier)
        {
            self.npi = Some(names.keep(&npi));
        }
        if self.identifier.is_none()
            && let (Some(system), Some(value)) = (identifier.get_str("system"), identifier.get_str("value"))
        {
            self.identifier = Some((names.keep(&system), names.keep(&value)));
        }
    }

    /// Whether the party's type is unknown, or is one of `types`.
    pub(in crate::normalize::claims) fn may_be(&self, types: &[&str]) -> bool {
        self.kind.is_none_or(|kind| types.contains(&facts().get(kind).name))
    }

    /// Whether the party is known to have this type.
    pub(in crate::normalize::claims) fn is(&self, resource_type: &str) -> bool {
        self.kind.is_some_and(|kind| facts().get(kind).name == resource_type)
    }
}

/// Returns a Reference for a party that the source does not state. Its display is the placeholder.
pub(in crate::normalize::claims) fn undefined() -> String {
    Object::new().text("display", PLACEHOLDER).json()
}

/// Returns the contained resource of `root` with this id.
pub(in crate::normalize::claims) fn contained<'t>(root: Value<'t>, id: &str) -> Option<Value<'t>> {
    let mut list = root.get("contained")?.items();
    list.find(|resource| resource.get_str("id").as_deref() == Some(id))
}

/// Returns the NPI of an Identifier. Returns `None` if neither the system nor the type of the Identifier says that its
/// value is an NPI.
fn npi_of(identifier: Value<'_>) -> Option<String> {
    let by_system = identifier.get_str("system").is_some_and(|system| is_npi(&system));
    let coded = |coding: Value<'_>| {
        coding
            .get_str("code")
            .is_some_and(|code| code.eq_ignore_ascii_case("npi"))
    };
    let by_type = || {
        let codings = identifier.get("type")?.get("coding")?;
        codings.items().any(coded).then_some(())
    };
    if !by_system && by_type().is_none() {
        return None;
    }
    Some(identifier.get_str("value")?.trim().to_owned())
}

fn is_npi(system: &str) -> bool {
    system == NPI || system == "urn:oid:2.16.840.1.113883.4.6" || system.ends_with("/prvdr_npi")
}

/// Returns the NPI of a query `identifier=SYSTEM|NPI`.
fn npi_of_query(query: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes()).find_map(|(name, value)| {
        let (system, npi) = value.split_once('|')?;
        (name == "identifier" && is_npi(system)).then(|| npi.to_owned())
    })
}

/// Returns the name of an Organization, Location or Practitioner.
fn name_of(resource: Value<'_>) -> Option<String> {
    let name = resource.get("name")?;
    if let Some(name) = name.as_str() {
        return Some(name.into_owned());
    }
    let name = name.items().next()?;
    if let Some(text) = name.get_str("text") {
        return Some(text.into_owned());
    }
    let given = name.get("given").into_iter().flat_map(|given| given.items());
    let mut words: Vec<String> = given.filter_map(|word| word.as_str().map(Into::into)).collect();
    words.extend(name.get_str("family").map(Into::into));
    (!words.is_empty()).then(|| words.join(" "))
}

/// Finds the NPIs of providers, and the providers with an NPI.
#[derive(Debug, Default)]
pub(in crate::normalize::claims) struct Directory {
    npi: FxHashMap<(SourceId, Name), Name>,
    holders: FxHashMap<Name, FxHashSet<(SourceId, Name)>>,
    roles: FxHashMap<(SourceId, Name), Party>,
}

impl Directory {
    /// Adds a Practitioner, Organization, Location or PractitionerRole. Keeps the practitioner of a PractitionerRole,
    /// and the NPI of any other resource.
    pub(in crate::normalize::claims) fn see(&mut self, record: &Record<'_>, names: &mut Names) {
        let resource_type = facts().get(record.resource_type).name;
        let own = names.keep(&format!("{resource_type}/{}", record.id));
        if resource_type == "PractitionerRole" {
            let practitioner = record.json.get("practitioner");
            if let Some(party) = practitioner.and_then(|value| Party::read(value, record.json, names)) {
                self.roles.insert((record.source, own), party);
            }
            return;
        }
        let list = record.json.get("identifier");
        let npi = list.into_iter().flat_map(|list| list.items()).find_map(npi_of);
        let Some(npi) = npi.filter(|npi| !npi.is_empty()) else {
            return;
        };
        let npi = names.keep(&npi);
        self.npi.insert((record.source, own.clone()), npi.clone());
        self.holders.entry(npi).or_default().insert((record.source, own));
    }

    /// Returns the NPI of a party, from the Reference or from the resource to which it leads. If that is a
    /// PractitionerRole, returns the NPI of its practitioner.
    pub(in crate::normalize::claims) fn npi(&self, source: SourceId, party: &Party) -> Option<Name> {
        if party.npi.is_some() {
            return party.npi.clone();
        }
        let at = (source, party.reference.clone()?);
        if let Some(npi) = self.npi.get(&at) {
            return Some(npi.clone());
        }
        let practitioner = self.roles.get(&at)?;
        practitioner
            .npi
            .clone()
            .or_else(|| self.npi.get(&(source, practitioner.reference.clone()?)).cloned())
    }

    /// Returns a text that identifies a party: its NPI or, if that is unknown, its reference, identifier or name. Ids
    /// of generated resources depend on this text, so it does not contain the index of the source.
    pub(in crate::normalize::claims) fn key(&self, source: SourceId, party: &Party) -> String {
        if let Some(npi) = self.npi(source, party) {
            return format!("npi:{npi}");
        }
        if let Some(reference) = &party.reference {
            return format!("reference:{reference}");
        }
        if let Some((system, value)) = &party.identifier {
            return format!("identifier:{system}|{value}");
        }
        format!("name:{}", party.display.as_deref().unwrap_or_default())
    }

    /// Returns the party as a Reference. Its `reference` is the first of these that exists: the party's own relative
    /// reference; a reference to the only resource of `source` with the party's NPI and type; the party's own reference
    /// of another kind. If none exists, the Reference has an identifier instead.
    pub(in crate::normalize::claims) fn json(&self, source: SourceId, party: &Party) -> String {
        let mut json = Object::new();
        if let Some(text) = self.reference(source, party) {
            json.text("reference", &text);
        } else if let Some(npi) = &party.npi {
            let identifier = Object::new().text("system", NPI).text("value", npi).json();
            json.raw("identifier", &identifier);
        } else if let Some((system, value)) = &party.identifier {
            let identifier = Object::new().text("system", system).text("value", value).json();
            json.raw("identifier", &identifier);
        }
        if let Some(display) = &party.display {
            json.text("display", display);
        }
        json.json()
    }

    fn reference(&self, source: SourceId, party: &Party) -> Option<Name> {
        if let Some(reference) = &party.reference
            && Target::parse(reference).is_some()
        {
            return Some(reference.clone());
        }
        if let Some(npi) = &party.npi
            && let Some(holders) = self.holders.get(npi)
        {
            let fits = |text: &str| {
                let target = Target::parse(text);
                target.is_some_and(|target| party.kind.is_none_or(|kind| kind == target.type_id))
            };
            let mut own = holders.iter().filter(|(holder, text)| *holder == source && fits(text));
            if let (Some((_, only)), None) = (own.next(), own.next()) {
                return Some(only.clone());
            }
        }
        party.reference.clone()
    }
}
