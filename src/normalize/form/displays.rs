//! The displays of codes in the consent's records, with their sources.
//!
//! Memory is bounded: there are at most [`CAPACITY`] displays. If records have more, the displays of the codes with the
//! highest hashes are dropped. So the result does not depend on the order of the records.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::coding::{canonical_code, trim};
use super::memo::Memo;
use super::systems::{NDC, canonical_system};
use crate::columns::json::Value;
use crate::normalize::codes::Codes;
use crate::normalize::marks::PLACEHOLDER;
use crate::normalize::record::{Record, SourceId};
use crate::normalize::walk::{self, Visit};

/// The maximum number of displays in memory. A code has one display for each source.
const CAPACITY: usize = 50_000;
/// A display with more bytes than this is ignored.
const MAX_LENGTH: usize = 300;

/// Returns a hash of a code and its system, both in canonical form. It has 128 bits, so collisions can be ignored.
pub(in crate::normalize) fn key(system: &str, code: &str) -> u128 {
    let mut hasher = SipHasher13::new();
    hasher.write(system.as_bytes());
    hasher.write_u8(0xff);
    hasher.write(code.as_bytes());
    hasher.finish128().as_u128()
}

/// Returns the [`key`] of a code in any form and with any spelling of its system.
fn canonical_key(system: &str, code: &str, codes: &dyn Codes) -> u128 {
    thread_local! {
        static KEYS: RefCell<Memo<2, u128>> = RefCell::default();
    }
    let look_up = || key(canonical_system(system), &canonical_code(system, code, codes));
    if canonical_system(system) == NDC {
        // The form of an NDC depends on the terminology, which may change. So it is not cached.
        look_up()
    } else {
        KEYS.with_borrow_mut(|keys| keys.get([system, code], look_up))
    }
}

/// Displays by code and source.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<(u128, SourceId), Box<str>>);

/// A display. `from` is the source of the display. It is `None` for a display of the record's own source or of a
/// terminology.
pub(in crate::normalize) struct Shown<'t> {
    pub(in crate::normalize) text: Cow<'t, str>,
    pub(in crate::normalize) from: Option<SourceId>,
}

impl<'t> Shown<'t> {
    /// Creates a display of the record's own source, or of a terminology.
    pub(in crate::normalize) fn own(text: Cow<'t, str>) -> Shown<'t> {
        Shown { text, from: None }
    }

    /// Chooses one of two displays. A display of the record's own source or of a terminology (`from` is `None`) wins
    /// over a display of another source. If both are of the same kind, `one` wins. If one is missing, the other wins.
    pub(in crate::normalize) fn either(one: Option<Shown<'t>>, other: Option<Shown<'t>>) -> Option<Shown<'t>> {
        match (&one, &other) {
            (Some(Shown { from: Some(_), .. }), Some(Shown { from: None, .. })) | (None, _) => other,
            _ => one,
        }
    }
}

impl Known {
    pub(super) fn see(&mut self, record: &Record<'_>, codes: &dyn Codes) {
        let source = record.source;
        let mut collect = Collect {
            known: self,
            codes,
            source,
        };
        walk::resource(record.json, record.resource_type, &mut collect);
    }

    /// Returns the display of a code for records of a source. The source's own display comes first. If it has none,
    /// returns the shortest display of another source. Of equally short ones, returns the first in alphabetical order.
    pub(super) fn get(&self, key: u128, source: SourceId) -> Option<Shown<'_>> {
        let all = self.0.range((key, SourceId(0))..=(key, SourceId(u32::MAX)));
        let all = all.map(|((_, of), text)| (*of, text.as_ref()));
        let (of, text): (SourceId, &str) = all.min_by_key(|(of, text)| (*of != source, text.len(), *text, *of))?;
        Some(Shown {
            text: Cow::Borrowed(text),
            from: (of != source).then_some(of),
        })
    }

    /// Adds a display. If a source has several displays for a code, the shortest stays. Of equally short ones, the
    /// first in alphabetical order stays.
    fn add(&mut self, key: u128, source: SourceId, display: &str) {
        match self.0.get_mut(&(key, source)) {
            Some(known) if (known.len(), known.as_ref()) <= (display.len(), display) => {}
            Some(known) => *known = display.into(),
            None => {
                self.0.insert((key, source), display.into());
                if self.0.len() > CAPACITY {
                    self.0.pop_last();
                }
            }
        }
    }
}

