//! The position of each record in the card's Bundle: `resource:0` and so on.

use rustc_hash::FxHashMap;

use crate::fhir::TypeId;
use crate::fhir::reference::Reference;

/// A record that goes into a card.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'r> {
    /// Its type.
    pub resource_type: TypeId,
    /// Its id in the lake.
    pub id: &'r str,
    /// Its text as stored.
    pub text: &'r [u8],
}

/// The numbers of all records of a card.
#[derive(Debug)]
pub(super) struct Places<'r> {
    numbers: FxHashMap<(TypeId, &'r str), usize>,
    /// The base of our own references, without a trailing slash.
    base: &'r str,
}

impl<'r> Places<'r> {
    pub(super) fn new(base: &'r str, resources: &[Resource<'r>]) -> Places<'r> {
        let numbered = resources.iter().enumerate();
        Places {
            numbers: numbered.map(|(at, one)| ((one.resource_type, one.id), at)).collect(),
            base: base.trim_end_matches('/'),
        }
    }

    /// The record that a reference points to.
    pub(super) fn find(&self, reference: Reference<'_>) -> Option<usize> {
        let target = match reference {
            Reference::Relative(target) => target,
            Reference::Absolute { base, target } if base == self.base => target,
            _ => return None,
        };
        self.numbers.get(&(target.type_id, target.id)).copied()
    }
}
