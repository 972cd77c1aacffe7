//! Displays that records of the consent give to codes.
//!
//! Memory is bounded: of more codes than [`CAPACITY`] those with the lowest hashes are kept, so that the order of records does not
//! decide which.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::coding::{canonical_code, trim};
use super::memo::Memo;
use super::systems::{NDC, canonical_system};
use crate::lake::json::Value;
use crate::normalize::codes::Codes;
use crate::normalize::marks::PLACEHOLDER;
use crate::normalize::record::Record;
use crate::normalize::walk::{self, Visit};

/// Most codes of a consent whose displays are kept.
const CAPACITY: usize = 50_000;
/// A longer display is a text.
const MAX_LENGTH: usize = 300;

/// Names a code of a system, both canonical: 128 bits, so that two never meet.
pub(in crate::normalize) fn key(system: &str, code: &str) -> u128 {
    let mut hasher = SipHasher13::new();
    hasher.write(system.as_bytes());
    hasher.write_u8(0xff);
    hasher.write(code.as_bytes());
    hasher.finish128().as_u128()
}

/// The key of a code as a record writes it.
fn canonical_key(system: &str, code: &str, codes: &dyn Codes) -> u128 {
    thread_local! {
        static KEYS: RefCell<Memo<2, u128>> = RefCell::default();
    }
    let look_up = || key(canonical_system(system), &canonical_code(system, code, codes));
    if canonical_system(system) == NDC {
        // What a terminology decides may be another thing tomorrow.
        look_up()
    } else {
        KEYS.with_borrow_mut(|keys| keys.get([system, code], look_up))
    }
}

/// Displays by code.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<u128, Box<str>>);

impl Known {
    pub(super) fn see(&mut self, record: &Record<'_>, codes: &dyn Codes) {
        walk::resource(record.json, record.resource_type, &mut Collect { known: self, codes });
    }

    pub(super) fn get(&self, key: u128) -> Option<&str> {
        self.0.get(&key).map(AsRef::as_ref)
    }

    /// Of several displays the shortest stays, of those the first in order.
    fn add(&mut self, key: u128, display: &str) {
        match self.0.get_mut(&key) {
            Some(known) if (known.len(), known.as_ref()) <= (display.len(), display) => {}
            Some(known) => *known = display.into(),
            None => {
                self.0.insert(key, display.into());
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
            self.known.add(canonical_key(system, code, self.codes), display);
        }
    }
}

/// What a Coding says.
pub(in crate::normalize) struct Coding<'t> {
    pub(in crate::normalize) system: Option<(Value<'t>, Cow<'t, str>)>,
    pub(in crate::normalize) version: Option<Value<'t>>,
    pub(in crate::normalize) code: Option<(Value<'t>, Cow<'t, str>)>,
    /// The display, where it says something.
    pub(in crate::normalize) display: Option<Cow<'t, str>>,
    /// Whether there is a display, or an extension in its place.
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
        for key in &keys {
            one.add(*key, "b");
            one.add(*key, "a");
        }
        for key in keys.iter().rev() {
            other.add(*key, "a");
            other.add(*key, "long");
        }
        assert_eq!(one.0, other.0);
        assert_eq!(one.0.len(), CAPACITY);
        assert!(one.0.values().all(|display| display.as_ref() == "a"));
    }
}
