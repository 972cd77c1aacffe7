//! A second evaluator of views over JSON, as simple as the specification's algorithm: rows as maps, nested loops. It
//! knows the paths of the generated views. Views and resources are generated for the recursive type
//! QuestionnaireResponse. The engine's results, from files and from a lake in each text format, must equal this
//! evaluator's.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tabularium::lake::Lake;
use tabularium::views::Format;

use super::{rows_of, run, view, written};
use crate::harness::records::{self, Record};

/// The type that a select applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Response,
    Item,
    Answer,
}

/// Choices from bytes; after the last byte always the simplest one.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn pick(&mut self, count: usize) -> usize {
        self.0.next().map_or(0, |byte| usize::from(*byte) % count)
    }
}

/// A path: its elements, and the operation on their items.
#[derive(Clone, Debug)]
struct Path {
    steps: Vec<&'static str>,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Items,
    First,
    Count,
    Exists,
    /// Items whose `linkId` equals the constant.
    OfConstant,
    /// Items of this type.
    OfType(&'static str),
    /// `%rowIndex`; the steps are ignored.
    RowIndex,
    /// The constant; the steps are ignored.
    Constant,
}

impl Path {
    fn text(&self) -> String {
        let steps = if self.steps.is_empty() {
            "$this".to_string()
        } else {
            self.steps.join(".")
        };
        match self.end {
            End::Items => steps,
            End::First => format!("{steps}.first()"),
            End::Count => format!("{steps}.count()"),
            End::Exists => format!("{steps}.exists()"),
            End::OfConstant => format!("{steps}.where(linkId = %wanted)"),
            End::OfType(type_name) => format!("{steps}.ofType({type_name})"),
            End::RowIndex => "%rowIndex".to_string(),
            End::Constant => "%wanted".to_string(),
        }
    }

    fn evaluate(&self, on: &Value, row_index: usize) -> Vec<Value> {
        let mut items = vec![on.clone()];
        for step in &self.steps {
            items = items.iter().flat_map(|item| children(item, step)).collect();
        }
        match self.end {
            End::Items => items,
            End::First => items.into_iter().take(1).collect(),
            End::Count => vec![json!(items.len())],
            End::Exists => vec![json!(!items.is_empty())],
            End::OfConstant => items.into_iter().filter(|item| item["linkId"] == WANTED).collect(),
            End::OfType("integer") => items.into_iter().filter(Value::is_number).collect(),
            End::OfType("boolean") => items.into_iter().filter(Value::is_boolean).collect(),
            End::OfType(_) => items.into_iter().filter(Value::is_string).collect(),
            End::RowIndex => vec![json!(row_index)],
            End::Constant => vec![json!(WANTED)],
        }
    }
}

/// The items of an element; `value` means any of its types.
fn children(item: &Value, step: &str) -> Vec<Value> {
    let member = match step {
        "value" => ["valueInteger", "valueString", "valueBoolean"]
            .iter()
            .find_map(|name| item.get(*name)),
        _ => item.get(step),
    };
    match member {
        None => Vec::new(),
        Some(Value::Array(items)) => items.clone(),
        Some(value) => vec![value.clone()],
    }
}

const WANTED: &str = "b";

#[derive(Clone, Debug)]
enum Iteration {
    None,
    Each(Path),
    EachOrNull(Path),
    Repeat(Vec<Path>),
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    path: Path,
    collection: bool,
}

#[derive(Clone, Debug)]
struct Select {
    iteration: Iteration,
    columns: Vec<Column>,
    selects: Vec<Select>,
    union: Vec<Select>,
}

type Row = Map<String, Value>;

impl Select {
    fn definition(&self) -> Value {
        let mut definition = Map::new();
        match &self.iteration {
            Iteration::None => {}
            Iteration::Each(path) => drop(definition.insert("forEach".to_string(), json!(path.text()))),
            Iteration::EachOrNull(path) => drop(definition.insert("forEachOrNull".to_string(), json!(path.text()))),
            Iteration::Repeat(paths) => {
                let paths: Vec<String> = paths.iter().map(Path::text).collect();
                definition.insert("repeat".to_string(), json!(paths));
            }
        }
        let column =
            |column: &Column| json!({"name": column.name, "path": column.path.text(), "collection": column.collection});
        let list = |selects: &[Select]| -> Value { selects.iter().map(Select::definition).collect() };
        for (name, of) in [
            ("column", self.columns.iter().map(column).collect()),
            ("select", list(&self.selects)),
            ("unionAll", list(&self.union)),
        ] {
            if of != json!([]) {
                definition.insert(name.to_string(), of);
            }
        }
        Value::Object(definition)
    }

