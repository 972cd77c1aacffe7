//! The attachments of one job: decides which are fetched and which stay as they are, and counts them.

use std::collections::BTreeMap;

use url::Url;

use super::attachment::{Fate, Wanted, hexadecimal};
use super::{binary, fetch, find, rewrite};
use crate::consent::AttachmentCounts;
use crate::ingest::{SourceBase, SyncedAttachment};
use crate::lake::{KeptAttachment, Lake};
use crate::sync::jobs::gap::{Gap, Why};
use crate::sync::jobs::source::{Source, Trouble, blocking, internal};
use crate::sync::jobs::spool::Spool;
use crate::sync::settings::SyncLimits;

/// The maximum number of attachments that one job fetches.
const MAX_FETCHED: usize = 20_000;

/// The attachments that the lake already has, and what is needed to compute the ids of a job's attachments.
pub(in crate::sync::jobs) struct Whose {
    pub(in crate::sync::jobs) lake: Lake,
    pub(in crate::sync::jobs) owner: i64,
    pub(in crate::sync::jobs) endpoint: String,
    pub(in crate::sync::jobs) source_patient: String,
    /// The source's FHIR base, in all forms that its answers have shown.
    pub(in crate::sync::jobs) base: SourceBase,
    /// The attachments that earlier syncs of the authorization stored.
    pub(in crate::sync::jobs) kept: Vec<KeptAttachment>,
}

impl Whose {
    /// Returns our id for a Binary of the source.
    fn id(&self, source_id: &str) -> String {
        self.lake.synced_id(self.owner, &self.endpoint, "Binary", source_id)
    }
}

/// The result for a job's attachments.
#[derive(Debug, Default)]
pub(in crate::sync::jobs) struct Attached {
    /// The attachments for the commit.
    pub(in crate::sync::jobs) list: Vec<SyncedAttachment>,
    pub(in crate::sync::jobs) gaps: Vec<Gap>,
    pub(in crate::sync::jobs) tally: AttachmentCounts,
}

/// Fetches the attachments of the records in a spool. Rewrites the records, so that they refer to the fetched files.
/// `taken` is the number of bytes of the records.
pub(in crate::sync::jobs) async fn attach(
    source: &Source,
    spool: Spool,
    whose: Whose,
    limits: SyncLimits,
    taken: u64,
) -> Result<(Spool, Attached), Trouble> {
    let place = find::SourceAddress::of(&whose.base, source).map_err(internal)?;
    let (files, looked) = (spool.files(), place.clone());
    let found = blocking(move || find::find(&files, &looked)).await?.map_err(internal)?;
    if found.is_empty() {
        return Ok((spool, Attached::default()));
    }
    let mut attached = Attached::default();
    let mut fates: BTreeMap<Url, Fate> = BTreeMap::new();
    let ids: BTreeMap<Url, String> = found
        .wanted
        .iter()
        .map(|(url, wanted)| (url.clone(), whose.id(&wanted.source_id)))
        .collect();
    let mut open: Vec<(Url, Wanted)> = Vec::new();
    let mut left = MAX_FETCHED;
    for (url, wanted) in found.wanted {
        let id = whose.id(&wanted.source_id);
        if found.inline.contains(&wanted.source_id) {
            fates.insert(url, Fate::Here(None));
        } else if let Some(kept) = whose
            .kept
            .iter()
            .find(|kept| kept.binary == id && kept.origin == wanted.origin())
        {
            attached.tally.kept += 1;
            fates.insert(url, Fate::Here(sha1_of(&kept.sha1).map(|sha1| (kept.bytes, sha1))));
        } else if left == 0 {
            attached.tally.at_source += 1;
            fates.insert(url, Fate::Away);
        } else {
            left -= 1;
            open.push((url, wanted));
        }
    }
    let too_many = attached.tally.at_source;
    let done = fetch::fetch_all(source, (&spool, whose.lake.folder().keys()), open, limits, taken).await?;
    let mut gaps = Gaps::default();
    if too_many > 0 {
        gaps.note(Why::TooMany, too_many, Vec::new());
    }
    let mut lines = Vec::new();
    for one in done {
        match one.came {
            Ok(fetched) => {
                attached.tally.fetched += 1;
                fates.insert(
                    one.url.clone(),
                    Fate::Here(Some((fetched.sums.bytes, fetched.sums.sha1))),
                );
                lines.push(binary::line(&one.wanted, &fetched, &whose.source_patient));
                let id = whose.id(&one.wanted.source_id);
                // If the lake has the same bytes, they are not stored again.
                let same = whose.kept.iter().find(|kept| {
                    kept.binary == id
                        && kept.bytes == fetched.sums.bytes
                        && kept.sha256 == hexadecimal(&fetched.sums.sha256)
                });
                attached.list.push(SyncedAttachment {
                    source_id: one.wanted.source_id.clone(),
                    address: one.url.to_string(),
                    origin: one.wanted.origin(),
                    bytes: fetched.path,
                    sums: fetched.sums,
                    kept: same.map(|kept| kept.number),
                });
            }
            Err(why) => {
                match why {
                    Why::TooLarge(_) | Why::TooMany => attached.tally.at_source += 1,
                    _ => attached.tally.missing += 1,
                }
                fates.insert(one.url, Fate::Away);
                gaps.note(why, 1, one.wanted.records);
            }
        }
    }
    attached.gaps = gaps.0;
    let spool = blocking(move || {
        rewrite::rewrite(&spool, &found.in_files, &place, &fates, &|url| ids.get(url).cloned())?;
        // Write the Binaries of the fetched files. The name of this draft sorts last among the spool's files, and the
        // last of several records with one id is stored. So these records replace the source's own records of the same
        // Binaries, which have no bytes.
        let mut draft = spool.draft("zz-attachments")?;
        for line in &lines {
            draft.line(line)?;
        }
        spool.keep(draft)?;
        Ok::<_, std::io::Error>(spool)
    })
    .await?
    .map_err(internal)?;
    Ok((spool, attached))
}

/// Collects gaps: one for each reason, with a count.
#[derive(Default)]
struct Gaps(Vec<Gap>);

impl Gaps {
    /// Counts attachments. `records` are those that refer to them: a retry reads these records again.
    fn note(&mut self, why: Why, count: u64, records: Vec<String>) {
        match self.0.iter_mut().find(|gap| gap.why == why) {
            Some(gap) => {
                gap.records = Some(gap.records.unwrap_or_default() + count);
                gap.reads.extend(records);
            }
            None => self.0.push(Gap {
                records: Some(count),
                reads: records,
                ..Gap::of("Binary", why)
            }),
        }
    }
}

fn sha1_of(digits: &str) -> Option<[u8; 20]> {
    let mut sha1 = [0; 20];
    for (at, byte) in sha1.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(sha1)
}
