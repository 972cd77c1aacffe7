//! Runs a resolved program over the contexts of a focus. Each node yields the results of all rows at once. `where`,
//! `select`, `all` and similar functions run their argument in a frame of its own: its rows are the items of the
//! function's input.
//!
//! Invariant: an error belongs to a row and counts only if the result of the row is used. For example, a row uses only
//! one branch of `iif`, so the errors of the other branch are dropped in this row. If the left operand of `and`, `or`
//! or `implies` decides the result, the errors of the right operand are dropped.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use arrow::array::Array;
use chrono::{DateTime, Utc};

use super::super::compile::node::{ALL_CHILDREN, Call, Node};
use super::super::compile::types::{ItemType, System};
use super::super::compiled::{Evaluation, Fault, Inner};
use super::super::error::{FhirPathError, Position};
use super::super::functions::Need;
use super::super::operators;
use super::super::values::collection::{Collection, Offsets};
use super::super::values::columns::Values;
use super::super::values::items::Items;
use super::super::values::truth::Truth;
use super::focus::Focus;
use super::invocation::Invocation;
use super::navigate::{Branch, branches, named};
use super::opening;
use super::work::Work;
use crate::fhir::{TypeId, facts};

/// The maximum number of items that one node may yield is this number plus `MAX_ITEMS_PER_ROW` for each row. If a node
/// exceeds it, the evaluation fails, and the caller evaluates the two halves of the rows separately.
pub(in crate::fhirpath) const MAX_ITEMS: usize = 1 << 20;
const MAX_ITEMS_PER_ROW: usize = 256;
/// If the caller limits the number of result items, any node may yield at most `STEPS_PER_RESULT` times this limit, or
/// [`MAX_ITEMS`] if that is more.
const STEPS_PER_RESULT: usize = 4;
/// The maximum number of nodes that an evaluation runs. A node counts once for all rows. Nested `aggregate` and
/// `repeat` run their nodes many times.
const MAX_STEPS: usize = 1 << 18;
/// The work of running a node once, in addition to the work for its rows and items.
const WORK_OF_NODE: usize = 64;
/// The work for each column of a node's result, except for the first column.
const WORK_OF_COLUMN: usize = 32;
/// No node may yield more items than this, so that the offsets fit into `i32`.
const MAX_OFFSET: usize = (i32::MAX / 4) as usize;

/// The result of a node. Booleans stay bit masks until a node needs them as items.
pub(in crate::fhirpath) enum Output {
    Items(Collection),
    Truth(Truth),
}

impl Output {
    pub(in crate::fhirpath) fn collection(self) -> Collection {
        match self {
            Output::Items(collection) => collection,
            Output::Truth(truth) => truth.collection(),
        }
    }
}

/// Evaluates a program. `max_items` limits the items of the result.
pub(in crate::fhirpath) fn run(program: &Inner, focus: &Focus, max_items: usize) -> Result<Evaluation, FhirPathError> {
    let frame = Frame {
        this: focus.items.clone(),
        focus,
        outer: None,
        total: None,
        index: None,
        limit: (MAX_ITEMS + MAX_ITEMS_PER_ROW * focus.len())
            .min(MAX_OFFSET)
            .min(max_items.saturating_mul(STEPS_PER_RESULT).max(MAX_ITEMS)),
        steps: Rc::default(),
        faults: RefCell::default(),
        variables: RefCell::default(),
    };
    let collection = frame.items_at_most(&program.node, max_items)?;
    let mut faults = frame.faults.into_inner();
    if faults.is_empty() {
        return Ok(Evaluation { collection, faults });
    }
    faults.sort_by_key(|fault| fault.row);
    faults.dedup_by_key(|fault| fault.row);
    Ok(Evaluation {
        collection: without(&collection, &faults),
        faults,
    })
}

