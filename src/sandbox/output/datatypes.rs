//! Writes the FHIR data types that many resources share. A method of `Object` with a parameter `name` writes a value as
//! the property of this name. The methods of `List` write a value as an item.

use std::fmt::Display;

use uuid::Uuid;

use super::super::clinical::codes::{Code, UCUM};
use super::super::people::calendar::{Moment, Text, Zone};
use super::json::{Decimal, List, Object, decimal};

/// A unit of measure: first the text for people, then the UCUM code.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) struct Unit(pub(in crate::sandbox) &'static str, pub(in crate::sandbox) &'static str);

/// A reference to a resource of the population.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) struct Link<'n> {
    /// The type of the target.
    pub(in crate::sandbox) resource_type: &'static str,
    /// The id of the target.
    pub(in crate::sandbox) id: Uuid,
    /// The display text. It is empty if there is none.
    pub(in crate::sandbox) display: &'n str,
}

/// Creates a reference without a display text.
pub(in crate::sandbox) fn link(resource_type: &'static str, id: Uuid) -> Link<'static> {
    Link {
        resource_type,
        id,
        display: "",
    }
}

impl Object<'_> {
    /// Writes the properties of a Coding into this object.
    pub(in crate::sandbox) fn coding(&mut self, code: &Code) -> &mut Self {
        self.text("system", code.system)
            .text("code", code.code)
            .text("display", code.display)
    }

    /// Writes a CodeableConcept with one coding.
    pub(in crate::sandbox) fn concept(&mut self, name: &str, code: &Code) -> &mut Self {
        self.concept_of(name, &[code], None)
    }

    /// Writes a CodeableConcept with several codings and an optional text.
    pub(in crate::sandbox) fn concept_of(&mut self, name: &str, codes: &[&Code], text: Option<&str>) -> &mut Self {
        self.object(name, |o| {
            o.codings(codes).maybe("text", text);
        })
    }

    /// Writes a list with one CodeableConcept.
    pub(in crate::sandbox) fn concepts(&mut self, name: &str, code: &Code) -> &mut Self {
        self.list(name, |l| {
            l.concept(code);
        })
    }

    /// Writes the property `coding` into this object, which is a CodeableConcept.
    pub(in crate::sandbox) fn codings(&mut self, codes: &[&Code]) -> &mut Self {
        self.list("coding", |l| {
            for code in codes {
                l.object(|o| {
                    o.coding(code);
                });
            }
        })
    }

    /// Writes a Reference.
    pub(in crate::sandbox) fn link(&mut self, name: &str, link: Link<'_>) -> &mut Self {
        self.object(name, |o| {
            o.target(link);
        })
    }

    /// Writes the properties of a Reference into this object.
    pub(in crate::sandbox) fn target(&mut self, link: Link<'_>) -> &mut Self {
        self.text("reference", format_args!("{}/{}", link.resource_type, link.id));
        if !link.display.is_empty() {
            self.text("display", link.display);
        }
        self
    }

    /// Writes a list with one Reference.
    pub(in crate::sandbox) fn links(&mut self, name: &str, link: Link<'_>) -> &mut Self {
        self.list(name, |l| {
            l.link(link);
        })
    }

    /// Writes a Quantity.
    pub(in crate::sandbox) fn quantity(&mut self, name: &str, value: Decimal, unit: Unit) -> &mut Self {
        self.object(name, |o| {
            o.bare("value", value)
                .text("unit", unit.0)
                .text("system", UCUM)
                .text("code", unit.1);
        })
    }

    /// Writes a Money in US dollars. The amount is given in cents.
    pub(in crate::sandbox) fn money(&mut self, name: &str, cents: i64) -> &mut Self {
        self.object(name, |o| {
            o.bare("value", decimal(cents, 2)).text("currency", "USD");
        })
    }

    /// Writes a Period whose start and end are times.
    pub(in crate::sandbox) fn period(
        &mut self,
        name: &str,
        start: Moment,
        end: Option<Moment>,
        zone: Zone,
    ) -> &mut Self {
        self.object(name, |o| {
            o.text("start", Text::Second(start, zone))
                .maybe("end", end.map(|end| Text::Second(end, zone)));
        })
    }

    /// Writes a Period whose start and end are days.
    pub(in crate::sandbox) fn days(&mut self, name: &str, start: Moment, end: Option<Moment>) -> &mut Self {
        self.object(name, |o| {
            o.text("start", Text::Day(start)).maybe("end", end.map(Text::Day));
        })
    }

    /// Writes a `meta` that names this profile.
    pub(in crate::sandbox) fn profile(&mut self, url: impl Display) -> &mut Self {
        self.object("meta", |o| {
            o.list("profile", |l| {
                l.text(url);
            });
        })
    }

    /// Writes a `meta` that names a profile of US Core. `name` is the last part of the profile's URL, such as
    /// `patient`.
    pub(in crate::sandbox) fn us_core(&mut self, name: &str) -> &mut Self {
        self.profile(format_args!(
            "http://hl7.org/fhir/us/core/StructureDefinition/us-core-{name}"
        ))
    }

    /// Writes a list with one Identifier.
    pub(in crate::sandbox) fn identifier(&mut self, system: &str, value: impl Display) -> &mut Self {
        self.only("identifier", |o| {
            o.text("system", system).text("value", value);
        })
    }

    /// Writes a `text` whose narrative is `words`. `words` must not contain markup.
    pub(in crate::sandbox) fn narrative(&mut self, words: impl Display) -> &mut Self {
        self.object("text", |o| {
            o.text("status", "generated");
            o.text(
                "div",
                format_args!("<div xmlns=\"http://www.w3.org/1999/xhtml\"><p>{words}</p></div>"),
            );
        })
    }
}

impl List<'_> {
    /// Writes a CodeableConcept with one coding.
    pub(in crate::sandbox) fn concept(&mut self, code: &Code) -> &mut Self {
        self.object(|o| {
            o.codings(&[code]);
        })
    }

    /// Writes a Reference.
    pub(in crate::sandbox) fn link(&mut self, link: Link<'_>) -> &mut Self {
        self.object(|o| {
            o.target(link);
        })
    }

    /// Writes a ContactPoint.
    pub(in crate::sandbox) fn contact(&mut self, system: &str, value: impl Display, usage: &str) -> &mut Self {
        self.object(|o| {
            o.text("system", system).text("value", value).text("use", usage);
        })
    }
}
