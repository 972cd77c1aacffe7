//! Runs a statement and writes its rows, or its plan.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;

use super::args::Args;
use crate::cli::query::run::{ExplainArgument, targets};
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::sink::{Sink, Stop};
use crate::sql::{Options, Query, Session, SqlError, Writer};
use crate::views::{Format, View};

/// The stack size in bytes of the threads that plan and run a statement, 64 MiB. DataFusion walks chains of operators
/// by recursion, as deep as the limits of `crate::sql` allow.
const STACK: usize = 64 << 20;

/// The time to wait for a signal after an error. The user may have pressed Ctrl-C before the error, and the signal has
/// not been handled yet.
const INTERRUPT: Duration = Duration::from_millis(20);

/// Runs the statement on a thread with a larger stack.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let running = std::thread::Builder::new()
        .name("sql".to_owned())
        .stack_size(STACK)
        .spawn(|| run_here(arguments))
        .map_err(Failure::other)?;
    running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn run_here(arguments: Args) -> Result<(), Failure> {
    let statement = arguments.statement()?;
    let format = arguments.format()?;
    let lake = arguments.lake.open()?;
    let views = views(&arguments)?;
    let files: Vec<PathBuf> = views.iter().map(|(file, _)| file.clone()).collect();
    let data = Some(arguments.lake.data.as_path());
    targets::keep_apart(data, &[], &files, std::slice::from_ref(&arguments.out))?;
    let named = views
        .into_iter()
        .map(|(file, view)| (view.name().map_or_else(|| targets::stem(&file), str::to_owned), view));
    let options = Options {
        memory: (arguments.memory << 20) as usize,
        spill: Some(std::env::temp_dir()),
        terminology: arguments.terminology.load(Some(&arguments.lake.data))?,
    };
    let session = Session::new(&lake, &arguments.lake.scope(&lake), named.collect(), options).map_err(failure)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build()
        .map_err(Failure::other)?;
    let answered = runtime.block_on(async {
        let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
        let stopped = || Failure::stopped("stopped before the end; no file is left of the result");
        let answered = tokio::select! {
            // `biased` checks for Ctrl-C first: before the work begins, and between any two batches.
            biased;
            _ = &mut interrupted => return Err(stopped()),
            answered = answer(&arguments, &session, &statement, format) => answered,
        };
        let Err(failure) = answered else { return Ok(()) };
        // The user may have pressed Ctrl-C before the error. If its signal arrives now, report the Ctrl-C in place of
        // the error.
        match tokio::time::timeout(INTERRUPT, interrupted).await {
            Ok(_) => Err(stopped()),
            Err(_) => Err(failure),
        }
    });
    // Waits at most 5 seconds for running tasks. A task ends when it next yields, and its temporary files are then
    // deleted.
    runtime.shutdown_timeout(Duration::from_secs(5));
    answered
}

async fn answer(arguments: &Args, session: &Session, statement: &str, format: Format) -> Result<(), Failure> {
    let query = match arguments.explain {
        Some(how) => session.explain(statement, how == ExplainArgument::Analyze).await,
        None => session.query(statement).await,
    };
    let query = query.map_err(failure)?;
    if query.is_plan() {
        print!("{}", query.plan().await.map_err(failure)?);
        return Ok(());
    }
    let mut sink = Sink::at(arguments.out.as_deref())?;
    if let Some(excerpt) = arguments.table() {
        sink = sink.of_table(excerpt);
    }
    match write(&query, &mut sink, format).await {
        Ok(rows) => {
            sink.tell_rows(rows);
            Ok(())
        }
        Err(Stop::Quiet) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// Writes the rows and returns their number.
async fn write(query: &Query, sink: &mut Sink, format: Format) -> Result<usize, Stop> {
    let failed = |error: SqlError| Stop::Failed(failure(error));
    let (mut writer, head) = Writer::new(format, &query.schema()).map_err(failed)?;
    let mut rows = Box::pin(query.rows().map_err(failed)?);
    // Reads the first batch before writing, so that a statement that fails early prints nothing.
    let mut next = rows.next().await.transpose().map_err(failed)?;
    sink.write(&head)?;
    let mut count = 0;
    while let Some(batch) = next {
        count += batch.num_rows();
        sink.write(&writer.write(&batch).map_err(failed)?)?;
        tokio::task::yield_now().await;
        next = rows.next().await.transpose().map_err(failed)?;
    }
    sink.write(&writer.finish().map_err(failed)?)?;
    sink.finish()?;
    Ok(count)
}

/// Returns the views of the folder, each with its file. The error lists every faulty view.
fn views(arguments: &Args) -> Result<Vec<(PathBuf, Arc<View>)>, Failure> {
    let Some(folder) = &arguments.views else {
        return Ok(Vec::new());
    };
    let terminology = arguments.terminology.load(Some(&arguments.lake.data))?;
    let (mut views, mut faulty) = (Vec::new(), Vec::new());
    for file in targets::definitions(folder)? {
        match targets::read(&file, terminology.clone(), false) {
            Ok(view) => views.push((file, Arc::new(view))),
            Err(failure) => faulty.push(failure),
        }
    }
    Failure::all(faulty)?;
    Ok(views)
}

fn failure(error: SqlError) -> Failure {
    let message = error.to_string();
    match error {
        error if error.is_too_costly() => Failure::partial(message),
        error if error.is_of_statement() => Failure::input(message),
        _ => Failure::other(message),
    }
}