/// Returns the collection without the items of failed rows. `faults` is sorted by row.
fn without(collection: &Collection, faults: &[Fault]) -> Collection {
    let mut faults = faults.iter().map(|fault| fault.row as usize).peekable();
    let mut offsets = vec![0i32];
    let mut places = Vec::with_capacity(collection.len());
    for row in 0..collection.rows() {
        if faults.next_if_eq(&row).is_none() {
            places.extend(collection.range(row).map(|item| item as u32));
        }
        offsets.push(places.len() as i32);
    }
    collection.take(Offsets::list(offsets), places)
}

/// Describes the value of `$index` in each row of a frame.
#[derive(Clone)]
enum Places {
    /// Each row of the frame is an item of a collection with these offsets. `$index` is the position of the item among
    /// the items of its row in that collection.
    Within(Offsets),
    /// `$index` is this number in every row of the frame.
    At(usize),
}

/// The state of `aggregate` before its next step. `total` is the result of the earlier steps, for each row. `place` is
/// the position of the item that the step handles, among the items of its row.
pub(in crate::fhirpath) struct Fold {
    pub(in crate::fhirpath) total: Collection,
    pub(in crate::fhirpath) place: usize,
}

/// The rows on which a node is evaluated, with their `$this` and other variables.
pub(in crate::fhirpath) struct Frame<'a> {
    /// `$this`: one item per row. In `iif` and `defineVariable` it is the function's whole input in the row.
    pub(in crate::fhirpath) this: Collection,
    focus: &'a Focus,
    /// The enclosing frame, and the offsets that assign each row of this frame to a row of the enclosing one.
    outer: Option<(&'a Frame<'a>, &'a Offsets)>,
    total: Option<Collection>,
    /// Where `$index` comes from. `None` if the rows are not items of a collection. Then `$index` is empty.
    index: Option<Places>,
    /// The maximum number of items that a node may yield.
    limit: usize,
    /// The number of nodes that have been run, in all frames.
    steps: Rc<Cell<usize>>,
    faults: RefCell<Vec<Fault>>,
    /// The values of the variables that were defined in this frame.
    variables: RefCell<Vec<(usize, Collection)>>,
}

impl<'a> Frame<'a> {
    pub(in crate::fhirpath) fn rows(&self) -> usize {
        self.this.rows()
    }

    /// Returns the maximum number of items that a node may yield.
    pub(in crate::fhirpath) fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the type of the batch's rows.
    pub(in crate::fhirpath) fn root_type(&self) -> ItemType {
        self.focus.root.item_type()
    }

    /// Evaluates a node to items. Returns an error if there are more items than the limit.
    pub(in crate::fhirpath) fn items(&self, node: &Node) -> Result<Collection, FhirPathError> {
        let collection = self.output(node)?.collection();
        if collection.len() > self.limit {
            Err(FhirPathError::TooLarge)
        } else {
            Ok(collection)
        }
    }

    /// Evaluates the node of the final result. Returns an error if it yields more than `max_items` items.
    fn items_at_most(&self, node: &Node, max_items: usize) -> Result<Collection, FhirPathError> {
        if let Node::Fixed(node) = node {
            let found = self.once(node)?;
            return if found.len().saturating_mul(self.rows()) > max_items {
                Err(FhirPathError::TooMany { max_items })
            } else {
                self.each_row(&found)
            };
        }
        let collection = self.items(node)?;
        if collection.len() > max_items {
            Err(FhirPathError::TooMany { max_items })
        } else {
            Ok(collection)
        }
    }

    /// Evaluates a node that reads no data, once for all rows. The result has one row. If the node fails, every row of
    /// this frame fails.
    fn once(&self, node: &Node) -> Result<Collection, FhirPathError> {
        let inner = Frame {
            this: Collection::empty(1),
            focus: self.focus,
            outer: None,
            total: None,
            index: None,
            limit: self.limit,
            steps: self.steps.clone(),
            variables: RefCell::default(),
            faults: RefCell::default(),
        };
        let found = inner.items(node)?;
        if let Some(fault) = inner.faults.into_inner().into_iter().next() {
            (0..self.rows()).for_each(|row| self.fault(row, fault.error.clone()));
        }
        Ok(found)
    }

