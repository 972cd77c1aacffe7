//! Gaps: what a job could not fetch, with the reasons. They are collected while the job runs, and reported at its end.

use super::search::Loss;
use super::source::Trouble;
use crate::consent::{JobReport, Missing, MissingReason, RetryTarget};
use crate::ingest::Summary;
use crate::normalize::Counts;

/// Missing records of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// The resource type.
    pub(super) resource_type: &'static str,
    /// The filter of the narrower search that failed, such as `category=laboratory`. `None` if the gap concerns the
    /// whole type.
    pub(super) part: Option<String>,
    pub(super) why: Why,
    /// The number of missing records. `None` if it is unknown, because the records were not requested one by one.
    pub(super) records: Option<u64>,
    /// `Type/id` of the records that a retry reads instead of searching for the whole type.
    pub(super) reads: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The source answered with this status.
    Refused(u16),
    /// The source does not have a resource to which records refer. It answered with this status.
    NotFound(u16),
    /// Records refer to a resource of a type that, by the source's statement, cannot be read.
    NotListed,
    /// The source refused the search for the whole type. Narrower searches were made instead, and the text describes
    /// them. They may not reach all records.
    Narrowed(String),
    /// A request failed.
    Failed(Trouble),
    /// The first pages of a search came, and then a request failed.
    Cut(Trouble),
    /// The pages of a search show that records are missing.
    Lost(Loss),
    /// The source's statement does not list a search for the type, and the search failed. Contains the status if the
    /// source refused the search.
    Unlisted(Option<u16>),
    /// The source refused to include resources of this type in the searches of other types. Contains the status, and
    /// the names of the other types.
    NotAlong(u16, String),
    /// The source refused too many searches of the type, so further ones were not made.
    GivenUp,
    /// There are more referenced resources, attachments or bytes than a job fetches.
    TooMany,
    /// The attachment has more than this number of bytes. It stays at the source.
    TooLarge(u64),
}

impl Gap {
    pub(super) fn of(resource_type: &'static str, why: Why) -> Gap {
        Gap {
            resource_type,
            part: None,
            why,
            records: None,
            reads: Vec::new(),
        }
    }

    /// Returns what a retry asks for because of this gap.
    fn again(&self) -> Vec<RetryTarget> {
        let target = |resource_type: &str, source_id: Option<&str>| RetryTarget {
            resource_type: resource_type.to_owned(),
            source_id: source_id.map(str::to_owned),
        };
        if !self.may_pass() {
            return Vec::new();
        }
        if self.reads.is_empty() {
            return vec![target(self.resource_type, None)];
        }
        let names = self.reads.iter().filter_map(|name| name.split_once('/'));
        names
            .map(|(resource_type, id)| target(resource_type, Some(id)))
            .collect()
    }

    /// Whether the same request may succeed later.
    pub(super) fn may_pass(&self) -> bool {
        match &self.why {
            Why::Failed(_) | Why::Cut(_) => true,
            Why::Lost(loss) => loss.may_pass(),
            _ => false,
        }
    }

    fn told(&self) -> Missing {
        let (one, many) = match self.resource_type {
            "Binary" => ("attachment", "attachments"),
            _ => ("record that others refer to", "records that others refer to"),
        };
        let count = |rest: &str| match self.records {
            Some(1) => format!("1 {one} {rest}"),
            Some(records) => format!("{records} {many} {rest}"),
            None => rest.to_owned(),
        };
        let (reason, status, detail) = match &self.why {
            Why::Refused(status @ (401 | 403)) => (
                MissingReason::Forbidden,
                Some(*status),
                count(&format!("forbidden: status {status}")),
            ),
            Why::Refused(status) => (
                MissingReason::NotServed,
                Some(*status),
                count(&format!("not served: status {status}")),
            ),
            Why::Unlisted(Some(status @ (401 | 403))) => (
                MissingReason::Forbidden,
                Some(*status),
                format!("forbidden: status {status}; the source does not list a search for it"),
            ),
            Why::Unlisted(status) => {
                let status_told = status.map_or_else(String::new, |status| format!(": status {status}"));
                (
                    MissingReason::NotServed,
                    *status,
                    format!("not served{status_told}; the source does not list a search for it"),
                )
            }
            Why::NotAlong(status, types) => (
                match status {
                    401 | 403 => MissingReason::Forbidden,
                    _ => MissingReason::NotServed,
                },
                Some(*status),
                format!("not served along with {types}: status {status}"),
            ),
            Why::GivenUp => (
                MissingReason::NotAsked,
                None,
                "not asked for further: the source refused too many searches of it".to_owned(),
            ),
            Why::NotFound(status) => (
                MissingReason::NotFound,
                Some(*status),
                count(&format!("not found: status {status}")),
            ),
            Why::NotListed => (MissingReason::NotServed, None, count("not served by the source")),
            Why::Narrowed(asked) => (
                MissingReason::NotAsked,
                None,
                format!("asked for only by {asked}: the source refuses a search for all"),
            ),
            Why::Failed(trouble) => (MissingReason::Failed, None, count(&format!("left out: {trouble}"))),
            Why::Cut(trouble) => (MissingReason::Failed, None, format!("incomplete: {trouble}")),
            Why::Lost(loss) => told_loss(loss, self.records.unwrap_or_default()),
            Why::TooLarge(max_bytes) => (
                MissingReason::NotTaken,
                None,
                count(&format!("left at the source: larger than {max_bytes} bytes")),
            ),
            Why::TooMany => (
                MissingReason::NotAsked,
                None,
                count("not asked for: there are too many"),
            ),
        };
        Missing {
            resource_type: self.resource_type.to_owned(),
            part: self.part.clone(),
            reason,
            status,
            records: self.records,
            detail,
            again: self.may_pass(),
        }
    }
}

