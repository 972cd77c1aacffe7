//! Randomly changed searches: the answer is a page or an error about the search.

use std::time::{Duration, Instant};

use tabularium::search::Handling;

use super::corpus::corpus;
use crate::harness::mutate::{Mutator, survives};

const SEEDS: [&str; 34] = [
    "Patient?family=co&given:exact=Vito&_count=3",
    "Patient?birthdate=ge1970-01&birthdate=lt1980&_sort=-birthdate,_id&_count=2",
    "Patient?name:contains=hal,%C3%B3&_elements=name,id",
    "Patient?identifier:of-type=http://terminology.hl7.org/CodeSystem/v2-0203|SS|999-68-6630",
    "Patient?_has:Observation:subject:code=http://loinc.org|29463-7&_total=accurate&_count=1",
    "Patient?_has:Condition:subject:_has:Encounter:diagnosis:class=AMB",
    "Patient?_filter=gender eq female and (birthdate lt 1970 or not (family sw \"mc\"))&_count=2",
    "Patient?_filter=name[use eq official].family co \"a\"",
    "Observation?code=http://loinc.org|29463-7&value-quantity=gt70|http://unitsofmeasure.org|kg&_count=2",
    "Observation?code-value-quantity=29463-7$gt70,8302-2$lt150&_count=1",
    "Observation?component-code-value-quantity=8462-4$gt85.50e0&_summary=count",
    "Observation?date=ap2015-02-07T13:28:17-05:00&_sort=-date,code&_count=2&_offset=3",
    "Observation?subject:Patient.family:exact=Cole&encounter.class=AMB&_count=1",
    "Observation?patient=32cd9fa4-7a32-4de1-bce2-548e37151540&_include=Observation:subject&_count=2",
    "Observation?category:not=laboratory,vital-signs&status=final&_summary=true&_count=1",
    "Observation?code:text=body&code:in=http://example.org/none",
    "Observation?_lastUpdated=ge2024&_tag=a|b&_profile:below=http://hl7.org/fhir&_security=|x&_source=urn:x",
    "Encounter?_count=2&_include=*&_revinclude=Observation:encounter&_include:iterate=Encounter:subject",
    "Encounter?subject:missing=false&period=sa2015&_count=0",
    "Location?near=42.36|-71.06|30|km&_count=1",
    "Condition?code:below=http://snomed.info/sct|15777000&_text=bone and (\"marrow\" or liver)",
    "Condition?_content=cole not anne,viral&_count=1",
    "Condition?_list=some-list&subject=http://records.example/fhir/Patient/1",
    "ExplanationOfBenefit?patient:identifier=a|b&created=ne2020-02-30&_count=1",
    "CarePlan?activity-reference:ServiceRequest=1&_sort=date&_tag=~~3.0f",
    "MolecularSequence?chromosome-variant-coordinate=1$lt5$gt6",
    "RiskAssessment?probability=gt0.8&probability=le1e-2",
    "ValueSet?url:above=http://acme.org/fhir/ValueSet/123/_history/5",
    "?_type=Patient,Goal&_sort=-_lastUpdated,_id&_count=2",
    "?_type=Condition,Goal&patient=1&_total=accurate",
    "?_id=a%5C,b%5C%7C%5C$%5C%5C&_count=1",
    "Group?member=Patient/1&characteristic-value=a$b&managing-entity:Organization.name=x",
    "Medication?ingredient-code=a&_format=json&_pretty=true&_elements=code",
    "Provenance?target.subject:Patient.organization.partof.name=x&_count=1",
];

const WORDS: [&str; 40] = [
    "&",
    "=",
    ":",
    ".",
    ",",
    "|",
    "$",
    "\\",
    "%",
    "%00",
    "%ff",
    "+",
    "-",
    "~~",
    "(",
    ")",
    "\"",
    "_has:",
    "_sort=",
    "_count=",
    "_include=",
    "_revinclude=*",
    ":iterate",
    ":missing=true",
    "_filter=",
    "_tag=~~",
    "ap",
    "1e99999",
    "-0.0",
    "9999-12-31",
    "0001",
    "T24:00:00",
    "$PATIENT_ID",
    "Patient",
    "subject.",
    "_offset=4294967295",
    "_elements=",
    "_summary=",
    "\u{301}",
    "\u{0}",
];

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn searches_of_any_form_are_answered_or_refused() {
    let corpus = corpus();
    let application = corpus.application();
    let person = corpus.patient("32cd9fa4-7a32-4de1-bce2-548e37151540");
    let mut texts = Mutator::new(11, SEEDS.to_vec(), &WORDS);
    let (mut answered, mut refused) = (0, 0);
    for at in 0..260 {
        let text = if at % 25 == 24 {
            format!("Patient?{}", texts.noise())
        } else {
            texts.next()
        };
        let scope = if at % 3 == 0 { &person } else { &application };
        let handling = if at % 2 == 0 {
            Handling::Lenient
        } else {
            Handling::Strict
        };
        let started = Instant::now();
        survives(&text, |text| {
            let Some(answer) = corpus.any(scope, text, handling) else {
                return;
            };
            match answer {
                Ok(page) => {
                    assert_eq!(page["resourceType"], "Bundle");
                    answered += 1;
                }
                Err(error) => {
                    assert!(error.is_input(), "{text}: {error}");
                    refused += 1;
                }
            }
        });
        assert!(started.elapsed() < Duration::from_secs(60), "{text}");
    }
    assert!(answered > 40 && refused > 40, "{answered} answered, {refused} refused");
}
