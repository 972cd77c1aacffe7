//! Steps from items to their children: finds the columns of a child in the struct or batch of the items, and composes
//! indexes. If the batch lacks a column, no item has that element.
//!
//! Three properties of the Arrow data matter here. The offsets of a sliced list need not begin at 0. The offsets of a
//! null list may enclose values, which do not belong to any row. `_x` is the column with the ids and extensions of a
//! primitive `x`: if an item of `x` is null but its slot of `_x` is not, the item exists.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, NullArray, RecordBatch, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};

use super::super::compile::types::{ItemType, System};
use super::super::values::collection::{Collection, Offsets};
use super::super::values::columns::{Values, boolean_array, bound_array, integer_array, number_array, text_array};
use super::super::values::items::{Column, Index, Items};
use super::lineage::{Above, Way};
use super::opening::Openings;
use crate::fhir::storage::{self, END, LIST_ITEM, NUMBER, REFERENCE_ID, REFERENCE_TYPE, START, Storage};
use crate::fhir::{Element, Kind, TypeId, facts};

/// A column that holds the values of an element as one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fhirpath) struct Branch {
    /// The column's name below its parent: `valueQuantity` for `value` as a Quantity.
    pub(in crate::fhirpath) column: String,
    pub(in crate::fhirpath) type_id: TypeId,
    pub(in crate::fhirpath) storage: Storage,
    pub(in crate::fhirpath) many: bool,
}

/// Returns the columns of an element. A choice has one column for each type.
pub(in crate::fhirpath) fn branches(element: &Element) -> Vec<Branch> {
    let branch = |type_id: &TypeId| {
        let def = facts().get(*type_id);
        Branch {
            column: column_name(element, def.name),
            type_id: *type_id,
            storage: Storage::of(def),
            many: element.many,
        }
    };
    element.types.iter().map(branch).collect()
}

/// Returns the columns that a name means in a type. If the type has an element with this FHIRPath name, these are the
/// columns of the element. Otherwise, if `json` is set and the name is the JSON name of a choice (`valueQuantity`),
/// this is the choice's column with this name. In all other cases, the result is empty.
pub(in crate::fhirpath) fn named(type_id: TypeId, name: &str, json: bool) -> Vec<Branch> {
    if let Some(element) = facts().element(type_id, name) {
        return branches(element);
    }
    let choice = facts()
        .child(type_id, name)
        .filter(|child| json && child.element.choice);
    let mut found = choice.map(|child| branches(child.element)).unwrap_or_default();
    found.retain(|branch| branch.column == name);
    found
}

fn has_child(type_id: TypeId, name: &str) -> bool {
    facts().child(type_id, name).is_some() || facts().element(type_id, name).is_some()
}

fn column_name(element: &Element, type_name: &str) -> String {
    if !element.choice {
        return element.name.to_string();
    }
    let mut name = element.name.to_string();
    let mut letters = type_name.chars();
    name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
    name.push_str(letters.as_str());
    name
}

impl Items {
    /// Returns the children with this name. The collection has one row for each item. The name is FHIRPath's (`value`
    /// means a choice of any type), JSON's (`valueQuantity`) or that of a companion of a reference (`reference__type`,
    /// `reference__id`).
    pub fn child(&self, name: &str) -> Collection {
        if self.is_json() {
            let opened = self.opened(&|type_id| has_child(type_id, name));
            return super::combine::flat_map(&opened, |items| {
                if items.is_json() {
                    Collection::empty(items.len)
                } else {
                    items.child(name)
                }
            });
        }
        let Some(type_id) = self.item_type.fhir() else {
            return Collection::empty(self.len);
        };
        if let REFERENCE_TYPE | REFERENCE_ID = name {
            return self.text_child(name).unwrap_or_else(|| Collection::empty(self.len));
        }
        if let Some(child) = facts().child(type_id, name) {
            let def = facts().get(child.type_id);
            let storage = Storage::of(def);
            let branch = Branch {
                column: name.to_string(),
                type_id: child.type_id,
                storage,
                many: child.element.many,
            };
            return self.step(std::slice::from_ref(&branch));
        }
        match facts().element(type_id, name) {
            Some(element) => self.step(&branches(element)),
            None => Collection::empty(self.len),
        }
    }

