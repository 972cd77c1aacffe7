//! Estimates the memory that cached values take.

use std::sync::Arc;

use super::super::row::Row;
use crate::lake::owners::scope::Scope;

/// A cached value whose size in bytes can be estimated.
pub(in crate::lake::scan) trait Weigh {
    fn weigh(&self) -> u64;
}

impl Weigh for Arc<Scope> {
    fn weigh(&self) -> u64 {
        let texts = |texts: &[String]| texts.iter().map(|text| text.len() + 40).sum::<usize>();
        let patient = self.patient.as_deref().map_or(0, |patient| {
            texts(&patient.patients) + texts(&patient.authorizations) + 8 * patient.owners.len() + 128
        });
        (patient + 96) as u64
    }
}

impl Weigh for Row {
    fn weigh(&self) -> u64 {
        (self.id.capacity() + self.resource.len() + 64) as u64
    }
}