    fn names(&self) -> Vec<&str> {
        let own = self.columns.iter().map(|column| column.name.as_str());
        let nested = self.selects.iter().flat_map(Select::names);
        own.chain(nested)
            .chain(self.union.first().map(Select::names).unwrap_or_default())
            .collect()
    }

    /// The rows over one context, as specified: for each item the product of its parts.
    fn rows(&self, on: &Value, row_index: usize) -> Vec<Row> {
        let (items, or_null) = match &self.iteration {
            Iteration::None => return self.of_item(on, row_index),
            Iteration::Each(path) => (path.evaluate(on, row_index), false),
            Iteration::EachOrNull(path) => (path.evaluate(on, row_index), true),
            Iteration::Repeat(paths) => (repeated(paths, on, row_index), false),
        };
        if items.is_empty() && or_null {
            return vec![self.nothing()];
        }
        let rows = items
            .iter()
            .enumerate()
            .flat_map(|(place, item)| self.of_item(item, place));
        rows.collect()
    }

    fn of_item(&self, on: &Value, row_index: usize) -> Vec<Row> {
        let own: Row = self
            .columns
            .iter()
            .map(|column| {
                let mut items = column.path.evaluate(on, row_index);
                let value = if column.collection {
                    Value::Array(items)
                } else {
                    items.pop().unwrap_or(Value::Null)
                };
                (column.name.clone(), value)
            })
            .collect();
        let mut parts = vec![vec![own]];
        parts.extend(self.selects.iter().map(|select| select.rows(on, row_index)));
        if !self.union.is_empty() {
            parts.push(
                self.union
                    .iter()
                    .flat_map(|select| select.rows(on, row_index))
                    .collect(),
            );
        }
        parts.into_iter().fold(vec![Row::new()], |rows, part| {
            let both = |(row, more): (&Row, &Row)| row.clone().into_iter().chain(more.clone()).collect();
            rows.iter()
                .flat_map(|row| part.iter().map(move |more| both((row, more))))
                .collect()
        })
    }

    /// The row of a `forEachOrNull` without items. Only `%rowIndex` in the select itself has a value.
    fn nothing(&self) -> Row {
        let mut row: Row = self
            .names()
            .into_iter()
            .map(|name| (name.to_string(), Value::Null))
            .collect();
        self.row_indices(&mut row);
        row
    }

