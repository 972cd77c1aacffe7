//! What a patient sees: the way from the application into the flow, its pages, and the way back.
//!
//! Pages are rendered here and work without scripts. A page is a GET that changes nothing and shows where the session stands;
//! what changes something is a POST with a token of the session's own, which leads to the page again. Where a session may go
//! from where it stands is decided in `consent::flow`; how sources are asked, in `sync::client`.

mod actions;
mod asset;
mod callback;
mod codes;
mod cookie;
mod csrf;
mod duration;
mod ending;
mod entry;
mod kinds;
mod left;
mod meanwhile;
mod notice;
mod page;
mod parameters;
mod places;
mod redirect_uri;
mod request;
mod routes;
mod shown;
mod texts;
mod ticket;
mod travel;
mod view;
mod visit;

pub(super) use routes::routes;
