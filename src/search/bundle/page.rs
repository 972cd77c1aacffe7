//! Writes a page as a searchset Bundle. The stored bytes of a resource are copied into its entry. They are parsed only
//! if the client requests a part of the resource.

use bytes::Bytes;

use super::attached::{AddressSigner, with_addresses};
use super::subset::Subset;
use crate::columns::json::push_quoted;
use crate::fhir::outcome::{Issue, OperationOutcome};
use crate::fhir::temporal::instant_text;
use crate::fhir::{TypeId, facts};
use crate::lake::scan::{Locator, Row};

/// A resource that a page contains, as a match or as an include.
#[derive(Debug)]
pub(in crate::search) struct Entry {
    pub(in crate::search) type_id: TypeId,
    pub(in crate::search) row: Row,
    /// The locator of the row. `None` if it is unknown.
    pub(in crate::search) place: Option<Locator>,
    /// If the resource is contained and shown without its container: the type of the container. `None` for any other
    /// resource.
    pub(in crate::search) container: Option<TypeId>,
}

impl Entry {
    /// Creates an entry for a resource that is not contained in another one.
    pub(in crate::search) fn of(type_id: TypeId, row: Row) -> Entry {
        Entry {
            type_id,
            row,
            place: None,
            container: None,
        }
    }

    /// Sets the locator of the entry's row.
    pub(in crate::search) fn at(self, place: Locator) -> Entry {
        Entry {
            place: Some(place),
            ..self
        }
    }
}

/// The contents of a page.
#[derive(Debug)]
pub(in crate::search) struct Page<'a> {
    /// The address of the server's FHIR API, which ends with `/fhir/`.
    pub(in crate::search) base: &'a str,
    /// Signs the addresses of attachments.
    pub(in crate::search) signer: Option<&'a AddressSigner>,
    pub(in crate::search) now: i64,
    pub(in crate::search) total: Option<usize>,
    pub(in crate::search) links: Vec<(&'static str, String)>,
    pub(in crate::search) matches: &'a [Entry],
    pub(in crate::search) included: &'a [Entry],
    /// Remarks to the client about the answer. For example, a remark says that the page is incomplete.
    pub(in crate::search) remarks: Vec<Issue>,
    pub(in crate::search) subset: &'a Subset,
}

impl Page<'_> {
    /// Returns the Bundle as JSON.
    pub(in crate::search) fn render(&self) -> Bytes {
        let entries = self.matches.iter().chain(self.included);
        let size: usize = entries.map(|entry| entry.row.resource.len() + 200).sum();
        let mut out = Vec::with_capacity(size + 1024);
        begin(&mut out, self.now, self.total);
        push_links(&mut out, &self.links);
        self.entries(&mut out);
        out.push(b'}');
        Bytes::from(out)
    }

    /// Writes the property `entry`. It is left out if there are no entries, because FHIR has no empty arrays.
    fn entries(&self, out: &mut Vec<u8>) {
        let outcome = self.outcome();
        if self.matches.is_empty() && self.included.is_empty() && outcome.is_none() {
            return;
        }
        out.extend_from_slice(br#","entry":["#);
        let matches = self.matches.iter().map(|entry| (entry, "match"));
        let included = self.included.iter().map(|entry| (entry, "include"));
        for (at, (entry, mode)) in matches.chain(included).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            // `_elements` applies only to matches, so an include is written whole.
            let is_whole = self.subset.is_whole() || mode == "include" && !self.subset.elements.is_empty();
            let cut = if is_whole {
                None
            } else {
                self.subset.cut(entry.type_id, &entry.row.resource)
            };
            push_entry(out, (self.base, self.signer), entry, cut.as_deref(), mode);
        }
        if let Some(outcome) = outcome {
            if !(self.matches.is_empty() && self.included.is_empty()) {
                out.push(b',');
            }
            push_outcome(out, &outcome);
        }
        out.push(b']');
    }

    /// Returns an OperationOutcome with the page's remarks. `None` if there are none.
    fn outcome(&self) -> Option<OperationOutcome> {
        said(&self.remarks)
    }
}

/// Writes the beginning of a Bundle: everything before its links and entries.
pub(in crate::search) fn begin(out: &mut Vec<u8>, now: i64, total: Option<usize>) {
    out.extend_from_slice(br#"{"resourceType":"Bundle","id":""#);
    out.extend_from_slice(uuid::Uuid::new_v4().to_string().as_bytes());
    out.push(b'"');
    if let Some(now) = instant_text(now) {
        out.extend_from_slice(format!(r#","meta":{{"lastUpdated":"{now}"}}"#).as_bytes());
    }
    out.extend_from_slice(br#","type":"searchset""#);
    if let Some(total) = total {
        out.extend_from_slice(format!(r#","total":{total}"#).as_bytes());
    }
}

/// Writes the property `link`. A comma comes first, because other properties of the Bundle precede it.
pub(in crate::search) fn push_links(out: &mut Vec<u8>, links: &[(&'static str, String)]) {
    out.extend_from_slice(br#","link":["#);
    for (at, (relation, url)) in links.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(format!(r#"{{"relation":"{relation}","url":"#).as_bytes());
        push_quoted(out, url);
        out.push(b'}');
    }
    out.push(b']');
}

/// Writes an entry. If `cut` is given, it is the requested part of the resource, and is written. Otherwise the stored
/// text of the whole resource is written. `mode` is `match` or `include`. The signer signs the addresses of
/// attachments.
pub(in crate::search) fn push_entry(
    out: &mut Vec<u8>,
    (base, signer): (&str, Option<&AddressSigner>),
    entry: &Entry,
    cut: Option<&[u8]>,
    mode: &str,
) {
    out.extend_from_slice(br#"{"fullUrl":"#);
    let place = facts().get(entry.container.unwrap_or(entry.type_id)).name;
    push_quoted(out, &format!("{base}{place}/{}", entry.row.id));
    out.extend_from_slice(br#","resource":"#);
    let shown = cut.unwrap_or(&entry.row.resource);
    let addressed = with_addresses(shown, &entry.row.resource, base, signer);
    out.extend_from_slice(addressed.as_deref().unwrap_or(shown));
    out.extend_from_slice(format!(r#","search":{{"mode":"{mode}"}}}}"#).as_bytes());
}

/// Writes the entry with the OperationOutcome, which has the remarks.
pub(in crate::search) fn push_outcome(out: &mut Vec<u8>, outcome: &OperationOutcome) {
    let outcome = outcome.to_json();
    out.extend_from_slice(format!(r#"{{"resource":{outcome},"search":{{"mode":"outcome"}}}}"#).as_bytes());
}

/// Returns an OperationOutcome with these remarks. `None` if there are none.
pub(in crate::search) fn said(remarks: &[Issue]) -> Option<OperationOutcome> {
    let mut remarks = remarks.iter().cloned();
    let first = OperationOutcome::new(remarks.next()?);
    Some(remarks.fold(first, OperationOutcome::and))
}