    /// If a union provides the column, its first branch defines the column.
    fn row_indices(&self, row: &mut Row) {
        let of_union = self.union.first().map_or(&[][..], |first| &first.columns);
        let columns = self.columns.iter().chain(of_union);
        for column in columns.filter(|column| matches!(column.path.end, End::RowIndex)) {
            row.insert(column.name.clone(), json!(0));
        }
        let inner = self
            .selects
            .iter()
            .filter(|select| matches!(select.iteration, Iteration::None));
        inner.for_each(|select| select.row_indices(row));
    }
}

/// Each found item, followed by the items found on it.
fn repeated(paths: &[Path], on: &Value, row_index: usize) -> Vec<Value> {
    let mut found = Vec::new();
    for path in paths {
        for item in path.evaluate(on, row_index) {
            let below = repeated(paths, &item, row_index);
            found.push(item);
            found.extend(below);
        }
    }
    found
}

impl Choices<'_> {
    /// A select whose columns are numbered from `next`. All branches of a union have the same columns.
    fn select(&mut self, on: On, depth: usize, next: &mut usize, in_union: Option<usize>) -> Select {
        let (iteration, at) = self.iteration(on, in_union.is_none() || depth > 0);
        let count = in_union.unwrap_or_else(|| 1 + self.pick(2));
        let columns = (0..count)
            .map(|_| {
                let path = self.value(at, in_union.is_some());
                *next += 1;
                let collection = matches!(path.end, End::Items) && path.steps.len() > 1;
                let name = format!("c{next}");
                Column { name, path, collection }
            })
            .collect();
        let mut select = Select {
            iteration,
            columns,
            selects: Vec::new(),
            union: Vec::new(),
        };
        if depth == 0 || in_union.is_some() {
            return select;
        }
        for _ in 0..self.pick(3) {
            let inner = self.select(at, depth - 1, next, None);
            select.selects.push(inner);
        }
        if self.pick(3) == 0 {
            let (first, width) = (*next, 1 + self.pick(2));
            for _ in 0..=self.pick(3) {
                *next = first;
                let branch = self.select(at, 0, next, Some(width));
                select.union.push(branch);
            }
        }
        select
    }

    fn iteration(&mut self, on: On, may: bool) -> (Iteration, On) {
        let (path, to) = match (on, self.pick(4)) {
            (On::Response, 0 | 1) => (vec!["item"], On::Item),
            (On::Response, 2) => (vec!["item", "answer"], On::Answer),
            (On::Response, _) => (vec!["item", "item"], On::Item),
            (On::Item, 0 | 1) => (vec!["answer"], On::Answer),
            (On::Item, 2) => (vec!["item"], On::Item),
            (On::Item, _) => (vec!["answer", "item"], On::Item),
            (On::Answer, 0..=2) => (vec!["item"], On::Item),
            (On::Answer, _) => (vec!["item", "item"], On::Item),
        };
        let filtered = to == On::Item && self.pick(4) == 0;
        let path = Path {
            steps: path,
            end: if filtered { End::OfConstant } else { End::Items },
        };
        let item = || Path {
            steps: vec!["item"],
            end: End::Items,
        };
        let below_answers = || Path {
            steps: vec!["answer", "item"],
            end: End::Items,
        };
        match self.pick(6) {
            _ if !may => (Iteration::None, on),
            0 => (Iteration::None, on),
            1 | 2 => (Iteration::Each(path), to),
            3 | 4 => (Iteration::EachOrNull(path), to),
            _ if on == On::Item && self.pick(2) == 0 => (Iteration::Repeat(vec![item(), below_answers()]), On::Item),
            _ => (Iteration::Repeat(vec![item()]), On::Item),
        }
    }

    /// The path of a column. In a union all columns are text, because its branches must agree on their kinds.
    fn value(&mut self, on: On, text: bool) -> Path {
        let path = |steps: &[&'static str], end| Path {
            steps: steps.to_vec(),
            end,
        };
        let texts = match on {
            On::Response => [path(&["status"], End::Items), path(&["item", "linkId"], End::First)],
            On::Item => [path(&["linkId"], End::Items), path(&["item", "text"], End::First)],
            On::Answer => [
                path(&["item", "linkId"], End::First),
                path(&["value"], End::OfType("string")),
            ],
        };
        if text || self.pick(3) == 0 {
            return match self.pick(5) {
                0..=3 => texts[self.pick(2)].clone(),
                _ => path(&[], End::Constant),
            };
        }
        let inner: &[&'static str] = if on == On::Answer {
            &["item"]
        } else {
            &["item", "answer"]
        };
        match self.pick(7) {
            0 => path(&[], End::RowIndex),
            1 => path(inner, End::Count),
            2 => path(inner, End::Exists),
            3 => path(&["item", "linkId"], End::Items),
            4 if on == On::Answer => path(&["value"], End::OfType("integer")),
            5 if on == On::Answer => path(&["value"], End::OfType("boolean")),
            _ => path(&[], End::RowIndex),
        }
    }

