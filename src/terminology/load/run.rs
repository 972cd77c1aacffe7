//! Reads files into code systems and value sets.

use std::path::PathBuf;

use super::layout::Layout;
use super::part::{self, Part};
use super::{cvx, fhir, hcpcs, icd10, loinc, national_drugs, nucc, place_of_service, rxnorm, snomed};
use crate::published::{Lines, name};
use crate::terminology::codes::systems;
use crate::terminology::error::TerminologyError;
use crate::terminology::sets::raw;
use crate::terminology::sets::raw::Resource;
use crate::terminology::system::code_system::CodeSystem;

/// A loaded code system.
#[derive(Debug)]
pub struct LoadedSystem {
    /// The code system.
    pub system: CodeSystem,
    /// The name of the publisher's file.
    pub source: String,
    /// Whether the system is the publisher's complete one, and not an excerpt. An excerpt does not replace a complete
    /// system.
    pub whole: bool,
}

/// What was loaded from files.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The code systems.
    pub systems: Vec<LoadedSystem>,
    pub(in crate::terminology) sets: Vec<raw::ValueSet>,
}

impl Loaded {
    /// Returns the number of value sets.
    pub fn value_sets(&self) -> usize {
        self.sets.len()
    }
}

/// Reads files, folders and archives. `version` is the version of the publisher's code system in them. With `version`,
/// there must be exactly one such system. Without `version`, the versions come from the files or, if these state none,
/// from their names.
pub fn load(paths: &[PathBuf], version: Option<&str>) -> Result<Loaded, TerminologyError> {
    let parts = Parts::new(part::find(paths)?)?;
    let mut loaded = Loaded::default();
    let count = parts.systems();
    if version.is_some() && count != 1 {
        return Err(TerminologyError::SeveralVersions(count));
    }
    parts.publishers(&mut loaded, version)?;
    parts.fhir(&mut loaded)?;
    if loaded.systems.is_empty() && loaded.sets.is_empty() {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(TerminologyError::Empty { path });
    }
    Ok(loaded)
}

/// The files to load: at most one of each layout, and any number of FHIR files.
struct Parts(Vec<Part>);

impl Parts {
    fn new(parts: Vec<Part>) -> Result<Parts, TerminologyError> {
        for (at, part) in parts.iter().enumerate() {
            let same = |other: &&Part| other.layout.what() == part.layout.what() && !part.layout.is_fhir();
            if let Some(other) = parts[..at].iter().find(same) {
                return Err(TerminologyError::Twice {
                    one: other.name.clone(),
                    other: part.name.clone(),
                    what: part.layout.what(),
                });
            }
        }
        let parts = Parts(parts);
        for (needing, needed, missing) in [
            (Layout::DrugPackages, Layout::DrugProducts, "FDA's product.txt"),
            (Layout::RxnormAttributes, Layout::RxnormConcepts, "RXNCONSO.RRF"),
            (Layout::RxnormRelations, Layout::RxnormConcepts, "RXNCONSO.RRF"),
            (
                Layout::SnomedConcepts,
                Layout::SnomedDescriptions,
                "the file of descriptions",
            ),
            (
                Layout::SnomedDescriptions,
                Layout::SnomedConcepts,
                "the file of concepts",
            ),
            (Layout::SnomedRelations, Layout::SnomedConcepts, "the file of concepts"),
        ] {
            if let (Some(part), None) = (parts.get(needing), parts.get(needed)) {
                return Err(TerminologyError::Alone {
                    name: part.name.clone(),
                    what: needing.what(),
                    missing,
                });
            }
        }
        Ok(parts)
    }

    fn get(&self, layout: Layout) -> Option<&Part> {
        self.0.iter().find(|part| part.layout == layout)
    }

    /// Returns the number of code systems in the publishers' own files. FHIR files do not count.
    fn systems(&self) -> usize {
        let parts = [
            Layout::DrugPackages,
            Layout::RxnormAttributes,
            Layout::RxnormRelations,
            Layout::SnomedDescriptions,
            Layout::SnomedRelations,
        ];
        self.0
            .iter()
            .filter(|part| !parts.contains(&part.layout) && !part.layout.is_fhir())
            .count()
    }

