//! The properties of concepts. Each name and each value is stored once, because there are few names, and many concepts
//! share a value.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::texts::Texts;

/// A concept's property: the index of the concept, the number of the name and the number of the value.
type Entry = (u32, u16, u32);

/// Properties by concept. Each property takes 6 bytes. A value is stored once, however many concepts have it.
#[derive(Debug, Default)]
pub(in crate::terminology) struct Properties {
    names: Vec<String>,
    values: Texts,
    /// For each concept, the end of its properties in `entry_names` and `entry_values`. Empty if there are no
    /// properties at all.
    ends: Vec<u32>,
    entry_names: Vec<u16>,
    entry_values: Vec<u32>,
}

impl Properties {
    fn range(&self, place: u32) -> std::ops::Range<usize> {
        let end = self.ends.get(place as usize).copied().unwrap_or(0);
        let start = match place {
            0 => 0,
            _ => self.ends.get(place as usize - 1).copied().unwrap_or(0),
        };
        start as usize..end as usize
    }

    /// Returns the name and value of each property of a concept.
    pub(in crate::terminology) fn of(&self, place: u32) -> impl Iterator<Item = (&str, &str)> {
        self.range(place).map(|entry| {
            let name = &self.names[self.entry_names[entry] as usize];
            (name.as_str(), self.values.get(self.entry_values[entry]))
        })
    }

    /// Returns the values of one property of a concept.
    pub(in crate::terminology) fn values<'a>(
        &'a self,
        place: u32,
        name: &str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = self.names.iter().position(|known| known == name);
        let entries = self.range(place);
        let entries = entries.filter(move |entry| name.is_some_and(|name| self.entry_names[*entry] as usize == name));
        entries.map(|entry| self.values.get(self.entry_values[entry]))
    }

    pub(in crate::terminology) fn len(&self) -> usize {
        self.entry_values.len()
    }

    pub(in crate::terminology) fn is_empty(&self) -> bool {
        self.entry_names.is_empty()
    }

    /// Returns the number of bytes in memory.
    pub(in crate::terminology) fn size(&self) -> usize {
        self.values.size()
            + self.ends.capacity() * 4
            + self.entry_names.capacity() * 2
            + self.entry_values.capacity() * 4
    }
}

/// Properties while they are collected.
#[derive(Debug, Default)]
pub(in crate::terminology) struct PropertiesBuilder {
    names: Vec<String>,
    name_numbers: FxHashMap<String, u16>,
    values: Texts,
    value_numbers: HashTable<u32>,
    entries: Vec<Entry>,
}

impl PropertiesBuilder {
    /// Adds a property to a concept. `None` if there would be more than 65,536 names or more than 4 GiB of values.
    pub(in crate::terminology) fn add(&mut self, place: u32, name: &str, value: &str) -> Option<()> {
        let name = match self.name_numbers.get(name) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.names.len()).ok()?;
                self.names.push(name.to_string());
                self.name_numbers.insert(name.to_string(), number);
                number
            }
        };
        let value = self.value(value)?;
        self.entries.push((place, name, value));
        Some(())
    }

    fn value(&mut self, value: &str) -> Option<u32> {
        let hash = FxBuildHasher.hash_one(value);
        let values = &self.values;
        if let Some(number) = self.value_numbers.find(hash, |number| values.get(*number) == value) {
            return Some(*number);
        }
        let number = self.values.push(value)?;
        let values = &self.values;
        let rehash = |number: &u32| FxBuildHasher.hash_one(values.get(*number));
        self.value_numbers.insert_unique(hash, number, rehash);
        Some(number)
    }

    /// Returns the index of the concept and the value of each property with this name.
    pub(in crate::terminology) fn named(&self, name: &str) -> Vec<(u32, String)> {
        let Some(name) = self.name_numbers.get(name) else {
            return Vec::new();
        };
        let named = self.entries.iter().filter(|(_, of, _)| of == name);
        named
            .map(|(place, _, value)| (*place, self.values.get(*value).to_string()))
            .collect()
    }

    /// Builds the properties of `count` concepts. `moved` returns the new index of a concept. The properties of one
    /// concept keep their order.
    pub(in crate::terminology) fn finish(mut self, count: usize, moved: impl Fn(u32) -> u32) -> Properties {
        if self.entries.is_empty() {
            return Properties::default();
        }
        for (place, _, _) in &mut self.entries {
            *place = moved(*place);
        }
        self.entries.sort_by_key(|(place, _, _)| *place);
        let mut ends = vec![0u32; count];
        for (place, _, _) in &self.entries {
            ends[*place as usize] += 1;
        }
        let mut end = 0;
        for slot in &mut ends {
            end += *slot;
            *slot = end;
        }
        self.values.shrink();
        Properties {
            names: self.names,
            values: self.values,
            ends,
            entry_names: self.entries.iter().map(|(_, name, _)| *name).collect(),
            entry_values: self.entries.iter().map(|(_, _, value)| *value).collect(),
        }
    }
}
