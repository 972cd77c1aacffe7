//! Identifiers that can be compared: an NPI, a tax id, a member id, or a system and value.

use crate::columns::json::Value;
use crate::fhir::reference::Reference;

/// The system of NPIs.
pub(super) const NPI: &str = "http://hl7.org/fhir/sid/us-npi";
/// The system of tax ids (EIN).
const TAX: &str = "urn:oid:2.16.840.1.113883.4.4";

/// Other spellings of the systems [`NPI`] and [`TAX`].
const SPELLINGS: &[(&str, &str)] = &[
    ("urn:oid:2.16.840.1.113883.4.6", NPI),   // HL7 terminology, NamingSystem npi
    ("https://hl7.org/fhir/sid/us-npi", NPI), // misspelt
    ("http://hl7.org/fhir/sid/us-npi/", NPI), // misspelt
    ("http://hl7.org.fhir/sid/us-npi", NPI),  // misspelt, in use
    ("http://hl7.org/fhir/sid/us-ein", TAX),  // after the pattern of us-npi
    ("http://hl7.org/fhir/sid/us-tin", TAX),  // the same
    ("urn:oid:2.16.840.1.113883.4.2", TAX),   // HL7 OID registry, tax id
];

/// An identifier by which a resource can be found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identifier {
    /// The system. It is `MB` for a member id without a system.
    pub(super) system: String,
    /// The value.
    pub(super) value: String,
}

impl Identifier {
    fn new(system: &str, value: &str) -> Option<Identifier> {
        let spelling = SPELLINGS.iter().find(|(other, _)| *other == system);
        let system = spelling.map_or(system, |(_, system)| system);
        let value = match system {
            NPI | TAX => value.chars().filter(char::is_ascii_digit).collect(),
            _ => value.trim().to_owned(),
        };
        (!value.is_empty() && !system.is_empty()).then(|| Identifier {
            system: system.to_owned(),
            value,
        })
    }

    /// Reads an Identifier. Without a system, its type decides the system. Returns `None` if it has no value, or
    /// neither a system nor a type that is known here.
    pub(super) fn read(identifier: Value<'_>) -> Option<Identifier> {
        let value = identifier.get_str("value")?;
        match identifier.get_str("system") {
            Some(system) => Identifier::new(system.trim(), &value),
            // Without a system, the type may show which kind of identifier it is. CARIN and v2-0203 use the same codes
            // for these kinds.
            None => {
                let codings = identifier.get("type")?.get("coding")?;
                codings
                    .items()
                    .find_map(|coding| match coding.get_str("code")?.to_ascii_uppercase().as_str() {
                        "NPI" => Identifier::new(NPI, &value),
                        "TAX" | "EN" => Identifier::new(TAX, &value),
                        "MB" => Identifier::new("MB", &value),
                        _ => None,
                    })
            }
        }
    }

    /// Returns the identifiers by which a resource with this Identifier can be found: the one that [`read`](Self::read)
    /// returns and, for a member id, the one whose system is `MB`.
    pub(super) fn all(identifier: Value<'_>) -> impl Iterator<Item = Identifier> {
        let is_member = || {
            let codings = identifier.get("type")?.get("coding")?;
            let mut codes = codings.items().filter_map(|coding| coding.get_str("code"));
            codes.any(|code| code.eq_ignore_ascii_case("MB")).then_some(())
        };
        let member = is_member().and_then(|()| Identifier::new("MB", &identifier.get_str("value")?));
        let read = Identifier::read(identifier);
        let member = member.filter(|member| read.as_ref() != Some(member));
        read.into_iter().chain(member)
    }

    /// Returns the identifier in the query of a conditional reference, such as `identifier=system|value`. Returns
    /// `None` if the query has any other parameter.
    pub(super) fn of_query(query: &str) -> Option<Identifier> {
        let mut parameters = form_urlencoded::parse(query.as_bytes());
        let (name, token) = parameters.next()?;
        if name != "identifier" || parameters.next().is_some() {
            return None;
        }
        let (system, value) = token.split_once('|')?;
        Identifier::new(system, value)
    }

    /// Returns the NPI of a resource. Returns `None` if it has none, or several different ones.
    pub(super) fn npi(resource: Value<'_>) -> Option<String> {
        let identifiers = resource.get("identifier")?;
        let mut found = None;
        for identifier in identifiers
            .items()
            .filter_map(Identifier::read)
            .filter(|each| each.system == NPI)
        {
            if found.as_ref().is_some_and(|npi| *npi != identifier.value) {
                return None;
            }
            found = Some(identifier.value);
        }
        found
    }
}

/// Returns the id in a reference to a contained resource.
pub(super) fn fragment(reference: &str) -> Option<&str> {
    match Reference::parse(reference) {
        Reference::Fragment(id) if !id.is_empty() => Some(id),
        _ => None,
    }
}
