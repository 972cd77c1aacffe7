//! Pages for developers. `/` introduces the service. `/docs` shows the OpenAPI document with an example of each call.
//! A script on it lets users try calls and search while they type.

mod docs;
mod examples;
mod json;
mod page;

pub(super) use docs::routes;
