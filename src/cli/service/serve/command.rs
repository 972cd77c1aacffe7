//! `tabularium serve`: serves the FHIR API over a lake.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::base_url;
use super::log_writer;
use super::logging::{self, LogFormat};
use super::page_args::PageArgs;
use super::rates::RateArgs;
use super::stop::{stdin_ends, stop};
use crate::cli::configuration::address::listen;
use crate::cli::lake::lake_key;
use crate::cli::tables::plans;
use crate::cli::tables::terminology;
use crate::cli::terminal::failure::Failure;
use crate::consent::{Application, Clock, Endpoint, EndpointStatus, Error, Key, Store};
use crate::fhir::search_parameter::SearchParameters;
use crate::http::{Limits, Options, Service};
use crate::lake::{ClockTrust, Lake, LakeError, LakeOptions, Mode};
use crate::maintenance::{Before, Upkeep};
use crate::normalize::{Knowledge, NewestKnowledge};
use crate::patient::pdf::Reader;
use crate::plans::PlanTables;
use crate::sync::client::{Client, Guard, HttpLimits};
use crate::sync::{Settings, SyncLimits, Worker};
use crate::terminology::Terminology;
use crate::webhooks::{Deliverer, Settings as DeliverySettings};

/// Answer FHIR R4 reads, searches and views over HTTP
///
/// Records that another command imports are served within a second. The server compacts the lake in the background when
/// no other process writes to it. On SIGTERM or Ctrl-C it finishes the requests in progress and stops.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Serve a sealed lake. A new one is made if the folder is empty; an open lake with records is refused
    /// (docs/sealed.md)
    #[arg(long)]
    sealed: bool,
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Public address of the server [default: http:// and the address of --listen]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Folder of SearchParameter resources to use beside FHIR's own
    #[arg(long, value_name = "DIR")]
    search_parameters: Option<PathBuf>,
    /// More CodeSystems and ValueSets for :in, :not-in, :below and :above, beside those that `terminology load` has
    /// loaded: a JSON or NDJSON file, or a folder of these
    #[arg(long, value_name = "FILE_OR_DIR")]
    terminology: Option<PathBuf>,
    /// Explain searches and rows of views to application tokens that send `X-Explain: true`. The explanation tells how
    /// much the lake holds
    #[arg(long)]
    allow_explain: bool,
    /// Serve the console for operators, at /console; `tabularium console token` makes a token for signing in
    #[arg(long)]
    console: bool,
    /// Sign the addresses of attachments in reads, searches and $everything. Whoever has such an address reads the
    /// attachment without a token, for ten minutes
    #[arg(long)]
    signed_attachments: bool,
    /// Allow sources of records, and receivers of webhooks, at private and loopback addresses and without TLS
    #[arg(long)]
    allow_private_sources: bool,
    /// Number of patients whose records are fetched at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    syncs: u16,
    /// Number of requests that one source gets at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    source_requests: u16,
    /// Maximum size of an attachment that syncs fetch, in MiB; larger ones stay at the source
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u16).range(0..=4096))]
    attachment_size: u16,
    /// Maximum size of the temporary file for one Parquet answer of $run, in MiB; a larger answer is refused. Rows wait
    /// there until the types of the columns are known
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u16).range(1..=16_384))]
    parquet_spool: u16,
    /// Address of a store where sources keep documents under signed addresses; $pdf fetches these without an access
    /// token. May be repeated
    #[arg(long, value_name = "URL")]
    binary_host: Vec<String>,
    #[command(flatten)]
    pages: PageArgs,
    #[command(flatten)]
    rates: RateArgs,
    /// Form of log lines; the variable RUST_LOG chooses which are written, such as RUST_LOG=debug
    #[arg(long, value_enum, default_value_t)]
    log_format: LogFormat,
    /// Stop when standard input ends, as it does when whoever started the server is gone
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

/// Serves the lake until a signal stops the server.
pub(in crate::cli) fn run(args: Args) -> Result<(), Failure> {
    let lake = opened(&args.data, args.sealed)?;
    let ledger = lake.check_ledger();
    if let Err(older @ LakeError::Older { .. }) = ledger {
        return Err(Failure::input(older.to_string()));
    }
    let parameters = parameters(args.search_parameters.as_deref())?;
    let terminology = terminology::open(&args.data, args.terminology.as_deref());
    let terminology = terminology.map_err(|failure| failure.of_option("--terminology"))?;
    terminology.warm().map_err(terminology::failure)?;
    let plans = plans::open(&args.data)?;
    plans.warm().map_err(plans::failure)?;
    let store = Store::open(&args.data, Clock::System).map_err(Failure::other)?;
    let (listener, local) = listen(&args.listen, "--listen")?;
    let signed = args.binary_host.iter().map(|address| base_url::checked(address));
    let signed = signed.collect::<Result<Vec<String>, Failure>>()?;
    let base_url = args.base_url.as_deref().map_or(Ok(local), base_url::checked)?;
    logging::start(args.log_format);
    let pages = args.pages.pages()?;
    // A program that reads the printed line may request a token for the address at once, so the address is stored
    // first.
    store.settings().set_base_url(&base_url).map_err(Failure::other)?;
    println!("Serving {} at {base_url}/fhir", args.data.display());
    warn_of_no_sources(&store).map_err(Failure::other)?;
    if let Err(error) = ledger {
        tracing::warn!("no erasure ends, and no backup is made, because {error}");
    }
    serve(
        listener,
        Options {
            lake,
            store: Arc::new(store),
            parameters,
            terminology: terminology.clone(),
            base_url,
            limits: Limits {
                rates: args.rates.rates(),
                view_spool: u64::from(args.parquet_spool) << 20,
                ..Limits::default()
            },
            explain: args.allow_explain,
            console: args.console,
            signed_attachments: args.signed_attachments,
            sources: sources(args.allow_private_sources)?.with_signed_documents(signed.iter().map(String::as_str)),
            pages,
            reader: Reader::default(),
        },
        Settings {
            jobs: args.syncs.into(),
            requests: args.source_requests.into(),
            knowledge: newest(terminology, plans),
            limits: SyncLimits {
                attachment: u64::from(args.attachment_size) << 20,
                ..SyncLimits::default()
            },
            ..Settings::default()
        },
        args.until_stdin_ends,
    )
}