    fn publishers(&self, loaded: &mut Loaded, version: Option<&str>) -> Result<(), TerminologyError> {
        for part in &self.0 {
            let given = version.map(str::to_string);
            let named = given.clone().or_else(|| name::version(&part.name));
            let system = match part.layout {
                Layout::Icd10Cm => lines(part, |lines| icd10::diagnoses(lines, named))?,
                Layout::Icd10Pcs => lines(part, |lines| icd10::procedures(lines, named))?,
                Layout::Hcpcs => lines(part, |lines| hcpcs::read(lines, named))?,
                Layout::Cvx => lines(part, |lines| cvx::vaccines(lines, given))?,
                Layout::Mvx => lines(part, |lines| cvx::manufacturers(lines, given))?,
                Layout::CvxXml => part.read(|reader| cvx::from_xml(systems::CVX, reader, &part.name, given))?,
                Layout::MvxXml => part.read(|reader| cvx::from_xml(systems::MVX, reader, &part.name, given))?,
                Layout::DrugProducts => national_drugs::read(part, self.get(Layout::DrugPackages), named)?,
                Layout::RxnormConcepts => {
                    let (attributes, relations) = (Layout::RxnormAttributes, Layout::RxnormRelations);
                    rxnorm::read(part, self.get(attributes), self.get(relations), named)?
                }
                Layout::Loinc => part.read(|reader| loinc::read(reader, &part.name, given))?,
                Layout::SnomedConcepts => {
                    let Some(descriptions) = self.get(Layout::SnomedDescriptions) else {
                        continue;
                    };
                    snomed::read(part, descriptions, self.get(Layout::SnomedRelations), given)?
                }
                Layout::Nucc => {
                    let release = given.or_else(|| name::release(&part.name));
                    part.read(|reader| nucc::read(reader, &part.name, release))?
                }
                Layout::PlaceOfService => part.read(|reader| place_of_service::read(reader, &part.name, named))?,
                Layout::DrugPackages
                | Layout::RxnormAttributes
                | Layout::RxnormRelations
                | Layout::SnomedDescriptions
                | Layout::SnomedRelations
                | Layout::FhirJson
                | Layout::FhirLines
                | Layout::FhirPackage => continue,
            };
            if system.is_empty() {
                let name = part.name.clone();
                return Err(TerminologyError::NoCodes { name });
            }
            loaded.systems.push(LoadedSystem {
                system,
                source: part.name.clone(),
                whole: true,
            });
        }
        Ok(())
    }

    fn fhir(&self, loaded: &mut Loaded) -> Result<(), TerminologyError> {
        for part in self.0.iter().filter(|part| part.layout.is_fhir()) {
            let mut found = Vec::new();
            fhir::read(part, &mut |resource| found.push(resource))?;
            for resource in found {
                match resource {
                    Resource::ValueSet(set) => loaded.sets.push(set),
                    // A CodeSystem without concepts only states that the system exists, so it is skipped.
                    Resource::CodeSystem(system) if system.concept.is_empty() => {}
                    Resource::CodeSystem(system) => {
                        let system = CodeSystem::from_raw(system)?;
                        let same = |other: &LoadedSystem| {
                            other.system.url() == system.url() && other.system.version() == system.version()
                        };
                        loaded
                            .systems
                            .retain(|other| !same(other) || other.whole && !system.is_complete());
                        loaded.systems.push(LoadedSystem {
                            whole: system.is_complete(),
                            system,
                            source: part.name.clone(),
                        });
                    }
                }
            }
        }
        Ok(())
    }
}

fn lines(
    part: &Part,
    take: impl FnOnce(&mut Lines<'_>) -> Result<CodeSystem, TerminologyError>,
) -> Result<CodeSystem, TerminologyError> {
    part.read(|reader| take(&mut Lines::new(reader, &part.name)))
}
