//! A constant table of short names, such as the properties of a type. The rules of normalization look up every property
//! of every record several times, so a lookup must cost few machine instructions. The length and four bytes of a name
//! determine the first slot to try. Names of 8 to 16 bytes are compared as two pieces of eight bytes, which can
//! overlap.

/// A hash table from names to values. A name whose slot is taken is in one of the next slots.
#[derive(Debug)]
pub(crate) struct NameTable<V> {
    /// The slots. Their number is a power of two and at least four times the number of names.
    slots: Vec<Option<(&'static str, V)>>,
}

impl<V> Default for NameTable<V> {
    fn default() -> NameTable<V> {
        NameTable { slots: Vec::new() }
    }
}

impl<V> FromIterator<(&'static str, V)> for NameTable<V> {
    /// Builds a table. If several values have the same name, the last one counts.
    fn from_iter<I: IntoIterator<Item = (&'static str, V)>>(names: I) -> NameTable<V> {
        let names: Vec<(&'static str, V)> = names.into_iter().collect();
        let mut table = NameTable::default();
        if names.is_empty() {
            return table;
        }
        table.slots.resize_with((names.len() * 4).next_power_of_two(), || None);
        for (name, value) in names {
            let mut at = table.first(name);
            while table.slots[at].as_ref().is_some_and(|(known, _)| *known != name) {
                at = (at + 1) & (table.slots.len() - 1);
            }
            table.slots[at] = Some((name, value));
        }
        table
    }
}

impl<V> NameTable<V> {
    /// Returns the value of a name.
    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = self.first(name);
        loop {
            let (known, value) = self.slots[at].as_ref()?;
            if is_same(known.as_bytes(), name.as_bytes()) {
                return Some(value);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &V)> {
        self.slots.iter().flatten().map(|(name, value)| (*name, value))
    }

    /// Returns the first slot to try for a name.
    #[inline]
    fn first(&self, name: &str) -> usize {
        let bytes = name.as_bytes();
        let at = |place: usize| bytes.get(place).copied().map_or(0, usize::from);
        let last = bytes.len().saturating_sub(1);
        let mixed = bytes.len()
            ^ at(0).wrapping_mul(0x9e37_79b1)
            ^ at(bytes.len() / 2).wrapping_mul(0x85eb_ca77)
            ^ at(bytes.len() / 4 + 1).wrapping_mul(0xc2b2_ae3d)
            ^ at(last).wrapping_mul(0x27d4_eb2f);
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> (usize::BITS - 16)) & (self.slots.len() - 1)
    }
}

/// Whether two names are equal. Names of at most 16 bytes are compared without a call of `memcmp`.
#[inline]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    match (
        one.first_chunk::<8>(),
        one.last_chunk::<8>(),
        other.first_chunk::<8>(),
        other.last_chunk::<8>(),
    ) {
        (Some(first), Some(last), Some(other_first), Some(other_last)) if one.len() <= 16 => {
            first == other_first && last == other_last
        }
        (None, ..) => one.iter().zip(other).all(|(one, other)| one == other),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length_are_found_and_no_others() {
        let names: Vec<&'static str> = (0..40)
            .map(|length| &*"abcdefghij".repeat(4)[..length].to_owned().leak())
            .collect();
        let table: NameTable<usize> = names.iter().copied().zip(0..).collect();
        assert_eq!(table.iter().count(), names.len());
        for (at, name) in names.iter().enumerate() {
            assert_eq!(table.get(name), Some(&at));
            for place in 0..name.len() {
                let mut other = name.to_string();
                other.replace_range(place..=place, "X");
                assert_eq!(table.get(&other), None, "{other}");
            }
        }
        let twice: NameTable<u8> = [("a", 1), ("b", 2), ("a", 3)].into_iter().collect();
        assert_eq!(
            (twice.get("a"), twice.get("b"), twice.get("c")),
            (Some(&3), Some(&2), None)
        );
        assert_eq!(NameTable::<u8>::default().get(""), None);
    }
}
