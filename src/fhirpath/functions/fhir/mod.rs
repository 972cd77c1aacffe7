//! Functions that FHIR adds: references, codes, narratives.

pub(super) mod narrative;
pub(super) mod references;
pub(super) mod resolve;
pub(super) mod terminology;
