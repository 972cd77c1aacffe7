//! `app webhooks`: the receivers of an application's events, and the deliveries to them.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::service::data_store::{open, refused};
use crate::cli::terminal::columns::{counted, listed, plain, time};
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, Delivery, DeliveryFilter, DeliveryState, NewReceiver, Receiver, ResentDeliveries};
use crate::sync::client::Guard;

/// Tell an application by webhooks what happens to its consents: receivers, their secrets, and deliveries
///
/// A running server delivers the events. docs/webhooks.md describes them.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(AddArgs),
    List(ListArgs),
    Remove(RemoveArgs),
    Enable(EnableArgs),
    Rotate(RotateArgs),
    Deliveries(DeliveriesArgs),
    Resend(ResendArgs),
}

/// Where the store is, and whose receivers it is about.
#[derive(Debug, clap::Args)]
struct Of {
    /// The application's id
    application: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// Add a receiver, and print the secret that signs its messages
///
/// The secret is printed only once. An application has at most five receivers.
///
/// Exit codes: 0 added; 2 there is no such application, or the address may not be added; 1 another failure.
#[derive(Debug, clap::Args)]
struct AddArgs {
    #[command(flatten)]
    of: Of,
    /// The address to which events are posted, https
    url: String,
    /// Allow private and loopback addresses, and http. The server must have been started with the same option
    #[arg(long)]
    allow_private_sources: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// List the receivers of an application
#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    of: Of,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Remove a receiver, with the deliveries that wait for it
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    #[command(flatten)]
    of: Of,
    /// The receiver's address or id
    receiver: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Let a receiver that answered 410 get messages again
///
/// What was given up meanwhile is sent again by `app webhooks resend --given-up`.
#[derive(Debug, clap::Args)]
struct EnableArgs {
    #[command(flatten)]
    of: Of,
    /// The receiver's address or id
    receiver: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Make a new secret for a receiver, and print it
///
/// Messages are signed with the new and the present secret, for the hours of --grace.
#[derive(Debug, clap::Args)]
struct RotateArgs {
    #[command(flatten)]
    of: Of,
    /// The receiver's address or id
    receiver: String,
    /// Hours for which messages are signed with the present secret, too
    #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u32).range(..=8_760))]
    grace: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// List deliveries, newest first: their state, their attempts, and the last answer
#[derive(Debug, clap::Args)]
struct DeliveriesArgs {
    #[command(flatten)]
    of: Of,
    /// Only those that were given up
    #[arg(long)]
    given_up: bool,
    /// Print at most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Send an event again, or all that were given up
///
/// The message has the same id as before, so that a receiver can tell that it has it already.
///
/// Exit codes: 0 sent again; 2 there is no such event, or the receiver is disabled; 1 another failure.
#[derive(Debug, clap::Args)]
struct ResendArgs {
    #[command(flatten)]
    of: Of,
    /// The id of the event
    #[arg(required_unless_present = "given_up", conflicts_with = "given_up")]
    event: Option<String>,
    /// Everything that was given up
    #[arg(long)]
    given_up: bool,
    /// Only to the receiver with this address or id
    #[arg(long, value_name = "RECEIVER")]
    to: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    match &arguments.command {
        Command::Add(arguments) => add(arguments),
        Command::List(arguments) => list(arguments),
        Command::Remove(arguments) => remove(arguments),
        Command::Enable(arguments) => enable(arguments),
        Command::Rotate(arguments) => rotate(arguments),
        Command::Deliveries(arguments) => deliveries(arguments),
        Command::Resend(arguments) => resend(arguments),
    }
}

fn add(arguments: &AddArgs) -> Result<(), Failure> {
    let guard = if arguments.allow_private_sources {
        Guard::Private
    } else {
        Guard::Public
    };
    guard
        .check(&arguments.url)
        .map_err(|error| Failure::input(error.to_string()))?;
    let store = open(&arguments.of.data)?;
    let added = store
        .webhooks()
        .add(&arguments.of.application, &arguments.url, Actor::Operator)
        .map_err(refused)?;
    if arguments.json {
        println!("{:#}", object_with_secret(&added));
        return Ok(());
    }
    println!("{} gets the events of {}", plain(&added.url), arguments.of.application);
    println!("\nsecret  {}\n\nThe secret is shown only once.", added.secret);
    Ok(())
}

fn list(arguments: &ListArgs) -> Result<(), Failure> {
    let store = open(&arguments.of.data)?;
    let application = Some(arguments.of.application.as_str());
    let receivers = store.webhooks().receivers(application).map_err(refused)?;
    let now = store.clock().now();
    if arguments.json {
        let list: Vec<Value> = receivers.iter().map(|receiver| object(receiver, now)).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let rows: Vec<[String; 4]> = receivers
        .iter()
        .map(|receiver| {
            let (url, state) = (receiver.url.clone(), state(receiver, now));
            [receiver.id.clone(), url, state.to_owned(), time(receiver.created_at)]
        })
        .collect();
    print!("{}", listed(["id", "address", "state", "added"], &rows));
    Ok(())
}

fn remove(arguments: &RemoveArgs) -> Result<(), Failure> {
    let (application, name) = (&arguments.of.application, &arguments.receiver);
    let was = open(&arguments.of.data)?
        .webhooks()
        .remove(application, name, Actor::Operator)
        .map_err(refused)?;
    if !was {
        return Err(no_receiver(application, name));
    }
    if arguments.json {
        println!(
            "{:#}",
            json!({"application": application, "receiver": name, "removed": true})
        );
    } else {
        println!("{} gets no more events", plain(name));
    }
    Ok(())
}

fn enable(arguments: &EnableArgs) -> Result<(), Failure> {
    let (application, name) = (&arguments.of.application, &arguments.receiver);
    let was = open(&arguments.of.data)?
        .webhooks()
        .enable(application, name, Actor::Operator)
        .map_err(refused)?;
    if !was {
        return Err(Failure::input(format!(
            "{application} has no disabled receiver {name:?}"
        )));
    }
    if arguments.json {
        println!(
            "{:#}",
            json!({"application": application, "receiver": name, "enabled": true})
        );
    } else {
        println!("{} gets messages again", plain(name));
    }
    Ok(())
}

fn rotate(arguments: &RotateArgs) -> Result<(), Failure> {
    let store = open(&arguments.of.data)?;
    let (application, name) = (&arguments.of.application, &arguments.receiver);
    let grace = i64::from(arguments.grace) * 3_600;
    let rotated = store
        .webhooks()
        .rotate(application, name, grace, Actor::Operator)
        .map_err(refused)?;
    let rotated = rotated.ok_or_else(|| no_receiver(application, name))?;
    if arguments.json {
        println!("{:#}", object_with_secret(&rotated));
        return Ok(());
    }
    println!("secret  {}\n\nThe secret is shown only once.", rotated.secret);
    match grace {
        0 => println!("The earlier secret signs no more."),
        grace => println!(
            "The earlier secret signs, too, until {}.",
            time(store.clock().now() + grace)
        ),
    }
    Ok(())
}

fn deliveries(arguments: &DeliveriesArgs) -> Result<(), Failure> {
    let store = open(&arguments.of.data)?;
    let filter = DeliveryFilter {
        application: Some(&arguments.of.application),
        state: arguments.given_up.then_some(DeliveryState::GivenUp),
        limit: arguments.limit,
        ..DeliveryFilter::default()
    };
    let deliveries = store.webhooks().deliveries(&filter).map_err(refused)?;
    if arguments.json {
        let list: Vec<Value> = deliveries.iter().map(delivery_object).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let rows: Vec<[String; 7]> = deliveries.iter().map(row).collect();
    let heading = ["event", "type", "at", "to", "state", "attempts", "answer"];
    print!("{}", listed(heading, &rows));
    Ok(())
}

fn resend(arguments: &ResendArgs) -> Result<(), Failure> {
    let store = open(&arguments.of.data)?;
    let (application, to) = (arguments.of.application.as_str(), arguments.to.as_deref());
    let webhooks = store.webhooks();
    let resent = match &arguments.event {
        None => webhooks
            .resend_given_up(application, to, Actor::Operator)
            .map_err(refused)?,
        Some(event) => {
            let filter = DeliveryFilter {
                application: Some(application),
                event: Some(event),
                receiver: to,
                // An event has at most one delivery for each receiver.
                limit: u32::MAX,
                ..DeliveryFilter::default()
            };
            let found = webhooks.deliveries(&filter).map_err(refused)?;
            if found.is_empty() {
                return Err(Failure::input(format!("{application} has no delivery of {event:?}")));
            }
            let ids: Vec<i64> = found.iter().map(|delivery| delivery.id).collect();
            ResentDeliveries {
                count: webhooks.resend(&ids, Actor::Operator, None).map_err(refused)?,
                disabled: 0,
            }
        }
    };
    if arguments.json {
        println!("{:#}", json!({"resent": resent.count, "disabled": resent.disabled}));
        return Ok(());
    }
    println!("{} will be sent again", counted(resent.count as u64, "message"));
    if resent.disabled > 0 {
        println!(
            "{} not, because the receiver is disabled",
            counted(resent.disabled as u64, "message")
        );
    }
    Ok(())
}

fn no_receiver(application: &str, name: &str) -> Failure {
    Failure::input(format!("{application} has no receiver {name:?}"))
}

fn state(receiver: &Receiver, now: i64) -> &'static str {
    match receiver {
        Receiver {
            disabled_at: Some(_), ..
        } => "disabled",
        Receiver {
            listens_until: Some(until),
            ..
        } if *until > now => "tabularium listen",
        Receiver {
            listens_until: Some(_), ..
        } => "tabularium listen, ended",
        Receiver {
            former_until: Some(until),
            ..
        } if *until > now => "two secrets",
        _ => "active",
    }
}

fn row(delivery: &Delivery) -> [String; 7] {
    let answer = match (&delivery.failure, delivery.status) {
        (Some(failure), _) => failure.clone(),
        (None, Some(status)) => status.to_string(),
        (None, None) => String::new(),
    };
    [
        delivery.event.clone(),
        delivery.event_type.to_string(),
        time(delivery.at),
        delivery.url.clone(),
        delivery.state.to_string(),
        delivery.attempts.to_string(),
        answer,
    ]
}

fn object(receiver: &Receiver, now: i64) -> Value {
    json!({
        "id": receiver.id, "application": receiver.application, "url": receiver.url, "state": state(receiver, now),
        "createdAt": time(receiver.created_at), "formerSecretUntil": receiver.former_until.map(time),
        "disabledAt": receiver.disabled_at.map(time),
    })
}

fn object_with_secret(receiver: &NewReceiver) -> Value {
    json!({"id": receiver.id, "url": receiver.url, "secret": receiver.secret})
}

fn delivery_object(delivery: &Delivery) -> Value {
    json!({
        "event": delivery.event, "type": delivery.event_type, "at": time(delivery.at), "consentId": delivery.consent,
        "url": delivery.url, "state": delivery.state, "attempts": delivery.attempts,
        "triedAt": delivery.tried_at.map(time), "nextAt": delivery.due_at.map(time), "status": delivery.status,
        "failure": delivery.failure,
    })
}
