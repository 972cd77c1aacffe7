//! Writes a criterion for another process: its original text, with the answers to its conditions on other resources. A
//! criterion without such a text is written as its parts.

use std::any::Any;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::criteria::criterion::{Condition, Criterion};
use super::super::criteria::origin::Origin;
use super::super::engine::Engine;
use super::super::joins::dynamic_filter::Reference;
use super::answers::{self, Answer};
use super::error::WrittenError;
use super::named::{Known, Named, named_type};
use crate::fhir::{TypeId, facts};
use crate::lake::scan::Predicate;
use crate::plan::{DynamicFilter, DynamicFilters};

const CRITERION: &str = "a condition of a search";

/// A criterion, with its label in explanations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WrittenCriterion {
    form: Form,
    label: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Form {
    Text(Origin, Vec<Answer>),
    All(Vec<WrittenCriterion>),
    Any(Vec<WrittenCriterion>),
    Not(Box<WrittenCriterion>),
    Known(Named, Vec<Known>),
    Contains(String),
}

impl WrittenCriterion {
    pub(super) fn write(
        engine: &Engine,
        criterion: &Criterion,
        filters: &DynamicFilters,
    ) -> Result<WrittenCriterion, WrittenError> {
        let write = |part: &Criterion| WrittenCriterion::write(engine, part, filters);
        let form = match (&criterion.origin, &criterion.condition) {
            (Some(origin), _) => {
                let open = origin.resolve(engine)?.ok_or(WrittenError::Otherwise(CRITERION))?;
                let mut found = Vec::new();
                answers::write(&open, criterion, filters, &mut found)?;
                Form::Text((**origin).clone(), found)
            }
            (None, Condition::All(parts)) => Form::All(parts.iter().map(write).collect::<Result<_, _>>()?),
            (None, Condition::Any(parts)) => Form::Any(parts.iter().map(write).collect::<Result<_, _>>()?),
            (None, Condition::Not(part)) => Form::Not(Box::new(write(part)?)),
            (None, Condition::Holds(type_id)) => Form::Contains(facts().get(*type_id).name.to_owned()),
            (None, known) => {
                let (compiled, known) = Known::of(known)?;
                Form::Known(Named::write(engine, compiled)?, known)
            }
        };
        Ok(WrittenCriterion {
            form,
            label: criterion.label.clone(),
        })
    }

    /// Writes a criterion whose ids a semi-join of the plan will find.
    pub(super) fn of_dynamic_filter(
        engine: &Engine,
        filter: &Arc<DynamicFilter>,
        filters: &DynamicFilters,
    ) -> Result<WrittenCriterion, WrittenError> {
        let link = (filter.link() as &dyn Any).downcast_ref::<Reference>();
        let origin = link
            .and_then(Reference::origin)
            .ok_or(WrittenError::NoText(CRITERION))?;
        let criterion = Criterion {
            condition: Condition::Dynamic(filter.clone()),
            label: filter.label().to_string(),
            origin: Some(origin.clone()),
        };
        WrittenCriterion::write(engine, &criterion, filters)
    }

    /// Reads the criterion, for rows of this type.
    pub(super) fn read(
        self,
        engine: &Engine,
        type_id: TypeId,
        filters: &DynamicFilters,
    ) -> Result<Criterion, WrittenError> {
        let all = |parts: Vec<WrittenCriterion>| -> Result<Vec<Criterion>, WrittenError> {
            parts
                .into_iter()
                .map(|part| part.read(engine, type_id, filters))
                .collect()
        };
        let (condition, origin) = match self.form {
            Form::Text(origin, answers) => {
                let mut criterion = origin.resolve(engine)?.ok_or(WrittenError::Otherwise(CRITERION))?;
                let mut reader = answers::Reader {
                    engine,
                    filters,
                    type_id,
                    origin: &origin,
                    answers: answers.into_iter(),
                };
                reader.read(&mut criterion)?;
                if reader.answers.next().is_some() {
                    return Err(WrittenError::Otherwise(CRITERION));
                }
                (criterion.condition, Some(origin.into()))
            }
            Form::All(parts) => (Condition::All(all(parts)?), None),
            Form::Any(parts) => (Condition::Any(all(parts)?), None),
            Form::Not(part) => (Condition::Not(Box::new(part.read(engine, type_id, filters)?)), None),
            Form::Known(named, known) => (Known::condition(&named.read(engine)?, &known)?, None),
            Form::Contains(name) => (Condition::Holds(named_type(&name)?), None),
        };
        Ok(Criterion {
            condition,
            label: self.label,
            origin,
        })
    }
}
