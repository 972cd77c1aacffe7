//! The login page. It asks for a user name and a password, and allows any number of attempts.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::super::answer::{page, see_other};
use super::super::office::organization::Organization;
use super::super::office::people::PASSWORD;
use super::super::office::world::World;
use super::super::params::Params;
use super::super::records::pages::{LoginPage, over};
use super::authorize::{no_portal, portal};

/// The number of test logins that the page lists.
const NAMED: u64 = 5;

/// Shows the login page of a flow.
pub(in crate::sandbox::payer) async fn show(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    let Some(office) = portal(&world, &organization) else {
        return no_portal();
    };
    let flow = params.text("flow");
    if office.grants().flow(flow).is_none() {
        return over();
    }
    page(StatusCode::OK, &form(&world, office.organization, flow, "", false))
}

/// Logs the person in, or shows the page again if the name or the password is wrong.
pub(in crate::sandbox::payer) async fn log_in(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    body: Bytes,
) -> Response {
    let params = Params::parse(&body);
    let Some(office) = portal(&world, &organization) else {
        return no_portal();
    };
    let flow = params.text("flow");
    if office.grants().flow(flow).is_none() {
        return over();
    }
    let user = params.text("user");
    match world.people.log_in(user, params.text("password")) {
        Some(person) => {
            office.grants().logged_in(flow, person.index);
            see_other(&format!("{}/{organization}/consent?flow={flow}", world.base_url))
        }
        None => page(
            StatusCode::UNPROCESSABLE_ENTITY,
            &form(&world, office.organization, flow, user, true),
        ),
    }
}

fn form<'a>(
    world: &World,
    organization: &'static Organization,
    flow: &'a str,
    user: &'a str,
    wrong: bool,
) -> LoginPage<'a> {
    let people = (0..NAMED).filter_map(|index| world.people.person(index));
    LoginPage {
        organization: organization.name,
        mark: organization.mark,
        flow,
        user,
        wrong,
        logins: people
            .map(|person| (person.user, format!("{} {}", person.given, person.family)))
            .collect(),
        password: PASSWORD,
    }
}
