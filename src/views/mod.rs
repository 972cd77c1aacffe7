//! SQL on FHIR: ViewDefinition to plan to rows.
