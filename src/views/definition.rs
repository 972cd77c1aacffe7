//! A ViewDefinition as it was written: JSON to a raw type, with the place of everything for messages.
//!
//! Decides which properties a ViewDefinition has and what JSON types they are. What names, types and expressions mean is
//! resolved in `view`; what is not needed to run a view (`status`, `description`, contacts, ...) is not looked at.

use super::error::ViewError;
use super::place::Place;
use crate::fhirpath::Constant;
use crate::lake::json::{Kind, Tape, Value};

/// A ViewDefinition as written.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) name: Option<String>,
    pub(super) resource: String,
    pub(super) constants: Vec<(String, Constant)>,
    pub(super) wheres: Vec<Located>,
    pub(super) selects: Vec<RawSelect>,
}

/// An expression and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub(super) at: String,
    pub(super) text: String,
}

/// What a `select` goes through.
#[derive(Clone, Debug)]
pub(super) enum RawIteration {
    Each(Located),
    EachOrNull(Located),
    Repeat(Vec<Located>),
}

/// A `select`, or a branch of a `unionAll`.
#[derive(Clone, Debug)]
pub(super) struct RawSelect {
    pub(super) at: String,
    pub(super) iteration: Option<RawIteration>,
    pub(super) columns: Vec<RawColumn>,
    pub(super) selects: Vec<RawSelect>,
    pub(super) union: Vec<RawSelect>,
}

/// A `column`.
#[derive(Clone, Debug)]
pub(super) struct RawColumn {
    pub(super) at: String,
    pub(super) name: String,
    pub(super) path: Located,
    pub(super) ty: Option<String>,
    pub(super) collection: Option<bool>,
    pub(super) description: Option<String>,
}

/// How deep `select`s may nest: far beyond any view, and safe to walk recursively.
const MAX_DEPTH: usize = 32;
/// The most columns of a view.
pub(super) const MAX_COLUMNS: usize = 4096;

impl Definition {
    pub(super) fn parse(text: &[u8]) -> Result<Definition, ViewError> {
        let mut tape = Tape::new();
        let root = tape.parse(text)?;
        let at = Place::Root;
        if !root.is_object() {
            return Err(wrong(&at, "must be a JSON object"));
        }
        match optional_text(root, &at, "resourceType")?.as_deref() {
            None | Some("ViewDefinition") => {}
            Some(other) => {
                return Err(wrong(
                    &at.property("resourceType"),
                    format!("is '{other}', not 'ViewDefinition'"),
                ));
            }
        }
        let selects = list(root, &at, "select", |value, at| RawSelect::parse(value, at, 0))?;
        if selects.is_empty() {
            return Err(wrong(&at.property("select"), "must have at least one entry"));
        }
        Ok(Definition {
            name: optional_text(root, &at, "name")?,
            resource: text_of(root, &at, "resource")?,
            constants: list(root, &at, "constant", constant)?,
            wheres: list(root, &at, "where", |value, at| located(value, at, "path"))?,
            selects,
        })
    }
}

impl RawSelect {
    fn parse(value: Value<'_>, at: &Place<'_>, depth: usize) -> Result<RawSelect, ViewError> {
        if depth >= MAX_DEPTH {
            return Err(wrong(at, format!("nests deeper than {MAX_DEPTH} levels")));
        }
        let nested = |value: Value<'_>, at: &Place<'_>| RawSelect::parse(value, at, depth + 1);
        let select = RawSelect {
            at: at.to_string(),
            iteration: iteration(value, at)?,
            columns: list(value, at, "column", column)?,
            selects: list(value, at, "select", nested)?,
            union: list(value, at, "unionAll", nested)?,
        };
        if select.columns.is_empty() && select.selects.is_empty() && select.union.is_empty() {
            return Err(wrong(at, "needs a column, a select or a unionAll"));
        }
        Ok(select)
    }
}

