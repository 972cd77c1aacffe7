//! `htmlChecks`: whether the XHTML of a narrative follows R4's rules.

use super::super::signature;
use super::super::signature::{Function, Need};
use crate::fhir::narrative::check;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::values::truth::Truth;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[Function {
    name: "htmlChecks",
    parameters: &[],
    required: 0,
    reads: Need::Value,
    shape: signature::boolean,
    run: |call| {
        let answer = |row: usize| {
            let range = call.input.range(row);
            let (items, item) = match range.len() {
                1 => call.input.item(range.start),
                _ => return None,
            };
            let text = items.text(item).filter(|_| items.item_type().is_fhir("xhtml"))?;
            Some(check(text).is_ok())
        };
        Ok(Output::Truth(Truth::collect(call.input.rows(), answer)))
    },
}];
