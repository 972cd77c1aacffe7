//! Functions that choose, repeat, fold and sort: `iif`, `coalesce`, `repeat`, `aggregate`, `sort`, `trace`.

use std::cmp::Ordering;

use super::super::signature;
use super::super::signature::{Function, Need, Parameter, Signature};
use super::combining::keep;
use crate::fhirpath::compile::node::{Argument, Shape};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::combine::side_by_side;
use crate::fhirpath::evaluate::interpreter::{Fold, MAX_ITEMS, Output};
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::operators::comparison::order;
use crate::fhirpath::operators::sets::distinct;
use crate::fhirpath::values::collection::{Collection, Offsets};

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "iif",
        parameters: &[Parameter::Each, Parameter::EachItems, Parameter::EachItems],
        required: 2,
        reads: Need::Presence,
        shape: either,
        run: iif,
    },
    Function {
        name: "repeat",
        parameters: &[Parameter::Repeated],
        required: 1,
        reads: Need::Presence,
        shape: repeated,
        run: |call| repeat(call, true),
    },
    Function {
        name: "repeatAll",
        parameters: &[Parameter::Repeated],
        required: 1,
        reads: Need::Presence,
        shape: repeated,
        run: |call| repeat(call, false),
    },
    Function {
        name: "aggregate",
        parameters: &[Parameter::Folded, Parameter::Items],
        required: 1,
        reads: Need::Presence,
        shape: folded,
        run: aggregate,
    },
    Function {
        name: "sort",
        parameters: &[Parameter::Key, Parameter::Key, Parameter::Key, Parameter::Key],
        required: 0,
        reads: Need::Value,
        shape: signature::input,
        run: sort,
    },
    Function {
        name: "trace",
        parameters: &[Parameter::Value, Parameter::Each],
        required: 1,
        reads: Need::Nothing,
        shape: signature::input,
        run: |call| Ok(Output::Items(call.input.clone())),
    },
];

/// `descendants()`. The compiler passes the step to all children as its argument.
pub(in crate::fhirpath) const DESCENDANTS: Function = Function {
    name: "descendants",
    parameters: &[Parameter::Repeated],
    required: 0,
    reads: Need::Whole,
    shape: repeated,
    run: |call| repeat(call, false),
};

/// `coalesce()`. The compiler passes the choices as its arguments.
pub(in crate::fhirpath) const COALESCE: Function = Function {
    name: "coalesce",
    parameters: &[],
    required: 0,
    reads: Need::Nothing,
    shape: signature::input,
    run: coalesce,
};

/// `defineVariable()`. Its arguments are the variable and the variable's value.
pub(in crate::fhirpath) const DEFINE_VARIABLE: Function = Function {
    name: "defineVariable",
    parameters: &[],
    required: 0,
    reads: Need::Nothing,
    shape: signature::input,
    run: define_variable,
};

fn either(signature: &Signature<'_>) -> Shape {
    let mut shape = signature.arguments.get(1).cloned().unwrap_or_default();
    if let Some(otherwise) = signature.arguments.get(2) {
        shape = shape.join(otherwise);
    }
    shape
}

fn repeated(signature: &Signature<'_>) -> Shape {
    signature.arguments.first().cloned().unwrap_or_default().multiple()
}

fn folded(signature: &Signature<'_>) -> Shape {
    let mut shape = signature.arguments.first().cloned().unwrap_or_default();
    if let Some(start) = signature.arguments.get(1) {
        shape = shape.join(start);
    }
    shape
}

/// Evaluates `iif`. Both branches run over all rows. In each row, the items and the errors of the branch that the row
/// does not choose are dropped.
fn iif(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    for row in 0..call.input.rows() {
        let count = call.input.range(row).len();
        if count > 1 {
            call.frame.not_single(row, count, "iif", call.at());
        }
    }
    let chosen = call.frame.with_this(&call.input, |frame| {
        let criterion = frame.truth(call.node(0), "iif", call.at())?;
        let taken = |row: usize| criterion.yes.value(row);
        let then = frame.guarded(|| frame.items(call.node(1)), taken)?;
        let otherwise = frame.guarded(|| frame.items(call.node(2)), |row| !taken(row))?;
        let then = keep(&then, |row, _| taken(row));
        let otherwise = keep(&otherwise, |row, _| !taken(row));
        Ok(side_by_side(&[then, otherwise]))
    })?;
    Ok(Output::Items(chosen))
}

