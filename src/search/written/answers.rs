//! Writes and reads the answers to a criterion's conditions on other resources. After a criterion is resolved from its
//! text, its conditions have no answers. The writer compares this criterion (`open`) with the same criterion after its
//! conditions were answered (`settled`), condition by condition, and collects the answers. The reader gets a criterion
//! that was resolved from the same text. It visits the conditions in the same order and replaces each condition by its
//! answer.

use std::sync::Arc;
use std::vec::IntoIter;

use serde::{Deserialize, Serialize};

use super::super::criteria::criterion::{Condition, Criterion, Join};
use super::super::criteria::origin::Origin;
use super::super::engine::Engine;
use super::super::joins::dynamic_filter::Reference;
use super::super::joins::join::either;
use super::super::parameters::parameter::Compiled;
use super::super::run::contained;
use super::error::WrittenError;
use super::named::{Known, named_type};
use crate::fhir::{TypeId, facts};
use crate::plan::{DynamicFilter, DynamicFilters};

const CONDITION: &str = "a condition on other resources";

/// The answer to one condition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The ids with which the row's values are compared.
    Known(Vec<Known>),
    /// The condition has two alternatives. In the first one, the row's values are compared with these ids. The second
    /// one is a condition on contained resources: for each of their types, the answers to the conditions on this type.
    OrInside(Vec<Known>, Vec<(String, Vec<Answer>)>),
    /// The ids that the semi-join with this number finds when the plan runs.
    #[serde(rename = "Late")]
    Dynamic(usize),
}

/// Collects the answers to the conditions of `open`. `settled` is the same criterion with the conditions answered.
pub(super) fn write(
    open: &Criterion,
    settled: &Criterion,
    filters: &DynamicFilters,
    found: &mut Vec<Answer>,
) -> Result<(), WrittenError> {
    let pairs: Vec<(&Criterion, &Criterion)> = match (&open.condition, &settled.condition) {
        (Condition::Join(_), Condition::Join(_)) => return Err(WrittenError::NoText(CONDITION)),
        (Condition::Join(join), answer) => {
            found.push(answer_of(join, answer, filters)?);
            return Ok(());
        }
        (Condition::All(open), Condition::All(settled)) | (Condition::Any(open), Condition::Any(settled))
            if open.len() == settled.len() =>
        {
            open.iter().zip(settled).collect()
        }
        (Condition::Not(open), Condition::Not(settled))
        | (Condition::Item { holds: open, .. }, Condition::Item { holds: settled, .. }) => vec![(open, settled)],
        (Condition::Values { .. }, Condition::Values { .. })
        | (Condition::Tuples { .. }, Condition::Tuples { .. })
        | (Condition::Words { .. }, Condition::Words { .. }) => Vec::new(),
        _ => return Err(WrittenError::NoText("a condition made of another")),
    };
    pairs
        .into_iter()
        .try_for_each(|(open, settled)| write(open, settled, filters, found))
}

fn answer_of(join: &Join, answer: &Condition, filters: &DynamicFilters) -> Result<Answer, WrittenError> {
    Ok(match answer {
        Condition::Dynamic(filter) => Answer::Dynamic(filters.number(filter)),
        Condition::Any(parts) => {
            let [outside, inside] = parts.as_slice() else {
                return Err(WrittenError::NoText(CONDITION));
            };
            let (Condition::Inside { targets, .. }, Join::Chain { targets: asked, .. }) = (&inside.condition, join)
            else {
                return Err(WrittenError::NoText(CONDITION));
            };
            let mut of_types = Vec::with_capacity(targets.len());
            for (type_id, settled) in targets {
                let open = of_inner(asked, *type_id).ok_or(WrittenError::NoText(CONDITION))?;
                let mut found = Vec::new();
                write(&open, settled, filters, &mut found)?;
                of_types.push((facts().get(*type_id).name.to_owned(), found));
            }
            Answer::OrInside(Known::of(&outside.condition)?.1, of_types)
        }
        settled => Answer::Known(Known::of(settled)?.1),
    })
}

