//! What others say: HL7's suite, R4's search parameters, and npm `fhirpath`.

pub(super) mod expressions;
pub(super) mod official;
pub(super) mod search_parameters;
pub(super) mod search_values;