/// Evaluates `coalesce`: returns for each row the items of the first choice that has any in this row. In this row,
/// errors of later choices are dropped.
fn coalesce(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let mut found = Collection::empty(call.input.rows());
    for choice in 0..call.call.arguments.len() {
        let is_open = |row: usize| found.range(row).is_empty();
        if !(0..found.rows()).any(is_open) {
            break;
        }
        let next = call.frame.guarded(|| call.value(choice), is_open)?;
        let next = keep(&next, |row, _| is_open(row));
        found = side_by_side(&[found.clone(), next]);
    }
    Ok(Output::Items(found))
}

/// Evaluates `defineVariable`: computes the variable's value with the input as `$this`, and returns the input.
fn define_variable(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let node = call.node(1);
    let value = call.frame.with_this(&call.input, |frame| frame.items(node))?;
    if let Some(Argument::Variable(place)) = call.call.arguments.first() {
        call.frame.define(*place, value);
    }
    Ok(Output::Items(call.input.clone()))
}

/// The work for each column of the items that a round or step handles.
const WORK_OF_COLUMN: usize = 32;
/// The maximum number of rounds of `repeatAll` and `descendants`. Without this limit, `repeatAll` would run very long
/// if its projection yields the input again.
const MAX_ROUNDS: usize = 1000;
/// No record is nested as deep as this number of rounds. If an expression has more rounds, it creates its own items.
/// Each round handles all earlier items again, so [`MAX_AGAIN`] limits the further rounds.
const DEPTH_OF_DATA: usize = 100;
/// The maximum sum of the items that the rounds after [`DEPTH_OF_DATA`] handle. An item counts once in each of these
/// rounds.
const MAX_AGAIN: usize = 1 << 22;
/// The maximum number of columns in which the result has its items. Deep recursion through many types makes more and
/// more small columns.
const MAX_COLUMNS: usize = 50_000;

/// Applies the projection to the input, then to the results, and so on until there are no new items. If `once` is set,
/// an item that equals an earlier one is dropped and does not count as new.
fn repeat(call: &Invocation<'_>, once: bool) -> Result<Output, FhirPathError> {
    let node = call.node(0);
    let mut frontier = call.input.clone();
    let mut all = Collection::empty(call.input.rows());
    let (mut rounds, mut again) = (0, 0);
    loop {
        rounds += 1;
        if !once && rounds > MAX_ROUNDS {
            return Err(FhirPathError::TooLarge);
        }
        let next = call
            .frame
            .within(&frontier, None, |inner| inner.items(node))?
            .within(frontier.offsets());
        let before = all.len();
        let together = side_by_side(&[all.clone(), next]);
        // Each round handles all earlier items again, so count the work for all of them in each round.
        call.frame
            .spend(3 * together.len() + WORK_OF_COLUMN * together.columns().len())?;
        let together = if once {
            distinct(&together, call.frame.work())?
        } else {
            together
        };
        if together.len() == before {
            return Ok(Output::Items(all));
        }
        if rounds > DEPTH_OF_DATA {
            again += together.len();
        }
        if again > MAX_AGAIN || together.len() > MAX_ITEMS || together.columns().len() > MAX_COLUMNS {
            return Err(FhirPathError::TooLarge);
        }
        let known: Vec<usize> = (0..all.rows()).map(|row| all.range(row).len()).collect();
        let range = |row: usize, range: std::ops::Range<usize>| range.start + known[row]..range.end;
        frontier = super::subsetting::part(&together, range);
        all = together;
    }
}

