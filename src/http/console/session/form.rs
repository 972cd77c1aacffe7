//! Reads the fields of the console's forms and queries.

use std::sync::Arc;

use axum::body::Body;
use axum::http::HeaderMap;

use super::operator::{Operator, SITE};
use crate::http::body;
use crate::http::error::Error;
use crate::http::service::Service;

const FORM: &str = "application/x-www-form-urlencoded";

/// The fields of a form or a query.
#[derive(Debug, Default)]
pub(in crate::http::console) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses the fields of a query.
    pub(in crate::http::console) fn of_query(query: Option<&str>) -> Fields {
        let fields = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Fields(fields.into_owned().collect())
    }

    /// Reads the fields of a form's body. Refuses the form if its browser says that another site's page sent it. Does
    /// not check the CSRF token.
    pub(in crate::http::console) async fn of_body(
        service: &Arc<Service>,
        headers: &HeaderMap,
        sent: Body,
    ) -> Result<Fields, Error> {
        let sent = body::read(headers, sent, &service.limits).await?;
        if !body::is_typed(headers, &[FORM]) {
            return Err(Error::MediaType(FORM));
        }
        let site = headers.get(SITE).and_then(|value| value.to_str().ok());
        if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(Error::Forbidden("the form was sent from another site's page"));
        }
        Ok(Fields(form_urlencoded::parse(&sent).into_owned().collect()))
    }

    /// Reads the fields of a form's body. Refuses a form without a valid CSRF token of the operator's session.
    pub(in crate::http::console) async fn sent_by(
        operator: &Operator,
        service: &Arc<Service>,
        headers: &HeaderMap,
        sent: Body,
    ) -> Result<Fields, Error> {
        let fields = Fields::of_body(service, headers, sent).await?;
        if operator.sent(fields.get("csrf")) {
            Ok(fields)
        } else {
            Err(Error::Forbidden(
                "the form was not sent from a page of this session; open the page again",
            ))
        }
    }

    /// Returns the first value of a field.
    pub(in crate::http::console) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a field, trimmed, if it is not blank.
    pub(in crate::http::console) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim).filter(|value| !value.is_empty())
    }
}
