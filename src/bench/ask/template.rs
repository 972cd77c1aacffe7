//! Queries with placeholders: `Observation?code={code}&date=ge{date}`, and the values for them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::dice::Dice;
use super::row::{Field, Row};
use crate::fhir::{Kind, TypeId, facts};

/// The maximum number of ids that replace the placeholder `{patients}`.
pub(in crate::bench) const MANY_PATIENTS: usize = 1_000;

/// Characters that a query's value may contain unencoded.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parsed text of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::bench) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Unchanged text.
    Text(String),
    /// A placeholder such as `{id}`. The value is a field of the drawn row.
    Own(Field),
    /// A placeholder such as `{Patient.id}`. The value is a field of a row of another type, which is drawn separately.
    Of(TypeId, Field),
    /// The placeholder `{patients}`. The value is the ids of up to [`MANY_PATIENTS`] people, separated by commas.
    Patients,
}

/// The source of the values for placeholders.
pub(in crate::bench) trait Values {
    /// Returns the row that was drawn for this request.
    fn row(&self) -> &Row;
    /// Draws a row of another type that has this field.
    fn other(&self, type_id: TypeId, field: Field, dice: &mut Dice) -> Option<&Row>;
    /// Returns the ids of all people.
    fn people(&self) -> &[Box<str>];
}

impl Template {
    /// Parses the text of a query. The error is a part of a sentence: `BenchError::Mix` writes the names of the mix and
    /// the family before it.
    pub(in crate::bench) fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let Some(length) = rest[open..].find('}') else {
                return Err(format!("'{{' without '}}' in {text:?}"));
            };
            if open > 0 {
                parts.push(Part::Text(rest[..open].to_owned()));
            }
            parts.push(placeholder(&rest[open + 1..open + length])?);
            rest = &rest[open + length + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        if let Some(Part::Text(text)) = parts.iter().find(|part| match part {
            Part::Text(text) => text.contains(|character: char| character.is_ascii_control() || character == ' '),
            _ => false,
        }) {
            return Err(format!("a space or control character in {text:?}; percent-encode it"));
        }
        Ok(Template(parts))
    }

    /// Returns the fields of the placeholders such as `{id}`. The drawn row must have these fields.
    pub(in crate::bench) fn own(&self) -> impl Iterator<Item = Field> {
        self.0.iter().filter_map(|part| match part {
            Part::Own(field) => Some(*field),
            _ => None,
        })
    }

    /// Returns the type and field of each placeholder such as `{Patient.id}`. Its value comes from a row of that type.
    pub(in crate::bench) fn others(&self) -> impl Iterator<Item = (TypeId, Field)> {
        self.0.iter().filter_map(|part| match part {
            Part::Of(type_id, field) => Some((*type_id, *field)),
            _ => None,
        })
    }

    /// Whether the template has the placeholder `{patients}`.
    pub(in crate::bench) fn names_people(&self) -> bool {
        self.0.contains(&Part::Patients)
    }

    /// Returns the text before the first placeholder.
    pub(in crate::bench) fn start(&self) -> &str {
        match self.0.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Appends the text with values in place of the placeholders.
    pub(in crate::bench) fn render(&self, values: &impl Values, dice: &mut Dice, out: &mut Vec<u8>) {
        for part in &self.0 {
            match part {
                Part::Text(text) => out.extend_from_slice(text.as_bytes()),
                Part::Own(field) => encode(values.row().get(*field), out),
                Part::Of(type_id, field) => {
                    let row = values.other(*type_id, *field, dice);
                    encode(row.and_then(|row| row.get(*field)), out);
                }
                Part::Patients => patients(values.people(), dice, out),
            }
        }
    }
}

/// Parses the name of a placeholder, which stands between braces.
fn placeholder(name: &str) -> Result<Part, String> {
    if name == "patients" {
        return Ok(Part::Patients);
    }
    let (type_name, field) = match name.split_once('.') {
        None => (None, name),
        Some((type_name, field)) => (Some(type_name), field),
    };
    let Some(field) = Field::named(field) else {
        let known: Vec<String> = Field::ALL.iter().map(|field| format!("{{{}}}", field.name())).collect();
        return Err(format!(
            "there is no placeholder {{{name}}}; there are {} and {{patients}}",
            known.join(", ")
        ));
    };
    match type_name {
        None => Ok(Part::Own(field)),
        Some(type_name) => resource_type(type_name)
            .map(|type_id| Part::Of(type_id, field))
            .ok_or_else(|| format!("{type_name:?} in {{{name}}} is no R4 resource type")),
    }
}

/// Returns the R4 resource type with this name, unless it is abstract.
pub(in crate::bench) fn resource_type(name: &str) -> Option<TypeId> {
    let of_resources =
        |type_id: &TypeId| facts().get(*type_id).kind == Kind::Resource && !facts().get(*type_id).is_abstract;
    facts().lookup(name).filter(of_resources)
}

fn encode(value: Option<&str>, out: &mut Vec<u8>) {
    for piece in utf8_percent_encode(value.unwrap_or_default(), PLAIN) {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// Appends the ids of at most [`MANY_PATIENTS`] people, separated by commas. Takes them in order, beginning at a random
/// position.
fn patients(people: &[Box<str>], dice: &mut Dice, out: &mut Vec<u8>) {
    let start = dice.below(people.len());
    let many = people.iter().cycle().skip(start).take(people.len().min(MANY_PATIENTS));
    for (place, person) in many.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        encode(Some(person), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Row, Vec<Box<str>>);

    impl Values for Fixed {
        fn row(&self) -> &Row {
            &self.0
        }

        fn other(&self, _: TypeId, _: Field, _: &mut Dice) -> Option<&Row> {
            Some(&self.0)
        }

        fn people(&self) -> &[Box<str>] {
            &self.1
        }
    }

    fn rendered(text: &str) -> String {
        let mut row = Row::default();
        row.set(Field::Code, "http://loinc.org|8867-4");
        row.set(Field::Patient, "p 1");
        row.set_date("2020-01-31");
        let values = Fixed(row, vec!["a".into(), "b".into(), "c".into()]);
        let mut out = Vec::new();
        let template = Template::parse(text).unwrap();
        template.render(&values, &mut Dice::new(1, "test", 0), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_percent_encoded_and_text_stays() {
        assert_eq!(
            rendered("Observation?patient={patient}&code={code}&date=ge{date}&date=lt{until}&_sort=-date"),
            "Observation?patient=p%201&code=http%3A%2F%2Floinc.org%7C8867-4&date=ge2020-01-31&date=lt2020-04-30&_sort=-date"
        );
        assert_eq!(
            rendered("Patient?_has:Observation:patient:code={Observation.code}"),
            "Patient?_has:Observation:patient:code=http%3A%2F%2Floinc.org%7C8867-4"
        );
    }

    #[test]
    fn many_people_are_all_there_are_when_they_are_few() {
        let text = rendered("code=x&patient={patients}");
        let mut people: Vec<&str> = text.strip_prefix("code=x&patient=").unwrap().split(',').collect();
        people.sort_unstable();
        assert_eq!(people, ["a", "b", "c"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, word) in [
            ("Observation?code={code", "without '}'"),
            ("Observation?code={colour}", "{colour}"),
            ("Patient?x={Colour.code}", "\"Colour\""),
            ("Patient?x={Quantity.code}", "\"Quantity\""),
            ("Patient?name=a b", "space"),
            ("Patient?name=a\r\nHost:", "control"),
        ] {
            let error = Template::parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
