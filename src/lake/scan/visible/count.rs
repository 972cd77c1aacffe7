//! Counts the rows of a scope from the system columns of row groups.

use super::super::conditions::owner_set::OwnerSet;
use super::super::error::ScanError;
use super::super::table::ScopedTable;

impl ScopedTable {
    /// Counts the rows that the scope shows. For a patient scope, shared rows do not count, because they belong to no
    /// person.
    pub fn own_rows(&self) -> Result<u64, ScanError> {
        let Some(patient) = self.scope.patient.as_deref() else {
            return self.counted(self.files(), None);
        };
        let owners = OwnerSet::of(&patient.owners);
        self.counted(&self.files_of(&patient.owners), Some(&owners))
    }

    fn counted(
        &self,
        files: &[std::sync::Arc<crate::lake::snapshot::DataFile>],
        owners: Option<&OwnerSet>,
    ) -> Result<u64, ScanError> {
        let mut count = 0;
        for data in files {
            let file = self.open(data)?;
            for group in 0..file.groups().len() {
                count += self.visible(data, &file, group, owners)?.count() as u64;
            }
        }
        Ok(count)
    }
}
