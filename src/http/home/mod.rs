//! Pages for developers: `/`, which introduces the service, and `/docs`, which shows the OpenAPI document with an
//! example of each call. Scripts add a way to try calls, and a search while the user types.

mod docs;
mod examples;
mod json;
mod page;

pub(super) use docs::routes;
