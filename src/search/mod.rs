//! FHIR search: URL to checked query to DataFusion plan to page.
