//! Runs one search: all its pages, of a size that the source accepts.

use std::collections::HashSet;
use std::sync::PoisonError;

use sha2::{Digest, Sha256};
use url::Url;

use super::super::work::Work;
use super::narrow::{named, names_count, names_filter, text_of};
use super::page::{NoPage, Page, Record, page, says_nothing_is_found};
use super::refusals::Likeness;
use crate::sync::jobs::catch::Catch;
use crate::sync::jobs::source::Trouble;

/// The maximum number of pages of one search.
const PAGES: usize = 10_000;
/// The maximum number of bytes that are read of the body of a refusal.
const SAID: usize = 16 << 10;
/// After this number of searches were refused at all page sizes, the size is no longer assumed to be the reason.
const VAIN_SIZES: u32 = 2;

/// A search for all records of a type that a person has under one id.
#[derive(Clone, Copy)]
pub(in crate::sync::jobs) struct Asked<'a> {
    pub(in crate::sync::jobs) name: &'static str,
    pub(in crate::sync::jobs) address: &'a str,
    /// The name of the file for its records.
    pub(in crate::sync::jobs) draft: &'a str,
}

/// The result of one search.
pub(in crate::sync::jobs) enum Reply<'w> {
    /// Its records. The catch knows which further pages did not come.
    Had(Box<Catch<'w>>),
    Refused(Refusal),
    Failed(Trouble),
}

/// A source's refusal of a search.
#[derive(Clone, Debug)]
pub(in crate::sync::jobs) struct Refusal {
    pub(in crate::sync::jobs) status: u16,
    pub(in crate::sync::jobs) said: String,
}

impl Refusal {
    pub(super) fn likeness(&self) -> Likeness {
        Likeness {
            status: self.status,
            named: named(&self.said),
        }
    }
}

/// The first page of a search, its address after redirects, and the requested address. If the search was refused, the
/// refusal.
type Opened = Result<(Page, Url, String), Refusal>;

