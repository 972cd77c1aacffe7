//! Public routes: the organizations and endpoints, and applying for access.

mod application;
mod listing;
mod routes;

pub(super) use routes::routes;
