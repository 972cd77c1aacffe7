//! Arbitrary text is parsed as FHIRPath or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = tabularium::fhirpath::parse(text);
});
