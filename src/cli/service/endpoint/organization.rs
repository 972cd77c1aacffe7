//! `endpoint organization`: sets what patients see of an organization besides its name.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::service::data_store::{open, refused};
use crate::cli::terminal::columns::plain;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::input::small_file;
use crate::consent::{Actor, Logo, OrganizationChange};

/// Set what patients see of an organization: its place, its logo and its rank
///
/// Options that are left out change nothing, and an empty text removes a value. Prints what patients see from now on.
/// `endpoint add --organization-type` sets the kind of organization.
///
/// Exit codes: 0 set; 2 there is no such organization, or the logo is no picture; 1 another failure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The organization's id
    id: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Its place, as patients call it: "Portland, Oregon"
    #[arg(long, value_name = "TEXT")]
    place: Option<String>,
    /// Its rank in the list that patients see before they type, after the most used ones: 1 comes first, 0 removes the
    /// rank
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
    /// Its logo: a PNG, JPEG, WebP or SVG file of at most 256 KiB
    #[arg(long, value_name = "FILE")]
    logo: Option<PathBuf>,
    /// Remove its logo
    #[arg(long, conflicts_with = "logo")]
    no_logo: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Stores the given values, and prints what patients now see.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let logo = match &arguments.logo {
        Some(path) => {
            let bytes = small_file(path)?;
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
            "id": organization.id, "name": organization.name, "type": organization.organization_type, "place": shown.place,
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
