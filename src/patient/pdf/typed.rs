//! The R4 types of the values in a resource.

use crate::columns::json::Value;
use crate::fhir::{TypeId, facts};

/// The type of the property `name` in a value of type `ty`. `None` if R4 does not define it.
pub(super) fn child(ty: Option<TypeId>, name: &str) -> Option<TypeId> {
    Some(facts().child(ty?, name.trim_start_matches('_'))?.ty)
}

/// The type of a value. A resource inside of another has the type that it states.
pub(super) fn concrete(ty: TypeId, value: Value<'_>) -> Option<TypeId> {
    match facts().get(ty).name {
        "Resource" => facts().lookup(&value.get_str("resourceType")?),
        _ => Some(ty),
    }
}

/// Calls `visit` for each value of the type `wanted` inside of a value, and with the question of a questionnaire that
/// it answers.
pub(super) fn each<'t>(
    value: Value<'t>,
    ty: TypeId,
    wanted: TypeId,
    question: Option<Value<'t>>,
    visit: &mut impl FnMut(Value<'t>, Option<Value<'t>>),
) {
    if value.is_array() {
        value.items().for_each(|item| each(item, ty, wanted, question, visit));
        return;
    }
    let Some(ty) = concrete(ty, value).filter(|_| value.is_object()) else {
        return;
    };
    if ty == wanted {
        visit(value, question);
        return;
    }
    let own = match facts().get(ty).name {
        "QuestionnaireResponse.item" => value.get("text"),
        _ => None,
    };
    for (key, inner) in value.entries() {
        if let Some(child) = child(Some(ty), &key.name()) {
            each(inner, child, wanted, own.or(question), visit);
        }
    }
}
