//! Evaluates the expression over one table of a lake, in a scope.

use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::execution::context::SessionConfig;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_plan::displayable;

use super::args::Args;
use super::expression::{advise, explain, resource_type, wrong};
use super::result::Lines;
use crate::cli::lake::lake_scope::{scope, warn_of_nobody};
use crate::cli::terminal::failure::Failure;
use crate::fhirpath::{CompileOptions, compile};
use crate::lake::Lake;
use crate::lake::scan::{FILE, ROW, ScanRequest};

/// Evaluates the expression over the table, or explains the expression and the scan.
pub(super) fn run(arguments: &Args, data: &Path, options: &CompileOptions<'_>) -> Result<(), Failure> {
    let type_id = resource_type(arguments.resource_type.as_deref().unwrap_or_default())?;
    let whole = super::files::whole;
    let options = CompileOptions {
        extra: Some(&whole),
        ..options.clone()
    };
    let program = compile(&arguments.expression, type_id, &options).map_err(|error| wrong(arguments, &error))?;
    advise([&program]);
    let lake = Lake::open(data).map_err(Failure::from_lake)?;
    if let Some(patient) = &arguments.patient {
        warn_of_nobody(&lake, arguments.mode.into(), &arguments.application, patient);
    }
    let scope = scope(
        &lake,
        arguments.mode.into(),
        &arguments.application,
        arguments.patient.as_deref(),
    );
    let mut request = ScanRequest {
        leaves: super::files::leaves(&program),
        ..ScanRequest::default()
    };
    request.leaves.insert("id".to_owned());
    let provider = lake.table(&lake.snapshot(), type_id, &scope).provider(request);
    let schema = provider.schema();
    let columns: Vec<usize> = (0..schema.fields().len())
        .filter(|at| !matches!(schema.field(*at).name().as_str(), FILE | ROW))
        .collect();
    // With several partitions, the lines could have another order than the table. So use one.
    let config = SessionConfig::new().with_target_partitions(1);
    let state = SessionStateBuilder::new().with_config(config).build();
    let plan = futures::executor::block_on(provider.scan(&state, Some(&columns), &[], None)).map_err(Failure::other)?;
    if arguments.explain {
        explain(arguments, type_id, &options)?;
        print!("{}", displayable(Arc::as_ref(&plan)).indent(true));
        return Ok(());
    }
    let batches = plan.execute(0, state.task_ctx()).map_err(Failure::other)?;
    let mut lines = Lines::new(arguments.limit);
    for batch in futures::executor::block_on_stream(batches) {
        if !lines.wants_more() {
            break;
        }
        let batch = batch.map_err(Failure::other)?;
        lines
            .print(type_id, &program, &batch)
            .map_err(|error| wrong(arguments, &error))?;
    }
    lines.finish()
}
