//! Arbitrary text that compiles is evaluated over a resource of many kinds of values, or is in error.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tabularium::fhir::facts;
use tabularium::fhirpath::{CompileOptions, compile};
use tabularium::columns::json::Tape;
use tabularium::columns::shred::{Shredder, SystemValues};

const PATIENT: &str = r##"{"resourceType":"Patient","id":"a","active":true,
    "name":[{"given":["A",null,"é"],"_given":[null,{"id":"i"},null]},{"family":"F","period":{"start":"2020-02"}}],
    "birthDate":"1970-06","deceasedDateTime":"2020-01-01T10:00:00+14:00","multipleBirthInteger":2,
    "contained":[{"resourceType":"Organization","id":"o","name":"O"}],"managingOrganization":{"reference":"#o"},
    "extension":[{"url":"u","valueDecimal":-0.10},{"url":"v","extension":[{"url":"w","valueTime":"10:30:00"}]},
        {"url":"q","valueQuantity":{"value":1e-7,"unit":"m","system":"http://unitsofmeasure.org","code":"mm3/{x}"}}]}"##;

static BATCH: LazyLock<arrow::array::RecordBatch> = LazyLock::new(|| {
    let mut shredder = Shredder::new(facts().lookup("Patient").expect("a type of R4"));
    let mut tape = Tape::new();
    let root = tape.parse(PATIENT.as_bytes()).expect("JSON");
    shredder.push(&SystemValues::outside("a", PATIENT), root).expect("a resource");
    shredder.finish().expect("a batch")
});

fuzz_target!(|text: &str| {
    let options = CompileOptions { lenient: true, ..CompileOptions::default() };
    let type_id = facts().lookup("Patient").expect("a type of R4");
    if let Ok(program) = compile(text, type_id, &options) {
        let _ = program.evaluate(&BATCH);
    }
});
