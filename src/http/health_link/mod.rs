//! SMART Health Links: a patient's summary, or all records as a health card, behind an address and a key that the
//! patient hands to whomever they like.
//!
//! `/rest/health-links` makes, lists and revokes them; `/health-links/{address}` is what recipients ask;
//! `/health-link` is a page that opens a link in a browser. The key stands in the link and nowhere else: the file is
//! encrypted before it is stored, and its key is forgotten with the answer that holds the link.

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
