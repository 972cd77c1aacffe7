//! Builds the schemas of bodies (JSON Schema in OpenAPI 3.1). Each named schema is in the document once, as a
//! component, so that generated clients have a type with this name.

use serde_json::{Map, Value, json};

/// Returns a schema with a type and a description.
pub(in crate::http) fn schema(schema_type: &str, description: &str) -> Value {
    json!({"type": schema_type, "description": description})
}

/// Returns the schema of an object with these properties. Those in `required` are always present.
pub(in crate::http) fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

/// Gives the schema a name. Two different schemas must not have the same name.
pub(in crate::http) fn named(name: &str, mut schema: Value) -> Value {
    schema[NAME] = name.into();
    schema
}

/// Returns the schema of a string that has one of these values.
pub(in crate::http) fn one_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Value {
    let texts: Vec<&str> = texts.into_iter().collect();
    json!({"type": "string", "enum": texts})
}

/// Returns the schema of an array whose items have this schema.
pub(in crate::http) fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Returns the schema of a value that has this schema or is null.
pub(in crate::http) fn or_null(schema: &Value) -> Value {
    json!({"oneOf": [schema, {"type": "null"}]})
}

/// Follows a `$ref` within the document. Returns any other schema unchanged.
pub(in crate::http) fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|target| document.pointer(target)).unwrap_or(schema)
}

/// The member of a schema that holds the schema's name.
const NAME: &str = "title";

/// Moves the named schemas from a part of the document to `taken`. Puts a `$ref` in the place of each.
pub(super) fn take_named(value: &mut Value, taken: &mut Map<String, Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| take_named(item, taken)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| take_named(member, taken));
            // Only a string is a schema's name. In `properties`, this member may be a property that is called `title`:
            // its value is then a schema.
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