/// Returns the reason, the status and the words for `count` losses of one kind.
fn told_loss(loss: &Loss, count: u64) -> (MissingReason, Option<u16>, String) {
    let counted = |one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    match loss {
        Loss::Unreadable => {
            let detail = format!("not taken: {} (it cannot be read)", counted("record", "records"));
            (MissingReason::NotTaken, None, detail)
        }
        Loss::Empty => {
            let detail = format!("left out: {} without a resource", counted("entry", "entries"));
            (MissingReason::Failed, None, detail)
        }
        Loss::Status(status) => {
            let reason = match status {
                401 | 403 => MissingReason::Forbidden,
                404 | 410 => MissingReason::NotFound,
                500.. => MissingReason::Failed,
                _ => MissingReason::NotServed,
            };
            let detail = format!("left out: {} with status {status}", counted("entry", "entries"));
            (reason, Some(*status), detail)
        }
        Loss::Reported(code) => {
            let detail = format!("incomplete: the source reported an error beside the records ({code})");
            (MissingReason::Failed, None, detail)
        }
        Loss::InnerPages => {
            let detail = "incomplete: a Bundle inside another has further pages, which are not asked for";
            (MissingReason::NotAsked, None, detail.to_owned())
        }
        Loss::Short => {
            let detail = format!(
                "incomplete: the source counts {} more than it gave",
                counted("record", "records")
            );
            (MissingReason::Failed, None, detail)
        }
    }
}

/// Returns the report of a job: what is missing, and the counts of stored records.
pub(super) fn report(gaps: &[Gap], summary: Option<&Summary>) -> JobReport {
    let mut missing: Vec<Missing> = gaps.iter().map(Gap::told).collect();
    let mut counts = Vec::new();
    for (resource_type, of) in summary.iter().flat_map(|summary| &summary.types) {
        if of.stored + of.unchanged > 0 {
            counts.push(((*resource_type).to_owned(), of.stored + of.unchanged));
        }
        if of.refused > 0 {
            missing.push(Missing {
                resource_type: (*resource_type).to_owned(),
                part: None,
                reason: MissingReason::NotTaken,
                status: None,
                records: Some(of.refused),
                detail: format!("not taken: {} records{}", of.refused, reasons(summary, resource_type)),
                again: false,
            });
        }
    }
    missing.sort_by(|one, other| (&one.resource_type, &one.part).cmp(&(&other.resource_type, &other.part)));
    let mut again: Vec<RetryTarget> = gaps.iter().flat_map(Gap::again).collect();
    again.sort();
    again.dedup();
    JobReport {
        missing,
        counts,
        again,
        ..JobReport::default()
    }
}

/// Returns the name and the counts of each rule of normalization that has changed something.
pub(super) fn rules(summary: &Summary) -> Vec<(String, Counts)> {
    let rules = summary.rules.rules.iter();
    let did = rules.filter(|(_, did)| **did != Counts::default());
    did.map(|(rule, did)| (rule.name().to_owned(), *did)).collect()
}

/// Returns the known reasons why records of a type were refused. Each occurs once.
fn reasons(summary: Option<&Summary>, resource_type: &str) -> String {
    let refusals = summary.iter().flat_map(|summary| &summary.refusals);
    let of_type = refusals.filter(|refusal| {
        refusal
            .type_id
            .is_some_and(|one| crate::fhir::facts().get(one).name == resource_type)
    });
    let mut words: Vec<String> = of_type.map(|refusal| refusal.reason.to_string()).collect();
    words.sort_unstable();
    words.dedup();
    if words.is_empty() {
        String::new()
    } else {
        format!(" ({})", words.join("; "))
    }
}
