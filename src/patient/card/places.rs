//! The number of each record's entry in the card's Bundle. The entry's `fullUrl` is `resource:0` and so on.

use rustc_hash::FxHashMap;

use crate::fhir::TypeId;
use crate::fhir::reference::Reference;

/// A record that goes into a card.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'r> {
    /// The resource type.
    pub resource_type: TypeId,
    /// The id in the lake.
    pub id: &'r str,
    /// The stored JSON text.
    pub text: &'r [u8],
}

/// The entry numbers of a card's records, by type and id.
#[derive(Debug)]
pub(super) struct Places<'r> {
    numbers: FxHashMap<(TypeId, &'r str), usize>,
    /// The base URL of this service's own references, without a trailing slash.
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

    /// Returns the entry number of the record to which a reference leads. `None` if the card does not have that record.
    pub(super) fn find(&self, reference: Reference<'_>) -> Option<usize> {
        let target = match reference {
            Reference::Relative(target) => target,
            Reference::Absolute { base, target } if base == self.base => target,
            _ => return None,
        };
        self.numbers.get(&(target.type_id, target.id)).copied()
    }
}
