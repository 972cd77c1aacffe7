//! `tabularium search` and `tabularium explain`: a search as the server would run it, without the server.

use super::failure::Failure;
use super::lake_scope::LakeScope;
use crate::fhir::search_parameter::SearchParameters;
use crate::fhir::{Kind, TypeId, facts};
use crate::search::{Engine, Form, Handling, Request, SearchError, raw};

/// Search a lake and print the Bundle
///
/// The query is what follows `/fhir/` in an address: 'Observation?code=http://loinc.org|8480-6&_sort=-date&_count=5'.
#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    #[command(flatten)]
    lake: LakeScope,
    /// Resource type and parameters
    query: String,
}

/// Run a search and say how it was run: files and row groups read and skipped and why, leaves and bytes, time per step
///
/// A server started with --allow-explain says the same to application tokens that send X-Explain: true.
#[derive(Debug, clap::Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    lake: LakeScope,
    /// Resource type and parameters, as for `search`
    query: String,
    /// Print JSON; times are in microseconds
    #[arg(long)]
    json: bool,
    /// Run it so often and explain the last time: the first finds nothing in memory
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

/// Prints the page.
pub(super) fn search(arguments: SearchArgs) -> Result<(), Failure> {
    let bundle = with_engine(&arguments.lake, &arguments.query, async |engine, request| {
        engine.search(&request).await
    })?;
    println!("{}", String::from_utf8_lossy(&bundle));
    Ok(())
}

/// Prints the explanation.
pub(super) fn explain(arguments: ExplainArgs) -> Result<(), Failure> {
    let explanation = with_engine(&arguments.lake, &arguments.query, async |engine, request| {
        for _ in 1..arguments.runs {
            engine.search(&request).await?;
        }
        let (_, explanation) = engine.search_explained(&request, Form::Text).await?;
        Ok(explanation)
    })?;
    match arguments.json {
        true => println!("{}", explanation.to_json()),
        false => print!("{explanation}"),
    }
    Ok(())
}

fn with_engine<T>(
    options: &LakeScope,
    query: &str,
    run: impl AsyncFnOnce(&Engine, Request<'_>) -> Result<T, SearchError>,
) -> Result<T, Failure> {
    let (name, parameters) = query.split_once('?').unwrap_or((query, ""));
    let ty = resource_type(name)?;
    let parameters = raw::parse(parameters);
    let lake = options.open()?;
    let scope = options.scope(&lake);
    let now = lake.clock().now();
    let engine = Engine::new(lake, SearchParameters::builtin());
    let request = Request {
        scope: &scope,
        ty,
        parameters: &parameters,
        compartment: None,
        handling: Handling::Strict,
        now,
        base: "http://127.0.0.1:8080/fhir/",
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    runtime.block_on(run(&engine, request)).map_err(|error| {
        if error.is_input() {
            Failure::input(error.to_string())
        } else {
            Failure::other(error)
        }
    })
}

fn resource_type(name: &str) -> Result<TypeId, Failure> {
    facts()
        .lookup(name)
        .filter(|ty| facts().get(*ty).kind == Kind::Resource && !facts().get(*ty).is_abstract)
        .ok_or_else(|| {
            Failure::input(format!(
                "'{name}' is no R4 resource type; a query is of the form Type?parameter=value"
            ))
        })
}
