//! Provenance that comes along with what it is about (`_revinclude=Provenance:target`). A source that refuses a search
//! for it is asked without: the type is worth more than its Provenance.

use super::ask::Reply;
use super::narrow::names_count;
use crate::sync::jobs::fetch::Work;
use crate::sync::jobs::source::Trouble;

const ALONG: &str = "&_revinclude=Provenance:target";

/// Whether searches of one type request Provenance, and how the source reacted.
#[derive(Debug, Default)]
pub(in crate::sync::jobs) struct Along {
    wanted: bool,
    /// The status by which it was refused.
    refused: Option<u16>,
}

impl Along {
    pub(in crate::sync::jobs) fn new(wanted: bool) -> Along {
        Along { wanted, refused: None }
    }

    /// The status by which a search with Provenance was refused that was answered without.
    pub(in crate::sync::jobs) fn refused(&self) -> Option<u16> {
        self.refused
    }
}

impl<'w> Work<'w> {
    /// Searches, with Provenance as long as the source supports it. The records count only if all of them came.
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
        let refusal = match self.ask_at(&with, size, draft).await? {
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
        // Its pages were too large, and that may be all that the source minded.
        let size_now = self.source.pages().first();
        if size_now != size
            && let Reply::Had(whole) = self.ask_at(&with, size_now, &format!("{draft}-along")).await?
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
