//! Reading a text for some leaves gives the same values as reading the whole text.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Fields};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tabularium::columns::json::{Choice, Chosen, Tape};
use tabularium::columns::shred::{Clip, Shredder, SystemValues};
use tabularium::fhir::storage::{LeafSet, SYSTEM_COLUMNS};
use tabularium::fhir::{TypeId, facts};

use super::{generate, json_files, push, resources};

/// The item type of a list; any other type unchanged.
fn item(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::List(item) => item.data_type(),
        other => other,
    }
}

/// The paths of all columns, structs as well as leaves. The list of a primitive and the list of its extensions go
/// together: what is below one of them goes `with` the other, which determines the lengths.
fn paths(prefix: &str, fields: &Fields, with: &[String], found: &mut Vec<Vec<String>>) {
    for field in fields {
        let path = format!("{prefix}{}", field.name());
        let mut together = vec![path.clone()];
        together.extend_from_slice(with);
        let partners = match field.name().strip_prefix('_') {
            Some(plain) => [plain.to_owned(), format!("{plain}__element")],
            None => [format!("_{}", field.name().split("__").next().unwrap()), String::new()],
        };
        let partners = partners.iter().filter(|name| child(fields, name).is_some());
        together.extend(partners.map(|partner| format!("{prefix}{partner}")));
        if let DataType::Struct(children) = item(field.data_type()) {
            paths(&format!("{path}."), children, &together[1..], found);
        }
        found.push(together);
    }
}

fn child<'f>(fields: &'f Fields, name: &str) -> Option<&'f Field> {
    fields.iter().map(AsRef::as_ref).find(|field| field.name() == name)
}

fn has(fields: &Fields, path: &str) -> bool {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let Some(field) = child(fields, name) else { return false };
    match item(field.data_type()) {
        DataType::Struct(children) if !rest.is_empty() => has(children, rest),
        _ => rest.is_empty(),
    }
}

/// Checks that each column of `clipped` is in `whole` with the same values.
fn agrees(at: &str, whole: &dyn Array, clipped: &dyn Array) {
    assert_eq!(whole.len(), clipped.len(), "{at}");
    assert!(
        (0..whole.len()).all(|row| whole.is_null(row) == clipped.is_null(row)),
        "{at}"
    );
    if let (Some(whole), Some(clipped)) = (whole.as_struct_opt(), clipped.as_struct_opt()) {
        for (name, column) in clipped.column_names().into_iter().zip(clipped.columns()) {
            agrees(&format!("{at}.{name}"), whole.column_by_name(name).unwrap(), column);
        }
    } else if let (Some(whole), Some(clipped)) = (whole.as_list_opt::<i32>(), clipped.as_list_opt::<i32>()) {
        assert_eq!(whole.value_offsets(), clipped.value_offsets(), "{at}");
        agrees(at, whole.values(), clipped.values());
    } else {
        assert_eq!(whole.to_data(), clipped.to_data(), "{at}");
    }
}

fn clipped(clip: &Clip, texts: &[String]) -> RecordBatch {
    let name = facts().get(clip.type_id()).name;
    let mut choice = Choice::new(
        "resourceType",
        [("Other", Default::default()), (name, clip.selection().clone())],
    );
    let (mut shredder, mut tape) = (Shredder::clipped(clip), Tape::new());
    for text in texts {
        let Chosen::Selected(1, root) = tape.choose(text.as_bytes(), &mut choice).unwrap() else {
            panic!("not chosen: {text}");
        };
        let id = root.get_str("id").unwrap_or_else(|| "given".into()).into_owned();
        shredder.push(&SystemValues::outside(&id, ""), root).unwrap();
    }
    shredder.finish().unwrap()
}

/// Checks a selection of the texts' columns.
fn check(type_id: TypeId, texts: &[String], mut pick: impl FnMut() -> bool) {
    let (mut shredder, mut tape) = (Shredder::new(type_id), Tape::new());
    for text in texts {
        push(&mut shredder, &mut tape, text).unwrap();
    }
    let whole = shredder.finish().unwrap();
    let elements: Fields = whole.schema().fields()[SYSTEM_COLUMNS.len()..]
        .iter()
        .cloned()
        .collect();
    let mut all = Vec::new();
    paths("", &elements, &[], &mut all);
    let leaves: LeafSet = all.into_iter().filter(|_| pick()).flatten().collect();
    let batch = clipped(&Clip::new(type_id, &leaves), texts);
    for (field, column) in batch
        .schema()
        .fields()
        .iter()
        .zip(batch.columns())
        .skip(SYSTEM_COLUMNS.len())
    {
        agrees(field.name(), whole.column_by_name(field.name()).unwrap(), column);
    }
    assert_eq!(batch.column_by_name("id"), whole.column_by_name("id"));
    for leaf in &leaves {
        assert!(has(batch.schema().fields(), leaf), "{leaf} is missing");
    }
    // The same columns, from texts that were read only for them.
    let (mut shredder, mut tape) = (Shredder::clipped(&Clip::new(type_id, &leaves)), Tape::new());
    for text in texts {
        let root = tape.parse(text.as_bytes()).unwrap();
        let id = root.get_str("id").unwrap_or_else(|| "given".into()).into_owned();
        shredder.push(&SystemValues::outside(&id, ""), root).unwrap();
    }
    assert_eq!(shredder.finish().unwrap(), batch);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn clipped_columns_of_real_records_equal_the_whole() {
    let shared = crate::harness::shared();
    let (mut files, mut by_type) = (Vec::new(), BTreeMap::new());
    json_files(&shared.join("data"), &mut files);
    for file in &files {
        resources(&std::fs::read_to_string(file).unwrap(), &mut by_type);
    }
    let mut generator = generate::Generator::new(7);
    for (name, texts) in &by_type {
        let Some(type_id) = facts().lookup(name) else { continue };
        for chances in [1, 3, 20] {
            check(type_id, texts, || generator.below(chances) == 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn clipped_columns_equal_the_whole(seed in any::<u64>(), chances in 1usize..12) {
        let mut generator = generate::Generator::new(seed);
        let types: Vec<TypeId> = facts().resources().collect();
        let type_id = types[generator.below(types.len())];
        let texts: Vec<String> = (0..1 + generator.below(8)).map(|_| generator.resource(type_id)).collect();
        check(type_id, &texts, || generator.below(chances) == 0);
    }
}