    /// Returns the children in these columns. The collection has one row for each item. In valid data, an item has a
    /// value in only one column of a choice. If an item has values in several columns, these follow the order of
    /// `branches`.
    pub(in crate::fhirpath) fn step(&self, branches: &[Branch]) -> Collection {
        if let (Some(element), Some(type_id)) = (&self.column.element, facts().lookup("Element")) {
            // The items are primitives, whose children are their id and extensions.
            let elements = self.singular(ItemType::Fhir(type_id), Values::Struct(element.clone()), None);
            return super::combine::flat_map(&elements, |elements| elements.step(branches));
        }
        let mut found: Vec<Collection> = branches.iter().filter_map(|branch| self.branch(branch)).collect();
        match found.len() {
            0 => Collection::empty(self.len),
            1 => found.swap_remove(0),
            _ => super::combine::side_by_side(&found),
        }
    }

    /// Returns an upper bound for the number of children that [`Items::step`] finds, which the caller compares with its
    /// limit. Returns 0 if there are at most as many items as slots in their column. Then the size of the batch limits
    /// the number, and the caller need not.
    pub(in crate::fhirpath) fn child_count(&self, branches: &[Branch]) -> usize {
        let Some(parent) = Parent::of(&self.column.values) else {
            return 0;
        };
        if self.len <= parent.len() {
            return 0;
        }
        let lists = branches.iter().filter_map(|branch| parent.column(&branch.column));
        lists
            .map(|array| match array.as_list_opt::<i32>() {
                Some(list) => (0..self.len)
                    .map(|item| list.value_length(self.slot(item)) as usize)
                    .sum(),
                None => self.len,
            })
            .sum()
    }

    /// Returns the text that each item has in the column with this name. The column need not be an element: it may be
    /// `id` or a companion. `None` if the batch lacks the column.
    pub(in crate::fhirpath) fn text_child(&self, column: &str) -> Option<Collection> {
        let values = Values::Text(text_array(&self.column(column)?)?);
        Some(self.singular(ItemType::System(System::String), values, None))
    }

    fn branch(&self, branch: &Branch) -> Option<Collection> {
        let parent = Parent::of(&self.column.values)?;
        let columns = Columns::find(&parent, branch)?;
        let item_type = ItemType::Fhir(branch.type_id);
        match columns.list {
            None => Some(self.singular(item_type, columns.values, columns.element)),
            Some(list) => Some(self.repeating(item_type, &list, columns.values, columns.element)),
        }
    }

    fn column(&self, name: &str) -> Option<ArrayRef> {
        Parent::of(&self.column.values)?.column(name)
    }

    /// Returns a column with a link to the items' column, which contains it. `way` says how to get from its slots to
    /// the slots of the containing column.
    fn below(&self, values: Values, element: Option<StructArray>, way: Way) -> Arc<Column> {
        Arc::new(Column {
            values,
            element,
            above: Some(Above::new(self.column.clone(), way)),
            openings: Openings::default(),
        })
    }

    /// Returns the children in a column that is not a list, so each slot has at most one child.
    fn singular(&self, item_type: ItemType, values: Values, element: Option<StructArray>) -> Collection {
        let present = present(&values, element.as_ref());
        let items = Items {
            item_type,
            len: self.len,
            index: self.index.clone(),
            column: self.below(values, element, Way::Same),
        };
        let Some(present) = present else {
            return Collection::each(items);
        };
        if present.null_count() == present.len() {
            return Collection::empty(self.len);
        }
        let bits = present.inner();
        let mut offsets = Vec::with_capacity(self.len + 1);
        let mut slots: Vec<u32> = Vec::with_capacity(self.len);
        offsets.push(0i32);
        let mut keep = |slot: u32| {
            if bits.value(slot as usize) {
                slots.push(slot);
            }
            offsets.push(slots.len() as i32);
        };
        match &self.index {
            Index::Identity => (0..self.len as u32).for_each(&mut keep),
            Index::Gather(indices) => indices.iter().for_each(|slot| keep(*slot)),
            Index::Constant(slot) => (0..self.len).for_each(|_| keep(*slot)),
        }
        if slots.len() == self.len {
            return Collection::each(items);
        }
        let items = Items {
            len: slots.len(),
            index: Index::Gather(slots.into()),
            ..items
        };
        Collection::new(Offsets::list(offsets), items)
    }

