//! Functions on codes and profiles: `memberOf`, `subsumes`, `subsumedBy`, `conformsTo`. They use the terminology that
//! the caller passed to the compilation.
//!
//! Every distinct code is looked up once for a batch, not once for a row.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, AsArray, ListArray, StringArray, StructArray};
use rustc_hash::FxHashMap;

use super::super::signature;
use super::super::signature::{Function, Need};
use crate::fhir::facts;
use crate::fhirpath::compile::node::Argument;
use crate::fhirpath::compile::types::{ItemType, TypeTest};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::operators::types::is;
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::columns::{Values, text_array};
use crate::fhirpath::values::items::Items;
use crate::fhirpath::values::truth::Truth;
use crate::terminology::{Terminology, ValueSet};

const fn judging(name: &'static str, run: fn(&Invocation<'_>) -> Result<Output, FhirPathError>) -> Function {
    Function {
        name,
        parameters: &[],
        required: 0,
        reads: Need::Codes,
        shape: signature::boolean,
        run,
    }
}

/// `memberOf()`. The compiler passes the value set as the argument. If an expression computes the canonical of the
/// value set, the arguments are this expression and the terminology.
pub(in crate::fhirpath) const MEMBER_OF: Function = judging("memberOf", member_of);
/// `subsumes()`. Its arguments are the other code and the terminology.
pub(in crate::fhirpath) const SUBSUMES: Function = judging("subsumes", |call| subsumption(call, false));
/// `subsumedBy()`. Its arguments are the other code and the terminology.
pub(in crate::fhirpath) const SUBSUMED_BY: Function = judging("subsumedBy", |call| subsumption(call, true));
/// `conformsTo()`. Its argument is a type, or an expression that yields the canonical of a profile.
pub(in crate::fhirpath) const CONFORMS_TO: Function = Function {
    reads: Need::Reference,
    ..judging("conformsTo", conforms_to)
};

/// Whether items of this type have codes that a value set may contain. Texts count as codes without a code system.
pub(in crate::fhirpath) fn has_codes(item_type: ItemType) -> bool {
    is_coded(item_type)
        || matches!(
            item_type.system(),
            Some(crate::fhirpath::compile::types::System::String)
        )
}

/// Whether items of this type have codes with code systems.
pub(in crate::fhirpath) fn is_coded(item_type: ItemType) -> bool {
    ["Coding", "CodeableConcept", "Quantity"]
        .iter()
        .any(|name| item_type.is_fhir(name))
}

/// The URL of a code system, if known, and a code.
type Code<'a> = (Option<&'a str>, &'a str);

/// The codes of items in one column.
enum Codes {
    /// Texts without a code system. The flag says whether the elements are of FHIR's type `code`. Other texts are
    /// looked up only in value sets with a single code system.
    Text(StringArray, bool),
    One(Pair),
    Many(ListArray, Pair),
    None,
}

struct Pair {
    system: Option<StringArray>,
    code: Option<StringArray>,
}

impl Pair {
    fn of(array: &StructArray) -> Pair {
        let text = |name: &str| array.column_by_name(name).and_then(text_array);
        Pair {
            system: text("system"),
            code: text("code"),
        }
    }

    fn get(&self, slot: usize) -> Option<Code<'_>> {
        let text = |array: &'_ Option<StringArray>| array.as_ref().is_some_and(|array| array.is_valid(slot));
        let code = self.code.as_ref().filter(|_| text(&self.code))?.value(slot);
        let system = self.system.as_ref().filter(|_| text(&self.system));
        Some((system.map(|system| system.value(slot)), code))
    }
}

impl Codes {
    fn of(items: &Items) -> Codes {
        match items.values() {
            Values::Text(array) => Codes::Text(array.clone(), items.item_type().is_fhir("code")),
            Values::Struct(array) if items.item_type().is_fhir("CodeableConcept") => {
                let codings = array
                    .column_by_name("coding")
                    .and_then(|list| list.as_list_opt::<i32>());
                let pairs = codings.and_then(|list| list.values().as_struct_opt()).map(Pair::of);
                match (codings, pairs) {
                    (Some(list), Some(pairs)) => Codes::Many(list.clone(), pairs),
                    _ => Codes::None,
                }
            }
            Values::Struct(array) if is_coded(items.item_type()) => Codes::One(Pair::of(array)),
            _ => Codes::None,
        }
    }

