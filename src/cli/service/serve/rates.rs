//! How often clients of a server may ask: options that `serve` and `demo` share.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::http::{Rate, Rates};

/// What one address may leave in the store without a credential.
const WRITES: Rate = Rate {
    every: Duration::from_secs(1),
    burst: NonZeroU32::MIN.saturating_add(29),
};

/// Limits on the rate of requests.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct RateArgs {
    /// Requests per second that one credential may make (a consent, or an application's key), five times as many at
    /// once; 0 is no limit. Tokens of the operator's own application `local` are not counted
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    rate_limit: u32,
    /// Operations on all of a patient's records per second that one credential may ask for, five times as
    /// many at once; 0 is no limit. They count as requests, too
    #[arg(long, value_name = "N", default_value_t = 100)]
    record_rate_limit: u32,
    /// Health cards per minute that one consent may ask for, all of them at once after a rest; 0 is no limit. Each
    /// leaves a row in the store, by which it can be revoked. They count as operations on all records, too
    #[arg(long, value_name = "N", default_value_t = 60)]
    card_rate_limit: u32,
    /// Requests per second from one address without a credential, or with one that is refused, five times as many at
    /// once; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 200)]
    address_rate_limit: u32,
    /// Consent flows, and steps of them towards a source, per minute from one address, all of them at once after a
    /// rest; 0 is no limit. Patients behind one router share an address
    #[arg(long, value_name = "N", default_value_t = 120)]
    flow_rate_limit: u32,
    /// A proxy stands before the server: a client's address is what the proxy added last to X-Forwarded-For
    #[arg(long)]
    behind_proxy: bool,
}

impl RateArgs {
    pub(in crate::cli) fn rates(&self) -> Rates {
        Rates {
            credential: Rate::per_second(self.rate_limit),
            records: Rate::per_second(self.record_rate_limit),
            cards: Rate::per_minute(self.card_rate_limit),
            address: Rate::per_second(self.address_rate_limit),
            writes: (self.address_rate_limit > 0).then_some(WRITES),
            flows: Rate::per_minute(self.flow_rate_limit),
            behind_proxy: self.behind_proxy,
        }
    }
}
