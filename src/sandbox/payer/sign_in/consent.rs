//! The page on which a person agrees or refuses to share records, and chooses which ones and for how long. At the
//! identity provider, the page asks the person to confirm their identity.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::super::answer::{back, page, see_other};
use super::super::office::organization::Kind;
use super::super::office::people::Person;
use super::super::office::state::Office;
use super::super::office::world::World;
use super::super::params::Params;
use super::super::records::pages::{CheckPage, ConsentPage, over};
use super::authorize::{no_portal, portal};
use super::grants::{Consent, Flow};
use super::scopes::Granted;

/// Shows the page with the records that would be shared.
pub(in crate::sandbox::payer) async fn show(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    let Some(office) = portal(&world, &organization) else {
        return no_portal();
    };
    let name = params.text("flow");
    let Some(flow) = office.grants().flow(name) else {
        return over();
    };
    let Some(person) = flow.person.and_then(|index| world.people.person(index)) else {
        return see_other(&format!("{}/{organization}/login?flow={name}", world.base_url));
    };
    form(office, name, &flow, &person, false, StatusCode::OK)
}

/// Handles the person's decision: redirects to the application with a code or an error.
pub(in crate::sandbox::payer) async fn decide(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    body: Bytes,
) -> Response {
    let params = Params::parse(&body);
    let Some(office) = portal(&world, &organization) else {
        return no_portal();
    };
    let name = params.text("flow");
    let Some(flow) = office.grants().flow(name) else {
        return over();
    };
    let Some(person) = flow.person.and_then(|index| world.people.person(index)) else {
        return see_other(&format!("{}/{organization}/login?flow={name}", world.base_url));
    };
    if params.text("decision") != "agree" || office.knobs().refuse_consent {
        office.grants().end(name);
        let description = "the person did not agree";
        return back(
            &flow.redirect_uri,
            &[
                ("error", "access_denied"),
                ("error_description", description),
                ("state", &flow.state),
            ],
        );
    }
    let knobs = office.knobs();
    if !knobs.consent_error.is_empty() {
        office.grants().end(name);
        return back(
            &flow.redirect_uri,
            &[("error", &knobs.consent_error), ("state", &flow.state)],
        );
    }
    let granted = if office.organization.kind == Kind::Identity {
        Granted::identity(&flow.requested)
    } else {
        let mut chosen = flow.requested.offered(office.organization, &knobs.withhold);
        chosen.retain(|resource_type| params.all("type").any(|one| one == *resource_type));
        if chosen.is_empty() {
            return form(office, name, &flow, &person, true, StatusCode::UNPROCESSABLE_ENTITY);
        }
        let offline = office.refreshable() && params.get("offline").is_some();
        flow.requested.granted(office.organization, &chosen, offline)
    };
    let mut grants = office.grants();
    // If two decisions arrive at the same time, the first one ends the flow. The second one finds no flow, so only one
    // code is issued.
    let Some(flow) = grants.end(name) else {
        return over();
    };
    let consent = Consent {
        client: flow.client.clone(),
        person: person.index,
        granted,
        nonce: flow.nonce.clone(),
    };
    let code = grants.code(&flow, consent);
    back(&flow.redirect_uri, &[("code", &code), ("state", &flow.state)])
}

fn form(office: &Office, name: &str, flow: &Flow, person: &Person, nothing: bool, status: StatusCode) -> Response {
    let organization = office.organization;
    if organization.kind == Kind::Identity {
        let check = CheckPage {
            organization: organization.name,
            mark: organization.mark,
            flow: name,
            person,
        };
        return page(status, &check);
    }
    let types = flow.requested.offered(organization, &office.knobs().withhold);
    let consent = ConsentPage {
        organization: organization.name,
        mark: organization.mark,
        flow: name,
        person,
        types: types
            .into_iter()
            .map(|resource_type| (resource_type, spoken(resource_type)))
            .collect(),
        offline: office.refreshable() && flow.requested.has("offline_access"),
        nothing,
    };
    page(status, &consent)
}

/// Returns the words that the page shows for a resource type.
fn spoken(resource_type: &str) -> &str {
    match resource_type {
        "AllergyIntolerance" => "Allergies",
        "CarePlan" => "Care plans",
        "CareTeam" => "Care teams",
        "Condition" => "Health problems",
        "Coverage" => "Insurance coverage",
        "Device" => "Implants and devices",
        "DiagnosticReport" => "Laboratory and other reports",
        "DocumentReference" => "Documents",
        "Encounter" => "Visits",
        "ExplanationOfBenefit" => "Claims",
        "Goal" => "Goals",
        "Immunization" => "Vaccinations",
        "MedicationDispense" => "Medicines dispensed",
        "MedicationRequest" => "Prescriptions",
        "Observation" => "Vital signs and results",
        "Patient" => "Name, address and other personal details",
        "Procedure" => "Procedures",
        "Provenance" => "Where records come from",
        other => other,
    }
}