/// Evaluates `aggregate` from the first item of each row to the last. Each step handles the next item of all rows.
fn aggregate(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let rows = call.input.rows();
    let node = call.node(0);
    let mut total = if call.has(1) {
        call.value(1)?
    } else {
        Collection::empty(rows)
    };
    let longest = (0..rows).map(|row| call.input.range(row).len()).max().unwrap_or(0);
    for step in 0..longest {
        let at_step = |_, range: std::ops::Range<usize>| {
            let start = range.start.saturating_add(step).min(range.end);
            start..range.end.min(start + 1)
        };
        call.frame
            .spend(2 * rows + 2 * total.len() + WORK_OF_COLUMN * total.columns().len())?;
        let current = super::subsetting::part(&call.input, at_step);
        let has = |row: usize| !current.range(row).is_empty();
        let fold = Fold {
            total: compact(&total, &current),
            place: step,
        };
        let folded = call.frame.within(&current, Some(fold), |inner| inner.items(node))?;
        let folded = folded.within(current.offsets());
        let rest = keep(&total, |row, _| !has(row));
        total = side_by_side(&[folded, rest]);
    }
    Ok(Output::Items(total))
}

/// Returns the totals of the rows that have an item in `current`, without the other rows. So row `i` of the result
/// belongs to item `i` of `current`.
fn compact(total: &Collection, current: &Collection) -> Collection {
    let mut offsets = vec![0];
    let mut places = Vec::new();
    for row in (0..current.rows()).filter(|row| !current.range(*row).is_empty()) {
        places.extend(total.range(row).map(|item| item as u32));
        offsets.push(places.len() as i32);
    }
    total.take(Offsets::list(offsets), places)
}

/// Sorts each row's items by the keys. Items without a key come first in both directions. Items that cannot be compared
/// keep their order.
fn sort(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let mut keys: Vec<(Collection, bool)> = Vec::new();
    for argument in &call.call.arguments {
        if let Argument::Key { node, descending } = argument {
            keys.push((
                call.frame.within(&call.input, None, |inner| inner.items(node))?,
                *descending,
            ));
        }
    }
    if keys.is_empty() {
        keys.push((call.input.flat(), false));
    }
    let mut places: Vec<u32> = (0..call.input.len() as u32).collect();
    let by_keys = |left: &u32, right: &u32| {
        for (key, descending) in &keys {
            let ordering = by_key(key, *descending, *left as usize, *right as usize);
            if ordering != Ordering::Equal {
                return ordering;
            }
        }
        Ordering::Equal
    };
    for row in 0..call.input.rows() {
        let count = call.input.range(row).len();
        call.frame
            .spend(count * (count.max(1).ilog2() as usize + 1) * 8 * keys.len())?;
        // The comparison is not a total order, so the standard library's sort may panic. `merge_sort` does not.
        merge_sort(&mut places[call.input.range(row)], by_keys);
    }
    Ok(Output::Items(call.input.take(call.input.offsets().clone(), places)))
}

fn by_key(key: &Collection, descending: bool, left: usize, right: usize) -> Ordering {
    let first = |item: usize| key.first(item).and_then(|(items, item)| items.scalar(item));
    match (first(left), first(right)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(left), Some(right)) => {
            let ordering = order(left, right).ok().flatten().unwrap_or(Ordering::Equal);
            if descending { ordering.reverse() } else { ordering }
        }
    }
}

/// Sorts by merging. The sort is stable, and it does not panic if the comparison is inconsistent.
fn merge_sort(places: &mut [u32], by: impl Fn(&u32, &u32) -> Ordering + Copy) {
    if places.len() < 2 {
        return;
    }
    let middle = places.len() / 2;
    let (left, right) = places.split_at_mut(middle);
    merge_sort(left, by);
    merge_sort(right, by);
    let (left, right) = (left.to_vec(), right.to_vec());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    for place in places {
        let take_right = match (left.peek(), right.peek()) {
            (Some(one), Some(other)) => by(one, other) == Ordering::Greater,
            (None, _) => true,
            (_, None) => false,
        };
        let next = if take_right { right.next() } else { left.next() };
        if let Some(next) = next {
            *place = *next;
        }
    }
}
