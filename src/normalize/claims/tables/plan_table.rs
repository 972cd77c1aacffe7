//! Writes facts from a table of health plans as elements of InsurancePlan: areas, contact and premiums.

use super::super::read::code::{coding, concept};
use super::super::read::text::{Object, quoted};
use crate::normalize::plans::{Area, Contact, PlanFacts, Premium};

const CONTACT_TYPE: &str = "http://terminology.hl7.org/CodeSystem/contactentity-type";
const PHYSICAL_TYPE: &str = "http://terminology.hl7.org/CodeSystem/location-physical-type";

/// Adds the known facts to an InsurancePlan.
pub(in crate::normalize::claims) fn write(known: &PlanFacts, json: &mut Object) {
    let areas: Vec<(String, &Area)> = known
        .areas
        .iter()
        .enumerate()
        .map(|(number, area)| (format!("area-{}", number + 1), area))
        .collect();
    let locations: Vec<String> = areas.iter().map(|(id, area)| location(id, area)).collect();
    let references: Vec<String> = areas
        .iter()
        .map(|(id, area)| {
            let mut reference = Object::new();
            reference
                .text("reference", &format!("#{id}"))
                .text("display", &area.name());
            reference.json()
        })
        .collect();
    json.list("contained", &locations).list("coverageArea", &references);
    json.list("contact", &Vec::from_iter(known.contact.as_ref().and_then(contact)));
    if let Some(premium) = &known.premium {
        let costs = costs(premium);
        if !costs.is_empty() {
            json.list("plan", &[Object::new().list("generalCost", &costs).json()]);
        }
    }
}

/// Returns a Location for a state or a county. InsurancePlan has only References to Locations for areas, and no source
/// sends such Locations. So the InsurancePlan contains them.
fn location(id: &str, area: &Area) -> String {
    let mut address = Object::new();
    if let Some(county) = &area.county {
        address.text("district", county);
    }
    address.text("state", &area.state).text("country", "US");
    let kind = concept(vec![coding(PHYSICAL_TYPE, "area", Some("Area"))], Some("Area"));
    let mut location = Object::new();
    location
        .text("resourceType", "Location")
        .text("id", id)
        .text("name", &area.name())
        .raw("address", &address.json())
        .maybe("physicalType", kind);
    location.json()
}

fn contact(contact: &Contact) -> Option<String> {
    let mut json = Object::new();
    if let Some(name) = &contact.name {
        json.raw("name", &Object::new().text("text", name).json());
    }
    let telecom = |system: &str, value: &String| Object::new().text("system", system).text("value", value).json();
    let phone = contact.phone.iter().map(|phone| telecom("phone", phone));
    let telecoms: Vec<String> = phone
        .chain(contact.email.iter().map(|email| telecom("email", email)))
        .collect();
    json.list("telecom", &telecoms);
    let mut address = Object::new();
    if let Some(street) = &contact.street {
        address.list("line", &[quoted(street)]);
    }
    for (element, text) in [
        ("city", &contact.city),
        ("state", &contact.state),
        ("postalCode", &contact.postal_code),
    ] {
        if let Some(text) = text {
            address.text(element, text);
        }
    }
    json.maybe("address", address.some());
    let said = json.some().is_some();
    let purpose = concept(
        vec![coding(CONTACT_TYPE, "ADMIN", Some("Administrative"))],
        Some("Administrative"),
    );
    json.maybe("purpose", purpose);
    said.then(|| json.json())
}

/// Returns the premiums as items of `generalCost`. They do not fit into `specificCost`, because R4 defines it as the
/// costs of a benefit.
fn costs(premium: &Premium) -> Vec<String> {
    let named = [
        ("Monthly premium", &premium.total),
        ("Monthly premium of Part C", &premium.part_c),
        ("Monthly premium of Part D", &premium.part_d),
    ];
    let costs = named.into_iter().filter_map(|(name, amount)| {
        let amount = amount.as_ref().filter(|amount| is_decimal(amount))?;
        let cost = Object::new().raw("value", amount).text("currency", "USD").json();
        let kind = Object::new().text("text", name).json();
        Some(Object::new().raw("type", &kind).raw("cost", &cost).json())
    });
    costs.collect()
}

fn is_decimal(text: &str) -> bool {
    text.parse::<serde_json::Number>().is_ok()
}
