//! The flow for a patient: the way in from the application, the pages, and the way back.
//!
//! Pages are rendered here and work without scripts. A page is a GET that changes nothing and shows the session's
//! state. A form is a POST with the session's token. It changes the state and redirects to the page.
//!
//! `consent::flow` decides which steps a session can take. `sync::client` calls the sources.

mod brand;
mod flow;
pub(super) mod language;
mod page;
mod pages;
mod routes;

pub use brand::{Branding, BrandingError};
pub use language::{LanguageError, Languages};
pub(super) use page::nowhere;
pub use pages::Pages;
pub(super) use routes::routes;
