//! The sandbox as an HTTP server: its routes, and how it is served.

use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde_json::Value;
use tokio::net::TcpListener;

use super::super::answer::{body, page};
use super::super::records::pages::{HomePage, Listed};
use super::super::records::{fhir, metadata};
use super::super::sign_in::{authorize, consent, identity, login, token};
use super::knobs::KnobError;
use super::organization::{CLIENT_ID, Kind};
use super::people::{PASSWORD, Person};
use super::world::{Settings, World};
use super::{admin, locator};
use crate::sandbox::app::{App, AppSettings, MARK};

/// The maximum number of people that the start page lists.
const NAMED: u64 = 12;

/// A sandbox, ready to be served.
#[derive(Clone)]
pub struct Sandbox {
    world: Arc<World>,
    app: Option<Arc<App>>,
}

impl Sandbox {
    /// Creates a sandbox. Fails if a knob or its organization does not exist, or if a value is invalid.
    pub fn new(settings: Settings) -> Result<Sandbox, KnobError> {
        let world = Arc::new(World::new(settings)?);
        Ok(Sandbox { world, app: None })
    }

    /// Adds the sample application, whose pages are under `/app`.
    pub fn with_app(self, settings: AppSettings) -> Result<Sandbox, reqwest::Error> {
        let app = Some(Arc::new(App::new(settings)?));
        Ok(Sandbox { app, ..self })
    }

    /// Returns the person with this index. `None` if the sandbox has fewer people.
    pub fn person(&self, index: u64) -> Option<Person> {
        self.world.people.person(index)
    }

    /// Returns a person to try the sandbox with: the first of the start page who takes a medicine now. If nobody does,
    /// the first person.
    pub fn example(&self) -> Option<Person> {
        let people = &self.world.people;
        let takes_medicine = |index: &u64| {
            let is_active =
                |json: &str| serde_json::from_str::<Value>(json).is_ok_and(|resource| resource["status"] == "active");
            let records = people.records(*index);
            let mut orders = records.iter().filter(|one| one.resource_type == "MedicationRequest");
            orders.any(|order| is_active(order.json))
        };
        let listed = NAMED.min(people.count());
        people.person((0..listed).find(takes_medicine).unwrap_or(0))
    }

    /// Returns all routes.
    pub fn router(&self) -> Router {
        let has_app = self.app.is_some();
        let app = self.app.clone().map(crate::sandbox::app::routes);
        let organizations = Router::new()
            .route("/", get(move |state| home(state, has_app)))
            .route("/favicon.ico", get(icon))
            .route("/identity/.well-known/openid-configuration", get(identity::discovery))
            .route("/identity/jwks", get(identity::jwks))
            .route("/locator/search", post(locator::search))
            .route("/admin", get(admin::organizations))
            .route("/admin/logins", get(admin::logins))
            .route(
                "/admin/{organization}/knobs",
                get(admin::knobs).patch(admin::turn).delete(admin::reset),
            )
            .route(
                "/admin/{organization}/requests",
                get(admin::requests).delete(admin::recount),
            )
            .route("/admin/{organization}/expire", post(admin::expire))
            .route("/admin/{organization}/redirect-uris", post(admin::redirect_uri))
            .route("/admin/{organization}/bump", post(admin::bump))
            .route("/admin/{organization}/records", post(admin::put).delete(admin::remove))
            .route("/{organization}/authorize", get(authorize::authorize))
            .route("/{organization}/login", get(login::show).post(login::log_in))
            .route("/{organization}/consent", get(consent::show).post(consent::decide))
            .route("/{organization}/token", post(token::token))
            .route(
                "/{organization}/fhir/.well-known/smart-configuration",
                get(metadata::smart),
            )
            .route("/{organization}/fhir/metadata", get(metadata::capability))
            .route("/{organization}/fhir/{type}", get(fhir::search))
            .route("/{organization}/fhir/{type}/{id}", get(fhir::read).post(fhir::post))
            .route("/{organization}/fhir/{type}/{id}/{operation}", get(fhir::operation))
            .fallback(fhir::nothing)
            .with_state(self.world.clone());
        match app {
            Some(app) => organizations.merge(app),
            None => organizations,
        }
    }

    /// Serves until `stop` resolves.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        // A page is one write. Without `nodelay`, its last bytes may wait until the client has acknowledged the earlier
        // bytes.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, self.router()).with_graceful_shutdown(stop).await
    }
}

/// Returns the icon of all pages. Browsers go by the media type, not by the name in the address.
async fn icon() -> Response {
    body(StatusCode::OK, "image/svg+xml", MARK)
}

/// Shows the start page.
async fn home(State(world): State<Arc<World>>, has_app: bool) -> Response {
    let organizations = world
        .offices()
        .map(|office| Listed {
            name: office.organization.name,
            kind: match office.organization.kind {
                Kind::Payer => "Health plan",
                Kind::Provider => "Provider with lasting access",
                Kind::Portal => "Patient portal: people sign in each time",
                Kind::Facility | Kind::Identity => "Facility found by the record locator",
            },
            refreshable: office.refreshable(),
            secret: office.organization.secret,
            base: world.fhir_base(office),
        })
        .collect();
    let home = HomePage {
        organizations,
        people: (0..NAMED).filter_map(|index| world.people.person(index)).collect(),
        count: world.people.count(),
        password: PASSWORD,
        client_id: CLIENT_ID,
        has_app,
    };
    page(StatusCode::OK, &home)
}
