//! The options for rate limits, which `serve` and `demo` share.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::http::{Rate, Rates};

/// The rate at which one address may add rows to the store without a credential: one per second, in bursts of 30.
const WRITES: Rate = Rate {
    every: Duration::from_secs(1),
    burst: NonZeroU32::MIN.saturating_add(29),
};

/// Limits on the rate of requests.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct RateArgs {
    /// Maximum requests per second of one credential (a consent, or an application's key), with bursts of five times as
    /// many; 0 means no limit. Tokens of the operator's application `local` are not counted
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    rate_limit: u32,
    /// Maximum operations on a patient's whole record per second of one credential, with bursts of five times as many;
    /// 0 means no limit. They also count as requests
    #[arg(long, value_name = "N", default_value_t = 100)]
    record_rate_limit: u32,
    /// Maximum health cards per minute of one consent, in one burst after a pause; 0 means no limit. Each card leaves a
    /// row in the store, for its revocation. Cards also count as operations on a whole record
    #[arg(long, value_name = "N", default_value_t = 60)]
    card_rate_limit: u32,
    /// Maximum requests per second from one address without a valid credential, with bursts of five times as many; 0
    /// means no limit
    #[arg(long, value_name = "N", default_value_t = 200)]
    address_rate_limit: u32,
    /// Maximum consent flows, and steps towards sources, per minute from one address, in one burst after a pause; 0
    /// means no limit. Patients behind one router share an address
    #[arg(long, value_name = "N", default_value_t = 120)]
    flow_rate_limit: u32,
    /// The server is behind a proxy: the last entry of X-Forwarded-For is the client's address
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
