//! Decides whether a JSON value counts as present, without making columns for it. A primitive counts if it has the JSON
//! kind of its R4 type. A contained resource counts if it is an object. An array counts if one of its items counts. Any
//! other object counts if R4 defines one of its properties and the value of this property counts.

use super::integer::integer;
use crate::columns::json::{Tape, Value};
use crate::columns::shape::{Shape, Slot, SlotKind};

/// Whether the object `text` has a property that `shape` defines and whose value counts as present.
#[cold]
pub(super) fn of_text(shape: &'static Shape, text: &str, tape: &mut Tape) -> bool {
    // The text is valid, because it is part of a text that was parsed before.
    tape.parse(text.as_bytes()).is_ok_and(|value| of_object(shape, value))
}

/// Whether `value` counts as present in a property that has this slot.
pub(super) fn of_slot(slot: &'static Slot, value: Value<'_>) -> bool {
    if slot.many {
        value.items().any(|item| of_item(slot, item))
    } else {
        of_item(slot, value)
    }
}

fn of_item(slot: &'static Slot, value: Value<'_>) -> bool {
    match slot.part {
        SlotKind::Struct => of_object(Shape::of(slot.type_id), value),
        SlotKind::Json => value.is_object(),
        SlotKind::Boolean => value.as_bool().is_some(),
        SlotKind::Integer => value.number().and_then(integer).is_some(),
        SlotKind::Decimal => value.number().is_some(),
        SlotKind::Text | SlotKind::DateTime | SlotKind::Time | SlotKind::Reference => value.is_string(),
    }
}

fn of_object(shape: &'static Shape, value: Value<'_>) -> bool {
    value.entries().any(|(key, value)| {
        let slot = shape.find(&key.name());
        slot.is_some_and(|slot| of_slot(&shape.slots()[usize::from(slot)], value))
    })
}
