//! Public routes: lists of the organizations and endpoints, and requests for access.

mod application;
mod listing;
mod routes;

pub(super) use routes::routes;
