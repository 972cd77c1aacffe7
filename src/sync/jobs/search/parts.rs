//! Runs narrower searches instead of a refused one. It tries one kind of narrower search after another, and stops at
//! the first kind that the source answers. A kind is a [`Narrower`]: for example, the searches with all values of
//! `category`.

use super::super::work::{Found, Work};
use super::along::Along;
use super::ask::{Asked, Refusal, Reply};
use super::narrow::{Narrower, narrower};
use crate::sync::jobs::gap::{Gap, Why};
use crate::sync::jobs::source::Trouble;

/// A kind of narrower search is given up if this number of its searches was refused and none was answered.
const VAIN: usize = 3;

/// The search for all records of a type, after the source has refused it.
pub(in crate::sync::jobs) struct Whole<'n> {
    pub(in crate::sync::jobs) asked: Asked<'n>,
    pub(in crate::sync::jobs) refusal: Refusal,
}

impl<'w> Work<'w> {
    /// Runs narrower searches instead of the refused search `whole`. If none helps, returns a gap for the whole type.
    pub(in crate::sync::jobs) async fn narrower(
        &'w self,
        whole: Whole<'_>,
        along: &mut Along,
    ) -> Result<Found, Trouble> {
        let Whole {
            asked: Asked { name, address, draft },
            refusal,
        } = &whole;
        let (name, likeness) = (*name, refusal.likeness());
        let nothing = || Found::gap(Gap::of(name, Why::Refused(refusal.status)));
        if !matches!(refusal.status, 400 | 403 | 422) {
            return Ok(nothing());
        }
        let mut asked = 0;
        let mut tried = false;
        for kind in narrower(name, self.whose.scope, &refusal.said, self.whose.statement) {
            tried = true;
            if let Some(found) = self.kind(&whole, &kind, &mut asked, along).await? {
                self.refusals.narrowed(name, likeness, true);
                return Ok(found);
            }
        }
        // The refusal may be about the page size even if it does not mention it. So the search is repeated without a
        // page size.
        let pages = self.source.pages();
        if refusal.status != 403 && !pages.is_proven(pages.first()) && self.refusals.may_go_on(name, &likeness) {
            let draft = format!("{draft}-unsized");
            if let Reply::Had(catch) = self.ask_at(name, address, 0, &draft).await? {
                return self.found(name, None, catch);
            }
        }
        if tried {
            self.refusals.narrowed(name, likeness, false);
        }
        Ok(nothing())
    }

    /// Runs the searches of one kind. Returns `None` if the source refuses all that were tried. The caller then tries
    /// the next kind.
    async fn kind(
        &'w self,
        whole: &Whole<'_>,
        kind: &Narrower,
        asked: &mut usize,
        along: &mut Along,
    ) -> Result<Option<Found>, Trouble> {
        let Whole {
            asked: Asked { name, address, draft },
            refusal,
        } = whole;
        let (name, likeness) = (*name, refusal.likeness());
        let (mut records, mut answered, mut vain) = (0, Vec::new(), 0);
        let mut gaps = Vec::new();
        let mut unknown = Vec::new();
        for part in &kind.searches {
            if !self.refusals.may_go_on(name, &likeness) {
                if answered.is_empty() {
                    return Ok(None);
                }
                gaps.push(Gap::of(name, Why::GivenUp));
                break;
            }
            *asked += 1;
            let of_part = |why| Gap {
                part: Some(part.clone()),
                ..Gap::of(name, why)
            };
            let draft = format!("{draft}-{asked}");
            match self.ask(name, &format!("{address}&{part}"), &draft, along).await? {
                Reply::Had(catch) => {
                    let found = self.found(name, Some(part), catch)?;
                    records += found.records;
                    gaps.extend(found.gaps);
                    answered.push(part.rsplit_once('=').map_or(part.as_str(), |(_, value)| value));
                }
                Reply::Failed(trouble) => gaps.push(of_part(Why::Failed(trouble))),
                Reply::Refused(Refusal { status: 403, .. }) => gaps.push(of_part(Why::Refused(403))),
                // Any other refusal is taken to mean that the source does not know the value.
                Reply::Refused(Refusal { status, .. }) => {
                    vain += 1;
                    unknown.push(of_part(Why::Refused(status)));
                }
            }
            if answered.is_empty() && gaps.is_empty() && vain >= VAIN {
                return Ok(None);
            }
        }
        let failed = gaps.iter().any(|gap| matches!(gap.why, Why::Failed(_)));
        if answered.is_empty() && !failed {
            return Ok(None);
        }
        if kind.reaches_all {
            gaps.extend(unknown);
        } else {
            let by = format!("{} ({})", kind.by, answered.join(", "));
            gaps.push(Gap::of(name, Why::Narrowed(by)));
        }
        Ok(Some(Found { records, gaps }))
    }
}
