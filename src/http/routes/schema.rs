//! Schemas of bodies: JSON Schema in OpenAPI 3.1. The document has each named schema once, among its components. So
//! generated clients have a type of that name.

use serde_json::{Map, Value, json};

/// A type and its description.
pub(in crate::http) fn schema(schema_type: &str, description: &str) -> Value {
    json!({"type": schema_type, "description": description})
}

/// An object with these properties. Some of them are always present.
pub(in crate::http) fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

/// The same schema with a name. A name belongs to one schema only.
pub(in crate::http) fn named(name: &str, mut schema: Value) -> Value {
    schema[NAME] = name.into();
    schema
}

/// One of these texts.
pub(in crate::http) fn one_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Value {
    let texts: Vec<&str> = texts.into_iter().collect();
    json!({"type": "string", "enum": texts})
}

/// A list of these values.
pub(in crate::http) fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Such a value, or null.
pub(in crate::http) fn or_null(schema: &Value) -> Value {
    json!({"oneOf": [schema, {"type": "null"}]})
}

/// The schema that a reference within the document points to. Any other schema stays as it is.
pub(in crate::http) fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|target| document.pointer(target)).unwrap_or(schema)
}

/// The member that holds a schema's name.
const NAME: &str = "title";

/// Moves the named schemas out of a part of the document, and leaves references to them.
pub(super) fn take_named(value: &mut Value, taken: &mut Map<String, Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| take_named(item, taken)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| take_named(member, taken));
            // A property may have the same name as the marker. Its value is then a schema, not a text.
            if let Some(Value::String(name)) = members.get(NAME).cloned() {
                members.remove(NAME);
                let schema = std::mem::replace(value, json!({"$ref": format!("#/components/schemas/{name}")}));
                let before = taken.insert(name.clone(), schema.clone());
                debug_assert!(before.is_none_or(|before| before == schema), "two schemas {name}");
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_schemas_stand_once_and_are_referred_to() {
        let user = || named("User", object(&["id"], json!({"id": {"type": "string"}})));
        let mut paths = json!({
            "/a": named("Both", object(&[], json!({"title": {"type": "string"}, "one": user(), "many": list(&user())}))),
            "/b": or_null(&user()),
        });
        let mut taken = Map::new();
        take_named(&mut paths, &mut taken);
        let user = json!({"$ref": "#/components/schemas/User"});
        assert_eq!(
            paths,
            json!({"/a": {"$ref": "#/components/schemas/Both"}, "/b": {"oneOf": [user, {"type": "null"}]}})
        );
        let names: Vec<&String> = taken.keys().collect();
        assert_eq!(names, ["Both", "User"]);
        let both = &taken["Both"]["properties"];
        assert_eq!((&both["one"], &both["many"]["items"]), (&user, &user));
        assert_eq!(both["title"], json!({"type": "string"}));
        let document = json!({"components": {"schemas": taken}});
        assert_eq!(resolved(&document, &user)["required"], json!(["id"]));
    }
}
