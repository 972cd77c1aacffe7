//! Sources that deviate from the standards, seen from a patient's flow.

use serde_json::json;
use tabularium::consent::{Actor, ClientAuth, NewEndpoint};

use super::super::world::World;
use crate::harness::payer::Visit;

/// Saves an endpoint again with another secret or scope.
fn save(world: &World, id: &str, secret: Option<&str>, scope: Option<&str>) {
    let known = world.store().endpoints().get(id).unwrap().unwrap();
    let new = NewEndpoint {
        id: Some(id),
        organization: &known.organization.id,
        name: &known.name,
        mode: known.mode,
        label: &known.label,
        authorization_type: known.authorization_type,
        refreshable: known.refreshable,
        refresh_valid_for: known.refresh_valid_for,
        max_auth_period: known.max_auth_period,
        status: known.status,
        resources: &known.resources,
        fhir_base: &known.fhir_base,
        configuration: None,
        client_id: &known.client_id,
        client_secret: secret,
        scope: scope.unwrap_or(&known.scope),
        identifier_system: &known.identifier_system,
    };
    world.store().endpoints().save(&new, Actor::Operator).unwrap();
}

#[test]
fn a_source_that_names_no_patient_is_asked_who_it_is() {
    for (knobs, found) in [
        (
            json!({"no_patient": true, "fhir_user": true, "two_patients": true}),
            true,
        ),
        (json!({"no_patient": true}), true),
        (json!({"no_patient": true, "max_count": 1}), true),
        (json!({"no_patient": true, "two_patients": true}), false),
    ] {
        let world = World::new();
        world.payer.turn("lakeshore", &knobs);
        save(
            &world,
            "lakeshore",
            None,
            Some("launch/patient patient/*.rs openid fhirUser"),
        );
        let person = world.payer.person(0);
        let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
        let page = world.connect_as(&mut browser, &Visit::of(&person.user));
        if found {
            assert!(page.answer("code").is_some(), "{knobs}: {}", page.text);
            let authorization = world.authorizations().remove(0);
            assert_eq!(authorization.source_patient, Some(person.patient), "{knobs}");
        } else {
            assert!(page.text.contains("found no records for you"), "{knobs}: {}", page.text);
        }
    }
}

#[test]
fn a_secret_of_odd_letters_is_taken_in_the_sources_way() {
    const SECRET: &str = "a/b+c=d%2Fe%f g";
    for (by, way) in [
        ("any", ClientAuth::Basic),
        ("plain", ClientAuth::PlainBasic),
        ("body", ClientAuth::Post),
    ] {
        let world = World::new();
        world
            .payer
            .turn("cedarway", &json!({"secret": SECRET, "secret_by": by}));
        save(&world, "cedarway", Some(SECRET), None);
        let mut browser = world.enter(&[("svc_endpoint_id", "cedarway")]);
        let page = world.connect_as(&mut browser, &Visit::of(&world.payer.person(0).user));
        assert!(page.answer("code").is_some(), "{by}: {}", page.text);
        assert_eq!(
            world.store().dialects().get("cedarway").unwrap().client_auth,
            Some(way),
            "{by}"
        );
        // The way is known now, and the check finds it by itself.
        save(&world, "cedarway", None, None);
        let data = world.server.folder();
        let check = ["endpoint", "check", "cedarway", "--allow-private-sources"];
        let said = crate::commands::service_commands::done(data, &check);
        assert!(said.contains("the client secret goes in the"), "{said}");
        assert_eq!(
            world.store().dialects().get("cedarway").unwrap().client_auth,
            Some(way),
            "{by}"
        );
    }
}

#[test]
fn the_error_that_a_source_sends_a_patient_back_with_is_named() {
    for (error, heading) in [
        ("invalid_scope", "doesn’t accept this service"),
        ("unauthorized_client", "doesn’t accept this service"),
        ("access_denied", "didn’t share your records"),
        ("server_error", "We can’t reach "),
    ] {
        let world = World::new();
        world.payer.turn("lakeshore", &json!({"consent_error": error}));
        let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
        let page = world.connect_as(&mut browser, &Visit::of(&world.payer.person(0).user));
        assert!(page.text.contains(heading), "{error}: {}", page.text);
        let audit = world.store().audit().newest(Some(&world.consent().id), 100).unwrap();
        let noted = audit.iter().find(|entry| entry.action == "source.refused").unwrap();
        assert_eq!(noted.detail, format!("lakeshore {error}"));
        let data = world.server.folder();
        let check = ["endpoint", "check", "lakeshore", "--allow-private-sources"];
        let said = crate::commands::service_commands::done(data, &check);
        assert!(said.contains(&format!("the error {error}")), "{said}");
    }
}

#[test]
fn a_source_whose_records_cannot_be_read_is_not_gone_to() {
    for knobs in [
        json!({"xml": true}),
        json!({"fhir_version": "3.0.2"}),
        json!({"fhir_version": "1.0.2"}),
    ] {
        let world = World::new();
        world.payer.turn("lakeshore", &knobs);
        let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
        browser.press("share", &[]);
        let page = browser.follow();
        assert!(page.text.contains("We can’t connect "), "{knobs}: {}", page.text);
        assert_eq!(world.states(), ["lakeshore OAUTH ERRORED"], "{knobs}");
    }
}

#[test]
fn a_secret_is_not_sent_to_an_origin_that_nobody_agreed_to() {
    // A source's SMART configuration used to decide where the secret was sent.
    let world = World::new();
    world.payer.turn("cedarway", &json!({"token_elsewhere": true}));
    let visit = Visit::of(&world.payer.person(0).user);
    let mut browser = world.enter(&[("svc_endpoint_id", "cedarway")]);
    let page = world.connect_as(&mut browser, &visit);
    assert!(page.text.contains("We can’t reach "), "{}", page.text);
    assert_eq!(world.payer.requests("cedarway")["token"], 0);
    let elsewhere = world.payer.base.replace("127.0.0.1", "localhost");
    world
        .store()
        .endpoints()
        .set_token_endpoint("cedarway", &elsewhere, Actor::Operator)
        .unwrap();
    let mut browser = world.enter(&[("svc_endpoint_id", "cedarway")]);
    let page = world.connect_as(&mut browser, &visit);
    assert!(page.answer("code").is_some(), "{}", page.text);
}
