//! Includes Provenance in searches (`_revinclude=Provenance:target`). If a source refuses that, the search is repeated
//! without it, because the type matters more than its Provenance.

use super::super::work::Work;
use super::ask::Reply;
use super::narrow::names_count;
use crate::sync::jobs::source::Trouble;

const ALONG: &str = "&_revinclude=Provenance:target";

/// Whether searches of one type request Provenance, and how the source reacted.
#[derive(Debug, Default)]
pub(in crate::sync::jobs) struct Along {
    wanted: bool,
    /// The status with which the source refused to include Provenance.
    refused: Option<u16>,
}

impl Along {
    pub(in crate::sync::jobs) fn new(wanted: bool) -> Along {
        Along { wanted, refused: None }
    }

    /// Returns the status with which the source refused to include Provenance. `None` unless a search succeeded only
    /// without Provenance.
    pub(in crate::sync::jobs) fn refused(&self) -> Option<u16> {
        self.refused
    }
}

impl<'w> Work<'w> {
    /// Searches, with Provenance as long as the source supports it.
    pub(in crate::sync::jobs) async fn ask(
        &'w self,
        name: &'static str,
        address: &str,
        draft: &str,
        along: &mut Along,
    ) -> Result<Reply<'w>, Trouble> {
        if !along.wanted {
            return self.ask_plainly(name, address, draft).await;
        }
        let (with, size) = (format!("{address}{ALONG}"), self.source.pages().first());
        let refusal = match self.ask_at(name, &with, size, draft).await? {
            Reply::Refused(refusal) => refusal,
            reply => return Ok(reply),
        };
        if names_count(&refusal.said)
            && let Reply::Had(whole) = self.ask_plainly(name, &with, draft).await?
        {
            return Ok(Reply::Had(whole));
        }
        let reply = self.ask_plainly(name, address, draft).await?;
        let Reply::Had(plain) = reply else {
            return Ok(reply);
        };
        // The search without Provenance may have found a smaller page size. Then the old size may have been the only
        // reason for the refusal, so Provenance is tried again.
        let size_now = self.source.pages().first();
        if size_now != size
            && let Reply::Had(whole) = self.ask_at(name, &with, size_now, &format!("{draft}-along")).await?
        {
            return Ok(Reply::Had(whole));
        }
        *along = Along {
            wanted: false,
            refused: Some(refusal.status),
        };
        Ok(Reply::Had(plain))
    }
}
