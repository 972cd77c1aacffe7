//! What patients see of an application besides its name: the options of `app create`, and the command `app set`.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::service::data_store::{open, refused};
use crate::cli::terminal::columns::plain;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::input::small_file;
use crate::consent::{Actor, ApplicationChange, Logo, Store};

/// What patients are shown of it.
#[derive(Debug, clap::Args)]
pub(super) struct ProfileArgs {
    /// What it wants the records for, in a sentence that patients read
    #[arg(long, value_name = "TEXT")]
    purpose: Option<String>,
    /// Address of its privacy policy, https
    #[arg(long, value_name = "URL")]
    privacy: Option<String>,
    /// Address of its terms of use, https
    #[arg(long, value_name = "URL")]
    terms: Option<String>,
    /// Its logo: a PNG, JPEG, WebP or SVG file of at most 256 KiB
    #[arg(long, value_name = "FILE")]
    logo: Option<PathBuf>,
}

/// Set what patients see of an application: its purpose, links and logo
///
/// Options that are left out change nothing, and an empty text removes a value. Prints what patients see from now on.
///
/// Exit codes: 0 set; 2 there is no such application, an address is not https, or the logo is no picture; 1 another
/// failure.
#[derive(Debug, clap::Args)]
pub(super) struct SetArgs {
    /// The application's id
    id: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    #[command(flatten)]
    profile: ProfileArgs,
    /// Remove its logo
    #[arg(long, conflicts_with = "logo")]
    no_logo: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl ProfileArgs {
    /// Reads the file of `--logo`. `None` if the option is not given. Callers do this before they change the
    /// application, so that a bad file leaves the application unchanged.
    pub(super) fn logo(&self) -> Result<Option<Logo>, Failure> {
        let Some(path) = &self.logo else { return Ok(None) };
        let bytes = small_file(path)?;
        Logo::new(bytes).map(Some).map_err(refused)
    }

    /// Stores the values of the given options. For `logo`, `None` changes nothing and `Some(None)` removes the logo.
    pub(super) fn apply(&self, store: &Store, id: &str, logo: Option<Option<&Logo>>) -> Result<(), Failure> {
        let change = ApplicationChange {
            purpose: self.purpose.as_deref(),
            privacy: self.privacy.as_deref(),
            terms: self.terms.as_deref(),
            logo,
        };
        let named = change.purpose.or(change.privacy).or(change.terms).is_some() || logo.is_some();
        if named {
            store
                .profiles()
                .set_of_application(id, &change, Actor::Operator)
                .map_err(refused)
        } else {
            Ok(())
        }
    }
}

/// Stores the given values, and prints what patients now see.
pub(super) fn set(arguments: &SetArgs) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let logo = arguments.profile.logo()?;
    let change = match &logo {
        Some(logo) => Some(Some(logo)),
        None => arguments.no_logo.then_some(None),
    };
    let Some(application) = store.applications().get(&arguments.id).map_err(refused)? else {
        return Err(Failure::input(format!("there is no application {:?}", arguments.id)));
    };
    arguments.profile.apply(&store, &application.id, change)?;
    let shown = store.profiles().of_application(&application.id).map_err(refused)?;
    if arguments.json {
        let object = json!({
            "id": application.id, "name": application.name, "purpose": shown.purpose, "privacy": shown.privacy,
            "terms": shown.terms, "logo": shown.logo.is_some(),
        });
        println!("{object:#}");
        return Ok(());
    }
    println!("{} ({})", application.id, plain(&application.name));
    for (name, text) in [
        ("purpose", shown.purpose),
        ("privacy", shown.privacy),
        ("terms", shown.terms),
    ] {
        println!("{name:8} {}", text.as_deref().map_or("-".into(), plain));
    }
    println!("{:8} {}", "logo", if shown.logo.is_some() { "yes" } else { "-" });
    Ok(())
}
