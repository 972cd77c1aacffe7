//! Builds views from columns on the command line, which are FHIRPath expressions, without a ViewDefinition file.

use std::sync::Arc;

use serde_json::{Value, json};

use super::resource_types::named;
use crate::cli::terminal::failure::{Failure, warn};
use crate::fhir::facts;
use crate::fhirpath::{CompileOptions, compile};
use crate::terminology::Terminology;
use crate::views::{Finding, View};

/// A column from the command line, with its name and its FHIRPath expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct TypedColumn {
    pub(in crate::cli) name: String,
    pub(in crate::cli) path: String,
}

/// Parses `NAME=FHIRPATH`, or an expression without a name. Without a name, the name is made from the expression.
pub(in crate::cli) fn column(text: &str) -> Result<TypedColumn, String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if is_name(name) && !path.starts_with('=') => (name.to_owned(), path),
        _ => (name_of(text), text),
    };
    match path.trim() {
        "" => Err("a column is NAME=FHIRPATH, or an expression".to_owned()),
        path => Ok(TypedColumn {
            name,
            path: path.to_owned(),
        }),
    }
}

/// Fails if the user gave two columns one name. Names that were made from expressions may be equal. `option` is the
/// name of the option that gave the columns.
pub(in crate::cli) fn refuse_repeated(columns: &[TypedColumn], option: &str) -> Result<(), Failure> {
    let mut given: Vec<&str> = Vec::new();
    for column in columns.iter().filter(|column| column.name != name_of(&column.path)) {
        if given.contains(&column.name.as_str()) {
            return Err(Failure::input(format!(
                "{option} {}: two columns have this name; give each its own",
                column.name
            )));
        }
        given.push(&column.name);
    }
    Ok(())
}

/// Splits a list at its commas, except at commas inside brackets and quotes.
pub(in crate::cli) fn parts(list: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    let mut letters = list.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => drop(letters.next()),
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '`') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(list[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[begin..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Builds a view with these columns. If a name occurs again, it gets a number at its end, such as `given_2`. `option`
/// is the name of the option that gave the columns, for error messages.
pub(in crate::cli) fn view(
    resource_type: &str,
    columns: &[TypedColumn],
    option: &str,
    filter: Option<&str>,
    terminology: Option<Arc<Terminology>>,
    strict: bool,
) -> Result<View, Failure> {
    let type_id = named(resource_type).map_err(Failure::input)?;
    let options = CompileOptions {
        terminology: terminology.clone(),
        json_names: !strict,
        ..CompileOptions::default()
    };
    // Whether a column can have several values for one resource. Such a column must be a list. An expression that does
    // not compile counts as no list, because the check of the view below reports its error.
    let is_list = |path: &str| compile(path, type_id, &options).is_ok_and(|program| program.is_multi_valued());
    let mut taken: Vec<String> = Vec::new();
    let mut list: Vec<Value> = Vec::new();
    for column in columns {
        let mut name = column.name.clone();
        let mut number = 2;
        while taken.contains(&name) {
            name = format!("{}_{number}", column.name);
            number += 1;
        }
        list.push(json!({"name": name, "path": column.path, "collection": is_list(&column.path)}));
        taken.push(name);
    }
    let mut definition = json!({
        "resourceType": "ViewDefinition", "status": "active", "resource": facts().get(type_id).name,
        "select": [{"column": list}],
    });
    if let Some(filter) = filter {
        definition["where"] = json!([{"path": filter}]);
    }
    let text = definition.to_string();
    let checked = if strict {
        View::check_strictly(text.as_bytes(), terminology)
    } else {
        View::check_with(text.as_bytes(), terminology)
    };
    let told = |finding: &Finding| {
        let what = match &finding.column {
            Some(column) => format!("{option} {column}"),
            None if finding.at.contains(".where") => "--where".to_owned(),
            None => resource_type.to_owned(),
        };
        format!("{what}: {}", finding.problem)
    };
    Failure::all(checked.errors().map(|error| Failure::input(told(error))).collect())?;
    checked.json_names().for_each(|name| warn(&told(name)));
    checked
        .into_view()
        .map_err(|_| Failure::input(format!("{resource_type}: such columns make no view")))
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Makes a column name from the ASCII letters and digits of an expression, at most 60 characters long. For example,
/// `name.given` becomes `name_given`. Adds `c_` at the start if the name would not begin with a letter.
fn name_of(path: &str) -> String {
    let words = path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut name = words.join("_");
    name.truncate(60);
    if is_name(&name) { name } else { format!("c_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_a_name_or_gets_one() {
        for (text, name, path) in [
            ("id", "id", "id"),
            ("born=birthDate", "born", "birthDate"),
            ("name.family", "name_family", "name.family"),
            (
                "name.where(use = 'official').family",
                "name_where_use_official_family",
                "name.where(use = 'official').family",
            ),
            ("x= a = b", "x", "a = b"),
            ("gender = 'male'", "gender_male", "gender = 'male'"),
            ("1 + 1", "c_1_1", "1 + 1"),
        ] {
            let expected = TypedColumn {
                name: name.to_owned(),
                path: path.to_owned(),
            };
            assert_eq!(column(text), Ok(expected), "{text}");
        }
        assert!(column("").is_err() && column("a=").is_err());
    }

    #[test]
    fn commas_inside_brackets_and_quotes_part_nothing() {
        assert_eq!(
            parts("id, iif(a, b, c),x='a,\\',b'"),
            ["id", "iif(a, b, c)", "x='a,\\',b'"]
        );
        assert_eq!(parts(",,"), [""; 0]);
    }

    #[test]
    fn what_may_have_several_values_is_a_list() {
        let columns = [
            column("id").unwrap(),
            column("name.given").unwrap(),
            column("id").unwrap(),
        ];
        let view = view("Patient", &columns, "--column", Some("active"), None, false).unwrap();
        let told: Vec<(&str, bool)> = view
            .columns()
            .iter()
            .map(|column| (&*column.name, column.collection))
            .collect();
        assert_eq!(told, [("id", false), ("name_given", true), ("id_2", false)]);
    }

    #[test]
    fn a_name_that_the_user_gave_belongs_to_one_column() {
        let columns = |texts: &[&str]| texts.iter().map(|text| column(text).unwrap()).collect::<Vec<_>>();
        let refused = |texts: &[&str]| refuse_repeated(&columns(texts), "--column");
        assert_eq!(
            refused(&["a=id", "b=id", "a=gender"]).unwrap_err().to_text(),
            "--column a: two columns have this name; give each its own"
        );
        assert!(refused(&["id", "id", "a=id"]).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said_of_its_option() {
        let told = |columns: &[TypedColumn], filter| {
            view("Patient", columns, "--columns", filter, None, false)
                .unwrap_err()
                .to_text()
        };
        let faulty = [column("born=birthDat").unwrap()];
        assert!(told(&faulty, None).starts_with("--columns born: Patient has no element 'birthDat'"));
        assert!(told(&[column("id").unwrap()], Some("activ")).starts_with("--where: Patient has no element 'activ'"));
        assert!(
            view("Pateint", &faulty, "--columns", None, None, false)
                .unwrap_err()
                .to_text()
                .contains("did you mean 'Patient'?")
        );
    }
}
