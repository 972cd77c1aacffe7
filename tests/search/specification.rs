//! The examples of R4's search page (<http://hl7.org/fhir/R4/search.html>), section by section, over resources that its text
//! speaks of.

use serde_json::{Value, json};
use tabularium::fhir::terminology::Terminology;
use tabularium::search::Handling;

use super::corpus::{link, resources};
use super::small::{small, with_terminology};
use crate::harness::records;

const UCUM: &str = "http://unitsofmeasure.org";
const LOINC: &str = "http://loinc.org";

fn patient(id: &str, more: Value) -> Value {
    of("Patient", id, more)
}

fn observation(id: &str, more: Value) -> Value {
    let mut made = of("Observation", id, more);
    for (name, value) in [("status", json!("final")), ("code", json!({"text": "x"}))] {
        if made[name].is_null() {
            made[name] = value;
        }
    }
    made
}

fn of(ty: &str, id: &str, more: Value) -> Value {
    let mut made = json!({"resourceType": ty, "id": id});
    made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    made
}

fn coded(system: &str, code: &str) -> Value {
    json!({"coding": [{"system": system, "code": code}]})
}

#[test]
fn parameters_for_all_resources() {
    let tagged = |id: &str, meta: Value| {
        of(
            "DiagnosticReport",
            id,
            json!({"meta": meta, "status": "final", "code": {"text": "x"}}),
        )
    };
    let world = small(&[
        patient("23", json!({})),
        patient("24", json!({})),
        tagged(
            "lipid",
            json!({"profile": ["http://hl7.org/fhir/StructureDefinition/lipid"], "lastUpdated": "2010-10-02T00:00:00Z"}),
        ),
        tagged(
            "local",
            json!({"profile": ["Profile/lipid"], "lastUpdated": "2010-10-01T12:00:00Z"}),
        ),
        tagged(
            "review",
            json!({"tag": [{"system": "http://acme.org/codes", "code": "needs-review"}]}),
        ),
        tagged(
            "other",
            json!({"tag": [{"system": "http://other.org", "code": "needs-review"}],
            "security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "R"}], "source": "http://a.org/x#1"}),
        ),
    ]);
    world.check(&[
        ("Patient?_id=23", "23"),
        ("Patient?_id=23,24", "23 24"),
        ("DiagnosticReport?_lastUpdated=gt2010-10-01", "lipid"),
        ("DiagnosticReport?_lastUpdated=2010-10-01", "local"),
        (
            "DiagnosticReport?_profile=http://hl7.org/fhir/StructureDefinition/lipid",
            "lipid",
        ),
        ("DiagnosticReport?_profile=Profile/lipid", "local"),
        ("DiagnosticReport?_tag=http://acme.org/codes|needs-review", "review"),
        ("DiagnosticReport?_tag=needs-review", "review other"),
        (
            "DiagnosticReport?_security=http://terminology.hl7.org/CodeSystem/v3-Confidentiality|R",
            "other",
        ),
        ("DiagnosticReport?_source=http://a.org/x#1", "other"),
        ("DiagnosticReport?_source:below=http://a.org/x", "other"),
    ]);
}

#[test]
fn numbers() {
    let risk = |id: &str, probability: f64| {
        of(
            "RiskAssessment",
            id,
            json!({"status": "final", "subject": {"display": "x"},
            "prediction": [{"probabilityDecimal": probability}]}),
        )
    };
    let variant = |id: &str, start: u32| {
        of(
            "MolecularSequence",
            id,
            json!({"coordinateSystem": 0, "variant": [{"start": start}]}),
        )
    };
    let world = small(&[
        risk("a", 99.5),
        risk("b", 100.0),
        risk("c", 100.5),
        risk("d", 99.995),
        risk("e", 100.005),
        risk("f", 95.0),
        risk("g", 104.9),
        risk("h", 105.0),
        risk("i", 0.85),
        risk("j", 0.8),
        variant("one", 1),
        variant("two", 2),
        variant("hundred", 100),
    ]);
    world.check(&[
        ("RiskAssessment?probability=100", "a b d e"),
        ("RiskAssessment?probability=100.00", "b d"),
        ("RiskAssessment?probability=1e2", "a b c d e f g"),
        ("RiskAssessment?probability=lt100", "a d f i j"),
        ("RiskAssessment?probability=le100", "a b d f i j"),
        ("RiskAssessment?probability=gt100", "c e g h"),
        ("RiskAssessment?probability=ge100", "b c e g h"),
        ("RiskAssessment?probability=ne100", "c f g h i j"),
        ("RiskAssessment?probability=sa100", "c e g h"),
        ("RiskAssessment?probability=eb100", "a d f i j"),
        ("RiskAssessment?probability=ap100", "a b c d e f g h"),
        ("RiskAssessment?probability=gt0.8&probability=lt1", "i"),
        ("RiskAssessment?probability=gt8e-1&probability=lt1", "i"),
        // Whole numbers are exact whatever the digits, and no fraction is among them.
        ("MolecularSequence?variant-start=2", "two"),
        ("MolecularSequence?variant-start=2.0", "two"),
        ("MolecularSequence?variant-start=2.5", ""),
        ("MolecularSequence?variant-start=100", "hundred"),
    ]);
    world.refused(&[
        ("RiskAssessment?probability=a", "probability"),
        ("RiskAssessment?probability=", "probability"),
    ]);
}

#[test]
fn dates() {
    let at = |id: &str, time: &str| observation(id, json!({"effectiveDateTime": time}));
    let over = |id: &str, start: Option<&str>, end: Option<&str>| {
        let mut period = json!({});
        start.into_iter().for_each(|start| period["start"] = json!(start));
        end.into_iter().for_each(|end| period["end"] = json!(end));
        of(
            "Procedure",
            id,
            json!({"status": "completed", "subject": {"reference": "Patient/23"}, "performedPeriod": period}),
        )
    };
    let on = |id: &str, day: &str| {
        of(
            "Procedure",
            id,
            json!({"status": "completed", "subject": {"reference": "Patient/23"}, "performedDateTime": day}),
        )
    };
    let world = small(&[
        at("midnight", "2013-01-14T00:00:00Z"),
        at("ten", "2013-01-14T10:00:00Z"),
        at("next", "2013-01-15T00:00:00Z"),
        at("day", "2013-01-14"),
        over("from15mar", Some("2013-03-15"), None),
        over("from21jan", Some("2013-01-21"), None),
        over("until21jan", None, Some("2013-01-21")),
        on("14mar", "2013-03-14"),
        on("21jan", "2013-01-21"),
        on("15jun2015", "2015-06-15"),
        observation("year", json!({"effectiveDateTime": "2000"})),
        observation("month", json!({"effectiveDateTime": "2000-04"})),
        observation(
            "timing",
            json!({"effectiveTiming": {"repeat": {"boundsPeriod": {"start": "2014-01-31", "end": "2014-03-24"},
            "frequency": 1, "period": 2, "periodUnit": "d"}}}),
        ),
        observation("zone", json!({"effectiveDateTime": "2001-01-01T01:00:00+02:00"})),
    ]);
    world.check(&[
        ("Observation?date=eq2013-01-14", "midnight ten day"),
        ("Observation?date=ne2013-01-14&date=2013", "next"),
        ("Observation?date=lt2013-01-14T10:00&date=gt2013", ""),
        ("Observation?date=lt2013-01-14T10:00Z&date=ge2013-01-14", "midnight day"),
        (
            "Observation?date=gt2013-01-14T10:00Z&date=le2013-01-15T12:00Z",
            "day next",
        ),
        ("Procedure?date=ge2013-03-14", "from15mar from21jan 14mar 15jun2015"),
        ("Procedure?date=le2013-03-14", "from21jan until21jan 14mar 21jan"),
        ("Procedure?date=sa2013-03-14", "from15mar 15jun2015"),
        ("Procedure?date=eb2013-03-14", "until21jan 21jan"),
        // A tenth of the two years to now, 67 days: 21-Jan is 52 days away.
        (
            "Procedure?date=ap2013-03-14",
            "from15mar from21jan until21jan 14mar 21jan",
        ),
        ("Observation?date=2000", "year month zone"),
        ("Observation?date=2000-04", "month"),
        ("Observation?date=ge2000-05&date=lt2001", "year zone"),
        // Every second day, but a day between is within the outer limits.
        ("Observation?date=ge2014-02-01&date=le2014-02-01", "timing"),
        ("Observation?date=2000-12-31", "zone"),
        (
            "Procedure?subject=Patient/23&date=ge2013-01-01&date=le2013-01-31",
            "from21jan until21jan 21jan",
        ),
    ]);
    world.refused(&[
        ("Observation?date=2013-13", "date"),
        ("Observation?date=2013-01-14T10", "date"),
        ("Observation?date=01-14", "date"),
    ]);
}

#[test]
fn strings() {
    let given = |id: &str, given: &str| patient(id, json!({"name": [{"given": [given]}]}));
    let world = small(&[
        given("Eve", "Eve"),
        given("EVE", "EVE"),
        given("evelyn", "Evelyn"),
        given("severine", "Severine"),
        given("accent", "Ève"),
        given("two", "Anna  Maria"),
        patient("quinones", json!({"name": [{"family": "Carreno Quinones"}]})),
        patient(
            "obrien",
            json!({"name": [{"family": "O'Brien-Smith"}], "address": [{"line": ["12 Hill St."], "city": "Graz", "use": "home"}]}),
        ),
        patient("none", json!({"gender": "male"})),
    ]);
    world.check(&[
        ("Patient?given=eve", "Eve EVE evelyn accent"),
        ("Patient?given:contains=eve", "Eve EVE evelyn accent severine"),
        ("Patient?given:exact=Eve", "Eve"),
        ("Patient?given=ÈVE", "Eve EVE evelyn accent"),
        ("Patient?given=anna maria", "two"),
        ("Patient?given=eve,severine", "Eve EVE evelyn accent severine"),
        ("Patient?given:missing=true&name:missing=true", "none"),
        ("Patient?family=Carreno", "quinones"),
        ("Patient?family=Quiñones", "quinones"),
        ("Patient?name=quinones", "quinones"),
        ("Patient?family=obrien", "obrien"),
        ("Patient?family=O’B", "obrien"),
        ("Patient?family=smith", "obrien"),
        ("Patient?family:exact=O'Brien", ""),
        ("Patient?address=12 hill st", "obrien"),
        ("Patient?address=home", ""),
        ("Patient?address-city:exact=Graz", "obrien"),
    ]);
    world.refused(&[
        ("Patient?given:text=eve", ":text"),
        ("Patient?given:below=eve", ":below"),
        ("Patient?given:Exact=x", ":Exact"),
    ]);
}

#[test]
fn uris() {
    let set = |id: &str, url: &str, version: &str| {
        of(
            "ValueSet",
            id,
            json!({"url": url, "version": version, "status": "active"}),
        )
    };
    let profiled = |id: &str, profile: &str| {
        of(
            "Basic",
            id,
            json!({"meta": {"profile": [profile]}, "code": {"text": "x"}}),
        )
    };
    let world = small(&[
        profiled("plain", "http://acme.com/profile"),
        profiled("versioned", "http://acme.com/profile|6.1.0"),
        profiled("other", "http://acme.com/profiles"),
        set("123", "http://acme.org/fhir/ValueSet/123", "1.0"),
        set("124", "http://acme.org/fhir/ValueSet/124,125", "2.0"),
        set("newer", "http://acme.org/fhir/ValueSet/123", "1.1"),
        set("root", "http://acme.org/fhir", "1"),
        set("case", "http://acme.org/fhir/valueset/123", "1"),
        set("oid", "urn:oid:1.2.3.4.5", "1"),
        of(
            "PlanDefinition",
            "uses",
            json!({"status": "active", "library": ["http://acme.com/some-profile|1.1"]}),
        ),
        of(
            "PlanDefinition",
            "uses2",
            json!({"status": "active", "library": ["http://acme.com/some-profile|2.0"]}),
        ),
        of(
            "PlanDefinition",
            "uses10",
            json!({"status": "active", "library": ["http://acme.com/some-profile|10"]}),
        ),
        of(
            "QuestionnaireResponse",
            "answers",
            json!({"status": "completed", "questionnaire": "http://acme.com/form|3.0"}),
        ),
    ]);
    world.check(&[
        ("ValueSet?url=http://acme.org/fhir/ValueSet/123", "123 newer"),
        ("ValueSet?url=http://acme.org/fhir/ValueSet/123|1.1", "newer"),
        ("ValueSet?url:below=http://acme.org/fhir/", "123 124 newer case"),
        (
            "ValueSet?url:above=http://acme.org/fhir/ValueSet/123/_history/5",
            "123 newer root",
        ),
        ("ValueSet?url=urn:oid:1.2.3.4.5", "oid"),
        ("ValueSet?url:below=urn:oid:1.2", ""),
        (
            r"ValueSet?url=http://acme.org/fhir/ValueSet/123,http://acme.org/fhir/ValueSet/124\,125",
            "123 newer 124",
        ),
        ("ValueSet?url=http://acme.org/fhir/ValueSet/124,125", ""),
        ("Basic?_profile=http://acme.com/profile", "plain versioned"),
        ("Basic?_profile=http://acme.com/profile|6.1.0", "versioned"),
        ("Basic?_profile=http://acme.com/profile|6", ""),
        ("Basic?_filter=_profile eq http://acme.com/profile", "plain versioned"),
        ("QuestionnaireResponse?questionnaire=http://acme.com/form", "answers"),
        (
            "QuestionnaireResponse?questionnaire=http://acme.com/form|3.0",
            "answers",
        ),
        ("QuestionnaireResponse?questionnaire=http://acme.com/form|2.0", ""),
        (
            "QuestionnaireResponse?questionnaire:below=http://acme.com/form",
            "answers",
        ),
        (
            "QuestionnaireResponse?questionnaire:below=http://acme.com/form|3",
            "answers",
        ),
        ("QuestionnaireResponse?questionnaire:below=http://acme.com/form|30", ""),
        (
            "PlanDefinition?depends-on:below=http://acme.com/some-profile",
            "uses uses2 uses10",
        ),
        ("PlanDefinition?depends-on:below=http://acme.com/some-profile|1", "uses"),
    ]);
}

#[test]
fn tokens() {
    let condition = |id: &str, code: Value| {
        of(
            "Condition",
            id,
            json!({"subject": {"reference": "Patient/1"}, "code": code}),
        )
    };
    let section = |id: &str, codes: &[&str]| {
        let sections: Vec<Value> = codes.iter().map(|code| json!({"code": coded(LOINC, code)})).collect();
        of(
            "Composition",
            id,
            json!({"status": "final", "type": {"text": "x"}, "date": "2020", "author": [{"display": "x"}],
            "title": "x", "section": sections}),
        )
    };
    let document = |id: &str, content_type: &str| {
        of(
            "DocumentReference",
            id,
            json!({"status": "current", "content": [{"attachment": {"contentType": content_type}}]}),
        )
    };
    let sets = Terminology::parse(
        &json!({"resourceType": "Bundle", "type": "collection", "entry": [
            {"resource": {"resourceType": "CodeSystem", "url": "http://snomed.info/sct", "status": "active", "content": "complete",
                "hierarchyMeaning": "is-a", "caseSensitive": true,
                "concept": [{"code": "126851005", "concept": [{"code": "93870000"}]}, {"code": "22298006"}]}},
            {"resource": {"resourceType": "ValueSet", "url": "http://acme.org/fhir/ValueSet/cardiac-conditions", "status": "active",
                "compose": {"include": [{"system": "http://snomed.info/sct", "concept": [{"code": "22298006"}]}]}}}
        ]})
        .to_string(),
    );
    let world = with_terminology(
        &[
            patient(
                "male",
                json!({"gender": "male", "active": true, "identifier": [{"system": "http://acme.org/patient", "value": "2345"}]}),
            ),
            patient(
                "female",
                json!({"gender": "female", "active": false, "identifier": [
                {"type": coded("http://terminology.hl7.org/CodeSystem/v2-0203", "MR"), "value": "446053"}, {"value": "2345"}]}),
            ),
            patient(
                "unsaid",
                json!({"identifier": [{"system": "http://other.org", "value": "2345"}]}),
            ),
            section("allergies", &["48765-2", "10160-0"]),
            section("medications", &["10160-0"]),
            condition("ha", coded("http://acme.org/conditions/codes", "ha125")),
            condition("ha-other", coded("http://other.org", "HA125")),
            condition("headache", json!({"text": "Headache, dull"})),
            condition(
                "cephalgia",
                json!({"coding": [{"display": "Headaches"}], "text": "Cephalgia"}),
            ),
            condition("liver", coded("http://snomed.info/sct", "93870000")),
            condition("heart", coded("http://snomed.info/sct", "22298006")),
            document("xml", "text/xml"),
            document("xml8", "text/xml; charset=UTF-8"),
            document("plain", "text/plain"),
            observation("ab", json!({"code": {"coding": [{"code": "a,b"}]}})),
            observation("a", json!({"code": {"coding": [{"code": "a"}]}})),
            observation("b", json!({"code": {"coding": [{"code": "b"}]}})),
            observation("pipe", json!({"code": {"coding": [{"code": "a|b"}]}})),
            observation("dollar", json!({"code": {"coding": [{"code": "xx$xx"}]}})),
            observation("backslash", json!({"code": {"coding": [{"code": r"xx\xx"}]}})),
        ],
        sets.unwrap(),
    );
    world.check(&[
        ("Patient?identifier=http://acme.org/patient|2345", "male"),
        ("Patient?identifier=2345", "male female unsaid"),
        ("Patient?identifier=|2345", "female"),
        ("Patient?identifier=http://other.org|", "unsaid"),
        ("Patient?gender=male", "male"),
        ("Patient?gender:not=male", "female unsaid"),
        ("Patient?gender:missing=true", "unsaid"),
        ("Patient?gender:missing=false", "male female"),
        ("Composition?section=48765-2", "allergies"),
        ("Composition?section:not=48765-2", "medications"),
        ("Patient?active=true", "male"),
        ("Condition?code=http://acme.org/conditions/codes|ha125", "ha"),
        ("Condition?code=ha125", "ha ha-other"),
        ("Condition?code:text=headache", "headache cephalgia"),
        ("Condition?code:text=headache,ceph", "headache cephalgia"),
        ("Condition?code:below=126851005", "liver"),
        ("Condition?code:below=http://snomed.info/sct|126851005", "liver"),
        ("Condition?code:above=http://snomed.info/sct|93870000", "liver"),
        (
            "Condition?code:in=http://acme.org/fhir/ValueSet/cardiac-conditions",
            "heart",
        ),
        (
            "Condition?code:not-in=http://acme.org/fhir/ValueSet/cardiac-conditions",
            "ha ha-other headache cephalgia liver",
        ),
        (
            "Patient?identifier:of-type=http://terminology.hl7.org/CodeSystem/v2-0203|MR|446053",
            "female",
        ),
        ("DocumentReference?contenttype=text/xml", "xml"),
        ("DocumentReference?contenttype:below=text/xml", "xml xml8"),
        ("Observation?code=a,b", "a b"),
        (r"Observation?code=a\,b", "ab"),
        (r"Observation?code=a\|b", "pipe"),
        (r"Observation?code=xx\$xx", "dollar"),
        (r"Observation?code=xx\\xx", "backslash"),
    ]);
    world.refused(&[
        ("Condition?code:in=http://acme.org/none", "http://acme.org/none"),
        ("Patient?identifier:of-type=MR|446053", "identifier:of-type"),
        ("Patient?identifier:otype=a|b|c", ":otype"),
    ]);
}

#[test]
fn quantities() {
    let value = |id: &str, value: f64, unit: Value| {
        let mut quantity = json!({"value": value});
        quantity
            .as_object_mut()
            .unwrap()
            .extend(unit.as_object().unwrap().clone());
        observation(id, json!({"valueQuantity": quantity}))
    };
    let ucum = |code: &str| json!({"system": UCUM, "code": code, "unit": code});
    let world = small(&[
        value("mg", 5.4, ucum("mg")),
        value("mg5.44", 5.44, ucum("mg")),
        value("mg5.45", 5.45, ucum("mg")),
        value("mg5.9", 5.9, ucum("mg")),
        value("mg1", 1.0, ucum("mg")),
        value("printed", 5.4, json!({"unit": "mg"})),
        value("other-system", 5.4, json!({"system": "http://other.org", "code": "mg"})),
        value("none", 5.4, json!({})),
        value("g", 0.0054, ucum("g")),
    ]);
    world.check(&[
        (
            "Observation?value-quantity=5.4|http://unitsofmeasure.org|mg",
            "mg mg5.44",
        ),
        ("Observation?value-quantity=5.40e-3|http://unitsofmeasure.org|g", "g"),
        ("Observation?value-quantity=5.4||mg", "mg mg5.44 printed other-system"),
        ("Observation?value-quantity=5.4", "mg mg5.44 printed other-system none"),
        (
            "Observation?value-quantity=le5.4|http://unitsofmeasure.org|mg",
            "mg mg1",
        ),
        (
            "Observation?value-quantity=ap5.4|http://unitsofmeasure.org|mg",
            "mg mg5.44 mg5.45 mg5.9",
        ),
        // Units are not converted: 5.4 mg is not found as 0.0054 g.
        ("Observation?value-quantity=0.0054|http://unitsofmeasure.org|g", "g"),
        ("Observation?value-quantity=gt5.4||mg", "mg5.44 mg5.45 mg5.9"),
    ]);
}

#[test]
fn references() {
    let to = |id: &str, reference: &str| observation(id, json!({"subject": {"reference": reference}}));
    let world = small(&[
        patient("23", json!({})),
        of("Group", "23", json!({"type": "person", "actual": true})),
        to("patient", "Patient/23"),
        to("group", "Group/23"),
        to("versioned", "Patient/23/_history/2"),
        to("elsewhere", "http://other.org/fhir/Patient/23"),
        to("urn", "urn:uuid:7f4b9e5c-0000-4000-8000-000000000001"),
        observation(
            "logical",
            json!({"subject": {"identifier": {"system": "http://acme.org/fhir/identifier/mrn", "value": "123456"}}}),
        ),
        of("Location", "42", json!({"name": "Building"})),
        of("Location", "43", json!({"partOf": {"reference": "Location/42"}})),
        of("Location", "44", json!({"partOf": {"reference": "Location/43"}})),
        of(
            "Procedure",
            "p42",
            json!({"status": "completed", "subject": {"reference": "Patient/23"}, "location": {"reference": "Location/42"}}),
        ),
        of(
            "Procedure",
            "p44",
            json!({"status": "completed", "subject": {"reference": "Patient/23"}, "location": {"reference": "Location/44"}}),
        ),
    ]);
    world.check(&[
        ("Observation?subject=23", "patient group versioned"),
        ("Observation?subject=Patient/23", "patient versioned"),
        ("Observation?subject:Patient=23", "patient versioned"),
        ("Observation?patient=23", "patient versioned"),
        (
            "Observation?subject=http://example.org/fhir/Patient/23",
            "patient versioned",
        ),
        ("Observation?subject=http://other.org/fhir/Patient/23", "elsewhere"),
        (
            "Observation?subject=urn:uuid:7f4b9e5c-0000-4000-8000-000000000001",
            "urn",
        ),
        (
            "Observation?subject:identifier=http://acme.org/fhir/identifier/mrn|123456",
            "logical",
        ),
        ("Observation?subject:missing=true", ""),
        ("Procedure?location:below=42", "p42 p44"),
        ("Procedure?location:above=44", "p42 p44"),
        ("Procedure?location:above=42", "p42"),
    ]);
    world.refused(&[
        ("Observation?subject:Patient=Group/23", "subject:Patient"),
        ("Observation?subject:Nobody=1", ":Nobody"),
    ]);
}

#[test]
fn chains_and_reverse_chains() {
    let code = |code: &str| coded(LOINC, code);
    let of_patient = |id: &str, patient: &str, more: Value| {
        let mut made = observation(id, more);
        made["subject"] = json!({"reference": format!("Patient/{patient}")});
        made
    };
    let report = |id: &str, subject: &str| {
        of(
            "DiagnosticReport",
            id,
            json!({"status": "final", "code": {"text": "x"}, "subject": {"reference": subject}}),
        )
    };
    let event = |id: &str, entity: &str, agent: &str| {
        of(
            "AuditEvent",
            id,
            json!({"type": {"code": "x"}, "recorded": "2020-01-01T00:00:00Z", "source": {"observer": {"display": "x"}},
            "agent": [{"requestor": true, "who": {"reference": agent}}], "entity": [{"what": {"reference": entity}}]}),
        )
    };
    let world = small(&[
        patient(
            "peter",
            json!({"name": [{"given": ["Peter"]}], "generalPractitioner": [{"reference": "Practitioner/joe"},
            {"reference": "Practitioner/jane"}]}),
        ),
        patient(
            "paul",
            json!({"name": [{"given": ["Paul"]}], "generalPractitioner": [{"reference": "Practitioner/joe"}]}),
        ),
        of(
            "Practitioner",
            "joe",
            json!({"name": [{"given": ["Joe"]}], "address": [{"state": "CA"}]}),
        ),
        of(
            "Practitioner",
            "jane",
            json!({"name": [{"given": ["Jane"]}], "address": [{"state": "MN"}]}),
        ),
        of(
            "Group",
            "peters",
            json!({"type": "person", "actual": true, "name": "peter"}),
        ),
        of_patient("one", "peter", json!({"code": code("1234-5")})),
        of_patient("two", "paul", json!({"code": code("123")})),
        of_patient("three", "paul", json!({"code": code("456")})),
        of_patient(
            "potassium",
            "peter",
            json!({"code": code("2823-3"), "valueQuantity": {"value": 5.5, "system": UCUM, "code": "mmol/L"}}),
        ),
        report("of-peter", "Patient/peter"),
        report("of-paul", "Patient/paul"),
        report("of-group", "Group/peters"),
        of(
            "DiagnosticReport",
            "high",
            json!({"status": "final", "code": {"text": "x"}, "result": [{"reference": "Observation/potassium"}]}),
        ),
        event("seen", "Observation/one", "Practitioner/MyUserId"),
        event("seen2", "Observation/two", "Practitioner/Other"),
    ]);
    world.check(&[
        ("DiagnosticReport?subject:Patient.name=peter", "of-peter"),
        ("DiagnosticReport?subject.name=peter", "of-peter"),
        ("DiagnosticReport?patient.given=paul", "of-paul"),
        // Each chain is evaluated on its own: Joe is from CA, and Jane from MN.
        ("Patient?general-practitioner.name=Joe&general-practitioner.address-state=MN", "peter"),
        ("Patient?_has:Observation:patient:code=1234-5", "peter"),
        ("Patient?_has:Observation:patient:code=123,1234-5", "peter paul"),
        ("Patient?_has:Observation:patient:code=123&_has:Observation:patient:code=456", "paul"),
        ("Patient?_has:Observation:patient:_has:AuditEvent:entity:agent=MyUserId", "peter"),
        (
            "DiagnosticReport?result.code-value-quantity=http://loinc.org|2823-3$gt5.4|http://unitsofmeasure.org|mmol/L",
            "high",
        ),
        (
            "DiagnosticReport?result.code-value-quantity=http://loinc.org|2823-3$gt5.5|http://unitsofmeasure.org|mmol/L",
            "",
        ),
    ]);
}

#[test]
fn composites_and_repetition() {
    let group = |id: &str, characteristics: Value| {
        of(
            "Group",
            id,
            json!({"type": "person", "actual": false, "characteristic": characteristics}),
        )
    };
    let is = |code: &str, value: &str| json!({"code": {"coding": [{"code": code}]}, "valueCodeableConcept": {"coding": [{"code": value}]}, "exclude": false});
    let speaks = |id: &str, languages: &[&str]| {
        let all: Vec<Value> = languages
            .iter()
            .map(|code| json!({"language": {"coding": [{"code": code}]}}))
            .collect();
        patient(id, json!({"communication": all}))
    };
    let pressure = |id: &str, systolic: u32, diastolic: u32| {
        let part = |code: &str, value: u32| json!({"code": coded(LOINC, code), "valueQuantity": {"value": value}});
        observation(
            id,
            json!({"component": [part("8480-6", systolic), part("8462-4", diastolic)]}),
        )
    };
    let world = small(&[
        group("mixed", json!([is("gender", "mixed"), is("owner", "John")])),
        group("eve", json!([is("gender", "female"), is("owner", "Eve")])),
        group("crossed", json!([is("gender", "owner"), is("x", "mixed")])),
        speaks("both", &["FR", "NL"]),
        speaks("french", &["FR"]),
        speaks("three", &["NL", "EN"]),
        pressure("low", 55, 50),
        pressure("usual", 120, 55),
        of(
            "Questionnaire",
            "abuse",
            json!({"status": "active", "useContext": [{"code": {"code": "focus"},
            "valueCodeableConcept": coded("http://snomed.info/sct", "408934002")}]}),
        ),
        of(
            "Questionnaire",
            "other",
            json!({"status": "active", "useContext": [{"code": {"code": "venue"},
            "valueCodeableConcept": coded("http://snomed.info/sct", "408934002")}]}),
        ),
    ]);
    world.check(&[
        ("Patient?language=FR&language=NL", "both"),
        ("Patient?language=FR,NL", "both french three"),
        ("Patient?language=FR,NL&language=EN", "three"),
        ("Group?characteristic-value=gender$mixed", "mixed"),
        ("Group?characteristic-value=gender$mixed,owner$Eve", "mixed eve"),
        (
            "Observation?component-code-value-quantity=http://loinc.org|8480-6$lt60",
            "low",
        ),
        (
            "Questionnaire?context-type-value=focus$http://snomed.info/sct|408934002",
            "abuse",
        ),
    ]);
    world.refused(&[("Group?characteristic-value:exact=gender$mixed", ":exact")]);
}

#[test]
fn missing_words_and_lists() {
    let allergy = |id: &str, status: Option<&str>| {
        let mut made = of(
            "AllergyIntolerance",
            id,
            json!({"patient": {"reference": "Patient/42"}}),
        );
        if let Some(status) = status {
            made["clinicalStatus"] = coded(
                "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical",
                status,
            );
        }
        made
    };
    let told = |id: &str, text: &str| {
        let div = format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{text}</div>");
        of(
            "Condition",
            id,
            json!({"subject": {"reference": "Patient/42"}, "text": {"status": "generated", "div": div}}),
        )
    };
    let world = small(&[
        allergy("active", Some("active")),
        allergy("resolved", Some("resolved")),
        allergy("unknown", None),
        patient("42", json!({"gender": "female"})),
        patient("43", json!({"gender": "male"})),
        patient("44", json!({"gender": "female"})),
        of(
            "List",
            "42",
            json!({"status": "current", "mode": "working", "entry": [{"item": {"reference": "Patient/42"}},
            {"item": {"reference": "Patient/43"}}, {"deleted": true, "item": {"reference": "Patient/44"}}]}),
        ),
        told("bone", "Bone with <b>metastases</b>"),
        told("liver", "metastases of the liver"),
        told("benign", "bone, benign"),
    ]);
    let active = "clinical-status=http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical|active";
    world.check(&[
        (&format!("AllergyIntolerance?{active}"), "active"),
        ("AllergyIntolerance?clinical-status:missing=true", "unknown"),
        (&format!("AllergyIntolerance?{active}&clinical-status:missing=true"), ""),
        ("Condition?_text=(bone OR liver) and metastases", "bone liver"),
        ("Condition?_content=benign", "benign"),
        ("Patient?_list=42", "42 43"),
        ("Patient?_list=42&gender=female", "42"),
        (
            "AllergyIntolerance?_filter=clinical-status eq active or clinical-status pr false",
            "active unknown",
        ),
    ]);
    world.refused(&[("AllergyIntolerance?_list=$current-allergies", "_list")]);
}

#[test]
fn near_a_place() {
    let place = |id: &str, latitude: f64, longitude: f64| {
        of(
            "Location",
            id,
            json!({"position": {"latitude": latitude, "longitude": longitude}}),
        )
    };
    let world = small(&[
        place("here", 42.2565, -83.6948),
        // 0.1 degrees north, 11.1 km; 0.15 degrees north, 16.7 km.
        place("inside", 42.3565, -83.6948),
        place("outside", 42.4065, -83.6948),
    ]);
    world.check(&[
        ("Location?near=42.256500|-83.694810|11.20|km", "here inside"),
        ("Location?near=42.256500|-83.694810|10.4|[mi_us]", "here inside outside"),
        ("Location?near=42.256500|-83.694810", "here inside outside"),
    ]);
    world.refused(&[
        ("Location?near=142.2|-83.7", "near"),
        ("Location?near:missing=x", "near"),
    ]);
}

#[test]
fn what_is_returned() {
    let div = "<div xmlns=\"http://www.w3.org/1999/xhtml\">x</div>";
    let world = small(&[
        patient(
            "p",
            json!({"active": true, "identifier": [{"value": "1"}], "link": [{"other": {"reference": "Patient/q"}, "type": "seealso"}],
            "photo": [{"title": "x"}], "text": {"status": "generated", "div": div}}),
        ),
        patient("q", json!({"photo": [{"title": "y"}], "birthDate": "2000-01-01"})),
        observation(
            "o",
            json!({"subject": {"reference": "Patient/p"}, "note": [{"text": "n"}], "text": {"status": "generated", "div": div}}),
        ),
    ]);
    let only = |query: &str, mode: &str| resources(&world.page(query).unwrap(), mode).remove(0);
    let names = |resource: &Value| {
        resource
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        names(&only("Observation?_summary=true", "match")),
        "code id meta resourceType status subject"
    );
    assert_eq!(
        names(&only("Observation?_summary=text", "match")),
        "code id meta resourceType status text"
    );
    assert_eq!(
        names(&only("Observation?_summary=data", "match")),
        "code id meta note resourceType status subject"
    );
    assert_eq!(
        names(&only("Observation?_summary=false", "match")),
        "code id note resourceType status subject text"
    );
    let counted = world.page("Patient?_summary=count").unwrap();
    assert_eq!((&counted["total"], &counted["entry"]), (&json!(2), &Value::Null));
    let counted = world.page("Patient?_count=0").unwrap();
    assert_eq!((&counted["total"], link(&counted, "next")), (&json!(2), None));
    assert_eq!(
        names(&only("Patient?_elements=identifier,active,link&_id=p", "match")),
        "active id identifier link meta resourceType"
    );
    // The list of elements does not apply to included resources.
    let included = only("Observation?_elements=status&_include=Observation:subject", "include");
    assert!(included["photo"].is_array() && included["meta"].is_null(), "{included}");
    world.refused(&[
        ("Observation?_summary=text&_include=Observation:subject", "_summary"),
        ("Observation?_summary=short", "_summary"),
        ("Observation?_elements=nothing", "nothing"),
        ("Patient?_count=-1", "_count"),
        ("Patient?_contained=maybe", "_contained"),
        ("Patient?_containedType=all", "_containedType"),
    ]);
    assert_eq!(world.page("Patient?_total=accurate&_count=1").unwrap()["total"], 2);
    assert_eq!(world.page("Patient?_total=none").unwrap()["total"], Value::Null);
}

/// What a server does not know it may leave out, and says so by the `self` link; a named query it must refuse. A parameter without
/// a value is no error, but where the client asked for strictness.
#[test]
fn unknown_and_blank_parameters() {
    let world = small(&[patient("a", json!({"gender": "male"})), patient("b", json!({}))]);
    let application = records::application("local");
    let lenient = |query: &str| world.page_of(&application, query, Handling::Lenient);
    for query in [
        "Patient?nothing=1&gender=male",
        "Patient?family=&gender=male",
        "Patient?family:exact=&_has:Observation:patient:code=&gender=male&_filter=&_sort=&_summary=&_include=",
        "Patient?gender=male&_count=&_offset=&_total=&_elements=&_tag=&_query=",
    ] {
        let page = lenient(query).unwrap();
        assert_eq!(resources(&page, "match").len(), 1, "{query}");
        assert_eq!(
            link(&page, "self").unwrap(),
            "http://example.org/fhir/Patient?gender=male&_count=20",
            "{query}"
        );
    }
    let page = lenient("?_type=&_type=Patient&gender=male&_id=").unwrap();
    assert_eq!(
        link(&page, "self").unwrap(),
        "http://example.org/fhir?_type=Patient&gender=male&_count=20"
    );
    assert_eq!(resources(&page, "match").len(), 1);
    world.refused(&[
        ("Patient?nothing=1", "nothing"),
        ("Patient?family=", "family"),
        ("?_type=Patient&_id=", "_id"),
        ("Patient?_query=name", "_query"),
        ("?_type=Patient&_query=name", "_query"),
    ]);
    // A blank among values is a mistake: alone it would find everything.
    for query in [
        "Patient?_query=name",
        "?_query=name",
        "Patient?gender:exact=male",
        "Patient?family=,",
        "Patient?family=x,",
        "?_type=Patient&_id=,x",
    ] {
        assert!(lenient(query).unwrap_err().is_input(), "{query}");
    }
}
