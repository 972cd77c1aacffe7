//! The consent flow for patients: the entry from the application, the pages, and the return to the application.
//!
//! The pages are rendered on the server and work without scripts. A page is a GET that shows the session's state and
//! changes nothing. A form is a POST with the session's CSRF token. It changes the state and redirects to the page.
//!
//! The module `consent::flow` decides which steps a session can take. `sync::client` calls the sources.

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
