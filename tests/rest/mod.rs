//! The consent REST API over HTTP: the consents that a token sees, and the pages of a list.

mod consent;
mod list;
mod revoke;

use crate::harness::consented::App;
use crate::harness::server::Server;
use tabularium::lake::Mode;

/// A server with an application.
fn server() -> (Server, App) {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    (server, app)
}

/// An application's token.
fn token(server: &Server, app: &App, mode: Mode) -> String {
    server.tokens.for_application(&app.id, mode).unwrap().token
}
