//! `tabularium demo`: serves a lake of generated people, and organizations to connect to, with one command.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};

use super::guide::Guide;
use super::playground::{self, SEED};
use crate::cli::configuration::address::listen;
use crate::cli::lake::wait::Wait;
use crate::cli::service::console;
use crate::cli::service::serve::logging::{self, LogFormat};
use crate::cli::service::serve::page_args::PageArgs;
use crate::cli::service::serve::rates::RateArgs;
use crate::cli::service::serve::{newest, parameters, serve, sources};
use crate::cli::tables::plans;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::manner::quietly;
use crate::consent::{Clock, Store};
use crate::fhir::facts;
use crate::http::{Limits, Options};
use crate::ingest::{self, LOCAL_APPLICATION};
use crate::lake::{ClockTrust, Lake, LakeOptions, Mode, Scope};
use crate::maintenance::Before;
use crate::patient::pdf::Reader;
use crate::private::{Kind, OwnFolder};
use crate::sandbox::{Population, write_ndjson};
use crate::search::raw;
use crate::search::{Engine, Handling, Request};
use crate::sync::Settings;
use crate::terminology::Terminology;

/// The name of the folder for generated records. It is in the data folder.
const POPULATION: &str = "population";
/// The LOINC code of blood pressures, as a search value. The demo uses it to find a person for its examples, because
/// most generated people have a blood pressure.
const BLOOD_PRESSURE: &str = "http://loinc.org|85354-9";

/// Generate made-up people and serve them, with addresses to open and lines to paste
///
/// Nobody in the records is real. The first run writes the records into the data folder; later runs start at once. A
/// sandbox beside the service plays organizations that the same people can connect, in test mode. It also serves a
/// sample application.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Address and port of the sandbox [default: 127.0.0.1:8081, or a free port where that is taken]
    #[arg(long, value_name = "ADDRESS")]
    sandbox_listen: Option<String>,
    /// Folder for the records; made if it does not exist
    #[arg(long, value_name = "DIR", default_value = "tabularium-demo")]
    data: PathBuf,
    /// Number of people to generate, if the folder has none yet
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    patients: u64,
    #[command(flatten)]
    pages: PageArgs,
    #[command(flatten)]
    rates: RateArgs,
    /// Print the addresses as one JSON object
    #[arg(long)]
    json: bool,
}

/// Generates people if the lake has none, prints example requests, and serves until a signal stops the server.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let Args {
        listen: address,
        sandbox_listen,
        data,
        patients,
        pages,
        rates,
        json,
    } = arguments;
    // Checks the input before generating people.
    let pages = pages.pages()?;
    let (listener, base_url) = listen(&address, "--listen")?;
    let (sandbox, sandbox_url) = playground::listen(sandbox_listen.as_deref())?;
    Before::look(&data).map_err(Failure::from_folder)?;
    let options = LakeOptions {
        trust: ClockTrust::TwoLooks,
        ..LakeOptions::default()
    };
    let lake = Lake::open_or_create_with(&data, options).map_err(Failure::from_lake)?;
    if people(&lake)? == 0 {
        fill(&lake, &data, patients)?;
    }
    let store = Arc::new(Store::open(&data, Clock::System).map_err(Failure::other)?);
    let parameters = parameters(None)?;
    let engine = Engine::new(lake.clone(), parameters.clone());
    let scope = Arc::new(Scope {
        mode: Mode::Live,
        application: LOCAL_APPLICATION.into(),
        patient: None,
    });
    let person = somebody(&engine, &lake, &scope)?;
    let people = people(&lake)?;
    let guide = Guide {
        base_url: &base_url,
        data: &data,
        people,
        person: &person,
        playground: playground::open(&store, &base_url, sandbox, &sandbox_url, people)?,
        console: console::sign_in_address(&store, &base_url)?,
    };
    // The user may paste the printed commands at once. `tabularium token` makes a token for the stored address, so
    // store the address before the commands are printed.
    store.settings().set_base_url(&base_url).map_err(Failure::other)?;
    if json {
        println!("{:#}", guide.object());
    } else {
        println!("{guide}");
    }
    let terminology: Arc<Terminology> = Arc::default();
    // Without RUST_LOG, requests are not logged, because they would push the printed text off the screen.
    logging::start_with(LogFormat::Text, "info,tabularium::http::server::frame=warn");
    serve(
        listener,
        Options {
            lake,
            store,
            parameters,
            terminology: terminology.clone(),
            base_url: base_url.clone(),
            limits: Limits {
                rates: rates.rates(),
                ..Limits::default()
            },
            explain: false,
            console: true,
            signed_attachments: false,
            // `true` allows private addresses, because the sandbox's organizations are on this machine.
            sources: sources(true)?,
            pages,
            reader: Reader::default(),
        },
        Settings {
            knowledge: newest(terminology, plans::open(&data)?),
            ..Settings::default()
        },
        false,
    )
}