fn iteration(value: Value<'_>, at: &Place<'_>) -> Result<Option<RawIteration>, ViewError> {
    let mut found = None;
    for name in ["forEach", "forEachOrNull", "repeat"] {
        if present(value, name).is_none() {
            continue;
        }
        let iteration = match name {
            "forEach" => RawIteration::Each(located(value, at, name)?),
            "forEachOrNull" => RawIteration::EachOrNull(located(value, at, name)?),
            _ => RawIteration::Repeat(list(value, at, name, |value, at| match value.as_str() {
                Some(text) => Ok(Located {
                    at: at.to_string(),
                    text: text.into_owned(),
                }),
                None => Err(wrong(at, "must be a string")),
            })?),
        };
        if let RawIteration::Repeat(paths) = &iteration
            && paths.is_empty()
        {
            return Err(wrong(&at.property(name), "must have at least one entry"));
        }
        if found.replace(iteration).is_some() {
            return Err(wrong(at, "may have only one of forEach, forEachOrNull and repeat"));
        }
    }
    Ok(found)
}

fn column(value: Value<'_>, at: &Place<'_>) -> Result<RawColumn, ViewError> {
    let collection = match present(value, "collection") {
        None => None,
        Some(flag) => Some(
            flag.as_bool()
                .ok_or_else(|| wrong(&at.property("collection"), "must be true or false"))?,
        ),
    };
    Ok(RawColumn {
        at: at.to_string(),
        name: text_of(value, at, "name")?,
        path: located(value, at, "path")?,
        ty: optional_text(value, at, "type")?,
        collection,
        description: optional_text(value, at, "description")?,
    })
}

fn constant(value: Value<'_>, at: &Place<'_>) -> Result<(String, Constant), ViewError> {
    let name = text_of(value, at, "name")?;
    check_name(&name, &at.property("name"))?;
    let mut found = None;
    for (key, value) in value.entries() {
        let key = key.name();
        let Some(ty) = key.strip_prefix("value") else { continue };
        let place = at.property(&key);
        let constant = constant_value(ty, value, &place)?;
        if found.replace(constant).is_some() {
            return Err(wrong(at, "has more than one value"));
        }
    }
    found
        .map(|value| (name, value))
        .ok_or_else(|| wrong(at, "has no value[x]"))
}

fn constant_value(ty: &str, value: Value<'_>, at: &Place<'_>) -> Result<Constant, ViewError> {
    let text = || {
        value
            .as_str()
            .map(|text| text.into_owned())
            .ok_or_else(|| wrong(at, "must be a string"))
    };
    let number = || {
        value
            .number()
            .map(str::to_owned)
            .ok_or_else(|| wrong(at, "must be a number"))
    };
    Ok(match ty {
        "Base64Binary" | "Canonical" | "Code" | "Id" | "Markdown" | "Oid" | "String" | "Uri" | "Url" | "Uuid" => {
            Constant::String(text()?)
        }
        "Boolean" => Constant::Boolean(value.as_bool().ok_or_else(|| wrong(at, "must be true or false"))?),
        "Date" => Constant::Date(text()?),
        "DateTime" | "Instant" => Constant::DateTime(text()?),
        "Time" => Constant::Time(text()?),
        "Decimal" => Constant::Decimal(number()?),
        "Integer" | "Integer64" | "PositiveInt" | "UnsignedInt" => {
            let digits = number()?;
            match digits.parse::<i32>() {
                Ok(_) => Constant::Integer(digits),
                Err(_) => return Err(wrong(at, "must be a whole number of 32 bits")),
            }
        }
        _ => return Err(wrong(at, "is not a type that a constant can have")),
    })
}

/// Names become columns of SQL tables: letters, digits and underscores, a letter first.
pub(super) fn check_name(name: &str, at: &Place<'_>) -> Result<(), ViewError> {
    let sound = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.len() <= 255;
    match sound {
        true => Ok(()),
        false => Err(wrong(
            at,
            format!("'{name}' is no name: it may have letters, digits and underscores, a letter first"),
        )),
    }
}

pub(super) fn wrong(at: &Place<'_>, problem: impl Into<String>) -> ViewError {
    ViewError::Structure {
        at: at.to_string(),
        problem: problem.into(),
    }
}

/// A property that is there and not null.
fn present<'t>(value: Value<'t>, name: &str) -> Option<Value<'t>> {
    value.get(name).filter(|value| !value.is_null())
}

fn optional_text(value: Value<'_>, at: &Place<'_>, name: &str) -> Result<Option<String>, ViewError> {
    match present(value, name) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(wrong(
                &at.property(name),
                format!("must be a string, not {}", kind(value)),
            )),
        },
    }
}

