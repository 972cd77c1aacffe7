//! Evaluates `is`, `as` and `ofType` in cases in which the compiler cannot know the result.

use arrow::array::{Array, AsArray};

use crate::fhir::facts;
use crate::fhir::reference::Reference;
use crate::fhir::storage::REFERENCE_TYPE;
use crate::fhirpath::compile::types::{ItemType, System, TypeTest};
use crate::fhirpath::error::Position;
use crate::fhirpath::evaluate::interpreter::Frame;
use crate::fhirpath::evaluate::opening::told_apart;
use crate::fhirpath::values::collection::{Body, Collection, Offsets};
use crate::fhirpath::values::columns::Values;
use crate::fhirpath::values::items::Items;
use crate::fhirpath::values::truth::Truth;

/// Returns the items that pass a type test of `as` or `ofType`.
pub(in crate::fhirpath) fn of_type(on: &Collection, test: &TypeTest) -> Collection {
    let on = &told_apart(on);
    if let Body::One(items) = &on.body
        && test.selects(items.item_type())
    {
        return on.clone();
    }
    let mut offsets = Vec::with_capacity(on.rows() + 1);
    let mut places = Vec::new();
    offsets.push(0);
    for row in 0..on.rows() {
        places.extend(
            on.range(row)
                .filter(|item| {
                    let item_type = on.item(*item).0.item_type();
                    test.selects(item_type) || !item_type.is_primitive() && passes(on, *item, test)
                })
                .map(|item| item as u32),
        );
        offsets.push(places.len() as i32);
    }
    on.take(Offsets::list(offsets), places)
}

/// Returns for each row whether its single item passes a type test of `is`. Unknown for an empty row. A row with
/// several items fails.
pub(in crate::fhirpath) fn is(frame: &Frame<'_>, on: &Collection, test: &TypeTest, at: Position) -> Truth {
    if let (Body::One(items), Offsets::Each(_)) = (&on.body, on.offsets())
        && items.item_type() == ItemType::System(System::Target)
    {
        return targets(items, test);
    }
    let on = &told_apart(on);
    Truth::collect(on.rows(), |row| {
        let range = on.range(row);
        match range.len() {
            0 => None,
            1 => Some(passes(on, range.start, test)),
            count => {
                frame.not_single(row, count, "is", at);
                None
            }
        }
    })
}

/// Evaluates `is` for the usual expression `resolve() is Patient`, with one comparison per reference.
fn targets(items: &Items, test: &TypeTest) -> Truth {
    let values = arrow::buffer::BooleanBuffer::collect_bool(items.len(), |item| {
        target_type(items, item).is_some_and(|name| accepts_named(test, name))
    });
    Truth::known(values)
}

pub(in crate::fhirpath) fn accepts_named(test: &TypeTest, name: &str) -> bool {
    let Some(wanted) = test.fhir else { return false };
    facts().get(wanted).name == name
        || facts()
            .lookup(name)
            .is_some_and(|type_id| facts().is_a(type_id, wanted))
}

fn passes(on: &Collection, item: usize, test: &TypeTest) -> bool {
    let (items, item) = on.item(item);
    if items.item_type() == ItemType::System(System::Target) {
        return target_type(items, item).is_some_and(|name| accepts_named(test, name));
    }
    test.accepts(items.item_type())
}

/// Returns the type of a reference's target, from the text of the reference. If the text states no type, returns the
/// element `type` of the reference.
pub(in crate::fhirpath) fn target_type(items: &Items, item: usize) -> Option<&str> {
    let Values::Struct(array) = items.values() else {
        return None;
    };
    let slot = items.slot(item);
    let text = |name: &str| {
        let column = array.column_by_name(name)?.as_string_opt::<i32>()?;
        column.is_valid(slot).then(|| column.value(slot))
    };
    text(REFERENCE_TYPE)
        .or_else(|| match Reference::parse(text("reference")?) {
            Reference::Relative(target) | Reference::Absolute { target, .. } => Some(target.type_name()),
            Reference::Conditional { type_id, .. } => Some(facts().get(type_id).name),
            _ => None,
        })
        .or_else(|| text("type"))
}
