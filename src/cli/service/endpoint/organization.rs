//! `endpoint organization`: what patients are shown of an organization beside its name.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::service::data_store::{open, refused};
use crate::cli::terminal::columns::plain;
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, Logo, OrganizationChange};

/// Say what patients are shown of an organization: where it is, its logo, and its rank among the first
///
/// What is not named stays, and an empty text takes away. Prints what is shown from now on. What the organization is,
/// its type, is said by `endpoint add --organization-type`.
///
/// Exit codes: 0 set; 2 there is no such organization, or the logo is no picture; 1 another failure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The organization's id
    id: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Where it is, as patients say it: "Portland, Oregon"
    #[arg(long, value_name = "TEXT")]
    place: Option<String>,
    /// Its place among those that patients are shown before they type, behind those that many connected lately: 1 comes
    /// first, 0 takes it away
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
    /// Its logo: a PNG, JPEG, WebP or SVG file of at most 256 KiB
    #[arg(long, value_name = "FILE")]
    logo: Option<PathBuf>,
    /// Take its logo away
    #[arg(long, conflicts_with = "logo")]
    no_logo: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Sets it, and prints what is shown.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let logo = match &arguments.logo {
        Some(path) => {
            let bytes = std::fs::read(path).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
            Some(Logo::new(bytes).map_err(refused)?)
        }
        None => None,
    };
    let change = OrganizationChange {
        place: arguments.place.as_deref(),
        rank: arguments.rank.map(|rank| (rank > 0).then_some(rank)),
        logo: match &logo {
            Some(logo) => Some(Some(logo)),
            None => arguments.no_logo.then_some(None),
        },
    };
    let known = store.organizations().all().map_err(refused)?;
    let Some(organization) = known.into_iter().find(|one| one.id == arguments.id) else {
        return Err(Failure::input(format!("there is no organization {:?}", arguments.id)));
    };
    if change.place.is_some() || change.rank.is_some() || change.logo.is_some() {
        store
            .profiles()
            .set_of_organization(&organization.id, &change, Actor::Operator)
            .map_err(refused)?;
    }
    let shown = store.profiles().of_organization(&organization.id).map_err(refused)?;
    if arguments.json {
        let object = json!({
            "id": organization.id, "name": organization.name, "type": organization.ty, "place": shown.place,
            "rank": shown.rank, "logo": shown.logo.is_some(),
        });
        println!("{object:#}");
        return Ok(());
    }
    println!("{} ({})", organization.id, plain(&organization.name));
    println!("{:8} {}", "place", shown.place.as_deref().map_or("-".into(), plain));
    println!(
        "{:8} {}",
        "rank",
        shown.rank.map_or("-".to_owned(), |rank| rank.to_string())
    );
    println!("{:8} {}", "logo", if shown.logo.is_some() { "yes" } else { "-" });
    Ok(())
}
