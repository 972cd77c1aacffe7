//! Search parameters by their names, and the ids with which a parameter's values are compared.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::criteria::canonicals::Canonicals;
use super::super::criteria::criterion::{Condition, Test};
use super::super::criteria::matcher::{Matcher, Targets};
use super::super::engine::Engine;
use super::super::parameters::parameter::{Compiled, Reading};
use super::super::parameters::resolver::resource_type;
use super::error::WrittenError;
use crate::columns::conditions::IdSet;
use crate::fhir::{TypeId, facts};

const PARAMETER: &str = "a search parameter";

/// A search parameter, compiled for a type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Named {
    resource: String,
    code: String,
    reading: Reading,
    /// The parameter's expression. It reveals another parameter of the same name.
    expression: String,
}

impl Named {
    pub(super) fn write(engine: &Engine, compiled: &Compiled) -> Result<Named, WrittenError> {
        let named = Named {
            resource: facts().get(compiled.ty).name.to_owned(),
            code: compiled.parameter.code.to_string(),
            reading: compiled.reading,
            expression: compiled.program.text().to_owned(),
        };
        // A part of a parameter has the parameter's name.
        named
            .read(engine)
            .map_err(|_| WrittenError::NoText("a part of a search parameter"))?;
        Ok(named)
    }

    pub(super) fn read(&self, engine: &Engine) -> Result<Arc<Compiled>, WrittenError> {
        let ty = named_type(&self.resource)?;
        let compiled = engine.programs().get(ty, &self.code, self.reading)?;
        compiled
            .filter(|compiled| compiled.program.text() == self.expression)
            .ok_or(WrittenError::Otherwise(PARAMETER))
    }
}

/// The resource type of a name.
pub(super) fn named_type(name: &str) -> Result<TypeId, WrittenError> {
    resource_type(name).ok_or(WrittenError::Form("a resource type"))
}

/// Ids, or canonicals, with which values are compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Known {
    OneOf(Vec<String>),
    PointsTo(Vec<String>),
    RefersTo(String, Vec<String>),
    Canonicals(Vec<(String, Vec<Option<String>>)>),
}

impl Known {
    fn write(matcher: &Matcher) -> Result<Known, WrittenError> {
        Ok(match matcher {
            Matcher::OneOf(ids) => Known::OneOf(texts(ids)),
            Matcher::PointsTo(ids) => Known::PointsTo(texts(ids)),
            Matcher::RefersTo(targets) => Known::RefersTo(facts().get(targets.ty).name.to_owned(), texts(&targets.ids)),
            Matcher::Canonicals(borne) => {
                let urls = borne.iter().map(|(url, versions)| {
                    let versions = versions.into_iter().map(|version| version.map(str::to_owned));
                    (url.to_owned(), versions.collect())
                });
                Known::Canonicals(urls.collect())
            }
            _ => return Err(WrittenError::NoText("a condition made of another")),
        })
    }

    fn read(&self) -> Result<Matcher, WrittenError> {
        let set = |ids: &[String]| Arc::new(ids.iter().collect::<IdSet>());
        Ok(match self {
            Known::OneOf(ids) => Matcher::OneOf(set(ids)),
            Known::PointsTo(ids) => Matcher::PointsTo(set(ids)),
            Known::RefersTo(ty, ids) => Matcher::RefersTo(Arc::new(Targets {
                ty: named_type(ty)?,
                ids: set(ids),
            })),
            Known::Canonicals(urls) => {
                let mut borne = Canonicals::default();
                for (url, versions) in urls {
                    versions
                        .iter()
                        .for_each(|version| borne.insert(url, version.as_deref()));
                }
                Matcher::Canonicals(Arc::new(borne))
            }
        })
    }

    /// The ids with which a condition compares values, if it does nothing else.
    pub(super) fn of(condition: &Condition) -> Result<(&Arc<Compiled>, Vec<Known>), WrittenError> {
        let Condition::Values {
            compiled,
            test: Test::AnyOf { matchers, not: false },
        } = condition
        else {
            return Err(WrittenError::NoText("a condition made of another"));
        };
        Ok((compiled, matchers.iter().map(Known::write).collect::<Result<_, _>>()?))
    }

    /// A condition that a value of the parameter is one of these.
    pub(super) fn condition(compiled: &Arc<Compiled>, known: &[Known]) -> Result<Condition, WrittenError> {
        let matchers = known.iter().map(Known::read).collect::<Result<_, _>>()?;
        Ok(Condition::Values {
            compiled: compiled.clone(),
            test: Test::AnyOf { matchers, not: false },
        })
    }
}

/// The ids in order, so that equal sets are written in equal bytes.
fn texts(ids: &IdSet) -> Vec<String> {
    let mut texts: Vec<String> = ids.iter().map(|id| id.into_owned()).collect();
    texts.sort_unstable();
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_were_written() {
        let ids: IdSet = ["b", "a", "0f8fad5b-d9cb-469f-a165-70867728950e"].iter().collect();
        let written = Known::write(&Matcher::OneOf(Arc::new(ids.clone()))).unwrap();
        let json = serde_json::to_value(&written).unwrap();
        let read = serde_json::from_value::<Known>(json).unwrap().read().unwrap();
        assert!(matches!(read, Matcher::OneOf(found) if *found == ids));
        assert!(matches!(Known::write(&Matcher::Nothing), Err(WrittenError::NoText(_))));
        let strange = Known::RefersTo("Nothing".to_owned(), Vec::new());
        assert!(matches!(strange.read(), Err(WrittenError::Form(_))));
    }
}
