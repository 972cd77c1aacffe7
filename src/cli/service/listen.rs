//! `tabularium listen`: forwards an application's events to an address, for development.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::data_store::{open, refused};
use super::serve::stop::{stdin_ends, stop};
use crate::cli::terminal::columns::time;
use crate::cli::terminal::failure::Failure;
use crate::consent::{NewReceiver, Outcome};
use crate::webhooks::{Forwarded, ListenError, listen};

/// Forward an application's webhooks to a local address, for development
///
/// Prints the secret that signs them, and then a line for each event that happens in the data folder, whichever process
/// causes it. Each event is posted once. Ctrl-C ends the command; nothing of it stays.
///
/// Exit codes: 0 it was stopped; 2 there is no such application, or the address cannot be called; 1 another failure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The application's id
    #[arg(long, value_name = "ID")]
    app: String,
    /// The address to which events are posted, such as http://127.0.0.1:3000/hooks
    #[arg(long, value_name = "URL")]
    forward: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Stop when standard input ends, as it does when whoever started the command is gone
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

/// Forwards until a signal stops the command.
pub(in crate::cli) fn run(arguments: &Args) -> Result<(), Failure> {
    let store = Arc::new(open(&arguments.data)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    let ended = runtime.block_on(async {
        let signal = stop()?;
        let stop = async {
            tokio::select! {
                () = signal => {}
                () = stdin_ends(), if arguments.until_stdin_ends => {}
            }
        };
        let whose = (arguments.app.as_str(), arguments.forward.as_str());
        let (begun, forwarded) = (
            |receiver: &NewReceiver| begun(arguments, receiver),
            |one: &Forwarded| {
                forwarded(arguments, one);
            },
        );
        let listening = listen(&store, whose, begun, forwarded, stop);
        listening.await.map_err(|error| match error {
            ListenError::Store(error) => refused(error),
            ListenError::Client(error) => Failure::input(error.to_string()),
            error @ ListenError::Ended => Failure::other(error),
        })
    });
    // The thread that reads standard input may still wait.
    runtime.shutdown_background();
    ended
}

fn begun(arguments: &Args, receiver: &NewReceiver) {
    let Args { app, forward, .. } = arguments;
    if arguments.json {
        println!(
            "{}",
            json!({"application": app, "forward": forward, "secret": receiver.secret})
        );
        return;
    }
    println!("Events of {app} go to {forward}, signed with {}", receiver.secret);
}

fn forwarded(arguments: &Args, one: &Forwarded) {
    let (status, failure) = match &one.outcome {
        Outcome::Accepted(status) => (Some(*status), None),
        Outcome::Gone => (Some(410), Some("it answered with status 410")),
        Outcome::Failed { status, why, .. } => (*status, Some(why.as_str())),
    };
    if arguments.json {
        let object = json!({
            "at": time(one.at), "event": one.event, "type": one.event_type, "consentId": one.consent, "status": status,
            "failure": failure,
        });
        println!("{object}");
        return;
    }
    let answer = failure.map_or_else(|| status.unwrap_or_default().to_string(), str::to_owned);
    println!(
        "{}  {:<16}  {}  {}  {answer}",
        time(one.at),
        one.event_type.name(),
        one.event,
        one.consent
    );
}