    /// Returns the codes in a slot of an element that can state code systems. Empty for texts.
    fn coded(&self, slot: usize) -> Vec<Code<'_>> {
        match self {
            Codes::One(pair) => pair.get(slot).into_iter().collect(),
            Codes::Many(list, pairs) if list.is_valid(slot) => {
                let offsets = list.value_offsets();
                let range = offsets[slot] as usize..offsets[slot + 1] as usize;
                range.filter_map(|coding| pairs.get(coding)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The items of those rows that have exactly one item. `columns` has the columns of the items, each with its codes.
/// `places` has for each such row the index of the item's column and the index of the item in this column.
struct Singles {
    columns: Vec<(Items, Codes)>,
    places: Vec<Option<(usize, usize)>>,
}

impl Singles {
    fn of(collection: &Collection) -> Singles {
        let mut places = vec![None; collection.rows()];
        let mut columns = Vec::new();
        for typed in collection.typed() {
            for (row, place) in places.iter_mut().enumerate() {
                let range = typed.offsets.range(row);
                if range.len() == 1 && collection.range(row).len() == 1 {
                    *place = Some((columns.len(), range.start));
                }
            }
            let codes = Codes::of(&typed.items);
            columns.push((typed.items, codes));
        }
        Singles { columns, places }
    }

    /// Returns the codes of the column that holds a row's single item, and the item's slot. `None` if there is no
    /// single item with a value.
    fn get(&self, row: usize) -> Option<(&Codes, usize)> {
        let (column, item) = self.places[row]?;
        let (items, codes) = &self.columns[column];
        items.has_value(item).then(|| (codes, items.slot(item)))
    }
}

/// A value set, with cached results of lookups: `known` for codes with their systems, `texts` for texts.
struct Asked<'a> {
    set: Arc<ValueSet>,
    known: FxHashMap<Code<'a>, Option<bool>>,
    texts: FxHashMap<&'a str, Option<bool>>,
}

impl<'a> Asked<'a> {
    fn new(set: Arc<ValueSet>) -> Asked<'a> {
        Asked {
            set,
            known: FxHashMap::default(),
            texts: FxHashMap::default(),
        }
    }

    /// Whether an item is in the value set. A CodeableConcept is in the value set if any of its codes is. `None` if the
    /// loaded files do not decide this.
    fn contains(&mut self, codes: &'a Codes, slot: usize) -> Option<bool> {
        match codes {
            Codes::Text(array, is_code) => {
                if !is_code && self.set.single_system().is_none() {
                    return None;
                }
                let (set, text) = (&self.set, array.value(slot));
                *self.texts.entry(text).or_insert_with(|| set.contains_code(text))
            }
            Codes::None => Some(false),
            _ => {
                let mut found = Some(false);
                for code in codes.coded(slot) {
                    let set = &self.set;
                    let answer = self.known.entry(code).or_insert_with(|| match code {
                        (Some(system), code) => set.contains(system, code),
                        (None, _) => Some(false),
                    });
                    match answer {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => found = None,
                    }
                }
                found
            }
        }
    }
}

/// Evaluates `memberOf`. The result of a row is empty if the value set is unknown, if the row has no single item, or if
/// the loaded files do not decide whether the item is in the value set (R4).
fn member_of(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let singles = Singles::of(&call.input);
    let rows = call.input.rows();
    if let Some(Argument::ValueSet(set)) = call.call.arguments.first() {
        let mut asked = Asked::new(set.clone());
        let of = |row: usize| singles.get(row).and_then(|(codes, slot)| asked.contains(codes, slot));
        return Ok(Output::Truth(Truth::collect(rows, of)));
    }
    let canonicals = call.value(0)?;
    let mut sets: FxHashMap<String, Option<Asked<'_>>> = FxHashMap::default();
    let terminology = terminology(call);
    Ok(Output::Truth(Truth::collect(rows, |row| {
        let canonical = call.text(&canonicals, row)?;
        let (codes, slot) = singles.get(row)?;
        let set = sets
            .entry(canonical.to_string())
            .or_insert_with(|| terminology?.value_set(canonical).map(Asked::new));
        set.as_mut()?.contains(codes, slot)
    })))
}

fn terminology<'a>(call: &'a Invocation<'_>) -> Option<&'a Arc<Terminology>> {
    match call.call.arguments.get(1) {
        Some(Argument::Terminology(terminology)) => Some(terminology),
        _ => None,
    }
}

/// Evaluates `subsumes` or, if `turned`, `subsumedBy`: whether any code of one concept equals or subsumes any code of
/// the other concept. The files define no relation between codes of two systems. If both sides are Codings or
/// Quantities, codes of different systems are an error (R4). Otherwise pairs of codes from different systems are
/// ignored.
fn subsumption(call: &Invocation<'_>, turned: bool) -> Result<Output, FhirPathError> {
    let argument = call.value(0)?;
    let (above, below) = if turned {
        (Singles::of(&argument), Singles::of(&call.input))
    } else {
        (Singles::of(&call.input), Singles::of(&argument))
    };
    let terminology = terminology(call);
    let mut known: FxHashMap<(&str, &str, &str), Option<bool>> = FxHashMap::default();
    Ok(Output::Truth(Truth::collect(call.input.rows(), |row| {
        let (one, at) = above.get(row)?;
        let (other, beside) = below.get(row)?;
        let mut found = Some(false);
        let mut foreign = false;
        for (system, ancestor) in one.coded(at) {
            for (of, code) in other.coded(beside) {
                let Some(system) = system.filter(|system| of == Some(*system)) else {
                    foreign = true;
                    continue;
                };
                let answer = known
                    .entry((system, ancestor, code))
                    .or_insert_with(|| match terminology {
                        Some(terminology) => terminology.subsumes(system, ancestor, code),
                        None => (ancestor == code).then_some(true),
                    });
                match answer {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => found = None,
                }
            }
        }
        if foreign && matches!((one, other), (Codes::One(_), Codes::One(_))) {
            call.problem(row, "the codes are of different systems".to_string());
            return None;
        }
        found
    })))
}

/// Returns the type that R4's own profile with this canonical describes. `None` if the canonical is not of such a
/// profile.
pub(in crate::fhirpath) fn base_type(canonical: &str) -> Option<TypeTest> {
    let (url, version) = canonical.split_once('|').unwrap_or((canonical, "4.0.1"));
    let name = url.strip_prefix("http://hl7.org/fhir/StructureDefinition/")?;
    let fhir = facts().lookup(name).filter(|_| !name.contains('.'))?;
    version.starts_with("4.0").then_some(TypeTest {
        fhir: Some(fhir),
        system: None,
    })
}

/// Evaluates `conformsTo`. The result of a row is empty unless the row has a single item (R4). Only the type of the
/// item is checked.
fn conforms_to(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let single = call.input.rows();
    let input = super::super::collections::subsetting::part(&call.input, |_, range| match range.len() {
        1 => range,
        _ => range.start..range.start,
    });
    if let Some(Argument::Type(test)) = call.call.arguments.first() {
        return Ok(Output::Truth(is(call.frame, &input, test, call.at())));
    }
    let canonicals = call.value(0)?;
    let mut known: FxHashMap<Cow<'_, str>, Option<Truth>> = FxHashMap::default();
    Ok(Output::Truth(Truth::collect(single, |row| {
        let canonical = call.text(&canonicals, row)?;
        let truth = known
            .entry(Cow::Borrowed(canonical))
            .or_insert_with(|| base_type(canonical).map(|test| is(call.frame, &input, &test, call.at())));
        match truth {
            Some(truth) => truth.get(row),
            None => {
                call.problem(
                    row,
                    format!("'{canonical}' is no type of R4, and no other profiles are known"),
                );
                None
            }
        }
    })))
}
