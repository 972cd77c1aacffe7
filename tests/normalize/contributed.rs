//! Contributions of one source of a consent to another's records: they are marked, made again in each run, and removed
//! with their source.

use serde_json::{Value, json};
use tabularium::normalize::NoCodes;

use super::harness::{BASE, Consent};

const NPI: &str = "http://hl7.org/fhir/sid/us-npi";
const CODES: &str = "https://codes.example";

fn extension(name: &str) -> String {
    format!("{BASE}/StructureDefinition/{name}")
}

/// The extensions beside a contributed primitive.
fn beside(rule: &str, from: Value) -> Value {
    json!({"extension": [{"url": extension("normalized"), "valueCode": rule},
        {"url": extension("known-from"), "valueReference": from}]})
}

fn practitioner(id: &str) -> Value {
    json!({"resourceType": "Practitioner", "id": id, "identifier": [{"system": NPI, "value": "1111111111"}],
        "name": [{"text": "Ann Stone"}]})
}

fn observation(performer: Value) -> Value {
    json!({"resourceType": "Observation", "id": "x", "status": "final", "code": {"text": "height"}, "performer": [performer]})
}

/// The first source's record beside the other's record, and again after the other's record was removed. The second
/// result must equal a record without any contribution.
fn with_and_without(own: &Value, other: Value) -> (Value, Value) {
    let consent = Consent::new(2).with(0, own.clone());
    let (both, _) = consent.clone().with(1, other).normalize(&NoCodes);
    assert_eq!(both.normalize(&NoCodes).0.records, both.records, "twice is once");
    let mut alone = both.clone();
    alone.records.truncate(1);
    let (alone, _) = alone.normalize(&NoCodes);
    assert_eq!(alone.records, consent.normalize(&NoCodes).0.records);
    (both.get("x"), alone.get("x"))
}

#[test]
fn a_display_and_a_text_of_another_source_go_with_it() {
    let coded = |id: &str, coding: Value| {
        json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"coding": [coding]},
            "meta": {"security": [coding]}})
    };
    let own = coded("x", json!({"system": CODES, "code": "1"}));
    let other = coded("y", json!({"system": CODES, "code": "1", "display": "Stride"}));
    let (with, without) = with_and_without(&own, other);
    let from = json!({"identifier": {"system": format!("{BASE}/PatientAccessTokenId"), "value": "authorization-1"}});
    let coding =
        json!({"system": CODES, "code": "1", "display": "Stride", "_display": beside("Displays", from.clone())});
    assert_eq!(with["meta"]["security"][0], coding);
    assert_eq!(
        with["code"],
        json!({"coding": [coding], "text": "Stride", "_text": beside("Displays", from)})
    );
    assert_eq!(without, own);
}

#[test]
fn a_sources_own_display_goes_first_and_has_no_mark() {
    let coded = |id: &str, coding: Value| json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"coding": [coding]}});
    let own = coded("x", json!({"system": CODES, "code": "1"}));
    let (after, _) = Consent::new(2)
        .with(0, own)
        .with(
            0,
            coded(
                "own",
                json!({"system": CODES, "code": "1", "display": "Length of a stride"}),
            ),
        )
        .with(
            1,
            coded("other", json!({"system": CODES, "code": "1", "display": "Stride"})),
        )
        .normalize(&NoCodes);
    let display = "Length of a stride";
    assert_eq!(
        after.get("x")["code"],
        json!({"coding": [{"system": CODES, "code": "1", "display": display}], "text": display})
    );
}

#[test]
fn a_canonical_coding_marks_the_display_that_another_source_gives() {
    let coded = |id: &str, system: &str, display: Option<&str>| {
        let mut coding = json!({"system": system, "code": "207q00000x"});
        if let Some(display) = display {
            coding["display"] = json!(display);
        }
        json!({"resourceType": "PractitionerRole", "id": id, "specialty": [{"coding": [coding]}]})
    };
    let own = coded("x", "urn:oid:2.16.840.1.113883.6.101", None);
    let other = coded("y", "http://nucc.org/provider-taxonomy", Some("Family doctor"));
    let (with, without) = with_and_without(&own, other);
    let from = json!({"identifier": {"system": format!("{BASE}/PatientAccessTokenId"), "value": "authorization-1"}});
    let canonical = json!({"system": "http://nucc.org/provider-taxonomy", "code": "207Q00000X"});
    let mut shown = canonical.clone();
    shown["display"] = json!("Family doctor");
    shown["_display"] = beside("Displays", from);
    assert_eq!(with["specialty"][0]["coding"][0], shown);
    assert_eq!(without["specialty"][0]["coding"][0], canonical);
}