/// Returns the condition of a chain on the type `type_id`, as a criterion for contained resources. `asked` has the
/// chain's condition on each type.
fn of_inner(asked: &[(TypeId, Criterion)], type_id: TypeId) -> Option<Criterion> {
    let (_, criterion) = asked.iter().find(|(asked, _)| *asked == type_id)?;
    contained::criteria(std::slice::from_ref(criterion)).pop()
}

/// Reads a criterion: replaces its conditions on other resources by `answers`, in the order in which `write` collected
/// them.
pub(super) struct Reader<'a> {
    pub(super) engine: &'a Engine,
    pub(super) filters: &'a DynamicFilters,
    /// The resource type of the rows.
    pub(super) type_id: TypeId,
    /// The text from which the criterion was resolved.
    pub(super) origin: &'a Origin,
    pub(super) answers: IntoIter<Answer>,
}

impl Reader<'_> {
    pub(super) fn read(&mut self, open: &mut Criterion) -> Result<(), WrittenError> {
        let label = open.label.clone();
        match &mut open.condition {
            Condition::All(parts) | Condition::Any(parts) => parts.iter_mut().try_for_each(|part| self.read(part)),
            Condition::Not(part) | Condition::Item { holds: part, .. } => self.read(part),
            Condition::Join(join) => {
                let answer = self.answers.next().ok_or(WrittenError::Otherwise(CONDITION))?;
                open.condition = self.answered(join, &label, answer)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn answered(&mut self, join: &Join, label: &str, answer: Answer) -> Result<Condition, WrittenError> {
        Ok(match answer {
            Answer::Known(known) => Known::condition(compared(join), &known)?,
            Answer::OrInside(known, of_types) => {
                let Join::Chain { compiled, targets } = join else {
                    return Err(WrittenError::Otherwise(CONDITION));
                };
                let outside = Known::condition(compiled, &known)?;
                let references = self.engine.programs().inner_references(compiled)?;
                let (references, _) = references.ok_or(WrittenError::Otherwise(CONDITION))?;
                let mut inside = Vec::with_capacity(of_types.len());
                for (name, answers) in of_types {
                    let type_id = named_type(&name)?;
                    let mut criterion = of_inner(targets, type_id).ok_or(WrittenError::Otherwise(CONDITION))?;
                    let mut reader = Reader {
                        type_id,
                        answers: answers.into_iter(),
                        ..*self
                    };
                    reader.read(&mut criterion)?;
                    inside.push((type_id, criterion));
                }
                let targets = inside;
                either(outside, Some(Condition::Inside { references, targets }))
            }
            Answer::Dynamic(number) => Condition::Dynamic(self.dynamic_filter(join, label, number)?),
        })
    }

    /// Returns the filter that will receive the ids of the semi-join with this number. If the written plan contains a
    /// filter several times, the plan that is read has the same filter in all of these places.
    fn dynamic_filter(&self, join: &Join, label: &str, number: usize) -> Result<Arc<DynamicFilter>, WrittenError> {
        if let Some(filter) = self.filters.get(number) {
            return Ok(filter);
        }
        let link = Reference::of(self.type_id, join, label).ok_or(WrittenError::Otherwise(CONDITION))?;
        let filter = Arc::new(link.with_origin(Arc::new(self.origin.clone())).dynamic_filter());
        self.filters.keep(number, &filter);
        Ok(filter)
    }
}

/// Returns the parameter whose values are compared with the ids that answer the condition.
fn compared(join: &Join) -> &Arc<Compiled> {
    match join {
        Join::Chain { compiled, .. } | Join::Hierarchy { compiled, .. } => compiled,
        Join::Has { ids, .. } | Join::List { ids, .. } => ids,
    }
}