    /// Returns the items of the only row of `found`, repeated for each row of this frame.
    fn each_row(&self, found: &Collection) -> Result<Collection, FhirPathError> {
        if found.len().saturating_mul(self.rows()) > self.limit {
            Err(FhirPathError::TooLarge)
        } else {
            Ok(repeated(found, &vec![0; self.rows()]))
        }
    }

    /// Evaluates a node to a truth value for each row.
    pub(in crate::fhirpath) fn truth(
        &self,
        node: &Node,
        operation: &'static str,
        at: Position,
    ) -> Result<Truth, FhirPathError> {
        Ok(match self.output(node)? {
            Output::Truth(truth) => truth,
            Output::Items(collection) => self.as_truth(&collection, operation, at),
        })
    }

    pub(in crate::fhirpath) fn output(&self, node: &Node) -> Result<Output, FhirPathError> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps > MAX_STEPS {
            return Err(FhirPathError::TooManySteps { limit: MAX_STEPS });
        }
        self.spend(WORK_OF_NODE + self.rows() / 4)?;
        let output = self.run(node)?;
        if let Output::Items(collection) = &output {
            self.spend(collection.len() + (collection.columns().len() - 1) * WORK_OF_COLUMN)?;
        }
        Ok(output)
    }

    fn run(&self, node: &Node) -> Result<Output, FhirPathError> {
        Ok(Output::Items(match node {
            Node::Empty => Collection::empty(self.rows()),
            Node::Fixed(node) => self.each_row(&self.once(node)?)?,
            Node::This => self.this.clone(),
            Node::Resource => self.resource(false),
            Node::RootResource => self.resource(true),
            Node::Context => self.context(),
            Node::Index => self.places(),
            Node::RowIndex => self.row_index(),
            Node::Total => self.total(),
            Node::Variable(place) => self.variable(*place).unwrap_or_else(|| Collection::empty(self.rows())),
            Node::Constant(value) => Collection::each(Items {
                len: self.rows(),
                ..value.clone()
            }),
            Node::Step {
                on,
                name,
                by,
                open,
                json,
                at,
            } => {
                let on = self.items(on)?;
                self.refuse_targets(&on, *at);
                step(&on, name, by, open.then_some(*json), self.limit)?
            }
            Node::OfType { on, test } => operators::types::of_type(&self.items(on)?, test),
            Node::Is { on, test, at } => {
                return Ok(Output::Truth(operators::types::is(self, &self.items(on)?, test, *at)));
            }
            Node::Call(call) => return self.call(call),
            Node::Sign { negative, on, at } => operators::arithmetic::sign(self, self.items(on)?, *negative, *at)?,
            Node::Binary {
                operator,
                left,
                right,
                at,
            } => {
                return operators::binary(self, *operator, left, right, *at);
            }
            Node::Concatenation(left, right) => super::combine::side_by_side(&[self.items(left)?, self.items(right)?]),
        }))
    }

    fn call(&self, call: &Call) -> Result<Output, FhirPathError> {
        let input = self.items(&call.on)?;
        let computes = matches!(call.function.reads, Need::Value | Need::Content);
        if computes {
            self.spend(input.len() * 8 + input.text_bytes() / 2)?;
        }
        let output = (call.function.run)(&Invocation {
            frame: self,
            call,
            input,
        })?;
        if let Output::Items(found) = &output
            && computes
        {
            self.spend(found.len() * 4 + found.text_bytes() / 4)?;
        }
        Ok(output)
    }

    /// Adds `work` to the work of the batch. Returns an error if the sum exceeds what the data and the budget allow.
    pub(in crate::fhirpath) fn spend(&self, work: usize) -> Result<(), FhirPathError> {
        self.focus.work.spend(work)
    }

    /// Returns the counter of the work.
    pub(in crate::fhirpath) fn work(&self) -> &Work {
        &self.focus.work
    }

    /// Calls `run` in a frame whose rows are the items of `over`. `over` must have the same rows as this frame. An
    /// error in an inner row becomes an error of the row that contains the item. `aggregate` passes `fold`, which sets
    /// `$total` and `$index`.
    pub(in crate::fhirpath) fn within<T>(
        &self,
        over: &Collection,
        fold: Option<Fold>,
        run: impl FnOnce(&Frame<'_>) -> Result<T, FhirPathError>,
    ) -> Result<T, FhirPathError> {
        let (total, index) = match fold {
            Some(fold) => (Some(fold.total), Places::At(fold.place)),
            None => (None, Places::Within(over.offsets().clone())),
        };
        let inner = Frame {
            this: over.flat(),
            focus: self.focus,
            outer: Some((self, over.offsets())),
            total,
            index: Some(index),
            limit: self.limit,
            steps: self.steps.clone(),
            faults: RefCell::default(),
            variables: RefCell::default(),
        };
        let result = run(&inner)?;
        for fault in inner.faults.into_inner() {
            let row = over.offsets().parent(fault.row as usize) as u32;
            self.faults.borrow_mut().push(Fault {
                row,
                error: fault.error,
            });
        }
        Ok(result)
    }

    /// Calls `run` in a frame with the same rows and another `$this`, which may have no item or several items in a
    /// row.
    pub(in crate::fhirpath) fn with_this<T>(
        &self,
        this: &Collection,
        run: impl FnOnce(&Frame<'_>) -> Result<T, FhirPathError>,
    ) -> Result<T, FhirPathError> {
        let rows = Offsets::Each(self.rows());
        let inner = Frame {
            this: this.clone(),
            focus: self.focus,
            outer: Some((self, &rows)),
            total: None,
            index: self.index.clone(),
            limit: self.limit,
            steps: self.steps.clone(),
            faults: RefCell::default(),
            variables: RefCell::default(),
        };
        let result = run(&inner)?;
        self.faults.borrow_mut().extend(inner.faults.into_inner());
        Ok(result)
    }

    /// Calls `run`, which may record errors of rows. Keeps those errors for whose row `counts` is true, and drops all
    /// others.
    pub(in crate::fhirpath) fn guarded<T>(
        &self,
        run: impl FnOnce() -> Result<T, FhirPathError>,
        counts: impl Fn(usize) -> bool,
    ) -> Result<T, FhirPathError> {
        let before = self.faults.borrow().len();
        let result = run()?;
        let mut faults = self.faults.borrow_mut();
        if faults.len() > before {
            let new = faults.split_off(before);
            faults.extend(new.into_iter().filter(|fault| counts(fault.row as usize)));
        }
        Ok(result)
    }

    /// Records that a row fails.
    pub(in crate::fhirpath) fn fault(&self, row: usize, error: FhirPathError) {
        self.faults.borrow_mut().push(Fault { row: row as u32, error });
    }

    /// Records that a row has several items where only one is allowed.
    pub(in crate::fhirpath) fn not_single(&self, row: usize, count: usize, operation: &'static str, at: Position) {
        self.fault(row, FhirPathError::NotSingle { at, operation, count });
    }

    /// Applies singleton evaluation (N1, section 4.5): a boolean keeps its value, and any other single item is true.
    /// An empty row is unknown. A row with several items fails.
    pub(in crate::fhirpath) fn as_truth(
        &self,
        collection: &Collection,
        operation: &'static str,
        at: Position,
    ) -> Truth {
        Truth::collect(self.rows(), |row| {
            let range = collection.range(row);
            match range.len() {
                0 => None,
                1 => {
                    let (items, item) = collection.item(range.start);
                    match items.item_type().system() {
                        Some(System::Boolean) => items.boolean(item),
                        _ => Some(true),
                    }
                }
                count => {
                    self.not_single(row, count, operation, at);
                    None
                }
            }
        })
    }

    /// Returns the value of `now()` during the evaluation.
    pub(in crate::fhirpath) fn now(&self) -> DateTime<Utc> {
        *self.focus.clock.get_or_init(Utc::now)
    }

    /// Returns for each row of this frame the index of the focus's context to which the row belongs. `None` if row `i`
    /// is context `i`.
    fn focus_rows(&self) -> Option<Vec<u32>> {
        let (outer, offsets) = self.outer?;
        let parents = offsets.parents();
        Some(match outer.focus_rows() {
            None => parents,
            Some(rows) => parents.iter().map(|parent| rows[*parent as usize]).collect(),
        })
    }

    /// Records an error for each row with an item that stands for the target of a reference. Such a target is not in
    /// the data, so no step can start at it.
    fn refuse_targets(&self, on: &Collection, at: Position) {
        let is_target = |items: &Items| items.item_type() == ItemType::System(System::Target);
        if !on.columns().iter().any(is_target) {
            return;
        }
        for row in 0..on.rows() {
            if on.range(row).any(|item| is_target(on.item(item).0)) {
                let what = "a step into the target of a reference that does not lie in the same resource".to_string();
                self.fault(row, FhirPathError::Unsupported { at, what });
            }
        }
    }

    /// Returns `%resource`, or `%rootResource` if `root` is set, for each row.
    fn resource(&self, root: bool) -> Collection {
        if let Some(resources) = self.focus.inner_resources(root) {
            return match self.focus_rows() {
                None => resources,
                Some(rows) => repeated(&resources, &rows),
            };
        }
        let rows = match (self.focus_rows(), &self.focus.rows) {
            (None, None) => return Collection::each(self.focus.root.clone()),
            (None, Some(rows)) => rows.to_vec(),
            (Some(rows), None) => rows,
            (Some(rows), Some(of)) => rows.iter().map(|row| of[*row as usize]).collect(),
        };
        Collection::each(self.focus.root.take(rows))
    }

    fn context(&self) -> Collection {
        match self.focus_rows() {
            None => self.focus.items.clone(),
            Some(rows) => self.focus.items.take(Offsets::Each(rows.len()), rows),
        }
    }

    /// Returns `$index` for each row.
    fn places(&self) -> Collection {
        let offsets = match &self.index {
            None => return Collection::empty(self.rows()),
            Some(Places::At(place)) => return integers(vec![*place as i32; self.rows()]),
            Some(Places::Within(offsets)) => offsets,
        };
        let mut places = Vec::with_capacity(self.rows());
        for row in 0..offsets.rows() {
            places.extend(0..offsets.range(row).len() as i32);
        }
        integers(places)
    }

    fn row_index(&self) -> Collection {
        let of = |row: usize| self.focus.places.as_ref().map_or(0, |places| places[row] as i32);
        integers(match self.focus_rows() {
            None => (0..self.rows()).map(of).collect(),
            Some(rows) => rows.iter().map(|row| of(*row as usize)).collect(),
        })
    }

    /// Sets the value of a variable for the rows of this frame.
    pub(in crate::fhirpath) fn define(&self, place: usize, value: Collection) {
        let mut variables = self.variables.borrow_mut();
        variables.retain(|(known, _)| *known != place);
        variables.push((place, value));
    }

    fn variable(&self, place: usize) -> Option<Collection> {
        let own = self
            .variables
            .borrow()
            .iter()
            .find(|(known, _)| *known == place)
            .map(|(_, value)| value.clone());
        own.or_else(|| {
            let (outer, offsets) = self.outer?;
            Some(spread(&outer.variable(place)?, offsets))
        })
    }

    fn total(&self) -> Collection {
        match (&self.total, self.outer) {
            (Some(total), _) => total.clone(),
            (None, Some((outer, offsets))) => spread(&outer.total(), offsets),
            (None, None) => Collection::empty(self.rows()),
        }
    }
}

/// Converts `of` from the rows of the outer frame to the rows of the inner frame. An inner row is an item of an outer
/// row. It gets all items that `of` has in this outer row.
fn spread(of: &Collection, offsets: &Offsets) -> Collection {
    if let Offsets::Each(_) = offsets {
        return of.clone();
    }
    let (mut starts, mut places) = (vec![0i32], Vec::new());
    for parent in offsets.parents() {
        places.extend(of.range(parent as usize).map(|item| item as u32));
        starts.push(places.len() as i32);
    }
    of.take(Offsets::list(starts), places)
}

pub(in crate::fhirpath) fn integers(values: Vec<i32>) -> Collection {
    let values = super::super::values::columns::Values::Integer(values.into());
    Collection::each(Items::new(ItemType::System(System::Integer), values))
}

/// Returns a collection with one row for each number in `rows`. It has the items that `collection` has in the row with
/// this number.
pub(in crate::fhirpath) fn repeated(collection: &Collection, rows: &[u32]) -> Collection {
    if let Offsets::Each(_) = collection.offsets() {
        return collection.take(Offsets::Each(rows.len()), rows.to_vec());
    }
    let (mut offsets, mut places) = (Vec::with_capacity(rows.len() + 1), Vec::with_capacity(rows.len()));
    offsets.push(0);
    for row in rows {
        places.extend(collection.range(*row as usize).map(|item| item as u32));
        offsets.push(places.len() as i32);
    }
    collection.take(Offsets::list(offsets), places)
}

/// Returns the children with the name `name`. `by` has the columns for each type that the compiler knows. If `open` is
/// `Some`, the items may have other types, too. The columns of these types are looked up now, and the value of `open`
/// says whether JSON names are accepted.
pub(in crate::fhirpath) fn step(
    on: &Collection,
    name: &str,
    by: &[(TypeId, Vec<Branch>)],
    open: Option<bool>,
    limit: usize,
) -> Result<Collection, FhirPathError> {
    let known = |type_id: TypeId| {
        by.iter()
            .find(|(from, _)| *from == type_id)
            .map(|(_, branches)| branches)
    };
    let has = |type_id: TypeId, json: bool| name == ALL_CHILDREN || !named(type_id, name, json).is_empty();
    let wanted = |type_id: TypeId| known(type_id).is_some() || open.is_some_and(|json| has(type_id, json));
    let on = opening::opened(on, &wanted);
    let branches = |items: &Items| {
        let type_id = items.item_type().fhir()?;
        match (known(type_id), open) {
            (Some(branches), _) => Some(Cow::Borrowed(branches.as_slice())),
            (None, Some(json)) => Some(Cow::Owned(branches_of(type_id, name, json))),
            (None, None) => None,
        }
    };
    for items in on.columns() {
        if branches(items).is_some_and(|branches| items.child_count(&branches) > limit) {
            return Err(FhirPathError::TooLarge);
        }
    }
    let children = |items: &Items| match (branches(items), items.item_type()) {
        (Some(branches), _) => items.step(&branches),
        (None, ItemType::Fhir(_)) => Collection::empty(items.len()),
        (None, ItemType::System(System::Quantity)) => quantity_part(items, name),
        (None, ItemType::System(_)) => items.text_child(name).unwrap_or_else(|| Collection::empty(items.len())),
    };
    Ok(super::combine::flat_map(&on, children))
}

/// Returns the `value` of System quantities if `name` is `value`, or else their `unit`.
fn quantity_part(items: &Items, name: &str) -> Collection {
    let Values::Quantity { value, unit } = items.values() else {
        return Collection::empty(items.len());
    };
    let (system, values, given) = match name {
        "value" => {
            let text = Some(value.clone());
            (System::Decimal, Values::Decimal { text, number: None }, value)
        }
        _ => (System::String, Values::Text(unit.clone()), unit),
    };
    let parts = Items::new(ItemType::System(system), values);
    let (mut offsets, mut slots) = (vec![0i32], Vec::with_capacity(items.len()));
    for slot in (0..items.len()).map(|item| items.slot(item)) {
        slots.extend(given.is_valid(slot).then_some(slot as u32));
        offsets.push(slots.len() as i32);
    }
    Collection::new(Offsets::list(offsets), parts.take(slots))
}

fn branches_of(type_id: TypeId, name: &str, json: bool) -> Vec<Branch> {
    match name {
        ALL_CHILDREN => facts().get(type_id).elements.iter().flat_map(branches).collect(),
        _ => named(type_id, name, json),
    }
}
