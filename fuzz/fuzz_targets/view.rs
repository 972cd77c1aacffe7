//! Arbitrary bytes are read as a ViewDefinition or refused, and what is wrong with them is said.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tabularium::views::View;

fuzz_target!(|definition: &[u8]| {
    let _ = View::parse(definition);
    let _ = View::check(definition);
});