impl<'w> Work<'w> {
    /// Searches without Provenance, and reduces the page size while the source refuses it.
    pub(in crate::sync::jobs) async fn ask_plainly(
        &'w self,
        name: &'static str,
        address: &str,
        draft: &str,
    ) -> Result<Reply<'w>, Trouble> {
        let opened = self.open(name, address).await;
        self.walked(name, opened, draft).await
    }

    /// Searches with this page size. With 0 the source chooses it.
    pub(in crate::sync::jobs) async fn ask_at(
        &'w self,
        name: &'static str,
        address: &str,
        size: u32,
        draft: &str,
    ) -> Result<Reply<'w>, Trouble> {
        let opened = self.first(name, address, size).await;
        self.walked(name, opened, draft).await
    }

    /// Requests the first page, of the largest size that the source accepts. If several searches are refused at the
    /// same time, only one of them tries sizes.
    async fn open(&self, name: &'static str, address: &str) -> Result<Opened, Trouble> {
        let pages = self.source.pages();
        let mut size = pages.first();
        let mut refusal = match self.first(name, address, size).await? {
            Ok(opened) => {
                self.source.took(size);
                return Ok(Ok(opened));
            }
            Err(refusal) => refusal,
        };
        self.refusals.note(name, &refusal.likeness());
        if !self.may_be_size(name, size, &refusal) {
            return Ok(Err(refusal));
        }
        let mut vain = self.vain_sizes.lock().await;
        // While this search waited for the lock, another search may have found a size that the source accepts. So check
        // again.
        while self.may_be_size(name, size, &refusal) {
            let is_doubtful = *vain >= VAIN_SIZES && !names_count(&refusal.said);
            let next = match pages.first() {
                known if known < size => Some(known),
                _ if is_doubtful => Some(0).filter(|_| size > 0),
                _ => pages.smaller(size),
            };
            let Some(next) = next else {
                *vain += 1;
                break;
            };
            size = next;
            refusal = match self.first(name, address, size).await? {
                Ok(opened) => {
                    // If `is_doubtful`, other sizes were not tried. So do not remember that the source chooses the
                    // size.
                    if !is_doubtful {
                        self.source.took(size);
                    }
                    return Ok(Ok(opened));
                }
                Err(refusal) => refusal,
            };
            self.refusals.note(name, &refusal.likeness());
        }
        Ok(Err(refusal))
    }

    /// Whether a refusal may be about the page size.
    fn may_be_size(&self, name: &'static str, size: u32, refusal: &Refusal) -> bool {
        let Refusal { status, said } = refusal;
        let is_size = names_count(said) || !self.source.pages().is_proven(size) && !names_filter(name, said);
        matches!(status, 400 | 422) && is_size && self.refusals.may_go_on(name, &refusal.likeness())
    }

    async fn first(&self, name: &str, address: &str, size: u32) -> Result<Opened, Trouble> {
        let sized = match size {
            0 => address.to_owned(),
            size => format!("{address}&_count={size}"),
        };
        let found = self.page(name, &sized, true).await?;
        Ok(found.map(|(page, at)| (page, at, sized)))
    }

    /// Fetches the further pages of a search, after its first page was requested. If a further page does not come, the
    /// records of the pages before it are kept.
    async fn walked(&'w self, name: &str, opened: Result<Opened, Trouble>, draft: &str) -> Result<Reply<'w>, Trouble> {
        let (first, at, url) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(refusal)) => return Ok(Reply::Refused(refusal)),
            Err(trouble) if trouble.ends_all() => return Err(trouble),
            Err(trouble) => return Ok(Reply::Failed(trouble)),
        };
        self.refusals.answered();
        let mut catch = self.begin(draft)?;
        match self.walk(name, first, (at, url), &mut catch).await {
            Ok(()) => {}
            Err(trouble) if trouble.ends_all() => return Err(trouble),
            Err(trouble) => catch.cut(trouble),
        }
        Ok(Reply::Had(Box::new(catch)))
    }

    async fn walk(
        &self,
        name: &str,
        first: Page,
        (mut at, url): (Url, String),
        catch: &mut Catch<'_>,
    ) -> Result<(), Trouble> {
        let digest = |url: &str| <[u8; 32]>::from(Sha256::digest(url));
        let mut seen = HashSet::from([digest(&url)]);
        let mut found = first;
        while let Some(next) = self.take_page(found, catch)? {
            let url = self.next(&at, &next)?;
            if !seen.insert(digest(&url)) {
                return Err(Trouble::Broken("the source's pages lead in a circle".to_owned()));
            }
            if seen.len() > PAGES {
                return Err(Trouble::Broken("the source's pages do not end".to_owned()));
            }
            (found, at) = self.page(name, &url, false).await?.map_err(|refusal| {
                Trouble::Broken(format!("a further page was answered with status {}", refusal.status))
            })?;
        }
        Ok(())
    }

    /// Gets one page of a search for a type, and the page's address after redirects. An unreadable page is requested
    /// once more.
    async fn page(&self, name: &str, url: &str, is_first: bool) -> Result<Result<(Page, Url), Refusal>, Trouble> {
        let mut again = true;
        loop {
            let answer = self.source.get(url).await?;
            let found = match answer.status {
                200 | 203 | 206 => match page(&answer.body, name) {
                    // A search that has begun does not end with a message.
                    Ok(page) if !is_first && !page.is_bundle => Err(NoPage::Other),
                    page => page,
                },
                204 if is_first => Ok(Page::default()),
                status if is_first && self.is_empty(name, status, &answer.body) => Ok(Page::default()),
                status => {
                    let said = &answer.body[..answer.body.len().min(SAID)];
                    return Ok(Err(Refusal {
                        status,
                        said: text_of(said),
                    }));
                }
            };
            match found {
                Ok(page) => {
                    for said in &page.said {
                        self.source.hear(answer.status, said.as_bytes()).await;
                    }
                    return Ok(Ok((page, answer.url)));
                }
                Err(_) if std::mem::take(&mut again) => {}
                Err(no_page) => {
                    self.source.hear(answer.status, &answer.body).await;
                    return Err(Trouble::Broken(no_page.to_string()));
                }
            }
        }
    }

    /// Requests one page of a search, and returns its records without adding them to the job. A refusal means that
    /// there are none.
    pub(in crate::sync::jobs) async fn peek(&self, address: &str) -> Result<Vec<Record>, Trouble> {
        match self.page("Patient", address, true).await? {
            Ok((page, _)) => Ok(page.records),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Whether a source says with this status that a search finds nothing. With 404 it may also mean that it does not
    /// serve the type. So a 404 only counts if the source's statement lists the type.
    fn is_empty(&self, name: &str, status: u16, body: &[u8]) -> bool {
        let is_listed = || {
            let statement = self.whose.statement;
            statement.is_some_and(|statement| statement.types.get(name).is_some_and(|served| served.search))
        };
        match status {
            400 => says_nothing_is_found(body),
            404 => (body.trim_ascii().is_empty() || says_nothing_is_found(body)) && is_listed(),
            _ => false,
        }
    }

    /// Returns the address of the next page. Fails if the access token may not be sent there.
    fn next(&self, at: &Url, next: &str) -> Result<String, Trouble> {
        let elsewhere = |host: &str| {
            Trouble::Broken(format!(
                "the source's next page is outside of its FHIR base, at {host} (endpoint add --pages-at)"
            ))
        };
        let url = at.join(next).map_err(|_| elsewhere("no address"))?;
        if let Some(own) = self.source.realm().own(&url) {
            return Ok(own.into());
        }
        let base = self.base.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = base.own(&url) {
            return Ok(own.into());
        }
        let origin = url.origin().ascii_serialization();
        self.source.pages_elsewhere(&origin);
        Err(elsewhere(&origin))
    }
}
