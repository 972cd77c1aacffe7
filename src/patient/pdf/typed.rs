//! Finds the R4 types of the values in a resource.

use crate::columns::json::Value;
use crate::fhir::{TypeId, facts};

/// Returns the type of the property `name` in a value of type `type_id`. `None` if R4 does not define it.
pub(super) fn child(type_id: Option<TypeId>, name: &str) -> Option<TypeId> {
    Some(facts().child(type_id?, name.trim_start_matches('_'))?.type_id)
}

/// Returns the type of a value. A contained resource has the type that its `resourceType` states.
pub(super) fn concrete(type_id: TypeId, value: Value<'_>) -> Option<TypeId> {
    match facts().get(type_id).name {
        "Resource" => facts().lookup(&value.get_str("resourceType")?),
        _ => Some(type_id),
    }
}

/// Calls `visit` for each value of the type `wanted` inside a value, at any depth. If the value answers a question of a
/// questionnaire, `visit` also gets the text of the question.
pub(super) fn each<'t>(
    value: Value<'t>,
    type_id: TypeId,
    wanted: TypeId,
    question: Option<Value<'t>>,
    visit: &mut impl FnMut(Value<'t>, Option<Value<'t>>),
) {
    if value.is_array() {
        value
            .items()
            .for_each(|item| each(item, type_id, wanted, question, visit));
        return;
    }
    let Some(type_id) = concrete(type_id, value).filter(|_| value.is_object()) else {
        return;
    };
    if type_id == wanted {
        visit(value, question);
        return;
    }
    let own = match facts().get(type_id).name {
        "QuestionnaireResponse.item" => value.get("text"),
        _ => None,
    };
    for (key, inner) in value.entries() {
        if let Some(child) = child(Some(type_id), &key.name()) {
            each(inner, child, wanted, own.or(question), visit);
        }
    }
}