    /// Returns the children in a list column. `values` and `element` hold the items of all lists.
    fn repeating(
        &self,
        item_type: ItemType,
        list: &ListArray,
        values: Values,
        element: Option<StructArray>,
    ) -> Collection {
        let bounds = list.value_offsets();
        let way = Way::List(list.offsets().clone());
        let present = present(&values, element.as_ref());
        let whole = matches!(self.index, Index::Identity) && present.is_none() && nulls_span_nothing(list);
        if whole {
            let (first, last) = (bounds[0], bounds[self.len]);
            let items = Items {
                item_type,
                len: values.len(),
                index: Index::Identity,
                column: self.below(values, element, way),
            };
            let offsets = match first {
                0 => Offsets::List(list.offsets().slice(0, self.len)),
                _ => Offsets::list(bounds.iter().map(|bound| bound - first).collect()),
            };
            return Collection::new(offsets, items.slice(first as usize, (last - first) as usize));
        }
        let lists = list.nulls().filter(|nulls| nulls.null_count() > 0);
        let mut offsets = Vec::with_capacity(self.len + 1);
        let mut slots: Vec<u32> = Vec::with_capacity(self.len);
        offsets.push(0i32);
        for item in 0..self.len {
            let slot = self.slot(item);
            if lists.is_none_or(|lists| lists.is_valid(slot)) {
                let range = bounds[slot] as u32..bounds[slot + 1] as u32;
                match &present {
                    None => slots.extend(range),
                    Some(present) => slots.extend(range.filter(|slot| present.is_valid(*slot as usize))),
                }
            }
            offsets.push(slots.len() as i32);
        }
        let items = Items {
            item_type,
            len: slots.len(),
            index: Index::Gather(slots.into()),
            column: self.below(values, element, way),
        };
        Collection::new(Offsets::list(offsets), items)
    }
}

/// Whether all null lists are empty according to their offsets. Then the offsets alone determine the items.
fn nulls_span_nothing(list: &ListArray) -> bool {
    let bounds = list.value_offsets();
    match list.nulls() {
        Some(nulls) if nulls.null_count() > 0 => {
            (0..list.len()).all(|row| nulls.is_valid(row) || bounds[row] == bounds[row + 1])
        }
        _ => true,
    }
}

/// Returns which slots hold an element. An element has a value, or it has only an id or extensions. `None` means that
/// all slots hold one.
fn present(values: &Values, element: Option<&StructArray>) -> Option<NullBuffer> {
    if values.null_count() == 0 {
        return None;
    }
    let nulls = match values {
        Values::Text(array) | Values::Json(array) => array.nulls().cloned(),
        Values::Boolean(array) => array.nulls().cloned(),
        Values::Integer(array) => array.nulls().cloned(),
        Values::Decimal { text, number } => match text {
            Some(text) => text.nulls().cloned(),
            None => number.as_ref().and_then(|number| number.nulls().cloned()),
        },
        Values::Temporal { text, start, end } => match (text, start.as_ref().or(end.as_ref())) {
            (Some(text), _) => text.nulls().cloned(),
            (None, bound) => bound.and_then(|bound| bound.nulls().cloned()),
        },
        Values::Quantity { value, .. } => value.nulls().cloned(),
        Values::Struct(array) => array.nulls().cloned(),
        Values::Record(_) => None,
    }?;
    match element {
        None => Some(nulls),
        Some(element) => {
            let either = nulls.inner() | element.nulls()?.inner();
            let either = NullBuffer::new(either);
            (either.null_count() > 0).then_some(either)
        }
    }
}