/// Returns the number of live Patients in the lake.
fn people(lake: &Lake) -> Result<u64, Failure> {
    let info = lake.info().map_err(Failure::other)?;
    let patients = info
        .tables
        .iter()
        .find(|table| table.mode == Mode::Live.schema() && table.table == "Patient");
    Ok(patients.map_or(0, |table| table.rows))
}

/// Generates a population and imports it.
fn fill(lake: &Lake, data: &Path, patients: u64) -> Result<(), Failure> {
    let folder = data.join(POPULATION);
    // An earlier run may have left the folder without completing its import. So begin again.
    clear(data, &folder)?;
    let bar = bar("making people up", "{human_pos}/{human_len}", patients);
    write_ndjson(&Population::new(SEED, patients), &folder, || bar.inc(1)).map_err(Failure::other)?;
    bar.finish_and_clear();
    let paths = [folder];
    let bar = self::bar(
        "importing",
        "{bytes}/{total_bytes} {bytes_per_sec}",
        ingest::input_size(&paths),
    );
    let mut writer = Wait::default().writer(lake)?;
    let options = ingest::Options {
        mode: Mode::Live,
        application: LOCAL_APPLICATION.to_owned(),
        rewrite_ids: false,
        progress: Some(Arc::new({
            let bar = bar.clone();
            move |bytes| bar.inc(bytes)
        })),
        ..Default::default()
    };
    let summary = ingest::import(&mut writer, options, &paths).map_err(Failure::other)?;
    bar.finish_and_clear();
    match summary.refusals.first() {
        Some(refusal) => Err(Failure::other(format!("the import refused {refusal}"))),
        None => Ok(()),
    }
}

/// Removes the files of generated records from the folder for them. Fails and removes nothing if the folder has other
/// files, because then it is not a folder of an earlier run.
fn clear(data: &Path, folder: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::input(format!("{}: {error}", folder.display()));
    let own = match OwnFolder::open(data).and_then(|data| data.folder(POPULATION)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        own => own.map_err(failed)?,
    };
    let entries = own.entries().map_err(failed)?;
    let is_generated = |name: &OsStr| {
        let of_type = name.to_str().and_then(|name| name.strip_suffix(".ndjson"));
        of_type.is_some_and(|name| facts().lookup(name).is_some())
    };
    let is_other = |(name, kind): &&(OsString, Kind)| *kind != Kind::File || !is_generated(name);
    if let Some((name, _)) = entries.iter().find(is_other) {
        let name = name.to_string_lossy();
        return Err(Failure::input(format!(
            "{} holds other things than generated records ({name}); name another folder with --data",
            folder.display()
        )));
    }
    entries
        .iter()
        .try_for_each(|(name, _)| own.remove(name))
        .map_err(failed)
}

/// Returns a progress bar on standard error. It is hidden if standard error is no terminal or the program is quiet.
fn bar(what: &'static str, numbers: &str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{msg:17}} {{bar:40}} {numbers}"));
    quietly(ProgressBar::new(length))
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_message(what)
}

/// Returns the id of the Patient with the most recent blood pressure. Fails if there is none.
fn somebody(engine: &Engine, lake: &Lake, scope: &Arc<Scope>) -> Result<String, Failure> {
    let type_id = facts()
        .lookup("Observation")
        .ok_or_else(|| Failure::other("the R4 tables have no Observation"))?;
    let parameters = raw::parse(&format!("code={BLOOD_PRESSURE}&_sort=-date&_count=1"));
    let request = Request {
        scope,
        type_id,
        parameters: &parameters,
        compartment: None,
        handling: Handling::Strict,
        now: lake.clock().now(),
        base: "",
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    let bundle = runtime.block_on(engine.search(&request)).map_err(Failure::other)?;
    let bundle: serde_json::Value = serde_json::from_slice(&bundle).map_err(Failure::other)?;
    let reference = bundle["entry"][0]["resource"]["subject"]["reference"].as_str();
    let id = reference.and_then(|reference| reference.strip_prefix("Patient/"));
    id.map(str::to_owned)
        .ok_or_else(|| Failure::input("the folder holds other records than the demo's; serve it with tabularium serve"))
}
