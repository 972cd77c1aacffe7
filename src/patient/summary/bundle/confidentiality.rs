//! The confidentiality of a document: the level of its most confidential record.

use super::super::record::Entry;

/// The code system of confidentiality levels.
pub(super) const SYSTEM: &str = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality";

/// Levels of confidentiality, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Confidentiality {
    Unrestricted,
    Low,
    Moderate,
    Normal,
    Restricted,
    VeryRestricted,
}

impl Confidentiality {
    /// Returns the level of a record: its highest label. A record without a label has the level "normal".
    pub(super) fn of(entry: &Entry<'_>) -> Confidentiality {
        let labels = entry.get("meta").and_then(|meta| meta.get("security"));
        let labels = labels.into_iter().flat_map(|list| list.items());
        let codes = labels.filter_map(|label| {
            let is_ours = label.get_str("system").as_deref() == Some(SYSTEM);
            Confidentiality::read(&label.get_str("code").filter(|_| is_ours)?)
        });
        codes.max().unwrap_or(Confidentiality::Normal)
    }

    fn read(code: &str) -> Option<Confidentiality> {
        Some(match code {
            "U" => Confidentiality::Unrestricted,
            "L" => Confidentiality::Low,
            "M" => Confidentiality::Moderate,
            "N" => Confidentiality::Normal,
            "R" => Confidentiality::Restricted,
            "V" => Confidentiality::VeryRestricted,
            _ => return None,
        })
    }

    /// Returns the code and display of the level.
    pub(super) fn code(self) -> (&'static str, &'static str) {
        match self {
            Confidentiality::Unrestricted => ("U", "unrestricted"),
            Confidentiality::Low => ("L", "low"),
            Confidentiality::Moderate => ("M", "moderate"),
            Confidentiality::Normal => ("N", "normal"),
            Confidentiality::Restricted => ("R", "restricted"),
            Confidentiality::VeryRestricted => ("V", "very restricted"),
        }
    }
}