fn text_of(value: Value<'_>, at: &Place<'_>, name: &str) -> Result<String, ViewError> {
    let text = optional_text(value, at, name)?.ok_or_else(|| wrong(at, format!("has no {name}")))?;
    match text.trim().is_empty() {
        true => Err(wrong(&at.property(name), "is empty")),
        false => Ok(text),
    }
}

fn located(value: Value<'_>, at: &Place<'_>, name: &str) -> Result<Located, ViewError> {
    Ok(Located {
        text: text_of(value, at, name)?,
        at: at.property(name).to_string(),
    })
}

fn list<T>(
    value: Value<'_>,
    at: &Place<'_>,
    name: &str,
    parse: impl Fn(Value<'_>, &Place<'_>) -> Result<T, ViewError>,
) -> Result<Vec<T>, ViewError> {
    let Some(value) = present(value, name) else {
        return Ok(Vec::new());
    };
    let at = at.property(name);
    if !value.is_array() {
        return Err(wrong(&at, format!("must be an array, not {}", kind(value))));
    }
    let mut parsed = Vec::new();
    for (index, item) in value.items().enumerate() {
        parsed.push(parse(item, &at.item(index))?);
    }
    Ok(parsed)
}

fn kind(value: Value<'_>) -> &'static str {
    match value.kind() {
        Kind::Null => "null",
        Kind::True | Kind::False => "a boolean",
        Kind::Number => "a number",
        Kind::String | Kind::Escaped => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Definition::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_by_its_place() {
        for (view, expected) in [
            ("[]", "ViewDefinition: must be a JSON object"),
            ("{", "the ViewDefinition is not JSON: the text ends too early at byte 1"),
            (
                r#"{"resourceType":"Patient"}"#,
                "ViewDefinition.resourceType: is 'Patient', not 'ViewDefinition'",
            ),
            (
                r#"{"resource":"Patient"}"#,
                "ViewDefinition.select: must have at least one entry",
            ),
            (
                r#"{"select":[{"column":[{"name":"a","path":"id"}]}]}"#,
                "ViewDefinition: has no resource",
            ),
            (
                r#"{"select":[{"column":{}}]}"#,
                "ViewDefinition.select[0].column: must be an array, not an object",
            ),
            (
                r#"{"select":[{"column":[{"name":"a"}]}]}"#,
                "ViewDefinition.select[0].column[0]: has no path",
            ),
            (
                r#"{"select":[{}]}"#,
                "ViewDefinition.select[0]: needs a column, a select or a unionAll",
            ),
            (
                r#"{"select":[{"select":[{"forEach":1}]}]}"#,
                "ViewDefinition.select[0].select[0].forEach: must be a string, not a number",
            ),
            (
                r#"{"select":[{"forEach":"a","forEachOrNull":"b"}]}"#,
                "ViewDefinition.select[0]: may have only one of forEach, forEachOrNull and repeat",
            ),
            (
                r#"{"resource":"X","select":[{"column":[{"name":"a","path":"b"}]}],"constant":[{"name":"c"}]}"#,
                "ViewDefinition.constant[0]: has no value[x]",
            ),
            (
                r#"{"resource":"X","select":[{"column":[{"name":"a","path":"b"}]}],"constant":[{"name":"c","valueInteger":"1"}]}"#,
                "ViewDefinition.constant[0].valueInteger: must be a number",
            ),
        ] {
            assert_eq!(problem(view), expected, "{view}");
        }
        let deep = format!(
            r#"{{"resource":"X","select":[{}{}]}}"#,
            r#"{"select":["#.repeat(40),
            "]}".repeat(40)
        );
        assert!(problem(&deep).contains("nests deeper than 32 levels"));
    }

    #[test]
    fn constants_keep_their_digits() {
        let text = r#"{"resource":"X","select":[{"column":[{"name":"a","path":"b"}]}],
            "constant":[{"name":"c","valueDecimal":1.20}]}"#;
        let definition = Definition::parse(text.as_bytes()).unwrap();
        assert_eq!(
            definition.constants,
            [("c".to_owned(), Constant::Decimal("1.20".to_owned()))]
        );
    }
}
