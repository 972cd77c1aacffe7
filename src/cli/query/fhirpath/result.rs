//! Writes results as JSON: an array for one resource, or a line for each of many resources.

use arrow::array::{Array, AsArray, RecordBatch};

use crate::cli::terminal::failure::Failure;
use crate::fhir::{TypeId, facts};
use crate::fhirpath::{Collection, FhirPathError, Focus, Program, Work, WorkBudget};

/// Returns the items of a row as a JSON array of objects with `type` and `value`. `between` separates the items.
pub(super) fn rendered(collection: &Collection, row: usize, between: &str) -> String {
    let mut out = String::from("[");
    for item in collection.range(row) {
        let (items, item) = collection.item(item);
        let comma = if out.len() > 1 { between } else { "" };
        out.push_str(&format!("{comma}{{\"type\": \"{}\", \"value\": ", items.type_name()));
        items.write_json(item, &mut out);
        out.push('}');
    }
    out.push(']');
    out
}

/// Prints a line for each resource, up to a limit, and counts the failures.
pub(super) struct Lines {
    /// The number of lines that can still be printed before the limit is reached.
    left: usize,
    /// The number of resources on which the expression failed.
    failed: usize,
    /// The work budget of the whole command, which all batches share.
    budget: WorkBudget,
}

impl Lines {
    /// Creates a printer that prints at most `limit` lines. `None` means no limit.
    pub(super) fn new(limit: Option<usize>) -> Lines {
        Lines {
            left: limit.unwrap_or(usize::MAX),
            failed: 0,
            budget: WorkBudget::default(),
        }
    }

    /// Whether the limit is not reached yet.
    pub(super) fn wants_more(&self) -> bool {
        self.left > 0
    }

    /// Evaluates the program over the resources of a batch, and prints a line for each until the limit is reached.
    pub(super) fn print(
        &mut self,
        type_id: TypeId,
        program: &Program,
        batch: &RecordBatch,
    ) -> Result<(), FhirPathError> {
        let batch = batch.slice(0, batch.num_rows().min(self.left));
        self.left -= batch.num_rows();
        let work = Work::over(&batch, program.parts(), &self.budget);
        let evaluation = program.evaluate_on(&Focus::root(&batch, type_id).within(&work))?;
        let ids = batch
            .column_by_name("id")
            .and_then(|ids| ids.as_string_opt::<i32>().cloned());
        let mut faults = evaluation.faults.iter().peekable();
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            let id = ids.as_ref().filter(|ids| ids.is_valid(row)).map(|ids| ids.value(row));
            let resource_type = facts().get(type_id).name;
            let name = id.map_or_else(|| resource_type.to_owned(), |id| format!("{resource_type}/{id}"));
            let name = serde_json::Value::from(name);
            let fault = faults.next_if(|fault| fault.row as usize == row);
            let result = match fault {
                None => format!("\"result\": {}", rendered(&evaluation.collection, row, ", ")),
                Some(fault) => {
                    self.failed += 1;
                    format!("\"error\": {}", serde_json::Value::from(fault.error.to_string()))
                }
            };
            text.push_str(&format!("{{\"resource\": {name}, {result}}}\n"));
        }
        print!("{text}");
        Ok(())
    }

    /// Fails with exit code 3 if the expression failed on a resource.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self.failed {
            0 => Ok(()),
            1 => Err(Failure::partial("the expression was in error over 1 resource")),
            failed => Err(Failure::partial(format!(
                "the expression was in error over {failed} resources"
            ))),
        }
    }
}
