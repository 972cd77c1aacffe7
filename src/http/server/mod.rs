//! Accepts connections and wraps requests: limits, places of connections, content codings, threads.

pub(super) mod admission;
pub(super) mod answer;
pub(super) mod coding;
pub(super) mod compress;
pub(super) mod file_limit;
pub(super) mod frame;
pub(super) mod listener;
pub(super) mod places;
pub(super) mod protection;
pub(super) mod request_id;
pub(super) mod stream;
pub(super) mod turns;
pub(super) mod workers;
