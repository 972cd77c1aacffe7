//! `tabularium search` and `tabularium explain`: run a search as the server would, without a server.

use std::io::IsTerminal;
use std::path::PathBuf;

use bytes::Bytes;

use super::super::lake::lake_scope::LakeScope;
use super::super::service::serve;
use super::super::service::token::DEFAULT_BASE_URL;
use super::super::tables::terminology;
use super::super::terminal::failure::Failure;
use super::resource_types::named;
use crate::columns::json::pretty;
use crate::consent::Store;
use crate::fhir::TypeId;
use crate::fhir::reference::is_id;
use crate::search::raw;
use crate::search::{Engine, Explanation, Form, Handling, Request, SearchError, SystemRequest};

/// The forms that a query can have. Error messages show them.
const FORMS: &str =
    "Type?parameter=value, Patient/ID/Type?parameter=value (* for all types) or ?_type=Type,Type&parameter=value";

/// Search a lake and print the Bundle
///
/// The query is the part of an address after `/fhir/`: 'Observation?code=http://loinc.org|8480-6&_sort=-date&_count=5',
/// 'Patient/ID/Observation?date=ge2024', or '?_type=Condition,Procedure&_count=5' for several types.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SearchArgs {
    #[command(flatten)]
    lake: LakeScope,
    #[command(flatten)]
    known: Known,
    /// Resource type, or Patient/ID/Type, and parameters
    query: String,
    /// Print the Bundle as programs get it: on a terminal, too, without line breaks
    #[arg(long)]
    json: bool,
}

/// Run a search and print how it was answered: files and row groups read or skipped, bytes by leaf, times
///
/// A server started with --allow-explain says the same to application tokens that send X-Explain: true.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ExplainArgs {
    #[command(flatten)]
    lake: LakeScope,
    #[command(flatten)]
    known: Known,
    /// Resource type and parameters, as for `search`
    query: String,
    /// Print JSON; times are in microseconds
    #[arg(long)]
    json: bool,
    /// Run the search this many times and explain the last: the first finds nothing in memory
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

/// What a server may have been given besides the lake.
#[derive(Debug, clap::Args)]
struct Known {
    /// Folder of SearchParameter resources to use beside FHIR's own
    #[arg(long, value_name = "DIR")]
    search_parameters: Option<PathBuf>,
    /// More CodeSystems and ValueSets for :in, :not-in, :below and :above, beside those that `terminology load` has
    /// loaded: a JSON or NDJSON file, or a folder of these
    #[arg(long, value_name = "FILE_OR_DIR")]
    terminology: Option<PathBuf>,
}

/// A search of one resource type (`Type`), or of several types or all types (`System`).
enum Asked<'a> {
    Type(Request<'a>),
    System(SystemRequest<'a>),
}

impl Asked<'_> {
    async fn search(&self, engine: &Engine) -> Result<Bytes, SearchError> {
        match self {
            Asked::Type(request) => engine.search(request).await,
            Asked::System(request) => engine.search_system(request).await,
        }
    }

    async fn explain(&self, engine: &Engine) -> Result<Explanation, SearchError> {
        let explained = match self {
            Asked::Type(request) => engine.search_explained(request, Form::Text).await,
            Asked::System(request) => engine.search_system_explained(request, Form::Text).await,
        };
        explained.map(|(_, explanation)| explanation)
    }
}

/// Runs the search and prints the first page of results.
pub(in crate::cli) fn search(arguments: SearchArgs) -> Result<(), Failure> {
    let SearchArgs {
        lake,
        known,
        query,
        json,
    } = &arguments;
    let bundle = with_engine(lake, known, query, async |engine, asked| asked.search(engine).await)?;
    if std::io::stdout().is_terminal() && !json {
        print!("{}", String::from_utf8_lossy(&pretty(&bundle)));
    } else {
        println!("{}", String::from_utf8_lossy(&bundle));
    }
    Ok(())
}

/// Runs the search `--runs` times, and prints the explanation of the last run: what it read and skipped, and how long
/// it took.
pub(in crate::cli) fn explain(arguments: ExplainArgs) -> Result<(), Failure> {
    let ExplainArgs { lake, known, query, .. } = &arguments;
    let explanation = with_engine(lake, known, query, async |engine, asked| {
        for _ in 1..arguments.runs {
            asked.search(engine).await?;
        }
        asked.explain(engine).await
    })?;
    if arguments.json {
        println!("{}", explanation.to_json());
    } else {
        print!("{explanation}");
    }
    Ok(())
}

fn with_engine<T>(
    options: &LakeScope,
    known: &Known,
    query: &str,
    run: impl AsyncFnOnce(&Engine, Asked<'_>) -> Result<T, SearchError>,
) -> Result<T, Failure> {
    let (path, parameters) = query.split_once('?').unwrap_or((query, ""));
    let place = place(path)?;
    let parameters = raw::parse_checked(parameters).map_err(|error| Failure::input(error.to_string()))?;
    let lake = options.open()?;
    let scope = options.scope(&lake);
    let now = lake.clock().now();
    let engine = Engine::new(lake, serve::parameters(known.search_parameters.as_deref())?)
        .with_terminology(terminology::open(&options.data, known.terminology.as_deref())?);
    let base = Store::last_base_url(&options.data).unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
    let base = format!("{}/fhir/", base.trim_end_matches('/'));
    let (scope, parameters, base, handling) = (&scope, parameters.as_slice(), base.as_str(), Handling::Strict);
    let asked = match place {
        (Some(type_id), compartment) => Asked::Type(Request {
            scope,
            type_id,
            compartment,
            parameters,
            handling,
            now,
            base,
        }),
        (None, compartment) => Asked::System(SystemRequest {
            scope,
            compartment,
            parameters,
            handling,
            now,
            base,
        }),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    runtime.block_on(run(&engine, asked)).map_err(|error| {
        if error.is_input() {
            Failure::input(error.to_string())
        } else {
            Failure::other(error)
        }
    })
}

/// Parses the path of a query, such as `Observation` or `Patient/ID/Observation`. Returns the resource type and the id
/// of the Patient. The type is `None` if the path is empty or ends with `*`: then all types are searched. The id is
/// `None` if the search is not limited to the compartment of a Patient.
fn place(path: &str) -> Result<(Option<TypeId>, Option<&str>), Failure> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        [""] => Ok((None, None)),
        [name] => Ok((Some(resource_type(name)?), None)),
        ["Patient", id, "*"] if is_id(id) => Ok((None, Some(id))),
        ["Patient", id, name] if is_id(id) => Ok((Some(resource_type(name)?), Some(id))),
        _ => Err(Failure::input(format!(
            "'{path}' is nothing to search; a query is of the form {FORMS}"
        ))),
    }
}

fn resource_type(name: &str) -> Result<TypeId, Failure> {
    named(name).map_err(|problem| {
        if problem.contains("did you mean") {
            Failure::input(problem)
        } else {
            Failure::input(format!("{problem}; a query is of the form {FORMS}"))
        }
    })
}
