//! Pages for developers: `/`, which says what this is, and `/docs`, which shows the OpenAPI document with an example of
//! each call. Scripts add trying calls out, and a search while it is typed.

mod docs;
mod examples;
mod json;
mod page;

pub(super) use docs::routes;
