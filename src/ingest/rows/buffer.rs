//! Normalized resources by type, until there are enough to write.

use rustc_hash::FxHashMap;

use super::block::Block;
use crate::fhir::TypeId;

/// Blocks in memory, by type.
#[derive(Debug, Default)]
pub(in crate::ingest) struct Buffer {
    types: FxHashMap<TypeId, OfType>,
    weight: usize,
}

#[derive(Debug, Default)]
struct OfType {
    blocks: Vec<Block>,
    weight: usize,
}

impl Buffer {
    pub(in crate::ingest) fn push(&mut self, block: Block) {
        if block.entries.is_empty() {
            return;
        }
        let of_type = self.types.entry(block.type_id).or_default();
        of_type.weight += block.weight();
        self.weight += block.weight();
        of_type.blocks.push(block);
    }

    /// Returns the approximate size of all blocks in memory, in bytes.
    pub(in crate::ingest) fn weight(&self) -> usize {
        self.weight
    }

    /// Returns the blocks of a type.
    pub(in crate::ingest) fn of(&self, type_id: TypeId) -> &[Block] {
        self.types.get(&type_id).map_or(&[], |of_type| &of_type.blocks)
    }

    /// Removes and returns types, the largest first, until at most `rest` bytes remain. Small types stay longer, so
    /// that they are written to few files.
    pub(in crate::ingest) fn drain(&mut self, rest: usize) -> Vec<(TypeId, Vec<Block>)> {
        let mut by_weight: Vec<(usize, TypeId)> = self
            .types
            .iter()
            .map(|(type_id, of_type)| (of_type.weight, *type_id))
            .collect();
        by_weight.sort_unstable_by(|one, other| other.cmp(one));
        let mut drained = Vec::new();
        for (weight, type_id) in by_weight {
            if self.weight <= rest {
                break;
            }
            self.weight -= weight;
            drained.extend(self.types.remove(&type_id).map(|of_type| (type_id, of_type.blocks)));
        }
        drained
    }
}
