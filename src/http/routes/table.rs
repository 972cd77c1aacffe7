//! The table of routes, in the order of the OpenAPI document. A new family needs only an entry here.

use super::document;
use super::route::Route;

use crate::http::fhir::{binary, capability, patient, read, search, view};
use crate::http::{connect, console, directory, discovery, health_link, home, link, oauth, receipts, rest};

/// Routes that belong together. The OpenAPI document has a tag for each family.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) routes: Vec<Route>,
}

/// Returns all routes.
pub(super) fn table() -> Vec<Family> {
    let family = |name, about, routes| Family { name, about, routes };
    vec![
        family(
            "FHIR",
            "Reads and searches of records, and what this server can do",
            [capability::routes(), search::routes(), binary::routes(), read::routes()]
                .into_iter()
                .flatten()
                .collect(),
        ),
        family(
            "Patient operations",
            "All of a patient's records at once",
            patient::routes(),
        ),
        family(
            "Views",
            "Records as the rows of a ViewDefinition",
            [view::run::routes(), view::validate::routes()]
                .into_iter()
                .flatten()
                .collect(),
        ),
        family("Flow", "The way into the consent flow, for browsers", connect::routes()),
        family("OAuth", "Tokens for consents and applications", oauth::routes()),
        family("Link", "The earlier API for tokens", link::routes()),
        family(
            "Consents",
            "What an application may know of its consents",
            rest::routes(),
        ),
        family(
            "Health links",
            "SMART Health Links: patients make them, recipients open them",
            [health_link::patient_routes(), health_link::recipient_routes()]
                .into_iter()
                .flatten()
                .collect(),
        ),
        family(
            "Discovery",
            "What clients find out by themselves; readable by the scripts of any page",
            discovery::routes().into_iter().chain(receipts::routes()).collect(),
        ),
        family(
            "Directory",
            "Who can be connected, and applying for access; needs no credential",
            directory::routes(),
        ),
        family(
            "Description",
            "This service, described",
            // The console's routes are for browsers and are not in the OpenAPI document.
            [document::routes(), home::routes(), console::routes()]
                .into_iter()
                .flatten()
                .collect(),
        ),
    ]
}
