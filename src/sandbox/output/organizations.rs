//! Writes the directory that all people share: Organization, InsurancePlan, Medication, Location, Practitioner and
//! PractitionerRole.

use super::super::clinical::codes::{identifier_type, location_form, organization_type, plan_type};
use super::super::clinical::medication::drugs::DRUGS;
use super::super::people::calendar::{DAY, PRESENT, Text};
use super::super::people::directory::{District, Nation, Organization, Practitioner, Site};
use super::super::people::names::Town;
use super::datatypes::link;
use super::json::{Object, decimal};
use super::records::Records;

const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

/// Writes the part of the directory that all districts share: payers, plans, laboratories, pharmacies and drugs.
pub(in crate::sandbox) fn nation(records: &mut Records, nation: &Nation) {
    for organization in &nation.payers {
        body(records, organization, ("pay", "Payer"), None);
    }
    for (payer, plans) in nation.payers.iter().zip(&nation.plans) {
        for plan in plans {
            records.add("InsurancePlan", plan.id, |o| {
                o.identifier("https://plans.example.org/id", plan.id)
                    .text("status", "active");
                o.concepts("type", &plan_type(plan.kind, "Medical"))
                    .text("name", format_args!("{} {}", payer.name, plan.name));
                o.days("period", PRESENT.after(-4000 * DAY), None);
                o.link("ownedBy", payer.link()).link("administeredBy", payer.link());
            });
        }
    }
    for organization in nation.laboratories.iter().chain(&nation.pharmacies) {
        body(records, organization, ("prov", "Healthcare Provider"), None);
    }
    for (id, drug) in nation.drugs.iter().zip(DRUGS) {
        records.add("Medication", *id, |o| {
            o.us_core("medication")
                .concept_of("code", &[&drug.code], Some(drug.code.display));
            o.text("status", "active").concept("form", &drug.form);
        });
    }
}

/// Writes the providers of a district: its sites and its practitioners.
pub(in crate::sandbox) fn district(records: &mut Records, district: &District) {
    for site in &district.sites {
        body(
            records,
            &site.organization,
            ("prov", "Healthcare Provider"),
            Some((site, district.town)),
        );
        place(records, site, district.town);
    }
    let hospital = &district.sites[0];
    records.add("Location", district.emergency, |o| {
        o.us_core("location")
            .text("status", "active")
            .text("name", format_args!("{}, Emergency", hospital.organization.name));
        o.text("mode", "instance")
            .concept("physicalType", &location_form("wa", "Ward"));
        o.link("managingOrganization", hospital.organization.link())
            .link("partOf", link("Location", hospital.location));
    });
    for practitioner in &district.practitioners {
        person(records, practitioner, district);
        role(records, practitioner, &district.sites[practitioner.site]);
    }
}

fn body(
    records: &mut Records,
    organization: &Organization,
    kind: (&'static str, &'static str),
    at: Option<(&Site, &Town)>,
) {
    records.add("Organization", organization.id, |o| {
        o.us_core("organization").list("identifier", |l| {
            l.object(|o| npi(o, &organization.npi));
        });
        o.bare("active", true)
            .concepts("type", &organization_type(kind.0, kind.1))
            .text("name", &organization.name);
        if let Some((site, town)) = at {
            o.list("telecom", |l| {
                l.contact("phone", &site.phone, "work");
            });
            o.only("address", |o| address(o, site, town));
        }
    });
}

fn place(records: &mut Records, site: &Site, town: &Town) {
    records.add("Location", site.location, |o| {
        o.us_core("location")
            .text("status", "active")
            .text("name", &site.organization.name)
            .text("mode", "instance");
        o.list("telecom", |l| {
            l.contact("phone", &site.phone, "work");
        });
        o.object("address", |o| address(o, site, town));
        o.concept("physicalType", &location_form("bu", "Building"))
            .object("position", |o| {
                o.bare("longitude", decimal(site.longitude, 6));
                o.bare("latitude", decimal(site.latitude, 6));
            });
        o.link("managingOrganization", site.organization.link());
        if site.hospital {
            o.only("hoursOfOperation", |o| {
                o.bare("allDay", true);
            });
        } else {
            o.only("hoursOfOperation", |o| {
                o.list("daysOfWeek", |l| {
                    for day in ["mon", "tue", "wed", "thu", "fri"] {
                        l.text(day);
                    }
                });
                o.text("openingTime", "08:30:00").text("closingTime", "17:00:00");
            });
        }
    });
}

fn address(o: &mut Object<'_>, site: &Site, town: &Town) {
    o.list("line", |l| {
        l.text(&site.line);
    });
    o.text("city", town.0)
        .text("state", town.1)
        .text("postalCode", &site.postal_code)
        .text("country", "US");
}

fn npi(o: &mut Object<'_>, number: &str) {
    o.concept("type", &identifier_type("NPI", "National provider identifier"))
        .text("system", NPI)
        .text("value", number);
}

fn person(records: &mut Records, practitioner: &Practitioner, district: &District) {
    let site = &district.sites[practitioner.site];
    records.add("Practitioner", practitioner.id, |o| {
        o.us_core("practitioner").list("identifier", |l| {
            l.object(|o| npi(o, &practitioner.npi));
        });
        o.bare("active", true).only("name", |o| {
            o.text("use", "official")
                .text("text", &practitioner.name)
                .text("family", practitioner.family);
            o.list("given", |l| {
                l.text(practitioner.given);
            });
            if practitioner.name.starts_with("Dr. ") {
                o.list("prefix", |l| {
                    l.text("Dr.");
                });
            }
        });
        o.list("telecom", |l| {
            l.contact("phone", &site.phone, "work");
            l.contact("email", format_args!("npi{}@example.org", practitioner.npi), "work");
        });
        o.only("address", |o| address(o, site, district.town));
        o.text("gender", if practitioner.female { "female" } else { "male" })
            .only("qualification", |o| {
                o.concept("code", &practitioner.taxonomy);
            });
    });
}

fn role(records: &mut Records, practitioner: &Practitioner, site: &Site) {
    records.add("PractitionerRole", practitioner.role, |o| {
        o.us_core("practitionerrole").bare("active", true);
        o.object("period", |o| {
            o.text("start", Text::Year(PRESENT.after(-3650 * DAY)));
        });
        o.link("practitioner", practitioner.link())
            .link("organization", site.organization.link());
        o.concepts("specialty", &practitioner.taxonomy)
            .links("location", link("Location", site.location));
        o.list("telecom", |l| {
            l.contact("phone", &site.phone, "work");
        });
    });
}
