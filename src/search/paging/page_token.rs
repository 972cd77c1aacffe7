//! Page tokens: the opaque `_tag` of a page's links. A token contains the snapshot of the pages, the position of the
//! page to which the link leads and, if the matches were counted, their number.
//!
//! A token holds no values of records, only positions in files. A position reveals how many rows of other people come
//! before it. So a token is encrypted with the lake's key and bound to its search. The server refuses the token of
//! another search, and a damaged or invented token. The row at the position is still read through the caller's own
//! scope.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::parameters::result::invalid;
use super::super::{SearchError, SnapshotToken};
use crate::lake::scan::Locator;
use crate::lake::{Lake, Scope};

/// The version in the first byte of a token.
const VERSION: u8 = 3;
/// The value in place of the total if the matches were not counted.
const NOT_COUNTED: u64 = u64::MAX;
/// Parameters that change neither the matches nor their order. So a token stays valid if the client changes them.
const SHAPING: [&str; 7] = [
    "_total",
    "_summary",
    "_elements",
    "_include",
    "_revinclude",
    "_format",
    "_pretty",
];

/// On which side of a match a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Side {
    /// The page begins after the match.
    After,
    /// The page begins with the match.
    At,
    /// The page ends before the match.
    Before,
}

impl Side {
    pub(in crate::search) fn byte(self) -> u8 {
        match self {
            Side::After => 1,
            Side::At => 2,
            Side::Before => 3,
        }
    }

    pub(in crate::search) fn of_byte(byte: u8) -> Option<Side> {
        [Side::After, Side::At, Side::Before]
            .into_iter()
            .find(|side| side.byte() == byte)
    }
}

/// The position of a page in the order of the matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) struct PagePosition {
    /// The index of the match's type among the searched types.
    pub(in crate::search) part: usize,
    /// The locator of a match.
    pub(in crate::search) locator: Locator,
    /// On which side of this match the page is.
    pub(in crate::search) side: Side,
}

/// The content of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) struct PageToken {
    /// The snapshot of all pages of the search.
    pub(in crate::search) snapshot: u64,
    /// The epoch of the lake when the token was issued.
    pub(in crate::search) erasures: u64,
    /// The keyed hash of the caller's scope. In another scope, the number and the order of the matches may differ.
    pub(in crate::search) scope: u64,
    /// The number of matches before the page.
    pub(in crate::search) offset: usize,
    /// The position of the page. If it is `None`, the search finds the page by counting the matches before it.
    pub(in crate::search) place: Option<PagePosition>,
    /// The total number of matches, if it was counted.
    pub(in crate::search) total: Option<usize>,
}

/// The parts of a search to which its tokens are bound: its address, and the parameters that select and order its
/// matches. The order of parameters with different names does not matter.
#[derive(Debug)]
pub(in crate::search) struct Identity {
    address: String,
    parameters: Vec<(String, String)>,
}

impl Identity {
    /// Returns the identity of a search. `address` is relative to the address of the server's FHIR API. `understood`
    /// are the parameters that the server understood.
    pub(in crate::search) fn of(address: &str, understood: &[(String, String)]) -> Identity {
        let mut parameters: Vec<_> = understood
            .iter()
            .filter(|(name, _)| !SHAPING.contains(&name.split(':').next().unwrap_or(name)))
            .cloned()
            .collect();
        parameters.sort_by(|one, other| one.0.cmp(&other.0));
        Identity {
            address: address.to_owned(),
            parameters,
        }
    }

    /// Returns the bytes to which the encryption binds the tokens of this search. So the token of another search cannot
    /// be decrypted here.
    fn used(&self) -> Vec<u8> {
        let texts = self.parameters.iter().flat_map(|(name, value)| [name, value]);
        let mut used = b"tag of a page link".to_vec();
        for text in std::iter::once(&self.address).chain(texts) {
            // This byte occurs in no UTF-8 string, so it separates the strings unambiguously.
            used.push(0xff);
            used.extend(text.as_bytes());
        }
        used
    }
}

impl PageToken {
    /// Returns the token of a search's first page.
    pub(in crate::search) fn first(snapshot: u64, erasures: u64, scope: u64) -> PageToken {
        PageToken {
            snapshot,
            erasures,
            scope,
            offset: 0,
            place: None,
            total: None,
        }
    }

    /// Returns the encrypted token, as the links of this search carry it.
    pub(in crate::search) fn text(&self, lake: &Lake, search: &Identity) -> String {
        format!(
            "~~{}",
            URL_SAFE_NO_PAD.encode(lake.enclose(&self.bytes(), &search.used()))
        )
    }

    /// Decrypts a token that this lake issued for this search. Any other text is an error.
    pub(in crate::search) fn parse(text: &str, lake: &Lake, search: &Identity) -> Result<PageToken, SearchError> {
        let opened = || {
            let enclosed = URL_SAFE_NO_PAD.decode(text.strip_prefix("~~")?).ok()?;
            PageToken::of_bytes(&lake.disclose(&enclosed, &search.used())?)
        };
        opened().ok_or_else(|| {
            invalid(
                "_tag",
                text,
                "the tag of one of this search's page links, as it was given out",
            )
        })
    }

