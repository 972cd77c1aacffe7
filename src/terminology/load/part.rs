//! Which of several files with one layout is taken.

use std::path::PathBuf;

use super::layout::{LOOKED_FOR, Layout, recognise};
use crate::published::{self, PublishedError};

/// A file of a known layout.
pub(super) type Part = published::Part<Layout>;

/// The files with known layouts among the named paths. Of several with one layout in one folder or archive one is
/// taken.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Part>, PublishedError> {
    let found = published::find(paths, recognise, LOOKED_FOR)?;
    Ok(found.into_iter().flat_map(chosen).collect())
}

/// Of each layout but FHIR's one file: a snapshot before a full history, inferred relations before stated ones, else
/// the largest. RxNorm's archive holds its prescribable subset too, LOINC's a short table, ICD-10-CM's an addendum.
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