/// Opens the lake. With `sealed`, makes a sealed lake of a new or empty folder, or of an open lake without records.
fn opened(data: &Path, sealed: bool) -> Result<Lake, Failure> {
    let options = LakeOptions {
        sealed: sealed.then_some(true),
        trust: ClockTrust::TwoLooks,
        ..LakeOptions::default()
    };
    let opened = match Lake::open_with(data, options.clone()) {
        Err(LakeError::OtherKind { .. }) => Lake::create_with(data, options),
        Err(LakeError::Missing(_)) if sealed => {
            let before = Before::look(data).map_err(Failure::from_folder)?;
            lake_key::check(data)?;
            Lake::create_with(data, options).inspect_err(|_| before.restore(data))
        }
        opened => opened,
    };
    opened.map_err(Failure::from_lake)
}

/// Returns the terminology and the plans for the rules of normalization. They include tables that are loaded while the
/// server runs.
pub(in crate::cli) fn newest(codes: Arc<Terminology>, plans: Arc<PlanTables>) -> NewestKnowledge {
    NewestKnowledge::new(move || Knowledge {
        codes: codes.clone(),
        plans: plans.clone(),
    })
}

/// Logs a warning if an application can send patients in live mode, but the directory has no live source to connect.
fn warn_of_no_sources(store: &Store) -> Result<(), Error> {
    let may_send = |application: &Application| {
        let live = |key: &Key| key.mode == Mode::Live && key.retired_at.is_none();
        let somewhere = !application.redirect_uris.is_empty() || !application.origins.is_empty();
        somewhere && application.keys.iter().any(live)
    };
    let sending: Vec<String> = store
        .applications()
        .all()?
        .into_iter()
        .filter(may_send)
        .map(|application| application.id)
        .collect();
    let offered = |endpoint: &Endpoint| endpoint.status != EndpointStatus::Unavailable;
    if !sending.is_empty() && !store.endpoints().all(Some(Mode::Live))?.iter().any(offered) {
        tracing::warn!(
            applications = sending.join(" "),
            "the directory has no live source: patients whom applications send in live mode find nothing to connect; tabularium \
             endpoint add adds one"
        );
    }
    Ok(())
}

/// Creates the client for requests to sources. It calls private addresses only if `private` is set.
pub(in crate::cli) fn sources(private: bool) -> Result<Client, Failure> {
    let guard = if private { Guard::Private } else { Guard::Public };
    Client::new(guard, HttpLimits::default()).map_err(Failure::other)
}

/// Returns HL7's search parameters, and those in `folder` if one is given.
pub(in crate::cli) fn parameters(folder: Option<&Path>) -> Result<Arc<SearchParameters>, Failure> {
    let builtin = SearchParameters::builtin();
    match folder {
        None => Ok(builtin),
        Some(folder) => builtin
            .with_folder(folder)
            .map(Arc::new)
            .map_err(|error| Failure::input(format!("--search-parameters: {error}"))),
    }
}

/// Serves until SIGTERM, SIGINT or Ctrl-C. With `until_stdin_ends`, the end of standard input stops the server, too.
pub(in crate::cli) fn serve(
    listener: TcpListener,
    options: Options,
    settings: Settings,
    until_stdin_ends: bool,
) -> Result<(), Failure> {
    if let Err(error) = crate::http::raise_file_limit() {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    // From now on `tabularium token` issues tokens for this address.
    options
        .store
        .settings()
        .set_base_url(&options.base_url)
        .map_err(Failure::other)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(Failure::other)?;
        let signal = stop()?;
        let stop = async {
            tokio::select! {
                () = signal => {}
                () = stdin_ends(), if until_stdin_ends => {}
            }
        };
        let (store, lake, base_url) = (options.store.clone(), options.lake.clone(), options.base_url.clone());
        tracing::info!(base_url = options.base_url, "serving");
        let service = Service::new(options).map_err(Failure::other)?;
        let guard = service.sources().guard();
        let worker = Worker::start(
            store.clone(),
            lake.clone(),
            service.sources().clone(),
            &base_url,
            settings,
        );
        let deliverer = Deliverer::start(store, guard, worker.works(), DeliverySettings::default());
        let deliverer = deliverer.map_err(Failure::other)?;
        let upkeep = Upkeep::start(lake, service.busy()).map_err(Failure::other)?;
        let served = crate::http::serve(listener, service, stop).await;
        // Deliver only while the worker holds the spool, so that no two processes deliver.
        deliverer.stop().await;
        worker.stop().await;
        drop(upkeep);
        tracing::info!("stopped");
        log_writer::flush();
        served.map_err(Failure::other)
    })
}