#[test]
fn a_reference_to_another_sources_practitioner_goes_with_it() {
    let mark = || beside("References", json!({"reference": "Practitioner/b"}));
    let kept = |text: &str| {
        let mut mark = mark();
        let own = json!({"url": extension("source-reference"), "valueReference": {"reference": text}});
        mark["extension"].as_array_mut().unwrap().push(own);
        mark
    };
    let found = |mut reference: Value, beside: Value| {
        reference["reference"] = json!("Practitioner/b");
        reference["_reference"] = beside;
        reference["display"] = json!("Ann Stone");
        reference["_display"] = mark();
        reference
    };
    let logical = json!({"identifier": {"system": NPI, "value": "1111111111"}});
    let (with, without) = with_and_without(&observation(logical.clone()), practitioner("b"));
    assert_eq!(with["performer"][0], found(logical.clone(), mark()));
    assert_eq!(without["performer"][0], logical);

    let text = format!("Practitioner?identifier={NPI}|1111111111");
    let conditional = json!({"reference": text});
    let (with, without) = with_and_without(&observation(conditional.clone()), practitioner("b"));
    let mut expected = found(json!({}), kept(&text));
    expected["identifier"] = json!({"system": NPI, "value": "1111111111",
        "extension": [{"url": extension("normalized"), "valueCode": "References"}]});
    assert_eq!(with["performer"][0], expected);
    assert_eq!(without["performer"][0], conditional);

    let mut own = observation(json!({"reference": "#ann"}));
    let mut contained = practitioner("ann");
    contained.as_object_mut().unwrap().remove("name");
    own["contained"] = json!([contained]);
    let (with, without) = with_and_without(&own, practitioner("b"));
    assert_eq!(with["performer"][0], found(json!({}), kept("#ann")));
    assert_eq!(without, own);
}

#[test]
fn a_name_of_another_sources_record_goes_with_it() {
    // Two authorizations of one endpoint share ids, so a source's own reference leads to the other's record.
    let own = observation(json!({"reference": "Practitioner/b"}));
    let (with, without) = with_and_without(&own, practitioner("b"));
    assert_eq!(
        with["performer"][0],
        json!({"reference": "Practitioner/b", "display": "Ann Stone",
            "_display": beside("References", json!({"reference": "Practitioner/b"}))})
    );
    assert_eq!(without, own);

    // The resource is the source's own, and the other source gives its display.
    let coding = json!({"system": CODES, "code": "1"});
    let device = json!({"resourceType": "Device", "id": "d", "type": {"coding": [coding]}});
    let mut own = observation(json!({"display": "somebody"}));
    own["device"] = json!({"reference": "Device/d"});
    let mut named = coding.clone();
    named["display"] = json!("Pedometer");
    let other = json!({"resourceType": "Device", "id": "e", "type": {"coding": [named], "text": "x"}});
    let consent = Consent::new(2).with(0, own.clone()).with(0, device.clone());
    let (both, _) = consent.clone().with(1, other).normalize(&NoCodes);
    let from = json!({"identifier": {"system": format!("{BASE}/PatientAccessTokenId"), "value": "authorization-1"}});
    assert_eq!(
        both.get("x")["device"],
        json!({"reference": "Device/d", "display": "Pedometer", "_display": beside("References", from)})
    );
    let mut alone = both;
    alone.records.truncate(2);
    let (alone, _) = alone.normalize(&NoCodes);
    assert_eq!((alone.get("x"), alone.get("d")), (own, device));
}

#[test]
fn what_a_reference_says_beside_its_text_is_kept() {
    let own = observation(json!({"reference": format!("Practitioner?identifier={NPI}|1111111111"),
        "_reference": {"extension": [{"url": "https://payer.example/why", "valueCode": "x"}]}}));
    let (with, without) = with_and_without(&own, practitioner("b"));
    assert_eq!((&with, &without), (&own, &own));
}

