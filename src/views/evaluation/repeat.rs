//! `repeat`: evaluates the expressions on a context, then on their results, and so on. Each item is followed by the
//! items that were found on it.
//!
//! If an element can contain itself, the data decide how many levels of columns it has. So a view with `repeat` reads
//! everything below the context.

use super::super::definition::raw::Located;
use super::super::error::RunError;
use super::super::view::{Iteration, Steps};
use super::budget::Budget;
use super::evaluate::run;
use super::relation::Counts;
use crate::fhir::TypeId;
use crate::fhir::storage::{EVERYTHING, LeafSet};
use crate::fhirpath::{Collection, CompileOptions, FhirPathError, Focus, Program, compile};

/// The maximum depth to which items are followed. It exceeds the depth that JSON may have.
const MAX_LEVELS: usize = 128;
/// The maximum number of rounds in which further types of items are looked for.
const MAX_TYPE_STEPS: usize = 8;

/// Compiles the expressions. Also returns a program whose output types are the types of all items that `repeat` may
/// find. This program is the context of everything inside the `repeat`. An error comes with the place of its
/// expression.
pub(in crate::views) fn resolve(
    paths: &[Located],
    type_id: TypeId,
    options: &CompileOptions<'_>,
    context: Option<&Program>,
    leaves: &mut LeafSet,
) -> Result<(Iteration, Program), (String, FhirPathError)> {
    // Compile leniently, because the elements of an expression may exist on some types of items and not on others.
    let everything = |_| Some(vec![EVERYTHING]);
    let compiled = |text: &str, context: Option<&Program>| -> Result<Program, FhirPathError> {
        compile(
            text,
            type_id,
            &CompileOptions {
                lenient: true,
                context,
                extra: Some(&everything),
                duplicates: true,
                ..options.clone()
            },
        )
    };
    let each = |context: Option<&Program>| -> Result<Vec<Program>, (String, FhirPathError)> {
        let compiled = |path: &Located| compiled(&path.text, context).map_err(|error| (path.at.clone(), error));
        paths.iter().map(compiled).collect()
    };
    let first = each(context)?;
    for program in &first {
        leaves.extend(program.leaves().iter().cloned());
    }
    let at = paths.first().map(|path| path.at.clone()).unwrap_or_default();
    let failed = |error| (at.clone(), error);
    let step = paths
        .iter()
        .map(|path| format!("({}\n)", path.text))
        .collect::<Vec<_>>()
        .join(" | ");
    let mut reached = compiled(&step, context).map_err(failed)?;
    let mut text = step.clone();
    for _ in 0..MAX_TYPE_STEPS {
        let known = reached.output_types();
        let next = compiled(&step, Some(&reached)).map_err(failed)?;
        if next.output_types().iter().all(|item_type| known.contains(item_type)) {
            break;
        }
        text = format!("{step} | ({text}).select({step})");
        reached = compiled(&text, context).map_err(failed)?;
    }
    let next = each(Some(&reached))?;
    Ok((
        Iteration {
            at,
            steps: Steps::Repeat { first, next },
            or_null: false,
        },
        reached,
    ))
}

/// Returns the items that `repeat` finds, in order, as contexts, and the number of items of each context of `focus`.
/// Fails if the items exceed the budget.
pub(in crate::views) fn enter(
    first: &[Program],
    next: &[Program],
    focus: &Focus,
    at: &str,
    budget: &Budget,
) -> Result<(Focus, Counts), RunError> {
    let mut levels: Vec<Level> = Vec::new();
    let mut programs = first;
    let mut items = 0;
    loop {
        let above = levels.last().map_or(focus, |level| &level.focus);
        let level = Level::below(programs, above, at, budget)?;
        if level.focus.is_empty() {
            break;
        }
        items += level.focus.len();
        budget.take(level.focus.len(), 1)?;
        if levels.len() >= MAX_LEVELS || !budget.has_rows(items) {
            return Err(RunError::TooManyRows);
        }
        levels.push(level);
        programs = next;
    }
    let mut order = Vec::with_capacity(items);
    let mut places = Vec::with_capacity(items);
    let mut starts = Vec::with_capacity(focus.len() + 1);
    starts.push(0u32);
    for context in 0..focus.len() {
        let begin = order.len();
        emit(&levels, 0, context, &mut order);
        places.extend(0..(order.len() - begin) as u32);
        starts.push(order.len() as u32);
    }
    let foci: Vec<Focus> = levels.into_iter().map(|level| level.focus).collect();
    Ok((focus.merge(&foci, &order, places), Counts::Starts(starts)))
}

/// The items that were found on the items one level above. The first level has the items that were found on the
/// contexts.
struct Level {
    focus: Focus,
    /// For each context of the level above, the index of its first item.
    starts: Vec<usize>,
}

impl Level {
    /// Finds the items that the programs yield on the contexts of the level above. The items of one context are in the
    /// order of the programs.
    fn below(programs: &[Program], above: &Focus, at: &str, budget: &Budget) -> Result<Level, RunError> {
        let found = programs
            .iter()
            .map(|program| run(program, above, at, budget))
            .collect::<Result<Vec<Collection>, _>>()?;
        let mut starts = Vec::with_capacity(above.len() + 1);
        let mut order = Vec::new();
        starts.push(0);
        for context in 0..above.len() {
            for (program, found) in found.iter().enumerate() {
                order.extend(found.range(context).map(|item| (program, item)));
            }
            starts.push(order.len());
        }
        let foci: Vec<Focus> = found.iter().map(|found| above.enter(found)).collect();
        let places = vec![0; order.len()];
        Ok(Level {
            focus: above.merge(&foci, &order, places),
            starts,
        })
    }
}

/// Adds every item that was found on a context to `order`. Each item is followed by the items that were found on it.
fn emit(levels: &[Level], level: usize, context: usize, order: &mut Vec<(usize, usize)>) {
    let Some(here) = levels.get(level) else { return };
    for item in here.starts[context]..here.starts[context + 1] {
        order.push((level, item));
        emit(levels, level + 1, item, order);
    }
}
