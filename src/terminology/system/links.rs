//! Links from each concept to its parents, or to its children.

/// For each concept, a list of the indexes of its parents or of its children. All lists are in one allocation.
#[derive(Debug, Default)]
pub(in crate::terminology) struct Links {
    /// The end of each concept's list in `targets`. Empty if there are no links at all.
    ends: Vec<u32>,
    targets: Vec<u32>,
}

impl Links {
    /// Creates the lists of `count` concepts from pairs of a concept and a linked concept. Duplicate pairs count once.
    pub(in crate::terminology) fn new(count: usize, mut pairs: Vec<(u32, u32)>) -> Links {
        if pairs.is_empty() {
            return Links::default();
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut ends = vec![0u32; count];
        for (place, _) in &pairs {
            ends[*place as usize] += 1;
        }
        let mut end = 0;
        for slot in &mut ends {
            end += *slot;
            *slot = end;
        }
        Links {
            ends,
            targets: pairs.into_iter().map(|(_, target)| target).collect(),
        }
    }

    /// Returns the links in the other direction: for each concept, the list of the concepts that link to it.
    pub(in crate::terminology) fn turned(&self, count: usize) -> Links {
        let pairs =
            (0..self.ends.len() as u32).flat_map(|place| self.of(place).iter().map(move |target| (*target, place)));
        Links::new(count, pairs.collect())
    }

    pub(in crate::terminology) fn of(&self, place: u32) -> &[u32] {
        let Some(end) = self.ends.get(place as usize) else {
            return &[];
        };
        let start = match place {
            0 => 0,
            _ => self.ends[place as usize - 1],
        };
        &self.targets[start as usize..*end as usize]
    }

    pub(in crate::terminology) fn len(&self) -> usize {
        self.targets.len()
    }

    pub(in crate::terminology) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns the number of bytes in memory.
    pub(in crate::terminology) fn size(&self) -> usize {
        (self.ends.capacity() + self.targets.capacity()) * size_of::<u32>()
    }
}
