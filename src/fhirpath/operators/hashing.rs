//! Finds items by hash, so that set operations take linear time. Identical items have the same digest, and equivalent
//! items have the same class. Digests and classes only reduce the number of comparisons: `equality` decides whether two
//! items are identical or equivalent.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::ops::Range;
use std::sync::OnceLock;

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::{DataType, Int32Type};
use rustc_hash::FxHashMap;

use super::equality::{folded, id, items_equivalent, items_same};
use crate::fhir::temporal::Precision;
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::work::Work;
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::columns::Values;
use crate::fhirpath::values::items::Items;
use crate::fhirpath::values::scalar::Scalar;

/// If a row has at most so many items, set operations compare them one by one. In longer rows, they find items by hash.
pub(super) const SHORT: usize = 16;

/// Items of one row of a collection. No two of them are identical.
pub(super) struct Table<'c> {
    collection: &'c Collection,
    buckets: FxHashMap<u64, Vec<usize>>,
    /// The items without a digest. Each item that is looked up must be compared with all of them.
    elusive: Vec<usize>,
    items: usize,
    work: &'c Work,
}

impl<'c> Table<'c> {
    pub(super) fn new(collection: &'c Collection, work: &'c Work) -> Table<'c> {
        Table {
            collection,
            buckets: FxHashMap::default(),
            elusive: Vec::new(),
            items: 0,
            work,
        }
    }

    /// Adds an item of the collection, unless the table has an identical one. Returns whether it was added.
    pub(super) fn insert(&mut self, item: usize) -> Result<bool, FhirPathError> {
        let digest = digest_of(self.collection, item);
        if self.has(self.collection, item, digest)? {
            return Ok(false);
        }
        self.items += 1;
        match digest {
            Some(digest) => self.buckets.entry(digest).or_default().push(item),
            None => self.elusive.push(item),
        }
        Ok(true)
    }

    /// Whether the table has an item that is identical to this item of another collection.
    pub(super) fn holds(&self, of: &Collection, item: usize) -> Result<bool, FhirPathError> {
        self.has(of, item, digest_of(of, item))
    }

    fn has(&self, of: &Collection, item: usize, digest: Option<u64>) -> Result<bool, FhirPathError> {
        let (items, at) = of.item(item);
        let bucket = digest.and_then(|digest| self.buckets.get(&digest));
        let compared = match digest {
            Some(_) => bucket.map_or(0, Vec::len) + self.elusive.len(),
            None => self.items,
        };
        self.work.spend((4 + compared).saturating_mul(items.weight()))?;
        let is = |other: &usize| {
            let (others, other) = self.collection.item(*other);
            items_same(items, at, others, other)
        };
        let bucketed = match digest {
            Some(_) => bucket.is_some_and(|bucket| bucket.iter().any(is)),
            None => self.buckets.values().flatten().any(is),
        };
        Ok(bucketed || self.elusive.iter().any(is))
    }
}

fn digest_of(collection: &Collection, item: usize) -> Option<u64> {
    let (items, item) = collection.item(item);
    digest(items, item)
}

/// Returns a hasher. Each process has a random key, so nobody can prepare data that all fall into one bucket.
fn hasher() -> impl Hasher {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new).build_hasher()
}

/// Returns the digest of an item. Identical items have the same digest. `None` for quantities and for numbers with too
/// many digits for computations. Such values can be equal although their texts differ, so no digest fits.
fn digest(items: &Items, item: usize) -> Option<u64> {
    let mut hasher = hasher();
    let Some(scalar) = items.scalar(item) else {
        let slot = items.slot(item);
        let element = items.column.element.as_ref();
        if let Some(element) = element.filter(|element| element.is_valid(slot)) {
            hash_struct(element, slot, &mut hasher);
        }
        return Some(hasher.finish());
    };
    match scalar {
        Scalar::Text(text) => text.hash(&mut hasher),
        Scalar::Boolean(value) => value.hash(&mut hasher),
        Scalar::Integer(_) | Scalar::Long(_) | Scalar::Decimal(_) => {
            let number = scalar.number().map(|number| number.trimmed());
            number.map(|number| (number.mantissa, number.scale)).hash(&mut hasher);
        }
        Scalar::Temporal(_, text) => match scalar.moment() {
            Some(moment) => moment.start().hash(&mut hasher),
            None => text.hash(&mut hasher),
        },
        Scalar::Other => hash_complex(items, item, &mut hasher),
        Scalar::Quantity(_) | Scalar::Beyond(..) => return None,
    }
    Some(hasher.finish())
}

fn hash_complex(items: &Items, item: usize, hasher: &mut impl Hasher) {
    let slot = items.slot(item);
    match items.values() {
        Values::Struct(array) => hash_struct(array, slot, hasher),
        Values::Json(texts) => match super::resources::plain(texts.value(slot)) {
            Some(plain) => plain.hash(hasher),
            None => texts.value(slot).hash(hasher),
        },
        Values::Record(batch) => match id(batch, slot) {
            Some(id) => id.hash(hasher),
            None => hash_struct(&batch.clone().into(), slot, hasher),
        },
        _ => {}
    }
}