/// Everything that looked like a mark was removed, whatever its host. So a record normalized by another Tabularium lost
/// information.
#[test]
fn another_services_marks_are_its_records_own() {
    let upstream = |name: &str| format!("https://upstream.example/tags/StructureDefinition/{name}");
    let mark = json!([{"url": upstream("normalized"), "valueCode": "Knowledge"},
        {"url": upstream("known-from"), "valueReference": {"reference": "Practitioner/there"}}]);
    let mut own = practitioner("a");
    own["telecom"] = json!([{"system": "phone", "value": "555-0100", "extension": mark}]);
    own["name"][0]["_text"] = json!({"extension": mark});
    own["qualification"] = json!([{"code": {"coding": [
        {"system": "https://codes.example", "code": "1", "display": "x", "_display": {"extension": mark}}], "text": "x"}}]);
    let (after, _) = Consent::new(2).with(0, own.clone()).normalize(&NoCodes);
    assert_eq!(after.get("a"), own);
    // Our marks are distinguished from theirs.
    let mut other = practitioner("b");
    other["telecom"] = json!([{"system": "fax", "value": "555-0101"}]);
    let (both, _) = Consent::new(2).with(0, own.clone()).with(1, other).normalize(&NoCodes);
    assert_eq!(both.get("a")["telecom"].as_array().unwrap().len(), 2);
    let mut alone = both;
    alone.records.truncate(1);
    assert_eq!(alone.normalize(&NoCodes).0.get("a"), own);
    // The other service's mark on a dangling reference stays, even if the reference leads somewhere here.
    let absent = json!([{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"},
        {"url": upstream("dangling"), "valueBoolean": true}]);
    let own = observation(json!({"reference": "Practitioner/a", "display": "Dr. Stone", "extension": absent}));
    let (after, _) = Consent::new(1)
        .with(0, own.clone())
        .with(0, practitioner("a"))
        .normalize(&NoCodes);
    assert_eq!(after.get("x"), own);
}

/// A source that forges our marks cannot put a text of its choice into a reference.
#[test]
fn a_mark_that_a_source_has_forged_gives_no_reference() {
    let mut forged = beside("References", json!({"reference": "Practitioner/b"}));
    let text = json!({"url": extension("source-reference"), "valueReference": {"reference": "Patient/somebody"}});
    forged["extension"].as_array_mut().unwrap().push(text);
    let own = observation(json!({"reference": "#x", "_reference": forged, "display": "y"}));
    let (after, _) = Consent::new(1).with(0, own).normalize(&NoCodes);
    assert_eq!(after.get("x")["performer"][0], json!({"display": "y"}));
}

#[test]
fn marks_are_known_again_after_the_services_address_has_changed() {
    let tagged = |mut record: Value, source: u32| {
        let system = format!("{BASE}/PatientAccessTokenId");
        record["meta"] = json!({"tag": [{"system": "https://upstream.example/tags/PatientAccessTokenId", "code": "there"},
            {"system": system, "code": format!("authorization-{source}")}]});
        record
    };
    let own = tagged(
        observation(json!({"identifier": {"system": NPI, "value": "1111111111"}})),
        0,
    );
    let patient = |id: &str, source| tagged(json!({"resourceType": "Patient", "id": id}), source);
    let consent = Consent::new(2)
        .with(0, own.clone())
        .with(0, patient("p", 0))
        .with(1, tagged(practitioner("b"), 1))
        .with(1, patient("q", 1));
    let (mut both, _) = consent.normalize(&NoCodes);
    assert_eq!(both.get("p")["link"][0]["other"]["reference"], "Patient/q");
    for source in &mut both.sources {
        source.tag_system_base = "https://moved.example/tags".to_owned();
    }
    // No mark is doubled, and no record gets a new version because of marks.
    assert_eq!(both.normalize(&NoCodes).0.records, both.records);
    both.records.truncate(2);
    let (alone, _) = both.normalize(&NoCodes);
    assert_eq!((alone.get("x"), alone.get("p")), (own, patient("p", 0)));
}

#[test]
fn references_are_counted_on_in_syncs_of_their_own_source_only() {
    let mut consent = Consent::new(2)
        .with(0, observation(json!({"reference": "Practitioner/gone"})))
        .with(1, json!({"resourceType": "Basic", "id": "y", "code": {"text": "z"}, "author": {"reference": "Practitioner/lost"}}));
    let mut histories = [std::collections::BTreeMap::new(), std::collections::BTreeMap::new()];
    let says = |consent: &Consent, id: &str| consent.get(id).to_string().contains("data-absent-reason");
    // Syncs of both sources alternate, three each.
    for sync in 1..=6 {
        let source = (sync + 1) % 2;
        consent.synced = tabularium::normalize::SourceId(source as u32);
        consent.dangling = histories[source].clone();
        let (after, report) = consent.normalize(&NoCodes);
        assert_eq!(report.rules[&tabularium::normalize::Rule::References].dangling, 2);
        assert_eq!(report.dangling.len(), 1);
        histories[source] = report.dangling;
        assert_eq!((says(&after, "x"), says(&after, "y")), (sync >= 5, sync >= 6), "{sync}");
        consent = after;
    }
}
