//! Recognizes CMS's publications by their headers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::published::header;

/// One of CMS's publications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Publication {
    /// The Landscape: one row for each plan, segment and county. Until 2024 it has only Medicare Advantage plans.
    /// Later it has all plans.
    Landscape,
    /// The Landscape of special needs plans, until 2024.
    SpecialNeeds,
    /// The report of plans with Part D, until 2024.
    PartD,
    /// `CPSC_Contract_Info`: one row for each plan, including those of employers.
    Contracts,
    /// `MA_Contract_directory`: one row for each contract, with a contact.
    Directory,
    /// `MA_Cnty_SA`: one row for each contract and county.
    ServiceArea,
}

/// What a file contains. Its header shows this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A publication that is loaded.
    Read(Publication),
    /// `CPSC_Enrollment_Info`. It is in the same archive as the contracts and is skipped, because it has no facts
    /// about plans.
    Enrollment,
}

/// The files that are looked for. The message about an unknown file lists them.
pub(super) const LOOKED_FOR: &str = "CMS's Landscape of Medicare Advantage plans, of special needs plans and of plans with Part D, \
     CPSC_Contract_Info, MA_Contract_directory and MA_Cnty_SA as CSV, and ZIP archives of these";

impl Publication {
    /// Returns the publication's name in lists and in the names of files.
    pub fn name(self) -> &'static str {
        match self {
            Publication::Landscape => "landscape",
            Publication::SpecialNeeds => "special-needs",
            Publication::PartD => "part-d",
            Publication::Contracts => "contracts",
            Publication::Directory => "directory",
            Publication::ServiceArea => "service-area",
        }
    }

    /// Returns what the rows of the publication's table are called.
    pub fn rows(self) -> &'static str {
        match self {
            Publication::Directory | Publication::ServiceArea => "contracts",
            _ => "plans",
        }
    }

    /// Whether the publication consists of several files: some are for groups of states, and one is for sanctioned
    /// plans.
    pub(super) fn is_in_parts(self) -> bool {
        matches!(
            self,
            Publication::Landscape | Publication::SpecialNeeds | Publication::PartD
        )
    }
}

impl fmt::Display for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the layout of a file that begins with `head`.
pub(super) fn recognise(head: &[u8], _: bool) -> Option<Layout> {
    let header = header(head, b',', |names| layout(names).is_some())?;
    layout(&header)
}

/// Returns the layout of a file whose header has these names.
pub(super) fn layout(names: &[String]) -> Option<Layout> {
    let names: Vec<String> = names.iter().map(|name| heading(name)).collect();
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    let begins = |wanted: &str| names.iter().any(|name| name.starts_with(wanted));
    let contract = has("CONTRACT ID") || has("CONTRACT NUMBER");
    let county = has("COUNTY") || has("COUNTY NAME");
    if !contract {
        return None;
    }
    if has("PLAN ID") && has("PLAN NAME") && county {
        return Some(Layout::Read(
            if !begins("MONTHLY CONSOLIDATED PREMIUM") && has("PART C PREMIUM") {
                Publication::PartD
            } else if has("SPECIAL NEEDS PLAN TYPE") {
                Publication::SpecialNeeds
            } else {
                Publication::Landscape
            },
        ));
    }
    if has("PLAN ID") && has("PLAN NAME") && has("OFFERS PART D") {
        return Some(Layout::Read(Publication::Contracts));
    }
    if has("PLAN ID") && county && (has("ENROLLMENT") || has("ENROLLED")) {
        return Some(Layout::Enrollment);
    }
    if has("LEGAL ENTITY NAME") {
        return Some(Layout::Read(Publication::Directory));
    }
    let area = county && has("STATE") && has("PARTIAL") && has("EGHP");
    (area && !has("PLAN ID")).then_some(Layout::Read(Publication::ServiceArea))
}

/// Returns a heading without the parts that differ from year to year: line breaks, asterisks and the numbers of
/// footnotes.
pub(super) fn heading(name: &str) -> String {
    let words: Vec<&str> = name
        .split(|c: char| c.is_whitespace() || c == '*')
        .filter(|word| !word.is_empty())
        .collect();
    let joined = words.join(" ");
    // The number in `STREET ADDRESS 2` is not the number of a footnote, so keep it.
    if joined.contains("STREET") {
        return joined;
    }
    joined
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end()
        .to_owned()
}