/// Hashes the texts and numbers in a struct, including nested structs and lists. As in equality, a missing column
/// counts as null, and the engine's companion columns do not count.
fn hash_struct(array: &StructArray, slot: usize, hasher: &mut impl Hasher) {
    for (field, column) in array.fields().iter().zip(array.columns()) {
        if !field.name().contains("__") && column.is_valid(slot) {
            field.name().hash(hasher);
            hash_slot(column, slot, hasher);
        }
    }
}

fn hash_slot(column: &ArrayRef, slot: usize, hasher: &mut impl Hasher) {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(slot).hash(hasher),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(slot).hash(hasher),
        DataType::Struct(_) => hash_struct(column.as_struct(), slot, hasher),
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let bounds = list.value_offsets();
            (bounds[slot + 1] - bounds[slot]).hash(hasher);
            for item in bounds[slot] as usize..bounds[slot + 1] as usize {
                if list.values().is_valid(item) {
                    hash_slot(list.values(), item, hasher);
                }
            }
        }
        _ => {}
    }
}

/// The class of an item. Equivalent items have the same class.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Class {
    Valueless,
    Text(String),
    Boolean(bool),
    Moment((Precision, i64, Option<bool>)),
    /// A date or time whose text is invalid. It is equivalent to no item, so its index is its class.
    Never(usize),
    /// The mantissa of a number without trailing zeros. Numbers are compared by mantissa only if all numbers of both
    /// rows have the same scale.
    Number(i128),
    Complex(u64),
}

/// Whether each item of the left row can be paired with an equivalent item of the right row. The rows have equally many
/// items. `None` if classes cannot decide this, so that the caller must compare each item with each. Classes cannot
/// decide for quantities and for numbers of different scale, because their equivalence is not transitive.
pub(super) fn paired(
    left: &Collection,
    of_left: Range<usize>,
    right: &Collection,
    of_right: Range<usize>,
    work: &Work,
) -> Result<Option<bool>, FhirPathError> {
    let mut scale = None;
    let mut free: FxHashMap<Class, Vec<usize>> = FxHashMap::default();
    for item in of_right {
        let Some(class) = class(right, item, &mut scale) else {
            return Ok(None);
        };
        free.entry(class).or_default().push(item);
    }
    let classes = of_left.clone().map(|item| class(left, item, &mut scale));
    let Some(classes) = classes.collect::<Option<Vec<Class>>>() else {
        return Ok(None);
    };
    for (one, class) in of_left.zip(classes) {
        let Some(others) = free.get_mut(&class) else {
            return Ok(Some(false));
        };
        let (items, at) = left.item(one);
        work.spend(others.len().saturating_mul(items.weight()))?;
        let found = others.iter().position(|other| {
            let (others, other) = right.item(*other);
            items_equivalent(items, at, others, other)
        });
        match found {
            Some(found) => others.swap_remove(found),
            None => return Ok(Some(false)),
        };
    }
    Ok(Some(true))
}

