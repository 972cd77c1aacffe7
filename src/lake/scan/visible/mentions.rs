//! Counts the rows that stay when a Patient is erased, so that a command can report them: shared and application-only
//! rows that refer to the Patient, and rows from syncs.

use super::super::cache::file::ReadBytes;
use super::super::conditions::owner_set::OwnerSet;
use super::super::decode::columns::{reader, texts};
use super::super::error::ScanError;
use super::super::table::ScopedTable;
use crate::lake::owners::owner::{APPLICATION_ONLY, SHARED};

/// The number of rows read at a time.
const BATCH: usize = 256;

impl ScopedTable {
    /// Counts the scope's shared and application-only rows that refer to this Patient.
    pub fn mentions(&self, patient: &str) -> Result<u64, ScanError> {
        let named = memchr::memmem::Finder::new(patient.as_bytes());
        self.count_texts(&[SHARED, APPLICATION_ONLY], "resource", |text| {
            named
                .find_iter(text.as_bytes())
                .any(|at| is_reference(text, at, patient.len()))
        })
    }

    /// Counts the scope's rows of these owners that are filed under this Patient, whether imported or synced.
    pub fn filed_under(&self, owners: &[i64], patient: &str) -> Result<u64, ScanError> {
        self.count_texts(owners, "patient", |text| text == patient)
    }

    fn count_texts(
        &self,
        owners: &[i64],
        column: &'static str,
        mut counts: impl FnMut(&str) -> bool,
    ) -> Result<u64, ScanError> {
        let set = OwnerSet::of(owners);
        let mut count = 0;
        for data in self.files_of(owners) {
            let file = self.open(&data)?;
            let Some(leaf) = file.leaf(column) else { continue };
            for group in 0..file.groups().len() {
                let rows = self.visible(&data, &file, group, Some(&set))?;
                if rows.is_empty() {
                    continue;
                }
                for batch in reader(&file, group, &[leaf], &rows, BATCH, &ReadBytes::new(&file))? {
                    let batch = batch.map_err(file.parquet())?;
                    let text = texts(&file, batch.column(0), column)?;
                    let rows = batch.num_rows();
                    count += (0..rows).filter(|row| text(*row).is_some_and(&mut counts)).count() as u64;
                }
            }
        }
        Ok(count)
    }
}

/// Whether the id at `at` in a JSON text is part of a reference to a Patient. `length` is the length of the id.
fn is_reference(text: &str, at: usize, length: usize) -> bool {
    let before = text[..at].strip_suffix("Patient/");
    let starts = before.is_some_and(|before| before.ends_with(['"', '/']));
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    starts && !text.as_bytes().get(at + length).is_some_and(goes_on)
}

#[cfg(test)]
mod tests {
    use super::is_reference;

    #[test]
    fn only_references_to_the_patient_count() {
        let found = |text: &str| text.match_indices("ann").any(|(at, _)| is_reference(text, at, 3));
        for text in [
            r#"{"reference":"Patient/ann"}"#,
            r#"{"reference":"Patient/ann/_history/1"}"#,
            r#"{"reference":"https://example.org/fhir/Patient/ann"}"#,
        ] {
            assert!(found(text), "{text}");
        }
        for text in [
            r#"{"reference":"Patient/anna"}"#,
            r#"{"reference":"Patient/ann-1"}"#,
            r#"{"reference":"Group/ann"}"#,
            r#"{"id":"ann"}"#,
            r#"{"reference":"RelatedPatient/ann"}"#,
        ] {
            assert!(!found(text), "{text}");
        }
    }
}
