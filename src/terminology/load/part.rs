//! Finds files, and selects one of several with the same layout.

use std::path::PathBuf;

use super::layout::{LOOKED_FOR, Layout, recognise};
use crate::published::{self, PublishedError};

/// A file of a known layout.
pub(super) type Part = published::Part<Layout>;

/// Finds the files with known layouts in these paths. If a path has several files with the same layout, only one of
/// them is returned, except for FHIR's layouts.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Part>, PublishedError> {
    let found = published::find(paths, recognise, LOOKED_FOR)?;
    Ok(found.into_iter().flat_map(chosen).collect())
}

/// Selects one file of each layout, except for FHIR's layouts. Prefers a snapshot to a full history, then inferred
/// relations to stated ones, and then the largest file. Publishers' archives also have smaller files of a layout, which
/// are not wanted: RxNorm's prescribable subset, LOINC's short table, and ICD-10-CM's addendum.
fn chosen(found: Vec<Part>) -> Vec<Part> {
    let rank = |part: &Part| {
        let name = part.name.to_ascii_lowercase();
        (name.contains("snapshot"), !name.contains("stated"), part.size)
    };
    let mut chosen: Vec<Part> = Vec::new();
    for part in found {
        match chosen
            .iter_mut()
            .find(|other| other.layout == part.layout && !part.layout.is_fhir())
        {
            Some(other) if rank(&part) > rank(other) => *other = part,
            Some(_) => {}
            None => chosen.push(part),
        }
    }
    chosen
}