/// Returns the class of an item. `None` if the item has no class, or if it is a number whose scale differs from
/// `scale`. The first number of both rows sets `scale`.
fn class(collection: &Collection, item: usize, scale: &mut Option<u32>) -> Option<Class> {
    let (items, at) = collection.item(item);
    let Some(scalar) = items.scalar(at) else {
        return Some(Class::Valueless);
    };
    Some(match scalar {
        Scalar::Text(text) => Class::Text(folded(text)),
        Scalar::Boolean(value) => Class::Boolean(value),
        Scalar::Temporal(..) => match scalar.moment() {
            Some(moment) => Class::Moment(moment.class()),
            None => Class::Never(item),
        },
        Scalar::Integer(_) | Scalar::Long(_) | Scalar::Decimal(_) => {
            let number = scalar.number()?.trimmed();
            if *scale.get_or_insert(number.scale) != number.scale {
                return None;
            }
            Class::Number(number.mantissa)
        }
        Scalar::Other => Class::Complex(digest(items, at)?),
        Scalar::Quantity(_) | Scalar::Beyond(..) => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::RecordBatch;
    use arrow::datatypes::Schema;
    use proptest::prelude::*;

    use super::*;
    use crate::fhirpath::operators::equality::{equivalent, paired_one_by_one};
    use crate::fhirpath::operators::sets::{distinct, held};
    use crate::fhirpath::values::builder::{Builder, Computed};
    use crate::fhirpath::values::number::Number;

    fn value() -> impl Strategy<Value = Computed> {
        let text = |texts: &'static [&'static str]| proptest::sample::select(texts).prop_map(String::from);
        let number = (-3i128..40, 0u32..3).prop_map(|(mantissa, scale)| Number { mantissa, scale });
        let moments: &[&str] = &[
            "2020",
            "2020-01",
            "2020-01-01",
            "2020-01-01T00:00:00Z",
            "2020-01-01T01:00:00+01:00",
            "2020-01-01T00:00:00",
            "2020-01-01T00:00:00.000Z",
            "2020-01-01T00:00Z",
            "never",
        ];
        prop_oneof![
            4 => text(&["a", "A", " a", "b c", "B  c", "", "2020", "1"]).prop_map(Computed::String),
            3 => (-2i32..5).prop_map(Computed::Integer),
            2 => number.clone().prop_map(Computed::Decimal),
            2 => text(moments).prop_map(Computed::DateTime),
            1 => text(&["2020", "2020-01", "2020-01-01"]).prop_map(Computed::Date),
            1 => text(&["10", "10:00", "10:00:00", "10:00:00.0"]).prop_map(Computed::Time),
            1 => any::<bool>().prop_map(Computed::Boolean),
            1 => (number, proptest::sample::select(vec![None, Some("1"), Some("g"), Some("mg")]))
                .prop_map(|(value, unit)| Computed::Quantity { value, unit: unit.map(String::from) }),
        ]
    }

    /// Generates rows. Some have values of all types, others have no decimals and quantities.
    fn row() -> impl Strategy<Value = Vec<Computed>> {
        let plain = value().prop_filter("a plain value", |value| {
            !matches!(value, Computed::Quantity { .. } | Computed::Decimal(_))
        });
        prop_oneof![
            proptest::collection::vec(value(), 0..50),
            proptest::collection::vec(plain, 0..50)
        ]
    }

    fn work() -> Arc<Work> {
        Work::alone(&RecordBatch::new_empty(Arc::new(Schema::empty())))
    }

    fn collection(rows: &[Vec<Computed>]) -> Collection {
        let mut builder = Builder::new(rows.len());
        for row in rows {
            row.iter().for_each(|value| builder.push(value.clone()));
            builder.end_row();
        }
        builder.finish().unwrap()
    }

    fn same(left: &Collection, one: usize, right: &Collection, other: usize) -> bool {
        let ((left, one), (right, other)) = (left.item(one), right.item(other));
        items_same(left, one, right, other)
    }

    proptest! {
        #[test]
        fn hashing_finds_what_comparing_each_with_each_finds(left in row(), right in row(), order in any::<u64>()) {
            let (of_left, of_right) = (collection(std::slice::from_ref(&left)), collection(&[right]));
            let wanted: Vec<bool> = (0..of_left.len())
                .map(|one| (0..of_right.len()).any(|other| same(&of_left, one, &of_right, other)))
                .collect();
            prop_assert_eq!(held(&of_right, &of_left, &work()).unwrap().iter().collect::<Vec<_>>(), wanted);
            let mut kept: Vec<usize> = Vec::new();
            for one in 0..of_left.len() {
                if !kept.iter().any(|other| same(&of_left, one, &of_left, *other)) {
                    kept.push(one);
                }
            }
            let found = distinct(&of_left, &work()).unwrap();
            prop_assert_eq!(found.len(), kept.len());
            for (place, kept) in kept.iter().enumerate() {
                let ((items, at), (others, other)) = (found.item(place), of_left.item(*kept));
                prop_assert_eq!((items.text(at), items.item_type()), (others.text(other), others.item_type()));
            }
            // Compare the row with two other rows: the same row rotated, and the rotated row with one value changed.
            let mut turned = left.clone();
            if !turned.is_empty() {
                let middle = order as usize % turned.len();
                turned.rotate_left(middle);
            }
            let mut changed = turned.clone();
            if let Some(value) = changed.first_mut() {
                *value = Computed::Integer(2);
            }
            for other in [turned, changed] {
                let other = collection(&[other]);
                let (ours, theirs) = (0..of_left.len(), 0..other.len());
                let plain = paired_one_by_one(&of_left, ours, &other, theirs, &work()).unwrap();
                prop_assert_eq!(equivalent(&of_left, &other, &work()).unwrap().yes.value(0), plain);
            }
        }
    }

    #[test]
    fn long_rows_take_no_longer_than_their_items() {
        let texts =
            |from: i32, to: i32| -> Vec<Computed> { (from..to).map(|at| Computed::String(at.to_string())).collect() };
        let (left, right) = (collection(&[texts(0, 200_000)]), collection(&[texts(100_000, 300_000)]));
        assert_eq!(held(&right, &left, &work()).unwrap().count_set_bits(), 100_000);
        assert_eq!(distinct(&left, &work()).unwrap().len(), 200_000);
        let equivalent = |other| equivalent(&left, other, &work()).unwrap().yes.value(0);
        assert!(equivalent(&left) && !equivalent(&right));
    }
}
