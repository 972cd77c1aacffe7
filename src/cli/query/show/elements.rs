//! Columns for the elements of a resource type. Each column is a FHIRPath expression that gives one value for people
//! to read. Elements with elements of their own, such as `Observation.component`, are counted, and their elements have
//! columns.

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

/// Elements inside others that get no column.
const LEFT_OUT_INSIDE: [&str; 3] = ["id", "extension", "modifierExtension"];

/// A column of `describe`.
pub(super) struct Shown {
    /// The path of the element, such as `code` or `component.code`.
    pub(super) path: String,
    /// The names of the types that the element may have.
    pub(super) types: String,
    pub(super) column: TypedColumn,
    /// Whether the column has the number of items, because one text cannot represent an item.
    pub(super) counts: bool,
}

/// An element and its path from the resource.
struct Place {
    path: String,
    element: &'static Element,
    /// Whether a resource may have several items at this path.
    is_list: bool,
}

impl Place {
    fn of_type(element: &'static Element) -> Place {
        Place {
            path: element.name.to_owned(),
            element,
            is_list: element.many,
        }
    }

    fn inside(&self, element: &'static Element) -> Place {
        Place {
            path: format!("{}.{}", self.path, element.name),
            element,
            is_list: self.is_list || element.many,
        }
    }

    /// Finds the element at a path such as `component.code`. `None` if the text is no such path.
    fn find(type_id: TypeId, path: &str) -> Option<Place> {
        let named = |type_id: TypeId, name: &str| {
            let elements = &facts().get(type_id).elements;
            elements.iter().find(|element| element.name == name)
        };
        match path.rsplit_once('.') {
            None => named(type_id, path).map(Place::of_type),
            Some((outer, name)) => {
                let outer = Place::find(type_id, outer)?;
                named(outer.type_id()?, name).map(|element| outer.inside(element))
            }
        }
    }

    /// Returns the type of the element. `None` for a choice.
    fn type_id(&self) -> Option<TypeId> {
        let types = &self.element.types;
        types.first().copied().filter(|_| !self.element.choice)
    }

    fn is_primitive(&self) -> bool {
        self.type_id()
            .is_some_and(|type_id| matches!(facts().get(type_id).kind, Kind::Primitive(_)))
    }

    /// Returns the elements of this element, without those of `LEFT_OUT_INSIDE`.
    fn parts(&self) -> Vec<Place> {
        let Some(def) = self.type_id().map(|type_id| facts().get(type_id)) else {
            return Vec::new();
        };
        if !matches!(def.kind, Kind::Backbone | Kind::Complex) {
            return Vec::new();
        }
        let elements = def.elements.iter();
        let elements = elements.filter(|element| !LEFT_OUT_INSIDE.contains(&element.name));
        elements.map(|element| self.inside(element)).collect()
    }

    /// Returns a column with the element's value. If a resource may have several, the column has the first one. `None`
    /// if one text cannot represent a value of the element.
    fn column(&self) -> Option<TypedColumn> {
        let first = |items: &str| {
            if self.is_list {
                format!("{items}.first()")
            } else {
                items.to_owned()
            }
        };
        let path = if self.element.choice {
            let of_type = |type_id: &TypeId| {
                let items = format!("{}.ofType({})", self.path, facts().get(*type_id).name);
                let text = match facts().get(*type_id).kind {
                    Kind::Primitive(_) => format!("{}.toString()", first(&items)),
                    _ => text(&first(&items), *type_id)?,
                };
                Some((items, text))
            };
            let texts: Vec<(String, String)> = self.element.types.iter().filter_map(of_type).collect();
            let mut path = String::from("{}");
            for (items, text) in texts.into_iter().rev() {
                path = format!("iif({items}.exists(), {text}, {path})");
            }
            path
        } else {
            text(&first(&self.path), self.type_id()?)?
        };
        (path != "{}").then(|| TypedColumn {
            name: self.column_name(),
            path,
        })
    }

    /// Returns the column's name. A dot cannot be in it.
    fn column_name(&self) -> String {
        self.path.replace('.', "_")
    }

    /// Returns the column that describes the element: its value or, if one text cannot represent it, the number of its
    /// items.
    fn shown(&self) -> Shown {
        let column = self.column();
        Shown {
            types: types(self.element),
            counts: column.is_none(),
            column: column.unwrap_or_else(|| TypedColumn {
                name: self.column_name(),
                path: format!("{}.count()", self.path),
            }),
            path: self.path.clone(),
        }
    }
}

/// Returns the elements of a resource type: `id` first, then the others in R4's order. Skips those of `LEFT_OUT`.
fn elements(type_id: TypeId) -> impl Iterator<Item = Place> {
    let mut elements: Vec<&'static Element> = facts().get(type_id).elements.iter().collect();
    elements.sort_by_key(|element| (element.name != "id", element.ordinal));
    let shown = elements.into_iter().filter(|element| !LEFT_OUT.contains(&element.name));
    shown.map(Place::of_type)
}

