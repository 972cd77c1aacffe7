//! `tabularium token`: prints an access token for trying out the API.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::super::terminal::columns::time;
use super::super::terminal::failure::Failure;
use super::mode::Mode;
use crate::consent::{Clock, Issued, LOCAL_APPLICATION, Store, Tokens};
use crate::fhir::facts;
use crate::lake::{Lake, Scope};

/// The server's base address if no other address is given and no server has run on the folder.
pub(in crate::cli) const DEFAULT_BASE_URL: &str = "http://127.0.0.1:8080";

const EXAMPLE: &str = r#"Example:
  curl -H "Authorization: Bearer $(tabularium token --data DIR --patient ID)" \
      http://127.0.0.1:8080/fhir/Patient/ID"#;

/// Print an access token for the server on this folder
///
/// With --patient the token opens that person's records and what they refer to, for 24 hours. Without --patient it
/// opens all records of the application, for 30 minutes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The Patient whose records the token opens
    #[arg(long, value_name = "ID")]
    patient: Option<String>,
    /// Application whose records the token opens
    #[arg(long, value_name = "ID", default_value = LOCAL_APPLICATION)]
    application: String,
    /// Which records the token opens
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// Public address of the server [default: that of the last `serve` on this folder]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Issues a token and prints it.
pub(in crate::cli) fn run(args: Args) -> Result<(), Failure> {
    let lake = Lake::open(&args.data).map_err(Failure::from_lake)?;
    let store = Arc::new(Store::open(&args.data, Clock::System).map_err(Failure::other)?);
    let base_url = match &args.base_url {
        Some(url) => super::serve::base_url::checked(url)?,
        None => store
            .settings()
            .base_url()
            .map_err(Failure::other)?
            .unwrap_or_else(|| DEFAULT_BASE_URL.to_owned()),
    };
    let scope = Arc::new(Scope {
        mode: args.mode.into(),
        application: args.application.as_str().into(),
        patient: None,
    });
    let issued = issue(&lake, &store, &base_url, &scope, args.patient.as_deref())?;
    if args.json {
        let object = json!({
            "token": issued.token, "expiresAt": time(issued.expires_at), "application": args.application,
            "mode": scope.mode.schema(), "patient": args.patient,
        });
        println!("{object:#}");
    } else {
        println!("{}", issued.token);
    }
    Ok(())
}

/// Issues a token for one patient within `scope`, or for the whole scope if `patient` is `None`.
pub(in crate::cli) fn issue(
    lake: &Lake,
    store: &Arc<Store>,
    base_url: &str,
    scope: &Arc<Scope>,
    patient: Option<&str>,
) -> Result<Issued, Failure> {
    if let Some(id) = patient {
        let type_id = facts()
            .lookup("Patient")
            .ok_or_else(|| Failure::other("the R4 tables have no Patient"))?;
        if lake
            .table(&lake.snapshot(), type_id, scope)
            .read(id)
            .map_err(Failure::other)?
            .is_none()
        {
            let (mode, application) = (scope.mode.schema(), &scope.application);
            return Err(Failure::input(format!(
                "there is no Patient {id:?} among the {mode} records of {application:?}"
            )));
        }
        // It is possible that the lake has records of the application, but this store does not know the application. So
        // register it.
        store
            .applications()
            .register(&scope.application)
            .map_err(Failure::other)?;
    }
    let tokens = Tokens::new(store.clone(), lake.clone(), base_url);
    let issued = match patient {
        Some(id) => tokens.for_patient(&scope.application, scope.mode, id),
        None => tokens.for_application(&scope.application, scope.mode),
    };
    issued.map_err(|error| match error {
        crate::consent::Error::UnknownApplication(_) => Failure::input(error.to_string()),
        error => Failure::other(error),
    })
}
