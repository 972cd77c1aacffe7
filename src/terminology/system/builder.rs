//! Builds a code system, concept by concept, in any order.

use super::super::codes::ndc::Ndcs;
use super::super::error::TerminologyError;
use super::code_system::{CodeIndex, CodeSystem, Head};
use super::links::Links;
use super::properties::PropertiesBuilder;
use super::texts::Texts;

/// Stands for a missing display in `display_of`.
const NONE: u32 = u32::MAX;

/// A code system under construction.
#[derive(Debug)]
pub(in crate::terminology) struct Builder {
    head: Head,
    index: CodeIndex,
    codes: Texts,
    displays: Texts,
    /// For each concept, the number of its display in `displays`, or [`NONE`].
    display_of: Vec<u32>,
    /// Pairs of the index of a child and the index of its parent.
    parents: Vec<(u32, u32)>,
    properties: PropertiesBuilder,
    ndcs: Vec<(u64, u32)>,
}

impl Builder {
    pub(in crate::terminology) fn new(head: Head) -> Builder {
        Builder {
            head,
            index: CodeIndex::default(),
            codes: Texts::default(),
            displays: Texts::default(),
            display_of: Vec::new(),
            parents: Vec::new(),
            properties: PropertiesBuilder::default(),
            ndcs: Vec::new(),
        }
    }

    pub(in crate::terminology) fn set_version(&mut self, version: Option<String>) {
        self.head.version = version;
    }

    /// Declares the system complete: a code that was not added does not belong to the system.
    pub(in crate::terminology) fn set_complete(&mut self) {
        self.head.complete = true;
    }

    /// Declares the system partial: a code that was not added may belong to the system, too.
    pub(in crate::terminology) fn set_partial(&mut self) {
        self.head.complete = false;
    }

    fn full(&self) -> TerminologyError {
        TerminologyError::TooLarge {
            system: self.head.url.clone(),
        }
    }

    /// Adds a code if it is missing. Returns its index, and whether it was added.
    pub(in crate::terminology) fn concept(&mut self, code: &str) -> Result<(u32, bool), TerminologyError> {
        if let Some(place) = self.place(code) {
            return Ok((place, false));
        }
        let place = self.codes.push(code).ok_or_else(|| self.full())?;
        self.index.insert(&self.codes, self.head.case_sensitive, place);
        self.display_of.push(NONE);
        Ok((place, true))
    }

    /// Returns the index of a code. `None` if the code was not added yet.
    pub(in crate::terminology) fn place(&self, code: &str) -> Option<u32> {
        self.index.find(&self.codes, self.head.case_sensitive, code)
    }

    /// Returns the code at an index.
    pub(in crate::terminology) fn code(&self, place: u32) -> &str {
        self.codes.get(place)
    }

    pub(in crate::terminology) fn len(&self) -> usize {
        self.codes.len()
    }

    pub(in crate::terminology) fn has_display(&self, place: u32) -> bool {
        self.display_of[place as usize] != NONE
    }

    /// Sets a concept's display. An empty display changes nothing.
    pub(in crate::terminology) fn display(&mut self, place: u32, display: &str) -> Result<(), TerminologyError> {
        if !display.is_empty() {
            self.display_of[place as usize] = self.displays.push(display).ok_or_else(|| self.full())?;
        }
        Ok(())
    }

    /// Makes a concept a child of another.
    pub(in crate::terminology) fn join(&mut self, parent: u32, child: u32) {
        if parent != child {
            self.parents.push((child, parent));
        }
    }

    /// Adds a property to a concept.
    pub(in crate::terminology) fn property(
        &mut self,
        place: u32,
        name: &str,
        value: &str,
    ) -> Result<(), TerminologyError> {
        self.properties.add(place, name, value).ok_or_else(|| self.full())
    }

    /// Assigns an NDC, as a number of 11 digits, to a concept.
    pub(in crate::terminology) fn ndc(&mut self, ndc: u64, place: u32) {
        self.ndcs.push((ndc, place));
    }

    /// Returns the properties with this name that were added so far: the index of the concept, and the value.
    pub(in crate::terminology) fn given(&self, name: &str) -> Vec<(u32, String)> {
        self.properties.named(name)
    }

    /// Builds the system. Its concepts are in the order of their codes.
    pub(in crate::terminology) fn finish(mut self) -> Result<CodeSystem, TerminologyError> {
        let count = self.codes.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_unstable_by(|one, other| self.codes.get(*one).cmp(self.codes.get(*other)));
        let mut places = vec![0u32; count];
        for (place, old) in order.iter().enumerate() {
            places[*old as usize] = place as u32;
        }
        // Drop the index, because the sorted copy needs its memory. `CodeSystem::new` builds the index again.
        self.index = CodeIndex::default();
        let (mut codes, mut displays) = (Texts::default(), Texts::default());
        for old in &order {
            let display = match self.display_of[*old as usize] {
                NONE => "",
                number => self.displays.get(number),
            };
            let pushed = codes.push(self.codes.get(*old)).and(displays.push(display));
            pushed.ok_or_else(|| self.full())?;
        }
        codes.shrink();
        displays.shrink();
        let moved = |place: &u32| places[*place as usize];
        let parents = self.parents.iter().map(|(child, parent)| (moved(child), moved(parent)));
        let parents = Links::new(count, parents.collect());
        for (_, place) in &mut self.ndcs {
            *place = places[*place as usize];
        }
        let properties = self.properties.finish(count, |place| places[place as usize]);
        let ndcs = Ndcs::new(self.ndcs);
        Ok(CodeSystem::new(self.head, codes, displays, parents, properties, ndcs))
    }
}