/// Returns the columns of a resource type, in the order of [`elements`]. Skips elements whose values one text cannot
/// represent.
pub(super) fn columns(type_id: TypeId) -> Vec<TypedColumn> {
    elements(type_id).filter_map(|place| place.column()).collect()
}

/// Returns the elements that [`columns`] skips, because an item has elements of its own. Their columns count items.
pub(super) fn skipped(type_id: TypeId) -> Vec<Shown> {
    elements(type_id)
        .map(|place| place.shown())
        .filter(|shown| shown.counts)
        .collect()
}

/// Returns the columns that describe a resource type. The elements of a skipped element follow it, one level deep.
pub(super) fn described(type_id: TypeId) -> Vec<Shown> {
    let with_parts = |place: Place| {
        let shown = place.shown();
        let parts = if shown.counts { place.parts() } else { Vec::new() };
        std::iter::once(shown).chain(parts.into_iter().map(|part| part.shown()))
    };
    elements(type_id).flat_map(with_parts).collect()
}

/// Returns the column for the element at this path, such as `name` or `component.code`. `None` if there is no such
/// element, or if one text cannot represent a value of it. Also `None` for a primitive element inside another one,
/// because the path itself is then an expression for all its values.
pub(super) fn named(type_id: TypeId, path: &str) -> Option<TypedColumn> {
    let place = Place::find(type_id, path)?;
    if path.contains('.') && place.is_primitive() {
        return None;
    }
    place.column()
}

/// Returns the paths inside the element at this path that a column can show. Empty if there is no such element.
pub(super) fn inside(type_id: TypeId, path: &str) -> Vec<String> {
    let parts = Place::find(type_id, path)
        .map(|place| place.parts())
        .unwrap_or_default();
    let shown = parts.into_iter().filter(|part| part.column().is_some());
    shown.map(|part| part.path).collect()
}

/// Returns the names of the types that an element may have, as R4 writes them. If there are more than three, the text
/// has the first two and the number of the others.
fn types(element: &Element) -> String {
    let name = |type_id: &TypeId| {
        let def = facts().get(*type_id);
        match (def.kind, def.base) {
            (Kind::Backbone, Some(base)) => facts().get(base).name,
            _ => def.name,
        }
    };
    let names: Vec<&str> = element.types.iter().map(name).collect();
    match names.len() {
        0..=3 => names.join(" | "),
        more => format!("{} | {} and {} more", names[0], names[1], more - 2),
    }
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
            let name = facts().get(type_id).name;
            assert_eq!(columns(type_id)[0].name, "id");
            let columns: Vec<TypedColumn> = described(type_id).into_iter().map(|shown| shown.column).collect();
            let view = inline::view(name, &columns, "--column", None, None, true);
            let view = view.unwrap_or_else(|failure| panic!("{name}: {}", failure.to_text()));
            let list = view.columns().iter().find(|column| column.collection);
            assert!(list.is_none(), "{name}: {list:?} is a list");
            let names: Vec<&str> = view.columns().iter().map(|column| column.name.as_str()).collect();
            let expected: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            assert_eq!(names, expected, "{name}: two columns have one name");
            shown += 1;
        }
        assert!(shown > 140, "{shown}");
    }

    #[test]
    fn an_element_says_its_types() {
        let observation = facts().lookup("Observation").unwrap();
        let described = described(observation);
        let of = |path: &str| {
            let found = described.iter().find(|shown| shown.path == path);
            found.map(|shown| (shown.types.as_str(), shown.counts))
        };
        assert_eq!(of("code"), Some(("CodeableConcept", false)));
        assert_eq!(of("value"), Some(("Quantity | CodeableConcept and 9 more", false)));
        assert_eq!(of("component"), Some(("BackboneElement", true)));
        assert_eq!(of("component.code"), Some(("CodeableConcept", false)));
        assert_eq!(of("component.referenceRange"), Some(("BackboneElement", true)));
        assert_eq!(of("nothing"), None);
    }

    #[test]
    fn elements_of_elements_have_columns() {
        let observation = facts().lookup("Observation").unwrap();
        assert_eq!(named(observation, "component"), None);
        let skipped = skipped(observation);
        let skipped: Vec<&str> = skipped.iter().map(|shown| shown.path.as_str()).collect();
        assert_eq!(skipped, ["referenceRange", "component"]);
        let code = named(observation, "component.code").unwrap();
        assert!(code.name == "component_code" && code.path.starts_with("component.code.first()."));
        assert_eq!(
            inside(observation, "component"),
            [
                "component.code",
                "component.value",
                "component.dataAbsentReason",
                "component.interpretation"
            ]
        );
        // FHIRPath gives all values of these.
        assert_eq!(named(observation, "code.text"), None);
        assert_eq!(named(observation, "component.nothing"), None);
        assert_eq!(inside(observation, "code.text.nothing"), [""; 0]);
    }
}
