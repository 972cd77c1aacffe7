//! Writes search parameters by their names, and the ids with which a parameter's values are compared.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::criteria::canonicals::Canonicals;
use super::super::criteria::criterion::{Condition, Test};
use super::super::criteria::matcher;
use super::super::criteria::matcher::{Many, Matcher, Targets};
use super::super::engine::Engine;
use super::super::parameters::parameter::{Compiled, Reading};
use super::super::parameters::resolver::resource_type;
use super::error::WrittenError;
use crate::columns::conditions::IdSet;
use crate::fhir::{TypeId, facts};

const PARAMETER: &str = "a search parameter";
const OF_ANOTHER: &str = "a condition made of another";

/// A search parameter, compiled for a type and for a `Reading` of its values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Named {
    resource: String,
    code: String,
    reading: Reading,
    /// The parameter's expression. The reader compares it with the expression of its own parameter, because a different
    /// parameter may have the same name there.
    expression: String,
}

impl Named {
    pub(super) fn write(engine: &Engine, compiled: &Compiled) -> Result<Named, WrittenError> {
        let named = Named {
            resource: facts().get(compiled.type_id).name.to_owned(),
            code: compiled.parameter.code.to_string(),
            reading: compiled.reading,
            expression: compiled.program.text().to_owned(),
        };
        // A program may be only a part of a parameter, such as a component of a composite. Then the parameter of this
        // name has another expression, and a reader would not find the program. So check that reading it succeeds.
        named
            .read(engine)
            .map_err(|_| WrittenError::NoText("a part of a search parameter"))?;
        Ok(named)
    }

    pub(super) fn read(&self, engine: &Engine) -> Result<Arc<Compiled>, WrittenError> {
        let type_id = named_type(&self.resource)?;
        let compiled = engine.programs().get(type_id, &self.code, self.reading)?;
        compiled
            .filter(|compiled| compiled.program.text() == self.expression)
            .ok_or(WrittenError::Otherwise(PARAMETER))
    }
}

/// Returns the resource type of this name.
pub(super) fn named_type(name: &str) -> Result<TypeId, WrittenError> {
    resource_type(name).ok_or(WrittenError::Form("a resource type"))
}

/// The ids, canonicals or URIs with which a parameter's values are compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Known {
    OneOf(Vec<String>),
    PointsTo(Vec<String>),
    RefersTo(String, Vec<String>),
    Canonicals(Vec<(String, Vec<Option<String>>)>),
    Uris(Vec<String>),
}

impl Known {
    fn write(matcher: &Matcher) -> Result<Known, WrittenError> {
        Ok(match matcher {
            Matcher::OneOf(ids) => Known::OneOf(texts(ids)),
            Matcher::PointsTo(ids) => Known::PointsTo(texts(ids)),
            Matcher::RefersTo(targets) => {
                Known::RefersTo(facts().get(targets.type_id).name.to_owned(), texts(&targets.ids))
            }
            Matcher::Canonicals(borne) => {
                let urls = borne.iter().map(|(url, versions)| {
                    let versions = versions.into_iter().map(|version| version.map(str::to_owned));
                    (url.to_owned(), versions.collect())
                });
                Known::Canonicals(urls.collect())
            }
            Matcher::Uri(uri) => Known::Uris(vec![uri.clone()]),
            Matcher::OneOfMany(many) => match &**many {
                Many::Uris(set) => Known::Uris(set.texts().ok_or(WrittenError::NoText(OF_ANOTHER))?),
                _ => return Err(WrittenError::NoText(OF_ANOTHER)),
            },
            _ => return Err(WrittenError::NoText(OF_ANOTHER)),
        })
    }