/// The struct or the batch whose columns hold the children.
enum Parent<'a> {
    Struct(&'a StructArray),
    Record(&'a RecordBatch),
}

impl<'a> Parent<'a> {
    fn of(values: &'a Values) -> Option<Parent<'a>> {
        match values {
            Values::Struct(array) => Some(Parent::Struct(array)),
            Values::Record(batch) => Some(Parent::Record(batch)),
            _ => None,
        }
    }

    fn column(&self, name: &str) -> Option<ArrayRef> {
        match self {
            Parent::Struct(array) => array.column_by_name(name).cloned(),
            Parent::Record(batch) => batch.column_by_name(&storage::root_column(name)).cloned(),
        }
    }

    /// Returns the companion column with this name, such as `_version`. Elements with the name of a system column are
    /// renamed at the root (`version` to `version__element`), but their companions are not.
    fn companion(&self, name: &str) -> Option<ArrayRef> {
        match self {
            Parent::Struct(array) => array.column_by_name(name).cloned(),
            Parent::Record(batch) => batch.column_by_name(name).cloned(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Parent::Struct(array) => array.len(),
            Parent::Record(batch) => batch.num_rows(),
        }
    }
}

/// The columns of an element. If `list` is `Some`, `values` and `element` hold the items of the lists.
struct Columns {
    list: Option<ListArray>,
    values: Values,
    element: Option<StructArray>,
}

impl Columns {
    fn find(parent: &Parent<'_>, branch: &Branch) -> Option<Columns> {
        let name = &branch.column;
        let main = parent.column(name);
        let primitive = matches!(facts().get(branch.type_id).kind, Kind::Primitive(_));
        let companion = |suffix: &str| match branch.storage {
            Storage::Decimal | Storage::DateTime | Storage::Time => parent.companion(&format!("{name}{suffix}")),
            _ => None,
        };
        let extra = [companion(NUMBER), companion(START), companion(END)];
        let element = if primitive {
            parent.companion(&format!("_{name}"))
        } else {
            None
        };
        let list = [&main, &element]
            .into_iter()
            .chain(&extra)
            .flatten()
            .find_map(|array| array.as_list_opt::<i32>());
        let element_list = element.as_ref().and_then(|array| array.as_list_opt::<i32>());
        let list = list.map(|list| match element_list {
            Some(elements) => widened(list, elements).unwrap_or_else(|| list.clone()),
            None => list.clone(),
        });
        let inner = |array: Option<ArrayRef>| -> Option<ArrayRef> {
            let array = array?;
            match array.data_type() {
                DataType::List(_) => Some(aligned(array.as_list::<i32>(), list.as_ref()?)),
                _ => Some(array),
            }
        };
        let element = inner(element).and_then(|array| array.as_struct_opt().cloned());
        let (main, [number, start, end]) = (inner(main), extra.map(inner));
        let slots = list.as_ref().map_or(parent.len(), |list| list.values().len());
        let values = values_of(
            branch.storage,
            main,
            number,
            start,
            end,
            element.is_some().then_some(slots),
        )?;
        Some(Columns { list, values, element })
    }
}

/// Returns the lists of an element with added items, for rows that have a list `_x` but no list `x`. The added items
/// have an id or extensions, but no value. The result gives only the lengths: its values are all null. `None` if there
/// is no such row.
fn widened(list: &ListArray, elements: &ListArray) -> Option<ListArray> {
    let (Some(absent), rows) = (list.nulls(), list.len()) else {
        return None;
    };
    let longer = |row: usize| absent.is_null(row) && elements.is_valid(row) && elements.value_length(row) > 0;
    if absent.null_count() == 0 || !(0..rows).any(longer) {
        return None;
    }
    let length = |row: usize| {
        if absent.is_valid(row) {
            list.value_length(row)
        } else if elements.is_valid(row) {
            elements.value_length(row)
        } else {
            0
        }
    };
    let offsets = OffsetBuffer::from_lengths((0..rows).map(|row| length(row) as usize));
    let slots = offsets.last().map_or(0, |end| *end as usize);
    let field = Field::new(LIST_ITEM, DataType::Null, true);
    ListArray::try_new(field.into(), offsets, Arc::new(NullArray::new(slots)), None).ok()
}

/// Returns the values of the companion list `array` in the order and at the offsets of the main list `with`. In each
/// row, both lists have the same number of items. Their offsets may differ, because each array may have been sliced or
/// gathered separately.
fn aligned(array: &ListArray, with: &ListArray) -> ArrayRef {
    let (own, wanted) = (array.value_offsets(), with.value_offsets());
    if own.first() == wanted.first() && own.last() == wanted.last() && array.values().len() == with.values().len() {
        return array.values().clone();
    }
    let mut indices: Vec<Option<u32>> = vec![None; with.values().len()];
    for row in (0..array.len().min(with.len())).filter(|row| array.is_valid(*row)) {
        let pairs = (wanted[row]..wanted[row + 1]).zip(own[row]..own[row + 1]);
        for (to, from) in pairs {
            indices[to as usize] = Some(from as u32);
        }
    }
    let indices = arrow::array::UInt32Array::from(indices);
    arrow::compute::take(array.values(), &indices, None).unwrap_or_else(|_| array.values().clone())
}

/// Returns the columns of an element as [`Values`]. `valueless` is `Some` if the column `_x` exists, and has its number
/// of slots. If the column of the values is missing then, the result has this number of nulls.
fn values_of(
    storage: Storage,
    main: Option<ArrayRef>,
    number: Option<ArrayRef>,
    start: Option<ArrayRef>,
    end: Option<ArrayRef>,
    valueless: Option<usize>,
) -> Option<Values> {
    let blank = |data_type: &DataType| valueless.map(|slots| arrow::array::new_null_array(data_type, slots));
    Some(match storage {
        Storage::Boolean => Values::Boolean(boolean_array(&main.or_else(|| blank(&DataType::Boolean))?)?),
        Storage::Integer => Values::Integer(integer_array(&main.or_else(|| blank(&DataType::Int32))?)?),
        Storage::Text => Values::Text(text_array(&main.or_else(|| blank(&DataType::Utf8))?)?),
        Storage::Json => Values::Json(text_array(&main?)?),
        Storage::Struct | Storage::Reference => Values::Struct(main?.as_struct_opt()?.clone()),
        Storage::Decimal => {
            let number = number.as_ref().and_then(number_array);
            // Every stored number has a text. So if there are numbers and all texts are null, the scan has not read the
            // texts. Ignore the texts then, because their nulls do not show which elements are present.
            let unread = |text: &ArrayRef| {
                let numbers = number.as_ref().map_or(0, |number| number.len() - number.null_count());
                numbers > 0 && text.null_count() == text.len()
            };
            let main = main.filter(|text| !unread(text));
            let main = if number.is_none() {
                main.or_else(|| blank(&DataType::Utf8))
            } else {
                main
            };
            let text = main.as_ref().and_then(text_array);
            if text.is_none() && number.is_none() {
                return None;
            }
            Values::Decimal { text, number }
        }
        Storage::DateTime | Storage::Time => {
            let (start, end) = (start.as_ref().and_then(bound_array), end.as_ref().and_then(bound_array));
            let bounded = start.is_some() || end.is_some();
            let main = if bounded {
                main
            } else {
                main.or_else(|| blank(&DataType::Utf8))
            };
            let text = main.as_ref().and_then(text_array);
            if text.is_none() && !bounded {
                return None;
            }
            Values::Temporal { text, start, end }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::StringArray;
    use arrow::datatypes::Fields;

    use super::*;

    fn texts(of: Vec<Option<&str>>) -> ArrayRef {
        Arc::new(StringArray::from(of))
    }

    fn list(offsets: Vec<i32>, values: ArrayRef, valid: Option<Vec<bool>>) -> ArrayRef {
        let field = Field::new("element", values.data_type().clone(), true);
        let offsets = OffsetBuffer::new(offsets.into());
        Arc::new(ListArray::new(
            field.into(),
            offsets,
            values,
            valid.map(NullBuffer::from),
        ))
    }

    fn structure(columns: Vec<(&str, ArrayRef)>, valid: Option<Vec<bool>>) -> ArrayRef {
        let fields: Fields = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
            .collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        Arc::new(StructArray::new(fields, arrays, valid.map(NullBuffer::from)))
    }

    fn patients(columns: Vec<(&str, ArrayRef)>) -> Items {
        let type_id = facts().lookup("Patient").unwrap();
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        Items::new(ItemType::Fhir(type_id), Values::Record(batch))
    }

    fn rows(collection: &Collection) -> Vec<Vec<Option<String>>> {
        let text = |item| {
            let (items, item) = collection.item(item);
            items.text(item).map(str::to_string)
        };
        (0..collection.rows())
            .map(|row| collection.range(row).map(text).collect())
            .collect()
    }

    fn given(items: &Items) -> Collection {
        super::super::combine::flat_map(&items.child("name"), |names| names.child("given"))
    }

    /// Returns the names of three patients. Their given names are [[a, b], []], none (a null list that spans a
    /// value), and [[c]].
    fn names() -> ArrayRef {
        let given = texts(vec![Some("a"), Some("b"), Some("x"), Some("c")]);
        let given = list(vec![0, 2, 2, 3, 4], given, Some(vec![true, false, true, true]));
        let names = structure(vec![("given", given)], None);
        list(vec![0, 2, 3, 4], names, Some(vec![true, false, true]))
    }

    fn own(texts: &[&[&str]]) -> Vec<Vec<Option<String>>> {
        texts
            .iter()
            .map(|row| row.iter().map(|text| Some((*text).to_string())).collect())
            .collect()
    }

    #[test]
    fn a_null_list_has_no_items_even_if_it_spans_some() {
        let found = given(&patients(vec![("name", names())]));
        assert_eq!(rows(&found), own(&[&["a", "b"], &[], &["c"]]));
    }

    #[test]
    fn sliced_columns_begin_elsewhere() {
        let sliced = names().slice(1, 2);
        assert_eq!(rows(&given(&patients(vec![("name", sliced)]))), own(&[&[], &["c"]]));
        let none = names().slice(0, 0);
        assert_eq!(given(&patients(vec![("name", none)])).rows(), 0);
    }

    #[test]
    fn a_valueless_element_is_there_and_an_absent_one_is_not() {
        let given = list(vec![0, 3], texts(vec![Some("a"), None, None]), None);
        let marks = structure(
            vec![("id", texts(vec![None, Some("i"), None]))],
            Some(vec![false, true, false]),
        );
        let names = structure(vec![("given", given), ("_given", list(vec![0, 3], marks, None))], None);
        let found = super::tests::given(&patients(vec![("name", list(vec![0, 1], names, None))]));
        assert_eq!(rows(&found), vec![vec![Some("a".to_string()), None]]);
        let ids = super::super::combine::flat_map(&found, |given| given.child("id"));
        assert_eq!(rows(&ids), own(&[&["i"]]));
    }

    /// A row with only `_given` must keep its items if another row of the batch has values in `given`.
    #[test]
    fn a_list_may_have_nothing_but_its_companions() {
        let given = list(vec![0, 1, 1], texts(vec![Some("a")]), Some(vec![true, false]));
        let marks = structure(vec![("id", texts(vec![Some("i"), Some("j")]))], None);
        let marks = list(vec![0, 0, 2], marks, Some(vec![false, true]));
        let names = list(
            vec![0, 1, 2],
            structure(vec![("given", given), ("_given", marks)], None),
            None,
        );
        let found = super::tests::given(&patients(vec![("name", names)]));
        assert_eq!(rows(&found), vec![vec![Some("a".to_string())], vec![None, None]]);
        let ids = super::super::combine::flat_map(&found, |given| given.child("id"));
        assert_eq!(rows(&ids.flat()), own(&[&["i"], &["j"]]));
    }

    #[test]
    fn an_element_may_have_nothing_but_its_companion() {
        let marks = structure(vec![("id", texts(vec![Some("i"), None]))], Some(vec![true, false]));
        let patients = patients(vec![("_birthDate", marks)]);
        assert_eq!(rows(&patients.child("birthDate")), vec![vec![None], vec![]]);
        assert!(patients.child("gender").is_empty());
    }

    #[test]
    fn a_choice_is_of_the_type_that_is_there() {
        let whether = Arc::new(arrow::array::BooleanArray::from(vec![Some(false), None, None])) as ArrayRef;
        let when = texts(vec![None, None, Some("2020-01-01")]);
        let found = patients(vec![("deceasedBoolean", whether), ("deceasedDateTime", when)]).child("deceased");
        let names: Vec<_> = (0..found.len())
            .map(|item| found.item(item).0.item_type().name())
            .collect();
        assert_eq!((names, found.range(1).len()), (vec!["boolean", "dateTime"], 0));
        assert_eq!(found.typed().len(), 2);
    }
}
