//! Starts the demo's sandbox on its own port. Stores its organizations in the directory of test mode, and registers a
//! sample application with keys of that mode. A repeated run updates the addresses in these entries and adds no
//! duplicates.

use std::net::TcpListener;

use crate::cli::configuration::address::listen as listen_on;
use crate::cli::terminal::failure::Failure;
use crate::consent::{
    Actor, ApplicationChange, AuthorizationType, EndpointStatus, IdentityProvider, Logo, NewApplication, NewEndpoint,
    Organization, OrganizationChange, Store, SyncFrequency,
};
use crate::lake::Mode;
use crate::sandbox::app::{AppSettings, MARK};
use crate::sandbox::payer::{self, CLIENT_ID, CLIENT_SECRET, Kind, ORGANIZATIONS, Sandbox, Settings};

/// The sample application's id.
const SAMPLE: &str = "sample";
/// The purpose of the sample application, which patients read.
const PURPOSE: &str = "It shows you your records in one place.";
/// The code of the sandbox's identity provider.
const PROVIDER: &str = "TRUENAME";
/// One year in seconds: the maximum duration of an authorization at the organization Lakeshore.
const YEAR: i64 = 365 * 86_400;

/// The default address of the sandbox.
const ADDRESS: &str = "127.0.0.1:8081";
/// The option that sets the address of the sandbox.
const OPTION: &str = "--sandbox-listen";
/// The maximum number of people in the sandbox.
const MAX_PEOPLE: u64 = 100_000;
/// The seed of the demo's population and of the sandbox. Both therefore have the same people.
pub(super) const SEED: u64 = 1;

/// The address of the sandbox, an organization and a login, which the demo prints.
pub(in crate::cli) struct Playground {
    /// The sandbox's address.
    pub(in crate::cli) sandbox: String,
    /// The name of an organization with the clinical records of everybody.
    pub(in crate::cli) organization: &'static str,
    /// The user name of a person in the sandbox who takes a medicine now, if there is one.
    pub(in crate::cli) user: String,
}

/// Binds the port of the sandbox. If no address is given, binds the default one, or a free port if that fails. Returns
/// the listener and its `http` address.
pub(in crate::cli) fn listen(address: Option<&str>) -> Result<(TcpListener, String), Failure> {
    match address {
        Some(address) => listen_on(address, OPTION),
        None => listen_on(ADDRESS, OPTION).or_else(|_| listen_on("127.0.0.1:0", OPTION)),
    }
}

/// Registers the organizations and the sample application, and starts the sandbox on a thread. The sandbox runs as
/// long as the process.
pub(in crate::cli) fn open(
    store: &Store,
    service: &str,
    listener: TcpListener,
    address: &str,
    people: u64,
) -> Result<Playground, Failure> {
    let app = register(store, service, address)?;
    let settings = Settings {
        patients: people.clamp(1, MAX_PEOPLE),
        seed: SEED,
        base_url: address.to_owned(),
        redirect_uris: Vec::new(),
        knobs: Vec::new(),
    };
    let sandbox = Sandbox::new(settings).map_err(Failure::other)?;
    let user = sandbox.example().map(|person| person.user).unwrap_or_default();
    let sandbox = sandbox.with_app(app).map_err(Failure::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    std::thread::Builder::new()
        .name("sandbox".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let served = match tokio::net::TcpListener::from_std(listener) {
                    Ok(listener) => sandbox.serve(listener, std::future::pending()).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = served {
                    tracing::error!(%error, "the sandbox ended");
                }
            });
        })
        .map_err(Failure::other)?;
    Ok(Playground {
        sandbox: address.to_owned(),
        organization: clinical().name,
        user,
    })
}

/// Returns the organization that the demo suggests. A health plan has claims, but neither lab values nor medicines that
/// are taken now.
fn clinical() -> &'static payer::Organization {
    let provider = ORGANIZATIONS.iter().find(|one| one.kind == Kind::Provider);
    provider.unwrap_or(&ORGANIZATIONS[0])
}

/// Stores the organizations, the identity provider and the record locator of the sandbox at address `sandbox`.
/// Registers the sample application, which the sandbox serves, and returns the application's settings.
fn register(store: &Store, service: &str, sandbox: &str) -> Result<AppSettings, Failure> {
    for organization in ORGANIZATIONS {
        list(store, organization, sandbox)?;
    }
    let provider = IdentityProvider {
        code: PROVIDER.to_owned(),
        mode: Mode::Test,
        name: "Truename Identity".to_owned(),
        issuer: format!("{sandbox}/identity"),
        client_id: CLIENT_ID.to_owned(),
    };
    store
        .identity_providers()
        .save(&provider, None, Actor::Operator)
        .map_err(Failure::other)?;
    let locator = format!("{sandbox}/locator/search");
    store
        .record_locators()
        .set(Mode::Test, &locator, Actor::Operator)
        .map_err(Failure::other)?;
    sample(store, service, sandbox)
}

