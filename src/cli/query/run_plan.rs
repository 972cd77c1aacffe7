//! `tabularium run-plan`: runs plans that another process over the same lake has written to files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::physical_plan::execute_stream;
use futures::StreamExt;

use super::super::service::serve;
use super::super::tables::terminology;
use super::super::tables::terminology::TerminologyArgument;
use super::super::terminal::failure::Failure;
use super::super::terminal::sink::{Sink, Stop};
use crate::codec::{CodecError, PlanCodec};
use crate::lake::Lake;
use crate::search::Engine;
use crate::sql::Writer;
use crate::views::Format;

/// Run plans that a program over the same lake has written (for engineers)
///
/// A file has one physical plan, signed by the lake. Changed plans and those of another lake are refused. A plan reads
/// the snapshot and the scope that it was made for. Rows are written as NDJSON: for searches the locators of matches,
/// for views and SQL their columns. With several plans an empty line follows each.
///
/// Exit codes: 0 done; 2 a file holds no plan of this lake, or one that cannot be read here; 1 another failure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Files with a plan each
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Folder of further SearchParameter resources, as they were known to the program that made the plan
    #[arg(long, value_name = "DIR")]
    search_parameters: Option<PathBuf>,
    #[command(flatten)]
    terminology: TerminologyArgument,
}

/// Runs the plans one after the other and writes their rows.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let lake = Lake::open(&arguments.data).map_err(Failure::from_lake)?;
    let terminology = arguments.terminology.load(Some(&arguments.data))?;
    let of_searches = match &terminology {
        Some(terminology) => terminology.clone(),
        None => terminology::open(&arguments.data, None)?,
    };
    let parameters = serve::parameters(arguments.search_parameters.as_deref())?;
    let engine = Engine::new(lake.clone(), parameters).with_terminology(of_searches);
    let codec = PlanCodec::new(lake, Arc::new(engine), terminology);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    let mut sink = Sink::at(None)?;
    let ran = arguments.files.iter().try_for_each(|file| {
        runtime.block_on(rows(&codec, file, &mut sink))?;
        match arguments.files.len() {
            1 => Ok(()),
            _ => sink.write(b"\n"),
        }
    });
    match ran.and_then(|()| sink.finish()) {
        Ok(()) | Err(Stop::Quiet) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

async fn rows(codec: &PlanCodec, file: &Path, sink: &mut Sink) -> Result<(), Stop> {
    let failed = |failure: Failure| Stop::Failed(failure);
    let of_file = |problem: &dyn std::fmt::Display| format!("{}: {problem}", file.display());
    let bytes = std::fs::read(file).map_err(|error| failed(Failure::input(of_file(&error))))?;
    let plan = codec.decode(&bytes).map_err(|error: CodecError| {
        if error.is_input() {
            failed(Failure::input(of_file(&error)))
        } else {
            failed(Failure::other(of_file(&error)))
        }
    })?;
    let of_run = |error: &dyn std::fmt::Display| failed(Failure::other(of_file(error)));
    let (mut writer, head) = Writer::new(Format::Ndjson, &plan.schema()).map_err(|error| of_run(&error))?;
    sink.write(&head)?;
    let mut batches = execute_stream(plan, codec.context()).map_err(|error| of_run(&error.strip_backtrace()))?;
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(|error| of_run(&error.strip_backtrace()))?;
        sink.write(&writer.write(&batch).map_err(|error| of_run(&error))?)?;
    }
    sink.write(&writer.finish().map_err(|error| of_run(&error))?)
}
