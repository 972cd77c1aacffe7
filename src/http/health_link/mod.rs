//! SMART Health Links: a patient's summary, or all records as a health card, behind an address and a key that the
//! patient can pass on.
//!
//! `/rest/health-links` makes, lists and revokes links. Recipients call `/health-links/{address}`. `/health-link` is a
//! page that opens a link in a browser. Only the link contains the key: the file is encrypted before it is stored, and
//! the server drops the key after the answer with the link.

mod answers;
mod create;
mod described;
mod file;
mod jwe;
mod manage;
mod page;
mod qr;
mod request;
mod resolve;
mod shlink;

use super::routes::Route;

/// The routes of patients.
pub(super) fn patient_routes() -> Vec<Route> {
    vec![
        Route::at("/rest/health-links")
            .get(manage::list, described::list())
            .post(create::create, described::create()),
        Route::at("/rest/health-links/{id}").delete(manage::revoke, described::revoke()),
    ]
}

/// The routes of recipients.
pub(super) fn recipient_routes() -> Vec<Route> {
    vec![
        Route::at("/health-links/{address}")
            .get(resolve::direct, described::direct())
            .post(resolve::manifest, described::manifest())
            .callable_anywhere(),
        Route::at("/health-links/{address}/file/{ticket}")
            .get(file::located, described::located())
            .callable_anywhere(),
        Route::at("/health-link").get(page::page, described::page()),
        Route::at("/health-link/{name}").also_get(page::asset),
    ]
}