    fn response(&mut self, id: usize) -> Value {
        let mut response =
            json!({"resourceType": "QuestionnaireResponse", "id": format!("r{id}"), "status": "completed"});
        if self.pick(4) == 0 {
            response["status"] = json!("amended");
        }
        self.put(&mut response, "item", 3, |choices, depth| choices.item(depth));
        response
    }

    fn put(&mut self, of: &mut Value, name: &str, depth: usize, mut item: impl FnMut(&mut Self, usize) -> Value) {
        if depth == 0 {
            return;
        }
        let items: Vec<Value> = (0..self.pick(3)).map(|_| item(self, depth)).collect();
        if !items.is_empty() {
            of[name] = Value::Array(items);
        }
    }

    fn item(&mut self, depth: usize) -> Value {
        let mut item = json!({"linkId": (["a", "b", "1, \"2\""][self.pick(3)])});
        if self.pick(2) == 0 {
            item["text"] = json!(["é", "two\nlines"][self.pick(2)]);
        }
        self.put(&mut item, "item", depth - 1, |choices, depth| choices.item(depth));
        self.put(&mut item, "answer", depth, |choices, depth| choices.answer(depth));
        item
    }

    fn answer(&mut self, depth: usize) -> Value {
        let mut answer = match self.pick(4) {
            0 => json!({"valueString": (["x", "y z"][self.pick(2)])}),
            1 => json!({"valueInteger": self.pick(100)}),
            2 => json!({"valueBoolean": self.pick(2) == 0}),
            _ => json!({"id": "no-value"}),
        };
        self.put(&mut answer, "item", depth - 1, |choices, depth| choices.item(depth));
        answer
    }
}

/// The text of a column in CSV.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn csv(names: &[&str], rows: &[Row]) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    writer.write_record(names).unwrap();
    for row in rows {
        writer.write_record(names.iter().map(|name| cell(&row[*name]))).unwrap();
    }
    String::from_utf8(writer.into_inner().unwrap()).unwrap()
}

pub(super) struct Case {
    selects: Vec<Select>,
    filter: Option<Path>,
    responses: Vec<Value>,
}

impl Case {
    pub(super) fn new(of_view: &[u8], of_resources: &[Vec<u8>]) -> Case {
        let mut choices = Choices(of_view.iter());
        let filter = match choices.pick(4) {
            0 => Some(Path {
                steps: vec!["item"],
                end: End::Exists,
            }),
            _ => None,
        };
        let mut next = 0;
        let selects = (0..=choices.pick(2))
            .map(|_| choices.select(On::Response, 2, &mut next, None))
            .collect();
        let response = |(id, bytes): (usize, &Vec<u8>)| Choices(bytes.iter()).response(id);
        Case {
            selects,
            filter,
            responses: of_resources.iter().enumerate().map(response).collect(),
        }
    }

    pub(super) fn definition(&self) -> Value {
        let mut definition = json!({"resource": "QuestionnaireResponse",
            "constant": [{"name": "wanted", "valueString": WANTED}],
            "select": self.selects.iter().map(Select::definition).collect::<Vec<_>>()});
        if let Some(filter) = &self.filter {
            definition["where"] = json!([{"path": filter.text()}]);
        }
        definition
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let whole = Select {
            iteration: Iteration::None,
            columns: Vec::new(),
            selects: self.selects.clone(),
            union: Vec::new(),
        };
        let kept = |response: &&Value| {
            let holds = |filter: &Path| filter.evaluate(response, 0) == [json!(true)];
            self.filter.as_ref().is_none_or(holds)
        };
        self.responses
            .iter()
            .filter(kept)
            .flat_map(|response| whole.rows(response, 0))
            .collect()
    }

