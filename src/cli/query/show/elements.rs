//! Columns for the elements of a resource type. Each column is a FHIRPath expression that gives one value for people
//! to read.

use crate::cli::query::inline::TypedColumn;
use crate::fhir::{Element, Kind, TypeId, facts};

/// Elements that get no column, because they describe the record itself and not its subject, or link it to other
/// records.
const LEFT_OUT: [&str; 8] = [
    "meta",
    "implicitRules",
    "language",
    "text",
    "contained",
    "extension",
    "modifierExtension",
    "link",
];

/// Returns the columns of a resource type: `id` first, then the other elements in R4's order. Skips the elements of
/// `LEFT_OUT`, and elements whose values one text cannot represent.
pub(super) fn columns(type_id: TypeId) -> Vec<TypedColumn> {
    let mut elements: Vec<&Element> = facts().get(type_id).elements.iter().collect();
    elements.sort_by_key(|element| (element.name != "id", element.ordinal));
    let shown = elements.into_iter().filter(|element| !LEFT_OUT.contains(&element.name));
    shown.filter_map(column).collect()
}

/// Returns the column for the element of this name. `None` if the type has no such element, or if one text cannot
/// represent a value of the element.
pub(super) fn named(type_id: TypeId, name: &str) -> Option<TypedColumn> {
    facts()
        .get(type_id)
        .elements
        .iter()
        .find(|element| element.name == name)
        .and_then(column)
}

/// Returns the names of the types that an element may have, as R4 writes them. If there are more than three, the text
/// has the first two and the number of the others. `None` if the type has no such element.
pub(super) fn types(type_id: TypeId, name: &str) -> Option<String> {
    let element = facts()
        .get(type_id)
        .elements
        .iter()
        .find(|element| element.name == name)?;
    let names: Vec<&str> = element.types.iter().map(|type_id| facts().get(*type_id).name).collect();
    Some(match names.len() {
        0..=3 => names.join(" | "),
        more => format!("{} | {} and {} more", names[0], names[1], more - 2),
    })
}

fn column(element: &Element) -> Option<TypedColumn> {
    let path = if element.choice {
        let of_type = |type_id: &TypeId| {
            let one = format!("{}.ofType({})", element.name, facts().get(*type_id).name);
            let text = match facts().get(*type_id).kind {
                Kind::Primitive(_) => format!("{one}.toString()"),
                _ => text(&one, *type_id)?,
            };
            Some((one, text))
        };
        let mut path = String::from("{}");
        for (one, text) in element
            .types
            .iter()
            .filter_map(of_type)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            path = format!("iif({one}.exists(), {text}, {path})");
        }
        path
    } else {
        let one = if element.many {
            format!("{}.first()", element.name)
        } else {
            element.name.to_owned()
        };
        text(&one, *element.types.first()?)?
    };
    Some(TypedColumn {
        name: element.name.to_owned(),
        path,
    })
    .filter(|column| column.path != "{}")
}

/// Returns a FHIRPath expression for one text that represents an item of this type, such as the display of a Coding.
/// `item` is the expression of the item. `None` if one text cannot represent such an item.
fn text(item: &str, type_id: TypeId) -> Option<String> {
    let def = facts().get(type_id);
    if let Kind::Primitive(_) = def.kind {
        return (!matches!(def.name, "base64Binary" | "xhtml")).then(|| item.to_owned());
    }
    let part = match def.name {
        "CodeableConcept" => {
            "select(iif(text.exists(), text, iif(coding.display.exists(), coding.display.first(), coding.code.first().toString())))"
        }
        "Coding" => "select(iif(display.exists(), display, code.toString()))",
        "Reference" => "select(iif(reference.exists(), reference, display))",
        "HumanName" => "select(iif(text.exists(), text, (given.first() & ' ' & family).trim()))",
        "Quantity" | "Age" | "Count" | "Distance" | "Duration" | "SimpleQuantity" => {
            "select((value.toString() & ' ' & iif(unit.exists(), unit, code.toString())).trim())"
        }
        "Money" => "select((value.toString() & ' ' & currency.toString()).trim())",
        "Period" => "start.toString()",
        "Range" => "select(low.value.toString() & '-' & high.value.toString())",
        "Identifier" | "ContactPoint" => "value",
        "Address" => "select(iif(text.exists(), text, city))",
        "Attachment" => "select(iif(title.exists(), title, contentType.toString()))",
        "Annotation" | "Dosage" => "text.toString()",
        _ => return None,
    };
    Some(format!("{item}.{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::query::inline;

    #[test]
    fn every_type_can_be_shown() {
        let types = facts().resources().filter(|type_id| !facts().get(*type_id).is_abstract);
        let mut shown = 0;
        for type_id in types {
            let columns = columns(type_id);
            assert_eq!(columns[0].name, "id");
            let view = inline::view(facts().get(type_id).name, &columns, "--column", None, None, true);
            let view = view.unwrap_or_else(|failure| panic!("{}: {}", facts().get(type_id).name, failure.to_text()));
            let list = view.columns().iter().find(|column| column.collection);
            assert!(list.is_none(), "{}: {list:?} is a list", facts().get(type_id).name);
            shown += 1;
        }
        assert!(shown > 140, "{shown}");
    }

    #[test]
    fn an_element_says_its_types() {
        let observation = facts().lookup("Observation").unwrap();
        assert_eq!(types(observation, "code").as_deref(), Some("CodeableConcept"));
        assert_eq!(
            types(observation, "value").as_deref(),
            Some("Quantity | CodeableConcept and 9 more")
        );
        assert_eq!(types(observation, "nothing"), None);
        assert_eq!(named(observation, "component"), None);
    }
}
