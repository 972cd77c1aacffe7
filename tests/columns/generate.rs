//! Random resources of any type, generated from R4's facts. They are mostly valid, with some wrong kinds, unknown
//! properties, nulls and empty values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tabularium::fhir::{Element, Kind, Primitive, TypeId, facts};

pub(crate) struct Generator(ChaCha8Rng);

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number in `0..end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub(crate) fn resource(&mut self, type_id: TypeId) -> String {
        let mut properties = vec![
            format!(r#""resourceType":"{}""#, facts().get(type_id).name),
            r#""id":"a-1""#.to_owned(),
        ];
        properties.extend(self.properties(type_id, 3, true));
        self.assemble(properties)
    }

    fn assemble(&mut self, mut properties: Vec<String>) -> String {
        for at in (1..properties.len()).rev() {
            let other = self.below(at + 1);
            properties.swap(at, other);
        }
        let space = if self.one_in(4) { "\n  " } else { "" };
        format!("{{{space}{}{space}}}", properties.join(&format!(",{space}")))
    }

    fn properties(&mut self, type_id: TypeId, depth: usize, root: bool) -> Vec<String> {
        let elements = &facts().get(type_id).elements;
        let mut properties = Vec::new();
        for element in elements {
            if (root && element.name == "id") || !self.one_in(if root { 3 } else { 2 + elements.len() / 4 }) {
                continue;
            }
            let mut element_type = element.types[self.below(element.types.len())];
            let mut name = element.name.to_owned();
            if element.choice {
                let suffix = facts().get(element_type).name;
                name = format!("{name}{}{}", suffix[..1].to_uppercase(), &suffix[1..]);
            } else {
                element_type = element.types[0];
            }
            if self.one_in(40) {
                name = format!("\\u{:04x}{}", name.as_bytes()[0], &name[1..]);
            }
            let primitive = matches!(facts().get(element_type).kind, Kind::Primitive(_));
            if primitive && self.one_in(4) {
                let extension = self.values(element, depth, |generator, depth| {
                    let properties = generator.properties(element_type, depth, false);
                    generator.assemble(properties)
                });
                properties.extend(extension.map(|extension| format!(r#""_{name}":{extension}"#)));
            }
            if !primitive || !self.one_in(8) {
                let value = self.values(element, depth, |generator, depth| generator.value(element_type, depth));
                properties.extend(value.map(|value| format!(r#""{name}":{value}"#)));
            }
        }
        if self.one_in(6) {
            properties.push(r#""shoeSize":{"value":[45]}"#.to_owned());
        }
        properties
    }

    fn values(
        &mut self,
        element: &Element,
        depth: usize,
        mut one: impl FnMut(&mut Generator, usize) -> String,
    ) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        if self.one_in(30) {
            return Some(self.strange());
        }
        if !element.many {
            return Some(one(self, depth));
        }
        let count = self.below(4);
        let items: Vec<String> = (0..count)
            .map(|_| {
                if self.one_in(8) {
                    "null".to_owned()
                } else {
                    one(self, depth)
                }
            })
            .collect();
        Some(format!("[{}]", items.join(", ")))
    }

    fn strange(&mut self) -> String {
        let strange = [
            "null",
            "[]",
            "{}",
            "[{}]",
            "[null]",
            "\"text\"",
            "-0",
            "12.50",
            "true",
            "[[1]]",
            r#"{"shoe":1}"#,
        ];
        strange[self.below(strange.len())].to_owned()
    }

    fn value(&mut self, type_id: TypeId, depth: usize) -> String {
        let def = facts().get(type_id);
        match def.kind {
            Kind::Primitive(primitive) => self.primitive(primitive),
            Kind::Resource => r#"{ "resourceType" : "Basic", "id":"b\u0031" }"#.to_owned(),
            Kind::Complex | Kind::Backbone if depth == 0 => r#"{"id":"leaf"}"#.to_owned(),
            Kind::Complex | Kind::Backbone => {
                let properties = self.properties(type_id, depth, false);
                self.assemble(properties)
            }
        }
    }

    fn primitive(&mut self, primitive: Primitive) -> String {
        let choices: &[&str] = match primitive {
            Primitive::Boolean => &["true", "false"],
            Primitive::Integer | Primitive::PositiveInt | Primitive::UnsignedInt => &[
                "0",
                "1",
                "-1",
                "2147483647",
                "-2147483648",
                "2147483648",
                "1e2",
                "1.0",
                "-0",
            ],
            Primitive::Decimal => &[
                "0",
                "-0.00",
                "1.50",
                "120",
                "1e3",
                "2.5E-2",
                "99999999999999999999",
                "0.1234567890123456789",
                "1e400",
            ],
            Primitive::Date => &[
                "\"1999\"",
                "\"1999-02\"",
                "\"2000-02-29\"",
                "\"2001-02-29\"",
                "\"soon\"",
            ],
            Primitive::DateTime | Primitive::Instant => &[
                "\"2020\"",
                "\"2020-12-31T23:59:59Z\"",
                "\"1969-07-20T20:17:40.123456789-05:00\"",
                "\"2020-01-01T24:00:00Z\"",
                "\"2020-01-01T10:00:00\"",
            ],
            Primitive::Time => &["\"10:00:00\"", "\"23:59:59.999\"", "\"25:00:00\""],
            _ => &[
                "\"\"",
                "\"plain\"",
                r#""esc\"aped \u00e9\ud83d\ude00\n""#,
                "\"Patient/1\"",
                "\"Patient/1/_history/2\"",
                "\"urn:uuid:1\"",
                "\"#contained\"",
                "\"https://example.org/fhir/Patient/1\"",
                "\"née\"",
            ],
        };
        choices[self.below(choices.len())].to_owned()
    }
}
