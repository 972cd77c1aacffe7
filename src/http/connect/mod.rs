//! What a patient sees: the way from the application into the flow, its pages, and the way back.
//!
//! Pages are rendered here and work without scripts. A page is a GET that changes nothing and shows where the session
//! stands; what changes something is a POST with a token of the session's own, which leads to the page again. Where a
//! session may go from where it stands is decided in `consent::flow`; how sources are asked, in `sync::client`.

mod brand;
mod flow;
mod language;
mod page;
mod pages;
mod routes;

pub use brand::{Branding, BrandingError};
pub use language::{LanguageError, Languages};
pub(super) use page::nowhere;
pub use pages::Pages;
pub(super) use routes::routes;