/// Stores an organization and its endpoint in the directory of test mode.
fn list(store: &Store, organization: &payer::Organization, sandbox: &str) -> Result<(), Failure> {
    let id = format!("sandbox-{}", organization.id);
    let facility = organization.kind == Kind::Facility;
    let listed = Organization {
        id: id.clone(),
        name: organization.name.to_owned(),
        note: match organization.kind {
            Kind::Payer => "All plans",
            _ => "",
        }
        .to_owned(),
        organization_type: match organization.kind {
            Kind::Payer => "PAYER",
            _ => "PROVIDER",
        }
        .to_owned(),
    };
    store
        .organizations()
        .save(&listed, Actor::Operator)
        .map_err(Failure::other)?;
    let logo = Logo::new(organization.mark.as_bytes().to_vec()).map_err(Failure::other)?;
    let profile = OrganizationChange {
        place: Some(organization.place),
        logo: Some(Some(&logo)),
        ..OrganizationChange::default()
    };
    store
        .profiles()
        .set_of_organization(&id, &profile, Actor::Operator)
        .map_err(Failure::other)?;
    let labels: Vec<String> = organization.labels.iter().map(|label| (*label).to_owned()).collect();
    let types: Vec<String> = organization
        .types()
        .iter()
        .map(|resource_type| (*resource_type).to_owned())
        .collect();
    let endpoint = NewEndpoint {
        id: Some(&id),
        organization: &id,
        name: organization.name,
        mode: Mode::Test,
        label: &labels,
        authorization_type: match organization.kind {
            Kind::Facility => AuthorizationType::Ial2,
            Kind::Portal => AuthorizationType::Credentials,
            _ => AuthorizationType::Oauth,
        },
        // A facility issues no refresh token. It counts as refreshable, because the service can query it again about a
        // patient who was found there.
        refreshable: organization.refreshable || facility,
        refresh_valid_for: None,
        max_auth_period: match organization.id {
            "lakeshore" => Some(YEAR),
            "riverbend" => Some(0),
            _ => None,
        },
        status: EndpointStatus::Live,
        resources: &types,
        fhir_base: &format!("{sandbox}/{}/fhir", organization.id),
        configuration: None,
        client_id: CLIENT_ID,
        client_secret: organization.secret.map(|_| CLIENT_SECRET),
        scope: if organization.refreshable {
            "launch/patient offline_access patient/*.read"
        } else {
            "launch/patient patient/*.read"
        },
        identifier_system: &format!("https://sandbox.example.org/{}/id", organization.id),
    };
    store
        .endpoints()
        .save(&endpoint, Actor::Operator)
        .map_err(Failure::other)?;
    Ok(())
}

/// Registers the sample application. If it exists, updates its addresses and gives it new keys, because the secrets of
/// the old keys are not stored.
fn sample(store: &Store, service: &str, sandbox: &str) -> Result<AppSettings, Failure> {
    let redirect_uris = [format!("{sandbox}/app/callback"), format!("{sandbox}/app/code")];
    let origins = [sandbox.to_owned()];
    let keys = match store.applications().get(SAMPLE).map_err(Failure::other)? {
        None => {
            let new = NewApplication {
                id: Some(SAMPLE),
                name: "Sample application",
                modes: &[Mode::Test],
                redirect_uris: &redirect_uris,
                origins: &origins,
                sync_frequency: SyncFrequency::Daily,
                ..NewApplication::default()
            };
            let (_, mut keys) = store
                .applications()
                .create(&new, Actor::Operator)
                .map_err(Failure::other)?;
            keys.pop()
        }
        Some(known) => {
            for uri in known.redirect_uris.iter().filter(|uri| !redirect_uris.contains(uri)) {
                store
                    .redirect_uris()
                    .remove(SAMPLE, uri, Actor::Operator)
                    .map_err(Failure::other)?;
            }
            for origin in known.origins.iter().filter(|origin| !origins.contains(origin)) {
                store
                    .origins()
                    .remove(SAMPLE, origin, Actor::Operator)
                    .map_err(Failure::other)?;
            }
            for uri in &redirect_uris {
                store
                    .redirect_uris()
                    .add(SAMPLE, uri, Actor::Operator)
                    .map_err(Failure::other)?;
            }
            store
                .origins()
                .add(SAMPLE, sandbox, Actor::Operator)
                .map_err(Failure::other)?;
            Some(
                store
                    .clients()
                    .rotate(SAMPLE, Mode::Test, 0, Actor::Operator)
                    .map_err(Failure::other)?,
            )
        }
    };
    let keys = keys.and_then(|keys| Some((keys.publishable, keys.secret?)));
    let (publishable_key, secret_key) =
        keys.ok_or_else(|| Failure::other("the application \"sample\" in the folder is not the demo's"))?;
    let logo = Logo::new(MARK.as_bytes().to_vec()).map_err(Failure::other)?;
    let (privacy, terms) = (format!("{sandbox}/app/privacy"), format!("{sandbox}/app/terms"));
    let profile = ApplicationChange {
        purpose: Some(PURPOSE),
        privacy: Some(&privacy),
        terms: Some(&terms),
        logo: Some(Some(&logo)),
    };
    store
        .profiles()
        .set_of_application(SAMPLE, &profile, Actor::Operator)
        .map_err(Failure::other)?;
    Ok(AppSettings {
        service: service.to_owned(),
        publishable_key,
        secret_key,
        base_url: sandbox.to_owned(),
    })
}