    /// Encodes the token. All tokens have the same length, so that the length reveals nothing.
    fn bytes(&self) -> Vec<u8> {
        let (side, part, locator) = match self.place {
            None => (0, 0, Locator { file: 0, row: 0 }),
            Some(PagePosition { part, locator, side }) => (side.byte(), part as u64, locator),
        };
        let total = self.total.map_or(NOT_COUNTED, |total| total as u64);
        let mut bytes = vec![VERSION, side];
        for number in [
            self.snapshot,
            self.erasures,
            self.scope,
            self.offset as u64,
            total,
            part,
            locator.file,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(locator.row.to_le_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Option<PageToken> {
        let (&side, left) = bytes.strip_prefix(&[VERSION])?.split_first()?;
        let (numbers, row) = left.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let [snapshot, erasures, scope, offset, total, part, file] = *numbers.as_slice() else {
            return None;
        };
        let row = u32::from_le_bytes(row.try_into().ok()?);
        let place = match side {
            0 => None,
            side => Some(PagePosition {
                part: usize::try_from(part).ok()?,
                locator: Locator { file, row },
                side: Side::of_byte(side)?,
            }),
        };
        let total = Some(total).filter(|total| *total != NOT_COUNTED);
        Some(PageToken {
            snapshot,
            erasures,
            scope,
            offset: usize::try_from(offset).ok()?,
            place,
            total: total.map(usize::try_from).transpose().ok()?,
        })
    }
}

/// Returns the keyed hash of a scope, for tokens.
pub(in crate::search) fn scope_seal(lake: &Lake, scope: &Scope) -> u64 {
    lake.seal(&("scope of a page link", scope))
}

/// Whether a value of `_tag` is meant as a page token, not as a code or a system. A token begins with two tildes, and
/// no code or system does.
pub(in crate::search) fn is_meant(value: &str) -> bool {
    SnapshotToken::is_meant(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tags() -> impl Strategy<Value = PageToken> {
        let side = prop_oneof![Just(Side::After), Just(Side::At), Just(Side::Before)];
        let place = (any::<u16>(), any::<u64>(), any::<u32>(), side).prop_map(|(part, file, row, side)| PagePosition {
            part: part.into(),
            locator: Locator { file, row },
            side,
        });
        let total = proptest::option::of(any::<u32>().prop_map(|total| total as usize));
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>());
        (numbers, proptest::option::of(place), total).prop_map(|((snapshot, erasures, scope, offset), place, total)| {
            PageToken {
                snapshot,
                erasures,
                scope,
                offset: offset as usize,
                place,
                total,
            }
        })
    }

    proptest! {
        #[test]
        fn a_tag_reads_back(tag in tags()) {
            prop_assert_eq!(PageToken::of_bytes(&tag.bytes()), Some(tag));
            prop_assert_eq!(tag.bytes().len(), PageToken::first(0, 0, 0).bytes().len());
        }

        #[test]
        fn any_bytes_are_a_tag_or_none(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut bytes = bytes;
            bytes.insert(0, VERSION);
            let _ = PageToken::of_bytes(&bytes);
        }
    }

    #[test]
    fn a_tag_is_bound_to_search_and_lake() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [lake, other] = folders
            .each_ref()
            .map(|folder| Lake::open_or_create(folder.path()).unwrap());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let search = Identity::of(
            "Patient",
            &[
                pair("gender", "male"),
                pair("_sort", "birthdate"),
                pair("_total", "none"),
            ],
        );
        let same = Identity::of(
            "Patient",
            &[
                pair("_sort", "birthdate"),
                pair("gender", "male"),
                pair("_include", "*"),
            ],
        );
        let tag = PageToken {
            offset: 40,
            ..PageToken::first(7, 1, 8)
        };
        let text = tag.text(&lake, &search);
        assert!(is_meant(&text));
        assert_eq!(PageToken::parse(&text, &lake, &same).unwrap(), tag);
        assert!(PageToken::parse(&text, &other, &search).is_err());
        for another in [
            Identity::of("Group", &search.parameters),
            Identity::of("Patient", &search.parameters[..1]),
            Identity::of("Patient", &[pair("gender", "female"), pair("_sort", "birthdate")]),
        ] {
            assert!(PageToken::parse(&text, &lake, &another).is_err());
        }
        let first = PageToken::first(7, 1, 8).text(&lake, &search);
        assert_eq!(first.len(), text.len());
        for at in 2..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(damaged).unwrap();
            let error = PageToken::parse(&damaged, &lake, &search).unwrap_err();
            assert!(error.is_input(), "{error}");
        }
        for text in ["~~", "~~AQ", "~~!", "~~7.9e", "7"] {
            assert!(PageToken::parse(text, &lake, &search).is_err(), "{text}");
        }
    }
}
