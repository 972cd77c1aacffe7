//! Limits of deliveries.

use std::time::Duration;

use crate::sync::client::HttpLimits;

/// The limits of a [`Deliverer`](super::Deliverer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The timeout of one attempt.
    pub timeout: Duration,
    /// The maximum number of concurrent attempts at one receiver. A receiver whose last attempt has failed or was slow
    /// gets one.
    pub of_receiver: usize,
    /// The maximum number of concurrent attempts in all. Receivers whose last attempt has failed or was slow get half
    /// of them.
    pub all: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            timeout: Duration::from_secs(10),
            of_receiver: 4,
            all: 64,
        }
    }
}

impl Settings {
    /// Returns the limits of the HTTP client.
    pub(super) fn http(&self) -> HttpLimits {
        HttpLimits {
            connect: self.timeout,
            idle: self.timeout,
            whole: self.timeout,
            ..HttpLimits::default()
        }
    }
}