    fn read(&self) -> Result<Vec<Matcher>, WrittenError> {
        let set = |ids: &[String]| Arc::new(ids.iter().collect::<IdSet>());
        Ok(vec![match self {
            Known::Uris(uris) => return Ok(uris.iter().cloned().map(Matcher::Uri).collect()),
            Known::OneOf(ids) => Matcher::OneOf(set(ids)),
            Known::PointsTo(ids) => Matcher::PointsTo(set(ids)),
            Known::RefersTo(resource_type, ids) => Matcher::RefersTo(Arc::new(Targets {
                type_id: named_type(resource_type)?,
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
        }])
    }

    /// Returns the parameter of a condition, and the ids with which its values are compared. Any other condition is an
    /// error.
    pub(super) fn of(condition: &Condition) -> Result<(&Arc<Compiled>, Vec<Known>), WrittenError> {
        let Condition::Values {
            compiled,
            test: Test::AnyOf { matchers, not: false },
        } = condition
        else {
            return Err(WrittenError::NoText(OF_ANOTHER));
        };
        Ok((compiled, matchers.iter().map(Known::write).collect::<Result<_, _>>()?))
    }

    /// Creates the condition that a value of the parameter matches one of `known`.
    pub(super) fn condition(compiled: &Arc<Compiled>, known: &[Known]) -> Result<Condition, WrittenError> {
        let matchers = known.iter().map(Known::read).collect::<Result<Vec<_>, _>>()?;
        let mut matchers = matchers.concat();
        matcher::gather_values(&mut matchers);
        Ok(Condition::Values {
            compiled: compiled.clone(),
            test: Test::AnyOf { matchers, not: false },
        })
    }
}

/// Returns the ids in order, so that equal sets are written as equal bytes.
fn texts(ids: &IdSet) -> Vec<String> {
    let mut texts: Vec<String> = ids.iter().map(|id| id.into_owned()).collect();
    texts.sort_unstable();
    texts
}

#[cfg(test)]
mod tests {
    use super::super::super::parameters::values::UriTree;
    use super::*;

    #[test]
    fn ids_are_read_as_they_were_written() {
        let ids: IdSet = ["b", "a", "0f8fad5b-d9cb-469f-a165-70867728950e"].iter().collect();
        let written = Known::write(&Matcher::OneOf(Arc::new(ids.clone()))).unwrap();
        let json = serde_json::to_value(&written).unwrap();
        let read = serde_json::from_value::<Known>(json).unwrap().read().unwrap();
        assert!(matches!(read.as_slice(), [Matcher::OneOf(found)] if **found == ids));
        assert!(matches!(Known::write(&Matcher::Nothing), Err(WrittenError::NoText(_))));
        let strange = Known::RefersTo("Nothing".to_owned(), Vec::new());
        assert!(matches!(strange.read(), Err(WrittenError::Form(_))));
    }

    /// `gather_values` replaces many URIs by one set. The set is written in the same form as single URIs.
    #[test]
    fn uris_are_read_as_they_were_written() {
        for count in [1, 4, 5, 64, 65, 200] {
            let uris: Vec<String> = (0..count).map(|at| format!("http://example.org/{at:03}")).collect();
            let mut matchers: Vec<Matcher> = uris.iter().cloned().map(Matcher::Uri).collect();
            matcher::gather_values(&mut matchers);
            let written: Vec<Known> = matchers.iter().map(|one| Known::write(one).unwrap()).collect();
            let json = serde_json::to_value(&written).unwrap();
            let written: Vec<Known> = serde_json::from_value(json).unwrap();
            let read = written.iter().flat_map(|known| known.read().unwrap());
            let read: Vec<String> = read
                .map(|matcher| match matcher {
                    Matcher::Uri(uri) => uri,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(read, uris, "{count}");
        }
        let mut trees = vec![Matcher::UriTree(UriTree::below("http://example.org".to_owned())); 5];
        matcher::gather_values(&mut trees);
        let [many] = trees.as_slice() else { panic!("{trees:?}") };
        assert!(matches!(Known::write(many), Err(WrittenError::NoText(_))));
    }
}