    fn check(&self) -> usize {
        let view = view(&self.definition());
        let expected = self.rows();
        let names: Vec<&str> = self.selects.iter().flat_map(Select::names).collect();
        let texts: Vec<String> = self.responses.iter().map(Value::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (_folder, lake) = self.lake();
        let scope = records::application("local");
        for format in [Format::Csv { header: true }, Format::Json, Format::Ndjson] {
            let from_lake = run(&lake, &scope, &view, &Default::default(), None);
            for (source, rows) in [("files", rows_of(&view, &texts)), ("a lake", from_lake.rows())] {
                let found = written(rows, format).unwrap();
                let same = match format {
                    Format::Csv { .. } => found == csv(&names, &expected),
                    Format::Json => serde_json::from_str::<Vec<Row>>(&found).unwrap() == expected,
                    _ => found
                        .lines()
                        .map(|line| serde_json::from_str::<Value>(line).unwrap())
                        .eq(expected.iter().cloned().map(Value::Object)),
                };
                assert!(
                    same,
                    "{format:?} from {source}\n{}\nover {}\ngave {found}\nexpected {}",
                    serde_json::to_string_pretty(&self.definition()).unwrap(),
                    texts.join("\n"),
                    Value::from(expected.iter().cloned().map(Value::Object).collect::<Vec<_>>())
                );
            }
        }
        expected.len()
    }

    pub(super) fn lake(&self) -> (tempfile::TempDir, Lake) {
        let (folder, lake) = records::lake();
        let records: Vec<Record> = self.responses.iter().cloned().map(Record::new).collect();
        records::commit(&lake, &records);
        (folder, lake)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_views_give_what_plain_loops_give(
        of_view in prop::collection::vec(any::<u8>(), 4..80),
        of_resources in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..6),
    ) {
        Case::new(&of_view, &of_resources).check();
    }
}

/// Each iteration within each other one, with a union and row numbers.
#[test]
fn every_iteration_stands_in_every_other() {
    let resources: Vec<Vec<u8>> = (0..4u8)
        .map(|row| (0..60u8).map(|at| at.wrapping_mul(37).wrapping_add(row * 11)).collect())
        .collect();
    let path = |steps: &[&'static str]| Path {
        steps: steps.to_vec(),
        end: End::Items,
    };
    let iterations = [
        Iteration::None,
        Iteration::Each(path(&["item"])),
        Iteration::EachOrNull(path(&["item"])),
        Iteration::Repeat(vec![path(&["item"])]),
    ];
    let mut rows = 0;
    let mut next = 0;
    let mut select = |iteration: &Iteration, selects: Vec<Select>, union: Vec<Select>| {
        next += 1;
        let column = |name: &str, steps: &[&'static str], end| Column {
            name: format!("{name}{next}"),
            path: Path {
                steps: steps.to_vec(),
                end,
            },
            collection: false,
        };
        Select {
            iteration: iteration.clone(),
            columns: vec![
                column("id", &["item", "linkId"], End::First),
                column("at", &[], End::RowIndex),
            ],
            selects,
            union,
        }
    };
    for outer in &iterations {
        for inner in &iterations {
            for branch in &iterations {
                let mut one = select(branch, Vec::new(), Vec::new());
                let mut other = select(inner, Vec::new(), Vec::new());
                for (column, name) in one
                    .columns
                    .iter_mut()
                    .chain(&mut other.columns)
                    .zip(["u", "v", "u", "v"])
                {
                    column.name = name.to_string();
                }
                let innermost = select(inner, Vec::new(), vec![one, other]);
                let case = Case {
                    selects: vec![select(outer, vec![innermost], Vec::new())],
                    filter: None,
                    responses: Case::new(&[], &resources).responses,
                };
                rows += case.check();
            }
        }
    }
    assert!(rows > 500, "{rows} rows");
}
