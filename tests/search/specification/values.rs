//! The examples about parameters of all resources, and about number, date, string and URI parameters.

use serde_json::{Value, json};

use super::{observation, of, patient};
use crate::search::small::small;

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
        // Integers are exact, however they are written, and match no fractions.
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
        // A tenth of the two years until now is 67 days, and 21-Jan is 52 days away.
        (
            "Procedure?date=ap2013-03-14",
            "from15mar from21jan until21jan 14mar 21jan",
        ),
        ("Observation?date=2000", "year month zone"),
        ("Observation?date=2000-04", "month"),
        ("Observation?date=ge2000-05&date=lt2001", "year zone"),
        // The timing is every second day, but a day in between is within its outer limits.
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
