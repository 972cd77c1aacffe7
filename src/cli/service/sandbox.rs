//! `tabularium sandbox`: serves organizations to connect to, with generated people who log in.

use super::super::configuration::address::listen;
use super::super::terminal::failure::Failure;
use super::serve::base_url;
use super::serve::logging::{self, LogFormat};
use super::serve::stop::stop;
use crate::sandbox::app::AppSettings;
use crate::sandbox::payer::{PASSWORD, Sandbox, Settings, Turn};

/// Serve made-up organizations to connect to: health plans, a provider, facilities, an identity provider
///
/// The start page lists the logins: a given name and a number for each person. An application may send people back to
/// any address of this machine, and to those of --redirect-uri. To use the sample application at /app, register it with
/// a service first, with {sandbox}/app/callback as a redirect URI and {sandbox} as an origin.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tabularium sandbox --listen 127.0.0.1:8081 --knob lakeshore.slow=200")]
pub(in crate::cli) struct Args {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081")]
    listen: String,
    /// Number of people
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    patients: u64,
    /// Number that decides which people are generated
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Public address of the sandbox [default: http:// and the address of --listen]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Another address that people may be sent back to, beside those of this machine; may be repeated
    #[arg(long, value_name = "URI")]
    redirect_uri: Vec<String>,
    /// Address of a service that the sample application at /app is registered with
    #[arg(long, value_name = "URL", requires_all = ["app_key", "app_secret"])]
    app_service: Option<String>,
    /// The sample application's publishable key there
    #[arg(long, value_name = "KEY", requires = "app_service")]
    app_key: Option<String>,
    /// The sample application's secret key there
    #[arg(long, value_name = "KEY", requires = "app_service")]
    app_secret: Option<String>,
    /// Make an organization misbehave: ORGANIZATION.NAME=VALUE, or all.NAME=VALUE; may be repeated
    #[arg(long, value_name = "KNOB")]
    knob: Vec<Turn>,
}

/// Serves the sandbox until a signal stops it.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let (listener, local) = listen(&arguments.listen, "--listen")?;
    let base_url = arguments.base_url.as_deref().map_or(Ok(local), base_url::checked)?;
    if let Some(uri) = arguments.redirect_uri.iter().find(|uri| url::Url::parse(uri).is_err()) {
        return Err(Failure::input(format!("{uri:?} is no URI to send anybody to")));
    }
    let sandbox = Sandbox::new(Settings {
        patients: arguments.patients,
        seed: arguments.seed,
        base_url: base_url.clone(),
        redirect_uris: arguments.redirect_uri,
        knobs: arguments.knob,
    })
    .map_err(|error| Failure::input(error.to_string()))?;
    let app = (arguments.app_service, arguments.app_key, arguments.app_secret);
    let sandbox = match app {
        (Some(service), Some(publishable_key), Some(secret_key)) => {
            let app = AppSettings {
                service: base_url::checked(&service)?,
                publishable_key,
                secret_key,
                base_url: base_url.clone(),
            };
            println!("The sample application is at {base_url}/app");
            sandbox.with_app(app).map_err(Failure::other)?
        }
        _ => sandbox,
    };
    logging::start(LogFormat::Text);
    let first = sandbox.person(0).map_or_else(String::new, |person| person.user);
    println!("Log in as {first} with the password {PASSWORD}; {base_url}/ lists everybody");
    println!("Serving the sandbox at {base_url} (Ctrl-C stops)");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(Failure::other)?;
        sandbox.serve(listener, stop()?).await.map_err(Failure::other)
    })
}
