//! Pages for developers, without scripts: `/`, which says what this is, and `/docs`, which shows the OpenAPI document.

mod docs;
mod page;

pub(super) use docs::routes;
