//! `tabularium erase`: one person's records out of the lake, for good.

use std::path::PathBuf;

use super::failure::Failure;
use super::lake_scope::LOCAL;
use super::mode::Mode;
use crate::fhir::facts;
use crate::lake::{Erased, Lake, PatientScope};

/// Erase a person's records: every resource filed under one Patient, with all earlier versions
///
/// They are gone for all readers as soon as it begins, a running server's page links included, and their bytes leave the
/// data folder before it ends: the files that hold them are rewritten without them. What belongs to nobody in particular stays
/// (organizations, practitioners, records that name several people), and importing the person again brings them back. If it is
/// interrupted, the next command that writes finishes it. Backups and copies of the folder are not touched.
///
/// Exit codes: 0 erased; 2 there is no lake, or nothing is filed under this Patient; 1 another failure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The id of the Patient
    #[arg(long, value_name = "ID")]
    patient: String,
    /// Erase live or test records
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// The application that the records belong to
    #[arg(long, value_name = "ID", default_value = LOCAL)]
    application: String,
}

/// Erases and says what.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    let Args {
        data,
        patient,
        mode,
        application,
    } = arguments;
    let lake = Lake::open(&data).map_err(Failure::from_lake)?;
    let mut writer = lake.writer().map_err(Failure::from_lake)?;
    let scope = PatientScope {
        owners: lake.owners_of(&application, &patient),
        patients: vec![patient.clone()],
        authorizations: Vec::new(),
    };
    let erased = writer
        .erase(mode.into(), &application, &scope)
        .map_err(Failure::other)?;
    if erased.rows == 0 {
        return Err(Failure::input(format!(
            "no records of Patient/{patient} of the application {application} are in the lake"
        )));
    }
    print!("{}", report(&erased));
    Ok(())
}

fn report(erased: &Erased) -> String {
    let mut lines: Vec<(&str, u64)> = erased
        .resources
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(ty, count)| (facts().get(*ty).name, *count))
        .collect();
    lines.sort_unstable();
    let total: u64 = lines.iter().map(|(_, count)| count).sum();
    lines.push(("total", total));
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let digits = total.to_string().len();
    let mut text = String::new();
    for (name, count) in lines {
        text.push_str(&format!("{name:<width$}  {count:>digits$}\n"));
    }
    if erased.rows > total {
        let more = erased.rows - total;
        text.push_str(&format!("and {more} earlier versions and deleted resources\n"));
    }
    text.push_str(&format!(
        "{} files rewritten, {} removed\n",
        erased.files_rewritten, erased.files_removed
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_line_up_and_add_up() {
        let ty = |name| facts().lookup(name).unwrap();
        let erased = Erased {
            resources: [(ty("Patient"), 1), (ty("Observation"), 120), (ty("Goal"), 0)].into(),
            rows: 125,
            files_rewritten: 3,
            files_removed: 1,
        };
        let expected = "Observation  120\nPatient        1\ntotal        121\n\
                        and 4 earlier versions and deleted resources\n3 files rewritten, 1 removed\n";
        assert_eq!(report(&erased), expected);
    }
}
