//! Searches with an explanation. They give the same answer as other searches, and explain how the search ran.

pub(in crate::search) mod explanation;
pub(in crate::search) mod trace;

use bytes::Bytes;

use self::explanation::{Explanation, Form, Part};
use self::trace::Trace;
use super::super::SearchError;
use super::super::criteria::filter;
use super::super::engine::Engine;
use super::super::joins::binding::Bound;
use super::super::parameters::query::{Query, SortKey};
use super::single_type::Request;
use super::system::SystemRequest;
use crate::lake::scan::{Person, ScopedTable};

impl Engine {
    /// Runs a search like [`Engine::search`], and explains it. Returns the page and the explanation. The page has the
    /// explanation, too, in an entry of mode `outcome`.
    pub async fn search_explained(
        &self,
        request: &Request<'_>,
        form: Form,
    ) -> Result<(Bytes, Explanation), SearchError> {
        let trace = Trace::on(form);
        let page = self.search_traced(request, trace.clone()).await?;
        Ok((page, trace.explanation()))
    }

    /// Runs a search like [`Engine::search_system`], and explains it as [`search_explained`](Self::search_explained)
    /// does.
    pub async fn search_system_explained(
        &self,
        request: &SystemRequest<'_>,
        form: Form,
    ) -> Result<(Bytes, Explanation), SearchError> {
        let trace = Trace::on(form);
        let page = self.search_system_traced(request, trace.clone()).await?;
        Ok((page, trace.explanation()))
    }
}

impl Part {
    /// Describes the search of a table, after its conditions on other resources were answered.
    pub(in crate::search) fn of(query: &Query, table: &ScopedTable, bound: &Bound) -> Part {
        let leaves = |criterion| filter::leaves(std::slice::from_ref(criterion)).into_iter().collect();
        let criteria = query.criteria.iter();
        let key = |key: &SortKey| {
            let sign = if key.descending { "-" } else { "" };
            format!("{sign}{}", key.compiled.parameter.code)
        };
        Part {
            type_id: query.type_id,
            snapshot: table.snapshot(),
            way: way(bound),
            criteria: criteria
                .map(|criterion| (criterion.label.clone(), leaves(criterion)))
                .collect(),
            sort: query.sort.iter().map(key).collect(),
        }
    }
}

fn way(bound: &Bound) -> String {
    match (bound.person, &bound.owners) {
        (Some(Person::OfScope), _) => "over the columns of the token's patient".to_owned(),
        (Some(_), _) => "over the columns of the one patient that it names".to_owned(),
        (None, Some(owners)) => format!("a scan of the rows of {} owners", owners.len()),
        (None, None) => "a scan of the table".to_owned(),
    }
}