struct Collect<'k> {
    known: &'k mut Known,
    codes: &'k dyn Codes,
    source: SourceId,
}

impl<'t> Visit<'t> for Collect<'_> {
    fn concept(&mut self, value: Value<'t>) {
        if let Some(list) = value.get("coding") {
            self.codings(list);
        }
    }

    fn codings(&mut self, list: Value<'t>) {
        for item in list.items() {
            self.coding(item);
        }
    }

    fn coding(&mut self, value: Value<'t>) {
        let coding = Coding::read(value);
        let (Some(system), Some((_, code)), Some(display)) = (coding.system(), &coding.code, &coding.display) else {
            return;
        };
        if display.len() <= MAX_LENGTH {
            let key = canonical_key(system, code, self.codes);
            self.known.add(key, self.source, display);
        }
    }
}

/// The parts of a Coding.
pub(in crate::normalize) struct Coding<'t> {
    pub(in crate::normalize) system: Option<(Value<'t>, Cow<'t, str>)>,
    pub(in crate::normalize) version: Option<Value<'t>>,
    pub(in crate::normalize) code: Option<(Value<'t>, Cow<'t, str>)>,
    /// The display, if it is neither empty nor a placeholder.
    pub(in crate::normalize) display: Option<Cow<'t, str>>,
    /// Whether the Coding has a display, or an extension in place of one (`_display`).
    pub(in crate::normalize) has_display: bool,
    pub(in crate::normalize) extension: Option<Value<'t>>,
}

impl<'t> Coding<'t> {
    pub(in crate::normalize) fn read(value: Value<'t>) -> Coding<'t> {
        let mut coding = Coding {
            system: None,
            version: None,
            code: None,
            display: None,
            has_display: false,
            extension: None,
        };
        for (key, value) in value.entries() {
            match key.raw() {
                "system" => coding.system = value.as_str().map(|text| (value, text)),
                "version" => coding.version = Some(value),
                "code" => {
                    coding.code = value
                        .as_str()
                        .filter(|text| !trim(text).is_empty())
                        .map(|text| (value, text))
                }
                "display" => {
                    coding.has_display = true;
                    coding.display = value
                        .as_str()
                        .filter(|text| !text.trim().is_empty() && text != PLACEHOLDER);
                }
                "_display" => coding.has_display = true,
                "extension" => coding.extension = Some(value),
                _ => {}
            }
        }
        coding
    }

    pub(in crate::normalize) fn system(&self) -> Option<&str> {
        self.system.as_ref().map(|(_, text)| text.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_order_does_not_matter() {
        let keys: Vec<u128> = (0..CAPACITY + 500).map(|at| key("s", &at.to_string())).collect();
        let (mut one, mut other) = (Known::default(), Known::default());
        let source = SourceId(0);
        for key in &keys {
            one.add(*key, source, "b");
            one.add(*key, source, "a");
        }
        for key in keys.iter().rev() {
            other.add(*key, source, "a");
            other.add(*key, source, "long");
        }
        assert_eq!(one.0, other.0);
        assert_eq!(one.0.len(), CAPACITY);
        assert!(one.0.values().all(|display| display.as_ref() == "a"));
    }

    #[test]
    fn a_sources_own_display_goes_before_another_sources() {
        let mut known = Known::default();
        let key = key("s", "1");
        known.add(key, SourceId(0), "a long one");
        known.add(key, SourceId(2), "short");
        known.add(key, SourceId(1), "short");
        let shown = |source| {
            let shown = known.get(key, SourceId(source)).unwrap();
            (shown.text.into_owned(), shown.from)
        };
        assert_eq!(shown(0), ("a long one".to_owned(), None));
        assert_eq!(shown(2), ("short".to_owned(), None));
        assert_eq!(shown(3), ("short".to_owned(), Some(SourceId(1))));
    }
}
