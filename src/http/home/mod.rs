//! Pages for developers. `/` introduces the service. `/docs` shows the OpenAPI document with an example of each call. A
//! script on `/docs` lets users try calls, and searches while they type.

mod docs;
mod examples;
mod json;
mod page;

pub(super) use docs::routes;
