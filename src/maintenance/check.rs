//! Checks the other parts of a data folder: the service's store, terminology and plans. [`crate::lake::check`] checks
//! the lake itself.

use std::path::{Path, PathBuf};

use crate::consent::{Error, STORE_FILE, check_store};
use crate::lake::erase::ledger;
use crate::lake::{Lake, LakeError};
use crate::plans::PlanTables;
use crate::terminology::Terminology;

/// A fault in a part of the folder that is not the lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The file or folder with the fault.
    pub path: PathBuf,
    /// The fault, as a text for a message.
    pub problem: String,
}

/// Opens and reads the parts of the folder that are not the lake, and returns their faults. One fault is that the lake
/// is an older copy than its ledger of erasures. Changes nothing.
pub fn check_beside(data: &Path) -> Result<Vec<Beside>, Error> {
    let of_store = check_store(data)?.into_iter().map(|problem| Beside {
        path: data.join(STORE_FILE),
        problem,
    });
    let terminology = Terminology::open(data, None).and_then(|codes| codes.warm());
    let plans = PlanTables::open(data).and_then(|plans| plans.warm());
    // The text of each error names its file.
    let of_terminology = terminology.err().map(|error| Beside {
        path: data.join("terminology"),
        problem: error.to_string(),
    });
    let of_plans = plans.err().map(|error| Beside {
        path: data.join("plans"),
        problem: error.to_string(),
    });
    let older = Lake::open(data).ok().and_then(|lake| match lake.check_ledger() {
        Err(error @ LakeError::Older { .. }) => Some(Beside {
            path: ledger::place(data),
            problem: error.to_string(),
        }),
        _ => None,
    });
    Ok(of_store.chain(of_terminology).chain(of_plans).chain(older).collect())
}
